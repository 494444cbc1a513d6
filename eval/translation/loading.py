"""The translator of a folder.

translator = load_translator("systems/europarl")
translator.translate(["Guten Morgen!"], "de", "fr")
"""

from pathlib import Path

from eval.translation.evaluated_model import EvaluatedModel
from eval.translation.transformers_model import TransformersModel, is_model_folder
from eval.translation.translator import Translator, TranslatorOptions


def load_translator(folder, options: TranslatorOptions | None = None) -> Translator:
    """The translator of a folder, whatever model is in it.

    Args:
        folder: of `fairseq_ext package`, or of an encoder-decoder of `transformers`.

    Raises:
        InputError: it is neither, or the model cannot be loaded.
    """
    folder = Path(folder)
    model = TransformersModel(folder) if is_model_folder(folder) else EvaluatedModel.packaged(folder)
    return model.translator(options or TranslatorOptions())
