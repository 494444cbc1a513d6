"""What the names of files say: split, languages, and which files are sides of one text.

train.de-en.de, Tatoeba.de-en.en, opus.de-en-train.de    ours, OPUS, lafand, OPUS-100
newstest2019-src.eng.txt, newstest2019-ref.deu.txt       NTREX
eng_Latn.devtest                                         Flores
newstest2014-deen-src.de.sgm                             WMT
train.de, europarl.de.txt                                a side of STEM
"""

import re
from dataclasses import dataclass
from pathlib import Path

from command_line.lines import uncompressed_name
from data_prep.formats.texts import FILE_ENDINGS, TEST, TRAIN, VALID
from data_prep.importing.tables import language_of
from data_prep.languages import find_language

_TEXT_ENDING = re.compile(r"\.(txt|sgm|sgml)$")
_WORDS = re.compile(r"[^a-z]+")
_SPLITS = {  # words in names
    "train": TRAIN, "training": TRAIN,
    "dev": VALID, "valid": VALID, "validation": VALID, "val": VALID, "newsdev": VALID,
    "devtest": TEST, "test": TEST, "tst": TEST, "newstest": TEST,
}  # fmt: skip
_SIDE_OF_PAIR = re.compile(r"(?P<group>.+\.(?P<pair>[^.]+-[^.]+))\.(?P<language>[^.]+)")
_SIDES = (
    re.compile(r"(?P<group>.+)-(src|ref)[^.]*\.(?P<language>[^.]+)"),
    re.compile(r"(?P<language>[^.]+)\.(?P<group>dev|devtest)"),
    re.compile(r"(?P<group>.+)\.(?P<language>[^.]+)"),
)


@dataclass(frozen=True)
class Side:
    """A file with the text of one language."""

    group: str
    language: str


def split_in_name(path: Path) -> str | None:
    """The split that a name has as a word: `test` of newstest2019-src.eng.txt."""
    words = _WORDS.split(uncompressed_name(path).lower())
    return next((_SPLITS[word] for word in words if word in _SPLITS), None)


def side_in_name(path: Path) -> Side | None:
    """The side of a text that a name stands for; None if it has no language."""
    name = _TEXT_ENDING.sub("", uncompressed_name(path))
    match = _SIDE_OF_PAIR.fullmatch(name)
    if match and (language := language_of(match["language"])):
        if f"-{match['language']}-" in f"-{match['pair']}-":
            return Side(match["group"], language)
        if all(map(language_of, match["pair"].split("-"))):
            return None
    for match in filter(None, (pattern.fullmatch(name) for pattern in _SIDES)):
        language = language_of(match["language"])
        if language and find_language(language) and not re.fullmatch(FILE_ENDINGS, match["language"]):
            return Side(match["group"], language)
    return None


def languages_in_name(path: Path) -> tuple[str, ...]:
    """The two languages of a file of both, `de` and `en` of train.de-en.tsv; empty if it names none."""
    for part in uncompressed_name(path).split("."):
        for codes in (part.split("-"), re.split("[-_]", part)):
            languages = tuple(filter(None, map(language_of, codes)))
            if len(codes) == len(set(languages)) == 2 and all(map(find_language, languages)):
                return languages
    return ()
