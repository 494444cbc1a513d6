"""Sizes of a corpus; lines, tokens and lengths per language and direction.

Tokens are what spaces separate, so run it on the output of `tokenize` or `subword`. Writes corpus_stats.md,
.csv, .json (with the length histograms) and .png. Sizes in corpus_stats.md are the columns of Tables 7.1 and
8.1 of the thesis, and those of Tables 2.1, 4.1 and 6.1.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from command_line.figures import show_names_as_they_are
from command_line.option_classes import option, output_folder, switch
from command_line.outputs import atomic_path, remove_leftovers, write_json, write_text
from command_line.progress import progress
from command_line.spreadsheets import csv_text
from command_line.workers import Workers, dask_option, make_workers, workers_option
from data_prep.blocks import Block, read_blocks
from data_prep.formats.texts import SPLITS, TEST, TRAIN, VALID, Text, find_texts
from data_prep.languages import find_language
from data_prep.markdown import as_markdown

COLUMNS = (
    "split",
    "direction",
    "language",
    "lines",
    "tokens",
    "mean",
    "median",
    "p99",
    "longest",
    "empty",
    "ratio",
)


@dataclass(frozen=True, kw_only=True)
class CorpusStatsJob:
    """What is counted."""

    input: Path = option("folder of SPLIT.SRC-TGT.LANG and SPLIT.LANG files", required=True)
    output: Path = output_folder("the tables and the plot")
    no_plot: bool = switch("write the tables only")
    workers: int = workers_option()
    dask: str | None = dask_option()


def count_lengths(block: Block) -> tuple[list[Counter], int]:
    """Histograms of line lengths in tokens (length -> lines) of a block's sides, and its number of lines."""
    return [
        Counter(len(line.split()) for line in block.decode(side)) for side in range(len(block.paths))
    ], block.lines


def histograms(text: Text, workers: Workers) -> tuple[Counter, Counter]:
    """Histograms of the sides of a bitext, or of monolingual text."""
    totals = tuple(Counter() for _ in text.paths)
    blocks = workers.map(count_lengths, read_blocks(*text.paths))
    for sides, _ in progress(
        blocks, None, f"stats {text.split}.{text.pair}", "line", size=lambda item: item[1]
    ):
        for total, side in zip(totals, sides, strict=True):
            total.update(side)
    return totals


def percentile(histogram: Counter, share: float) -> int:
    """The smallest length that at least `share` of the lines do not exceed."""
    below, needed = 0, share * histogram.total()
    for size in sorted(histogram):
        below += histogram[size]
        if below >= needed:
            return size
    return 0


def summarize(histogram: Counter) -> dict:
    """The numbers of one table row."""
    lines, tokens = histogram.total(), sum(size * count for size, count in histogram.items())
    return {
        "lines": lines,
        "tokens": tokens,
        "mean": round(tokens / lines, 2),
        "median": percentile(histogram, 0.5),
        "p99": percentile(histogram, 0.99),
        "longest": max(histogram),
        "empty": histogram[0],
    }


def rows_of(text: Text, sides: tuple[Counter, Counter]) -> list[dict]:
    """One row per direction: the numbers of its source side, and target tokens per source token (`ratio`)."""
    if not text.is_bitext:
        row = {"split": text.split, "direction": "monolingual", "language": text.pair}
        return [row | summarize(*sides) | {"ratio": ""}]
    rows = []
    for source, target in ((0, 1), (1, 0)):
        codes = text.languages
        row = {
            "split": text.split,
            "direction": f"{codes[source]}-{codes[target]}",
            "language": codes[source],
        }
        row |= summarize(sides[source])
        row["ratio"] = round(summarize(sides[target])["tokens"] / max(row["tokens"], 1), 3)
        rows.append(row)
    return rows


def language_rows(totals: dict[tuple[str, str], Counter]) -> list[dict]:
    """One row per split and language, over all its pairs."""
    order = sorted(totals, key=lambda key: (SPLITS.index(key[0]), key[1]))
    return [
        {"split": split, "direction": "all", "language": language}
        | summarize(totals[split, language])
        | {"ratio": ""}
        for split, language in order
    ]


def overview(lines: dict[str, dict[str, int]]) -> list[dict]:
    """The row of Tables 7.1 and 8.1; none without training bitext.

    Args:
        lines: pair of languages, or a language alone -> split -> lines.
    """
    bitexts = {name: splits for name, splits in lines.items() if "-" in name}
    trained = [splits[TRAIN] for splits in bitexts.values() if TRAIN in splits]
    if not trained:
        return []
    languages = sorted({code for pair in bitexts for code in pair.split("-")})
    row = {
        "languages": ", ".join(languages),
        "supervised": 2 * len(trained),
        "zero-shot": len(languages) * (len(languages) - 1) - 2 * len(trained),
        "train": 2 * sum(trained),
    }
    for split in (VALID, TEST):
        sizes = sorted({splits[split] for splits in bitexts.values() if split in splits})
        row[split] = " to ".join(f"{size:,}" for size in (sizes if len(sizes) < 2 else (sizes[0], sizes[-1])))
    return [row]


def size_rows(lines: dict[str, dict[str, int]]) -> list[dict]:
    """A row per text, as in Tables 2.1, 4.1 and 6.1, and their sum."""
    rows = []
    for name in sorted(lines):
        languages = [find_language(code) for code in name.split("-")]
        row = {
            "text": name,
            "languages": " – ".join(language.name if language else "?" for language in languages),
        }
        row["scripts"] = " – ".join((language and language.script) or "?" for language in languages)
        rows.append(row | {split: lines[name].get(split, "") for split in SPLITS})
    total = {split: sum(row[split] or 0 for row in rows) for split in SPLITS}
    return [*rows, {"text": "all", "languages": "", "scripts": "", **total}]


def shares_of_lengths(histogram: Counter) -> list[float]:
    """Percent of the lines that have 0, 1, 2, … tokens, up to the 99.5th percentile of the lengths."""
    longest = max(percentile(histogram, 0.995), 1)
    return [100 * histogram[size] / histogram.total() for size in range(longest + 1)]


def plot(totals: dict[tuple[str, str], Counter], path: Path) -> None:
    """Share of lines by length, one curve per language, of the training split if there is one."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    split = TRAIN if any(name == TRAIN for name, _ in totals) else sorted(totals)[0][0]
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for (name, language), histogram in sorted(totals.items()):
        if name == split:
            axes.plot(shares_of_lengths(histogram), label=language)
    axes.set(xlabel="tokens per line", ylabel="% of the lines", title=f"Line lengths, {split}")
    axes.legend(ncols=2)
    show_names_as_they_are(figure)
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=150, format="png")
    pyplot.close(figure)


def main(job: CorpusStatsJob) -> None:
    texts = find_texts(job.input)
    if job.input.resolve() == job.output.resolve():
        raise InputError(f"--output {job.output}: is the input folder, expected another one")
    rows: list[dict] = []
    totals: dict[tuple[str, str], Counter] = {}
    lines: dict[str, dict[str, int]] = {}
    details = {}
    with make_workers(job.workers, job.dask) as workers:
        for text in texts:
            sides = histograms(text, workers)
            rows += rows_of(text, sides)
            lines.setdefault(text.pair, {})[text.split] = sides[0].total()
            for language, name, histogram in zip(text.languages, text.names(), sides, strict=True):
                totals.setdefault((text.split, language), Counter()).update(histogram)
                details[name] = {str(size): histogram[size] for size in sorted(histogram)}
    rows += language_rows(totals)
    remove_leftovers(job.output)
    tables = "\n".join(as_markdown(table) for table in (overview(lines), size_rows(lines), rows) if table)
    write_text(job.output / "corpus_stats.md", tables)
    write_text(
        job.output / "corpus_stats.csv",
        csv_text([COLUMNS, *([row[name] for name in COLUMNS] for row in rows)]),
    )
    write_json(job.output / "corpus_stats.json", {"format": 1, "rows": rows, "histograms": details})
    if not job.no_plot:
        plot(totals, job.output / "corpus_stats.png")
    print(tables, end="")
