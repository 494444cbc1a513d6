"""sacreBLEU per target language: it scores detokenized text in training and afterwards (thesis 8.2.2)."""

import os
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import checksum
from data_prep.languages import writing_system

AUTO = "auto"
# The paper: "zh" for Chinese, "13a" for other languages. Where words are not separated and sacreBLEU cannot
# find them, characters are counted.
BY_WRITING_SYSTEM = {"han": "zh", "japanese": "ja-mecab", "korean": "ko-mecab", "unspaced": "char"}
DEFAULT = "13a"
SENTENCEPIECE = ("flores200", "flores101")  # spBLEU (Goyal et al., 2022; NLLB Team, 2022)
TOKENIZERS = (DEFAULT, "intl", "zh", "ja-mecab", "ko-mecab", "char", *SENTENCEPIECE, "none")
EXTRAS = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}


def bleu_tokenizer(language: str, choice: str = AUTO) -> str:
    """sacreBLEU's tokenizer for a target language: the choice, or for "auto" the one for how it is written.

    A code that is in no registry is tokenized as if words were separated by spaces.
    """
    return BY_WRITING_SYSTEM.get(writing_system(language), DEFAULT) if choice == AUTO else choice


def bleu_metric(language: str, choice: str = AUTO, model: Path | None = None):
    """sacreBLEU's BLEU for a target language.

    Args:
        choice: one of `TOKENIZERS`, or "auto".
        model: the sentencepiece model of flores200 or flores101; None: where sacreBLEU keeps it.
    """
    from sacrebleu.metrics import BLEU

    tokenizer = bleu_tokenizer(language, choice)
    if tokenizer in SENTENCEPIECE:
        return _sentencepiece_bleu(tokenizer, model)
    try:
        return BLEU(tokenize=tokenizer)
    except RuntimeError:
        raise InputError(
            f"BLEU for {language!r} needs the tokenizer {tokenizer}: pip install '{EXTRAS[tokenizer]}'"
        ) from None


def sentencepiece_model(tokenizer: str, model: Path | None = None) -> Path:
    """The file of a sentencepiece tokenizer: the one given, or sacreBLEU's copy of it.

    sacreBLEU itself would download a missing one; here that
    is left to the user.
    """

    from sacrebleu.tokenizers.tokenizer_spm import SACREBLEU_DIR, SPM_MODELS

    if model is not None:
        if not model.is_file():
            raise InputError(f"--tokenizer-model {model}: no such file, expected the model of {tokenizer}")
        return model
    url = SPM_MODELS[tokenizer]["url"]
    own = Path(SACREBLEU_DIR, "models", os.path.basename(url))
    if not own.is_file():
        raise InputError(
            f"{own}: no such file; --tokenize {tokenizer} needs it: download {url} to there,"
            " or give it with --tokenizer-model FILE"
        )
    return own


def _sentencepiece_bleu(tokenizer: str, model: Path | None):
    """BLEU over sentencepieces; the signature of a model that is not sacreBLEU's copy has its checksum."""
    from sacrebleu.metrics import BLEU
    from sacrebleu.tokenizers.tokenizer_spm import TokenizerSPM
    from sentencepiece import SentencePieceProcessor

    path = sentencepiece_model(tokenizer, model)

    class Sentencepieces(TokenizerSPM):
        def __init__(self):
            self.name = tokenizer if model is None else f"{tokenizer}-{checksum(path)[:8]}"
            try:
                self.sp = SentencePieceProcessor(model_file=str(path))
            except (OSError, RuntimeError):
                raise InputError(f"{path}: not a sentencepiece model") from None

    bleu = BLEU(tokenize="none")
    bleu.tokenizer = Sentencepieces()
    bleu.tokenizer_signature = bleu.tokenizer.signature()
    return bleu


def tokenizer_of(signature: str) -> str:
    """`13a` of `nrefs:1|case:mixed|eff:no|tok:13a|…`; "" if it names none."""
    fields = dict(part.partition(":")[::2] for part in signature.split("|"))
    return fields.get("tok", "")
