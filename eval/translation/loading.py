"""The model that a folder holds, and its translator.

translator = load_translator("systems/europarl")
translator.translate(["Guten Morgen!"], "de", "fr")
"""

from pathlib import Path

from eval.translation.evaluated_model import EvaluatedModel
from eval.translation.fairseq_model import FairseqModel
from eval.translation.transformers_model import TransformersModel, is_model_folder
from eval.translation.translator import Translator, TranslatorOptions


def model_in(folder: str | Path | FairseqModel) -> EvaluatedModel | FairseqModel | TransformersModel:
    """The model that a folder holds, not loaded yet; a `FairseqModel` names its files itself.

    Raises:
        InputError: it is neither of `transformers` nor of `fairseq_ext package`.
    """
    if isinstance(folder, FairseqModel):
        return folder
    folder = Path(folder)
    return TransformersModel(folder) if is_model_folder(folder) else EvaluatedModel.packaged(folder)


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
