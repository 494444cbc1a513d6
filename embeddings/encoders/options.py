"""Which encoder: the options that all commands share."""

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from command_line.errors import InputError
from command_line.option_classes import option, switch
from data_prep.formats.package import is_package, single_checkpoint
from data_prep.formats.texts import LANGUAGE
from embeddings.encoders.sentence_encoder import BATCH_TOKENS, SentenceEncoder

PRECISIONS = ("float32", "bfloat16", "int8")
AVERAGE = "average"  # of all layers
RECORDS = "[!.]*.npy.json"  # of stored vectors; a hidden one is half-written
POOLINGS = ("mean", "words", "cls", "pooler")
CHECKPOINT, TRANSFORMERS, SENTENCE_TRANSFORMERS, ONNX, STORED = (
    "checkpoint",
    "transformers",
    "sentence-transformers",
    "onnx",
    "stored",
)


class Kind(NamedTuple):
    """A kind of encoder.

    Attributes:
        module, name: of its class, which is imported when an encoder is loaded.
        takes: the options that it has and others have not.
    """

    module: str
    name: str
    takes: tuple[str, ...] = ()

    def load(self, options: "EncoderOptions") -> SentenceEncoder:
        return getattr(import_module(f"embeddings.encoders.{self.module}"), self.name).load(options)


KINDS = {
    CHECKPOINT: Kind("checkpoint", "CheckpointEncoder", ("model_data", "pooling", "target_lang")),
    TRANSFORMERS: Kind("transformers_folder", "TransformersEncoder", ("pooling", "layer", "prefix")),
    SENTENCE_TRANSFORMERS: Kind("sentence_transformers_folder", "SentenceTransformersEncoder", ("prefix",)),
    ONNX: Kind("onnx_folder", "OnnxEncoder"),
    STORED: Kind("stored", "StoredVectors"),
}


@dataclass(frozen=True)
class EncoderOptions:
    """Which encoder, and how it computes."""

    model: Path = option(
        "the encoder: a checkpoint of fairseq (a sentence encoder or a translation model), a folder of"
        " fairseq_ext package or export, of transformers or sentence-transformers, or stored vectors",
        required=True,
    )
    encoder: str | None = option("kind of the model (default: found from its files)", choices=list(KINDS))
    model_data: Path | None = option(
        "checkpoints: binarized folder with the dictionary and the segmentation of text"
    )
    pooling: str | None = option(
        "how states become a vector: mean over all tokens; words: without tags and </s> (translation models);"
        " cls: the state of the first token; pooler: the model's layer above it (both: transformers);"
        " default: mean, for a trained sentence encoder its own",
        choices=POOLINGS,
    )
    layer: str | None = option(
        "folders of transformers: the layer whose states are read; 0: the embeddings;"
        f" {AVERAGE}: the mean of all (default: the last)",
        metavar="N",
    )
    target_lang: str | None = option(
        "target language, for a translation model whose encoder reads it",
        type=LANGUAGE,
        metavar="LANG",
    )
    prefix: str | None = option(
        "text in front of every sentence, for example 'query: ' (default: that of the folder)"
    )
    precision: str = option("arithmetic of the encoder", "float32", choices=PRECISIONS)
    batch_tokens: int = option("tokens of a batch, padding included", BATCH_TOKENS)
    cpu: bool = switch("do not use a GPU", compare=False)
    encoder_name: str | None = option("name in tables (default: made from the folder or checkpoint)")

    def __post_init__(self):
        if is_package(self.model):
            object.__setattr__(self, "model_data", self.model_data or self.model)
            object.__setattr__(self, "model", single_checkpoint(self.model))

    def load(self) -> SentenceEncoder:
        """The encoder that the options describe.

        Raises:
            InputError: the model is missing or no encoder, or an option is not one of its kind.
        """
        kind = self.encoder or kind_of(self.model)
        for name in ("model_data", "pooling", "layer", "target_lang", "prefix"):
            if getattr(self, name) is not None and name not in KINDS[kind].takes:
                words = f"--{name.replace('_', '-')}"
                raise InputError(f"{words}: {self.model} is an encoder of the kind {kind}, which takes none")
        encoder = KINDS[kind].load(self)
        encoder.name = self.encoder_name or encoder.name
        return encoder

    def absolute(self) -> "EncoderOptions":
        """The same for a process in another folder."""
        model_data = self.model_data and self.model_data.absolute()
        return replace(self, model=self.model.absolute(), model_data=model_data)

    def files(self, output: Path | None = None) -> list[Path]:
        """The files that the vectors depend on; none that is hidden.

        Args:
            output: folder of the results. It may lie in that of the model, whose files those in it are not.

        Raises:
            InputError: it is the folder of the model itself.
        """
        if self.model.is_dir():
            return _files_of_folder(self.model, output)
        paths = [self.model] if self.model.is_file() else []
        for pattern in ("dict.*.txt", "preparation.json", "subword.*") if self.model_data else ():
            paths += sorted(self.model_data.glob(pattern))
        return paths

    def device(self):
        import torch

        return torch.device("cuda" if torch.cuda.is_available() and not self.cpu else "cpu")


def _files_of_folder(model: Path, output: Path | None) -> list[Path]:
    results = output and output.resolve()
    if results == model.resolve():
        raise InputError(
            f"--output {output}: is the folder of the encoder, whose files change vectors; choose another one"
        )
    inside = results and results.is_relative_to(model.resolve())
    return sorted(
        path
        for path in model.rglob("*")
        if path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(model).parts)
        and not (inside and path.resolve().is_relative_to(results))
    )


def kind_of(model: Path) -> str:
    """The kind of encoder that a path looks like.

    Raises:
        InputError: there is nothing, or a folder with none of the files that an encoder has.
    """
    if model.is_file():
        return CHECKPOINT
    if not model.is_dir():
        raise InputError(f"--model {model}: no such file or folder; expected an encoder")
    if (model / "model.onnx").is_file():
        return ONNX
    if (model / "modules.json").is_file():
        return SENTENCE_TRANSFORMERS
    if (model / "config.json").is_file():
        return TRANSFORMERS
    if any(model.glob(RECORDS)):
        return STORED
    raise InputError(
        f"--model {model}: no encoder in this folder; expected modules.json (sentence-transformers),"
        " model.onnx (fairseq_ext export), config.json (transformers), or vectors of `python -m embeddings"
        " encode`"
    )


def kind_of_trained(model: Path) -> str:
    """The kind of an encoder that is to be trained.

    Raises:
        InputError: it is none of transformers or sentence-transformers.
    """
    kind = kind_of(model)
    if kind not in (TRANSFORMERS, SENTENCE_TRANSFORMERS):
        raise InputError(
            f"--model {model}: is an encoder of the kind {kind}, expected a folder of {TRANSFORMERS}"
            f" or {SENTENCE_TRANSFORMERS}; `fairseq_ext export` makes one"
        )
    return kind
