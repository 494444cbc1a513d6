"""What `python -m embeddings retrieve` retrieves, and how."""

from dataclasses import dataclass
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.option_classes import Alternatives, force_switch, option, output_folder, switch
from data_prep.formats.texts import LANGUAGE
from data_prep.languages import usual_names
from embeddings.encoders.options import EncoderOptions
from embeddings.search.neighbours import Search
from embeddings.search.retrieval import COSINE, SIMILARITIES
from embeddings.search.sentence_scores import (
    BERT_SCORE,
    NORMALIZABLE,
    NORMALIZED,
)
from embeddings.smaller_vectors import SmallerVectors
from embeddings.test_sets import ParallelFiles, all_pairs, by_language, flores, tatoeba, united_nations

KIND = "sentence-retrieval"
TEXTS = Alternatives("texts", required=True)


@dataclass(frozen=True, kw_only=True)
class Retrieval:
    """What is retrieved, and how."""

    tatoeba: Path | None = option("folder in LASER's layout: tatoeba.XXX-eng.XXX", among=TEXTS, metavar="DIR")
    flores: Path | None = option(
        "folder in Flores-200's layout: SPLIT/CODE.SPLIT", among=TEXTS, metavar="DIR"
    )
    un: Path | None = option(
        "fully aligned UN Parallel Corpus, UNv1.0.6way.LANG: every language with English (thesis 3.2.1: with"
        " --languages es,fr,ru,zh); encode it first, and give these vectors as --model",
        among=TEXTS,
        metavar="DIR",
    )
    parallel: list[Path] | None = option(
        "line-parallel files, one per language, which is the end of the name: test.de test.en test.fr",
        among=TEXTS,
        metavar="FILE",
    )
    encoder: EncoderOptions
    split: str = option("set of Flores", "devtest", type=types.split)
    dataset: str | None = option("name of the test set in tables (default: Tatoeba, Flores, …)")
    pivot: str | None = option(
        "only pairs with this language (default: all pairs)", type=LANGUAGE, metavar="LANG"
    )
    languages: list[str] | None = option(
        "only these languages (default: all)", type=types.items(LANGUAGE), metavar="LANG,…"
    )
    similarity: list[str] = option(
        f"measures that choose the nearest sentence, some of: {', '.join((*SIMILARITIES, BERT_SCORE))}"
        f" (default: {COSINE},ratio)",
        [COSINE, "ratio"],
        type=types.items(types.one_of((*SIMILARITIES, BERT_SCORE))),
    )
    normalize: float | None = option(
        "also measure cosine and bert-score after subtracting, with this strength, what a sentence scores"
        " with an average other one (OneAligner 2.2: 0.75)",
        type=types.number(0, 1),
        metavar="ALPHA",
    )
    normalize_batch: int | None = option(
        "sentences a side over which --normalize takes means (OneAligner 3.2: 256; default: all)", metavar="N"
    )
    without_specials: bool = switch("leave special tokens out of bert-score")
    neighbours: int = option("neighbours of a sentence, for margins (xsim: 4)", 4)
    queries: int | None = option(
        "number of lines drawn as queries; all lines are candidates (thesis 2.4.4: 2000 among 200,000)"
    )
    seed: int = option("seed of the draw of --queries", 1, type=types.whole_number(0))
    distractors: Path | None = option(
        "further candidates, a sentence per line, in the language at the end of the name; or LASER's"
        " eng_Latn_augmented.devtest or _errtype.devtest.json (xsim++)",
        metavar="FILE",
    )
    groups: Path | None = option(
        "groups of languages for averages, a line NAME = ['de', 'fr'] each; ems: thesis Tables 2.5 and 2.7",
        metavar="FILE.toml",
    )
    candidate_vectors: Path | None = option(
        "candidates: vectors of the test set that `embeddings encode` has stored with the same encoder, for"
        " example in binary; queries are encoded anew",
        metavar="DIR",
    )
    smaller: SmallerVectors
    search: Search
    output: Path = output_folder(f"{KIND}.json")
    force: bool = force_switch()

    def check(self) -> None:
        """Refuse options that do not fit each other."""
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
            raise InputError("--normalize-batch: needs --normalize; give both")
        if self.normalize is not None and not self.scored:
            raise InputError(f"--normalize: needs {COSINE} or {BERT_SCORE}; --similarity has only {named}")
        if self.without_specials and BERT_SCORE not in self.similarity:
            raise InputError(f"--without-specials: needs {BERT_SCORE}; --similarity has only {named}")

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
        """The pairs of the test set that are asked for."""
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
            if not (names := usual_names(language, there)):
                raise InputError(
                    f"--languages {language}: not in {self.name}; there are {', '.join(sorted(there))}"
                )
            meant |= names
        common = {self.pivot} if self.pivot else set.intersection(*(set(pair.languages) for pair in pairs))
        chosen = [pair for pair in pairs if common | meant >= set(pair.languages)]
        if not chosen:
            raise InputError(
                f"--languages {','.join(self.languages)}: no pair of {self.name} is of these; expected two,"
                " or one beside the language of all pairs"
            )
        return chosen
