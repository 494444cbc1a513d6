"""Make a real multi-parallel corpus, offline and deterministically.

Lines such as "The next train leaves on this day: Friday, May 7, 2027. The number of your room: forty-five."
say the same in every language. A line is drawn as an abstract structure and rendered from CLDR (full dates,
durations, relative times, units, currencies, lists of countries and languages) through Babel, from num2words
(numbers spelled out), and from 25 short phrases per language that introduce the values.

Languages: {languages}.
zh has no num2words (its numbers are spelled by a rule of our own); tr and ar are spelled as num2words does,
tr without spaces and ar with a separate waw; pt is Brazilian, no is Bokmål.

A line has 4 to 20 words in every language that it is written in (ja, zh: two characters count as a word; vi:
syllables). Training lines of different pairs have different centric (English) sides. Valid and test sets are
multi-way: the same lines in every pair, zero-shot pairs included. No line of a valid or test set, in any
language, occurs in training. Memory: about 100 bytes per line of the whole corpus.
"""

import hashlib
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import force_switch, option, output_folder
from command_line.progress import progress
from data_prep.formats.texts import (
    LANGUAGE,
    LANGUAGES,
    SPLITS,
    TEST,
    TRAIN,
    VALID,
    all_pairs,
    centric_language,
    is_corpus_file,
    open_outputs,
)
from data_prep.phrasebook.rendering import SUPPORTED, Renderer
from data_prep.phrasebook.structures import Draws, draw_structure
from data_prep.step_folder import StepFolder

__doc__ = __doc__.format(languages=" ".join(SUPPORTED))

WORDS = range(4, 21)
VAIN_DRAWS = 10_000  # in a row, before giving up


@dataclass(frozen=True, kw_only=True)
class PhrasebookJob:
    """What is made."""

    langs: list[str] = option("languages, separated by commas: en,de,fr", required=True, type=LANGUAGES)
    output: Path = output_folder("the text files")
    train_lines: int = option("training lines per pair", 100_000)
    valid_lines: int = option("lines of the multi-way valid set", 500)
    test_lines: int = option("lines of the multi-way test set", 500)
    centric: str = option("the language of every training pair (thesis 8.2.1: English)", "en", type=LANGUAGE)
    seed: int = option("another seed gives another corpus", 1, type=options.seed)
    force: bool = force_switch()


def line_key(line: str) -> int:
    return int.from_bytes(hashlib.blake2b(line.encode(), digest_size=8).digest(), "little")


class Phrasebook:
    """Draws lines that were never drawn before.

    `multiway` and `bitext` return one line per language, in the order of the languages asked for.
    """

    def __init__(self, languages: list[str], centric: str, seed: int):
        self._renderers = {language: Renderer(language) for language in languages}
        self._centric = centric
        self._draws = Draws(seed)
        self._centric_keys: set[int] = set()  # centric sides of all lines so far
        self._evaluation_keys: dict[str, set[int]] = {language: set() for language in languages}

    def multiway(self) -> list[str]:
        """A valid or test line in every language."""
        languages = list(self._renderers)
        lines, keys = self._draw(languages, self._evaluation_keys)
        for language in languages:
            self._evaluation_keys[language].add(keys[language])
        return lines

    def bitext(self, languages: tuple[str, str], drawn: dict[str, set[int]]) -> list[str]:
        """A training line in two languages; `drawn` remembers what the pair has."""
        lines, keys = self._draw(languages, self._evaluation_keys, drawn)
        for language, key in keys.items():
            drawn.setdefault(language, set()).add(key)
        return lines

    def _draw(self, languages, *forbidden: dict[str, set[int]]) -> tuple[list[str], dict[str, int]]:
        for _ in range(VAIN_DRAWS):
            structure = draw_structure(self._draws)
            lines = []
            for language in languages:
                line = self._renderers[language].render(structure)
                if self._renderers[language].count_words(line) not in WORDS:
                    break
                lines.append(line)
            if len(lines) < len(languages):
                continue
            keys = {language: line_key(line) for language, line in zip(languages, lines, strict=True)}
            if keys[self._centric] in self._centric_keys:
                continue
            if any(key in drawn.get(language, ()) for drawn in forbidden for language, key in keys.items()):
                continue
            self._centric_keys.add(keys[self._centric])
            return lines, keys
        raise InputError(f"no new line in {VAIN_DRAWS} draws: ask for fewer lines or fewer languages")


def _encode(line: str) -> bytes:
    return line.encode() + b"\n"


def write_multiway(book: Phrasebook, folder: Path, split: str, languages: list[str], lines: int) -> None:
    """`lines` lines in all languages, written once per pair."""
    pairs = all_pairs(languages)
    sides = [(pair, language) for pair in pairs for language in pair.split("-")]
    with open_outputs(folder / f"{split}.{pair}.{language}" for pair, language in sides) as streams:
        for _ in range(lines):
            row = dict(zip(languages, map(_encode, book.multiway()), strict=True))
            for (_, language), stream in zip(sides, streams, strict=True):
                stream.write(row[language])


def write_training(book: Phrasebook, folder: Path, pair: str, lines: int) -> None:
    languages = tuple(pair.split("-"))
    drawn: dict[str, set[int]] = {}
    with open_outputs(folder / f"{TRAIN}.{pair}.{language}" for language in languages) as streams:
        for _ in progress(range(lines), lines, f"phrasebook {pair}", "line"):
            for stream, line in zip(streams, book.bitext(languages, drawn), strict=True):
                stream.write(_encode(line))


def make(folder: Path, languages: list[str], centric: str, lines: dict[str, int], seed: int) -> None:
    """Write the corpus: `lines` is split -> number of lines (training: per pair)."""
    book = Phrasebook(languages, centric, seed)
    for split in (TEST, VALID):
        write_multiway(book, folder, split, languages, lines[split])
    for pair in all_pairs(languages):
        if centric in pair.split("-"):
            write_training(book, folder, pair, lines[TRAIN])


def main(job: PhrasebookJob) -> None:
    languages = job.langs
    centric = centric_language(languages, job.centric)
    lines = {split: getattr(job, f"{split}_lines") for split in SPLITS}
    settings = {"languages": languages, "centric": centric, "lines": lines, "seed": job.seed}
    settings["versions"] = {name: version(name) for name in ("babel", "num2words")}
    step = StepFolder(job.output, "phrasebook", settings)
    if step.is_complete(job.force):
        return
    with step.writing(is_corpus_file):
        make(job.output, languages, centric, lines, job.seed)
