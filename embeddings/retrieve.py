"""Sentence retrieval: how often a sentence's nearest neighbour in the other language is its translation.

P@1 of both directions for every pair of languages, by cosine (thesis 2.4.1, 2.4.2), and by margin (2.4.4):
the error rate with the margin `ratio` and 4 neighbours is LASER's xsim. With --distractors, sentences that
differ from a right one in a detail, it is xsim++ (Chen et al. 2023).

`bert-score` compares the states of tokens (Niu et al. 2022, 2.2). With --normalize, cosine and bert-score are
measured as they are and without the popular sentence effect, as cosine-normalized and bert-score-normalized.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean

import numpy as np

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from command_line.progress import progress
from command_line.provenance import versions
from command_line.result_file import add_output_arguments, write_result
from data_prep.formats.texts import LANGUAGE
from data_prep.formats.vectors import VectorsFile
from embeddings.distractors import Distractors, files_of, read_distractors
from embeddings.encoders.options import EncoderOptions, add_encoder_arguments
from embeddings.encoders.sentence_encoder import SentenceEncoder, TokenVectors
from embeddings.groups import average_by_group, groups_file, is_among, read_groups
from embeddings.search.blocks import in_memory, some_of
from embeddings.search.neighbours import Search, add_search_arguments
from embeddings.search.retrieval import COSINE, SIMILARITIES, Neighbourhoods, packed, precision
from embeddings.search.sentence_scores import (
    BERT_SCORE,
    NORMALIZED,
    bert_scores,
    check_size,
    cosines,
    without_popularity,
)
from embeddings.smaller_vectors import SmallerVectors, add_smaller_vectors_arguments
from embeddings.test_sets import ParallelFiles, all_pairs, by_language, flores, read_sides, tatoeba

KIND = "sentence-retrieval"
KEPT_STATES = 1 << 30  # bytes
VERSION = 2  # of what is measured: which queries were hits, too


@dataclass(frozen=True)
class Retrieval:
    """What is retrieved, and how.

    Attributes:
        tatoeba, flores, parallel: where the test set is; one of them.
        split: of Flores.
        dataset: name of the test set in tables; None for one that fits.
        pivot: the language that is in every pair; None for all pairs.
        languages: only these, and the pivot; None for all.
        similarity: how the nearest is chosen, some of SIMILARITIES.
        normalize: strength alpha of the normalization of cosine and bert-score; None for none.
        normalize_batch: sentences of a side over which it takes its means; None for all.
        without_specials: special tokens do not count in bert-score.
        neighbours: k of the margins.
        queries: of each direction, drawn with `seed`; None for all lines. Candidates are all lines.
        distractors: file with further candidates in one language.
        groups: file (or name of ours) with groups of languages, over which results are averaged.
        smaller: smaller vectors whose P@1 is measured as well.
        search: how neighbours are found.
    """

    encoder: EncoderOptions
    tatoeba: Path | None
    flores: Path | None
    parallel: list[Path] | None
    split: str
    dataset: str | None
    pivot: str | None
    languages: list[str] | None
    similarity: list[str]
    normalize: float | None
    normalize_batch: int | None
    without_specials: bool
    neighbours: int
    queries: int | None
    seed: int
    distractors: Path | None
    groups: Path | None
    smaller: SmallerVectors
    search: Search

    def check(self) -> None:
        """Refuse options that do not fit each other.

        Raises:
            InputError: distractors, which no pair of whole texts has, for scores of whole texts.
        """
        if self.distractors and self.scored:
            raise InputError(
                f"--distractors: not with --normalize or --similarity {BERT_SCORE}; measure them alone"
            )

    @property
    def scored(self) -> list[str]:
        """The similarities of which all scores of two texts are needed."""
        plain = [name for name in self.similarity if name == BERT_SCORE]
        normalizable = [name for name in self.similarity if name in (COSINE, BERT_SCORE)]
        return plain + [f"{name}{NORMALIZED}" for name in normalizable if self.normalize is not None]

    @property
    def near(self) -> list[str]:
        """The similarities for which the nearest neighbours suffice."""
        return [name for name in self.similarity if name != BERT_SCORE]

    @property
    def name(self) -> str:
        if self.dataset:
            return self.dataset
        return "Tatoeba" if self.tatoeba else f"Flores {self.split}" if self.flores else "parallel text"

    def pairs(self) -> list[ParallelFiles]:
        """The pairs of the test set that are asked for.

        Raises:
            InputError: there are none, or a language is not in the set.
        """
        if self.tatoeba:
            pairs = tatoeba(self.tatoeba)
        else:
            files = flores(self.flores, self.split) if self.flores else by_language(self.parallel)
            pairs = all_pairs(files, self.pivot)
        if self.languages is None:
            return pairs
        there = {language for pair in pairs for language in pair.languages}
        for language in self.languages:
            if not any(is_among(each, [language]) for each in there):
                raise InputError(
                    f"--languages {language}: not in {self.name}; there are {', '.join(sorted(there))}"
                )
        common = {self.pivot} if self.pivot else set.intersection(*(set(pair.languages) for pair in pairs))
        return [
            pair
            for pair in pairs
            if all(each in common or is_among(each, self.languages) for each in pair.languages)
        ]


def add_arguments(parser) -> None:
    texts = parser.add_mutually_exclusive_group(required=True)
    texts.add_argument(
        "--tatoeba", type=types.path, metavar="DIR", help="LASER's layout: tatoeba.XXX-eng.XXX"
    )
    texts.add_argument(
        "--flores", type=types.path, metavar="DIR", help="layout of Flores-200: SPLIT/CODE.SPLIT"
    )
    texts.add_argument(
        "--parallel",
        nargs="+",
        type=types.path,
        metavar="FILE",
        help="line-parallel files, one per language, which ends their names: test.de test.en test.fr",
    )
    add_encoder_arguments(parser)
    parser.add_argument("--split", type=types.split, default="devtest", help="of Flores")
    parser.add_argument(
        "--dataset", type=types.text, help="name of the test set in tables (default: Tatoeba, Flores, …)"
    )
    parser.add_argument(
        "--pivot", type=LANGUAGE, metavar="LANG", help="only pairs with this language (default: all pairs)"
    )
    parser.add_argument(
        "--languages", type=types.items(LANGUAGE), metavar="LANG,…", help="only these (default: all)"
    )
    parser.add_argument(
        "--similarity",
        type=types.items(types.one_of((*SIMILARITIES, BERT_SCORE))),
        default=[COSINE, "ratio"],
        help=f"how the nearest sentence is chosen, some of: {', '.join((*SIMILARITIES, BERT_SCORE))}",
    )
    parser.add_argument(
        "--normalize",
        type=types.number(0, 1),
        metavar="ALPHA",
        help="measure cosine and bert-score also without the popular sentence effect, with this strength"
        " (OneAligner 2.2: 0.75)",
    )
    parser.add_argument(
        "--normalize-batch",
        type=types.positive,
        metavar="N",
        help="of means over so many sentences a side (OneAligner 3.2: 256; default: all)",
    )
    parser.add_argument(
        "--without-specials", action="store_true", help="special tokens do not count in bert-score"
    )
    parser.add_argument(
        "--neighbours", type=types.positive, default=4, help="of a sentence, for margins (xsim: 4)"
    )
    parser.add_argument(
        "--queries",
        type=types.positive,
        help="lines that are queries, drawn at random; candidates are all (2.4.4: 2000 among 200,000)",
    )
    parser.add_argument("--seed", type=types.whole_number(0), default=1, help="of the draw of --queries")
    parser.add_argument(
        "--distractors",
        type=types.path,
        metavar="FILE",
        help="further candidates, a sentence per line, in the language that the name ends with, or"
        " eng_Latn_augmented.devtest (or _errtype.devtest.json) of LASER (xsim++)",
    )
    parser.add_argument(
        "--groups",
        type=types.path,
        metavar="FILE.toml",
        help="groups of languages for averages, NAME = ['de', 'fr'] per line; ems: Tables 2.5 and 2.7",
    )
    add_smaller_vectors_arguments(parser)
    add_search_arguments(parser)
    add_output_arguments(parser, KIND)


def main(args) -> None:
    job = from_arguments(Retrieval, args)
    job.check()
    pairs = job.pairs()
    files = {path for pair in pairs for path in pair.paths}
    groups = [groups_file(job.groups)] if job.groups else []
    inputs = [*sorted(files), *files_of(job.distractors), *groups, *job.encoder.files()]
    write_result(
        "embeddings", KIND, job, inputs, partial(measure, job, pairs), args.output, args.force, VERSION
    )


def measure(job: Retrieval, pairs: list[ParallelFiles]) -> dict:
    """One run: P@1 of every direction, averages of all pairs and of groups."""
    groups = read_groups(groups_file(job.groups)) if job.groups else {}
    encoder = job.encoder.load()
    sides = Sides(encoder, read_distractors(job.distractors))
    directions: dict[str, dict] = {}
    for pair in progress(pairs, len(pairs), "retrieve", "pair"):
        directions |= of_pair(job, sides, pair)
    smaller = job.smaller.measure(encoder.width, partial(vectors_of_directions, job, sides, pairs))
    run = {
        "system": encoder.system,
        "dataset": job.name,
        "directions": directions,
        **averages(directions, [*job.near, *job.scored], groups),
        "size": {"width": encoder.width, "parameters": encoder.parameters},
        "smaller": smaller,
    }
    return {
        "encoder": encoder.record(),
        "neighbours": job.neighbours,
        "normalization": {"strength": job.normalize, "batch": job.normalize_batch},
        "distractors": sides.distractors.record(),
        "runs": [run],
        "versions": versions("torch", "numpy", "faiss-cpu"),
    }


class Sides:
    """The texts of a test set and their vectors; a file that is in many pairs is encoded once."""

    def __init__(self, encoder: SentenceEncoder, distractors: Distractors):
        self.encoder, self.distractors = encoder, distractors
        self._known: dict[Path, np.ndarray | VectorsFile] = {}
        self._tokens: dict[Path, TokenVectors] = {}
        self._further = distractors.language and encoder.encode(distractors.sentences, distractors.language)

    def vectors(self, path: Path, lines: list[str], language: str) -> np.ndarray | VectorsFile:
        """n x C."""
        if path not in self._known:
            self._known[path] = self.encoder.encode_lines(path, np.arange(len(lines)), lines, language)
        return self._known[path]

    def tokens(self, path: Path, lines: list[str], language: str) -> TokenVectors:
        """The states of the tokens of a text; of the last few texts they are kept."""
        if path not in self._tokens:
            while self._tokens and sum(each.bytes for each in self._tokens.values()) > KEPT_STATES:
                self._tokens.pop(next(iter(self._tokens)))
            self._tokens[path] = self.encoder.encode_tokens(lines, language)
        return self._tokens[path]

    def candidates(self, path: Path, lines: list[str], language: str):
        """The sentences that can be found and their vectors: those of the file, and distractors."""
        vectors = self.vectors(path, lines, language)
        if not self.distractors.of(language).sentences:
            return vectors, lines
        return np.concatenate([in_memory(vectors), self._further]), lines + self.distractors.sentences


def of_pair(job: Retrieval, sides: Sides, pair: ParallelFiles) -> dict:
    """Both directions of a pair."""
    texts = read_sides(pair)
    arguments = list(zip(pair.paths, texts, pair.languages, strict=True))
    scores = score(job, sides, *arguments) if job.scored else {}
    found = {}
    for place, (queries, candidates) in enumerate((arguments, arguments[::-1])):
        name = f"{queries[2]}-{candidates[2]}"
        rows = _queries(job, len(queries[1]), seed=place)
        vectors, lines = sides.candidates(*candidates)
        further = sides.distractors.of(candidates[2])
        best = {name: (each.T if place else each)[rows].argmax(axis=1) for name, each in scores.items()}
        found[name] = {
            "queries": len(rows),
            "candidates": len(lines),
            "texts_sha256": _checksum([queries[1][row] for row in rows], lines),
            **_direction(job, some_of(sides.vectors(*queries), rows), vectors, lines, rows, further, best),
        }
    return found


def vectors_of_directions(job: Retrieval, sides: Sides, pairs: list[ParallelFiles]) -> Iterator[tuple]:
    """Queries, candidates, and the rows of the candidates that are right, of every direction."""
    for pair in pairs:
        arguments = list(zip(pair.paths, read_sides(pair), pair.languages, strict=True))
        for place, (queries, candidates) in enumerate((arguments, arguments[::-1])):
            rows = _queries(job, len(queries[1]), seed=place)
            found, _ = sides.candidates(*candidates)
            yield in_memory(some_of(sides.vectors(*queries), rows)), in_memory(found), rows


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
    found = dict(plain)
    if job.normalize is not None:
        if COSINE in job.similarity:
            plain[COSINE] = cosines(*(in_memory(sides.vectors(*side)) for side in (first, second)))
        for name, each in plain.items():
            found[f"{name}{NORMALIZED}"] = without_popularity(each, job.normalize, job.normalize_batch)
    return found


def _queries(job: Retrieval, lines: int, seed: int) -> np.ndarray:
    """Rows of those lines that are queries, in order."""
    if not job.queries or job.queries >= lines:
        return np.arange(lines)
    return np.sort(np.random.default_rng([job.seed, seed]).choice(lines, job.queries, replace=False))


def _direction(
    job: Retrieval,
    queries,
    candidates,
    texts: list[str],
    gold: np.ndarray,
    distractors: Distractors,
    best: dict[str, np.ndarray],
) -> dict:
    """By similarity: P@1, error and hits of queries, whose right answers are the rows `gold`.

    Args:
        best: similarity -> the candidates of the highest scores, for those that look at whole texts.
    """
    if job.near:
        near = Neighbourhoods.of(queries, candidates, job.neighbours, job.search)
        best = {name: near.retrieve(name) for name in job.near} | best
    measured = {}
    for similarity, rows in best.items():
        of = precision(rows, texts, gold)
        measured[similarity] = {
            "p_at_1": of.by_number,
            "p_at_1_by_text": of.by_text,
            "error": of.error,
            "hits": packed(of.hits),
        }
        if distractors.changes:
            right, found = ([texts[row] for row in each] for each in (gold, rows))
            measured[similarity]["errors_by_type"] = distractors.errors_by_type(found, right)
    return measured


def _checksum(*sides: list[str]) -> str:
    """Of the sentences of a direction: what can be compared with what."""
    digest = hashlib.sha256()
    for lines in sides:
        digest.update("\n".join([*lines, ""]).encode() + b"\0")
    return digest.hexdigest()


def averages(directions: dict, similarities: list[str], groups: dict[str, list[str]]) -> dict:
    """Means of P@1, by similarity: of all pairs of languages ("average"), and of groups ("groups").

    Of a pair, both directions are averaged first, as in Table 2.4.
    """
    pairs: dict[str, list[dict]] = {}
    for name, found in directions.items():
        pairs.setdefault("-".join(sorted(name.split("-"))), []).append(found)
    values = {
        similarity: {name: fmean(each[similarity]["p_at_1"] for each in both) for name, both in pairs.items()}
        for similarity in similarities
    }
    return {
        "average": {similarity: fmean(of.values()) for similarity, of in values.items()},
        "groups": {
            group: {similarity: average_by_group(of, members) for similarity, of in values.items()}
            for group, members in groups.items()
        },
    }
