"""Translate a test set in all directions with one checkpoint: ours, or one of stock fairseq.

The model is loaded once; sentences of all directions share batches by length. Every hypothesis file has
exactly one detokenized line per input line, in order. A killed run continues where it was. Beam search gives
the results of fairseq's, with the options of `fairseq-generate` (beam 5: thesis 8.2.2).

Directions: those that were trained are supervised, all others between the languages of the model that DATA
has a test set for are zero-shot. With `--pivot en`, zero-shot directions are translated into English and
from there (row 0 of Table 8.2).
"""

import time
from collections.abc import Iterable
from pathlib import Path

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.outputs import checksum, write_json, write_text
from command_line.provenance import command_typed
from eval.results.files import TRANSLATION

LARGEST_BEAM = 1000
SETS = ("all", "supervised", "zero-shot")


def add_arguments(parser) -> None:
    parser.add_argument(
        "--checkpoint",
        required=True,
        type=options.path,
        help="fairseq checkpoint, for example checkpoint_best.pt",
    )
    parser.add_argument(
        "--data",
        required=True,
        type=options.path,
        help="binarized folder with the test set (data_prep binarize)",
    )
    parser.add_argument(
        "--output",
        required=True,
        type=options.output_folder,
        help="folder for SRC-TGT.txt and translate.json",
    )
    parser.add_argument("--split", type=options.split, default="test", help="which set to translate")
    parser.add_argument(
        "--directions",
        type=options.text,
        default="all",
        help=f"{', '.join(SETS)}, or a list such as de-fr,fr-de (from-to)",
    )
    parser.add_argument(
        "--pivot", type=options.text, help="translate zero-shot directions through this language"
    )
    add_search_arguments(parser)
    add_length_arguments(parser)
    parser.add_argument(
        "--bf16", action="store_true", help="bfloat16 products: faster, rarely another hypothesis"
    )
    parser.add_argument(
        "--name", type=options.text, help="name of the system in tables (default: made from its options)"
    )
    parser.add_argument(
        "--dataset", type=options.text, help="name of the test set in tables (default: the name of DATA)"
    )
    parser.add_argument("--force", action="store_true", help="translate again even if it is done")


def add_search_arguments(parser) -> None:
    """The options of the search, and where it runs."""
    parser.add_argument("--beam", type=options.whole_number(1, LARGEST_BEAM), default=5, help="beam size")
    parser.add_argument(
        "--lenpen",
        type=options.number(-10, 10),
        default=1.0,
        help="length penalty: > 1 favours longer output",
    )
    parser.add_argument(
        "--score-without-tag",
        action="store_true",
        help="the forced language tag does not count in the score that chooses a hypothesis, neither its "
        "log-probability nor its length (default: it does, as in fairseq)",
    )
    parser.add_argument(
        "--max-len-a",
        type=options.number(0, 100),
        default=0.0,
        help="output has at most a * source + b tokens",
    )
    parser.add_argument("--max-len-b", type=options.positive, default=200, help="see --max-len-a")
    parser.add_argument(
        "--max-tokens", type=options.positive, default=4096, help="source tokens per batch, padding included"
    )
    parser.add_argument("--cpu", action="store_true", help="do not use a GPU")


def add_length_arguments(parser) -> None:
    """The options of `eval.translation.length_search`."""
    parser.add_argument(
        "--length-candidates",
        type=options.positive,
        default=1,
        metavar="K",
        help="models that predict the length of an interlingua: search with the best K lengths (7.3: 1)",
    )
    parser.add_argument(
        "--length-weight",
        type=options.number(0, 1000),
        default=1.0,
        help="of log p(length) in their choice",
    )


def settings_of(args) -> dict:
    """What the output depends on besides the data: the options, and the identity of the checkpoint."""
    unimportant = ("force", "debug", "cpu", "output")
    settings = {name: value for name, value in vars(args).items() if name not in unimportant}
    settings["checkpoint_sha256"] = checkpoint_identity(args.checkpoint)
    return settings


def data_files(data, splits: Iterable[str]) -> list[Path]:
    """The files of a binarized folder that what is made of these sets depends on."""
    patterns = ["dict.*.txt", "subword.*"]
    patterns += [f"{split}.*.{ending}" for split in splits for ending in ("idx", "bin")]
    found = [path for pattern in patterns for path in sorted(Path(data).glob(pattern))]
    return [_required(Path(data) / "preparation.json"), *found]


def main(args) -> None:
    files = data_files(args.data, [args.split])
    stamp = Stamp(Path(args.output) / ".translate.done", "translate", settings_of(args), files)
    if not stamp.is_current(args.force):
        translate(args, stamp)


def _required(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected in the output of `python -m data_prep binarize`")
    return path


def checkpoint_identity(path) -> str:
    if not Path(path).is_file():
        raise InputError(f"{path}: no such file; expected a fairseq checkpoint")
    return checksum(path)


def translate(args, stamp: Stamp) -> None:
    """Load, choose directions, search, write; the journal is kept for the work that `stamp` describes."""
    from eval.translation.decoding import build_decoder, load_sources, search_all
    from eval.translation.directions import choose_directions
    from eval.translation.journal import Journal
    from fairseq_ext.inference import load_for_inference

    started = time.monotonic()
    loaded = load_for_inference(args.checkpoint, args.data, autocast_bf16=args.bf16)
    directions = choose_directions(loaded.task, args.data, args.split, args.directions, args.pivot)
    decoder = build_decoder(loaded, args)
    output = Path(args.output)
    stamp.begin()
    with Journal(output / ".journal.jsonl", stamp.work, keep=not args.force) as journal:
        if args.pivot:
            hypotheses = through_pivot(decoder, journal, args, directions)
        else:
            parts = [load_sources(decoder.task, args.data, args.split, direction) for direction in directions]
            hypotheses = search_all(decoder, journal, parts, "translate")
    lines = _write_hypotheses(loaded.task, args, directions, hypotheses)
    seconds = time.monotonic() - started
    record = describe(args, loaded, directions, lines)
    record |= {"seconds": round(seconds, 1), "sentences_per_second": round(sum(lines.values()) / seconds, 1)}
    write_json(output / TRANSLATION, record)
    journal.remove()
    stamp.finish([output / TRANSLATION, *(output / f"{name}.txt" for name in lines)])


# --- searching


def through_pivot(decoder, journal, args, directions) -> list[list[list[int]]]:
    """Translate into the pivot language, and its hypotheses onward (thesis 7.3.3 "Pivot translation").

    The same source sentence of several directions (multi-way test sets) is translated into the pivot once.
    """
    import numpy as np

    from eval.translation.decoding import load_sources, search_all, sources_of

    task = decoder.task
    unique: dict[str, dict[tuple, int]] = {}
    for direction in directions:
        part = load_sources(task, args.data, args.split, direction)
        known = unique.setdefault(direction[0], {})
        for index in range(len(part)):
            known.setdefault(tuple(part.sources[index].tolist()), len(known))
    first = []
    for source, sentences in unique.items():
        rows = [np.array(sentence) for sentence in sentences]
        sizes = np.array([len(row) for row in rows])
        first.append(sources_of(task, (source, args.pivot), rows, sizes))
    pivots = dict(zip(unique, search_all(decoder, journal, first, f"to {args.pivot}"), strict=True))
    second = []
    for direction in directions:
        part = load_sources(task, args.data, args.split, direction)
        numbers = [unique[direction[0]][tuple(part.sources[index].tolist())] for index in range(len(part))]
        rows = [np.array([*pivots[direction[0]][number], task.dictionary.eos()]) for number in numbers]
        sizes = np.array([len(row) for row in rows])
        second.append(sources_of(task, (args.pivot, direction[1]), rows, sizes))
    return search_all(decoder, journal, second, f"from {args.pivot}")


# --- writing


def _write_hypotheses(task, args, directions, hypotheses) -> dict[str, int]:
    """Write `SRC-TGT.txt`; returns lines per direction."""
    from data_prep.formats.preparation import Preparation

    preparation = Preparation.load(args.data)
    lines = {}
    for direction, sentences in zip(directions, hypotheses, strict=True):
        texts = [text_of(preparation, task.dictionary, direction[1], tokens) for tokens in sentences]
        name = "-".join(direction)
        write_text(Path(args.output) / f"{name}.txt", "".join(f"{text}\n" for text in texts))
        lines[name] = len(texts)
    return lines


def text_of(preparation, dictionary, language: str, tokens: list[int]) -> str:
    """Detokenized text of a hypothesis, one line."""
    subwords = dictionary.string(tokens)
    return " ".join(preparation.detokenize(language, subwords).split())


def describe(args, loaded, directions, lines: dict[str, int]) -> dict:
    """The contents of `translate.json`: everything that a table needs to say where its numbers come from."""
    from data_prep.formats.directions import format_direction
    from eval.results.system_record import describe_system
    from fairseq_ext.provenance import describe_origin

    system = describe_system(loaded.state["cfg"], loaded.task)
    kinds = {}
    for direction in directions:
        name = format_direction(direction)
        supervised = direction in loaded.task.supervised
        path = Path(args.output) / f"{name}.txt"
        kinds[name] = {
            "kind": "supervised" if supervised else "zero-shot",
            "lines": lines[name],
            "sha256": checksum(path),
        }
    return {
        "format": 1,
        "system": system | ({"name": args.name} if args.name else {}),
        **describe_origin(args.checkpoint, args.data, loaded),
        "dataset": args.dataset or Path(args.data).resolve().name,
        "split": args.split,
        "beam": args.beam,
        "score_without_tag": args.score_without_tag,
        "length_candidates": args.length_candidates,
        "length_weight": args.length_weight,
        "pivot": args.pivot,
        "directions": kinds,
        "command": command_typed("eval"),
    }
