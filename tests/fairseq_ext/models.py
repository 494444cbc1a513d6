"""Small models for the tests of this folder."""

from argparse import Namespace

import torch
from fairseq.data import Dictionary

from fairseq_ext.modules.residual_block import PLACEMENTS

SIZES = {
    "encoder_embed_dim": 32,
    "encoder_ffn_embed_dim": 64,
    "encoder_attention_heads": 4,
    "encoder_layers": 4,
    "decoder_embed_dim": 32,
    "decoder_ffn_embed_dim": 64,
    "decoder_attention_heads": 4,
    "decoder_layers": 2,
    "max_source_positions": 64,
    "max_target_positions": 64,
    "share_all_embeddings": True,
}


OTHER_PLACEMENTS = [  # of norms, which few other libraries have; with what their refusals say
    ({"norm_placement": name}, f"--norm-placement {name}")
    for name in PLACEMENTS
    if name not in ("pre", "post")
]


def reference_block(placement: str, x, function, norm, residual: bool = True):
    """Equations of `fairseq_ext.modules.residual_block`, without dropout."""
    kept = x if residual else 0
    equations = {
        "post": lambda: norm(kept + function(x)),
        "pre": lambda: kept + function(norm(x)),
        "swap-pre": lambda: kept + norm(function(x)),
        "sandwich": lambda: kept + norm[1](function(norm[0](x))),
    }
    return equations[placement]()


def toy_dictionary(words: int = 30) -> Dictionary:
    dictionary = Dictionary()
    for number in range(words):
        dictionary.add_symbol(f"w{number}")
    return dictionary


class ToyTask:
    """The two properties of a task that a model is built from."""

    def __init__(self, dictionary: Dictionary):
        self.source_dictionary = self.target_dictionary = dictionary


def build(model_class, dictionary: Dictionary, seed: int = 1, **options):
    torch.manual_seed(seed)
    return model_class.build_model(Namespace(**{"dropout": 0.0, **SIZES, **options}), ToyTask(dictionary))


def random_batch(dictionary: Dictionary, lengths=((7, 5), (4, 6), (1, 1)), seed: int = 3) -> dict:
    """Right-padded `src_tokens`, `src_lengths`, `prev_output_tokens` and `target`; (source, target) lengths
    without `</s>`.
    """
    generator = torch.Generator().manual_seed(seed)

    def sentences(sizes):
        batch = torch.full((len(sizes), max(sizes) + 1), dictionary.pad())
        for row, size in zip(batch, sizes, strict=True):
            row[:size] = torch.randint(dictionary.nspecial, len(dictionary), (size,), generator=generator)
            row[size] = dictionary.eos()
        return batch

    source, target = (sentences(sizes) for sizes in zip(*lengths, strict=True))
    previous = target.roll(1, dims=1)
    previous[:, 0] = dictionary.eos()
    previous[target.eq(dictionary.pad())] = dictionary.pad()
    net_input = {
        "src_tokens": source,
        "src_lengths": source.ne(dictionary.pad()).sum(1),
        "prev_output_tokens": previous,
    }
    ntokens = int(target.ne(dictionary.pad()).sum())
    return {"net_input": net_input, "target": target, "ntokens": ntokens, "nsentences": len(target)}
