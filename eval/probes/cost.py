"""What trainings took, and what those of the papers would: updates, words, arithmetic, processor seconds.

Each LOG is NAME=FILE, what fairseq-train printed; the same NAME with several files: its seeds. Words are
subwords of targets, the `wpb` of the log times updates. Arithmetic is 6 floating-point operations per
parameter and word (Kaplan et al., 2020, 2.1), as in `python -m fairseq_ext plan`. Systems with losses over a
mirrored batch run the encoder over the targets, too, which is not in it, and is said; with frozen parameters,
which take a third of it or nothing, it is not known. Processor seconds are those of `cpu_seconds.txt`, which
recipes write beside a log; unlike the time of day they do not depend on what else the machine did. The rows
of the thesis are computed from what it says of its trainings.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import from_arguments
from eval.probes.training_logs import LogOptions, add_log_arguments, probe_logs, updates_and_words
from eval.reporting.exhibits import Section, Table, cell, cells, mean_cell, slug
from eval.results.result_set import ResultSet
from eval.results.systems import UNKNOWN, MeanStd, System, by_dataset

KIND = "cost"
OPERATIONS = 6  # per parameter and word, as of `python -m fairseq_ext plan`
RATE = 1e13  # operations a second, for hours of one GPU
CPU_SECONDS = "cpu_seconds.txt"
NOTES = [
    f"Words: subwords of targets. Operations: {OPERATIONS} per parameter and word (Kaplan et al., 2020); of a"
    " mirrored system the second pass of the encoder, over the targets, comes on top. GPU hours: at 10^13"
    " operations a second, which one GPU reaches with batches that fill it; small batches are slower.",
    "Rows of the thesis: epochs, sentence pairs (of both directions), batches and vocabularies of 8.2.1 and"
    " Table 8.1, mean lengths of 7.3.3; chapter 7 has the same with more epochs (7.3.2). Parameters of"
    " Transformer-base and -big with one matrix of embeddings.",
]
_PARAMETERS = re.compile(
    r"num\. shared model params: (\d[\d,]{0,19}) \(num\. trained: (\d[\d,]{0,19})\)", re.ASCII
)
_LOSSES = re.compile(r"['\"]?losses['\"]?[=:] ?['\"]([\w,]*)['\"]")


@dataclass(frozen=True)
class PaperTraining:
    """A training of the thesis.

    Attributes:
        pairs: of sentences of all directions; Table 8.1 counts a pair once for each direction.
        length: mean of a sentence in subwords.
        batch: words of an update.
        vocabulary, width, inner: of a Transformer of six and six layers.
    """

    name: str
    pairs: float
    epochs: int
    length: int
    batch: int
    vocabulary: int
    width: int
    inner: int

    @property
    def words(self) -> float:
        return self.pairs * self.epochs * self.length

    @property
    def updates(self) -> float:
        return self.words / self.batch

    @property
    def parameters(self) -> int:
        return transformer_parameters(self.vocabulary, self.width, self.inner)


# Thesis, Table 8.1 and 8.2.1; 7.3.2 for the epochs of chapter 7, 7.3.3 for mean lengths.
THESIS = tuple(
    PaperTraining(f"thesis, chapter {chapter}, {name}", pairs, epochs, *sizes)
    for name, pairs, epochs_of, *sizes in (
        ("OPUS (base)", 12.00e6, {7: 500, 8: 200}, 17, 4 * 4096, 66_158, 512, 2048),
        ("IWSLT (base)", 1.38e6, {7: 200, 8: 100}, 21, 4 * 4096, 40_100, 512, 2048),
        ("Europarl (big)", 15.78e6, {7: 500, 8: 400}, 30, 8 * 4096, 50_363, 1024, 4096),
    )
    for chapter, epochs in epochs_of.items()
)


def transformer_parameters(vocabulary: int, width: int, inner: int, layers: int = 6) -> int:
    """Of a PostNorm Transformer with as many encoder as decoder layers and one matrix of embeddings for
    source, target and output; positions are sinusoids.
    """
    attention, norm = 4 * width * (width + 1), 2 * width
    feed_forward = 2 * width * inner + inner + width
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocabulary * width + layers * (encoder + decoder)


def add_arguments(parser) -> None:
    add_log_arguments(parser, KIND)


def main(args) -> None:
    options = from_arguments(LogOptions, args)
    seconds = dict.fromkeys(log.parent / CPU_SECONDS for _, log in options.logs)
    noted = [file for file in seconds if file.is_file()]
    probe_logs(KIND, options, measure, args, noted)


def measure(log: Path) -> dict:
    """Of one training.

    Raises:
        InputError: no reports of updates, or no number of parameters, in the log.
    """
    reports, (parameters, trained, losses) = updates_and_words(log), _model(log)
    if not reports or parameters is None:
        missing = "report of updates" if not reports else "number of parameters"
        raise InputError(f"{log}: no {missing} in it; expected a log of fairseq-train")
    words, before = 0.0, 0
    for update, per_update in sorted(reports.items()):
        words, before = words + (update - before) * per_update, update
    return {
        "updates": before,
        "words": words,
        "parameters": parameters,
        "operations": OPERATIONS * parameters * words if trained == parameters else None,
        "mirrored": _mirrored(losses),
        "cpu_seconds": _cpu_seconds(log.parent / CPU_SECONDS),
    }


def _model(log: Path) -> tuple[int | None, int | None, list[str]]:
    """Numbers of parameters, of those that are trained, and names of losses, as the log says them at its
    (last) beginning.
    """
    parameters, trained, losses = None, None, []
    for line in read_lines(log, nul=True):
        if found := _PARAMETERS.search(line):
            parameters, trained = (int(one.replace(",", "")) for one in found.groups())
        if found := _LOSSES.search(line):
            losses = found[1].split(",")
    return parameters, trained, losses


def _mirrored(losses: list[str]) -> bool:
    from fairseq_ext.losses.registry import LOSSES

    return any("mirror" in LOSSES[name].batch_fields for name in losses if name in LOSSES)


def _cpu_seconds(path: Path) -> float | None:
    """Of all starts of a training; None where that was not noted."""
    if not path.is_file():
        return None
    try:
        return sum(float(line) for line in read_lines(path))
    except ValueError as error:
        raise InputError(f"{path}: {error}; expected seconds, a number in every line") from None


# --- the section of the report


def section(results: ResultSet) -> Section:
    systems = by_dataset(results.probed(KIND))
    tables = [table(dataset, found) for dataset, found in systems.items()]
    return Section("Cost of training", [*tables, thesis()], NOTES)


HEADER = ("System", "Seeds", "Updates", "Words", "Parameters", "Operations", "GPU hours", "Processor hours")


def table(dataset: str, systems: list[System]) -> Table:
    """A row per system, of one training: means over seeds."""
    rows = []
    for system in systems:
        name = f"{system.name} (mirrored)" if system.records[0]["mirrored"] else system.name
        numbers = [system.mean(one).mean for one in ("updates", "words", "parameters")]
        operations = system.mean("operations")
        numbers.append(operations and operations.mean)
        rows.append(_row(name, len(system.runs), *numbers, system.mean("cpu_seconds")))
    return Table(slug("cost", dataset), f"Cost of one training on {dataset}.", [cells(*HEADER)], rows)


def thesis() -> Table:
    """The trainings of the thesis."""
    rows = [
        _row(
            one.name,
            "",
            one.updates,
            one.words,
            one.parameters,
            OPERATIONS * one.parameters * one.words,
            None,
        )
        for one in THESIS
    ]
    return Table("cost_thesis", "Cost of one training of the thesis.", [cells(*HEADER)], rows)


def _row(
    name: str, seeds: int | str, updates, words, parameters, operations, seconds: MeanStd | None
) -> list:
    hours = operations and operations / RATE / 3600
    return [
        *cells(name, seeds),
        cell(f"{updates:,.0f}", value=updates),
        *(cell(f"{one:.2g}", value=one) for one in (words, parameters)),
        *(
            cell(UNKNOWN) if one is None else cell(f"{one:{form}}", value=one)
            for one, form in ((operations, ".2g"), (hours, ",.2f"))
        ),
        mean_cell(seconds.scaled(1 / 3600), 2) if seconds else cell(UNKNOWN),
    ]
