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
from pathlib import Path

from benchmarks import training_speed  # trains, makes the corpus
from command_line import options
from command_line.dispatch import run_script

BASELINE, INTERLINGUA = "mnmt_transformer", "interlingua_transformer"
LOSSES = ["--losses", "translation,interlingua_alignment,length_prediction", "--fused-vocabulary-loss"]


def variants(arch: str, gpu: bool) -> dict[str, list[str]]:
    size = "" if arch == "base" else f"_{arch}"
    precision = ["--autocast-bf16"] if gpu else []
    ours = ["--criterion", "weighted_losses", *LOSSES, "--optimizer", "fused_adam"]
    return {
        BASELINE: ["--arch", BASELINE + size, *training_speed.OURS, *precision],
        INTERLINGUA: ["--arch", INTERLINGUA + size, *ours, *precision],
    }


def decoders(data: str, args) -> dict:
    """A decoder around each trained model."""
    import torch

    from eval.translation.beam_search import BeamSearch
    from eval.translation.decoding import Decoder
    from eval.translation.search_options import SearchOptions
    from fairseq_ext.inference import load_for_inference

    torch.set_num_threads(args.threads)
    device = torch.device("cuda" if args.gpu else "cpu")
    found = {}
    for name, path in zip((BASELINE, INTERLINGUA), args.checkpoints, strict=True):
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


def add_arguments(parser) -> None:
    parser.set_defaults(profile=False)  # as of training_speed, which trains
    parser.add_argument(
        "--data", type=options.path, default=os.environ.get("BENCHMARK_DATA"), help="binarized folder"
    )
    parser.add_argument("--lang-pairs", type=options.text, default="en-de,de-en,en-fr,fr-en")
    parser.add_argument("--arch", choices=training_speed.STOCK_ARCHITECTURES, default="base")
    parser.add_argument("--max-tokens", type=options.positive, default=2048)
    parser.add_argument("--updates", type=options.positive, default=8, help="counted updates of a run")
    parser.add_argument("--warmup", type=options.positive, default=3, help="updates that are not counted")
    parser.add_argument(
        "--checkpoints",
        nargs=2,
        type=options.path,
        metavar=("MNMT.pt", "INTERLINGUA.pt"),
        help="trained models that translate",
    )
    parser.add_argument("--lines", type=options.positive, default=200, help="sentences to translate")
    parser.add_argument("--rounds", type=options.positive, default=3)
    parser.add_argument("--threads", type=options.worker_count, default=os.cpu_count())
    parser.add_argument("--gpu", action="store_true")


def main(args) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.abspath(args.data) if args.data else training_speed.phrasebook(Path(folder))
        updates = {BASELINE: [], INTERLINGUA: []}
        for _ in range(args.rounds):
            for name, options in variants(args.arch, args.gpu).items():
                updates[name].append(training_speed.measure(data, options, args, Path(folder))["seconds"])
        report("time per update", 1.6, updates)
        if not args.checkpoints:
            print("translation: not measured; give two trained models with --checkpoints")
            return
        translation = {BASELINE: [], INTERLINGUA: []}
        both = decoders(data, args)
        direction = tuple(args.lang_pairs.split(",")[1].split("-"))
        for _ in range(args.rounds):
            for name, decoder in both.items():
                translation[name].append(translation_seconds(decoder, data, direction, args.lines))
        report("translation", 1.15, translation)


if __name__ == "__main__":
    sys.exit(run_script())
