"""Systems with their runs: what was measured of several trainings that differ in their seed only."""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

UNKNOWN = "–"  # in place of a number or a label that is not known
TOKENIZER = "BLEU's tokenizer"  # what the scores of a direction are of, besides the references
SEARCH_OPTIONS = {  # with defaults
    "beam": 5,
    "lenpen": 1.0,
    "max_len_a": 0.0,
    "max_len_b": 200,
    "length_candidates": 1,
    "length_weight": 1,
    "score_without_tag": False,
    "engine": "pytorch",
    "bf16": False,
    "no_repeat_ngram": None,
    "source_contrast": None,
    "contrast_sources": None,
    "contrast_seed": None,
    "language_contrast": None,
    "contrast_languages": None,
    "language_rescoring": None,
    "rescoring_identifier": None,
}
NAMED = {  # options of a search that make it a system of its own, and what belongs to them
    "source_contrast": ("contrast_sources", "contrast_seed"),
    "language_contrast": ("contrast_languages",),
    "language_rescoring": ("rescoring_identifier",),
}

MEASURED_ALIKE = (  # fields of runs, the same for all systems on one dataset
    *("split", "beam_of_states", "train_split", "train_sentences", "texts", "only_words"),
    *("alignments", "batch_tokens", "encoder"),
)
MEASURED_WITH = (  # further fields of runs, the same for all runs of one system
    *("search", "length_candidates", "variance", "hyperparameters", "train_examples", "identifier"),
    *("margin", "neighbours", "rescore", "normalize", "normalize_sample", "without_specials", "selection"),
)
FILE_MEASURED_WITH = ("neighbours", "normalization", "without_specials", "distractors")  # of a file
ENCODED_WITH = ("kind", "pooling", "layer", "prefix", "target_lang", "precision")  # of a file's encoder


@dataclass(frozen=True)
class MeanStd:
    """Mean over seeds and sample standard deviation (n - 1), which one run does not have."""

    mean: float
    std: float | None

    @classmethod
    def of(cls, values: Iterable[float | None]) -> "MeanStd | None":
        """None if any run lacks the value: a mean over fewer seeds would not be the system's."""
        values = list(values)
        if not values or any(value is None for value in values):
            return None
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    def text(self, digits: int, scale: float = 1.0, unit: str = "") -> str:
        """As in `16.8 ± 0.6`; without deviation for one run."""
        deviation = "" if self.std is None else f" ± {self.std * scale:.{digits}f}"
        return f"{self.mean * scale:.{digits}f}{deviation}{unit}"


@dataclass(frozen=True, eq=False)
class Run:
    """What was measured of one training of a system on one dataset.

    Attributes:
        path: of the file that holds it.
        record: its own.
        file: what the file says of all its runs: encoder, neighbours, …
        number: its place among the "runs" of the file, which its rows name.
    """

    path: Path
    record: dict
    file: dict = field(default_factory=dict)
    number: int = 0
    compared_alike: ClassVar[tuple[str, ...]] = ()  # of a direction, where runs are compared

    @property
    def system(self) -> dict:
        """The record of the system; its fields other than name and seed are those of `fairseq_ext.axes`."""
        return self.record["system"]

    @property
    def settings(self) -> dict:
        """norm_placement, language_tags, …: what all runs of a system share."""
        return {key: value for key, value in self.system.items() if key not in ("name", "seed")}

    @property
    def name(self) -> str:
        """The system's, and what makes another curve of it."""
        return self.system["name"] + self.record.get("variant", "")

    @property
    def dataset(self) -> str:
        return self.record["dataset"]

    @property
    def seed(self) -> int | None:
        return self.system.get("seed")

    @property
    def directions(self) -> dict[str, dict]:
        return self.record["directions"]

    @property
    def notes(self) -> list[str]:
        """Sentences for readers of the report."""
        return self.record.get("notes", [])

    @property
    def measured_with(self) -> dict:
        """How it was measured, by name; what is not known is None."""
        facts = {name: self.record.get(name) for name in (*MEASURED_ALIKE, *MEASURED_WITH)}
        facts |= {name: self.file[name] for name in FILE_MEASURED_WITH if name in self.file}
        encoder = self.file.get("encoder") or {}
        values = {f"encoder.{name}": encoder.get(name) for name in ENCODED_WITH if encoder}
        return facts | {name: "none" if value is None else value for name, value in values.items()}

    @property
    def test_sets(self) -> dict[str, dict]:
        """Direction -> what scores are of: the same for all runs on a dataset."""
        return {}

    @property
    def rows_sha256(self) -> str:
        """The checksum of the table of numbers beside the file."""
        return self.file["rows_sha256"]

    @property
    def search(self) -> dict:
        """How hypotheses were searched."""
        return {option: self.record.get(option, default) for option, default in SEARCH_OPTIONS.items()}

    @property
    def search_label(self) -> str:
        """What the search was made to do against off-target output: ", source contrast 0.7"; else empty."""
        from fairseq_ext.axes.options import shown  # with it torch comes, which --help does not wait for

        labels = []
        for option, others in NAMED.items():
            if weight := self.search[option]:
                given = {other: self.search[other] for other in others if self.search[other] is not None}
                labels.append(f", {option.replace('_', ' ')} {weight:g}{shown(given)}")
        return "".join(labels)

    def value(self, *keys: str) -> Any:
        """What the record holds under these keys, one below the other; None where one is missing."""
        value: Any = self.record
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value


@dataclass(frozen=True)
class System:
    """All runs of one system on one dataset, ordered by seed."""

    name: str
    dataset: str
    runs: tuple[Run, ...]

    @property
    def settings(self) -> dict:
        return self.runs[0].settings

    @property
    def search(self) -> dict:
        return self.runs[0].search

    @property
    def search_label(self) -> str:
        return self.runs[0].search_label

    @property
    def pivot(self) -> str | None:
        return self.runs[0].value("pivot")

    @property
    def seeds(self) -> list[int | None]:
        return [run.seed for run in self.runs]

    @property
    def records(self) -> list[dict]:
        return [run.record for run in self.runs]

    @property
    def run_labels(self) -> list[str]:
        """Seeds as column titles; runs without a known seed are numbered."""
        return [
            f"run {number}" if run.seed is None else str(run.seed) for number, run in enumerate(self.runs, 1)
        ]

    def only(self, condition: Callable[[Run], bool]) -> "System | None":
        """The system with those of its runs that meet a condition; None if none does."""
        runs = tuple(filter(condition, self.runs))
        return replace(self, runs=runs) if runs else None

    def directions(self, kind: str | None = None) -> list[str]:
        entries = self.runs[0].directions.items()
        return [direction for direction, entry in entries if kind is None or entry["kind"] == kind]


def by_dataset(systems: Iterable[System]) -> dict[str, list[System]]:
    """Dataset -> the systems on it, both in the order given."""
    systems_of: dict[str, list[System]] = {}
    for system in systems:
        systems_of.setdefault(system.dataset, []).append(system)
    return systems_of
