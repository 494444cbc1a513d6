"""Folders with an encoder as a graph of ONNX, which `fairseq_ext export --to onnx` writes."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

from command_line.errors import InputError
from data_prep.model_folders.folder import ModelFolder
from data_prep.model_folders.libraries import as_one_line
from data_prep.model_folders.models import take_tokenizer

KIND = "onnx"
MODEL, RECORD = "model.onnx", "encoder.json"
IDS, MASK = "input_ids", "attention_mask"  # B x T each, int64
DOMAINS = ("", "ai.onnx")  # of operators: those of the standard alone


def check_graph(path: Path, option: str = "--model") -> ModelFolder:
    """What is allowed of the folder of a graph and its tokenizer.

    Raises:
        InputError: no such folder or graph, the graph names files, or operators or inputs of other makers.
    """
    folder = ModelFolder(path, option)
    if folder.take(MODEL) is None:
        raise InputError(
            f"{path / MODEL}: no such file; expected the output of `fairseq_ext export --to onnx`"
        )
    for package in ("onnx", "onnxruntime"):
        if importlib.util.find_spec(package) is None:
            raise InputError(f"{option} {path}: {package} is not installed; pip install '.[onnx]'")
    with as_one_line(f"{path / MODEL}", KIND):
        import onnx

        model = onnx.load_model(folder.files[MODEL], load_external_data=False)
    _check_model(model, path / MODEL)
    take_tokenizer(folder)
    folder.take(RECORD)
    return folder


def _check_model(model, path: Path) -> None:
    import onnx

    if {each.name for each in model.graph.input} != {IDS, MASK} or len(model.graph.output) != 1:
        names = ", ".join(each.name for each in model.graph.input)[:80]
        raise InputError(
            f"{path}: has the inputs {names} and {len(model.graph.output)} outputs; expected the inputs"
            f" {IDS} and {MASK}, and one output"
        )
    for message in _messages(model):
        if isinstance(message, onnx.TensorProto) and message.data_location == onnx.TensorProto.EXTERNAL:
            raise InputError(
                f"{path}: its tensor {message.name!r:.80} lies in another file; expected all weights in it"
            )
        if isinstance(message, onnx.NodeProto) and message.domain not in DOMAINS:
            raise InputError(
                f"{path}: has the operator {message.op_type!r:.80} of {message.domain!r:.80}; expected"
                " those of ONNX"
            )


def _messages(message) -> Iterator:
    """A message of protobuf and all in it, but not what is in a tensor."""
    from google.protobuf.message import Message
    from onnx import TensorProto

    yield message
    if isinstance(message, TensorProto):
        return
    for _, value in message.ListFields():
        is_plain = isinstance(value, str | bytes | int | float)
        for each in [value] if isinstance(value, Message) else () if is_plain else value:
            if isinstance(each, Message):
                yield from _messages(each)


def load_graph(path: Path) -> tuple:
    """The session of onnxruntime of the graph in a folder, and its tokenizer."""
    with check_graph(path).opened(KIND) as private:
        from transformers import PreTrainedTokenizerFast

        tokenizer = PreTrainedTokenizerFast.from_pretrained(private, local_files_only=True)
        return load_session(private), tokenizer


def load_session(path: Path):
    """onnxruntime's session of a graph of ours, or of a private folder: on a processor, with as many threads
    as PyTorch takes.
    """
    import onnxruntime
    import torch

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path / MODEL), options, providers=["CPUExecutionProvider"])
