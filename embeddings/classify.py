"""Zero-shot cross-lingual classification: a perceptron over frozen vectors, taught in one language, tested in
others (MLDoc, thesis 2.4.5; CLS, 2.4.6).

The perceptron learns from the training part of one language, keeps the epoch that is best on the validation
part of the same language, and is tested on every language. Mean and standard deviation over --runs random
initializations.

Corpora are those of the thesis, MLDoc and two of Amazon reviews, or your own: docs/embeddings.md says how
they are laid out.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError, at
from command_line.measurements import Measured, numbers
from command_line.numbers import natural
from command_line.option_classes import force_switch, option, output_folder, positional, switch
from command_line.progress import progress
from command_line.provenance import versions
from command_line.result_file import write_result
from data_prep.formats.texts import LANGUAGE
from embeddings.encoders.described import described_encoder
from embeddings.encoders.options import EncoderOptions
from embeddings.labelled_texts import LAYOUTS, TEST, TRAIN, VALID, Layout, Part, find_part
from embeddings.perceptrons import teach

KIND = "classification"


@dataclass(frozen=True)
class Perceptron:
    """A multilayer perceptron with tanh, and how it learns; defaults are those of LASER's script for MLDoc,
    which has dropout of 0.2 besides.
    """

    hidden: list[int] = option(
        "widths of the hidden layers; 0: none (default: 10,8)",
        [10, 8],
        type=types.items(types.whole_number(0)),
        metavar="N,…",
    )
    epochs: int = option("passes over the training part", 500)
    batch: int = option("sentences of an update", 12)
    learning_rate: float = option("of Adam", 1e-3, type=types.number(0, 1, above=True))
    weight_decay: float = option("L2 penalty", 0.0, type=types.number(0, 1))
    standardize: bool = switch("vectors by mean and deviation of the training part (default: as they are)")


@dataclass(frozen=True, kw_only=True)
class Classification:
    """What is classified."""

    folder: Path = positional("the corpus", metavar="DIR")
    layout: str = option(
        "of DIR: LANG.train.tsv, .valid.tsv, .test.tsv; MLDoc (thesis 2.4.5); Amazon reviews, version 1 (cls)"
        " and version 2 (marc, 2.4.6)",
        "tsv",
        choices=list(LAYOUTS),
    )
    train_size: str | None = option(
        "training sentences (default of mldoc: 1000, marc: 2000)", type=types.split
    )
    category: str | None = option("of cls: books, dvd or music", type=types.split)
    languages: list[str] = option("to test in", required=True, type=types.items(LANGUAGE), metavar="LANG,…")
    train_languages: list[str] | None = option(
        "to teach in (default: all)", type=types.items(LANGUAGE), metavar="LANG,…"
    )
    encoder: EncoderOptions
    dataset: str | None = option("name in tables (default: MLDoc, or DIR's name)")
    runs: int = option("initializations (thesis: 5)", 5)
    perceptron: Perceptron
    output: Path = output_folder(f"{KIND}.json")
    force: bool = force_switch()

    @property
    def corpus(self) -> Layout:
        return LAYOUTS[self.layout]

    @property
    def name(self) -> str:
        category = [self.category] if self.category else []
        return self.dataset or " ".join([self.corpus.name or self.folder.name, *category])

    @property
    def taught(self) -> list[str]:
        return self.train_languages or self.languages

    def check(self) -> None:
        """Refuse options that the layout has not, or lacks."""
        categories = self.corpus.categories
        if (self.category is not None) != bool(categories):
            expected = f"expected one, for example {categories[0]}" if categories else "expected none"
            raise InputError(f"--category: found {self.category} with --layout {self.layout}, {expected}")
        if self.train_size and not self.corpus.train_size:
            raise InputError(f"--train-size: expected none with --layout {self.layout}")
        if self.corpus.draws and self.train_size and not _is_even(self.train_size):
            raise InputError(f"--train-size {self.train_size}: expected an even number, half of each label")

    def files(self) -> dict[tuple[str, str], Path]:
        """(language, part) -> file: all three of the languages to teach in, test parts of the others."""
        parts = dict.fromkeys(self.taught, (TRAIN, VALID, TEST))
        size, category = self.train_size or self.corpus.train_size or "", self.category or ""
        return {
            (language, part): find_part(self.folder, self.corpus, language, part, size, category)
            for language in dict.fromkeys([*self.taught, *self.languages])
            for part in parts.get(language, (TEST,))
        }

    def read(self, part: str, path: Path) -> Part:
        """A file; of a training part as much as is asked for."""
        whole = self.corpus.read(path)
        if part != TRAIN or not self.corpus.draws:
            return whole
        return whole.some(int(self.train_size or self.corpus.train_size) // len(set(whole.labels)))


def _is_even(text: str) -> bool:
    number = natural(text) or 0
    return number > 0 and number % 2 == 0


def main(job: Classification) -> None:
    job.check()
    inputs = [*job.files().values(), *job.encoder.files(job.output)]
    write_result("embeddings", KIND, job, inputs, lambda: measure(job), job.output, job.force)


def measure(job: Classification) -> Measured:
    """Accuracy in per cent of every direction and initialization."""
    parts = {key: job.read(key[1], path) for key, path in job.files().items()}
    check_labels(job, parts)
    encoder = job.encoder.load()
    vectors = {
        key: encoder.encode(part.sentences, key[0])
        for key, part in progress(parts.items(), len(parts), "encode", "file")
    }
    labels = {key: np.array(part.labels) for key, part in parts.items()}
    rows = []
    for language in job.taught:
        pairs = [(vectors[language, part], labels[language, part]) for part in (TRAIN, VALID)]
        seeds = range(1, job.runs + 1)
        classify = teach(job.perceptron, *pairs, seeds, f"teach with {language}")
        for other in job.languages:
            right = classify(vectors[other, TEST]) == labels[other, TEST]
            for seed, hits in zip(seeds, right, strict=True):
                accuracy = {"accuracy": 100 * hits.mean()}
                rows += numbers(accuracy, direction=f"{language}-{other}", repeat=seed)
    for language in job.languages:
        tested = labels[language, TEST]
        rows += [
            row
            for taught in job.taught
            for row in numbers({"lines": len(tested)}, direction=f"{taught}-{language}")
        ]
    rows += numbers({"classes": len(set(labels[job.taught[0], TRAIN]))})
    run = {
        "system": encoder.system,
        "dataset": job.name,
        "train_examples": {language: len(labels[language, TRAIN]) for language in job.taught},
        "hyperparameters": {**vars(job.perceptron), "runs": job.runs},
    }
    measured = Measured(
        about=described_encoder(encoder) | {"versions": versions("torch", "numpy", "scikit-learn")}
    )
    measured.add(run, rows)
    return measured


def check_labels(job: Classification, parts: dict[tuple[str, str], Part]) -> None:
    """Refuse labels that nothing can be learned from."""
    taught = parts[job.taught[0], TRAIN]
    labels = set(taught.labels)
    if len(labels) < 2:
        raise InputError(f"{taught.path}: only the label {taught.labels[0]!r:.40}; expected at least two")
    for part in parts.values():
        for number, label in zip(part.lines, part.labels, strict=True):
            if label not in labels:
                raise InputError(f"{at(part.path, number)}: label {label!r:.40} is not in {taught.path}")
