"""The BUCC shared task in one command: bitext mining with the threshold of the training part (thesis 2.4.3).

DIR has, for each pair of languages, `de-en.training.de`, `.training.en` and `.training.gold`, and likewise
the part that is tested, as BUCC publishes them, also below a folder `de-en`; texts have lines
`identifier<TAB>sentence`, gold files `identifier<TAB>identifier`. Sentences that occur twice in a text are
one. A tested part without gold file is mined and has no F1. With --universal-threshold all pairs of languages
have one threshold, that of the highest mean F1 over their training parts.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.lines import find_text
from command_line.option_classes import from_arguments
from command_line.provenance import versions
from command_line.result_file import add_output_arguments, write_result
from data_prep.formats.texts import LANGUAGE_CODE
from embeddings.encoders.options import EncoderOptions, add_encoder_arguments
from embeddings.encoders.sentence_encoder import SentenceEncoder
from embeddings.mine import KIND, Side, add_mining_arguments, read_gold, read_side, scored, write_pairs
from embeddings.search.bucc import Ranking, best_threshold
from embeddings.search.mining import Mining, mine

GOLD = "gold"


@dataclass(frozen=True)
class Job:
    """What is mined.

    Attributes:
        folder: of the shared task.
        pairs: of languages, "de-en".
        tuned, tested: parts: where the threshold is found, and where it is used.
        universal_threshold: one threshold for all pairs.
    """

    encoder: EncoderOptions
    folder: Path
    pairs: list[str]
    tuned: str
    tested: str
    universal_threshold: bool
    mining: Mining

    def texts(self, pair: str, part: str) -> list[Path]:
        """Both sides of a part.

        Raises:
            InputError: one is missing.
        """
        return [self._file(pair, part, language) for language in _languages(pair)]

    def gold(self, pair: str, part: str) -> Path | None:
        """The right pairs; those of the tuned part must be there."""
        return self._file(pair, part, GOLD, needed=part == self.tuned)

    def _file(self, pair: str, part: str, ending: str, needed: bool = True) -> Path | None:
        name = f"{pair}.{part}.{ending}"
        found = find_text(self.folder / name) or find_text(self.folder / pair / name)
        if found is None and needed:
            raise InputError(f"{self.folder / name}: no such file, nor below {pair}; expected that of BUCC")
        return found

    def parts(self) -> list[str]:
        return list(dict.fromkeys([self.tuned, self.tested]))

    def files(self) -> list[Path]:
        every = [(pair, part) for pair in self.pairs for part in self.parts()]
        found = [path for one in every for path in [*self.texts(*one), self.gold(*one)]]
        return [path for path in found if path]


def _languages(pair: str) -> list[str]:
    """Both languages of a pair, as `de-en`.

    Raises:
        InputError: it is none.
    """
    languages = pair.split("-")
    if len(set(languages)) != 2 or len(languages) != 2 or not all(map(LANGUAGE_CODE.fullmatch, languages)):
        raise InputError(f"--pairs {pair}: expected two languages, for example de-en")
    return languages


def add_arguments(parser) -> None:
    parser.add_argument("folder", type=types.path, metavar="DIR", help="de-en.training.de, .en, .gold, …")
    parser.add_argument(
        "--pairs", required=True, type=types.items(types.split), metavar="PAIR,…", help="de-en,fr-en"
    )
    parser.add_argument("--tuned", type=types.split, default="training", help="part that gives the threshold")
    parser.add_argument("--tested", type=types.split, default="test", help="part that it is used for")
    parser.add_argument("--universal-threshold", action="store_true", help="one for all pairs of languages")
    add_encoder_arguments(parser)
    add_mining_arguments(parser)
    add_output_arguments(parser, KIND, " and the pairs of each part, de-en.test.tsv")


def main(args) -> None:
    job = from_arguments(Job, args)
    inputs = [*job.files(), *job.encoder.files()]
    outputs = [args.output / f"{pair}.{part}.tsv" for pair in job.pairs for part in job.parts()]
    write_result(
        "embeddings",
        KIND,
        job,
        inputs,
        lambda: measure(job, args.output),
        args.output,
        args.force,
        beside=lambda file, record: outputs,
    )


@dataclass(frozen=True)
class Mined:
    """What was found in a part, the best first.

    Attributes:
        gold: right pairs; None where they are not known.
    """

    sides: list[Side]
    gold: set[tuple[int, int]] | None
    scores: np.ndarray
    pairs: list[tuple[int, int]]
    without_neighbourhood: int


def measure(job: Job, output: Path) -> dict:
    """A run per pair of languages and part."""
    encoder = job.encoder.load()
    found = {(pair, part): mine_part(job, encoder, pair, part) for pair in job.pairs for part in job.parts()}
    rankings = {pair: _ranking(found[pair, job.tuned]) for pair in job.pairs}
    common = best_threshold(*rankings.values()) if job.universal_threshold else None
    runs = []
    for (pair, part), mined in found.items():
        threshold = best_threshold(rankings[pair]) if common is None else common
        kept = mined.pairs[: int((mined.scores >= threshold).sum())]
        first, second = (side.sentences for side in mined.sides)
        write_pairs(output / f"{pair}.{part}.tsv", mined.scores, [(first[i], second[j]) for i, j in kept])
        origin = f"{job.tuned}, {'all pairs' if job.universal_threshold else pair}"
        runs.append(
            {
                "system": encoder.system,
                "dataset": f"BUCC {pair}, {part}",
                "margin": job.mining.margin,
                "neighbours": job.mining.neighbours,
                "selection": job.mining.selection,
                "sentences": [len(side.sentences) for side in mined.sides],
                "lines": [len(side.rows) for side in mined.sides],
                "pairs": len(kept),
                "threshold": threshold if np.isfinite(threshold) else None,
                "without_neighbourhood": mined.without_neighbourhood,
                "bucc": None if mined.gold is None else scored(kept, mined.gold, origin),
            }
        )
    return {
        "encoder": encoder.record(),
        "runs": runs,
        "versions": versions("torch", "numpy", "faiss-cpu"),
    }


def _ranking(mined: Mined) -> Ranking:
    return Ranking(mined.scores, mined.pairs, mined.gold)


def mine_part(job: Job, encoder: SentenceEncoder, pair: str, part: str) -> Mined:
    """The candidates of one part, whatever their scores."""
    sides = [read_side(path, identifiers=True) for path in job.texts(pair, part)]
    path = job.gold(pair, part)
    gold = read_gold(path, *sides) if path else None
    vectors = [
        encoder.encode(side.sentences, language)
        for side, language in zip(sides, _languages(pair), strict=True)
    ]
    mined = mine(*vectors, job.mining)
    pairs = list(zip(mined.first.tolist(), mined.second.tolist(), strict=True))
    return Mined(sides, gold, mined.scores, pairs, mined.without_neighbourhood)
