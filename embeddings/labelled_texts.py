"""Labelled sentences for classification, in the layouts in which corpora are given.

- `tsv`: `LANG.train.tsv`, `LANG.valid.tsv`, `LANG.test.tsv` with lines `label<TAB>sentence`;
- `mldoc` (Schwenk and Li 2018): `german.train.1000`, `german.dev`, `german.test` of such lines;
- `cls`, Amazon reviews version 1 (Prettenhofer and Stein 2010): XML, `de/books/train.review`, `test.review`.
  Ratings above 3 are positive, below 3 negative. The language that is taught is validated on its test part
  (thesis 2.4.6);
- `marc`, Amazon reviews version 2 (Keung et al. 2020): a JSON object per line, `dataset_de_train.json`,
  `_dev`, `_test`. More than 3 stars are positive, fewer negative, those with 3 are left out.

A review is its headline and its text. XML is read without document types, and so without entities of a file's
own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

import numpy as np
from typing_extensions import TypedDict

from command_line.errors import InputError, at
from command_line.lines import BROKEN, broken, find_text, open_binary, read_lines
from command_line.records import check, parse_json

TRAIN, VALID, TEST = "train", "valid", "test"
NEGATIVE, NEUTRAL, POSITIVE = "negative", 3, "positive"
MLDOC = {
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "ja": "japanese",
    "ru": "russian",
    "zh": "chinese",
}


class Review(TypedDict):
    stars: int | str
    review_title: str
    review_body: str


@dataclass(frozen=True)
class Part:
    """Sentences with labels.

    Attributes:
        sentences: n.
        labels: n.
        lines: n, where they are in the file, from 1.
    """

    path: Path
    sentences: list[str]
    labels: list[str]
    lines: list[int]

    @classmethod
    def of(cls, path: Path, rows: Iterator[tuple[int, str, str]], expected: str) -> "Part":
        """Line, label and sentence of every row; an `InputError` without any."""
        rows = list(rows)
        if not rows:
            raise InputError(f"{path}: is empty, expected {expected}")
        lines, labels, sentences = map(list, zip(*rows, strict=True))
        return cls(path, sentences, labels, lines)

    def some(self, size: int) -> "Part":
        """So many of every label, drawn at random, the same ones in every run, in their order.

        Raises:
            InputError: there are fewer of a label.
        """
        labels, chosen = np.array(self.labels), []
        for label in sorted(set(self.labels)):
            rows = np.flatnonzero(labels == label)
            if len(rows) < size:
                raise InputError(f"{self.path}: {len(rows)} reviews are {label}, expected at least {size}")
            chosen += np.random.default_rng(1).choice(rows, size, replace=False).tolist()
        rows = sorted(chosen)
        return Part(
            self.path, *([of[row] for row in rows] for of in (self.sentences, self.labels, self.lines))
        )


def read_labelled_lines(path: Path) -> Part:
    """Read `label<TAB>sentence` lines."""

    def rows() -> Iterator[tuple[int, str, str]]:
        for number, line in enumerate(read_lines(path), start=1):
            label, tab, sentence = line.partition("\t")
            if not tab or not label:
                raise InputError(f"{at(path, number)}: found {line!r:.60}, expected label<TAB>sentence")
            yield number, label, sentence

    return Part.of(path, rows(), "lines label<TAB>sentence")


def read_reviews_xml(path: Path) -> Part:
    """Read `<item>` elements with `<rating>`, `<summary>` and `<text>`."""

    def rows() -> Iterator[tuple[int, str, str]]:
        for number, item in _items(path):
            rating = item.get("rating", "").strip()
            try:
                label = polarity(float(rating))
            except ValueError:
                label = None
            if label is None:
                raise InputError(
                    f"{at(path, number)}: rating {rating!r:.40}, expected a number above or below 3"
                )
            yield number, label, _review(item.get("summary", ""), item.get("text", ""))

    return Part.of(path, rows(), "<item> elements")


def _items(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Line and fields of every `<item>`."""
    parser, names, items = expat.ParserCreate(), [], []

    def begin(name: str, attributes: dict) -> None:
        names.append(name)
        if name == "item":
            items.append((parser.CurrentLineNumber, {}))

    def text(words: str) -> None:
        if "item" in names[:-1]:
            fields = items[-1][1]
            name = names[names.index("item") + 1]
            fields[name] = fields.get(name, "") + words

    def refuse(*declared) -> None:
        line = at(path, parser.CurrentLineNumber)
        raise InputError(f"{line}: a document type, which may declare entities; expected XML without one")

    parser.StartElementHandler, parser.CharacterDataHandler = begin, text
    parser.EndElementHandler = lambda name: names.pop()
    parser.StartDoctypeDeclHandler = refuse
    try:
        with open_binary(path) as stream:
            parser.ParseFile(stream)
    except BROKEN as error:
        raise broken(path, parser.CurrentLineNumber, error) from None
    except LookupError as error:  # of encoding="…"
        raise InputError(f"{at(path, 1)}: not XML: {error}; expected UTF-8") from None
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise InputError(f"{at(path, error.lineno)}: not XML: {reason}; expected <item> elements") from None
    return items


def read_reviews_json(path: Path) -> Part:
    """Read an object per line with stars, review_title and review_body."""

    def rows() -> Iterator[tuple[int, str, str]]:
        for number, line in enumerate(read_lines(path), start=1):
            record = parse_json(line.encode(), path, number)
            check(record, Review, at(path, number))
            stars = str(record["stars"])
            if stars not in ("1", "2", "3", "4", "5"):
                raise InputError(f"{at(path, number)}: stars is {stars!r:.40}, expected 1 to 5")
            if label := polarity(int(stars)):
                yield number, label, _review(record["review_title"], record["review_body"])

    return Part.of(path, rows(), "reviews with 1, 2, 4 or 5 stars")


def polarity(stars: float) -> str | None:
    """Positive or negative; None for what is neither."""
    return POSITIVE if stars > NEUTRAL else NEGATIVE if stars < NEUTRAL else None


def _review(headline: str, text: str) -> str:
    return " ".join(f"{headline} {text}".split())


@dataclass(frozen=True)
class Layout:
    """How a corpus is laid out.

    Attributes:
        name: of the corpus in tables; None for its folder's.
        file: language, part, number of training sentences and category -> path in the folder.
        train_size: of the paper; None for whatever there is.
        draws: that many are drawn from the training file, as many of each label; else the file has them.
        categories: the corpus has several, one of which must be chosen.
    """

    name: str | None
    file: Callable[[str, str, str, str], str]
    read: Callable[[Path], Part]
    train_size: str | None = None
    draws: bool = False
    categories: tuple[str, ...] = ()


LAYOUTS = {
    "tsv": Layout(None, lambda lang, part, size, category: f"{lang}.{part}.tsv", read_labelled_lines),
    "mldoc": Layout(
        "MLDoc",
        lambda lang, part, size, category: (
            f"{MLDOC.get(lang, lang)}.{ {TRAIN: f'train.{size}', VALID: 'dev', TEST: 'test'}[part] }"
        ),
        read_labelled_lines,
        train_size="1000",
    ),
    "cls": Layout(
        "CLS",
        lambda lang, part, size, category: f"{lang}/{category}/{TRAIN if part == TRAIN else TEST}.review",
        read_reviews_xml,
        categories=("books", "dvd", "music"),
    ),
    "marc": Layout(
        "Amazon reviews",
        lambda lang, part, size, category: f"dataset_{lang}_{'dev' if part == VALID else part}.json",
        read_reviews_json,
        train_size="2000",
        draws=True,
    ),
}


def find_part(folder: Path, layout: Layout, *which: str) -> Path:
    """The file of a part.

    Raises:
        InputError: it is not there.
    """
    path = folder / layout.file(*which)
    part = find_text(path)
    if part is None:
        raise InputError(f"{path}: no such file; expected the corpus in the layout that --layout names")
    return part
