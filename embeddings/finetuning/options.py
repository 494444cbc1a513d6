"""The options of `python -m embeddings finetune`, and where its results lie."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import force_switch, option, output_folder, switch
from data_prep.formats.texts import LANGUAGE
from embeddings.encoders.options import kind_of_trained
from embeddings.finetuning.registry import TASKS
from embeddings.finetuning.task import Hyperparameters, Task
from embeddings.parallel_validation import ParallelValidation

KIND = "finetuning"
MODEL = "model"  # folder of the best checkpoint
PIVOT = "en"  # the language that others are switched with
LanguageFile = tuple[str, Path]
HYPERPARAMETERS = tuple(Hyperparameters.__dataclass_fields__)


def _tasks() -> str:
    return "; ".join(f"{name}: {task.title}" for name, task in TASKS.items())


def _defaults(option: str) -> str:
    return "default: " + ", ".join(f"{name} {getattr(t.defaults, option):g}" for name, t in TASKS.items())


def _corpora() -> str:
    return ", ".join(task.corpus for task in TASKS.values())


def _files(name: str, help: str, **argument) -> Any:
    """An option that takes files of languages."""
    return option(
        f"{help}; of a file with several languages, that one (docs/transfer.md has the layouts)",
        nargs="+",
        type=types.assignment(f"de={name}.de.tsv", types.path, LANGUAGE),
        metavar="LANG=FILE",
        **argument,
    )


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is fine-tuned, on what, and how long."""

    model: Path = option(
        "the encoder: a folder of transformers (mBERT, XLM-R, an encoder that was exported after"
        " post-pretraining alignment) or of sentence-transformers (LaBSE, a calibrated encoder)",
        required=True,
        metavar="DIR",
    )
    pooler: Path | None = option(
        "folder of transformers whose pooler is the encoder's, too: that from which an alignment began,"
        " which reads no pooler and so keeps none (default: that of --model, or a new one)",
        metavar="DIR",
    )
    task: str = option(_tasks(), required=True, choices=list(TASKS))
    train: list[LanguageFile] = _files(
        "train",
        "to learn from; several languages are learned together, in one order by chance",
        required=True,
    )
    valid: list[LanguageFile] | None = _files(
        "valid", "by whose mean over languages the best checkpoint is chosen"
    )
    validation: ParallelValidation
    layer: int | None = option(
        "of --valid-parallel: whose states, of the encoder below the head, are averaged to vectors of"
        " sentences (default: the last; Is Cross-lingual Evaluation Only About Cross-lingual?: mBERT 8, XLM-R"
        " base 7, XLM-R 13)",
        metavar="N",
    )
    code_switching: list[Path] | None = option(
        "English originals of what other languages are trained on: in place of an example of these, the"
        " two with one text of its original are read (post-pretraining alignment, 2.3), in one batch",
        metavar="FILE",
    )
    epochs: int | None = option(f"over the examples ({_defaults('epochs')})", metavar="N")
    batch_size: int | None = option(f"of an update ({_defaults('batch_size')})", metavar="N")
    learning_rate: float | None = option(
        f"the highest, of AdamW; it falls to 0 linearly ({_defaults('learning_rate')})",
        type=types.number(0, 1, above=True),
        metavar="N",
    )
    warmup: int | None = option(
        f"updates over which it grows ({_defaults('warmup')})", type=types.natural, metavar="N"
    )
    max_length: int | None = option(
        f"tokens that are read at once ({_defaults('max_length')})", type=types.whole_number(8), metavar="N"
    )
    checkpoints: int = option(
        "in equal distances; the best in validation is kept (Is Cross-lingual Evaluation Only About"
        " Cross-lingual?, A.2: after every 5%% of the data)",
        20,
        metavar="N",
    )
    seed: int = option("of the head, of the order of examples, and of dropout", 1, type=types.seed)
    precision: str = option("of the arithmetic", "float32", choices=("float32", "bfloat16"))
    cpu: bool = switch("do not use a GPU", compare=False)

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
        """
        kind_of_trained(self.model)
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
        for name, value in (("pivot", self.validation.pivot), ("layer", self.layer)):
            if value is not None and not by_retrieval:
                raise InputError(f"--{name}: needs --valid-parallel; give both, or leave it out")


@dataclass(frozen=True, kw_only=True)
class Finetuning:
    """A training, and what is measured of it."""

    training: Training
    test: list[LanguageFile] = _files("test", "what the best checkpoint is tested on, once", required=True)
    dataset: str | None = option(f"in tables (default: {_corpora()})", metavar="NAME")
    encoder_name: str | None = option("in tables (default: that of the folder)", metavar="NAME")
    output: Path = output_folder(f"{MODEL} and {KIND}.json")
    force: bool = force_switch("begin anew what is done or was begun")

    @property
    def encoder(self) -> str:
        return self.encoder_name or self.training.model.resolve().name


def files_of(given: Sequence[LanguageFile]) -> list[Path]:
    return [path for _, path in given]
