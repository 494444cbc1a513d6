"""An encoder that was trained from a folder of `transformers` as a graph of ONNX, by following one batch.

What our own layers compute is written down operator by operator (`onnx_graph`); the layers of the library,
and pooling and linear maps above them, are traced.
"""

import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from command_line.errors import InputError
from data_prep.formats.preparation import Preparation
from fairseq_ext.export import onnx_folder
from fairseq_ext.export.encoder_graph import count_of
from fairseq_ext.export.job import ExportJob
from fairseq_ext.export.model_card import Card
from fairseq_ext.export.onnx_graph import IDS, MASK, OPSET, VECTORS
from fairseq_ext.export.pretrained_folder import PretrainedCard
from fairseq_ext.export.tokenizer import ExportedTokenizer, exported_tokenizer
from fairseq_ext.inference import LoadedModel
from fairseq_ext.models.pretrained_configuration import sizes_of

LARGEST = 2 << 30  # bytes of a file of ONNX


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
        return self.encoder(torch.where(mask == 0, padding, self.rows[ids]))["sentence_vectors"]


def write_traced(
    job: ExportJob, loaded: LoadedModel, preparation: Preparation, folder: Path
) -> tuple[ExportedTokenizer, Card]:
    """Write model, tokenizer, record and model card.

    Raises:
        InputError: the model is larger than a file of ONNX may be.
    """
    encoder, size = loaded.model.encoder, count_of(loaded.model.encoder)
    if 4 * size >= LARGEST:
        raise InputError(
            f"{job.checkpoint}: {size:,} parameters in float32 are more than a file of ONNX may have (2 GiB);"
            " choose --to sentence-transformers or --to transformers"
        )
    card = PretrainedCard(job.checkpoint, loaded, preparation, None, "", job.to)
    has_cls = encoder.cls is not None
    tokenizer = exported_tokenizer(
        preparation, loaded.task.dictionary, card.longest, has_cls, False, job.checkpoint
    )
    traced = TokenizersEncoder(encoder, torch.from_numpy(tokenizer.rows), int(has_cls)).eval()
    onnx_folder.write_model(
        folder, lambda path: trace(traced, tokenizer, path), tokenizer, card.text({}), job.precision,
        width=encoder.sentence_width, longest=card.longest, size=_sizes(encoder),
    )  # fmt: skip
    return tokenizer, card


def trace(encoder: TokenizersEncoder, tokenizer: ExportedTokenizer, path: Path) -> None:
    """Write the graph of a batch of two sentences of different lengths, whose sizes stay open."""
    batch = tokenizer.tokenizer(["a b c d", "a"], padding=True, return_tensors="pt")
    names = [IDS, MASK]
    axes = {**{name: {0: "sentences", 1: "tokens"} for name in names}, VECTORS: {0: "sentences"}}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the tracer, about numbers that are constants in deed
        torch.onnx.export(
            encoder, tuple(batch[name] for name in names), path, input_names=names, output_names=[VECTORS],
            opset_version=OPSET, dynamic_axes=axes, dynamo=False,
        )  # fmt: skip


def _sizes(encoder: nn.Module) -> dict:
    config = encoder.model.config
    return {
        "parameters": count_of(encoder),
        "layer_parameters": count_of(encoder.layers),
        "layers": config.num_hidden_layers,
        "state_width": config.hidden_size,
        "ffn_width": sizes_of(config)["encoder_ffn_embed_dim"],
        "heads": config.num_attention_heads,
    }
