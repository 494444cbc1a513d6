"""Raw text in, detokenized text out: a trained system as a function.

    translator = Translator("systems/europarl")
    translator.translate(["Guten Morgen!"], "de", "fr")

The folder is one of `python -m fairseq_ext package`. Hypotheses are those that `eval translate` finds for the
same sentences in a test set.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from command_line.errors import InputError
from data_prep.formats.directions import format_direction
from data_prep.formats.preparation import Preparation
from data_prep.languages import is_unspaced
from eval.translation.evaluated_model import EvaluatedModel
from eval.translation.long_lines import CHOICES, CUT, SPLIT, split_to_fit
from eval.translation.translation_options import TranslationOptions


class Candidate(NamedTuple):
    """A translation of a line.

    Attributes:
        text: detokenized.
        score: log-probability / length^lenpen; of a line that was split, the mean over its parts.
    """

    text: str
    score: float


@dataclass(frozen=True)
class TranslatorOptions(TranslationOptions):
    """How text is translated.

    Attributes:
        n_best: candidates of a line, at most the beam.
        long_lines: what becomes of lines that are longer than the model reads: CUT or SPLIT.

    Raises:
        InputError: an `n_best` below 1; other `long_lines`.
    """

    n_best: int = 1
    long_lines: str = CUT

    def __post_init__(self):
        if self.n_best < 1:
            raise InputError(f"n_best {self.n_best}: expected 1 or more")
        if self.long_lines not in CHOICES:
            raise InputError(f"long_lines {self.long_lines!r}: expected one of {', '.join(CHOICES)}")


class Translator:
    """A trained system, ready to translate.

    Args:
        system: a packaged folder, or an `EvaluatedModel` of a checkpoint with its data.
        options: of the search.

    Raises:
        InputError: as `load_for_inference`; options that do not go together.
    """

    def __init__(self, system, options: TranslatorOptions | None = None):
        self.options = options = options or TranslatorOptions()
        if options.n_best > options.decoding.search.beam:
            raise InputError(
                f"--n-best {options.n_best}: a beam of {options.decoding.search.beam} finds no more;"
                " give a larger --beam"
            )
        if options.lengths.length_candidates > 1 and options.n_best > 1:
            raise InputError("--n-best: not with --length-candidates, whose search keeps the best hypothesis")
        options.check()
        model = system if isinstance(system, EvaluatedModel) else EvaluatedModel.packaged(system)
        self._preparation = Preparation.load(model.data)
        loaded = model.load_translating(autocast_bf16=options.bf16)
        self._task = loaded.task
        self._decoder = options.decoder(model, loaded)

    def check(self, source: str, target: str) -> None:
        """Refuse a direction that the system cannot translate.

        Raises:
            InputError: names the languages or directions that it knows.
        """
        tags, supervised = self._task.tags, self._task.supervised
        tags.id_of(source), tags.id_of(target)
        if not tags.exist and (source, target) not in supervised:
            known = ", ".join(map(format_direction, supervised))
            raise InputError(f"direction {source}-{target}: the model translates {known} only")
        for language in (source, target):
            if language not in self._preparation.tokenizers:
                raise InputError(f"language {language!r}: the folder does not say how its text is tokenized")

    def translate(self, lines: Iterable[str], source: str, target: str, first_line: int = 1) -> list[str]:
        """The best translation of every line; of a line without words it is empty.

        Args:
            lines: any number of texts; one text alone is refused, as its characters would be the lines.
            first_line: its number, for warnings.

        Raises:
            InputError: as `check`; lines that are no texts; the model's scores are no numbers.
        """
        found = self.candidates(lines, source, target, first_line)
        return [candidates[0].text if candidates else "" for candidates in found]

    def candidates(
        self, lines: Iterable[str], source: str, target: str, first_line: int = 1
    ) -> list[list[Candidate]]:
        """The best `n_best` translations of every line, best first; a line without words has none.

        Args:
            first_line: its number, for warnings.
        """
        from eval.translation.decoding import sources_of

        self.check(source, target)
        lines = _texts(lines, first_line)
        direction = (source, target)
        room = self._room(direction)
        parts, line_of = [], []
        for number, line in enumerate(lines):
            of_line = self._parts(line, source, room, first_line + number)
            parts += of_line
            line_of += [number] * len(of_line)
        found: list[list[list[Candidate]]] = [[] for _ in lines]
        if parts:
            sizes = np.array([len(part) for part in parts])
            sources = sources_of(self._task, direction, parts, sizes)
            of_parts = self._searched(sources)
            for number, hypotheses in zip(line_of, of_parts, strict=True):
                found[number].append([Candidate(self._text(target, ids), score) for ids, score in hypotheses])
        separator = "" if is_unspaced(target) else " "
        return [_joined(candidates, separator) for candidates in found]

    def _room(self, direction) -> int:
        """Most tokens of a line that the model reads, without tags and `</s>`."""
        tags = self._task.tags
        around = len(tags.encoder_ids(*direction)) + len(tags.source_ending_ids(*direction))
        return self._task.max_positions()[0] - around - 1

    def _parts(self, line: str, source: str, room: int, number: int) -> list[np.ndarray]:
        """Token ids with `</s>` of what is translated at once: the line, or its sentences."""
        ids = self._ids(line, source)
        parts = [ids] if ids else []
        if len(ids) > room and self.options.long_lines == SPLIT:
            parts = list(split_to_fit(line, lambda text: self._ids(text, source), room))
        elif len(ids) > room:
            print(
                f"warning: line {number}: {len(ids)} tokens, the model reads {room}: its end was cut;"
                " --long-lines split translates it in parts",
                file=sys.stderr,
            )
        return [np.array([*part[:room], self._task.dictionary.eos()]) for part in parts]

    def _ids(self, text: str, language: str) -> list[int]:
        """As in binarized data: a language tag that is written in a text is an unknown word."""
        dictionary, words = self._task.dictionary, self._task.base_vocabulary_size
        ids = map(dictionary.index, self._preparation.segment(language, text).split())
        return [index if index < words else dictionary.unk() for index in ids]

    def _searched(self, sources) -> list[list[tuple[list[int], float]]]:
        """Hypotheses of every part."""
        found: dict[int, list[tuple[list[int], float]]] = {}
        for numbers, hypotheses in self._decoder.n_best([sources], self.options.n_best):
            found.update(zip(numbers, hypotheses, strict=True))
        return [found[number] for number in range(len(sources))]

    def _text(self, language: str, ids: Iterable[int]) -> str:
        from eval.translation.decoding import text_of

        return text_of(self._preparation, self._task.dictionary, language, ids)


def _texts(lines: Iterable[str], first_line: int) -> list[str]:
    if isinstance(lines, str | bytes):
        raise InputError(f"lines: found one text, {lines[:40]!r}, expected a list of them")
    lines = list(lines)
    for number, line in enumerate(lines, start=first_line):
        if not isinstance(line, str):
            raise InputError(f"line {number}: found {line!r:.40}, expected a text")
    return lines


def _joined(parts: list[list[Candidate]], separator: str) -> list[Candidate]:
    """Candidates of a line from those of its parts: the k-th of each, or its last."""
    count = max(map(len, parts), default=0)
    ranked = [[part[min(rank, len(part) - 1)] for part in parts] for rank in range(count)]
    return [
        Candidate(
            separator.join(one.text for one in chosen if one.text),
            sum(one.score for one in chosen) / len(chosen),
        )
        for chosen in ranked
    ]
