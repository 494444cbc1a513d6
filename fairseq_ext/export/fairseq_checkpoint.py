"""Format `fairseq`: a checkpoint that stock fairseq reads, without our code (`--user-dir`).

Models are fairseq's `transformer`, tasks its `translation_multi_simple_epoch`, or `translation` of a model
whose dictionary has no tags. The file holds nothing but tensors, texts and numbers, which is what torch reads
safely; checkpoints that fairseq writes itself hold classes, and need our allow-list of them.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path

import torch
from fairseq.models.transformer import TransformerConfig, TransformerModel, base_architecture
from fairseq.tasks import TASK_REGISTRY
from torch import Tensor, nn

from data_prep.formats.directions import format_direction
from fairseq_ext.checkpoints.averaging import for_inference
from fairseq_ext.checkpoints.tasks import STOCK_BILINGUAL, STOCK_MULTILINGUAL
from fairseq_ext.export.encoder_graph import refusal
from fairseq_ext.export.translation_graph import TranslationGraph
from fairseq_ext.models.mnmt_transformer import MnmtTransformerConfig

ENCODER_TAGS = {(): None, ("source",): "src", ("target",): "tgt"}  # fairseq's --encoder-langtok


def write_folder(folder: Path, graph: TranslationGraph, loaded, path) -> nn.Module:
    """Write `model.pt` and a README with the command; returns the model as fairseq builds it.

    Args:
        folder: an empty one.

    Raises:
        InputError: fairseq has no such model, or no such placement of tags.
    """
    check(graph, loaded.task.tags, path)
    options, task = model_options(graph, loaded), task_options(loaded)
    model = build(options, loaded.task)
    weights = with_norms(loaded.model.state_dict(), model.state_dict())
    model.load_state_dict(weights, strict=True)
    state = for_inference(loaded.state)
    written = {
        "args": None,
        "cfg": {"_name": None, "common": {"seed": seed_of(loaded)}, "model": options, "task": task},
        "model": {name: value.clone() for name, value in weights.items()},
        **{name: plain(state[name]) for name in ("optimizer_history", "extra_state", "last_optimizer_state")},
    }
    torch.save(written, folder / "model.pt")
    torch.load(folder / "model.pt", weights_only=True)  # as fairseq reads it
    (folder / "README.md").write_text(readme(task, path), encoding="utf-8")
    return model.eval()


def check(graph: TranslationGraph, tags, path) -> None:
    """Refuse what fairseq does not have."""
    if graph.encoder.placement == "pre" and graph.encoder.final_norm is None:
        raise refusal(path, "its encoder has no final norm (--no-encoder-final-norm), and fairseq's has one")
    placement = tags.placement
    if placement.source_ending or placement.starts_decoder or placement.encoder not in ENCODER_TAGS:
        raise refusal(path, f"fairseq has no --language-tags {tags.placement_name}")


def model_options(graph: TranslationGraph, loaded) -> dict:
    """Options of fairseq's `transformer`, all of them."""
    trained = loaded.state["cfg"]["model"]
    trained = dict(vars(trained) if isinstance(trained, Namespace) else trained)
    own = set(MnmtTransformerConfig.__dataclass_fields__) - set(TransformerConfig.__dataclass_fields__)
    options = Namespace(**{name: value for name, value in trained.items() if name not in own})
    for side, stack in zip(("encoder", "decoder"), graph.sides, strict=True):
        setattr(options, f"{side}_normalize_before", stack.placement == "pre")
    for option, longest in zip(
        ("max_source_positions", "max_target_positions"), loaded.task.max_positions(), strict=True
    ):
        setattr(options, option, longest)
    options.arch = options._name = "transformer"
    base_architecture(options)
    return plain(vars(options))


def task_options(loaded) -> dict:
    """Options of fairseq's task that reads the same input."""
    tags, task = loaded.task.tags, loaded.task
    if not tags.exist:
        source, target = task.supervised[0]
        return {"_name": STOCK_BILINGUAL, "source_lang": source, "target_lang": target}
    parser = ArgumentParser()
    TASK_REGISTRY[STOCK_MULTILINGUAL].add_args(parser)
    options = vars(parser.parse_known_args([""])[0])
    chosen = {
        "_name": STOCK_MULTILINGUAL,
        "task": STOCK_MULTILINGUAL,
        "langs": ",".join(tags.languages),
        "lang_pairs": ",".join(map(format_direction, task.supervised)),
        "encoder_langtok": ENCODER_TAGS[tags.placement.encoder],
        "decoder_langtok": tags.placement.decoder,
    }
    return plain({**options, **chosen})


def build(options: dict, task) -> nn.Module:
    """fairseq's model of these options, over the dictionary of a task."""
    return TransformerModel.build_model(Namespace(**options), task)


def with_norms(ours: dict[str, Tensor], expected: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights with gain 1 and bias 0 of the norms that have none (`--no-norm-affine`)."""
    missing = {
        name: value
        for name, value in expected.items()
        if name not in ours and "layer_norm" in name.split(".")[-2]
    }
    return {**ours, **missing}  # as fairseq initializes them


def plain(value):
    """Lists, texts and numbers only; other objects become their text."""
    if isinstance(value, dict):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def seed_of(loaded) -> int:
    seed = loaded.state["cfg"].get("common", {}).get("seed")
    return seed if isinstance(seed, int) else 1


def readme(task: dict, path) -> str:
    """The command that translates a test set."""
    if task["_name"] == STOCK_BILINGUAL:
        words = f"--task {STOCK_BILINGUAL} -s {task['source_lang']} -t {task['target_lang']}"
    else:
        source, target = task["lang_pairs"].split(",")[0].split("-")
        words = f"--task {STOCK_MULTILINGUAL} --langs {task['langs']} --lang-pairs {task['lang_pairs']}"
        words += f" --encoder-langtok {task['encoder_langtok']}" if task["encoder_langtok"] else ""
        words += " --decoder-langtok" if task["decoder_langtok"] else ""
        words += f" -s {source} -t {target}"
    return f"""# {Path(path).name}, for stock fairseq

Written by `python -m fairseq_ext export --to fairseq`. DATA is the binarized folder of its training:

```bash
fairseq-generate DATA --path model.pt {words} --required-batch-size-multiple 1
```

Without the last option fairseq leaves out sentences that fill no batch.
"""
