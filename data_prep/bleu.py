"""sacreBLEU per target language: what detokenized text is scored with, in training and afterwards (8.2.2)."""

from command_line.errors import InputError

# The paper: "zh" for Chinese, "13a" for other languages. Japanese and Korean write no usable spaces either.
BLEU_TOKENIZERS = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
EXTRAS = {"ja-mecab": "sacrebleu[ja]", "ko-mecab": "sacrebleu[ko]"}


def bleu_tokenizer(language: str) -> str:
    """sacreBLEU's tokenizer for a target language; regional codes (`zh_CN`) count as their language."""
    return BLEU_TOKENIZERS.get(language.replace("-", "_").split("_")[0], "13a")


def bleu_metric(language: str):
    """sacreBLEU's BLEU for a target language.

    Raises:
        InputError: the tokenizer's package is not installed; names the extra to install.
    """
    from sacrebleu.metrics import BLEU

    tokenizer = bleu_tokenizer(language)
    try:
        return BLEU(tokenize=tokenizer)
    except RuntimeError:
        raise InputError(
            f"BLEU for {language!r} needs the tokenizer {tokenizer}: pip install '{EXTRAS[tokenizer]}'"
        ) from None
