"""Bitext mining: pairs of translations in two texts, by the margin of their vectors.

Artetxe and Schwenk 2019 ("Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings"), thesis
2.4.3. Writes `pairs.tsv`, a line `score<TAB>sentence<TAB>sentence` per pair, the best first; a sentence that
occurs twice in a text is mined once. With --gold, pairs are scored as in the BUCC shared task. With
--line-by-line the texts are parallel already: every line gets the margin of its own pair, to filter by, and
lines stay in their order.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError, at
from command_line.lines import read_lines
from command_line.option_classes import from_arguments
from command_line.outputs import atomic_path
from command_line.provenance import versions
from command_line.result_file import add_output_arguments, write_result
from data_prep.formats.texts import LANGUAGE, language_in_name
from embeddings.encoders.options import EncoderOptions, add_encoder_arguments
from embeddings.encoders.sentence_encoder import SentenceEncoder
from embeddings.search.bucc import Ranking, best_threshold, f1_score
from embeddings.search.margin import MARGINS
from embeddings.search.mining import SELECTIONS, Mining, mine, score_pairs
from embeddings.search.neighbours import add_search_arguments

KIND = "mining"
PAIRS = "pairs.tsv"


@dataclass(frozen=True)
class Job:
    """What is mined.

    Attributes:
        first, second: texts, a sentence per line; in BUCC's layout, `identifier<TAB>sentence`.
        identifiers: the texts are in that layout.
        gold: pairs of identifiers.
        threshold: the lowest score of a pair that is written; None for all, or with `gold` for the best.
        line_by_line: score line i with line i.
        dataset: name in tables; None for the names of the texts.
    """

    encoder: EncoderOptions
    first: Path
    second: Path
    source_language: str | None
    target_language: str | None
    identifiers: bool
    gold: Path | None
    threshold: float | None
    line_by_line: bool
    dataset: str | None
    mining: Mining

    @property
    def name(self) -> str:
        return self.dataset or f"{self.first.name}, {self.second.name}"


@dataclass(frozen=True)
class Side:
    """A text whose sentences are unique.

    Attributes:
        sentences: in the order of their first lines.
        rows: identifier (without them: line number, from 1, as text) -> its sentence's place.
        lines: number of the first line of each sentence, from 0.
    """

    path: Path
    sentences: list[str]
    rows: dict[str, int]
    lines: np.ndarray


def read_side(path: Path, identifiers: bool) -> Side:
    """One side of the text that is searched for pairs: its lines and their identifiers.

    Raises:
        InputError: no text, or with identifiers a line without one, or one that occurs twice.
    """
    places: dict[str, int] = {}
    rows: dict[str, int] = {}
    lines: list[int] = []
    for number, line in enumerate(read_lines(path), start=1):
        name, tab, sentence = line.partition("\t") if identifiers else (str(number), "\t", line)
        if not tab or not name:
            raise InputError(f"{at(path, number)}: no tab; expected identifier<TAB>sentence")
        if name in rows:
            raise InputError(f"{at(path, number)}: the identifier {name!r:.50} occurs twice")
        rows[name] = places.setdefault(sentence, len(places))
        if rows[name] == len(lines):
            lines.append(number - 1)
    if not places:
        raise InputError(f"{path}: is empty, expected a sentence per line")
    return Side(path, list(places), rows, np.array(lines))


def read_gold(path: Path, first: Side, second: Side) -> set[tuple[int, int]]:
    """Pairs of places of `identifier<TAB>identifier` lines.

    Raises:
        InputError: a line is something else, or has an identifier that no sentence has.
    """
    gold = set()
    for number, line in enumerate(read_lines(path), start=1):
        names = line.split("\t")
        if len(names) != 2:
            raise InputError(f"{at(path, number)}: {len(names)} fields, expected identifier<TAB>identifier")
        for name, side in zip(names, (first, second), strict=True):
            if name not in side.rows:
                raise InputError(f"{at(path, number)}: {name!r:.50} is no identifier of {side.path}")
        gold.add((first.rows[names[0]], second.rows[names[1]]))
    if not gold:
        raise InputError(f"{path}: is empty, expected pairs of identifiers")
    return gold


def add_arguments(parser) -> None:
    parser.add_argument("first", type=types.path, metavar="FIRST", help="text, a sentence per line")
    parser.add_argument("second", type=types.path, metavar="SECOND", help="text in the other language")
    add_encoder_arguments(parser)
    parser.add_argument(
        "--source-language", type=LANGUAGE, metavar="LANG", help="of FIRST (default: what its name ends with)"
    )
    parser.add_argument("--target-language", type=LANGUAGE, metavar="LANG", help="of SECOND, likewise")
    parser.add_argument(
        "--identifiers", action="store_true", help="lines are identifier<TAB>sentence, as those of BUCC"
    )
    parser.add_argument(
        "--gold", type=types.path, metavar="FILE", help="lines identifier<TAB>identifier; reports F1"
    )
    parser.add_argument(
        "--threshold",
        type=types.number(-1e6, 1e6),
        help="lowest score of a pair (default: none; with --gold the one of the best F1; for a test part give"
        " that of the training part, 2.4.3)",
    )
    parser.add_argument(
        "--line-by-line", action="store_true", help="the texts are parallel: score every line, mine none"
    )
    parser.add_argument("--dataset", type=types.text, help="name in tables (default: names of the texts)")
    add_mining_arguments(parser)
    add_output_arguments(parser, KIND, f" and {PAIRS}")


def add_mining_arguments(parser) -> None:
    """The options of `Mining`."""
    parser.add_argument("--margin", choices=list(MARGINS), default="ratio", help="of the paper's equations")
    parser.add_argument("--neighbours", type=types.positive, default=4, help="k of the paper")
    parser.add_argument(
        "--selection",
        choices=SELECTIONS,
        default="max",
        help="the best pair of every sentence of the first text (forward) or the second (backward), those"
        " that are both (intersection), or the best of both, no sentence twice (max)",
    )
    add_search_arguments(parser)


def main(args) -> None:
    job = from_arguments(Job, args)
    if job.line_by_line and (job.gold or job.identifiers):
        raise InputError("--line-by-line: scores given pairs; expected no --gold and no --identifiers")
    if job.gold and not job.identifiers:
        raise InputError("--gold: pairs of identifiers; expected --identifiers with it")
    inputs = [job.first, job.second, *([job.gold] if job.gold else []), *job.encoder.files()]
    pairs = args.output / PAIRS
    write_result(
        "embeddings",
        KIND,
        job,
        inputs,
        lambda: measure(job, pairs),
        args.output,
        args.force,
        beside=lambda file, record: [pairs],
    )


def measure(job: Job, output: Path) -> dict:
    """Mine or score, write the pairs, and describe them."""
    encoder = job.encoder.load()
    found = (score_lines if job.line_by_line else mine_texts)(job, encoder, output)
    run = {
        "system": encoder.system,
        "dataset": job.name,
        "margin": job.mining.margin,
        "neighbours": job.mining.neighbours,
        **found,
    }
    return {
        "encoder": encoder.record(),
        "runs": [run],
        "versions": versions("torch", "numpy", "faiss-cpu"),
    }


def languages(job: Job) -> tuple[str | None, str | None]:
    return (
        job.source_language or language_in_name(job.first),
        job.target_language or language_in_name(job.second),
    )


def mine_texts(job: Job, encoder: SentenceEncoder, output: Path) -> dict:
    """Pairs of two monolingual texts, and their F1 where gold pairs are known."""
    sides = [read_side(path, job.identifiers) for path in (job.first, job.second)]
    gold = read_gold(job.gold, *sides) if job.gold else None
    vectors = [
        encoder.encode(side.sentences, language)
        if job.identifiers  # vectors of the file would be of its lines, identifiers included
        else encoder.encode_lines(side.path, side.lines, side.sentences, language)
        for side, language in zip(sides, languages(job), strict=True)
    ]
    mined = mine(*vectors, job.mining)
    pairs = list(zip(mined.first.tolist(), mined.second.tolist(), strict=True))
    threshold = job.threshold
    if threshold is None and gold is not None:
        threshold = best_threshold(Ranking(mined.scores, pairs, gold))
    kept = pairs[: int((mined.scores >= threshold).sum())] if threshold is not None else pairs
    write_pairs(output, mined.scores, [(sides[0].sentences[i], sides[1].sentences[j]) for i, j in kept])
    return {
        "selection": job.mining.selection,
        "sentences": [len(side.sentences) for side in sides],
        "lines": [len(side.rows) for side in sides],
        "pairs": len(kept),
        "threshold": threshold if threshold is not None and np.isfinite(threshold) else None,
        "without_neighbourhood": mined.without_neighbourhood,
        "bucc": None
        if gold is None
        else scored(kept, gold, "this text" if job.threshold is None else "given"),
    }


def scored(pairs, gold, threshold_from: str) -> dict:
    """Precision, recall and F1 of the pairs that reach a threshold, and where that is from."""
    found = f1_score(pairs, gold)
    return {
        "gold_pairs": len(gold),
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
        "threshold_from": threshold_from,
    }


def score_lines(job: Job, encoder: SentenceEncoder, output: Path) -> dict:
    """The margin of every line of a parallel text; written are those that reach the threshold."""
    texts = [list(read_lines(path)) for path in (job.first, job.second)]
    if len(texts[0]) != len(texts[1]) or not texts[0]:
        raise InputError(
            f"{job.second}: {len(texts[1])} lines, but {job.first} has {len(texts[0])}; expected as many,"
            " line by line"
        )
    vectors = [
        encoder.encode_lines(path, np.arange(len(lines)), lines, language)
        for path, lines, language in zip((job.first, job.second), texts, languages(job), strict=True)
    ]
    scores = score_pairs(*vectors, job.mining)
    kept = scores >= job.threshold if job.threshold is not None else np.ones(len(scores), dtype=bool)
    rows = np.flatnonzero(kept)
    write_pairs(output, scores[rows], [(texts[0][row], texts[1][row]) for row in rows])
    return {"lines": [len(lines) for lines in texts], "pairs": len(rows), "threshold": job.threshold}


def write_pairs(output: Path, scores: np.ndarray, pairs: list[tuple[str, str]]) -> None:
    """Lines `score<TAB>sentence<TAB>sentence`, the best first; tabs within sentences become spaces."""
    with atomic_path(output) as temporary, open(temporary, "w", encoding="utf-8") as file:
        for score, sentences in zip(
            scores, pairs, strict=False
        ):  # scores of pairs below the threshold follow
            file.write("\t".join([f"{score:.6f}", *(each.replace("\t", " ") for each in sentences)]) + "\n")
