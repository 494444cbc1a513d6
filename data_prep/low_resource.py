"""A simulated low-resource setting: small fine-tuning sets, and monolingual text (thesis 4.4.1, 4.4.6).

The input is a cleaned corpus of one language pair. OUTPUT/3000 and so on get that many random training pairs,
the smaller sets being part of the larger ones, and the whole valid and test sets. OUTPUT/monolingual gets
text for pre-training, train.LANG and, the sides of the pairs' valid set, valid.LANG: `--monolingual` is a
folder of train.LANG files; without it, the two sides of all pairs (with --first, of the first ones) that are
in no fine-tuning set, each in its own random order (held in memory), so that nothing says which sentences
belong together.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from command_line import options
from command_line.completion import check_finished, input_identities, read_settings
from command_line.errors import InputError
from command_line.lines import count_lines, find_text, read_lines, read_parallel
from command_line.progress import progress
from command_line.records import check
from data_prep.blocks import encode
from data_prep.formats.texts import (
    TRAIN,
    VALID,
    Text,
    check_parallel,
    find_bitexts,
    is_corpus_file,
    monolingual_name,
    open_outputs,
    paths_of,
)
from data_prep.step_folder import StepFolder, is_normalized

MONOLINGUAL, ALL = "monolingual", "all"
SIZE = options.OptionType(
    f"a number of pairs above 0, or {ALL}",
    lambda text: options.matched(re.compile(rf"[1-9]\d{{0,9}}|{ALL}", re.ASCII), text),
)


def add_arguments(parser) -> None:
    parser.add_argument(
        "--input", required=True, type=options.path, help="folder of SPLIT.SRC-TGT.LANG files, cleaned"
    )
    parser.add_argument(
        "--output",
        required=True,
        type=options.output_folder,
        help="folder for the folders SIZE and monolingual",
    )
    parser.add_argument(
        "--sizes",
        type=options.items(SIZE),
        default="3000,10000,20000,50000",
        help="numbers of pairs, separated by commas (4.4.6), or all",
    )
    parser.add_argument(
        "--first", type=options.positive, help="draw from the first lines only (ASPEC-JE: 1000000)"
    )
    parser.add_argument(
        "--monolingual", type=options.path, metavar="DIR", help="text of its own for pre-training, train.LANG"
    )
    parser.add_argument("--seed", type=options.seed, default=1, help="of the random pairs and orders")
    parser.add_argument("--force", action="store_true", help="do it again even if it is done")


def main(args) -> None:
    bitexts = find_bitexts(args.input)
    train = training_pair(args.input, bitexts)
    sizes = {name: None if name == ALL else int(name) for name in args.sizes}
    check_parallel(bitexts)
    lines = min(count_lines(train.paths[0]), args.first or float("inf"))
    limits = {name: lines if size is None else size for name, size in sizes.items()}
    if max(limits.values()) > lines:
        raise InputError(
            f"--sizes {','.join(args.sizes)}: found {lines} training pairs, expected at least as many"
        )
    own = monolingual_files(args.monolingual, train) if args.monolingual else None
    if not own and max(limits.values()) == lines:
        raise InputError(
            f"--sizes {','.join(args.sizes)}: leaves no pairs for pre-training; give --monolingual DIR"
        )
    inputs = (args.input, *([args.monolingual] if own else []))  # which no output may be
    ranks = random_ranks(lines, args.seed)
    settings, reads = {"first": args.first, "seed": args.seed}, paths_of(bitexts)
    folder, largest = args.output / MONOLINGUAL, max(limits.values())
    if not own:
        largest = max(largest, largest_of_earlier(args.output, limits, settings, train))
        if largest == lines:
            raise InputError(f"{args.output}: has a set of all pairs, which leaves none for pre-training")
    beyond = {} if own else {"beyond": largest}
    of_pairs = {"normalized": is_normalized(args.input)}
    of_both = {"normalized": of_pairs["normalized"] and (own is None or is_normalized(args.monolingual))}
    pretraining = StepFolder(
        folder, "low-resource", settings | beyond | of_both, [*reads, *(own or ())], inputs
    )
    for name, size in limits.items():
        drawn = settings | {"size": size} | of_pairs
        step = StepFolder(args.output / name, "low-resource", drawn, reads, inputs)
        if not step.is_complete(args.force):
            step.begin(is_corpus_file)
            write_pairs(train, args.output / name, ranks < size)
            copy_sets([one for one in bitexts if one.split != TRAIN], args.output / name)
            step.finish()
    if not pretraining.is_complete(args.force):
        pretraining.begin(is_corpus_file)
        sides = map(read_lines, own) if own else shuffled(train, ranks >= largest, args.seed)
        write_monolingual(folder, TRAIN, train.languages, sides)
        for one in bitexts:  # there may be sets of other pairs, with the same languages
            if (one.split, one.pair) == (VALID, train.pair):
                write_monolingual(folder, VALID, one.languages, map(read_lines, one.paths))
        pretraining.finish()


def largest_of_earlier(output: Path, limits: dict[str, int], settings: dict, train: Text) -> int:
    """Pairs of the largest set that another run has drawn into the folder, and that are to be left out of
    pre-training, too; 0 if there is none.

    Args:
        limits: name -> pairs of the sets of this run.
        settings: how it draws.
        train: what it draws from.

    Raises:
        InputError: a set has been drawn otherwise or from other text: pairs of it would be pre-trained on.
    """
    largest, now = 0, input_identities(train.paths)
    for path in sorted(output.glob("*/low-resource.json")):
        if path.parent.name in (MONOLINGUAL, *limits):
            continue
        known = read_settings(path.parent, "low-resource")
        check(known, {"size": int}, path)
        if {name: known.get(name) for name in settings} != settings:
            raise InputError(
                f"{path.parent}: was drawn with another {' or '.join(f'--{name}' for name in settings)};"
                " remove it, or choose another --output"
            )
        drawn_from = StepFolder(path.parent, "low-resource", settings).stamp.recorded().get("inputs", {})
        if any(drawn_from.get(name) != identity for name, identity in now.items()):
            raise InputError(
                f"{path.parent}: was drawn from another {train.paths[0].name}, or an earlier one; remove it,"
                " or choose another --output"
            )
        largest = max(largest, known["size"])
    return largest


def training_pair(folder: Path, bitexts: list[Text]) -> Text:
    """The only training bitext of a folder.

    Raises:
        InputError: not exactly one training bitext.
    """
    found = [bitext for bitext in bitexts if bitext.split == TRAIN]
    if len(found) != 1:
        names = ", ".join(bitext.pair for bitext in found) or "none"
        raise InputError(f"{folder}: training pairs: {names}; expected exactly one language pair")
    return found[0]


def monolingual_files(folder: Path, train: Text) -> list[Path]:
    """train.LANG of both languages, plain or compressed.

    Raises:
        InputError: one is missing or empty, or the step that writes them did not finish.
    """
    check_finished(folder)
    found = []
    for language in train.languages:
        path = find_text(folder / monolingual_name(TRAIN, language))
        if path is None:
            raise InputError(f"--monolingual {folder}: no {TRAIN}.{language} in it")
        if not count_lines(path):
            raise InputError(f"{path}: is empty, expected lines of text")
        found.append(path)
    return found


def random_ranks(lines: int, seed: int):
    """A random permutation: the pairs of rank below n are a random sample of n."""
    import numpy

    return numpy.random.default_rng(seed).permutation(lines)


def shuffled(train: Text, chosen, seed: int) -> Iterator[Iterator[str]]:
    """Both sides of the chosen lines, each in its own order."""
    import numpy

    rows = [
        row
        for row, take in zip(islice(read_parallel(*train.paths), len(chosen)), chosen, strict=True)
        if take
    ]
    for side in (0, 1):
        order = numpy.random.default_rng((seed, side)).permutation(len(rows))
        yield (rows[row][side] for row in order)


def write_monolingual(folder: Path, split: str, languages: Iterable[str], sides: Iterable) -> None:
    """Write SPLIT.LANG for every language; `sides` has the lines of each."""
    for language, lines in zip(languages, sides, strict=True):
        write_rows([folder / monolingual_name(split, language)], ((line,) for line in lines))


def write_pairs(train: Text, folder: Path, chosen) -> None:
    rows = zip(read_parallel(*train.paths), chosen, strict=False)
    write_rows(train.outputs(folder), (row for row, take in rows if take))


def write_rows(paths: Sequence[Path], rows) -> None:
    """Write rows of lines, one per file."""
    with open_outputs(paths) as streams:
        for row in progress(rows, None, f"{paths[0].parent.name}/{paths[0].name}", "line"):
            for stream, line in zip(streams, row, strict=True):
                stream.write(encode([line]))


def copy_sets(bitexts: list[Text], folder: Path) -> None:
    for bitext in bitexts:
        write_rows(bitext.outputs(folder), read_parallel(*bitext.paths))
