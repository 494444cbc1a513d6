"""Toy tasks from the phrasebook, in the formats of published ones: inference, similarity, questions, names.

A line of the phrasebook begins with a phrase that introduces a value, "The number of your room: twelve." The
lines of the validation and the test set say the same in every language, and so do the tasks:

    xnli/         XNLI and MultiNLI: a line entails its phrase; it contradicts a line with the same phrase and
                  another value; a line with another phrase is neutral
    snli/         the same as snli_1.0_train.jsonl
    sts/          pairs rated 5 (the same line), 2.5 (the same phrase), 0 (another): STS.LANG.tsv, train.csv
    mlqa/         MLQA and SQuAD: the phrase is the question, the value is the answer
    wikiann/      the words of values are names
    wmt20/        validation text with English
    tatoeba/      test text with English
    monolingual/  training text by language, for `embeddings pretrain`

The first `--train-lines` of the validation set are the tasks' training set, the others their validation set.
They show that a recipe works, and nothing about encoders.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import by_name, force_switch, option, output_folder
from command_line.outputs import write_text
from data_prep.formats.texts import find_bitexts, languages_of, paths_of

ENGLISH = "en"
LABELS = {"entailment": "entailment", "neutral": "neutral", "contradiction": "contradictory"}  # of XNLI-MT
RATINGS = {"entailment": "5", "contradiction": "2.5", "neutral": "0"}
_PHRASE = re.compile(r"\s*[:：]\s*")


@dataclass(frozen=True, kw_only=True)
class PhrasebookTasks:
    """What tasks are made of."""

    input: Path = option("folder of `data_prep phrasebook`", required=True, metavar="DIR", compare=False)
    train_lines: int = option("lines of the validation set that the tasks are learned from", 300)
    output: Path = output_folder("the tasks, a folder each")
    force: bool = force_switch()


@dataclass(frozen=True)
class Line:
    """A line of the phrasebook, and the phrase and the values in it."""

    text: str
    phrase: str
    value: str


@dataclass(frozen=True)
class Pair:
    """Numbers of two lines, and how they stand to each other: a key of `LABELS`."""

    first: int
    second: int
    label: str


def main(job: PhrasebookTasks) -> None:
    texts = find_bitexts(job.input)
    stamp = Stamp(job.output / "phrasebook-tasks.json", "phrasebook-tasks", by_name(job), paths_of(texts))
    if stamp.is_current(job.force):
        return
    languages = languages_of(texts)
    held_out = {language: _read(job.input, "valid", language) for language in languages}
    test = {language: _read(job.input, "test", language) for language in languages}
    if len(held_out[ENGLISH]) <= job.train_lines:
        raise InputError(
            f"--train-lines {job.train_lines}: the validation set of {job.input} has {len(held_out[ENGLISH])}"
            " lines; expected more than so many"
        )
    train = {language: lines[: job.train_lines] for language, lines in held_out.items()}
    valid = {language: lines[job.train_lines :] for language, lines in held_out.items()}
    files = dict(chain(_tasks(train, valid, test), _monolingual(job.input, valid)))
    stamp.begin(lambda: [path for name in files if (path := job.output / name).exists()])
    for name, rows in files.items():
        (job.output / name).parent.mkdir(parents=True, exist_ok=True)
        write_text(job.output / name, "".join(f"{row}\n" for row in rows))
    stamp.finish(job.output / name for name in files)


def _read(folder: Path, split: str, language: str) -> list[Line]:
    """The lines of a multi-way set in a language."""
    path = next(iter(sorted(folder.glob(f"{split}.*-*.{language}"))))
    lines = []
    for text in read_lines(path):
        phrase, value = (*_PHRASE.split(text, maxsplit=1), "")[:2]
        lines.append(Line(text, phrase, value.rstrip(".。")))
    return lines


def _tasks(train: dict, valid: dict, test: dict) -> Iterator[tuple[str, list[str]]]:
    """Name of a file -> its rows; of training, validation and test lines by language."""
    sets = {"train": train, "dev": valid, "test": test}
    pairs = {name: list(pairs_of(lines[ENGLISH])) for name, lines in sets.items()}
    english = [_as_json(train[ENGLISH], pair) for pair in pairs["train"]]
    yield "xnli/multinli_1.0/multinli_1.0_train.jsonl", english
    yield "snli/snli_1.0_train.jsonl", english
    for split in ("dev", "test"):
        rows = [_row(language, p, lines) for language, lines in sets[split].items() for p in pairs[split]]
        yield f"xnli/XNLI-1.0/xnli.{split}.tsv", ["language\tgold_label\tsentence1\tsentence2", *rows]
    yield "sts/train.csv", [_rated(train[ENGLISH], pair, ",") for pair in pairs["train"]]
    for language, lines in train.items():
        rows = [f"{lines[p.first].text}\t{_hypothesis(lines, p)}\t{LABELS[p.label]}" for p in pairs["train"]]
        yield f"xnli/XNLI-MT-1.0/multinli/multinli.train.{language}.tsv", ["premise\thypo\tlabel", *rows]
        yield f"sts/STS.{language}.tsv", [_rated(test[language], pair, "\t") for pair in pairs["test"]]
        name = "train-v1.1" if language == ENGLISH else f"squad.translate.train.en-{language}"
        yield f"mlqa/squad/{name}.json", [_questions(lines)]
        for split in ("dev", "test"):
            name = f"{split}-context-{language}-question-{language}"
            yield f"mlqa/MLQA_V1/{split}/{name}.json", [_questions(sets[split][language])]
        yield f"wikiann/test-{language}.tsv", list(_tagged(test[language]))
    yield "mlqa/squad/dev-v1.1.json", [_questions(valid[ENGLISH])]
    yield "wikiann/train-en.tsv", list(_tagged(train[ENGLISH]))
    yield "wikiann/dev-en.tsv", list(_tagged(valid[ENGLISH]))
    for language in train.keys() - {ENGLISH}:
        for side in (ENGLISH, language):
            yield f"wmt20/en-{language}.{side}", [line.text for line in valid[side]]
            pair = f"{_three_letters(language)}-eng"
            yield f"tatoeba/tatoeba.{pair}.{_three_letters(side)}", [line.text for line in test[side]]


def pairs_of(lines: list[Line]) -> Iterator[Pair]:
    """Every line with itself, with one of the same phrase, and with one of another, where there are such."""
    for first, line in enumerate(lines):
        later = [*range(first + 1, len(lines)), *range(first)]
        yield Pair(first, first, "entailment")
        others = [n for n in later if lines[n].phrase == line.phrase and lines[n].value != line.value]
        if others:
            yield Pair(first, others[0], "contradiction")
        if others := [n for n in later if lines[n].phrase != line.phrase]:
            yield Pair(first, others[0], "neutral")


def _as_json(lines: list[Line], pair: Pair) -> str:
    texts = {"sentence1": lines[pair.first].text, "sentence2": _hypothesis(lines, pair)}
    return json.dumps(texts | {"gold_label": pair.label}, ensure_ascii=False)


def _row(language: str, pair: Pair, lines: list[Line]) -> str:
    return f"{language}\t{pair.label}\t{lines[pair.first].text}\t{_hypothesis(lines, pair)}"


def _hypothesis(lines: list[Line], pair: Pair) -> str:
    return lines[pair.second].phrase if pair.label == "entailment" else lines[pair.second].text


def _rated(lines: list[Line], pair: Pair, separator: str) -> str:
    """Two lines and their rating."""
    cells = [lines[pair.first].text, lines[pair.second].text, RATINGS[pair.label]]
    return separator.join(f'"{cell}"' if separator == "," else cell for cell in cells)


def _questions(lines: list[Line]) -> str:
    """What a file in the format of SQuAD 1.1 holds."""
    paragraphs = []
    for number, line in enumerate(lines):
        answer = {"text": line.value, "answer_start": line.text.index(line.value)}
        question = {"id": str(number), "question": f"{line.phrase}?", "answers": [answer]}
        paragraphs.append({"context": line.text, "qas": [question]})
    return json.dumps({"version": "1.1", "data": [{"title": "phrasebook", "paragraphs": paragraphs}]})


def _tagged(lines: list[Line]) -> Iterator[str]:
    """Words and tags, and an empty line after every sentence."""
    for line in lines:
        words = line.text.split()
        outside = len(line.phrase.split())
        for number, word in enumerate(words):
            yield f"{word}\t{'O' if number < outside else 'B-LOC' if number == outside else 'I-LOC'}"
        yield ""


def _monolingual(folder: Path, valid: dict[str, list[Line]]) -> Iterator[tuple[str, list[str]]]:
    """Training text by language, without repeated lines, and validation text."""
    for language, lines in valid.items():
        paths = sorted(folder.glob(f"train.*.{language}"))
        yield f"monolingual/train.{language}", list(dict.fromkeys(chain(*map(read_lines, paths))))
        yield f"monolingual/valid.{language}", [line.text for line in lines]


def _three_letters(language: str) -> str:
    import langcodes

    return langcodes.Language.get(language).to_alpha3()
