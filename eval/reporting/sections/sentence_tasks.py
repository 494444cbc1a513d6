"""What sentence encoders can do: classification (Tables 2.11 to 2.13), similarity, mining (Table 2.9), cases
like that of 2.4.8, and tasks that they are fine-tuned for.
"""

from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

from eval.reporting.exhibits import Cell, Section, Table, cells, mean_cell, number_cell, slug
from eval.results.fine_tuned import FineTuned, TranslateTrain, fine_tuned, title_of, translate_train
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, Run, System, by_dataset

MINING = "mining"
MARGIN = "ratio"  # of thesis 2.4 and of both papers on mining


def _tables(results: ResultSet, kind: str, table: Callable[[str, list[System]], Table]) -> list[Table]:
    return [table(dataset, systems) for dataset, systems in by_dataset(results.probed(kind)).items()]


def mined(results: ResultSet) -> dict[str, list[System]]:
    """Dataset -> encoders that have mined it. Those that score pairs in another way than by the ratio of
    cosines say so in their names: they are no further seeds of the encoder.
    """
    return by_dataset(results.probed(MINING, _with_scoring))


def _with_scoring(run: Run) -> Run:
    record = run.record
    ways = [] if record["margin"] == MARGIN else [f"margin {record['margin']}"]
    if record.get("rescore"):  # which is by absolute scores
        ways = [record["rescore"]]
    if record.get("normalize") is not None:
        ways.append(f"alpha {record['normalize']:g}")
    name = f"{run.name} ({', '.join(ways)})" if ways else run.name
    return replace(run, record=record | {"system": run.system | {"name": name}})


def _by_column(
    name: str, dataset: str, caption: str, systems: list[System], keys: tuple[str, ...], digits: int = 1
) -> Table:
    """Encoders by what a record has under its first key, and the mean of the row's numbers.

    Args:
        keys: of the record: the table's columns, and the number of each.
    """
    columns = _columns(systems, keys)
    rows = [[*cells(one.name, len(one.runs)), *_number_cells(one, columns, keys, digits)] for one in systems]
    return Table(slug(name, dataset), caption, [cells("Encoder", "Seeds", *columns, "Avg.")], rows)


def _columns(systems: list[System], keys: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(column for one in systems for column in one.runs[0].value(keys[0])))


def _number_cells(one: System, columns: list[str], keys: tuple[str, ...], digits: int = 1) -> list[Cell]:
    """A row of the numbers of all columns, and of their mean."""
    means = [one.mean(keys[0], column, *keys[1:]) for column in columns]
    runs = [[run.value(keys[0], column, *keys[1:]) for column in columns] for run in one.runs]
    average = MeanStd.of(None if None in run else sum(run) / len(run) for run in runs)
    return [mean_cell(mean, digits) for mean in [*means, average]]


def classification(results: ResultSet) -> Section:
    def table(dataset: str, systems: list[System]) -> Table:
        caption = f"Accuracy (%) on {dataset}, taught in the first language and tested in the second."
        return _by_column("classification", dataset, caption, systems, ("directions", "accuracy"))

    return Section("Zero-shot classification", _tables(results, "classification", table))


def sts(results: ResultSet) -> Section:
    def table(dataset: str, systems: list[System]) -> Table:
        caption = f"Spearman's correlation (x 100) of cosines with ratings, {dataset}."
        return _by_column("sts", dataset, caption, systems, ("languages", "spearman"))

    return Section("Semantic similarity", _tables(results, "sts", table))


def finetuning(results: ResultSet) -> Section:
    """Encoders and what they learned from, by the language of the test; a table for every measure."""
    groups: dict[tuple[str, str, str], list[FineTuned]] = {}
    for one in fine_tuned(results):
        for measure in one.measures:
            groups.setdefault((one.dataset, one.task, measure), []).append(one)
    tables = [_fine_tuned(*key, members) for key, members in groups.items()]
    return Section("Fine-tuned encoders", tables)


def _fine_tuned(dataset: str, task: str, measure: str, members: list[FineTuned]) -> Table:
    keys = ("languages", measure)
    columns = _columns([one.system for one in members], keys)
    joined = translate_train(members)
    shown = [one for one in members if not any(_is_part(one, row) for row in joined)]
    rows = [
        [
            *cells(one.encoder, one.setting, len(one.system.runs)),
            *_number_cells(one.system, columns, keys),
        ]
        for one in shown
    ]
    rows += [_joined_row(one, columns, keys) for one in joined]
    caption = (
        f"{title_of(measure).capitalize()} (%) on {dataset} by the language of the test, after fine-tuning"
        " (Training) on one language, on all (translate-train-all), on each by itself, or on others. Avg.: of"
        " all languages."
    )
    titles = ["Encoder", "Training", "Seeds", *columns, "Avg."]
    return Table(slug("finetuning", task, dataset, measure), caption, [cells(*titles)], rows)


def _is_part(one: FineTuned, row: TranslateTrain) -> bool:
    """Whether a row says all of a training."""
    return one.is_of_one_language and one.encoder == row.encoder and one in row.each.values()


def _joined_row(one: TranslateTrain, columns: list[str], keys: tuple[str, str]) -> list[Cell]:
    """Such trainings have no common deviation. Seeds: the fewest of a language."""
    key, measure = keys
    means = [
        one.each[column].system.mean(key, column, measure) if column in one.each else None
        for column in columns
    ]
    average = None if None in means else MeanStd(fmean(each.mean for each in means), None)
    seeds = min(len(each.system.runs) for each in one.each.values())
    return [
        *cells(one.encoder, one.setting, seeds),
        *(mean_cell(mean, 1) for mean in [*means, average]),
    ]


def neighbours(results: ResultSet) -> Section:
    """Encoders by pairs of sentences: the case of thesis 2.4.8, and whatever else was looked at."""

    def table(dataset: str, systems: list[System]) -> Table:
        rows = []
        for one in systems:
            cosines: dict[tuple[str, str], list[float]] = {}
            for run in one.runs:
                for found in run.record["sentences"]:
                    for near in found["neighbours"]:
                        pair = found["sentence"], near["sentence"]
                        cosines.setdefault(pair, []).append(near["cosine"])
            rows += [
                [*cells(one.name, f"{len(found)} of {len(one.runs)}", *pair), mean_cell(MeanStd.of(found), 4)]
                for pair, found in cosines.items()
            ]
        caption = f"Nearest sentences in {dataset}; cosine: mean over the seeds that find them."
        titles = ["Encoder", "Seeds", "Sentence", "Found", "Cosine"]
        return Table(slug("neighbours", dataset), caption, [cells(*titles)], rows)

    return Section("Nearest sentences", _tables(results, "neighbours", table))


def mining(results: ResultSet) -> Section:
    def table(dataset: str, systems: list[System]) -> Table:
        rows = []
        for one in systems:
            scores = [one.mean("bucc", name, scale=100) for name in ("precision", "recall", "f1")]
            found = [one.mean("pairs"), *scores]
            threshold = number_cell(one.runs[0].value("threshold"), ".4f")
            rows.append([*cells(one.name, len(one.runs)), *(mean_cell(mean, 1) for mean in found), threshold])
        titles = ["Encoder", "Seeds", "Pairs", "Precision", "Recall", "F1", "Threshold"]
        caption = f"Pairs mined from {dataset}; precision, recall and F1 (%) where gold pairs are known."
        return Table(slug("mining", dataset), caption, [cells(*titles)], rows)

    return Section("Mining", [table(dataset, systems) for dataset, systems in mined(results).items()])
