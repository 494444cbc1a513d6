"""The model that a folder holds, and its translator.

translator = load_translator("systems/europarl")
translator.translate(["Guten Morgen!"], "de", "fr")
"""

from pathlib import Path

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
        InputError: without data, a folder that is neither of `transformers` nor of `fairseq_ext package`.
    """
    if isinstance(path, FairseqModel):
        return path
    path = Path(path)
    if is_model_folder(path):
        return TransformersModel(path)
    return EvaluatedModel(path, Path(data)) if data else EvaluatedModel.packaged(path)


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
