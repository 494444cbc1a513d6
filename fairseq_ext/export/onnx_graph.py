"""An `EncoderGraph` as an ONNX graph from token ids to vectors, of standard operators only.

    input_ids, attention_mask: B x T, int64     sentence_embedding: B x C', float32

The graph is written down here and not traced, so that it has what a processor likes (one product for queries,
keys and values, the scale of attention inside their weights), and every point of the axes.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from data_prep.model_folders.graphs import IDS, MASK
from fairseq_ext.export.affine import Affine
from fairseq_ext.export.encoder_graph import EncoderGraph, GraphLayer
from fairseq_ext.export.sentence_head import SentenceHead
from fairseq_ext.modules.residual_block import PLACEMENTS

OPSET = 17
VECTORS = "sentence_embedding"
NEVER = -1e9  # added to the scores of padding
ACTIVATIONS = ("relu", "gelu", "gelu_fast", "gelu_accurate", "tanh", "linear")


class GraphWriter:
    """Nodes and constants of a graph; an operator's method returns the name of its result."""

    def __init__(self):
        self.nodes, self.constants = [], {}

    def constant(self, value) -> str:
        from onnx import numpy_helper

        value = value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)
        value = value.astype(np.float32) if value.dtype.kind == "f" else value.astype(np.int64)
        name = f"constant_{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.array(value, order="C"), name)
        return name

    def __call__(self, operator: str, *inputs: str, **attributes) -> str:
        from onnx import helper

        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], name=name, **attributes))
        return name

    def linear(self, x: str, layer: Affine) -> str:
        return self("Add", self("MatMul", x, self.constant(layer.weight.t())), self.constant(layer.bias))

    def norm(self, x: str, norm: Affine | None) -> str:
        if norm is None:
            return x
        weights = self.constant(norm.weight), self.constant(norm.bias)
        return self("LayerNormalization", x, *weights, axis=-1, epsilon=1e-5)

    def activation(self, x: str, name: str) -> str:
        if name == "linear":
            return x
        if name in ("relu", "tanh"):
            return self(name.capitalize(), x)
        if name == "gelu":
            inner = self("Erf", self("Mul", x, self.constant(math.sqrt(0.5))))
        else:  # its approximation by tanh
            cubic = self("Mul", self("Mul", x, x), self("Mul", x, self.constant(0.044715)))
            inner = self("Tanh", self("Mul", self("Add", x, cubic), self.constant(math.sqrt(2 / math.pi))))
        half = self("Mul", x, self.constant(0.5))
        return self("Mul", half, self("Add", inner, self.constant(1.0)))


@dataclass(frozen=True)
class Node:
    """A result that a residual block adds to another."""

    write: GraphWriter
    name: str

    def __add__(self, other: "Node") -> "Node":
        return Node(self.write, self.write("Add", self.name, other.name))


def onnx_model(graph: EncoderGraph, end: int):
    """The model.

    Args:
        end: id of `</s>`.
    """
    from onnx import TensorProto, checker, helper

    write = GraphWriter()
    mask = write("Cast", MASK, to=TensorProto.FLOAT)  # B x T
    absent = write("Mul", write("Sub", mask, write.constant(1.0)), write.constant(-NEVER))
    absent = write("Unsqueeze", absent, write.constant([1, 2]))  # B x 1 x 1 x T
    states = [_embedded(write, graph)]
    for layer in graph.layers:
        states.append(_layer(write, graph, layer, states[-1], absent))
    vectors = _pooled(write, graph.head, _mixed(write, graph, states), mask, end)
    if graph.head.pooler is not None:
        vectors = write.linear(vectors, graph.head.pooler)
        vectors = write("Tanh", vectors) if graph.head.has_tanh else vectors
    if graph.head.sentence_map is not None:
        vectors = write.linear(vectors, graph.head.sentence_map)
    write.nodes.append(helper.make_node("Identity", [vectors], [VECTORS]))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["B", "T"]) for name in (IDS, MASK)]
    output = helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, ["B", graph.head.sentence_width])
    body = helper.make_graph(write.nodes, "encoder", inputs, [output], list(write.constants.values()))
    opset = helper.make_opsetid("", OPSET)
    model = helper.make_model(body, opset_imports=[opset], ir_version=8, producer_name="multilingual-nmt")
    checker.check_model(model)
    return model


def _embedded(write: GraphWriter, graph: EncoderGraph) -> str:
    """B x T x C."""
    length = write("Slice", write("Shape", IDS), *map(write.constant, ([1], [2], [0])))
    positions = write("Slice", write.constant(graph.positions), write.constant([0]), length)
    x = write("Add", write("Gather", write.constant(graph.tokens), IDS), positions)
    return write.norm(x, graph.embedding_norm)


def _layer(write: GraphWriter, graph: EncoderGraph, layer: GraphLayer, x: str, absent: str) -> str:
    def attention(states: str) -> str:
        return _attention(write, graph, layer, states, absent)

    def feed_forward(states: str) -> str:
        inner = write.activation(write.linear(states, layer.inner), graph.activation)
        return write.linear(inner, layer.outer)

    x = _block(write, graph.placement, x, attention, layer.attention_norm, layer.has_attention_residual)
    return _block(write, graph.placement, x, feed_forward, layer.feed_forward_norm, True)


def _block(write: GraphWriter, placement: str, x: str, sublayer, norm, residual: bool) -> str:
    """The residual block of `fairseq_ext.modules`, called on nodes; `norm` as in `GraphLayer`."""

    def on_node(function):
        return lambda node: Node(write, function(node.name))

    def norm_of(affine: Affine):
        return on_node(lambda name: write.norm(name, affine))

    norms = [norm_of(affine) for affine in norm] if isinstance(norm, list) else norm_of(norm)
    dropout = on_node(lambda name: name)
    return PLACEMENTS[placement].apply(Node(write, x), on_node(sublayer), norms, dropout, residual).name


def _attention(write: GraphWriter, graph: EncoderGraph, layer: GraphLayer, x: str, absent: str) -> str:
    width, heads = graph.width, graph.heads
    scale = (width // heads) ** -0.5
    three = Affine(
        torch.cat([scale * layer.query.weight, layer.key.weight, layer.value.weight]),
        torch.cat([scale * layer.query.bias, layer.key.bias, layer.value.bias]),
    )
    split = write.constant([0, 0, 3, heads, width // heads])  # B x T x 3 x H x D, of which B and T stay
    states = write("Transpose", write("Reshape", write.linear(x, three), split), perm=[2, 0, 3, 1, 4])
    query, key, value = (write("Gather", states, write.constant(number), axis=0) for number in range(3))
    scores = write("MatMul", query, write("Transpose", key, perm=[0, 1, 3, 2]))  # B x H x T x T
    weights = write("Softmax", write("Add", scores, absent), axis=-1)
    context = write("Transpose", write("MatMul", weights, value), perm=[0, 2, 1, 3])
    return write.linear(write("Reshape", context, write.constant([0, 0, width])), layer.output)


def _mixed(write: GraphWriter, graph: EncoderGraph, states: list[str]) -> str:
    """The states that are pooled, B x T x C: each behind the final norm, if there is one."""
    if graph.head.layers is None:
        return write.norm(states[-1], graph.final_norm)
    shares = [
        write("Mul", write.norm(x, graph.final_norm), write.constant(share))
        for x, share in zip(states, graph.head.layers, strict=True)
    ]
    return write("Sum", *shares)


def _pooled(write: GraphWriter, head: SentenceHead, x: str, mask: str, end: int) -> str:
    """B x C."""
    from onnx import TensorProto

    if head.pooling in ("cls", "pooler"):
        return write("Gather", x, write.constant(0), axis=1)
    if head.without_eos:  # unless a sentence has nothing else
        others = write("Cast", write("Not", write("Equal", IDS, write.constant(end))), to=TensorProto.FLOAT)
        kept = write("Mul", mask, others)
        some = write("ReduceMax", kept, axes=[1], keepdims=1)
        mask = write("Max", kept, write("Mul", mask, write("Sub", write.constant(1.0), some)))
    column = write("Unsqueeze", mask, write.constant([2]))  # B x T x 1
    if head.pooling == "max":
        lowered = write("Mul", write("Sub", column, write.constant(1.0)), write.constant(-NEVER))
        return write("ReduceMax", write("Add", x, lowered), axes=[1], keepdims=0)
    total = write("ReduceSum", write("Mul", x, column), write.constant([1]), keepdims=0)
    if head.pooling == "sum":
        return total
    return write("Div", total, write("ReduceSum", column, write.constant([1]), keepdims=0))
