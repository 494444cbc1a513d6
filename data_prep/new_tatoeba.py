"""The evaluation set that OneAligner calls New-Tatoeba (Niu et al. 2022, 3.1), from the Tatoeba Challenge
(Tiedemann 2020; the paper: v2021-08-07).

DIR has the files of every pair of languages: PAIR/dev.src, dev.trg, test.src and test.trg. The command draws
--sample sentences of both sets at random, and leaves out pairs that have fewer. OUTPUT/english has the pairs
with English, OUTPUT/others all others, in LASER's layout; Table 6 averages over each. A pair of a language
with itself (nor-nor, two written forms) is left out, because its files would have one name. indices.json has
the drawn lines of every pair, counted from 0 through the development set and the test set.
"""

import re
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options
from command_line.errors import InputError
from command_line.lines import find_text, read_parallel
from command_line.option_classes import force_switch, option, output_folder, positional
from command_line.outputs import write_json, write_text
from command_line.progress import progress
from data_prep.languages import is_english
from data_prep.step_folder import StepFolder

SETS, SIDES = ("dev", "test"), ("src", "trg")
ENGLISH, OTHERS, INDICES = "english", "others", "indices.json"
PAIR = re.compile(r"(?P<first>[a-z]{3})-(?P<second>[a-z]{3})")
STEP = "new-tatoeba"


@dataclass(frozen=True, kw_only=True)
class NewTatoebaJob:
    """What is drawn of which folder."""

    folder: Path = positional("folder of PAIR/{dev,test}.{src,trg}: deu-eng/dev.src", metavar="DIR")
    output: Path = output_folder("english and others")
    sample: int = option("sentence pairs of every pair of languages (OneAligner 3.1)", 1000)
    seed: int = option("of the draw", 1, type=options.seed)
    force: bool = force_switch()


def main(job: NewTatoebaJob) -> None:
    pairs = find_pairs(job.folder)
    settings = {"sample": job.sample, "seed": job.seed}
    for name in (ENGLISH, OTHERS):
        own = {pair: paths for pair, paths in pairs.items() if _has_english(pair) == (name == ENGLISH)}
        reads = [path for paths in own.values() for path in paths]
        step = StepFolder(job.output / name, STEP, settings, reads, inputs=(job.folder,))
        if not own and step.stamp.was_begun():
            raise InputError(
                f"{job.output / name}: is of another folder, and {job.folder} has no such pairs; remove it,"
                " or choose another --output"
            )
        if not own or step.is_complete(job.force):
            continue
        with step.writing(lambda path: path.name == INDICES or path.name.startswith("tatoeba.")):
            drawn = {}
            for pair, paths in progress(own.items(), len(own), name, "pair"):
                if chosen := sample(paths, job.sample, job.seed, pair):
                    drawn[pair] = chosen[0]
                    write_pair(job.output / name, pair, chosen[1])
            write_json(job.output / name / INDICES, {**settings, "pairs": drawn})
        print(f"{name}: {len(drawn)} of {len(own)} pairs of languages have {job.sample} sentences")


def find_pairs(folder: Path) -> dict[str, list[Path]]:
    """Pair of languages -> its files, of each set the source and the target."""
    sides_of_pairs: dict[str, list[Path]] = {}
    for place in sorted(folder.iterdir()) if folder.is_dir() else ():
        pair = PAIR.fullmatch(place.name)
        if not (place.is_dir() and pair) or pair["first"] == pair["second"]:
            continue
        for name in SETS:
            sides = [find_text(place / f"{name}.{side}") for side in SIDES]
            if any(sides):
                for side, path in zip(SIDES, sides, strict=True):
                    if path is None:
                        raise InputError(f"{place}/{name}.{side}: no such file, but its other side is there")
                sides_of_pairs.setdefault(place.name, []).extend(sides)
    if not sides_of_pairs:
        raise InputError(f"{folder}: no files PAIR/test.src; expected the folder of the Tatoeba Challenge")
    return sides_of_pairs


def sample(
    paths: list[Path], count: int, seed: int, pair: str
) -> tuple[list[int], list[tuple[str, str]]] | None:
    """Line numbers, ascending, and the sentences of a random sample; None where there are not enough. The
    draw depends on nothing but the seed, the pair and the number of lines.

    Args:
        paths: sources and targets in turn.
    """
    pairs = zip(paths[::2], paths[1::2], strict=True)
    rows = [row for sides in pairs for row in read_parallel(*sides, nul=True)]
    if len(rows) < count:
        return None

    rng = np.random.default_rng([seed, zlib.crc32(pair.encode())])
    lines = sorted(rng.choice(len(rows), count, replace=False).tolist())
    return lines, [rows[line] for line in lines]


def write_pair(folder: Path, pair: str, rows: list[tuple[str, str]]) -> None:
    for language, lines in zip(pair.split("-"), zip(*rows, strict=True), strict=True):
        write_text(folder / f"tatoeba.{pair}.{language}", "".join(f"{line}\n" for line in lines))


def _has_english(pair: str) -> bool:
    return any(map(is_english, pair.split("-")))
