"""A checkpoint with its data, or a folder of `fairseq_ext package`, as a `Translator`."""

from collections.abc import Iterator, Sequence

import numpy as np

from command_line.errors import InputError
from data_prep.formats.directions import Direction, format_direction
from eval.translation.decoding import sources_of, text_of
from eval.translation.translator import Candidate, Sentence, Translator, TranslatorOptions
from fairseq_ext.data.multilingual_dataset import DirectionData


class CheckpointTranslator(Translator):
    """A trained system, ready to translate.

    Args:
        model: an `EvaluatedModel` or a `FairseqModel`.

    Raises:
        InputError: as `load_for_inference`; options that do not go together.
    """

    def __init__(self, model, options: TranslatorOptions):
        super().__init__(options)
        self._preparation = model.preparation()
        self.loaded = loaded = model.load_translating(autocast_bf16=options.bf16)
        self._task = loaded.task
        self.supervised = frozenset(loaded.task.supervised)
        self._decoder = options.decoder(model, loaded)

    @property
    def decoder_tokens(self) -> int | None:
        return self._decoder.cost["decoder_tokens"]

    def check(self, source: str, target: str) -> None:
        tags, supervised = self._task.tags, self._task.supervised
        tags.id_of(source), tags.id_of(target)
        if not tags.exist and (source, target) not in supervised:
            names = ", ".join(map(format_direction, supervised))
            raise InputError(f"direction {source}-{target}: the model translates {names} only")
        for language in (source, target):
            if language not in self._preparation.tokenizers:
                raise InputError(f"language {language!r}: the folder does not say how its text is tokenized")

    def room(self, direction: Direction) -> int:
        tags = self._task.tags
        around = len(tags.encoder_ids(*direction)) + len(tags.source_ending_ids(*direction))
        return self._task.max_positions()[0] - around - 1

    def ids(self, text: str, language: str) -> list[int]:
        """As in binarized data: a language tag that is written in a text is an unknown word."""
        return self._ids(text, language, self._task.source_dictionary)

    def reference_ids(self, text: str, direction: Direction) -> list[int]:
        """Token ids of a reference, without tag and `</s>`; cut where the decoder's positions end."""
        ids = self._ids(text, direction[1], self._task.dictionary)
        return ids[: self._task.max_positions()[1] - len(self._task.tags.decoder_ids(direction[1])) - 1]

    def _ids(self, text: str, language: str, dictionary) -> list[int]:
        words = self._task.base_vocabulary_size if self._task.tags.exist else len(dictionary)
        ids = map(dictionary.index, self._preparation.segment(language, text).split())
        return [index if index < words else dictionary.unk() for index in ids]

    def search(
        self, sentences: Sequence[Sentence], count: int, with_scores: bool
    ) -> Iterator[tuple[list[int], list[list[Candidate]]]]:
        by_direction: dict[Direction, list[int]] = {}
        for number, sentence in enumerate(sentences):
            by_direction.setdefault(sentence.direction, []).append(number)
        order = [number for numbers in by_direction.values() for number in numbers]
        sources = [
            self.sources(direction, [sentences[number] for number in numbers])
            for direction, numbers in by_direction.items()
        ]
        for places, batch in self._decoder.n_best(sources, count):
            numbers = [order[place] for place in places]
            targets = [sentences[number].direction[1] for number in numbers]
            yield (
                numbers,
                [
                    [Candidate(self._text(target, ids), score) for ids, score in hypotheses]
                    for target, hypotheses in zip(targets, batch, strict=True)
                ],
            )

    def sources(self, direction: Direction, sentences: Sequence[Sentence]) -> DirectionData:
        """As the model reads them, with tags."""
        rows = [np.array([*sentence.ids, self._task.dictionary.eos()]) for sentence in sentences]
        return sources_of(self._task, direction, rows, np.array([len(row) for row in rows]))

    def _text(self, language: str, ids: list[int]) -> str:
        return text_of(self._preparation, self._task.dictionary, language, ids)
