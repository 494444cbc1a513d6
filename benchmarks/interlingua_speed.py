"""Time per update and of translation with an interlingua over that of `mnmt_transformer` with as many layers.

Updates: both are trained on the same batches by `training_speed.py`'s loop; the interlingua also encodes the
target sentences (goal: at most 1.6 times). Translation: seconds of beam search of two trained models on the
test set, without start-up and loading (goal: at most 1.15 times); an untrained model would predict lengths of
hundreds of tokens and end its sentences anywhere. Rounds are interleaved.

    python -m benchmarks.interlingua_speed [--data DATA] [--arch base|big|tiny] [--max-tokens 2048]
        [--checkpoints MNMT.pt INTERLINGUA.pt]

Without --data a corpus is made with `data_prep phrasebook`. --checkpoints are of trainings on DATA, for
instance `models/mnmt-seed1/checkpoint_best.pt` and `models/variable-seed1/checkpoint_best.pt` of the recipe.
"""

import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import training_speed  # trains, makes the corpus
from benchmarks.training_speed import Runs
from command_line import options as types
from command_line.dispatch import run_script
from command_line.option_classes import option

BASELINE, INTERLINGUA = "mnmt_transformer", "interlingua_transformer"
LOSSES = ["--losses", "translation,interlingua_alignment,length_prediction", "--fused-vocabulary-loss"]


@dataclass(frozen=True, kw_only=True)
class Options(Runs):
    """What is trained and translated."""

    checkpoints: list[Path] | None = option(
        "trained models that translate", nargs=2, type=types.path, metavar=("MNMT.pt", "INTERLINGUA.pt")
    )
    lines: int = option("sentences to translate", 200)


def variants(arch: str, gpu: bool) -> dict[str, list[str]]:
    size = "" if arch == "base" else f"_{arch}"
    precision = ["--autocast-bf16"] if gpu else []
    ours = ["--criterion", "weighted_losses", *LOSSES, "--optimizer", "fused_adam"]
    return {
        BASELINE: ["--arch", BASELINE + size, *training_speed.OURS, *precision],
        INTERLINGUA: ["--arch", INTERLINGUA + size, *ours, *precision],
    }


def decoders(data: str, options: Options) -> dict:
    """A decoder around each trained model."""
    import torch

    from eval.translation.beam_search import BeamSearch
    from eval.translation.decoding import Decoder
    from eval.translation.search_options import SearchOptions
    from fairseq_ext.inference import load_for_inference

    torch.set_num_threads(options.threads)
    device = torch.device("cuda" if options.gpu else "cpu")
    found = {}
    for name, path in zip((BASELINE, INTERLINGUA), options.checkpoints, strict=True):
        loaded = load_for_inference(path, data)
        loaded.model.to(device).eval()
        search = BeamSearch(loaded.model, loaded.task.dictionary, SearchOptions())
        found[name] = Decoder(loaded, search, 2048, device)
    return found


def translation_seconds(decoder, data: str, direction: tuple[str, str], lines: int) -> float:
    from eval.translation.decoding import load_sources

    part = load_sources(decoder.task, data, "test", direction, lines)
    start = time.perf_counter()
    for _ in decoder.translate([part]):
        pass
    return time.perf_counter() - start


def report(title: str, goal: float, rounds: dict[str, list[float]]) -> None:
    ratios = [ours / base for base, ours in zip(rounds[BASELINE], rounds[INTERLINGUA], strict=True)]
    medians = ", ".join(f"{name} {statistics.median(values):.3f} s" for name, values in rounds.items())
    shown = " ".join(f"{ratio:.2f}" for ratio in ratios)
    print(
        f"{title}: {medians}; ratio per round {shown}, median {statistics.median(ratios):.2f} (goal {goal})"
    )


def main(options: Options) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.abspath(options.data) if options.data else training_speed.phrasebook(Path(folder))
        updates = {BASELINE: [], INTERLINGUA: []}
        for _ in range(options.rounds):
            for name, words in variants(options.arch, options.gpu).items():
                updates[name].append(training_speed.measure(data, words, options, Path(folder))["seconds"])
        report("time per update", 1.6, updates)
        if not options.checkpoints:
            print("translation: not measured; give two trained models with --checkpoints")
            return
        translation = {BASELINE: [], INTERLINGUA: []}
        both = decoders(data, options)
        direction = tuple(options.lang_pairs.split(",")[1].split("-"))
        for _ in range(options.rounds):
            for name, decoder in both.items():
                translation[name].append(translation_seconds(decoder, data, direction, options.lines))
        report("translation", 1.15, translation)


if __name__ == "__main__":
    sys.exit(run_script())
