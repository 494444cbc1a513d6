"""A folder for processors without PyTorch: `model.onnx`, a tokenizer, and what a program must know of them.

With 8-bit products of linear layers (`int8`), weights are quantized once, a scale for every column, and their
inputs at every call (dynamic quantization of onnxruntime); embeddings, norms and attention stay float32.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np

from command_line.outputs import write_json, write_text
from data_prep.model_folders.graphs import IDS, MASK, MODEL, RECORD, load_session
from fairseq_ext.export.encoder_graph import EncoderGraph, refusal
from fairseq_ext.export.onnx_graph import ACTIVATIONS, onnx_model
from fairseq_ext.export.tokenizer import ExportedTokenizer

FORMAT = 1
FLOAT32, INT8 = "float32", "int8"
LEAST = {FLOAT32: 0.9999, INT8: 0.9}  # cosine; what 8 bits cost in retrieval is for a test set to say
BATCH = 32  # sentences


def check_graph(graph: EncoderGraph, path) -> None:
    """Refuse what the graph has no operators for.

    Raises:
        InputError: another activation function.
    """
    if graph.activation not in ACTIVATIONS:
        raise refusal(path, f"--activation-fn {graph.activation}: expected one of {', '.join(ACTIVATIONS)}")


def write_folder(
    folder: Path, graph: EncoderGraph, tokenizer: ExportedTokenizer, card: str, precision: str
) -> None:
    """Write model, tokenizer, record and model card."""
    import onnx

    size = {
        "parameters": graph.parameters,
        "layer_parameters": graph.layer_parameters,
        "layers": len(graph.layers),
        "state_width": graph.width,
        "ffn_width": len(graph.layers[0].inner.weight) if graph.layers else None,
        "heads": graph.heads,
    }
    model = onnx_model(graph, tokenizer.end)
    write_model(
        folder, lambda path: onnx.save(model, path), tokenizer, card, precision,
        width=graph.head.sentence_width, longest=graph.longest, size=size,
    )  # fmt: skip


def write_model(
    folder: Path,
    save: Callable[[Path], None],
    tokenizer: ExportedTokenizer,
    card: str,
    precision: str,
    **of_model,
) -> None:
    """Write a model and what belongs to it.

    Args:
        save: writes the model in float32.
        of_model: "width" of vectors, "longest" sentence in tokens, and "size", for the record.
    """
    if precision == INT8:
        exact = folder / "float32.onnx"
        save(exact)
        quantize(exact, folder / MODEL)
        exact.unlink()
    else:
        save(folder / MODEL)
    tokenizer.tokenizer.save_pretrained(folder)
    pad = tokenizer.special["pad_token_id"]
    write_json(folder / RECORD, {"format": FORMAT, "pad": pad, "precision": precision, **of_model})
    write_text(folder / "README.md", card)


def quantize(path: Path, output: Path) -> None:
    """Products with constant weights in 8 bits."""

    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.disable(logging.WARNING)  # advice to trace the graph by other tools before
    try:
        quantize_dynamic(
            path, output, op_types_to_quantize=["MatMul"], per_channel=True, weight_type=QuantType.QInt8
        )
    finally:
        logging.disable(logging.NOTSET)


def encoder_of(folder: Path, tokenizer: ExportedTokenizer):
    """A function from sentences to vectors, by onnxruntime."""
    session = load_session(folder)

    def encode(sentences: list[str]) -> np.ndarray:
        vectors = []
        for start in range(0, len(sentences), BATCH):
            batch = tokenizer.tokenizer(
                sentences[start : start + BATCH],
                truncation=True,
                max_length=tokenizer.longest,
                padding=True,
                return_tensors="np",
            )
            vectors.append(session.run(None, {IDS: batch[IDS], MASK: batch[MASK]})[0])
        return np.concatenate(vectors)

    return encode
