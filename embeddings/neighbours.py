"""What an encoder takes for similar: the nearest sentences of given ones, with their cosines.

For looking at single cases, as thesis 2.4.8 does with two sentences of the same words in another order. Lines
of TEXT are compared with each other, or with those of --candidates. Prints what is found.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.measurements import EXAMPLES, Measured, numbers, read_examples
from command_line.option_classes import force_switch, option, output_folder, positional
from command_line.provenance import versions
from command_line.result_file import write_result
from data_prep.formats.texts import LANGUAGE, language_in_name
from embeddings.encoders.described import described_encoder
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder, of_text
from embeddings.search.neighbours import Search, nearest

KIND = "neighbours"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is looked for."""

    text: Path = positional("text, a sentence per line", metavar="TEXT")
    candidates: Path | None = option("where to look (default: other lines of TEXT)", metavar="FILE")
    encoder: EncoderOptions
    language: str | None = option("of TEXT (default: what its name ends with)", type=LANGUAGE, metavar="LANG")
    candidates_language: str | None = option("of the candidates, likewise", type=LANGUAGE, metavar="LANG")
    show: int = option("neighbours of a sentence", 3)
    dataset: str | None = option("name in tables (default: name of TEXT)")
    search: Search
    output: Path = output_folder(f"{KIND}.json, {KIND}.csv, {KIND}{EXAMPLES}")
    force: bool = force_switch()


def main(job: Job) -> None:
    inputs = [job.text, *([job.candidates] if job.candidates else []), *job.encoder.files(job.output)]
    write_result("embeddings", KIND, job, inputs, lambda: measure(job), job.output, job.force)
    for line in printed(read_examples(Path(job.output) / f"{KIND}{EXAMPLES}")):
        print(line)


def measure(job: Job) -> Measured:
    """The neighbours of every line: their cosines, whose repetition is the neighbour's line, and texts."""
    encoder = job.encoder.load()
    queries, vectors = _side(encoder, job.text, "--language", job.language, 1 if job.candidates else 2)
    lines, candidates = queries, vectors
    if job.candidates:
        lines, candidates = _side(
            encoder, job.candidates, "--candidates-language", job.candidates_language, 1
        )
    cosines, rows = _neighbours(vectors, candidates, job)
    examples = [
        {
            "line": place,
            "sentence": query,
            "neighbour_line": int(row) + 1,
            "neighbour": lines[row],
            "cosine": float(cosine),
        }
        for place, (query, near, similar) in enumerate(zip(queries, rows, cosines, strict=True), start=1)
        for row, cosine in zip(near, similar, strict=True)
    ]
    measured = Measured(
        about=described_encoder(encoder) | {"versions": versions("torch", "numpy", "faiss-cpu")}
    )
    run = {"system": encoder.system, "dataset": job.dataset or job.text.name}
    measured.add(
        run,
        [
            row
            for example in examples
            for row in numbers(
                {"cosine": example["cosine"]},
                part=f"line {example['line']}",
                repeat=example["neighbour_line"],
            )
        ],
        examples,
    )
    return measured


def _side(encoder: SentenceEncoder, path: Path, option: str, language: str | None, fewest: int):
    """The lines of a text and their vectors."""
    lines = list(read_lines(path))
    if len(lines) < fewest:
        raise InputError(f"{path}: {len(lines)} lines, expected at least {fewest}, a sentence per line")
    language = language or language_in_name(path)
    with of_text(path, option):
        return lines, encoder.encode_lines(path, np.arange(len(lines)), lines, language)


def _neighbours(queries, candidates, job: Job) -> tuple[np.ndarray, np.ndarray]:
    """Cosines and rows, n x k. A line is no neighbour of itself; an equal one is."""
    if job.candidates:
        near = nearest(queries, candidates, min(job.show, len(candidates)), job.search)
        return near.cosines, near.rows
    near = nearest(queries, candidates, min(job.show + 1, len(candidates)), job.search)
    others = near.rows != np.arange(len(near.rows))[:, None]
    others[others.all(axis=1), -1] = False  # among many equal lines, it may not have been found
    shape = (len(near.rows), near.rows.shape[1] - 1)
    return near.cosines[others].reshape(shape), near.rows[others].reshape(shape)


def printed(examples: list[dict]) -> list[str]:
    """A line per sentence, and one, indented, per neighbour: cosine, number of the line, sentence."""
    lines, last = [], None
    for example in examples:
        if example["line"] != last:
            lines.append(example["sentence"])
        last = example["line"]
        lines.append(f"  {example['cosine']:.4f}  line {example['neighbour_line']}: {example['neighbour']}")
    return lines
