"""Formats of sentence encoders: `sentence-transformers`, `transformers` and `onnx`, with equal vectors.

A translation model leaves as the encoder whose states are averaged. Lines of every language are encoded by
the checkpoint and by the folder, from raw text; if a token id or a vector differs, nothing is written.
"""

import os
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import write_text
from data_prep.formats.preparation import Preparation
from fairseq_ext.export import onnx_folder, pretrained_folder, sentence_transformers_folder
from fairseq_ext.export.encoder_graph import graph_of, refusal
from fairseq_ext.export.job import ExportJob
from fairseq_ext.export.model_card import Card
from fairseq_ext.export.parity import check_parity, check_texts
from fairseq_ext.export.pretrained_folder import is_pretrained
from fairseq_ext.export.tokenizer import exported_tokenizer
from fairseq_ext.inference import load_for_inference

LINES = 40  # of a file that are compared


def to_sentence_transformers(job: ExportJob, folder: Path) -> None:
    """Write a folder that `SentenceTransformer` reads; see `export_encoder`."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when the libraries are imported
    export_encoder(job, folder, sentence_transformers_folder)


def to_onnx(job: ExportJob, folder: Path) -> None:
    """Write a folder for processors without PyTorch; see `export_encoder`."""
    export_encoder(job, folder, onnx_folder)


def to_transformers(job: ExportJob, folder: Path) -> None:
    """Write the folder of transformers that an encoder was trained from; see `export_encoder`."""
    export_encoder(job, folder, pretrained_folder)


def export_encoder(job: ExportJob, folder: Path, form) -> None:
    """Write the files of the format into an empty folder, and compare.

    Args:
        form: module of the format, with `write_pretrained` for encoders of transformers and, if it has any
            other, `write_folder`; with `encoder_of`, which makes a function from sentences to vectors, by the
            library alone; and with LEAST, precision -> cosine with the checkpoint's vector that every line
            must have.

    Raises:
        InputError: as `load_for_inference`; the format cannot express the model; a vector differs, or there
            is no text to compare.
    """
    loaded = load_for_inference(job.checkpoint, job.data, translates=False)
    preparation, parity = Preparation.load(job.data), {}
    if is_pretrained(loaded) or form is pretrained_folder:
        tokenizer, card = form.write_pretrained(job, loaded, preparation, folder)
    else:
        tokenizer, card = write_graph(form, job, loaded, preparation, folder)
    lines = LINES if job.check_lines is None else job.check_lines
    if lines:
        words = tokenizer.longest - tokenizer.has_cls
        texts = check_texts(preparation, loaded.task.dictionary, job.check_text, lines, words)
        encode = form.encoder_of(folder, tokenizer, loaded)
        parity = check_parity(texts, tokenizer, loaded, encode, form.LEAST[job.precision])
        if not parity["lines"]:
            raise InputError(
                f"export: no line of text to compare the folder with {job.checkpoint} by; give --check-text"
                " FILE, or --check-lines 0 to compare nothing"
            )
        print(f"export: {parity['lines']} lines, lowest cosine {parity['lowest_cosine']:.7f}")
    write_text(folder / "README.md", card.text(parity))


def write_graph(form, job: ExportJob, loaded, preparation, folder: Path):
    """Write an encoder of our own layers, or of fairseq's, as a graph of tensors.

    Returns:
        the tokenizer of the folder, and its model card.
    """
    placement = loaded.task.tags.placement
    if placement.encoder or placement.source_ending:
        raise refusal(job.checkpoint, "its encoder reads a language tag, and a tokenizer knows no language")
    encoder = loaded.model.encoder
    has_cls = getattr(encoder, "cls", None) is not None
    words = min(loaded.task.max_positions()[0], encoder.max_positions())
    graph = graph_of(encoder, loaded.state["cfg"]["model"], words + has_cls, job.checkpoint)
    tokenizer = exported_tokenizer(
        preparation, loaded.task.dictionary, words + has_cls, has_cls, job.pretokenized, job.checkpoint
    )
    graph = form.write_folder(folder, encoder, graph, tokenizer, job.precision, job.checkpoint)
    return tokenizer, Card(job.checkpoint, loaded, preparation, graph, tokenizer.expects, job.to)
