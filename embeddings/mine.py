"""Bitext mining: pairs of translations in two texts, by the margin of their vectors.

The method is that of Artetxe and Schwenk 2019 ("Margin-based Parallel Corpus Mining with Multilingual
Sentence Embeddings"), thesis 2.4.3. `pairs.tsv` has a line `score<TAB>sentence<TAB>sentence` per pair, the
best first. A sentence that occurs twice in a text is mined once. With --gold, pairs are scored as in the BUCC
shared task. With --line-by-line, the texts are parallel already: every line gets the margin of its own pair,
and lines stay in their order.

Lines of large uncompressed texts are looked up in their files. With vectors that `embeddings encode` has
stored, memory is --memory and some bytes per line.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from command_line.option_classes import force_switch, option, output_folder, positional, switch
from command_line.provenance import versions
from command_line.result_file import write_result
from data_prep.formats.texts import LANGUAGE, language_in_name
from embeddings.encoders.described import described_encoder
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder, of_text
from embeddings.mined_texts import PairLists, Side, pairs_of, read_gold, read_side
from embeddings.search.bucc import Ranking, best_threshold, f1_score
from embeddings.search.mining import Mining, mine, reached, score_pairs
from embeddings.search.rescoring import states_of
from embeddings.search.texts import lines_at

KIND = "mining"
PAIRS = "pairs.tsv"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is mined."""

    first: Path = positional("text, a sentence per line", metavar="FIRST")
    second: Path = positional("text in the other language", metavar="SECOND")
    encoder: EncoderOptions
    source_language: str | None = option(
        "of FIRST (default: what its name ends with)", type=LANGUAGE, metavar="LANG"
    )
    target_language: str | None = option("of SECOND, likewise", type=LANGUAGE, metavar="LANG")
    identifiers: bool = switch("lines are identifier<TAB>sentence, as those of BUCC")
    gold: Path | None = option("lines identifier<TAB>identifier; reports F1", metavar="FILE")
    threshold: float | None = option(
        "lowest score of a pair (default: none; with --gold the one of the best F1; for a test part give"
        " that of the training part)",
        type=types.number(-1e6, 1e6),
    )
    line_by_line: bool = switch("the texts are parallel: score every line, mine none")
    dataset: str | None = option("name in tables (default: names of the texts)")
    mining: Mining
    output: Path = output_folder(f"{KIND}.json and {PAIRS}")
    force: bool = force_switch()

    @property
    def name(self) -> str:
        return self.dataset or f"{self.first.name}, {self.second.name}"


def main(job: Job) -> None:
    if job.line_by_line and (job.gold or job.identifiers):
        raise InputError("--line-by-line: scores given pairs; expected no --gold and no --identifiers")
    if job.gold and not job.identifiers:
        raise InputError("--gold: pairs of identifiers; expected --identifiers with it")
    if job.line_by_line and job.mining.selection != Mining.selection:
        raise InputError("--line-by-line: scores given pairs; expected no --selection")
    if job.line_by_line and job.mining.rescoring.rescore:
        raise InputError("--line-by-line: scores given pairs by vectors; expected no --rescore")
    job.mining.rescoring.check(job.mining.margin)
    inputs = [job.first, job.second, *([job.gold] if job.gold else []), *job.encoder.files(job.output)]
    pairs = PairLists()
    write_result(
        "embeddings",
        KIND,
        job,
        inputs,
        lambda: measure(job, job.output / PAIRS, pairs),
        job.output,
        job.force,
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
    """The vectors of the different sentences of both sides."""
    vectors = []
    names = ("--source-language", "--target-language")
    for side, language, name in zip(sides, languages(job), names, strict=True):
        with of_text(side.path, name):
            vectors.append(
                encoder.encode(side.sentences, language)
                if job.identifiers  # vectors of the file would be of its lines, identifiers included
                else encoder.encode_lines(side.path, side.rows, side.sentences, language)
            )
    return vectors


def scored(pairs, gold) -> dict[str, float]:
    """Precision, recall and F1 of the pairs that reach a threshold; nothing without gold pairs."""
    if gold is None:
        return {}
    score = f1_score(pairs, gold)
    return {
        "gold_pairs": len(gold),
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
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
