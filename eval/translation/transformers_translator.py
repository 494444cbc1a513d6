"""An encoder-decoder of `transformers` as a `Translator`."""

import functools
from collections.abc import Iterator, Sequence

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from data_prep.model_folders.loading import check_rows, load_configuration, load_tokenizer
from eval.translation.transformers_languages import KIND, OPTION, Marks, languages_of, model_code
from eval.translation.translator import Candidate, Sentence, Translator, TranslatorOptions

UNLIMITED = 1_000_000  # of a tokenizer without a limit, which says 1e30


class TransformersTranslator(Translator):
    """A model that is loaded.

    Raises:
        InputError: options that its search does not have; a folder that does not pass the gate, of another
            kind, without a tokenizer, or whose tokenizer has more ids than the model has vectors.
    """

    def __init__(self, model, options: TranslatorOptions):
        super().__init__(options)
        _refuse_ours(options)
        self.folder, self.codes = model.checkpoint, model.codes
        config = load_configuration(self.folder, OPTION, KIND)
        if not config.is_encoder_decoder:
            raise InputError(
                f"{OPTION} {self.folder}: a {config.model_type}, which is no encoder-decoder; `llm translate`"
                " asks language models"
            )
        self.tokenizer = load_tokenizer(self.folder, OPTION, KIND)
        for name in ("eos_token", "unk_token"):
            if getattr(self.tokenizer, f"{name}_id") is None:
                raise InputError(f"{OPTION} {self.folder}: its tokenizer has no {name}; expected one")
        self.languages = languages_of(self.tokenizer, config, self.folder, model.source_prefix)
        ids = {*self.tokenizer.get_vocab().values(), *self.tokenizer.all_special_ids, *self.languages.tag_ids}
        check_rows(max(ids - {None}), config.vocab_size or 0, self.folder, OPTION)
        limits = [getattr(config, "max_position_embeddings", None), self.tokenizer.model_max_length]
        self.longest = min((limit for limit in limits if limit and 0 < limit < UNLIMITED), default=None)
        self.marks = functools.cache(self._marks)
        self._search = _search(model, self.tokenizer, options)

    def check(self, source: str, target: str) -> None:
        own_source, own_target = self._own_codes((source, target))
        if not self.languages.has(own_source, own_target):
            raise InputError(f"direction {source}-{target}: not among those of {self.folder}")

    def room(self, direction: Direction) -> int | None:
        marks = self.marks(direction)
        return None if self.longest is None else self.longest - len(marks.before) - len(marks.behind)

    def ids(self, text: str, language: str) -> list[int]:
        text = text.strip()
        return self.languages.ids(text) if text else []

    def search(
        self, sentences: Sequence[Sentence], count: int, with_scores: bool
    ) -> Iterator[tuple[list[int], list[list[Candidate]]]]:
        for numbers, lists in self._searched(sentences, count, with_scores):
            yield numbers, [[Candidate(self._text(ids), score) for ids, score in each] for each in lists]

    def _searched(
        self, sentences: Sequence[Sentence], count: int, with_scores: bool
    ) -> Iterator[tuple[list[int], list[list[tuple[list[int], float]]]]]:
        """As `search`, with token ids in place of texts."""
        rows = [self.row(sentence) for sentence in sentences]
        for numbers in self._batches(sentences, rows):
            forced = self.marks(sentences[numbers[0]].direction).forced
            batch = [rows[number] for number in numbers]
            yield numbers, self._search.n_best(batch, forced, count, with_scores)

    @property
    def network(self):
        """The model of torch, of the engine of `transformers`."""
        return self._search.model

    @property
    def first_token(self) -> int:
        """What begins the decoder's input."""
        return self._search.tokens["decoder_start_token_id"]

    def row(self, sentence: Sentence) -> list[int]:
        """What the encoder reads of a sentence."""
        before, behind, _ = self.marks(sentence.direction)
        return [*before, *sentence.ids, *behind]

    def begin(self, direction: Direction) -> list[int]:
        """What the decoder reads in front of a translation; what begins it is written as `</s>`."""
        forced = self.marks(direction).forced
        return [self.tokenizer.eos_token_id, *([] if forced is None else [forced])]

    def outputs(self, sentences: Sequence[Sentence]) -> list[list[int]]:
        """Token ids of the best translation of every sentence, without tag and `</s>`."""
        outputs: dict[int, list[int]] = {}
        for numbers, lists in self._searched(sentences, 1, with_scores=False):
            forced = self.marks(sentences[numbers[0]].direction).forced
            for number, ((ids, _),) in zip(numbers, lists, strict=True):
                outputs[number] = self._words(ids, forced)
        return [outputs[number] for number in range(len(sentences))]

    def reference_ids(self, text: str, direction: Direction) -> list[int]:
        """Token ids of a reference, without tag and `</s>`; cut where the decoder's positions end."""
        if hasattr(self.tokenizer, "tgt_lang"):  # else it marks a target that it was not told
            _, self.tokenizer.tgt_lang = self._own_codes(direction)
        ids = self.tokenizer(text_target=text.strip(), add_special_tokens=False)["input_ids"]
        return ids if self.longest is None else ids[: self.longest - len(self.begin(direction))]

    def _words(self, ids: list[int], forced: int | None) -> list[int]:
        """What lies between the first token, the tag, and `</s>` or padding."""
        words = ids[1 if forced is None else 2 :]
        ends = {self.tokenizer.eos_token_id, self.tokenizer.pad_token_id}
        return words[: next((place for place, token in enumerate(words) if token in ends), len(words))]

    def _own_codes(self, direction: Direction) -> Direction:
        sides = (self.languages.sources, self.languages.targets)
        source, target = (
            model_code(code, side, self.codes, self.folder)
            for code, side in zip(direction, sides, strict=True)
        )
        return source, target

    def _marks(self, direction: Direction) -> Marks:
        return self.languages.marks(*self._own_codes(direction))

    def _batches(self, sentences: Sequence[Sentence], rows: Sequence[list[int]]) -> Iterator[list[int]]:
        """Batches of similar lengths, the longest first; those of a batch have the same forced token."""
        order = sorted(range(len(rows)), key=lambda number: -len(rows[number]))
        open_batches: dict[int | None, list[int]] = {}
        for number in order:
            forced = self.marks(sentences[number].direction).forced
            batch = open_batches.setdefault(forced, [])
            if batch and len(rows[batch[0]]) * (len(batch) + 1) > self.options.decoding.max_tokens:
                yield open_batches.pop(forced)
                batch = open_batches.setdefault(forced, [])
            batch.append(number)
        yield from open_batches.values()

    def _text(self, ids: list[int]) -> str:
        return " ".join(self.tokenizer.decode(ids, skip_special_tokens=True).split())


def _search(model, tokenizer, options: TranslatorOptions):
    """What computes the search: a `GenerateSearch`, or what has the same `n_best`."""
    if options.engine.is_ctranslate2:
        from eval.translation.transformers_ctranslate2 import Ctranslate2Search

        return Ctranslate2Search(model, tokenizer, options)
    from eval.translation.transformers_generate import GenerateSearch

    return GenerateSearch(model.checkpoint, options)


def _refuse_ours(options: TranslatorOptions) -> None:
    """Refuse options that only the search of this project has."""
    ours = {
        "--score-without-tag": options.decoding.search.score_without_tag,
        "--length-candidates": options.lengths.length_candidates > 1,
        "--source-contrast": bool(options.contrast.source_contrast),
        "--language-contrast": bool(options.contrast.language_contrast),
        "--language-rescoring": bool(options.rescoring.language_rescoring),
    }
    for name, is_given in ours.items():
        if is_given:
            raise InputError(
                f"{name}: needs a checkpoint of fairseq, found a folder of transformers; leave it out"
            )
