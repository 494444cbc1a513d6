"""Tiny random encoder-decoders of `transformers`, in the layouts of the published ones."""

import io
import json
from pathlib import Path

from data_prep.model_folders.libraries import reading

TEXT = [
    "The weather is nice today, isn't it?", "Two children are playing football in the park.",
    "Das Wetter ist heute sehr schön.", "Zwei Kinder spielen Fußball im Park.",
    "Il fait beau aujourd'hui.", "Deux enfants jouent au football.", "1234 5678 90",
]  # fmt: skip
SIZES = {
    "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 32,
    "decoder_layers": 1, "decoder_attention_heads": 2, "decoder_ffn_dim": 32,
    "d_model": 16, "max_position_embeddings": 40,
}  # fmt: skip
SEARCH = {"num_beams": 5, "early_stopping": True}  # as published ones have it


def write_m2m_100(folder: Path) -> Path:
    """M2M-100: sentencepiece, a vocabulary of fairseq, and tags such as `__de__` behind it."""
    from transformers import M2M100Tokenizer

    pieces = write_pieces(folder / "sentencepiece.bpe.model")
    _write_vocabulary(folder, ["<s>", "<pad>", "</s>", "<unk>", *pieces[3:]])
    files = (str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"))
    tags = list(M2M100Tokenizer(*files).lang_code_to_token.values())
    tokenizer = M2M100Tokenizer(*files, additional_special_tokens=tags)
    return _save_m2m(folder, tokenizer, max(tokenizer.lang_code_to_id.values()) + 9)  # 8 for nobody


def write_nllb(folder: Path) -> Path:
    """NLLB-200: the same model with tags such as `deu_Latn` in a tokenizer.json."""
    from transformers import NllbTokenizerFast

    write_pieces(folder / "sentencepiece.bpe.model")
    with reading(folder, "transformers"):
        tokenizer = NllbTokenizerFast(str(folder / "sentencepiece.bpe.model"))
    return _save_m2m(folder, tokenizer, len(tokenizer))


def _save_m2m(folder: Path, tokenizer, rows: int) -> Path:
    from transformers import M2M100Config, M2M100ForConditionalGeneration

    tokenizer.save_pretrained(folder)
    return _save(folder, M2M100ForConditionalGeneration(M2M100Config(vocab_size=rows, **SIZES)))


def write_mbart_50(folder: Path) -> Path:
    """mBART-50: tags such as `de_DE`, and positions that were learned."""
    from transformers import MBart50TokenizerFast, MBartConfig, MBartForConditionalGeneration

    write_pieces(folder / "sentencepiece.bpe.model")
    with reading(folder, "transformers"):
        tokenizer = MBart50TokenizerFast(str(folder / "sentencepiece.bpe.model"), bos_token="<s>")
    tokenizer.save_pretrained(folder)
    given = {"normalize_before": True, "decoder_start_token_id": 2, **SEARCH, **SIZES}
    config = MBartConfig(vocab_size=len(tokenizer), tokenizer_class="MBart50Tokenizer", **given)
    return _save(folder, MBartForConditionalGeneration(config))


def write_opus_mt(folder: Path, source: str = "eng", target: str = "deu", tags: tuple = ()) -> Path:
    """OPUS-MT: two models of sentencepiece with one vocabulary; tags such as `>>deu<<` if there are several
    targets.
    """
    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    pieces = write_pieces(folder / "source.spm")
    (folder / "target.spm").write_bytes((folder / "source.spm").read_bytes())
    vocabulary = ["</s>", "<unk>", *pieces[3:], *(f">>{tag}<<" for tag in tags), "<pad>"]
    _write_vocabulary(folder, vocabulary)
    names = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    MarianTokenizer(*names, source_lang=source, target_lang=target, model_max_length=512).save_pretrained(
        folder
    )
    pad = len(vocabulary) - 1
    tokens = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0, "forced_eos_token_id": 0}
    config = MarianConfig(vocab_size=len(vocabulary), bad_words_ids=[[pad]], **tokens, **SIZES)
    return _save(folder, MarianMTModel(config))


def write_t5(folder: Path, tags: tuple = ("<2de>", "<2en>", "<2fr>"), tasks: tuple = ()) -> Path:
    """MADLAD-400, a T5 with tags in its vocabulary; without them any T5, which may have tasks."""
    from transformers import T5Config, T5ForConditionalGeneration, T5TokenizerFast

    ids = {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1}
    write_pieces(folder / "spiece.model", user_defined_symbols=",".join(tags), **ids)
    with reading(folder, "transformers"):
        tokenizer = T5TokenizerFast(str(folder / "spiece.model"), extra_ids=0)
    tokenizer.save_pretrained(folder)
    params = {
        f"translation_en_to_{code}": {"prefix": f"translate English to {name}: "} for code, name in tasks
    }
    config = T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
        decoder_start_token_id=0, task_specific_params=params or None,
    )  # fmt: skip
    return _save(folder, T5ForConditionalGeneration(config))


def write_pieces(path: Path, **options) -> list[str]:
    """Train a model of sentencepiece; its pieces."""
    import sentencepiece

    path.parent.mkdir(parents=True, exist_ok=True)
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 3), model_writer=model, vocab_size=90, character_coverage=1.0,
        hard_vocab_limit=False, num_threads=1, minloglevel=2, **options,
    )  # fmt: skip
    path.write_bytes(model.getvalue())
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [processor.id_to_piece(number) for number in range(processor.get_piece_size())]


def _write_vocabulary(folder: Path, tokens: list[str]) -> None:
    content = {token: number for number, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(content), encoding="utf-8")


def _save(folder: Path, model) -> Path:
    """Weights that are drawn anew: small embeddings, so that a token does not bring about itself."""
    import torch

    generator = torch.Generator().manual_seed(1)
    for name, weight in model.named_parameters():
        if weight.dim() > 1 and "positions" not in name:
            scale = 0.2 if weight is model.get_input_embeddings().weight else 2 * weight.shape[-1] ** -0.5
            weight.data = torch.randn(weight.shape, generator=generator) * scale
    model.get_input_embeddings().weight.data[model.config.pad_token_id] = 0
    model.save_pretrained(folder)
    return folder


WRITERS = {
    "m2m-100": write_m2m_100,
    "nllb": write_nllb,
    "mbart-50": write_mbart_50,
    "opus-mt": write_opus_mt,
    "opus-mt-mul": lambda folder: write_opus_mt(folder, "eng", "gem", ("deu", "nld", "fra")),
    "madlad": write_t5,
    "t5": lambda folder: write_t5(folder, tags=(), tasks=(("de", "German"), ("fr", "French"))),
}
