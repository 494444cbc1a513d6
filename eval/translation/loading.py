"""The model that a folder holds, and its translator.

translator = load_translator("systems/europarl")
translator.translate(["Guten Morgen!"], "de", "fr")
"""

from pathlib import Path

from command_line.errors import InputError
from eval.translation.evaluated_model import EvaluatedModel
from eval.translation.fairseq_model import FairseqModel
from eval.translation.transformers_model import TransformersModel, is_model_folder
from eval.translation.translator import Translator, TranslatorOptions


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
    if not isinstance(path, FairseqModel):
        path = Path(path)
        if not is_model_folder(path):
            return EvaluatedModel(path, Path(data)) if data else EvaluatedModel.packaged(path)
    if data:
        raise InputError(
            f"data={str(data)!r}: only a checkpoint is read with a binarized folder; leave it out"
        )
    return path if isinstance(path, FairseqModel) else TransformersModel(path)


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
