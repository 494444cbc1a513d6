"""Questions in the layout of SQuAD, and tokenizers that cut their contexts."""

import json
from pathlib import Path

from tests.embeddings.encoders.folders import TEXT, tokenizer
from tests.embeddings.test_retrieve import write


def question(name: str, text: str, *answers: tuple[str, int]) -> dict:
    """With answers and where they begin."""
    return {
        "id": name,
        "question": text,
        "answers": [{"text": text, "answer_start": start} for text, start in answers],
    }


def squad(*paragraphs: tuple) -> dict:
    """Of contexts, each with the questions about it."""
    return {
        "version": "1.1",
        "data": [
            {"title": context[:9], "paragraphs": [{"context": context, "qas": questions}]}
            for context, *questions in paragraphs
        ],
    }


def write_squad(path: Path, *paragraphs: tuple) -> Path:
    return write(path, [json.dumps(squad(*paragraphs))])


def word_pieces():
    """As BERT's: `[CLS] question [SEP] context [SEP]`."""
    return tokenizer()


def pieces():
    """As XLM-R's: `<s> question </s> </s> context </s>`, and spaces are in front of words."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import XLMRobertaTokenizerFast

    symbols = dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁Wetter", "in", "1", "2"])
    symbols |= dict.fromkeys(character for line in TEXT for character in line if character != " ")
    made = Tokenizer(models.Unigram([(symbol, -len(symbol) / 9) for symbol in symbols], unk_id=3))
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return XLMRobertaTokenizerFast(tokenizer_object=made)
