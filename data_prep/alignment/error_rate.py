"""Alignment error rate against a gold standard with sure and possible links (Och and Ney, 2003).

    AER = 1 - (|A and S| + |A and P|) / (|A| + |S|),   S within P

Precision is |A and P| / |A|, recall |A and S| / |S|. The gold file has a line per sentence pair: `i-j` is a
sure link, `ipj` or `i?j` a possible one. `--alignment` is a file that `align` writes (a span counts as all
its links) or any Pharaoh file.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from command_line import options
from command_line.completion import check_finished
from command_line.errors import InputError, at
from command_line.option_classes import option, switch
from command_line.outputs import write_json
from command_line.workers import Workers, dask_option, make_workers, workers_option
from data_prep.alignment.links import parse_line
from data_prep.blocks import Block, read_blocks

_GOLD = re.compile(r"(\d{1,9})([-p?])(\d{1,9})", re.ASCII)
Links = set[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class AlignmentErrorJob:
    """Which links are compared."""

    gold: Path = option("file of gold links", required=True)
    alignment: Path = option("file of links to judge", required=True)
    gold_first_word: int = option(
        "number of a line's first word in the gold file", 0, type=options.whole_number(0, 1)
    )
    reverse_gold: bool = switch("the gold file has the languages the other way round")
    output: Path | None = option("JSON file for the numbers", type=options.output_file)
    workers: int = workers_option()
    dask: str | None = dask_option()


@dataclass
class Agreement:
    """Numbers of links: proposed, sure, proposed and sure, proposed and possible."""

    proposed: int = 0
    sure: int = 0
    proposed_sure: int = 0
    proposed_possible: int = 0

    def add(self, proposed: Links, sure: Links, possible: Links) -> None:
        self.proposed += len(proposed)
        self.sure += len(sure)
        self.proposed_sure += len(proposed & sure)
        self.proposed_possible += len(proposed & (sure | possible))

    @property
    def error_rate(self) -> float:
        """0 when nothing is proposed and nothing is sure."""
        links = self.proposed + self.sure
        return 1 - (self.proposed_sure + self.proposed_possible) / links if links else 0.0

    @property
    def precision(self) -> float:
        return self.proposed_possible / self.proposed if self.proposed else 1.0

    @property
    def recall(self) -> float:
        return self.proposed_sure / self.sure if self.sure else 1.0


def parse_gold(line: str, path, number: int, first_word: int, reverse: bool) -> tuple[Links, Links]:
    """Sure and possible links of a line, words from 0."""
    links: tuple[Links, Links] = set(), set()
    for item in line.split():
        match = _GOLD.fullmatch(item)
        if not match:
            raise InputError(
                f"{at(path, number)}: found {item[:60]!r}, expected i-j (sure), ipj or i?j (possible)"
            )
        link = int(match[1]) - first_word, int(match[3]) - first_word
        if min(link) < 0:
            raise InputError(
                f"{at(path, number)}: found {item!r}, expected words from 1; --gold-first-word 0?"
            )
        links[match[2] != "-"].add(link[::-1] if reverse else link)
    return links


def judge_block(first_word: int, reverse: bool, block: Block) -> Agreement:
    """Compare lines of gold links with lines of proposed ones."""
    gold, alignment = block.paths
    agreement = Agreement()
    lines = zip(block.decode(0), block.decode(1), strict=True)
    for number, (expected, proposed_line) in enumerate(lines, start=block.first_line):
        proposed = {
            (i, j)
            for a, b, c, d in parse_line(proposed_line, alignment, number)
            for i in range(a, b)
            for j in range(c, d)
        }
        agreement.add(proposed, *parse_gold(expected, gold, number, first_word, reverse))
    return agreement


def judge(
    gold: Path, alignment: Path, workers: Workers, first_word: int = 0, reverse: bool = False
) -> Agreement:
    """Compare two files line by line."""
    total = Counter()
    blocks = read_blocks(gold, alignment)
    for agreement in workers.map(partial(judge_block, first_word, reverse), blocks):
        total.update(vars(agreement))
    return Agreement(**total)


def main(job: AlignmentErrorJob) -> None:
    check_finished(job.alignment.parent)
    if job.output and job.output.resolve() in (job.gold.resolve(), job.alignment.resolve()):
        raise InputError(f"--output {job.output}: is a file that is read, expected another one")
    with make_workers(job.workers, job.dask) as workers:
        agreement = judge(job.gold, job.alignment, workers, job.gold_first_word, job.reverse_gold)
    numbers = {name: round(getattr(agreement, name), 4) for name in ("error_rate", "precision", "recall")}
    numbers |= {"links": agreement.proposed, "sure_links": agreement.sure}
    percent = {
        name: f"{100 * getattr(agreement, name):.1f}%" for name in ("error_rate", "precision", "recall")
    }
    print(
        f"AER {percent['error_rate']}  precision {percent['precision']}  recall {percent['recall']}  "
        f"({agreement.proposed:,} links, {agreement.sure:,} sure)"
    )
    if job.output:
        write_json(
            job.output,
            {"format": 1, "kind": "alignment-error", "gold": str(job.gold), "alignment": str(job.alignment)}
            | numbers,
        )
