"""What translations, states and analyses of an interlingua are made of: a checkpoint with its data, or a
folder of `fairseq_ext package`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError, check_file
from command_line.option_classes import by_name, option
from command_line.outputs import checksum
from command_line.provenance import command_typed
from data_prep.formats.directions import directions_or
from data_prep.formats.package import Package, checkpoints_of, dataset_of, is_package, single_checkpoint

SETS = ("all", "supervised", "zero-shot")  # of directions


@dataclass(frozen=True)
class NamedModel:
    """A model, its data, and what both are called in tables."""

    checkpoint: Path = option(
        "fairseq checkpoint, for example checkpoint_best.pt, or a folder of fairseq_ext package",
        required=True,
    )
    data: Path | None = option(
        "binarized folder with the sets (data_prep binarize; default: those of the packaged folder)"
    )
    name: str | None = option("name of the system in tables (default: made from its options)")
    dataset: str | None = option("name of the data in tables (default: the name of DATA)")


@dataclass(frozen=True)
class EvaluatedModel(NamedModel):
    """A checkpoint of fairseq, ours or stock, with its binarized data."""

    def __post_init__(self):
        if self.data is None:
            if not is_package(self.checkpoint):
                raise InputError(
                    f"--data: is missing; expected the binarized folder of --checkpoint {self.checkpoint},"
                    " which is no folder of `python -m fairseq_ext package`"
                )
            object.__setattr__(self, "data", self.checkpoint)

    @classmethod
    def packaged(cls, folder) -> "EvaluatedModel":
        """A folder of `fairseq_ext package`.

        Raises:
            InputError: it is none.
        """
        return cls(Package.load(folder).folder)

    @property
    def checkpoints(self) -> list[Path]:
        """One, or those of a packaged ensemble.

        Raises:
            InputError: as `Package.load`; there is no such file.
        """
        paths = checkpoints_of(self.checkpoint)
        for path in paths:
            check_file(path, "a fairseq checkpoint, or a folder of `python -m fairseq_ext package`")
        return paths

    def load(self, **task_options):
        """The `fairseq_ext.inference.LoadedModel` of one checkpoint; see `load_for_inference`.

        Raises:
            InputError: it is an ensemble, of which this command looks at one model.
        """
        from fairseq_ext.inference import load_for_inference

        return load_for_inference(single_checkpoint(self.checkpoint), self.data, **task_options)

    def load_translating(self, **task_options):
        """As `load`, also an ensemble."""
        from fairseq_ext.inference import load_ensemble

        return load_ensemble(self.checkpoints, self.data, **task_options)

    def preparation(self):
        """How the text of the data was tokenized and split into subwords."""
        from data_prep.formats.preparation import Preparation

        return Preparation.load(self.data)

    def translator(self, options):
        """The `eval.translation.translator.Translator` of the loaded model."""
        from eval.translation.checkpoint_translator import CheckpointTranslator

        return CheckpointTranslator(self, options)

    def provenance(self, loaded) -> dict:
        """What a result says of its model, and of how it was made."""
        from fairseq_ext.provenance import describe_origin

        first, *others = self.checkpoints
        origin = describe_origin(first, self.data, loaded, self.name)
        if others:
            origin["checkpoint"]["ensemble"] = [checksum(path) for path in (first, *others)]
        return {
            **origin,
            "dataset": self.dataset or dataset_of(self.data),
            "command": command_typed("eval"),
        }

    def data_files(self, splits: Iterable[str]) -> list[Path]:
        """The files of the binarized folder that what is made of these sets depends on."""
        preparation = self.data / "preparation.json"
        if not preparation.is_file():
            raise InputError(
                f"{preparation}: no such file; expected in the output of `python -m data_prep binarize`. For"
                " a folder of fairseq-preprocess, say how its text was split: --bpe-codes or"
                " --sentencepiece-model FILE, --tokenizer NAME"
            )
        patterns = ["dict.*.txt", "subword.*"]
        patterns += [f"{split}.*.{ending}" for split in splits for ending in ("idx", "bin")]
        return [preparation, *(path for pattern in patterns for path in sorted(self.data.glob(pattern)))]


def settings_of(job) -> dict:
    """What decides whether a job is done already: its options, and which checkpoint its `model` is."""
    sums = [checksum(path) for path in job.model.checkpoints]
    return by_name(job) | {"checkpoint_sha256": sums[0] if len(sums) == 1 else sums}


@dataclass(frozen=True)
class Directions:
    """Which directions; see `eval.translation.directions`."""

    directions: str = option(
        f"{', '.join(SETS)}, or a list such as de-fr,fr-de (from-to)",
        "all",
        flags=("--directions", "--direction"),
        type=directions_or(*SETS),
        metavar="A-B,…",
    )
