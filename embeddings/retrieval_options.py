"""What `python -m embeddings retrieve` retrieves, and how."""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from data_prep.formats.texts import LANGUAGE
from data_prep.languages import usual_names
from embeddings.encoders.options import EncoderOptions, add_encoder_arguments
from embeddings.search.neighbours import Search, add_search_arguments
from embeddings.search.retrieval import COSINE, SIMILARITIES
from embeddings.search.sentence_scores import (
    BERT_SCORE,
    NORMALIZABLE,
    NORMALIZED,
)
from embeddings.smaller_vectors import SmallerVectors, add_smaller_vectors_arguments
from embeddings.test_sets import ParallelFiles, all_pairs, by_language, flores, tatoeba, united_nations


@dataclass(frozen=True)
class Retrieval:
    """What is retrieved, and how.

    Attributes:
        tatoeba, flores, un, parallel: where the test set is; one of them.
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
        candidate_vectors: folder with the candidates' vectors, of the same encoder; None to make them.
        smaller: smaller vectors whose P@1 is measured as well.
        search: how neighbours are found.
    """

    encoder: EncoderOptions
    tatoeba: Path | None
    flores: Path | None
    un: Path | None
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
    candidate_vectors: Path | None
    smaller: SmallerVectors
    search: Search

    def check(self) -> None:
        """Refuse options that do not fit each other.

        Raises:
            InputError: distractors, which no pair of whole texts has, or candidates of other numbers than
                queries, for scores of whole texts; an option of scores that are not measured.
        """
        self._check_scores()
        if self.candidate_vectors and self.scored:
            raise InputError(
                f"--candidate-vectors: not with --normalize or --similarity {BERT_SCORE}; measure them alone"
            )
        if self.distractors and self.scored:
            raise InputError(
                f"--distractors: not with --normalize or --similarity {BERT_SCORE}; measure them alone"
            )

    def _check_scores(self) -> None:
        named = ",".join(self.similarity)
        if self.normalize_batch is not None and self.normalize is None:
            raise InputError("--normalize-batch: of --normalize, which is not given; give both")
        if self.normalize is not None and not self.scored:
            raise InputError(f"--normalize: of {COSINE} and {BERT_SCORE}; --similarity has only {named}")
        if self.without_specials and BERT_SCORE not in self.similarity:
            raise InputError(f"--without-specials: of {BERT_SCORE}; --similarity has only {named}")

    @property
    def scored(self) -> list[str]:
        """The similarities of which all scores of two texts are needed."""
        plain = [name for name in self.similarity if name == BERT_SCORE]
        normalizable = [name for name in self.similarity if name in NORMALIZABLE]
        return plain + [f"{name}{NORMALIZED}" for name in normalizable if self.normalize is not None]

    @property
    def near(self) -> list[str]:
        """The similarities for which the nearest neighbours suffice."""
        return [name for name in self.similarity if name != BERT_SCORE]

    @property
    def name(self) -> str:
        if self.dataset:
            return self.dataset
        if self.flores:
            return f"Flores {self.split}"
        return "Tatoeba" if self.tatoeba else "UN" if self.un else "parallel text"

    def pairs(self) -> list[ParallelFiles]:
        """The pairs of the test set that are asked for.

        Raises:
            InputError: there are none, or a language is not in the set.
        """
        if self.tatoeba or self.un:
            if self.pivot:
                raise InputError(f"--pivot {self.pivot}: pairs of {self.name} are with English; leave it out")
            pairs = tatoeba(self.tatoeba) if self.tatoeba else united_nations(self.un)
        else:
            files = flores(self.flores, self.split) if self.flores else by_language(self.parallel)
            pairs = all_pairs(files, self.pivot)
        if self.languages is None:
            return pairs
        there = {language for pair in pairs for language in pair.languages}
        meant: set[str] = set()
        for language in self.languages:
            if not (found := usual_names(language, there)):
                raise InputError(
                    f"--languages {language}: not in {self.name}; there are {', '.join(sorted(there))}"
                )
            meant |= found
        common = {self.pivot} if self.pivot else set.intersection(*(set(pair.languages) for pair in pairs))
        chosen = [pair for pair in pairs if common | meant >= set(pair.languages)]
        if not chosen:
            raise InputError(
                f"--languages {','.join(self.languages)}: no pair of {self.name} is of these; expected two,"
                " or one beside the language of all pairs"
            )
        return chosen


def add_retrieval_arguments(parser) -> None:
    """The options of `Retrieval`."""
    texts = parser.add_mutually_exclusive_group(required=True)
    texts.add_argument(
        "--tatoeba", type=types.path, metavar="DIR", help="LASER's layout: tatoeba.XXX-eng.XXX"
    )
    texts.add_argument(
        "--flores", type=types.path, metavar="DIR", help="layout of Flores-200: SPLIT/CODE.SPLIT"
    )
    texts.add_argument(
        "--un",
        type=types.path,
        metavar="DIR",
        help="fully aligned UN Parallel Corpus, UNv1.0.6way.LANG: every language with English (3.2.1: with"
        " --languages es,fr,ru,zh); encode it first, and give these vectors as --model",
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
        help=f"how the nearest sentence is chosen, some of: {', '.join((*SIMILARITIES, BERT_SCORE))}"
        f" (default: {COSINE},ratio)",
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
    parser.add_argument(
        "--candidate-vectors",
        type=types.path,
        metavar="DIR",
        help="vectors that `embeddings encode` has stored of the test set by the same encoder, for example in"
        " binary: what is found; queries are encoded",
    )
    add_smaller_vectors_arguments(parser)
    add_search_arguments(parser)
