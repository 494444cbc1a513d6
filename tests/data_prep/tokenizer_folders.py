"""Tiny folders with a tokenizer of `transformers`, of every kind, as the published ones are."""

import io
import json
from pathlib import Path

TEXT = [
    "The weather is nice today, isn't it?", "Two children are playing football in the park.",
    "Das Wetter ist heute sehr schön.", "Zwei Kinder spielen Fußball im Park.", "今日は 天気が いい です",
    "Il fait beau aujourd'hui.", "Deux enfants jouent au football.", "1234 5678 90", "no\u00a0break",
    "wide\u3000space here\u3000and\u3000there", "thin\u2009space\u2009twice",
]  # fmt: skip


def write_bert(folder: Path) -> Path:
    """WordPiece as mBERT's and LaBSE's: a vocabulary, and the name of its class."""
    from tokenizers import BertWordPieceTokenizer

    tokenizer = BertWordPieceTokenizer(lowercase=False, strip_accents=False)
    tokenizer.train_from_iterator(TEXT, vocab_size=180, min_frequency=1, show_progress=False)
    folder.mkdir(parents=True)
    tokenizer.save_model(str(folder))
    _write(folder / "tokenizer_config.json", tokenizer_class="BertTokenizer", do_lower_case=False)
    return folder


def write_xlmr(folder: Path) -> Path:
    """A unigram model of sentencepiece as XLM-R's, whose ids are those of sentencepiece and 1 more."""
    folder.mkdir(parents=True)
    _train(folder / "sentencepiece.bpe.model", model_type="unigram", vocab_size=120)
    _write(folder / "tokenizer_config.json", tokenizer_class="XLMRobertaTokenizer")
    return folder


def write_llama(folder: Path) -> Path:
    """A BPE model of sentencepiece with bytes for unknown characters, which keeps every space as it is."""
    folder.mkdir(parents=True)
    options = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    options |= {"byte_fallback": True, "split_by_whitespace": False}
    _train(folder / "tokenizer.model", model_type="bpe", vocab_size=420, **options)
    _write(folder / "tokenizer_config.json", tokenizer_class="LlamaTokenizer", legacy=False)
    return folder


def write_gpt2(folder: Path) -> Path:
    """Byte-level BPE in a tokenizer.json that cuts and pads; one symbol is beginning, end and unknown."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator(TEXT, vocab_size=320, special_tokens=["<|end|>"], show_progress=False)
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=9, pad_token="<|end|>")
    names = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|end|>")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer._tokenizer, **names).save_pretrained(folder)
    return folder


def _train(path: Path, **options) -> None:
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 3), model_writer=model, character_coverage=1.0, hard_vocab_limit=False,
        num_threads=1, minloglevel=2, **options,
    )  # fmt: skip
    path.write_bytes(model.getvalue())


def _write(path: Path, **content) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


KINDS = {"bert": write_bert, "xlmr": write_xlmr, "llama": write_llama, "gpt2": write_gpt2}
