"""Which model `eval translate` takes: what its options name, and the options of models that read raw text."""

from dataclasses import dataclass, fields
from pathlib import Path

from command_line.errors import InputError
from command_line.option_classes import option, switch
from data_prep.formats.directions import DIRECTIONS
from eval.translation.evaluated_model import EvaluatedModel, NamedModel
from eval.translation.fairseq_model import AFTER_BYTE_PAIRS, OTHERWISE, FairseqModel
from eval.translation.raw_text_model import RawTextModel
from eval.translation.transformers_model import TransformersModel, is_model_folder
from eval.translation.translator import Translator, TranslatorOptions

OF_FAIRSEQ = "DATA of fairseq-preprocess"
OF_TRANSFORMERS = "folder of transformers"


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How `TransformersModel` and `FairseqModel` read the raw text of DATA/text."""

    language_codes: Path | None = option(
        f"{OF_TRANSFORMERS}: file with a line per language, its codes in the data and in the model, such as"
        " 'de deu_Latn' (default: codes are matched by meaning)",
        metavar="FILE",
    )
    source_prefix: str | None = option(
        "T5 without language tags: text in front of every source, such as 'translate {source} to"
        " {target}: ' (default: that of its configuration)",
        metavar="TEXT",
    )
    tokenizer: list[str] | None = option(
        f"{OF_FAIRSEQ}: tokenizer of raw text, as in data_prep tokenize (default:"
        f" {AFTER_BYTE_PAIRS} with --bpe-codes, else {OTHERWISE})",
        metavar="[LANG=]NAME",
    )
    lowercase: bool = switch(f"{OF_FAIRSEQ}: write words in lower case")
    bpe_codes: Path | None = option(f"{OF_FAIRSEQ}: codes of subword-nmt that split words", metavar="FILE")
    sentencepiece_model: Path | None = option(f"{OF_FAIRSEQ}: model that splits text", metavar="FILE")


@dataclass(frozen=True, kw_only=True)
class RawTextOptions(ReadingOptions):
    """The options of these models."""

    supervised: list[str] | None = option(
        "models that read raw text: supervised directions; all others are zero-shot (default: those of the"
        " checkpoint; for a folder of transformers, all)",
        type=DIRECTIONS,
        metavar="A-B,…",
    )


def model_of(named: NamedModel, raw_text: RawTextOptions) -> EvaluatedModel | RawTextModel:
    """The model: a folder of transformers, a checkpoint whose text is split as options say, or a checkpoint
    with a binarized folder.

    Raises:
        InputError: an option of another kind of model.
    """
    of_fairseq = ("tokenizer", "lowercase", "bpe_codes", "sentencepiece_model")
    kind = EvaluatedModel
    if is_model_folder(named.checkpoint):
        kind = TransformersModel
    elif any(getattr(raw_text, name) for name in of_fairseq):
        kind = FairseqModel
    options_of_kind = {field.name for field in fields(kind)}
    for name, value in vars(raw_text).items():
        if value and name not in options_of_kind:
            owner = "a folder of fairseq-preprocess" if name in of_fairseq else "a folder of transformers"
            raise InputError(
                f"--{name.replace('_', '-')}: needs {owner}, found --checkpoint {named.checkpoint}; leave it"
                " out"
            )
    values = vars(named) | vars(raw_text)
    return kind(**{name: values[name] for name in options_of_kind})


def model_in(
    path: str | Path | FairseqModel, data: str | Path | None = None
) -> EvaluatedModel | FairseqModel | TransformersModel:
    """The model of a folder or checkpoint, not loaded yet; a `FairseqModel` names its files itself.

    Args:
        data: the binarized folder of a checkpoint.

    Raises:
        InputError: data that is not read; without data, a folder that is neither of `transformers` nor of
            `fairseq_ext package`.
    """
    if isinstance(path, FairseqModel):
        model = path
    elif is_model_folder(Path(path)):
        model = TransformersModel(Path(path))
    else:
        return EvaluatedModel(Path(path), Path(data)) if data else EvaluatedModel.packaged(Path(path))
    if data:
        raise InputError(
            f"data={str(data)!r}: only a checkpoint is read with a binarized folder; leave it out"
        )
    return model


def load_translator(
    folder: str | Path | FairseqModel, options: TranslatorOptions | None = None
) -> Translator:
    """The translator of a folder, whatever model is in it.

    Args:
        folder: of `fairseq_ext package`, or of an encoder-decoder of `transformers`; or a `FairseqModel`.

    Raises:
        InputError: it is none of them, or the model cannot be loaded.
    """
    return model_in(folder).translator(options or TranslatorOptions())
