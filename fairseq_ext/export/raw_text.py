"""Exported translation models that read raw text: the data's sentencepiece model as a tokenizer.

Its ids are fairseq's. Language tags are not in it as they are spelled, so that no text contains one.
"""

from pathlib import Path

from data_prep.formats.preparation import FILE_NAME, Preparation
from data_prep.subword_models import WORD_BEGINNING
from data_prep.tokenizers import LOWERCASE
from fairseq_ext.export.tokenizer import exported_tokenizer


def raw_text_tokenizer(data: Path, loaded, longest: int, path):
    """The `PreTrainedTokenizerFast` of raw text, or None if the model reads other text.

    That is text which `data_prep tokenize` splits into words, subwords of another kind, and a sentencepiece
    model with pieces that the model has no embeddings of (`data_prep subword --min-count`).

    Args:
        data: the binarized folder of the training.
        longest: tokens of a source sentence, with `</s>` and without tags.
    """
    if not (data / FILE_NAME).is_file():
        return None
    preparation = Preparation.load(data)
    names = set(preparation.tokenizers.values())
    is_raw = len(names) == 1 and names <= {"none", f"none{LOWERCASE}"}
    if preparation.subword["type"] != "sentencepiece" or not is_raw:
        return None
    dictionary = loaded.task.dictionary
    made = exported_tokenizer(preparation, dictionary, longest, has_cls=False, pretokenized=False, path=path)
    if len(made.rows) > len(dictionary):
        return None
    from tokenizers import decoders

    fast = made.tokenizer
    fast.backend_tokenizer.decoder = decoders.Metaspace(WORD_BEGINNING)
    tags = sorted(loaded.task.tags.all_ids())
    fast.add_special_tokens({"additional_special_tokens": fast.convert_ids_to_tokens(tags)})
    return fast
