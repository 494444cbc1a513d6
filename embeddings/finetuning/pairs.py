"""Classification of pairs of sentences: natural language inference (XNLI), paraphrases (PAWS-X).

The head of the model reads the first token's state, as transformers builds it for the kind of encoder: of
BERT its pooler and a linear layer ("Multilingual BERT Post-Pretraining Alignment", 2.3). Of a decoder such as
GPT-2 it reads the last token's.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from command_line.errors import InputError, at
from embeddings.finetuning.task import Hyperparameters, Predict, Reader, Scores, Task, Window
from embeddings.labelled_pairs import NONE, LabelledPair, check_label, read_labelled_pairs


@dataclass(frozen=True, slots=True)  # XNLI's training sets have millions
class Pair:
    """Two texts and the class of their relation."""

    first: str
    second: str
    label: str
    place: tuple[Path, int] = field(compare=False)


class Pairs(Task):
    """Two sentences are one input of the encoder; the state of one token says the class."""

    name = "pairs"
    title = "classes of pairs of sentences (XNLI)"
    corpus = "XNLI"
    measures = ("accuracy",)
    model = "AutoModelForSequenceClassification"
    defaults = Hyperparameters(epochs=2, batch_size=32, learning_rate=5e-5, warmup=1000, max_length=128)

    def read(self, path: Path, language: str) -> list[Pair]:
        pairs = [_of(pair, path) for pair in read_labelled_pairs(path, language) if pair.label != NONE]
        if not pairs:
            raise InputError(f"{path}: no pair of {language} that has a label; expected some")
        return pairs

    def classes(self, examples: Sequence[Pair]) -> tuple[str, ...]:
        labels = tuple(sorted({example.label for example in examples}))
        if len(labels) < 2:
            path = examples[0].place[0]
            raise InputError(f"{path}: only the label {labels[0]!r:.40}; expected at least two")
        return labels

    def check(self, examples: Sequence[Pair], classes: Sequence[str]) -> None:
        for example in examples:
            check_label(example.label, classes, *example.place)

    def windows(self, example: Pair, reader: Reader) -> list[Window]:
        check_label(example.label, reader.classes, *example.place)
        encoded = reader.tokenizer(example.first, example.second, truncation=True, max_length=reader.longest)
        return [{**encoded, "labels": reader.number_of(example.label)}]

    def measure(self, examples: Sequence[Pair], language: str, reader: Reader, predict: Predict) -> Scores:
        windows = [self.windows(example, reader)[0] for example in examples]
        answers = zip(predict(windows), windows, strict=True)
        right = [int(output["logits"].argmax()) == window["labels"] for output, window in answers]
        return Scores.means_of({"accuracy": 100.0 * np.array(right)})

    def baselines(self, examples: Sequence[Pair], classes: Sequence[str]) -> dict[str, float]:
        """The accuracy of the most frequent class, and of classes drawn with one probability each."""
        (most,) = Counter(example.label for example in examples).most_common(1)
        return {"majority": 100 * most[1] / len(examples), "chance": 100 / len(classes)}

    def switched(
        self, english: Sequence[Pair], others: Sequence[Pair], where: str
    ) -> list[tuple[Pair, Pair]]:
        if len(english) != len(others):
            raise InputError(
                f"{where}: {len(others)} pairs that have a label, and {len(english)} of English; expected"
                " translations of these, in their order"
            )
        for ours, theirs in zip(english, others, strict=True):
            if ours.label != theirs.label:
                raise InputError(
                    f"{at(*theirs.place)}: label {theirs.label!r:.40}, and of the English pair"
                    f" {ours.label!r:.40}; expected translations of the English pairs, in their order"
                )
        return [
            (
                Pair(theirs.first, ours.second, theirs.label, theirs.place),
                Pair(ours.first, theirs.second, theirs.label, theirs.place),
            )
            for ours, theirs in zip(english, others, strict=True)
        ]


def _of(pair: LabelledPair, path: Path) -> Pair:
    return Pair(pair.first, pair.second, pair.label, (path, pair.line))
