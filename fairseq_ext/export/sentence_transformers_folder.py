"""A folder that `SentenceTransformer(FOLDER)` reads without our code, made of the library's stock modules.

Files and names of modules are those of the library's second version, which every later one reads.
"""

from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from command_line.outputs import write_json
from command_line.records import read_json
from data_prep.formats.preparation import Preparation
from fairseq_ext.export.encoder_graph import EncoderGraph, refusal
from fairseq_ext.export.job import ExportJob
from fairseq_ext.export.model_card import Card
from fairseq_ext.export.pretrained_folder import PretrainedCard, write_states
from fairseq_ext.export.sentence_head import SentenceHead
from fairseq_ext.export.tokenizer import ExportedTokenizer
from fairseq_ext.export.transformers_model import check_expressible, transformers_model
from fairseq_ext.inference import LoadedModel

LEAST = {"float32": 0.9999}  # precision: cosine with the checkpoint's vector
MODULE = "sentence_transformers.models."
POOLINGS = {  # ours: the library's option
    "mean": "pooling_mode_mean_tokens",
    "max": "pooling_mode_max_tokens",
    "cls": "pooling_mode_cls_token",
    "pooler": "pooling_mode_cls_token",
}
TANH, IDENTITY = "torch.nn.modules.activation.Tanh", "torch.nn.modules.linear.Identity"


@dataclass(frozen=True)
class Module:
    """One module of the folder: its class, and what is in there."""

    kind: str
    config: dict
    weights: dict[str, Tensor] = field(default_factory=dict)


def check_graph(graph: EncoderGraph, path) -> None:
    """Refuse an encoder that the library's stock modules do not compute."""
    check_expressible(graph, path)
    check_head(graph.head, path)
    if graph.head.layers is not None and graph.final_norm is not None:
        raise refusal(
            path,
            "--pooling-layer mix or average of --norm-placement pre: every layer's states are normalized in"
            " front of the sum, and WeightedLayerPooling takes them as they are",
            "choose --to onnx",
        )


def check_head(head: SentenceHead, path) -> None:
    """Refuse a pooling that no stock module has."""
    if head.pooling not in POOLINGS:
        raise refusal(path, f"--pooling {head.pooling}: sentence-transformers has {', '.join(POOLINGS)}")
    if head.without_eos and head.pooling in ("mean", "max"):
        raise refusal(path, "--pooling-without-eos: sentence-transformers pools over all tokens")


def write_folder(
    folder: Path, encoder: nn.Module, graph: EncoderGraph, tokenizer: ExportedTokenizer, precision: str, path
) -> EncoderGraph:
    """Write model, tokenizer and modules; returns the graph that was written."""
    check_graph(graph, path)
    graph = graph.with_rows(torch.from_numpy(tokenizer.rows))
    model = transformers_model(graph, tokenizer.special)
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.tokenizer.save_pretrained(folder)
    _write_modules(folder, graph.head, graph.longest)
    return graph


def write_pretrained(
    job: ExportJob, loaded: LoadedModel, preparation: Preparation, folder: Path
) -> tuple[ExportedTokenizer, Card]:
    """The same of an encoder that was trained from a folder of transformers, whose layers are its own.

    Returns:
        the tokenizer as the folder has it, and the card.
    """
    head = SentenceHead.of(loaded.model.encoder, loaded.state["cfg"]["model"], is_cut=False)
    check_head(head, job.checkpoint)
    card = PretrainedCard(job.checkpoint, loaded, preparation, None, "", job.to)
    tokenizer = write_states(card, folder)
    _write_modules(folder, head, card.longest)
    return tokenizer, card


def _write_modules(folder: Path, head: SentenceHead, longest: int) -> None:
    """What the library needs beside a model of transformers and its tokenizer."""
    if head.layers is not None:  # otherwise the model gives the states of its highest layer alone
        config = read_json(folder / "config.json")
        write_json(folder / "config.json", config | {"output_hidden_states": True})
    listed = [{"idx": 0, "name": "0", "path": "", "type": f"{MODULE}Transformer"}]
    for number, module in enumerate(modules_of(head), start=1):
        place = f"{number}_{module.kind}"
        (folder / place).mkdir()
        write_json(folder / place / "config.json", module.config)
        if module.weights:
            _write_weights(folder / place, module.weights)
        listed.append({"idx": number, "name": str(number), "path": place, "type": f"{MODULE}{module.kind}"})
    write_json(folder / "modules.json", listed)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": longest, "do_lower_case": False})
    similarity = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}
    write_json(folder / "config_sentence_transformers.json", similarity)


def modules_of(head: SentenceHead) -> list[Module]:
    """What comes behind the model of transformers."""
    modules = []
    if head.layers is not None:
        layers = {"num_hidden_layers": len(head.layers) - 1, "layer_start": 0}
        config = {"word_embedding_dimension": head.width, **layers}
        modules.append(Module("WeightedLayerPooling", config, {"layer_weights": head.layers}))
    modules.append(Module("Pooling", _pooling(head)))
    tanh = TANH if head.has_tanh else IDENTITY
    for layer, activation in ((head.pooler, tanh), (head.sentence_map, IDENTITY)):
        if layer is not None:
            config = {
                "in_features": layer.weight.shape[1],
                "out_features": layer.weight.shape[0],
                "bias": True,
                "activation_function": activation,
            }
            weights = {"linear.weight": layer.weight, "linear.bias": layer.bias}
            modules.append(Module("Dense", config, weights))
    return modules


def _pooling(head: SentenceHead) -> dict:
    chosen = POOLINGS[head.pooling]
    modes = dict.fromkeys([*POOLINGS.values(), "pooling_mode_mean_sqrt_len_tokens"], False)
    return {"word_embedding_dimension": head.width, **modes, chosen: True}


def _write_weights(folder: Path, weights: dict[str, Tensor]) -> None:
    from safetensors.torch import save_file

    save_file({name: tensor.contiguous().to(torch.float32) for name, tensor in weights.items()},
              folder / "model.safetensors", metadata={"format": "pt"})  # fmt: skip


def encoder_of(folder: Path, tokenizer: ExportedTokenizer, loaded: LoadedModel):
    """A function from sentences to vectors, by the library."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return lambda sentences: model.encode(sentences, show_progress_bar=False)
