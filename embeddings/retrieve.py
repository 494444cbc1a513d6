"""Sentence retrieval: how often a sentence's nearest neighbour in the other language is its translation.

The command measures P@1 of both directions for every pair of languages, by cosine and by margin (thesis
2.4.1, 2.4.2, 2.4.4). With the margin `ratio` and 4 neighbours, the error rate is LASER's xsim. With
--distractors, which differ from a right sentence in a detail, it is xsim++ (Chen et al. 2023).

`bert-score` compares the states of tokens (Niu et al. 2022, 2.2). With --normalize, cosine-normalized and
bert-score-normalized leave out what a sentence scores with an average other one.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np

from command_line.measurements import Measured, numbers
from command_line.progress import progress
from command_line.provenance import versions
from command_line.result_file import write_result
from embeddings.averages import pair_of
from embeddings.distractors import Distractors, files_of, read_distractors
from embeddings.encoders.described import described_encoder
from embeddings.encoders.options import EncoderOptions
from embeddings.groups import groups_file, pairs_of_group, read_groups
from embeddings.retrieval_options import KIND, Retrieval
from embeddings.retrieval_sides import Sides, among, stored_candidates
from embeddings.search.blocks import in_memory, some_of
from embeddings.search.neighbours import EXACT, INVERTED, Search, nearest
from embeddings.search.retrieval import COSINE, Neighbourhoods, Precision, precision
from embeddings.search.sentence_scores import (
    BERT_SCORE,
    NORMALIZED,
    bert_scores,
    check_size,
    cosines,
    without_popularity,
)
from embeddings.search.texts import some_lines
from embeddings.test_sets import ParallelFiles, read_sides

SAMPLE = 500  # queries whose nearest candidate is looked for among all, where lists are searched


def main(job: Retrieval) -> None:
    job.check()
    pairs = job.pairs()
    files = {path for pair in pairs for path in pair.paths}
    groups = [groups_file(job.groups)] if job.groups else []
    stored = EncoderOptions(job.candidate_vectors).files(job.output) if job.candidate_vectors else []
    inputs = [*sorted(files), *files_of(job.distractors), *groups, *stored, *job.encoder.files(job.output)]
    write_result("embeddings", KIND, job, inputs, partial(measure, job, pairs), job.output, job.force)


@dataclass(frozen=True)
class Direction:
    """What was retrieved in a direction.

    Attributes:
        texts_sha256: of their sentences: what can be compared with what.
        precisions: similarity -> which queries were hits.
        errors: similarity -> type of an error of xsim++ -> how many there are.
        recall: of inverted lists; None where all candidates were compared.
    """

    queries: int
    candidates: int
    texts_sha256: str
    precisions: dict[str, Precision]
    errors: dict[str, dict[str, int]]
    recall: float | None

    def rows(self, name: str) -> list[dict]:
        """Its numbers; the part is the similarity."""
        counts = {"lines": self.queries, "candidates": self.candidates, "recall": self.recall}
        rows = numbers(counts, direction=name)
        for similarity, of in self.precisions.items():
            values = {"p_at_1": of.by_number, "p_at_1_by_text": of.by_text, "error": of.error}
            values |= {f"errors_{type_}": count for type_, count in self.errors.get(similarity, {}).items()}
            rows += numbers(values, direction=name, part=similarity)
        return rows


def measure(job: Retrieval, pairs: list[ParallelFiles]) -> Measured:
    """One run: P@1 of every direction."""
    groups = read_groups(groups_file(job.groups)) if job.groups else {}
    encoder = job.encoder.load()
    stored = stored_candidates(job, encoder)
    distractors = read_distractors(job.distractors).among(
        language for pair in pairs for language in pair.languages
    )
    sides = Sides(encoder, distractors, stored)
    # Refuses what cannot be made now, and not after hours of searching.
    job.smaller.compressions(encoder.numbers, sides.candidate_encoder.numbers)
    directions: dict[str, Direction] = {}
    for pair in progress(pairs, len(pairs), "retrieve", "pair"):
        directions |= of_pair(job, sides, pair)
    smaller = job.smaller.measure(
        encoder.numbers, sides.candidate_encoder.numbers, partial(vectors_of_directions, job, sides, pairs)
    )
    names = list(dict.fromkeys(map(pair_of, directions)))
    run = {
        "system": encoder.system if stored is None else among(encoder.system, stored),
        "dataset": job.name,
        "texts": {name: direction.texts_sha256 for name, direction in directions.items()},
        "groups": {group: pairs_of_group(names, members) for group, members in groups.items()},
    }
    measured = Measured(
        about={
            **described_encoder(encoder, *([stored] if stored else [])),
            "neighbours": job.neighbours,
            "normalization": {"strength": job.normalize, "batch": job.normalize_batch},
            "without_specials": job.without_specials,
            "distractors": sides.distractors.record(),
            "versions": versions("torch", "numpy", "faiss-cpu"),
        },
        arrays={
            f"{similarity}/{name}": of.hits
            for name, direction in directions.items()
            for similarity, of in direction.precisions.items()
        },
    )
    rows = [row for name, direction in directions.items() for row in direction.rows(name)]
    measured.add(run, rows + numbers({"width": encoder.width, **asdict(encoder.size)}) + smaller)
    return measured


def of_pair(job: Retrieval, sides: Sides, pair: ParallelFiles) -> dict[str, Direction]:
    """Both directions of a pair."""
    texts = read_sides(pair)
    arguments = list(zip(pair.paths, texts, pair.languages, strict=True))
    scores = score(job, sides, *arguments) if job.scored else {}
    measured, near = {}, None
    for place, (queries, candidates) in enumerate((arguments, arguments[::-1])):
        name = f"{queries[2]}-{candidates[2]}"
        rows = _queries(job, len(queries[1]), seed=place)
        vectors, lines = sides.candidates(*candidates)
        further = sides.distractors.of(candidates[2])
        chosen = some_of(sides.vectors(*queries), rows)
        if job.near and job.near != [COSINE]:  # for which neighbourhoods of candidates do not matter
            turned = near is not None and sides.are_each_others_candidates and not job.queries
            near = (
                near.reversed() if turned else Neighbourhoods.of(chosen, vectors, job.neighbours, job.search)
            )
        best = {name: (each.T if place else each)[rows].argmax(axis=1) for name, each in scores.items()}
        checksum = _checksum(some_lines(queries[1], rows), lines)
        measured[name] = _direction(job, checksum, chosen, vectors, lines, rows, further, near, best)
    return measured


def vectors_of_directions(job: Retrieval, sides: Sides, pairs: list[ParallelFiles]) -> Iterator[tuple]:
    """Queries, candidates, and the rows of the candidates that are right, of every direction."""
    for pair in pairs:
        arguments = list(zip(pair.paths, read_sides(pair), pair.languages, strict=True))
        for place, (queries, candidates) in enumerate((arguments, arguments[::-1])):
            rows = _queries(job, len(queries[1]), seed=place)
            vectors, _ = sides.candidates(*candidates)
            yield some_of(sides.vectors(*queries), rows), vectors, rows


def score(job: Retrieval, sides: Sides, first: tuple, second: tuple) -> dict[str, np.ndarray]:
    """Similarity -> all scores of the sentences of two texts, M x N.

    Args:
        first, second: path, lines and language.
    """
    check_size(len(first[1]), len(second[1]))
    plain = {}
    if BERT_SCORE in job.similarity:
        plain[BERT_SCORE] = bert_scores(
            *(sides.tokens(*side) for side in (first, second)), job.without_specials
        )
    scores = dict(plain)
    if job.normalize is not None:
        if COSINE in job.similarity:
            plain[COSINE] = cosines(*(in_memory(sides.vectors(*side)) for side in (first, second)))
        for name, each in plain.items():
            scores[f"{name}{NORMALIZED}"] = without_popularity(each, job.normalize, job.normalize_batch)
    return scores


def _queries(job: Retrieval, lines: int, seed: int) -> np.ndarray:
    """Rows of those lines that are queries, in order."""
    if not job.queries or job.queries >= lines:
        return np.arange(lines)
    return np.sort(np.random.default_rng([job.seed, seed]).choice(lines, job.queries, replace=False))


def _direction(
    job: Retrieval,
    texts_sha256: str,
    queries,
    candidates,
    texts: Sequence[str],
    gold: np.ndarray,
    distractors: Distractors,
    near: Neighbourhoods | None,
    best: dict[str, np.ndarray],
) -> Direction:
    """The hits of queries by each similarity; the right answers are the rows `gold`.

    Args:
        near: of queries and candidates; None where cosine alone is asked for, or nothing that needs them.
        best: similarity -> the candidates of the highest scores, for those that look at whole texts.
    """
    if near is not None:
        best = {name: near.retrieve(name) for name in job.near} | best
    elif job.near:
        best = {COSINE: nearest(queries, candidates, 1, job.search).rows[:, 0]} | best
    searched = job.search.index == INVERTED and COSINE in best
    errors = {}
    for similarity, rows in best.items() if distractors.changes else ():
        right, retrieved = ([texts[row] for row in each] for each in (gold, rows))
        errors[similarity] = distractors.errors_by_type(retrieved, right)
    return Direction(
        len(gold),
        len(texts),
        texts_sha256,
        {similarity: precision(rows, texts, gold) for similarity, rows in best.items()},
        errors,
        recall(best[COSINE], queries, candidates, job.search) if searched else None,
    )


def recall(retrieved: np.ndarray, queries, candidates, search: Search) -> float:
    """The share of a sample of queries whose nearest candidate of all is the one that the lists have given.

    Args:
        retrieved: rows of the candidates, one of every query.
    """
    sample = np.random.default_rng(1).choice(len(queries), min(SAMPLE, len(queries)), replace=False)
    sample = np.sort(sample)
    exact = nearest(some_of(queries, sample), candidates, 1, replace(search, index=EXACT)).rows[:, 0]
    return float((retrieved[sample] == exact).mean())


def _checksum(*sides: Sequence[str]) -> str:
    """The checksum of the sentences of a direction: results with the same one can be compared."""
    digest = hashlib.sha256()
    for lines in sides:
        for line in lines:
            digest.update(f"{line}\n".encode())
        digest.update(b"\0")
    return digest.hexdigest()
