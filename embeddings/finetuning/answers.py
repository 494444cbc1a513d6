"""Extractive question answering (MLQA, XQuAD): the answer is a part of a given context.

The head of the model gives every token two numbers, how well the answer begins and ends there
("Multilingual BERT Post-Pretraining Alignment", 2.3, 3.2; the defaults are those of 3.3).
"""

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from embeddings.finetuning.answer_scores import scores_of
from embeddings.finetuning.answer_windows import best_answer, count_windows, windows_of
from embeddings.finetuning.questions import Question, read_questions, switched_questions, with_place
from embeddings.finetuning.task import Hyperparameters, Predict, Reader, Scores, Task, Window

AT_A_TIME = 2_000  # questions whose windows are in memory: 50 MB


class Answers(Task):
    """A question and its context are one input of the encoder; two of its tokens are the ends of the answer.

    A language is that of the contexts, and so of the answers; questions may be of another one (MLQA's G-XLT).
    """

    name = "answers"
    title = "answers to questions in their contexts (MLQA)"
    corpus = "MLQA"
    measures = ("f1", "exact_match")
    model = "AutoModelForQuestionAnswering"
    defaults = Hyperparameters(epochs=2, batch_size=32, learning_rate=3e-5, warmup=1000, max_length=386)

    def read(self, path: Path, language: str) -> list[Question]:
        return read_questions(path)

    def learnable(self, examples: Sequence[Question], where: str) -> list[Question]:
        return with_place(examples, where)

    def classes(self, examples: Sequence[Question]) -> tuple[str, ...]:
        """What the head gives a number each, however many classes the encoder's configuration has."""
        return ("start", "end")

    def windows(self, example: Question, reader: Reader) -> list[Window]:
        return windows_of(example, reader)

    def count(self, example: Question, reader: Reader) -> int:
        return count_windows(example, reader)

    def measure(
        self, examples: Sequence[Question], language: str, reader: Reader, predict: Predict
    ) -> Scores:
        scores = []
        for start in range(0, len(examples), AT_A_TIME):
            some = examples[start : start + AT_A_TIME]
            windows = [windows_of(question, reader) for question in some]
            outputs = predict(list(chain.from_iterable(windows)))
            for question, own in zip(some, windows, strict=True):
                said = best_answer(question.context, own, islice(outputs, len(own)))
                scores.append(scores_of(said, question.answers, language))
        columns = 100 * np.array(scores, dtype=float).T
        return Scores.means_of(dict(zip(self.measures, columns, strict=True)))

    def switched(
        self, english: Sequence[Question], others: Sequence[Question], where: str
    ) -> list[tuple[Question, Question]]:
        return switched_questions(english, others, where)
