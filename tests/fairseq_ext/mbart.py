"""A small checkpoint in the shape of mBART-25's, as fairseq 0.9 wrote it, with its dictionary and pieces."""

from argparse import Namespace
from pathlib import Path

import torch
from fairseq.data import Dictionary
from fairseq.models.bart.model import BARTModel, mbart_large_architecture

from fairseq_ext.checkpoints.mbart import LANGUAGES

SIZES = {
    "encoder_embed_dim": 32, "encoder_ffn_embed_dim": 64, "encoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_embed_dim": 32, "decoder_ffn_embed_dim": 64, "decoder_layers": 2, "decoder_attention_heads": 4,
    "max_source_positions": 40, "max_target_positions": 40,
}  # fmt: skip


def mbart_dictionary(symbols, languages=LANGUAGES) -> Dictionary:
    dictionary = Dictionary()
    for symbol in [*symbols, *(f"[{language}]" for language in languages), "<mask>"]:
        dictionary.add_symbol(symbol)
    return dictionary


def mbart_model(dictionary: Dictionary, scale: float = 0.3, **options):
    """fairseq's model with random weights, among them norms and biases, which begin as ones and zeros."""
    torch.manual_seed(1)
    args = Namespace(**SIZES, arch="mbart_large", task="translation_from_pretrained_bart", dropout=0.0)
    vars(args).update(encoder_normalize_before=True, decoder_normalize_before=True, **options)
    mbart_large_architecture(args)
    model = BARTModel.build_model(args, Namespace(source_dictionary=dictionary, target_dictionary=dictionary))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(scale * torch.randn_like(parameter))
        model.encoder.embed_tokens.weight[dictionary.pad()] = 0
    return model.eval(), args


def write_mbart(folder: Path, symbols, **options):
    """model.pt and dict.txt; returns the model and its dictionary."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dict.txt").write_text("".join(f"{symbol} 1\n" for symbol in symbols), encoding="utf-8")
    dictionary = mbart_dictionary(symbols)
    model, args = mbart_model(dictionary, **options)
    weights = {name: value for name, value in model.state_dict().items() if "output_projection" not in name}
    optimizer = {"criterion_name": "x", "optimizer_name": "x", "lr_scheduler_state": {}, "num_updates": 9}
    state = {"args": args, "model": weights, "optimizer_history": [optimizer], "extra_state": {}}
    torch.save(state, folder / "model.pt")
    return model, dictionary


def train_pieces(folder: Path, lines: list[str], size: int) -> list[str]:
    """sentence.bpe.model of these lines; returns its pieces without sentencepiece's special ones."""
    import sentencepiece

    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "sentence.bpe.model", "wb") as stream:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines), model_writer=stream, vocab_size=size, minloglevel=2,
            hard_vocab_limit=False, character_coverage=1.0,
        )  # fmt: skip
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentence.bpe.model"))
    return [model.id_to_piece(number) for number in range(3, len(model))]
