"""Named entity recognition: which words are a name, and of what (WikiANN, Pan et al. 2017, as in XTREME).

A file has a word and its tag per line, with a tab or spaces between them, and a blank line between sentences:
XTREME's `test-de.tsv`, or WikiANN's own with `de:` before every word, which is taken off. Tags are IOB2.

The measure is XTREME's: F1 of whole names, micro-averaged over types, as seqeval counts them by default. The
paper on cross-lingual evaluation says "accuracy" of the same numbers.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from command_line.errors import InputError, at
from command_line.lines import read_lines
from embeddings.finetuning.task import IGNORED, Hyperparameters, Predict, Reader, Scores, Task, Window

OUTSIDE = "O"
_TAG = re.compile(r"O|[BI]-\S+")
_PREFIX = re.compile(r"([A-Za-z][A-Za-z-]*:)")  # of WikiANN's words; codes of Wikipedia, such as zh-min-nan
_DOCUMENT = "-DOCSTART-"
_EXPECTED = "a word, a tab and its tag: O, B-TYPE or I-TYPE"
Span = tuple[str, int, int]  # type, first word, and the word behind the last one


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """A sentence.

    Attributes:
        words: of any characters, also none that a tokenizer knows.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]


class Names(Task):
    """Every word has a tag, which the state of its first subword says.

    The paper gives epochs, and learning rates and batch sizes to choose from (A.2); the length is XTREME's.
    """

    name = "names"
    title = "named entities (WikiANN)"
    corpus = "WikiANN"
    measures = ("f1",)
    model = "AutoModelForTokenClassification"
    defaults = Hyperparameters(epochs=10, batch_size=32, learning_rate=2e-5, warmup=0, max_length=128)

    def read(self, path: Path, language: str) -> list[TaggedSentence]:
        """The sentences of a file, which is of one language."""
        sentences = [list(zip(*rows, strict=True)) for rows in _sentences(path)]
        if not sentences:
            raise InputError(f"{path}: has no word, expected on every line {_EXPECTED}")
        prefix = _prefix(word for words, _ in sentences for word in words)
        return [
            TaggedSentence(tuple(word.removeprefix(prefix).strip() for word in words), tags)
            for words, tags in sentences
        ]

    def classes(self, examples: Sequence[TaggedSentence]) -> tuple[str, ...]:
        """The tags, O first."""
        tags = {tag for example in examples for tag in example.tags} - {OUTSIDE}
        if not tags:
            raise InputError(
                f"--task {self.name}: all words of the training sentences are tagged {OUTSIDE}, expected"
                " some names, such as B-PER"
            )
        return (OUTSIDE, *sorted(tags))

    def windows(self, example: TaggedSentence, reader: Reader) -> list[Window]:
        """Windows of whole words. Labels are those of first subwords, of tags that training sentences have.

        Raises:
            InputError: a window has no room for a subword.
        """
        before, after = _specials(reader)
        pieces = _pieces(example.words, reader)
        labelled = []
        for start, stop in _cuts([len(of_word) for of_word in pieces], _room(reader)):
            ids = [piece for word in pieces[start:stop] for piece in word]
            ends = accumulate((len(word) for word in pieces[start:stop]), initial=len(before))
            first = list(ends)[:-1]
            labels = [IGNORED] * (len(before) + len(ids) + len(after))
            for place, tag in zip(first, example.tags[start:stop], strict=True):
                labels[place] = reader.number_of(tag) if tag in reader.classes else IGNORED
            window = {"input_ids": [*before, *ids, *after], "attention_mask": [1] * len(labels)}
            if "token_type_ids" in reader.tokenizer.model_input_names:
                window["token_type_ids"] = [0] * len(labels)
            labelled.append({**window, "labels": labels, "_first": first})
        return labelled

    def count(self, example: TaggedSentence, reader: Reader) -> int:
        lengths = [len(of_word) for of_word in _pieces(example.words, reader)]
        return len(_cuts(lengths, _room(reader)))

    def measure(
        self, examples: Sequence[TaggedSentence], language: str, reader: Reader, predict: Predict
    ) -> Scores:
        """F1 of names, of whole sentences: what was cut is joined again."""
        windows = [self.windows(example, reader) for example in examples]
        outputs = predict([window for of_one in windows for window in of_one])
        right = predicted = expected = 0
        for example, of_one in zip(examples, windows, strict=True):
            tags = [tag for window in of_one for tag in _predicted(window, next(outputs), reader)]
            said, gold = spans(tags), spans(example.tags)
            right, predicted, expected = right + len(said & gold), predicted + len(said), expected + len(gold)
        return Scores({"f1": 100 * 2 * right / (predicted + expected) if right else 0.0})


def spans(tags: Sequence[str]) -> set[Span]:
    """The names that tags say. As seqeval has it by default, an I- begins one as well, where no name of its
    type goes on.
    """
    entities: set[Span] = set()
    kind, start = "", 0
    for place, tag in enumerate([*tags, OUTSIDE]):
        position, _, its_kind = tag.partition("-")
        if kind and (position != "I" or its_kind != kind):
            entities.add((kind, start, place))
            kind = ""
        if its_kind and not kind:
            kind, start = its_kind, place
    return entities


def _sentences(path: Path) -> Iterator[list[tuple[str, str]]]:
    """Words and tags; blank lines and CoNLL's beginnings of documents are between sentences."""
    rows: list[tuple[str, str]] = []
    for number, line in enumerate(read_lines(path), start=1):
        if line.strip() and not line.startswith(_DOCUMENT):
            rows.append(_row(line, path, number))
        elif rows:
            yield rows
            rows = []
    if rows:
        yield rows


def _row(line: str, path: Path, number: int) -> tuple[str, str]:
    """A word and its tag, separated by a tab: a word may have spaces, or consist of spaces, as some in
    WikiANN do.
    """
    fields = line.split("\t") if "\t" in line else line.split()
    if len(fields) != 2 or not _TAG.fullmatch(tag := fields[1].strip()):
        raise InputError(f"{at(path, number)}: found {line!r:.60}, expected {_EXPECTED}")
    return fields[0].strip(), tag


def _prefix(words: Iterator[str]) -> str:
    """What WikiANN has before all words of a language; "" without."""
    match = _PREFIX.match(next(words))
    return match[1] if match and all(word.startswith(match[1]) for word in words) else ""


def _pieces(words: Sequence[str], reader: Reader) -> list[list[int]]:
    """The subwords of every word: the unknown one, where it has none or more than a window has room for.

    Words have a space in front, which belongs to the first subword of many vocabularies of bytes.
    """
    texts = [f" {word}" if word else "" for word in words]
    pieces = reader.tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    room, unknown = _room(reader), _unknown(reader.tokenizer)
    return [of_word if 0 < len(of_word) <= room else unknown for of_word in pieces]


def _unknown(tokenizer) -> list[int]:
    """The unknown subword; of a vocabulary of bytes, which may have none, a question mark."""
    if tokenizer.unk_token_id is not None:
        return [tokenizer.unk_token_id]
    return tokenizer("?", add_special_tokens=False)["input_ids"][:1]


def _cuts(lengths: Sequence[int], room: int) -> list[tuple[int, int]]:
    """First word of each window, and the one behind its last: as many words as there is room for."""
    cuts, start, used = [], 0, 0
    for place, length in enumerate(lengths):
        if used + length > room:
            cuts.append((start, place))
            start, used = place, 0
        used += length
    return [*cuts, (start, len(lengths))]


def _room(reader: Reader) -> int:
    """Subwords that a window has room for."""
    special = reader.tokenizer.num_special_tokens_to_add()
    if reader.longest <= special:
        raise InputError(
            f"--max-length {reader.longest}: {special} special tokens leave no room for words, expected more"
        )
    return reader.longest - special


def _specials(reader: Reader) -> tuple[list[int], list[int]]:
    """The tokens at the beginning and at the end of a window."""
    encoded = reader.tokenizer("a", return_special_tokens_mask=True)
    ids, mask = encoded["input_ids"], encoded["special_tokens_mask"]
    first = mask.index(0)
    return ids[:first], ids[first + mask.count(0) :]


def _predicted(window: Window, output: dict, reader: Reader) -> list[str]:
    best = output["logits"][window["_first"]].argmax(axis=-1)
    return [reader.classes[number] for number in best]
