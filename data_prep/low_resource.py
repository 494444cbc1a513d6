"""A simulated low-resource setting: small fine-tuning sets, and monolingual text (thesis 4.4.1, 4.4.6).

The input is a cleaned corpus of one language pair. OUTPUT/3000 gets 3,000 random training pairs, and the
whole valid and test sets. A smaller set is part of the larger ones.

OUTPUT/monolingual gets text for pre-training: train.LANG, and valid.LANG from the valid set. --monolingual is
a folder with train.LANG. Without it, train.LANG is one side of the pairs that are in no fine-tuning set. Each
side has its own random order, held in memory, so nothing says which sentences belong together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, takewhile
from pathlib import Path

import numpy
from typing_extensions import TypedDict

from command_line import options
from command_line.completion import check_finished, input_identities, read_settings
from command_line.errors import InputError
from command_line.lines import count_lines, find_text, read_parallel
from command_line.option_classes import force_switch, option, output_folder
from command_line.progress import progress
from command_line.records import check
from command_line.workers import Workers, dask_option, make_workers, workers_option
from data_prep.blocks import Block, encode, read_blocks
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


class Drawn(TypedDict):
    """The settings of an earlier drawing, as far as they are read."""

    size: int


@dataclass(frozen=True, kw_only=True)
class LowResourceJob:
    """What is drawn of which corpus."""

    input: Path = option("folder of SPLIT.SRC-TGT.LANG files, cleaned", required=True)
    output: Path = output_folder("the folders SIZE and monolingual")
    sizes: list[str] = option(
        "numbers of pairs, separated by commas (thesis 4.4.6), or all (default: 3000,10000,20000,50000)",
        ["3000", "10000", "20000", "50000"],
        type=options.items(SIZE),
    )
    first: int | None = option("draw from the first lines only (ASPEC-JE: 1000000)")
    monolingual: Path | None = option("text of its own for pre-training, train.LANG", metavar="DIR")
    seed: int = option("of the random pairs and orders", 1, type=options.seed)
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()


def main(job: LowResourceJob) -> None:
    bitexts = find_bitexts(job.input)
    train = training_pair(job.input, bitexts)
    sizes = {name: None if name == ALL else int(name) for name in job.sizes}
    check_parallel(bitexts)
    lines = min(count_lines(train.paths[0]), job.first or float("inf"))
    limits = {name: lines if size is None else size for name, size in sizes.items()}
    if max(limits.values()) > lines:
        raise InputError(
            f"--sizes {','.join(job.sizes)}: found {lines} training pairs, expected at least as many"
        )
    own = monolingual_files(job.monolingual, train) if job.monolingual else None
    if not own and max(limits.values()) == lines:
        raise InputError(
            f"--sizes {','.join(job.sizes)}: leaves no pairs for pre-training; give --monolingual DIR"
        )
    inputs = (job.input, *([job.monolingual] if own else []))  # which no output may be
    ranks = numpy.random.default_rng(job.seed).permutation(lines)  # those below n are a random sample of n
    settings, reads = {"first": job.first, "seed": job.seed}, paths_of(bitexts)
    folder, largest = job.output / MONOLINGUAL, max(limits.values())
    if not own:
        largest = max(largest, largest_of_earlier(job.output, limits, settings, train))
        if largest == lines:
            raise InputError(f"{job.output}: has a set of all pairs, which leaves none for pre-training")
    beyond = {} if own else {"beyond": largest}
    of_pairs = {"normalized": is_normalized(job.input)}
    of_both = {"normalized": of_pairs["normalized"] and (own is None or is_normalized(job.monolingual))}
    pretraining = StepFolder(
        folder, "low-resource", settings | beyond | of_both, [*reads, *(own or ())], inputs
    )
    with make_workers(job.workers, job.dask) as workers:
        for name, size in limits.items():
            drawn = settings | {"size": size} | of_pairs
            step = StepFolder(job.output / name, "low-resource", drawn, reads, inputs)
            if not step.is_complete(job.force):
                with step.writing(is_corpus_file):
                    copy_lines(train.paths, train.outputs(job.output / name), workers, ranks < size)
                    for bitext in bitexts:
                        if bitext.split != TRAIN:
                            copy_lines(bitext.paths, bitext.outputs(job.output / name), workers)
        if not pretraining.is_complete(job.force):
            with pretraining.writing(is_corpus_file):
                outputs = [folder / monolingual_name(TRAIN, language) for language in train.languages]
                if own:
                    for path, output in zip(own, outputs, strict=True):
                        copy_lines([path], [output], workers)
                else:
                    write_shuffled(train, outputs, ranks >= largest, job.seed)
                for bitext in bitexts:  # there may be sets of other pairs, with the same languages
                    if (bitext.split, bitext.pair) == (VALID, train.pair):
                        outputs = [
                            folder / monolingual_name(VALID, language) for language in bitext.languages
                        ]
                        copy_lines(bitext.paths, outputs, workers)


def largest_of_earlier(output: Path, limits: dict[str, int], settings: dict, train: Text) -> int:
    """Pairs of the largest set that another run has drawn into the folder, and that are to be left out of
    pre-training, too; 0 if there is none.
    """
    largest, now = 0, input_identities(train.paths)
    for path in sorted(output.glob("*/low-resource.json")):
        if path.parent.name in (MONOLINGUAL, *limits):
            continue
        earlier = read_settings(path.parent, "low-resource")
        check(earlier, Drawn, path)
        if {name: earlier.get(name) for name in settings} != settings:
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
        largest = max(largest, earlier["size"])
    return largest


def training_pair(folder: Path, bitexts: list[Text]) -> Text:
    """The only training bitext of a folder."""
    training = [bitext for bitext in bitexts if bitext.split == TRAIN]
    if len(training) != 1:
        names = ", ".join(bitext.pair for bitext in training) or "none"
        raise InputError(f"{folder}: training pairs: {names}; expected exactly one language pair")
    return training[0]


def monolingual_files(folder: Path, train: Text) -> list[Path]:
    """train.LANG of both languages, plain or compressed."""
    check_finished(folder)
    paths = []
    for language in train.languages:
        path = find_text(folder / monolingual_name(TRAIN, language))
        if path is None:
            raise InputError(f"--monolingual {folder}: no {TRAIN}.{language} in it")
        if not count_lines(path):
            raise InputError(f"{path}: is empty, expected lines of text")
        paths.append(path)
    return paths


def write_shuffled(train: Text, outputs: list[Path], chosen, seed: int) -> None:
    """Write both sides of the chosen lines, each in its own order."""
    rows = list(compress(read_parallel(*train.paths), chosen))
    for side, output in enumerate(outputs):
        order = numpy.random.default_rng((seed, side)).permutation(len(rows))
        with open_outputs([output]) as (stream,):
            shown = progress(order, len(order), f"{output.parent.name}/{output.name}", "line")
            stream.writelines(f"{rows[row][side]}\n".encode() for row in shown)


def copy_lines(
    paths: Sequence[Path], outputs: Sequence[Path], workers: Workers, chosen: numpy.ndarray | None = None
) -> None:
    """Copy line-parallel files.

    Args:
        chosen: a boolean for each of the first lines, the only ones that may be copied (default: all lines).
    """
    title = f"{outputs[0].parent.name}/{outputs[0].name}"
    read = read_blocks(*paths)
    if chosen is not None:
        read = takewhile(lambda block: block.first_line <= len(chosen), read)
    blocks = ((block, _of_block(chosen, block)) for block in read)
    with open_outputs(outputs) as streams:
        parts = workers.map(_copied, blocks)
        for _, sides in progress(parts, None, title, "line", size=lambda part: part[0]):
            for stream, side in zip(streams, sides, strict=True):
                stream.write(side)


def _of_block(chosen: numpy.ndarray | None, block: Block) -> numpy.ndarray:
    if chosen is None:
        return numpy.ones(block.lines, bool)
    return chosen[block.first_line - 1 :][: block.lines]


def _copied(part: tuple[Block, numpy.ndarray]) -> tuple[int, list[bytes]]:
    """Number of lines of a block, and those of each side that are chosen."""
    block, chosen = part
    sides = [list(compress(block.decode(side), chosen)) for side in range(len(block.paths))]
    return block.lines, list(map(encode, sides))
