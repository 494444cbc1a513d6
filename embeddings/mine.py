"""Bitext mining: pairs of translations in two texts, by the margin of their vectors.

Artetxe and Schwenk 2019 ("Margin-based Parallel Corpus Mining with Multilingual Sentence Embeddings"), thesis
2.4.3. Writes `pairs.tsv`, a line `score<TAB>sentence<TAB>sentence` per pair, the best first; a sentence that
occurs twice in a text is mined once. With --gold, pairs are scored as in the BUCC shared task. With
--line-by-line the texts are parallel already: every line gets the margin of its own pair, to filter by, and
lines stay in their order; a sentence that occurs in several lines counts once among neighbours.

Of large texts that are not compressed, lines are looked up in their files; with vectors that `embeddings
encode` has stored, memory is --memory and some bytes per line.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.option_classes import from_arguments
from command_line.provenance import versions
from command_line.result_file import add_output_arguments, write_result
from data_prep.formats.texts import LANGUAGE, language_in_name
from embeddings.encoders.described import described_encoder
from embeddings.encoders.options import EncoderOptions, add_encoder_arguments
from embeddings.encoders.sentence_encoder import SentenceEncoder, of_text
from embeddings.mined_texts import PairLists, Side, pairs_of, read_gold, read_side
from embeddings.search.bucc import Ranking, best_threshold, f1_score
from embeddings.search.margin import MARGINS
from embeddings.search.mining import SELECTIONS, Mining, mine, reached, score_pairs
from embeddings.search.neighbours import add_search_arguments
from embeddings.search.rescoring import add_rescoring_arguments, states_of
from embeddings.search.texts import lines_at

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
        " that of the training part)",
    )
    parser.add_argument(
        "--line-by-line", action="store_true", help="the texts are parallel: score every line, mine none"
    )
    parser.add_argument("--dataset", type=types.text, help="name in tables (default: names of the texts)")
    add_mining_arguments(parser)
    add_output_arguments(parser, KIND, f" and {PAIRS}")


def add_mining_arguments(parser) -> None:
    """The options of `Mining`."""
    parser.add_argument(
        "--margin", choices=list(MARGINS), default=Mining.margin, help="of the paper's equations"
    )
    parser.add_argument("--neighbours", type=types.positive, default=Mining.neighbours, help="k of the paper")
    parser.add_argument(
        "--selection",
        choices=SELECTIONS,
        default=Mining.selection,
        help="the best pair of every sentence of the first text (forward) or the second (backward), those"
        " that are both (intersection), or the best of both, no sentence twice (max)",
    )
    add_rescoring_arguments(parser)
    add_search_arguments(parser)


def main(args) -> None:
    job = from_arguments(Job, args)
    if job.line_by_line and (job.gold or job.identifiers):
        raise InputError("--line-by-line: scores given pairs; expected no --gold and no --identifiers")
    if job.gold and not job.identifiers:
        raise InputError("--gold: pairs of identifiers; expected --identifiers with it")
    if job.line_by_line and job.mining.selection != Mining.selection:
        raise InputError("--line-by-line: scores given pairs; expected no --selection")
    if job.line_by_line and job.mining.rescoring.rescore:
        raise InputError("--line-by-line: scores given pairs by vectors; expected no --rescore")
    job.mining.rescoring.check(job.mining.margin)
    inputs = [job.first, job.second, *([job.gold] if job.gold else []), *job.encoder.files(args.output)]
    pairs = PairLists()
    write_result(
        "embeddings",
        KIND,
        job,
        inputs,
        lambda: measure(job, args.output / PAIRS, pairs),
        args.output,
        args.force,
        beside=lambda file, record: pairs.write(),
    )


def measure(job: Job, output: Path, pairs: PairLists) -> Measured:
    """Mine or score, keep the pairs, which belong in the file `output`, and count them."""
    encoder = job.encoder.load()
    rows = (score_lines if job.line_by_line else mine_texts)(job, encoder, output, pairs)
    run = {"dataset": job.name, **described(encoder, job.mining)}
    if job.gold:
        run["threshold_from"] = "this text" if job.threshold is None else "given"
    measured = Measured(about=about(encoder))
    measured.add(run, rows)
    return measured


def about(encoder: SentenceEncoder) -> dict:
    """What a result says of all its runs, when all is encoded."""
    return described_encoder(encoder) | {"versions": versions("torch", "numpy", "faiss-cpu")}


def described(encoder: SentenceEncoder, mining: Mining) -> dict:
    """What a run says of the encoder, and of how pairs were scored. By other scores than the ratio of cosines
    an encoder is another system, whose name says so.
    """
    how = asdict(mining.rescoring)
    ways = [how["rescore"] or f"margin {mining.margin}"]
    if how["normalize"] is not None:
        ways.append(f"alpha {how['normalize']:g}")
    name = encoder.system["name"]
    if ways != [f"margin {Mining.margin}"]:
        name += f" ({', '.join(ways)})"
    return {
        "system": encoder.system | {"name": name},
        "margin": mining.margin,
        "neighbours": mining.neighbours,
        "selection": mining.selection,
        **how,
    }


def counts(sides: list[Side], pairs: int, threshold: float | None, **others: float | None) -> list[dict]:
    """Rows of what was mined: lines and different sentences of both texts, and the pairs that are kept.

    Args:
        threshold: that they reach; infinite where no pair does.
        others: further numbers of the pairs, by their measures.
    """
    rows = [
        row
        for part, side in zip(("first", "second"), sides, strict=True)
        for row in numbers({"lines": len(side.text), "sentences": len(side.rows)}, part=part)
    ]
    if threshold is not None and not np.isfinite(threshold):
        threshold = None
    return rows + numbers({"pairs": pairs, "threshold": threshold, **others})


def languages(job: Job) -> tuple[str | None, str | None]:
    return (
        job.source_language or language_in_name(job.first),
        job.target_language or language_in_name(job.second),
    )


def mine_texts(job: Job, encoder: SentenceEncoder, output: Path, pairs: PairLists) -> list[dict]:
    """Rows of the pairs of two monolingual texts, and their F1 where gold pairs are known."""
    sides = [read_side(path, job.identifiers) for path in (job.first, job.second)]
    gold = read_gold(job.gold, *sides) if job.gold else None
    texts = [(side.sentences, language) for side, language in zip(sides, languages(job), strict=True)]
    with states_of(encoder, texts, job.mining.rescoring) as states:
        mined = mine(*vectors_of(job, encoder, sides), job.mining, states)
    threshold = job.threshold
    if threshold is None and gold is not None:
        threshold = best_threshold(Ranking(mined.scores, mined.pairs(), gold))
    kept = mined.reaching(threshold)
    pairs.add(output, mined.scores[:kept], pairs_of(sides, mined.first[:kept], mined.second[:kept]))
    scores = scored(mined.pairs(kept), gold)
    return counts(sides, kept, threshold, without_neighbourhood=mined.without_neighbourhood, **scores)


def vectors_of(job: Job, encoder: SentenceEncoder, sides: list[Side]) -> list:
    """Of the different sentences of both sides."""
    found = []
    options = ("--source-language", "--target-language")
    for side, language, option in zip(sides, languages(job), options, strict=True):
        with of_text(side.path, option):
            found.append(
                encoder.encode(side.sentences, language)
                if job.identifiers  # vectors of the file would be of its lines, identifiers included
                else encoder.encode_lines(side.path, side.rows, side.sentences, language)
            )
    return found


def scored(pairs, gold) -> dict[str, float]:
    """Precision, recall and F1 of the pairs that reach a threshold; nothing without gold pairs."""
    if gold is None:
        return {}
    found = f1_score(pairs, gold)
    return {
        "gold_pairs": len(gold),
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
    }


def score_lines(job: Job, encoder: SentenceEncoder, output: Path, pairs: PairLists) -> list[dict]:
    """Rows of the pairs of a parallel text that are kept: those whose margin, among the different sentences
    of both sides, reaches the threshold.
    """
    sides = [read_side(path, identifiers=False) for path in (job.first, job.second)]
    first, second = (side.text for side in sides)
    if len(first) != len(second):
        raise InputError(
            f"{job.second}: {len(second)} lines, but {job.first} has {len(first)}; expected as many,"
            " line by line"
        )
    places = tuple(side.places for side in sides)
    scores = score_pairs(*vectors_of(job, encoder, sides), job.mining, places)
    rows = np.flatnonzero(reached(scores, job.threshold))
    pairs.add(output, scores[rows], zip(lines_at(first, rows), lines_at(second, rows), strict=True))
    return counts(sides, len(rows), job.threshold)
