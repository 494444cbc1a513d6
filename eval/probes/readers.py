"""What a model of `transformers` reads of a line, in token ids, and its states: the models of `probe states`
whose checkpoint is a folder of `transformers`.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from command_line.errors import InputError
from data_prep.formats.directions import Direction
from data_prep.model_folders.loading import (
    check_complete,
    check_ids,
    load_configuration,
    load_model,
    load_tokenizer,
)
from eval.probes.hidden_states import HiddenStates
from eval.probes.store import NO_TOKEN
from eval.translation.transformers_model import OPTION, TransformersModel
from eval.translation.translator import TranslatorOptions

KIND = "models of transformers"


class Tokens(NamedTuple):
    """What the two sides of a model are given for a line.

    Attributes:
        encoder: with all tags and `</s>`.
        decoder: `</s>` (or what else begins the output), tag, w1 … wn; empty for a model without a decoder.
    """

    encoder: list[int]
    decoder: list[int]


class Reader(ABC):
    """A loaded model.

    Attributes:
        hidden: its states.
        tags: token ids that are no words: of languages, and others that mark a line.
        eos: the token that ends what the encoder reads and that begins what the decoder reads; `NO_TOKEN`
            where nothing ends a line.
        has_decoder: are there states of a decoder?
    """

    hidden: HiddenStates
    tags: list[int]
    eos: int
    has_decoder: bool

    @abstractmethod
    def tokens(
        self, lines: Sequence[str], direction: Direction, references: Sequence[str] | None
    ) -> list[Tokens]:
        """What the model is given for lines that have words.

        Args:
            references: what the decoder is given; None: its own output.
        """

    @abstractmethod
    def names(self, ids: Sequence[int]) -> list[str]:
        """Tokens as they are written."""

    def batches(self, rows: Sequence[Tokens], max_tokens: int) -> Iterator[list[int]]:
        """Numbers of rows of similar lengths, with at most so many tokens with padding, or one row."""
        lengths = [max(len(row.encoder), len(row.decoder)) for row in rows]
        batch: list[int] = []
        for number in sorted(range(len(rows)), key=lambda number: -lengths[number]):
            if batch and lengths[batch[0]] * (len(batch) + 1) > max_tokens:
                yield batch
                batch = []
            batch.append(number)
        if batch:
            yield batch


class TranslationReader(Reader):
    """An encoder-decoder, which translates."""

    def __init__(self, model: TransformersModel, options: TranslatorOptions):
        self.translator = model.translator(options)
        self.hidden = HiddenStates(self.translator.network, model.checkpoint, self.translator.first_token)
        self.tags, self.eos = (
            sorted(self.translator.languages.tag_ids),
            self.translator.tokenizer.eos_token_id,
        )
        self.has_decoder = True

    def tokens(
        self, lines: Sequence[str], direction: Direction, references: Sequence[str] | None
    ) -> list[Tokens]:
        self.translator.check(*direction)
        sentences = [self.translator.sentences(line, direction, f"{line:.40}")[0] for line in lines]
        if references is None:
            outputs = self.translator.outputs(sentences)
        else:
            outputs = [self.translator.reference_ids(line, direction) for line in references]
        begin = self.translator.begin(direction)
        return [
            Tokens(self.translator.row(sentence), [*begin, *output])
            for sentence, output in zip(sentences, outputs, strict=True)
        ]

    def names(self, ids: Sequence[int]) -> list[str]:
        return self.translator.tokenizer.convert_ids_to_tokens(list(ids))


class TextReader(Reader):
    """An encoder or a causal model, which reads a line as it is, without a prompt."""

    has_decoder = False

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
                raise InputError(f"no tokens for the line {line!r:.60}; leave it out of the data")
        return [Tokens(row, []) for row in rows]

    def names(self, ids: Sequence[int]) -> list[str]:
        return self.tokenizer.convert_ids_to_tokens(list(ids))


@functools.cache
def is_encoder_decoder(folder: Path) -> bool:
    return load_configuration(folder, OPTION, KIND).is_encoder_decoder


def load_reader(model: TransformersModel, options: TranslatorOptions) -> Reader:
    """The model in a folder.

    Raises:
        InputError: it cannot be read.
    """
    kind = TranslationReader if is_encoder_decoder(model.checkpoint) else TextReader
    return kind(model, options)
