"""What encoders in folders of `transformers` and `sentence-transformers` read: token ids in batches."""

from collections.abc import Sequence

from command_line.errors import InputError
from data_prep.languages import usual_names
from embeddings.encoders.sentence_encoder import LanguageNeeded


def token_ids(tokenizer, texts: Sequence[str], longest: int) -> list[list[int]]:
    """Token ids with the special ones that the tokenizer adds, at most `longest`."""
    if not texts:
        return []
    encoded = tokenizer(
        list(texts),
        truncation=True,
        max_length=longest,
        padding=False,
        return_attention_mask=False,
        return_token_type_ids=False,
        verbose=False,
    )
    return encoded["input_ids"]


def source_codes(tokenizer) -> list[str]:
    """The codes of the languages whose tag the tokenizer puts around a text, as those of mBART, NLLB and
    M2M-100 do; empty for most tokenizers.
    """
    if not hasattr(tokenizer, "src_lang"):
        return []
    return list(getattr(tokenizer, "lang_code_to_id", None) or tokenizer.additional_special_tokens)


def source_code(codes: Sequence[str], language: str | None, name: str) -> str:
    """What the tokenizer calls a language, or `en_XX` for `en`.

    Raises:
        LanguageNeeded: no language is known.
        InputError: the tokenizer has none or several of it.
    """
    if not language:
        raise LanguageNeeded(f"{name} reads the tag of the language of the text, one of {', '.join(codes)}")
    matching = usual_names(language, codes)
    if len(matching) != 1:
        raise InputError(
            f"{name} reads the tag of the language of the text, which is {language}; expected one of"
            f" {', '.join(sorted(matching) or codes)}"
        )
    return matching.pop()


def padded(tokenizer, batch: list[list[int]], device) -> dict:
    """B x T token ids and the mask of those that are no padding, as the model takes them."""
    import torch

    longest = max(map(len, batch))
    ids = torch.full((len(batch), longest), tokenizer.pad_token_id or 0)
    mask = torch.zeros_like(ids)
    for row, tokens in enumerate(batch):
        start = longest - len(tokens) if tokenizer.padding_side == "left" else 0
        ids[row, start : start + len(tokens)] = torch.tensor(tokens)
        mask[row, start : start + len(tokens)] = 1
    return {"input_ids": ids.to(device), "attention_mask": mask.to(device)}


def special_ids(tokenizer) -> list[int]:
    """The tokens that stand around a sentence or in front of it ([CLS], `</s>`, a language's tag), and for
    none of its words, as the unknown one and the mask do.
    """
    around = {getattr(tokenizer, f"{name}_token_id") for name in ("cls", "sep", "bos", "eos")}
    words = {tokenizer.unk_token_id, tokenizer.mask_token_id} - around
    return sorted(set(tokenizer.all_special_ids) - words)
