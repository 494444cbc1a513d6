"""Encoders that `fairseq_ext export --to onnx` has written; onnxruntime computes, on a processor."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.provenance import versions
from command_line.records import read_record
from data_prep.model_folders.graphs import RECORD, load_graph
from data_prep.model_folders.identity import files_of
from data_prep.model_folders.libraries import as_one_line
from embeddings.encoders.huggingface import token_ids
from embeddings.encoders.options import ONNX, EncoderOptions
from embeddings.encoders.sentence_encoder import TokenEncoder
from embeddings.encoders.sizes import EncoderSize, SizeRecord

LONGEST_TRIAL = 1024  # tokens of the sentence that is tried


class GraphRecord(TypedDict):
    """What is said of a graph beside it."""

    format: Literal[1]
    width: int
    longest: int
    pad: int
    precision: str
    size: SizeRecord


class OnnxEncoder(TokenEncoder):
    """A graph from token ids to vectors, and its tokenizer."""

    def __init__(self, session, tokenizer, record: dict, options: EncoderOptions):
        super().__init__(options.batch_tokens)
        self.options, self.session, self.tokenizer, self.exported = options, session, tokenizer, record
        self.name = options.model.resolve().name
        self.width, self.longest = record["width"], record["longest"]
        self.size = EncoderSize.of_record(record["size"])

    @classmethod
    def load(cls, options: EncoderOptions) -> "OnnxEncoder":
        """The encoder in the folder `options.model`."""
        session, tokenizer = load_graph(options.model)
        record = read_record(options.model / RECORD, GraphRecord)
        for name, least in (("width", 1), ("longest", 1), ("pad", 0)):
            if record[name] < least:
                raise InputError(
                    f"{options.model / RECORD}: field {name!r} is {record[name]}; expected {least} or more"
                )
        if options.precision not in ("float32", record["precision"]):
            raise InputError(
                f"--precision {options.precision}: {options.model} has products of {record['precision']};"
                " give --precision to fairseq_ext export"
            )
        with as_one_line(f"--model {options.model}", ONNX):
            encoder = cls(session, tokenizer, record, options)
            # of padding alone, which has no positions, and of tokens
            encoder.try_out([record["pad"], *[0] * (min(record["longest"], LONGEST_TRIAL) - 1)])
        return encoder

    def tokens(self, sentences: Sequence[str], language: str | None) -> list[list[int]]:
        """A line without words has no tokens, as in a checkpoint."""
        ids = token_ids(self.tokenizer, list(sentences), self.longest)
        return [own if line.strip() else [] for line, own in zip(sentences, ids, strict=True)]

    def run(self, batch: list[list[int]]):
        """B x C."""
        ids = np.full((len(batch), max(map(len, batch))), self.exported["pad"], dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
        (vectors,) = self.session.run(None, {"input_ids": ids, "attention_mask": mask})
        return vectors

    def vectors(self, output):
        import torch

        return torch.from_numpy(output)

    def record(self) -> dict:
        return {
            "name": self.name,
            "kind": ONNX,
            "model": str(self.options.model),
            "width": self.width,
            "weights": files_of(self.options.model),
            "precision": self.exported["precision"],
            "versions": versions("onnxruntime", "transformers"),
        }
