"""What every kind of result file must hold for those who read it: probes, `compare` and the report."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

Kind = Literal["supervised", "zero-shot"]


class System(TypedDict):
    """Its other fields are those of `fairseq_ext.axes`, which checks them."""

    name: str
    seed: NotRequired[int | None]


class Run(TypedDict):
    system: System
    dataset: str


class Rows(TypedDict):
    """A kind of result whose numbers are rows."""

    runs: list[Run]
    rows_sha256: str


class DataOfTranslation(TypedDict):
    path: str
    dictionary_sha256: NotRequired[str | None]


class TranslatedDirection(TypedDict):
    kind: Kind
    lines: NotRequired[int | None]


class Translating(TypedDict):
    """What translations and their scores have in common."""

    system: System
    data: DataOfTranslation
    dataset: NotRequired[str | None]
    split: str
    pivot: NotRequired[str | None]
    source_contrast: NotRequired[float | None]
    language_contrast: NotRequired[float | None]
    language_rescoring: NotRequired[float | None]
    checkpoint: NotRequired[dict | None]
    decoding: NotRequired[dict[str, float | None] | None]
    command: NotRequired[str | None]
    versions: NotRequired[dict[str, str] | None]


class TranslationRecord(Translating):
    directions: dict[str, TranslatedDirection]


class ScoredDirection(TypedDict):
    kind: Kind
    bleu_signature: str
    chrf_signature: str
    reference_sha256: str


class Scoring(TypedDict):
    command: str
    versions: dict[str, str]
    identifier: str
    identifier_labels: dict[str, str | None]
    comet: NotRequired[dict | None]
    statistics: dict[str, str]


class ScoresRecord(Translating):
    directions: dict[str, ScoredDirection]
    rows_sha256: str
    scoring: Scoring


class Input(TypedDict):
    path: str
    sha256: str


class Family(TypedDict):
    overall: int
    directions: int


class Compared(Run):
    baseline: str
    compared: str
    axis: NotRequired[str | None]
    measure: NotRequired[str | None]
    measures: dict[str, str]
    family: Family


class ComparisonRecord(TypedDict):
    runs: list[Compared]
    rows_sha256: str
    test: Literal["randomization", "sacrebleu-bootstrap", "bootstrap"]
    correction: Literal["holm", "none"]
    samples: int
    seed: int
    level: float
    inputs: list[Input]


class Layers(TypedDict):
    encoder: list[str]
    decoder: list[str]


class StoredDirection(TypedDict):
    encoder: NotRequired[str | None]  # name of its part; language models have one side
    decoder: NotRequired[str | None]
    text_sha256: NotRequired[str | None]
    sentences: NotRequired[int | None]


class StatesRecord(Run):
    supervised: list[str]
    layers: Layers
    encoder_output: str
    forced: NotRequired[str | None]
    tags: list[int]
    eos: int
    splits: dict[str, dict[str, StoredDirection]]


class DataSizeRecord(Rows):
    of: str
    unit: str
    similarity: str
    group: NotRequired[str | None]
    direction: NotRequired[str | None]


class Group(TypedDict):
    pairs: list[str]


class RetrievalRun(Run):
    texts: dict[str, str]
    groups: dict[str, Group]


class RetrievalRecord(TypedDict):
    rows_sha256: str
    arrays_sha256: str
    neighbours: int
    runs: list[RetrievalRun]


class SimilarityRun(Run):
    texts: dict[str, str]


class SimilarityRecord(TypedDict):
    rows_sha256: str
    arrays_sha256: str
    runs: list[SimilarityRun]


class FinetuningRun(Run):
    task: str
    measure: str
    train_languages: list[str]
    texts: dict[str, str]
    code_switching: bool


class FinetuningRecord(TypedDict):
    rows_sha256: str
    runs: list[FinetuningRun]


SCHEMAS = {
    "scores": ScoresRecord,
    "comparison": ComparisonRecord,
    "states": StatesRecord,
    "data-size": DataSizeRecord,
    "sentence-retrieval": RetrievalRecord,
    "sts": SimilarityRecord,
    "finetuning": FinetuningRecord,
}
