"""The options of `python -m embeddings finetune`, and where its results lie."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from data_prep.formats.texts import LANGUAGE
from embeddings.encoders.options import SENTENCE_TRANSFORMERS, TRANSFORMERS, kind_of
from embeddings.finetuning.registry import TASKS
from embeddings.finetuning.task import Hyperparameters, Task
from embeddings.parallel_validation import ParallelValidation, add_parallel_validation_arguments

STATE = "training"  # folder of what the trainer needs to go on
MODEL = "model"  # folder of the best checkpoint
PIVOT = "en"  # the language that others are switched with
LanguageFile = tuple[str, Path]
HYPERPARAMETERS = tuple(Hyperparameters.__dataclass_fields__)


@dataclass(frozen=True)
class Training:
    """What is fine-tuned, on what, and how long.

    Attributes:
        model: folder of transformers or sentence-transformers.
        pooler: folder with the pooler of the model's first token, if that is not in `model`.
        task: a key of TASKS.
        train: languages and files.
        valid: what the best checkpoint is chosen by: languages and files of the task; None for retrieval.
        validation: the texts of that.
        layer: of the encoder, whose states are retrieved; None for the last.
        code_switching: files of English examples, of which those of other languages are translations: these
            are read with one text of their original. None: all are read as they are.
        epochs, batch_size, learning_rate, warmup, max_length: of Hyperparameters; None for the task's.
        checkpoints: so many, of which the best one in validation is kept.
        precision: of the arithmetic.
    """

    model: Path
    pooler: Path | None
    task: str
    train: list[LanguageFile]
    valid: list[LanguageFile] | None
    validation: ParallelValidation
    layer: int | None
    code_switching: list[Path] | None
    epochs: int | None
    batch_size: int | None
    learning_rate: float | None
    warmup: int | None
    max_length: int | None
    checkpoints: int
    seed: int
    precision: str
    cpu: bool = field(compare=False)

    @property
    def what(self) -> Task:
        return TASKS[self.task]

    @property
    def how(self) -> Hyperparameters:
        given = {name: getattr(self, name) for name in HYPERPARAMETERS}
        ours = {name: getattr(self.what.defaults, name) for name in HYPERPARAMETERS}
        return Hyperparameters(**ours | {name: value for name, value in given.items() if value is not None})

    @property
    def settings(self) -> dict:
        """What trainings have in common that differ in their seed only, whatever their files are called."""
        return asdict(self.how) | {
            "checkpoints": self.checkpoints,
            "validation": sorted({language for language, _ in self.valid}) if self.valid else "retrieval",
            "layer": self.layer,
            "pooler": self.pooler is not None,
            "precision": self.precision,
        }

    @property
    def languages(self) -> list[str]:
        """Those of training, each once."""
        return list(dict.fromkeys(language for language, _ in self.train))

    def check(self) -> None:
        """Refuse an encoder of another kind, code-switching without anything to switch, and not one way to
        choose the best checkpoint.

        Raises:
            InputError: one line that says what to do.
        """
        kind = kind_of(self.model)
        if kind not in (TRANSFORMERS, SENTENCE_TRANSFORMERS):
            raise InputError(
                f"--model {self.model}: is an encoder of the kind {kind}, expected a folder of {TRANSFORMERS}"
                f" or {SENTENCE_TRANSFORMERS}; `fairseq_ext export` makes one"
            )
        if self.code_switching and self.languages == [PIVOT]:
            raise InputError(
                f"--code-switching: --train has {PIVOT} alone; expected languages that it was translated into"
            )
        self._check_validation()

    def _check_validation(self) -> None:
        by_retrieval = self.validation.valid_parallel is not None
        if (self.valid is not None) == by_retrieval:
            found = "both" if by_retrieval else "neither"
            raise InputError(f"--valid, --valid-parallel: found {found}, expected one of them")
        for option, value in (("pivot", self.validation.pivot), ("layer", self.layer)):
            if value is not None and not by_retrieval:
                raise InputError(f"--{option}: of --valid-parallel, which is not given; leave it out")


@dataclass(frozen=True)
class Finetuning:
    """A training, and what is measured of it.

    Attributes:
        test: languages and files.
        dataset: name in tables; None for the corpus of the task.
        encoder_name: in tables; None for the name of the model's folder.
    """

    training: Training
    test: list[LanguageFile]
    dataset: str | None
    encoder_name: str | None

    @property
    def encoder(self) -> str:
        return self.encoder_name or self.training.model.resolve().name


def files_of(given: Sequence[LanguageFile]) -> list[Path]:
    return [path for _, path in given]


def add_finetuning_arguments(parser) -> None:
    """The options of `Finetuning`."""
    add = parser.add_argument
    add(
        "--model",
        required=True,
        type=types.path,
        metavar="DIR",
        help="the encoder: a folder of transformers (mBERT, XLM-R, an encoder that was exported after"
        " post-pretraining alignment) or of sentence-transformers (LaBSE, a calibrated encoder)",
    )
    add(
        "--pooler",
        type=types.path,
        metavar="DIR",
        help="folder of transformers whose pooler is the encoder's, too: that from which an alignment began,"
        " which reads no pooler and so keeps none (default: that of --model, or a new one)",
    )
    add("--task", required=True, choices=list(TASKS), help=_tasks())
    for name, required, what in (
        ("train", True, "to learn from; several languages are learned together, in one order by chance"),
        ("valid", False, "by whose mean over languages the best checkpoint is chosen"),
        ("test", True, "what the best checkpoint is tested on, once"),
    ):
        add(
            f"--{name}",
            required=required,
            nargs="+",
            type=types.assignment(f"de={name}.de.tsv", types.path, LANGUAGE),
            metavar="LANG=FILE",
            help=f"{what}; of a file with several languages, that one (docs/transfer.md has the layouts)",
        )
    add_parallel_validation_arguments(parser, required=False)
    add(
        "--layer",
        type=types.positive,
        metavar="N",
        help="of --valid-parallel: whose states, of the encoder below the head, are averaged to vectors of"
        " sentences (default: the last; Is Cross-lingual Evaluation Only About Cross-lingual?: mBERT 8, XLM-R"
        " base 7, XLM-R 13)",
    )
    add(
        "--code-switching",
        nargs="+",
        type=types.path,
        metavar="FILE",
        help="English originals of what other languages are trained on: in place of an example of these, the"
        " two with one text of its original are read (post-pretraining alignment, 2.3), in one batch",
    )
    for option, kind, text in (
        ("epochs", types.positive, "over the examples"),
        ("batch-size", types.positive, "of an update"),
        ("learning-rate", types.number(0, 1, above=True), "the highest, of AdamW; it falls to 0 linearly"),
        ("warmup", types.whole_number(0), "updates over which it grows"),
        ("max-length", types.whole_number(8), "tokens that are read at once"),
    ):
        add(f"--{option}", type=kind, metavar="N", help=f"{text} ({_defaults(option.replace('-', '_'))})")
    add(
        "--checkpoints",
        type=types.positive,
        default=20,
        metavar="N",
        help="in equal distances; the best in validation is kept (Is Cross-lingual Evaluation Only About"
        " Cross-lingual?, A.2: after every 5%% of the data)",
    )
    add("--seed", type=types.seed, default=1, help="of the head, of the order of examples, and of dropout")
    add("--precision", choices=("float32", "bfloat16"), default="float32", help="of the arithmetic")
    add("--cpu", action="store_true", help="do not use a GPU")
    add("--dataset", type=types.text, metavar="NAME", help=f"in tables (default: {_corpora()})")
    add("--encoder-name", type=types.text, metavar="NAME", help="in tables (default: that of the folder)")


def _tasks() -> str:
    return "; ".join(f"{name}: {task.title}" for name, task in TASKS.items())


def _defaults(option: str) -> str:
    return "default: " + ", ".join(f"{name} {getattr(t.defaults, option):g}" for name, t in TASKS.items())


def _corpora() -> str:
    return ", ".join(task.corpus for task in TASKS.values())
