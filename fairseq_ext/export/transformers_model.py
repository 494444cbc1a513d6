"""A stock model of `transformers` that computes the states of an `EncoderGraph`.

| norms | norm of the embeddings | model of transformers |
|---|---|---|
| `post` | no  | ELECTRA whose embeddings are wider by three: see `through_a_norm` |
| `post` | yes | ELECTRA |
| `pre`  | no  | Megatron-BERT |
| `pre`  | yes | RoBERTa-PreLayerNorm |

None of them is an encoder-decoder, so that `AutoModel`, which sentence-transformers calls, reads the encoder
and nothing else. Token types, of which there is one, are zeros.
"""

import torch
from torch import Tensor

from fairseq_ext.export.affine import Affine
from fairseq_ext.export.encoder_graph import ACTIVATIONS, EncoderGraph, refusal

ANCHOR = 256.0  # how many times longer than the longest embedding the two constants of `through_a_norm` are
EPSILON = 1e-5  # of torch's norms


def check_expressible(graph: EncoderGraph, path) -> None:
    """Refuse an encoder that no stock model computes."""
    if graph.placement not in ("pre", "post"):
        raise refusal(path, f"--norm-placement {graph.placement}: models of transformers have pre or post")
    if graph.placement == "pre" and graph.final_norm is None:
        raise refusal(
            path, "--no-encoder-final-norm: models of transformers with norms in front end with one"
        )
    if graph.placement == "post" and graph.final_norm is not None:
        raise refusal(path, "a norm behind the last layer, which has one itself")
    for number, layer in enumerate(graph.layers, start=1):
        if not layer.has_attention_residual:
            raise refusal(path, f"--drop-residual-layers {number}: models of transformers have all of them")
    if not graph.layers:
        raise refusal(path, "--pooling-layer 0 pools embeddings, with no layer above them")
    if graph.activation not in ACTIVATIONS:
        raise refusal(
            path, f"--activation-fn {graph.activation}: expected one of {', '.join(sorted(ACTIVATIONS))}"
        )


def transformers_model(graph: EncoderGraph, special: dict[str, int]):
    """The model, in evaluation mode.

    Args:
        graph: that `check_expressible` has let through.
        special: ids of the tokenizer: "pad_token_id", "bos_token_id", "eos_token_id".
    """
    make = _electra if graph.placement == "post" else _megatron
    if graph.placement == "pre" and graph.embedding_norm is not None:
        make = _roberta
    return make(graph, special).eval()


def through_a_norm(tokens: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Affine]:
    """Embeddings that come out of a layer norm and a linear map as the plain sum of the given ones.

    ELECTRA normalizes the sum x of token's and position's embedding, and maps it to the width of its states
    if that is another. Let (x, 0, k, -k) be the embedding. Its variance is 2k^2 / (C + 3) up to a share of
    |x|^2 / 2k^2, which `ANCHOR` makes smaller than vectors in float32 show: the norm divides by a constant.
    The map restores x from its output y, x_i = s (y_i - y_C): the coordinate that was 0 holds the mean that
    the norm took away.

    Returns:
        V x (C + 3), T x (C + 3), and the map to C.
    """
    width = tokens.shape[1]
    anchor = ANCHOR * float(tokens.norm(dim=1).max() + positions.norm(dim=1).max()) or 1.0
    wide_tokens = torch.cat([tokens, torch.tensor([0.0, anchor, -anchor]).expand(len(tokens), 3)], dim=1)
    wide_positions = torch.cat([positions, positions.new_zeros(len(positions), 3)], dim=1)
    scale = anchor * (2 / (width + 3)) ** 0.5
    back = torch.zeros(width, width + 3)
    back[:, :width] = scale * torch.eye(width)
    back[:, width] = -scale
    return wide_tokens, wide_positions, Affine(back, torch.zeros(width))


def _common(graph: EncoderGraph, special: dict[str, int]) -> dict:
    """Options that the configurations of all three have."""
    return {
        **special,
        "vocab_size": len(graph.tokens),
        "hidden_size": graph.width,
        "num_hidden_layers": len(graph.layers),
        "num_attention_heads": graph.heads,
        "intermediate_size": graph.inner_width,
        "hidden_act": ACTIVATIONS[graph.activation],
        "max_position_embeddings": graph.longest,
        "type_vocab_size": 1,
        "layer_norm_eps": EPSILON,
    }


def _electra(graph: EncoderGraph, special: dict[str, int]):
    from transformers import ElectraConfig, ElectraModel

    tokens, positions, weights = graph.embeddings, graph.positions, {}
    if graph.embedding_norm is None:
        tokens, positions, back = through_a_norm(tokens, positions)
        width = tokens.shape[1]
        norm = Affine(torch.ones(width), torch.zeros(width))
        weights = _named("embeddings_project", back)
    else:
        norm = graph.embedding_norm
    config = ElectraConfig(embedding_size=tokens.shape[1], **_common(graph, special))
    weights |= _embeddings(tokens, positions) | _named("embeddings.LayerNorm", norm)
    for number, layer in enumerate(graph.layers):
        weights |= _layer(layer, number, "attention.output.LayerNorm", "output.LayerNorm")
    return _filled(ElectraModel(config), weights)


def _megatron(graph: EncoderGraph, special: dict[str, int]):
    from transformers import MegatronBertConfig, MegatronBertModel

    model = MegatronBertModel(MegatronBertConfig(**_common(graph, special)))
    weights = _embeddings(graph.embeddings, graph.positions) | _named("encoder.ln", graph.final_norm)
    for number, layer in enumerate(graph.layers):
        weights |= _layer(layer, number, "attention.ln", "ln")
    return _filled(model, weights | _no_pooler(graph.width))


def _roberta(graph: EncoderGraph, special: dict[str, int]):
    from transformers import RobertaPreLayerNormConfig, RobertaPreLayerNormModel

    unused = special["pad_token_id"] + 1  # positions count from behind the number of the padding symbol
    options = _common(graph, special) | {"max_position_embeddings": graph.longest + unused}
    model = RobertaPreLayerNormModel(RobertaPreLayerNormConfig(**options))
    positions = torch.cat([graph.positions.new_zeros(unused, graph.width), graph.positions])
    weights = _embeddings(graph.embeddings, positions) | _named("LayerNorm", graph.final_norm)
    weights |= _named("embeddings.LayerNorm", graph.embedding_norm)
    for number, layer in enumerate(graph.layers):
        weights |= _layer(layer, number, "attention.LayerNorm", "intermediate.LayerNorm")
    return _filled(model, weights | _no_pooler(graph.width))


def _named(name: str, affine: Affine) -> dict[str, Tensor]:
    return {f"{name}.weight": affine.weight, f"{name}.bias": affine.bias}


def _embeddings(tokens: Tensor, positions: Tensor) -> dict[str, Tensor]:
    return {
        "embeddings.word_embeddings.weight": tokens,
        "embeddings.position_embeddings.weight": positions,
        "embeddings.token_type_embeddings.weight": tokens.new_zeros(1, tokens.shape[1]),
    }


def _layer(layer, number: int, attention_norm: str, feed_forward_norm: str) -> dict[str, Tensor]:
    places = {
        "attention.self.query": layer.attention.query,
        "attention.self.key": layer.attention.key,
        "attention.self.value": layer.attention.value,
        "attention.output.dense": layer.attention.output,
        attention_norm: layer.attention.norm,
        "intermediate.dense": layer.inner,
        "output.dense": layer.outer,
        feed_forward_norm: layer.feed_forward_norm,
    }
    return {
        name: value
        for place, affine in places.items()
        for name, value in _named(f"encoder.layer.{number}.{place}", affine).items()
    }


def _no_pooler(width: int) -> dict[str, Tensor]:
    """The dense layer on the first token that these classes have and nobody looks at."""
    return _named("pooler.dense", Affine(torch.zeros(width, width), torch.zeros(width)))


def _filled(model, weights: dict[str, Tensor]):
    model.load_state_dict(weights, strict=True)
    return model
