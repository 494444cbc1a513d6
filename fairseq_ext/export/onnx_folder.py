"""A folder for processors without PyTorch: `model.onnx`, a tokenizer, and what a program must know of them.

    input_ids, attention_mask: B x T, int64     sentence_embedding: B x C', float32

The graph is what one batch goes through (`torch.onnx`). With 8-bit products of linear layers (`int8`),
weights are quantized once, a scale for every column, and their inputs at every call (dynamic quantization of
onnxruntime); embeddings, norms and attention stay float32.
"""

import logging
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from command_line.outputs import write_json
from data_prep.formats.preparation import Preparation
from data_prep.model_folders.graphs import IDS, MASK, MODEL, RECORD, load_session
from fairseq_ext.export.encoder_graph import EncoderGraph, count_of, refusal
from fairseq_ext.export.job import ExportJob
from fairseq_ext.export.model_card import Card
from fairseq_ext.export.parity import vectors_of
from fairseq_ext.export.pretrained_folder import PretrainedCard
from fairseq_ext.export.tokenizer import ExportedTokenizer, exported_tokenizer
from fairseq_ext.inference import LoadedModel
from fairseq_ext.models.pretrained_configuration import sizes_of

FORMAT = 1
FLOAT32, INT8 = "float32", "int8"
LEAST = {FLOAT32: 0.9999, INT8: 0.9}  # cosine; what 8 bits cost in retrieval is for a test set to say
LARGEST = 2 << 30  # bytes of a file of ONNX
OPSET = 17
VECTORS = "sentence_embedding"


class TokenizersEncoder(nn.Module):
    """The vectors of sentences in the ids of the tokenizer, in place of fairseq's.

    Args:
        rows: fairseq's id of every id of the tokenizer.
        front: tokens that the tokenizer puts in front, and the encoder does itself.
    """

    def __init__(self, encoder: nn.Module, rows: Tensor, front: int):
        super().__init__()
        self.encoder, self.front = encoder, front
        self.register_buffer("rows", rows)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """B x T and B x T (1: a token) -> B x C."""
        ids, mask = input_ids[:, self.front :], attention_mask[:, self.front :]
        padding = ids.new_full((), self.encoder.padding_idx)
        return vectors_of(self.encoder, torch.where(mask == 0, padding, self.rows[ids]))


def write_folder(
    folder: Path, encoder: nn.Module, graph: EncoderGraph, tokenizer: ExportedTokenizer, precision: str, path
) -> EncoderGraph:
    """Write model, tokenizer and record; returns the graph that the model card is of."""
    size = {
        "parameters": graph.parameters,
        "layer_parameters": graph.layer_parameters,
        "layers": len(graph.layers),
        "state_width": graph.width,
        "ffn_width": graph.inner_width,
        "heads": graph.heads,
    }
    width = graph.head.sentence_width
    write_model(folder, encoder, tokenizer, precision, path, width=width, longest=graph.longest, size=size)
    return graph


def write_model(
    folder: Path, encoder: nn.Module, tokenizer: ExportedTokenizer, precision: str, path, **of_model
) -> None:
    """Write a model and what belongs to it.

    Args:
        of_model: "width" of vectors, "longest" sentence in tokens, and "size", for the record.

    Raises:
        InputError: the model is larger than a file of ONNX may be.
    """
    size = count_of(encoder)
    if 4 * size >= LARGEST:
        reason = f"{size:,} parameters in float32 are more than a file of ONNX may have (2 GiB)"
        raise refusal(path, reason, "choose --to sentence-transformers or --to transformers")
    traced = TokenizersEncoder(encoder, torch.from_numpy(tokenizer.rows), int(tokenizer.has_cls)).eval()
    batch = tokenizer.tokenizer(["a b c d", "a"], padding=True, return_tensors="pt")
    trace(traced, batch[IDS], folder / MODEL)
    if precision == INT8:
        exact = (folder / MODEL).rename(folder / "float32.onnx")
        quantize(exact, folder / MODEL)
        exact.unlink()
    tokenizer.tokenizer.save_pretrained(folder)
    pad = tokenizer.special["pad_token_id"]
    write_json(folder / RECORD, {"format": FORMAT, "pad": pad, "precision": precision, **of_model})


def write_pretrained(
    job: ExportJob, loaded: LoadedModel, preparation: Preparation, folder: Path
) -> tuple[ExportedTokenizer, Card]:
    """The same of an encoder that was trained from a folder of transformers, and its model card."""
    encoder = loaded.model.encoder
    card = PretrainedCard(job.checkpoint, loaded, preparation, None, "", job.to)
    tokenizer = exported_tokenizer(
        preparation, loaded.task.dictionary, card.longest, encoder.cls is not None, False, job.checkpoint
    )
    config = encoder.model.config
    size = {
        "parameters": count_of(encoder),
        "layer_parameters": count_of(encoder.layers),
        "layers": config.num_hidden_layers,
        "state_width": config.hidden_size,
        "ffn_width": sizes_of(config)["encoder_ffn_embed_dim"],
        "heads": config.num_attention_heads,
    }
    write_model(
        folder, encoder, tokenizer, job.precision, job.checkpoint,
        width=encoder.sentence_width, longest=card.longest, size=size,
    )  # fmt: skip
    return tokenizer, card


def trace(encoder: TokenizersEncoder, ids: Tensor, path: Path) -> None:
    """Write the graph of a batch, B x T, whose sizes stay open. The last of a longer sentence counts as
    padding there, so that the graph has what padding needs.
    """
    mask = torch.ones_like(ids)
    mask[-1, -1] = 0
    names = [IDS, MASK]
    axes = {**{name: {0: "sentences", 1: "tokens"} for name in names}, VECTORS: {0: "sentences"}}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tracer, about numbers that are constants in deed
        torch.onnx.export(
            encoder, (ids, mask), path, input_names=names, output_names=[VECTORS],
            opset_version=OPSET, dynamic_axes=axes, dynamo=False,
        )  # fmt: skip


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


def encoder_of(folder: Path, tokenizer: ExportedTokenizer, loaded: LoadedModel):
    """A function from sentences to vectors, by onnxruntime."""
    session = load_session(folder)

    def encode(sentences: list[str]) -> np.ndarray:
        cut = {"truncation": True, "max_length": tokenizer.longest}
        batch = tokenizer.tokenizer(sentences, **cut, padding=True, return_tensors="np")
        return session.run(None, {IDS: batch[IDS], MASK: batch[MASK]})[0]

    return encode
