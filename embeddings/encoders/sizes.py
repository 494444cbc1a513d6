"""What an encoder consists of, in numbers: columns of Tables 3.1 and A.3 of the thesis."""

import re
from dataclasses import dataclass, fields, replace

from typing_extensions import TypedDict


@dataclass(frozen=True)
class EncoderSize:
    """Numbers of an encoder; None where one is not known.

    Attributes:
        parameters: P, embeddings counted.
        layer_parameters: P_E, of the layers.
        layers: L.
        state_width: d_h.
        ffn_width: d_ff.
        heads: H.
    """

    parameters: int | None = None
    layer_parameters: int | None = None
    layers: int | None = None
    state_width: int | None = None
    ffn_width: int | None = None
    heads: int | None = None

    @classmethod
    def of_record(cls, record: dict | None) -> "EncoderSize":
        """What a record says; nothing is known of vectors of another program."""
        return cls(
            **{name: value for name, value in (record or {}).items() if name in SizeRecord.__annotations__}
        )


NUMBERED = re.compile(r"(?:^|\.)layers?\.(\d+)\.")  # the layer in the name of a parameter
SizeRecord = TypedDict("SizeRecord", {field.name: int | None for field in fields(EncoderSize)}, total=False)


def size_of(weights, prefix: str = "", **others: int | None) -> EncoderSize:
    """The size of a model of torch.

    Args:
        weights: names and parameters (`named_parameters`), each once.
        prefix: of the names, so that layers are `encoder.layers.0.`, or `encoder.model.….layer.0.`
        others: L, d_h, d_ff and H.
    """
    from fairseq_ext.checkpoints.parameters import ENCODER_LAYERS, count_parameters

    named = {f"{prefix}{name}": value for name, value in weights}
    layers = count_parameters(named)[ENCODER_LAYERS]
    whole = sum(value.numel() for value in named.values())
    return EncoderSize(parameters=whole, layer_parameters=layers or None, **others)


def size_of_transformers(model, layer: int | None = None) -> EncoderSize:
    """The size of an encoder of `transformers`, whose configuration says the rest.

    Args:
        layer: whose states are read; those above are not counted. None: the last.
    """
    from fairseq_ext.models.pretrained_configuration import sizes_of

    sizes = sizes_of(model.config)
    names = {
        "layers": "encoder_layers",
        "state_width": "encoder_embed_dim",
        "ffn_width": "encoder_ffn_embed_dim",
        "heads": "encoder_attention_heads",
    }
    others = {field: sizes[name] for field, name in names.items()}
    if layer is not None:
        others["layers"] = layer
    read = (
        (name, parameter)
        for name, parameter in model.named_parameters()
        if layer is None or _is_below(name, layer)
    )
    return size_of(read, "encoder.model.", **others)  # as checkpoints name them


def _is_below(name: str, layer: int) -> bool:
    """Whether a parameter is none of the layers above one."""
    numbered = NUMBERED.search(name)
    return numbered is None or int(numbered[1]) < layer


def size_of_modules(model) -> EncoderSize:
    """The size of a model of `sentence-transformers`: of its encoder and what is above it."""
    inner = model[0].auto_model
    above = sum(parameter.numel() for parameter in model.parameters()) - sum(
        parameter.numel() for parameter in inner.parameters()
    )
    size = size_of_transformers(inner)
    return replace(size, parameters=size.parameters + above)
