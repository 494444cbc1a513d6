"""What a model reads of a line, in token ids, and its states: checkpoints of fairseq, and folders of
`transformers`.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import torch

from command_line.errors import InputError
from command_line.options import shown
from data_prep.formats.directions import Direction
from data_prep.model_folders.loading import (
    check_complete,
    check_ids,
    load_configuration,
    load_model,
    load_tokenizer,
)
from embeddings.encoders.sentence_encoder import batches
from eval.probes.hidden_states import CheckpointStates, HiddenStates, Tokens
from eval.probes.line_states import LineStates
from eval.probes.store import NO_TOKEN, SIDES
from eval.translation.evaluated_model import EvaluatedModel
from eval.translation.fairseq_model import FairseqModel
from eval.translation.transformers_model import OPTION, TransformersModel
from eval.translation.translator import Sentence, Translator, TranslatorOptions
from fairseq_ext.data.multilingual_dataset import DirectionData

KIND = "models of transformers"


class Reader(ABC):
    """A loaded model.

    Attributes:
        tags: token ids that are no words: of languages, and others that mark a line.
        eos: the token that ends what the encoder reads and that begins what the decoder reads; `NO_TOKEN`
            where nothing ends a line.
        translator: of the same model; None of one that does not translate.
    """

    hidden: HiddenStates | CheckpointStates
    tags: list[int]
    eos: int
    translator: Translator | None

    @property
    def has_decoder(self) -> bool:
        """Are there states of a decoder?"""
        return self.translator is not None

    @abstractmethod
    def tokens(
        self, lines: Sequence[str], direction: Direction, references: Sequence[str] | None
    ) -> list[Tokens]:
        """What the model is given for lines that have words."""

    def numbers(self, ids: Sequence[int], side: str) -> Sequence[int]:
        """The numbers of a side's tokens in one vocabulary of both sides."""
        return ids

    @abstractmethod
    def names(self, numbers: Sequence[int]) -> list[str]:
        """Tokens of both sides' vocabulary as they are written."""

    def states(
        self,
        lines: Sequence[str],
        source: str,
        target: str | None = None,
        references: Sequence[str] | None = None,
        max_tokens: int = 4096,
    ) -> list[LineStates]:
        """The states of lines, in their order.

        Args:
            target: language that a model that translates is asked for; of other models, what the lines are
                called a translation into.
            references: what the decoder is given; None: its own output.

        Raises:
            InputError: a line has no words; there are other references than lines; no target where one is
                needed; a language that the model does not know.
        """
        if self.has_decoder and target is None:
            raise InputError("states: the model translates; expected a target language")
        if references is not None and len(references) != len(lines):
            raise InputError(f"states: {len(references)} references for {len(lines)} lines")
        for number, line in enumerate(lines, 1):
            if not line.strip():
                raise InputError(f"states: line {number} has no words; leave it out")
        rows = self.tokens(lines, (source, target), references)
        by_line: dict[int, LineStates] = {}
        for batch in batches([row.longest for row in rows], max_tokens):
            states = self.hidden([rows[number] for number in batch])
            for place, number in enumerate(batch):
                sides: list = []
                for side in SIDES:
                    ids = getattr(rows[number], side)
                    by_layer = {
                        name: states[side][layer, place, : len(ids)].cpu().numpy()
                        for layer, name in enumerate(self.hidden.layers[side])
                    }
                    sides += [by_layer, self.names(self.numbers(ids, side))]
                by_line[number] = LineStates(source, target, *sides)
        return [by_line[number] for number in range(len(rows))]

    def _sentences(self, lines: Sequence[str], direction: Direction) -> list[Sentence]:
        """One of every line; the end of one that is too long is cut."""
        self.translator.check(*direction)
        sentences = []
        for line in lines:
            parts = self.translator.sentences(line, direction, shown(line))
            if not parts:
                raise _without_tokens(line)
            sentences.append(parts[0])
        return sentences


def _without_tokens(line: str) -> InputError:
    return InputError(f"no tokens for the line {shown(line)}; leave it out of the data")


class TranslationReader(Reader):
    """An encoder-decoder, which translates."""

    def __init__(self, model: TransformersModel, options: TranslatorOptions):
        self.translator = model.translator(options)
        self.hidden = HiddenStates(self.translator.network, model.checkpoint, self.translator.first_token)
        self.tags = sorted(self.translator.languages.tag_ids)
        self.eos = self.translator.tokenizer.eos_token_id

    def tokens(
        self, lines: Sequence[str], direction: Direction, references: Sequence[str] | None
    ) -> list[Tokens]:
        sentences = self._sentences(lines, direction)
        if references is None:
            outputs = self.translator.outputs(sentences)
        else:
            outputs = [self.translator.reference_ids(line, direction) for line in references]
        begin = self.translator.begin(direction)
        return [
            Tokens(self.translator.row(sentence), [*begin, *output])
            for sentence, output in zip(sentences, outputs, strict=True)
        ]

    def names(self, numbers: Sequence[int]) -> list[str]:
        return self.translator.tokenizer.convert_ids_to_tokens(list(numbers))


class CheckpointReader(Reader):
    """A translation model of fairseq, ours or stock."""

    def __init__(self, model: EvaluatedModel | FairseqModel, options: TranslatorOptions):
        from eval.translation.decoding import build_decoder

        self.translator = model.translator(options)
        loaded, task = self.translator.loaded, self.translator.loaded.task
        self._decoder = build_decoder(loaded, options.decoding, keep_tags=True)
        self.source_dictionary, self.dictionary = task.source_dictionary, task.dictionary
        self._is_joint = self.dictionary == self.source_dictionary
        self._symbols = [
            *self.source_dictionary.symbols,
            *self.dictionary.symbols[self.dictionary.nspecial :],
        ]
        self.tags = sorted(task.tags.all_ids())
        self.eos = self.dictionary.eos()
        self.hidden = CheckpointStates(loaded.model, self.dictionary.pad(), model.checkpoint)

    def tokens(
        self, lines: Sequence[str], direction: Direction, references: Sequence[str] | None
    ) -> list[Tokens]:
        sources = self.translator.sources(direction, self._sentences(lines, direction))
        if references is None:
            outputs = self._outputs(sources)
        else:
            outputs = [self.translator.reference_ids(line, direction) for line in references]
        return tokens_of(sources, outputs, self.eos)

    def numbers(self, ids: Sequence[int], side: str) -> Sequence[int]:
        """If the sides have different dictionaries, the target's symbols come behind the source's. Special
        symbols have the same numbers in both.
        """
        if side == "encoder" or self._is_joint:
            return ids
        special, behind = self.dictionary.nspecial, len(self.source_dictionary) - self.dictionary.nspecial
        return [number if number < special else number + behind for number in ids]

    def names(self, numbers: Sequence[int]) -> list[str]:
        return [self._symbols[number] for number in numbers]

    def _outputs(self, sources: DirectionData) -> list[list[int]]:
        """The best translation of every sentence, without forced tag and `</s>`."""
        outputs: dict[int, list[int]] = {}
        for numbers, hypotheses in self._decoder.translate([sources]):
            outputs.update(zip(numbers, hypotheses, strict=True))
        return [outputs[number] for number in range(len(sources))]


def tokens_of(sources: DirectionData, outputs: Sequence[Sequence[int]], eos: int) -> list[Tokens]:
    """What a model of fairseq is given."""
    start = eos if sources.decoder_start is None else sources.decoder_start
    begin = [start, *sources.target_tags]
    announced = sources.source_ending[len(sources.source_ending) - sources.announced :]
    return [
        Tokens(sources.sentence(number).tolist(), [*begin, *output], announced)
        for number, output in enumerate(outputs)
    ]


class TextReader(Reader):
    """An encoder or a causal model, which reads a line as it is, without a prompt."""

    translator = None

    def __init__(self, model: TransformersModel, options: TranslatorOptions):
        from fairseq_ext.checkpoints.finite import check_weights
        from fairseq_ext.models.pretrained_weights import longest_of

        folder = model.checkpoint
        self.tokenizer = load_tokenizer(folder, OPTION, KIND)
        network, notes = load_model(folder, OPTION, KIND, dtype="float32")
        check_complete(folder, notes["missing_keys"], with_pooler=False, option=OPTION)
        check_ids(self.tokenizer, network, folder, OPTION)
        check_weights(network, f"{OPTION} {folder}")
        cpu = options.decoding.cpu or not torch.cuda.is_available()
        self.hidden = HiddenStates(network.eval().to("cpu" if cpu else "cuda"), folder)
        self.longest = min(self.tokenizer.model_max_length, longest_of(network))
        special = set(self.tokenizer.all_special_ids)
        ending = self.tokenizer("a")["input_ids"][-1]
        self.eos = ending if ending in special else NO_TOKEN
        self.tags = sorted(special - {self.eos, self.tokenizer.unk_token_id})

    def tokens(
        self, lines: Sequence[str], direction: Direction, references: Sequence[str] | None
    ) -> list[Tokens]:
        limit = {"truncation": True, "max_length": self.longest}
        rows = self.tokenizer(list(lines), **limit)["input_ids"]
        for line, row in zip(lines, rows, strict=True):
            if not row:
                raise _without_tokens(line)
        return [Tokens(row, []) for row in rows]

    def names(self, numbers: Sequence[int]) -> list[str]:
        return self.tokenizer.convert_ids_to_tokens(list(numbers))


@functools.cache
def is_encoder_decoder(folder: Path) -> bool:
    return load_configuration(folder, OPTION, KIND).is_encoder_decoder


def load_reader(
    model: EvaluatedModel | FairseqModel | TransformersModel, options: TranslatorOptions
) -> Reader:
    """The model in a folder.

    Raises:
        InputError: it cannot be read.
    """
    if not isinstance(model, TransformersModel):
        return CheckpointReader(model, options)
    kind = TranslationReader if is_encoder_decoder(model.checkpoint) else TextReader
    return kind(model, options)
