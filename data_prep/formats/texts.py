"""A corpus in a folder: bitexts, one pair of files for both directions, and monolingual text.

A bitext has fairseq's names, `SPLIT.SRC-TGT.LANG`: `train.de-en.de` and `train.de-en.en`. The two codes come
in alphabetical order in what this package writes; text folders that name a pair the other way round
(`train.en-de.…`) are read too. Monolingual text is `SPLIT.LANG`: `train.ja`. Files may end in `.gz`, `.xz` or
`.zst`. `dev` and `validation` are read as `valid`.
"""

import contextlib
import re
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.lines import count_lines, find_text, uncompressed_name
from command_line.options import OptionType, items, matched, require
from command_line.outputs import atomic_path

TRAIN, VALID, TEST = "train", "valid", "test"
SPLITS = (TRAIN, VALID, TEST)
_OTHER_NAMES = {"dev": VALID, "validation": VALID}  # of splits
_UNCLEAR = "devtest"  # of Flores, for the test; of others, for validation
LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,3}(_[A-Za-z0-9]{2,8})*")  # de, deu, zho_Hans, en_XX, es_419


def _language(text: str) -> str:
    if "-" in text and LANGUAGE_CODE.fullmatch(text.replace("-", "_")):
        raise ArgumentTypeError(f"found {text!r}, expected {text.replace('-', '_')}: '-' separates languages")
    return matched(LANGUAGE_CODE, text)


LANGUAGE = OptionType("a language code such as en or zho_Hans", _language)
_COMPRESSED = r"(\.gz|\.xz|\.zst)?"
_IMPORT = "`python -m data_prep import` reads other names and formats"
_BITEXT = re.compile(rf"(?P<split>[^.]+)\.(?P<pair>[^.]+-[^.]+)\.(?P<language>[^.]+){_COMPRESSED}")
# Codes of small languages are endings of files that lie about in folders: train.log is no text in Logo.
FILE_ENDINGS = (
    "bak|bin|cfg|csv|err|idx|ini|log|md|npy|npz|out|pdf|pkl|py|sgm|tar|tgz|tmp|tmx|tsv|txt|xml|yml|zip"
)
_MONOLINGUAL = re.compile(
    rf"(?P<split>[^.]+)\.(?!({FILE_ENDINGS})(\.|$))(?P<language>{LANGUAGE_CODE.pattern}){_COMPRESSED}"
)
_OTHER_FILE = re.compile(rf"(?P<split>[^.]+)\.(?P<ending>{FILE_ENDINGS}){_COMPRESSED}")
_DASHES = re.compile(
    rf"(?P<split>[^.]+)\.(.*\.)?(?P<language>[A-Za-z]{{2,3}}(-[A-Za-z0-9]{{2,8}})+){_COMPRESSED}"
)


def _languages(text: str) -> list[str]:
    codes = items(LANGUAGE)(text)
    require(len(codes) > 1)
    return sorted(codes)


LANGUAGES = OptionType("at least two language codes, separated by commas: en,de,fr", _languages)


@dataclass(frozen=True, order=True)
class Text:
    """The text of one split: a bitext, two line-parallel files, or one file of monolingual text.

    Attributes:
        split: "train", "valid" or "test".
        pair: "de-en", in alphabetical order; or the only language, "ja".
        paths: the files, in the order of `languages`.
    """

    split: str
    pair: str
    paths: tuple[Path, ...]

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.pair.split("-"))

    @property
    def is_bitext(self) -> bool:
        return len(self.paths) == 2

    def names(self) -> tuple[str, ...]:
        """Names of the files as this package writes them, uncompressed."""
        if not self.is_bitext:
            return (monolingual_name(self.split, self.pair),)
        return tuple(f"{self.split}.{self.pair}.{language}" for language in self.languages)

    def outputs(self, folder) -> tuple[Path, ...]:
        return tuple(Path(folder) / name for name in self.names())


def monolingual_name(split: str, language: str) -> str:
    return f"{split}.{language}"


def pair_name(first: str, second: str) -> str:
    return "-".join(sorted((first, second)))


def all_pairs(languages: Iterable[str]) -> list[str]:
    return [pair_name(*pair) for pair in combinations(sorted(languages), 2)]


def find_bitexts(folder) -> list[Text]:
    """The bitexts of a folder, as `find_texts` finds them."""
    bitexts = [text for text in find_texts(folder) if text.is_bitext]
    if not bitexts:
        raise InputError(f"{folder}: has monolingual text only, expected files SPLIT.SRC-TGT.LANG")
    return bitexts


def find_texts(folder) -> list[Text]:
    """The bitexts and the monolingual text of a folder, in the order train, valid, test and by pair.

    Says on standard error which file it takes for no text, though its ending is the code of a language, too.

    Raises:
        InputError: the folder is missing or has none, or the step that writes it did not finish; a file is a
            pipe or a folder, or lacks its other side; two files are the same side; a language does not belong
            to the pair in its file's name.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder")
    check_finished(folder)
    sides: dict[tuple[str, str], dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        match = _match(path)
        if not match:
            _say_if_skipped(path)
            continue
        language, split = match["language"], split_of(match["split"])
        codes = match.groupdict().get("pair", language).split("-")
        if language not in codes or len(codes) != len(set(codes)) or len(codes) > 2:
            raise _other_language(path, match)
        files = sides.setdefault((split, "-".join(sorted(codes))), {})
        if not path.is_file():
            raise InputError(f"{path}: is no regular file; expected one, since steps read it several times")
        if language in files:
            raise InputError(f"{path}: the same side as {files[language].name}; keep one of them")
        files[language] = path
    for (split, pair), files in sides.items():
        for language in set(pair.split("-")) - set(files):
            (path,) = files.values()
            raise InputError(f"{folder}: {path.name} has no other side, expected {split}.{pair}.{language}")
    if not sides:
        raise InputError(
            f"{folder}: no files named SPLIT.SRC-TGT.LANG with SPLIT one of {', '.join(SPLITS)}"
            f" (nor SPLIT.LANG, monolingual); {_IMPORT}"
        )
    order = sorted(sides, key=lambda key: (SPLITS.index(key[0]), key[1]))
    return [Text(*key, tuple(sides[key][language] for language in key[1].split("-"))) for key in order]


def split_of(name: str) -> str | None:
    """The split that a name of files stands for: `valid` of `dev`; None if it is none."""
    return name if name in SPLITS else _OTHER_NAMES.get(name)


def _other_language(path: Path, match: re.Match) -> InputError:
    """What to say of a file whose language is none of its pair's."""
    if re.fullmatch(FILE_ENDINGS, match["language"]):
        return InputError(f"{path}: is no plain text; {_IMPORT}")
    if "-" in match["language"] or match["pair"].count("-") > 1:
        return InputError(
            f"{path}: '-' separates two languages; write '_' within a code: train.en-pt_BR.pt_BR"
        )
    return InputError(
        f"{path}: language {match['language']!r} is not one of the two of the pair {match['pair']!r}"
    )


def _say_if_skipped(path: Path) -> None:
    """Say why a file that may be meant as text is none."""
    match = _OTHER_FILE.fullmatch(path.name)
    if match and split_of(match["split"]):
        code = match["ending"]
        print(
            f"{path}: skipped, as .{code} is the ending of other files; if it is text in {code!r}, name the"
            f" language by its script, too: {match['split']}.{code}_Latn",
            file=sys.stderr,
        )
        return
    match = _DASHES.fullmatch(path.name)
    if match and split_of(match["split"]):
        code = match["language"].replace("-", "_")
        raise InputError(f"{path}: '-' separates two languages; write '_' within a code: {code}")
    match = _BITEXT.fullmatch(path.name)
    if match and match["split"] == _UNCLEAR:
        raise InputError(f"{path}: is {match['split']!r} for validation or test? Rename it: valid or test")


def _match(path: Path) -> re.Match | None:
    match = _BITEXT.fullmatch(path.name) or _MONOLINGUAL.fullmatch(path.name)
    return match if match and split_of(match["split"]) else None


def languages_of(texts: Iterable[Text]) -> list[str]:
    return sorted({language for text in texts for language in text.languages})


def check_parallel(texts: Iterable[Text]) -> None:
    """Compare line counts before a long step starts.

    Raises:
        InputError: a file is empty or unreadable, or has fewer lines than its other side; names it.
    """
    for text in texts:
        lines = {path: count_lines(path) for path in text.paths}
        short, longer = min(lines, key=lines.get), max(lines, key=lines.get)
        if not lines[short]:
            raise InputError(f"{short}: is empty, expected lines of text")
        if lines[short] != lines[longer]:
            raise InputError(
                f"{short}: has {lines[short]} lines but {longer} has {lines[longer]}; "
                "parallel files need equally many lines"
            )


def text_file(path: Path, of: Path) -> Path:
    """The file of this name, plain or compressed, that belongs to another one."""
    file = find_text(path)
    if file is None:
        raise InputError(f"{path}: no such file (nor compressed), expected what belongs to {of}")
    return file


def language_in_name(path) -> str | None:
    """The language that the name of a text ends with (`tatoeba.afr-eng.afr.gz`); None if it has none."""
    stem, dot, ending = uncompressed_name(path).rpartition(".")
    is_language = dot and stem and LANGUAGE_CODE.fullmatch(ending) and not re.fullmatch(FILE_ENDINGS, ending)
    return ending if is_language else None


def is_corpus_file(path: Path) -> bool:
    """Whether a file is named as this package names text: SPLIT.SRC-TGT.LANG or SPLIT.LANG."""
    return _match(path) is not None


def paths_of(texts: Iterable[Text]) -> list[Path]:
    return [path for text in texts for path in text.paths]


def centric_language(languages: list[str], centric: str) -> str:
    """The language that every training pair has (the papers: English)."""
    if centric not in languages:
        raise InputError(f"--centric: {centric!r} is not one of the languages {', '.join(languages)}")
    return centric


@contextlib.contextmanager
def open_outputs(paths: Iterable[Path]) -> Iterator[list]:
    """Binary streams that appear under their names together, when everything has been written."""
    with contextlib.ExitStack() as stack:
        temporary = [stack.enter_context(atomic_path(path)) for path in paths]
        with contextlib.ExitStack() as files:
            yield [files.enter_context(open(path, "wb", buffering=1 << 20)) for path in temporary]
