"""Lines per second of an encoder of `fairseq_ext export --to onnx`, float32 and int8, against PyTorch.

By default 12 layers of width 384, sentences of 20 tokens, batches of 32, random weights: int8 at least twice
as many lines as PyTorch in float32, on a processor with VNNI. Variants take turns; ratios are medians.

    python -m benchmarks.onnx_speed [--layers N] [--width C] [--tokens T] [--batch B] [--rounds N]
"""

import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from command_line import options as types
from command_line.dispatch import run_script
from command_line.option_classes import option

VOCABULARY, HEADS = 5_000, 12


@dataclass(frozen=True, kw_only=True)
class Options:
    """The encoder and its batch."""

    layers: int = option("of the model", 12)
    width: int = option(f"a multiple of {HEADS}", 384)
    tokens: int = option("of a sentence", 20)
    batch: int = option("sentences", 32)
    rounds: int = option("all sides take turns, so many times", 15)
    threads: int = option("of torch", 1, type=types.worker_count)


def main(options: Options) -> None:
    import torch

    torch.set_num_threads(options.threads)
    encoder, end = make_encoder(options.layers, options.width, options.tokens)
    generator = torch.Generator().manual_seed(2)
    ids = torch.randint(4, VOCABULARY, (options.batch, options.tokens), generator=generator)
    ids[:, -1] = end
    variants = {"PyTorch, float32": lambda: encoder(ids)["sentence_vectors"].numpy()}
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        for precision, session in sessions(encoder, ids, Path(folder)).items():
            given = {"input_ids": ids.numpy(), "attention_mask": torch.ones_like(ids).numpy()}
            variants[f"onnxruntime, {precision}"] = lambda session=session, given=given: session.run(
                None, given
            )[0]
        compare(variants, options.batch, options.rounds)


def make_encoder(layers: int, width: int, tokens: int):
    """A sentence encoder with random weights, and the id of `</s>`."""
    import torch
    from fairseq.data import Dictionary

    import fairseq_ext  # noqa: F401 (registers the model)
    from fairseq_ext.models.sentence_encoder import SentenceEncoderModel

    dictionary = Dictionary()
    for number in range(VOCABULARY - len(dictionary)):
        dictionary.add_symbol(f"w{number}")
    chosen = SimpleNamespace(
        encoder_layers=layers,
        encoder_embed_dim=width,
        encoder_ffn_embed_dim=4 * width,
        encoder_attention_heads=HEADS,
        max_source_positions=tokens,
        max_target_positions=tokens,
    )
    torch.manual_seed(1)
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary)
    model = SentenceEncoderModel.build_model(chosen, task).eval()
    return model.encoder, dictionary.eos()


def sessions(encoder, ids, folder: Path) -> dict:
    """Sessions of onnxruntime by precision; `ids` are a batch."""
    import torch

    from data_prep.model_folders.graphs import MODEL, load_session
    from fairseq_ext.export.onnx_folder import FLOAT32, INT8, TokenizersEncoder, quantize, trace

    for precision in (FLOAT32, INT8):
        (folder / precision).mkdir()
    traced = TokenizersEncoder(encoder, torch.arange(VOCABULARY), 0).eval()
    trace(traced, ids, folder / FLOAT32 / MODEL)
    quantize(folder / FLOAT32 / MODEL, folder / INT8 / MODEL)
    return {precision: load_session(folder / precision) for precision in (FLOAT32, INT8)}


def compare(variants: dict, lines: int, rounds: int) -> None:
    """Time all variants in turns and print ratios to the first."""
    import numpy as np

    seconds: dict[str, list[float]] = {name: [] for name in variants}
    vectors = {name: run() for name, run in variants.items()}
    for _ in range(rounds):
        for name, run in variants.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    first = next(iter(variants))
    for name in variants:
        ratio = statistics.median(a / b for a, b in zip(seconds[first], seconds[name], strict=True))
        one, other = vectors[first], vectors[name]
        cosines = (one * other).sum(axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
        print(
            f"{name:22} {lines / statistics.median(seconds[name]):7.0f} lines/s  {ratio:.2f} x {first}"
            f"  lowest cosine {cosines.min():.5f}"
        )
    print("goal: int8 at least 2 x")


if __name__ == "__main__":
    sys.exit(run_script())
