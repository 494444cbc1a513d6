"""Named architectures of `sentence_encoder`: the rows of Tables 3.1 and A.3, LaBSE and what is smaller.

As LaBSE they are BERT's encoder: learned positions, a norm over the embeddings, gelu, norms after the
residual connections, and a dense layer with tanh on the state of [CLS]. The vector of a sentence is as wide
as the encoder, and so are the embeddings. MobileBERT-like (footnote 4, A.3) means no more than feed-forward
layers of the encoder's own width, and 4 heads.
"""

from functools import partial
from typing import NamedTuple

from fairseq.models import register_model_architecture

from fairseq_ext.models.mnmt_transformer import with_defaults
from fairseq_ext.models.sentence_encoder import sentence_encoder_architecture


class Shape(NamedTuple):
    """Columns of Table A.3: L, d_h, d_ff, H."""

    layers: int
    width: int
    ffn_width: int
    heads: int


ROWS = {  # number in the tables: name and shape
    0: ("labse", Shape(12, 768, 3072, 12)),
    1: ("labse_6_layers", Shape(6, 768, 3072, 12)),
    2: ("labse_3_layers", Shape(3, 768, 3072, 12)),
    3: ("labse_width_384", Shape(12, 384, 1536, 12)),
    4: ("labse_width_192", Shape(12, 192, 768, 12)),
    5: ("thin_deep_384", Shape(24, 384, 1536, 12)),
    6: ("lealla_large", Shape(24, 256, 1024, 8)),
    7: ("lealla_base", Shape(24, 192, 768, 12)),
    8: ("lealla_small", Shape(24, 128, 512, 8)),
    9: ("thin_deep_64", Shape(24, 64, 256, 8)),
    10: ("mobilebert_like_256", Shape(24, 256, 256, 4)),
    11: ("mobilebert_like_192", Shape(24, 192, 192, 4)),
    12: ("mobilebert_like_128", Shape(24, 128, 128, 4)),
}


def _complete(shape: Shape, args) -> None:
    """Complete the options of an architecture of this shape."""
    with_defaults(args, encoder_layers=shape.layers, encoder_attention_heads=shape.heads)
    with_defaults(args, encoder_embed_dim=shape.width, encoder_ffn_embed_dim=shape.ffn_width)
    with_defaults(args, encoder_learned_pos=True, layernorm_embedding=True, no_scale_embedding=True)
    with_defaults(args, activation_fn="gelu", dropout=0.1, attention_dropout=0.1, pooling="pooler")
    sentence_encoder_architecture(args)


for _name, _shape in ROWS.values():
    register_model_architecture("sentence_encoder", _name)(partial(_complete, _shape))
