"""Ranges of numbers that fairseq's models and criteria take as they come: a negative number of layers is a
model without layers there, and a smoothing of 2 a loss that rewards mistakes.
"""

from command_line.errors import InputError
from command_line.options import natural, number, positive

_SHARE = number(0, 1, below=True)
RANGES = {
    **dict.fromkeys(
        ("dropout", "attention_dropout", "activation_dropout", "relu_dropout", "adaptive_softmax_dropout",
         "encoder_layerdrop", "decoder_layerdrop", "label_smoothing"),
        _SHARE,
    ),
    **dict.fromkeys(
        ("encoder_layers", "decoder_layers", "target_embedding_layers", "ignore_prefix_size"), natural
    ),
    **dict.fromkeys(
        ("encoder_embed_dim", "encoder_ffn_embed_dim", "encoder_attention_heads", "decoder_embed_dim",
         "decoder_ffn_embed_dim", "decoder_attention_heads", "max_source_positions", "max_target_positions",
         "interlingua_ffn_embed_dim"),
        positive,
    ),
    "adaptive_softmax_factor": number(0, 1e6, above=True),
}  # fmt: skip


def check_ranges(options) -> None:
    """Refuse a number out of its range.

    Args:
        options: of a model or a criterion.
    """
    for name, allowed in RANGES.items():
        value = getattr(options, name, None)
        try:
            if value is not None:
                allowed.read(str(value))
        except ValueError:
            option = name.replace("_", "-")
            raise InputError(f"--{option} {value}: expected {allowed.expected}") from None
