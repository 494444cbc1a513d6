"""Extract the hidden states of every layer of a checkpoint, ours or stock fairseq's, once for all probes.

Decoder states are those of the model's own output (thesis 8.2.3: "obtained auto-regressively without
teacher-forcing"): every sentence is translated first, with beam search, and one pass over the tokens found
gives the states that the search had.

Of the set `valid`, supervised directions are taken, on which the classifiers of layer-wise language
recognition train; of other sets, --directions. Layers are L0 (embeddings), L1 … of the encoder and onward of
the decoder, encoder-norm, decoder-embedding and decoder-norm; see eval/probes/store.py.
"""

import time
from pathlib import Path

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.provenance import command_typed
from eval.probes.store import INDEX, KIND, write_index
from eval.translation.translate import SETS, add_search_arguments, data_files, settings_of

TRAINING_SPLIT = "valid"
DTYPES = ("float16", "float32")


def add_arguments(parser) -> None:
    parser.add_argument(
        "--checkpoint",
        required=True,
        type=options.path,
        help="fairseq checkpoint, for example checkpoint_best.pt",
    )
    parser.add_argument(
        "--data", required=True, type=options.path, help="binarized folder with the sets (data_prep binarize)"
    )
    parser.add_argument("--output", required=True, type=options.output_folder, help="folder for the states")
    parser.add_argument(
        "--splits", type=options.items(options.split), default="valid,test", help="sets to take"
    )
    parser.add_argument(
        "--directions",
        type=options.text,
        default="all",
        help=f"{', '.join(SETS)}, or a list such as de-fr,fr-de (from-to)",
    )
    parser.add_argument(
        "--layers",
        type=options.items(options.text),
        default="all",
        help="all, or a list such as L0,encoder-norm,L12",
    )
    parser.add_argument(
        "--max-lines", type=options.positive, help="only the first lines of every set (default: all)"
    )
    parser.add_argument(
        "--forced",
        choices=("output", "reference"),
        default="output",
        help="tokens that the decoder is given: the model's own output (8.2.3), or the reference",
    )
    parser.add_argument(
        "--dtype", choices=DTYPES, default="float16", help="of the states on disk; float16 ends at 65504"
    )
    add_search_arguments(parser)
    parser.add_argument(
        "--name", type=options.text, help="name of the system in tables (default: made from its options)"
    )
    parser.add_argument(
        "--dataset", type=options.text, help="name of the data in tables (default: the name of DATA)"
    )
    parser.add_argument("--force", action="store_true", help="extract again even if it is done")


def main(args) -> None:
    files = data_files(args.data, args.splits)
    stamp = Stamp(Path(args.output) / ".states.done", KIND, settings_of(args), files)
    if not stamp.is_current(args.force):
        extract(args, stamp)


def _written(output: Path) -> list[Path]:
    """The files of an extraction, the index first."""
    patterns = (INDEX, "*.states.npy", "*.tokens.npy", "*.offsets.npy")
    return [path for pattern in patterns for path in sorted(output.glob(pattern))]


def extract(args, stamp: Stamp) -> None:
    """Load, translate, force, store; the journal of translations is kept for the work of `stamp`."""
    from eval.probes.forward_states import layers_of
    from eval.probes.storing import Sentences, StateWriter
    from eval.translation.decoding import build_decoder, load_sources
    from eval.translation.journal import Journal
    from fairseq_ext.inference import load_for_inference

    started = time.monotonic()
    loaded = load_for_inference(args.checkpoint, args.data)
    available = layers_of(loaded.model, args.checkpoint)
    layers = choose_layers(available, args.layers)
    decoder = build_decoder(loaded, args, keep_tags=True)
    keys = [
        (split, direction) for split in args.splits for direction in directions_of(decoder.task, args, split)
    ]
    parts = [
        load_sources(decoder.task, args.data, split, direction, args.max_lines) for split, direction in keys
    ]
    output = Path(args.output)
    stamp.begin()
    for path in _written(output):  # of an earlier extraction
        path.unlink()
    with Journal(output / ".journal.jsonl", stamp.work, keep=not args.force) as journal:
        outputs = forced_tokens(decoder, journal, args, keys, parts)
    translated = time.monotonic()
    sentences = [Sentences(*each) for each in zip(keys, parts, outputs, strict=True)]
    splits = StateWriter(decoder, layers, args.dtype, output).write(sentences)
    seconds = {"translate": translated - started, "states": time.monotonic() - translated}
    record = describe(args, loaded, layers, splits, seconds)
    write_index(output, record | {"encoder_output": available["encoder"][-1]})
    journal.remove()
    stamp.finish(_written(output))


def choose_layers(available: dict[str, list[str]], wanted: list[str]) -> dict[str, dict[str, int]]:
    """The layers to store per side, from the bottom up: name -> number among those available.

    In a model without a final norm its name stands for the last layer.

    Raises:
        InputError: the model has no such layer.
    """
    names = [name for side in available.values() for name in side]
    chosen = names if wanted == ["all"] else wanted
    for side, layers in available.items():  # one list fits systems with and without final norms
        if (norm := f"{side}-norm") not in layers:
            chosen = [layers[-1] if name == norm else name for name in chosen]
    for name in chosen:
        if name not in names:
            raise InputError(f"--layers: {name!r} is no layer of the model; it has: {', '.join(names)}")
    return {
        side: {name: number for number, name in enumerate(layers) if name in chosen}
        for side, layers in available.items()
    }


def directions_of(task, args, split: str) -> list:
    from eval.translation.directions import choose_directions

    wanted = "supervised" if split == TRAINING_SPLIT else args.directions
    return choose_directions(task, args.data, split, wanted)


def forced_tokens(decoder, journal, args, keys, parts) -> list[list[list[int]]]:
    """What the decoder is given per part and sentence, without forced tag and `</s>`."""
    from data_prep.formats.sentences import load_pair
    from eval.translation.decoding import search_all

    if args.forced == "output":
        return search_all(decoder, journal, parts, "translate")
    outputs = []
    for (split, direction), part in zip(keys, parts, strict=True):
        references = load_pair(args.data, split, direction)[1]
        room = decoder.task.max_positions()[1] - len(part.target_tags) - 1
        outputs.append([references[i][:-1][:room].tolist() for i in range(len(part))])
    return outputs


def describe(args, loaded, layers: dict, splits: dict, seconds: dict) -> dict:
    """The contents of the index beside format and kind."""
    from data_prep.formats.directions import format_direction
    from eval.results.system_record import describe_system
    from fairseq_ext.provenance import describe_origin

    system = describe_system(loaded.state["cfg"], loaded.task)
    return {
        "system": system | ({"name": args.name} if args.name else {}),
        **describe_origin(args.checkpoint, args.data, loaded),
        "dataset": args.dataset or Path(args.data).resolve().name,
        "forced": args.forced,
        "beam": args.beam,
        "max_lines": args.max_lines,
        "supervised": [format_direction(direction) for direction in loaded.task.supervised],
        "layers": {side: list(chosen) for side, chosen in layers.items()},
        "tags": sorted(loaded.task.tags.all_ids()),
        "eos": loaded.task.dictionary.eos(),
        "splits": splits,
        "seconds": {stage: round(value, 2) for stage, value in seconds.items()},
        "command": command_typed("eval"),
    }
