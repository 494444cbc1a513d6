"""Zero-shot cross-lingual classification: a perceptron over frozen vectors, taught in one language, tested in
others (MLDoc, thesis 2.4.5; CLS, 2.4.6).

The perceptron learns from the training part of one language, keeps the epoch that is best on the validation
part of the same language, and is tested on every language. Mean and standard deviation over --runs random
initializations.

Corpora are those of the thesis, MLDoc and two of Amazon reviews, or one's own: docs/embeddings.md says how
they are laid out.
"""

import copy
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.errors import InputError, at
from command_line.measurements import Measured, numbers
from command_line.numbers import natural
from command_line.option_classes import from_arguments
from command_line.progress import progress
from command_line.provenance import versions
from command_line.result_file import add_output_arguments, write_result
from data_prep.formats.texts import LANGUAGE
from embeddings.encoders.described import described_encoder
from embeddings.encoders.options import EncoderOptions, add_encoder_arguments
from embeddings.labelled_texts import LAYOUTS, TEST, TRAIN, VALID, Layout, Part, find_part

KIND = "classification"


@dataclass(frozen=True)
class Perceptron:
    """A multilayer perceptron with tanh, and how it learns; defaults are those of LASER's script for MLDoc,
    which has dropout of 0.2 besides.

    Attributes:
        hidden: widths of the hidden layers; none for a linear classifier.
        epochs: passes over the training part.
        batch: sentences of an update.
        learning_rate: of Adam.
        weight_decay: L2 penalty.
        standardize: vectors, by mean and deviation of the training part; otherwise they are read as they are.
    """

    hidden: list[int]
    epochs: int
    batch: int
    learning_rate: float
    weight_decay: float
    standardize: bool = False


@dataclass(frozen=True)
class Classification:
    """What is classified.

    Attributes:
        folder: the corpus.
        layout: a key of LAYOUTS.
        train_size: sentences to teach with; None for the paper's.
        category: of reviews, where the corpus has several.
        languages: codes.
        train_languages: those to teach in; None for all.
        dataset: name in tables.
        runs: initializations, seeds 1 to this.
    """

    encoder: EncoderOptions
    folder: Path
    layout: str
    train_size: str | None
    category: str | None
    languages: list[str]
    train_languages: list[str] | None
    dataset: str | None
    runs: int
    perceptron: Perceptron

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
        """Refuse options that the layout has not, or lacks.

        Raises:
            InputError: there is one.
        """
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
        found = self.corpus.read(path)
        if part != TRAIN or not self.corpus.draws:
            return found
        return found.some(int(self.train_size or self.corpus.train_size) // len(set(found.labels)))


def _is_even(text: str) -> bool:
    number = natural(text) or 0
    return number > 0 and number % 2 == 0


def add_arguments(parser) -> None:
    parser.add_argument("folder", type=types.path, metavar="DIR", help="the corpus")
    parser.add_argument(
        "--layout",
        choices=list(LAYOUTS),
        default="tsv",
        help="of DIR: LANG.train.tsv, .valid.tsv, .test.tsv; MLDoc (2.4.5); Amazon reviews of version 1 (cls)"
        " and version 2 (marc, 2.4.6)",
    )
    parser.add_argument(
        "--train-size",
        type=types.split,
        help="training sentences (default of mldoc: 1000, marc: 2000)",
    )
    parser.add_argument("--category", type=types.split, help="of cls: books, dvd or music")
    parser.add_argument(
        "--languages", required=True, type=types.items(LANGUAGE), metavar="LANG,…", help="to test in"
    )
    parser.add_argument(
        "--train-languages", type=types.items(LANGUAGE), metavar="LANG,…", help="to teach in (default: all)"
    )
    add_encoder_arguments(parser)
    parser.add_argument("--dataset", type=types.text, help="name in tables (default: MLDoc, or DIR's name)")
    parser.add_argument("--runs", type=types.positive, default=5, help="initializations (thesis: 5)")
    parser.add_argument(
        "--hidden",
        type=types.items(types.whole_number(0)),
        default=[10, 8],
        metavar="N,…",
        help="widths of the hidden layers; 0: none (default: 10,8)",
    )
    parser.add_argument("--epochs", type=types.positive, default=500, help="passes over the training part")
    parser.add_argument("--batch", type=types.positive, default=12, help="sentences of an update")
    parser.add_argument("--learning-rate", type=types.number(0, 1, above=True), default=1e-3, help="of Adam")
    parser.add_argument("--weight-decay", type=types.number(0, 1), default=0.0, help="L2 penalty")
    parser.add_argument(
        "--standardize",
        action="store_true",
        help="vectors by mean and deviation of the training part (default: as they are)",
    )
    add_output_arguments(parser, KIND)


def main(args) -> None:
    job = from_arguments(Classification, args)
    job.check()
    inputs = [*job.files().values(), *job.encoder.files(args.output)]
    write_result("embeddings", KIND, job, inputs, lambda: measure(job), args.output, args.force)


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
    for language, seed in progress(
        [(language, seed) for language in job.taught for seed in range(1, job.runs + 1)],
        len(job.taught) * job.runs,
        "teach",
        "run",
    ):
        pairs = [(vectors[language, part], labels[language, part]) for part in (TRAIN, VALID)]
        classify = teach(job.perceptron, *pairs, seed=seed)
        for other in job.languages:
            right = classify(vectors[other, TEST]) == labels[other, TEST]
            accuracy = {"accuracy": 100 * right.mean()}
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
    """Refuse labels that nothing can be learned from.

    Raises:
        InputError: a label that is not in the training part of the first language, or only one label.
    """
    known = parts[job.taught[0], TRAIN]
    labels = set(known.labels)
    if len(labels) < 2:
        raise InputError(f"{known.path}: only the label {known.labels[0]!r:.40}; expected at least two")
    for part in parts.values():
        for number, label in zip(part.lines, part.labels, strict=True):
            if label not in labels:
                raise InputError(f"{at(part.path, number)}: label {label!r:.40} is not in {known.path}")


def teach(options: Perceptron, train, valid, seed: int):
    """The function vectors -> labels of the epoch that is best on the validation part; the last of equals.

    Args:
        train, valid: vectors, n x C, and labels, n.
    """
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler(with_mean=options.standardize, with_std=options.standardize).fit(train[0])
    model = MLPClassifier(
        activation="tanh",
        hidden_layer_sizes=[width for width in options.hidden if width],
        batch_size=min(options.batch, len(train[1])),
        learning_rate_init=options.learning_rate,
        alpha=options.weight_decay,
        random_state=np.random.RandomState(seed),  # goes on from epoch to epoch; a number would begin anew
    )
    (vectors, labels), (held_out, gold) = ((scaler.transform(one), of) for one, of in (train, valid))
    classes = np.unique(labels)
    best, highest = None, -1.0
    for _ in range(options.epochs):
        model.partial_fit(vectors, labels, classes=classes)
        accuracy = float((model.predict(held_out) == gold).mean())
        if accuracy >= highest:
            best, highest = copy.deepcopy(model), accuracy
    return lambda given: best.predict(scaler.transform(given))
