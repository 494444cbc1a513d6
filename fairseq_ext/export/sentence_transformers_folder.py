"""A folder that `SentenceTransformer(FOLDER)` reads without our code, made of the library's stock modules.

Files and names of modules are those of the library's second version, which every later one reads.
"""

from dataclasses import dataclass
from pathlib import Path

import torch

from command_line.outputs import write_json, write_text
from fairseq_ext.export.encoder_graph import Affine, EncoderGraph, refusal
from fairseq_ext.export.tokenizer import ExportedTokenizer
from fairseq_ext.export.transformers_model import check_expressible, transformers_model

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
    """One module of the folder: its class, where it lies, and what is in there."""

    kind: str
    folder: str
    config: dict
    weights: Affine | None = None


def check_graph(graph: EncoderGraph, path) -> None:
    """Refuse an encoder that the library's stock modules do not compute.

    Raises:
        InputError: names what it is that has no expression.
    """
    check_expressible(graph, path)
    if graph.pooling not in POOLINGS:
        raise refusal(path, f"--pooling {graph.pooling}: sentence-transformers has {', '.join(POOLINGS)}")
    if graph.without_eos and graph.pooling in ("mean", "max"):
        raise refusal(path, "--pooling-without-eos: sentence-transformers pools over all tokens")


def write_folder(
    folder: Path, graph: EncoderGraph, tokenizer: ExportedTokenizer, card: str, precision: str
) -> None:
    """Write model, tokenizer, modules and model card.

    Args:
        graph: with a row of `tokens` for every id of the tokenizer; `check_graph` has let it through.
        precision: float32.
    """
    model = transformers_model(graph, tokenizer.special)
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.tokenizer.save_pretrained(folder)
    modules = modules_of(graph)
    listed = [{"idx": 0, "name": "0", "path": "", "type": f"{MODULE}Transformer"}]
    for number, module in enumerate(modules, start=1):
        (folder / module.folder).mkdir()
        write_json(folder / module.folder / "config.json", module.config)
        if module.weights is not None:
            _write_linear(folder / module.folder, module.weights)
        listed.append(
            {"idx": number, "name": str(number), "path": module.folder, "type": f"{MODULE}{module.kind}"}
        )
    write_json(folder / "modules.json", listed)
    write_json(
        folder / "sentence_bert_config.json", {"max_seq_length": graph.longest, "do_lower_case": False}
    )
    similarity = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}
    write_json(folder / "config_sentence_transformers.json", similarity)
    write_text(folder / "README.md", card)


def modules_of(graph: EncoderGraph) -> list[Module]:
    """What comes behind the model of transformers."""
    modules = [Module("Pooling", "1_Pooling", _pooling(graph))]
    for weights, activation in ((graph.pooler, TANH), (graph.sentence_map, IDENTITY)):
        if weights is not None:
            config = {
                "in_features": weights.weight.shape[1],
                "out_features": weights.weight.shape[0],
                "bias": True,
                "activation_function": activation,
            }
            modules.append(Module("Dense", f"{len(modules) + 1}_Dense", config, weights))
    return modules


def _pooling(graph: EncoderGraph) -> dict:
    chosen = POOLINGS[graph.pooling]
    modes = dict.fromkeys([*POOLINGS.values(), "pooling_mode_mean_sqrt_len_tokens"], False)
    return {"word_embedding_dimension": graph.width, **modes, chosen: True}


def _write_linear(folder: Path, weights: Affine) -> None:
    from safetensors.torch import save_file

    tensors = {"linear.weight": weights.weight, "linear.bias": weights.bias}
    save_file({name: tensor.contiguous().to(torch.float32) for name, tensor in tensors.items()},
              folder / "model.safetensors", metadata={"format": "pt"})  # fmt: skip


def encoder_of(folder: Path, tokenizer: ExportedTokenizer):
    """A function from sentences to vectors, by the library."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    return lambda sentences: model.encode(sentences, show_progress_bar=False)
