"""What a loss is: the interface between the losses of this folder and whoever trains with them.

A loss declares what it needs (fields of the batch, arguments of the decoder), is given what the model has
computed, and returns a `Term`. It knows neither the task nor the other losses, nor need it know whether there
is a decoder.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from command_line.errors import InputError
from fairseq_ext.modules.pooling import sentence_means


@dataclass(frozen=True)
class ModelSizes:
    """What a loss must know of the model to build its own parameters."""

    encoder_width: int  # C of the encoder's output
    decoder_layers: int | None  # None where there are none, or none that are counted
    vocabulary: int
    padding: int  # token id
    has_decoder: bool = True
    sentence_width: int | None = None  # of `vectors_of`; None: as wide as the encoder
    bos: int = 0  # token ids
    eos: int = 2
    languages: int = 0  # that have a tag: `source_languages` and `target_languages` are below it
    pooled_width: int | None = None  # of `pooled_vectors_of`, where there are any
    mask: int | None = None  # token id, where the encoder has one
    teacher_width: int | None = None  # of the batch field "teacher", if the task has a teacher
    word_head: Callable[[], Any] | None = None  # what predicts words above an encoder that has learned to
    above_tokens: tuple[str, ...] = ()  # options with which a vector has parameters of its own

    @classmethod
    def of(cls, model, dictionary, languages: Sequence[str] = ()) -> "ModelSizes":
        """Sizes of a fairseq model over a joint dictionary: encoder and decoder, or encoder alone.

        Args:
            languages: that the task has tags for.
        """
        width = model.encoder.embed_tokens.embedding_dim
        return cls(
            encoder_width=width,
            decoder_layers=getattr(model.decoder, "num_layers", None) if has_decoder(model) else None,
            vocabulary=len(dictionary),
            padding=dictionary.pad(),
            bos=dictionary.bos(),
            eos=dictionary.eos(),
            has_decoder=has_decoder(model),
            sentence_width=getattr(model.encoder, "sentence_width", width),
            languages=len(languages),
            pooled_width=getattr(model.encoder, "pooled_width", None),
            mask=getattr(model.encoder, "mask", None),
            word_head=getattr(model.encoder, "word_head", None),
            above_tokens=getattr(model.encoder, "above_tokens", ()),
        )


def has_decoder(model) -> bool:
    return getattr(model, "decoder", None) is not None


@dataclass
class ModelOutputs:
    """What the model has computed for a batch.

    Encoder outputs are fairseq's dictionaries, with whatever a model adds to them. "encoder_out" holds one
    tensor, T x B x C, what a decoder would look at, and "encoder_padding_mask" one, B x T, true at padding;
    losses ask `states_of`, `padding_of`, `read_by` and `vectors_of`.
    """

    source: Mapping[str, Any]  # encoder output of the source sentences
    mirror: Mapping[str, Any] | None = None  # of the mirror; None unless a loss looks at it
    decoder: Mapping[str, Any] | None = None  # the decoder's further outputs, for instance "attn", if any
    token_embeddings: Tensor | None = None  # of the encoder, V x C
    encoder: nn.Module | None = None  # itself, for losses that run it
    pairs_at_once: int = 0  # sentence pairs whose activations may exist at a time; 0: all


def states_of(encoder_out: Mapping[str, Any]) -> Tensor:
    """The states of the batch's tokens on top of the encoder, T x B x C, after the final norm: below an
    interlingua, if there is one. Of a sentence encoder those that it pools, without that of a `<s>` that it
    reads in front of them.
    """
    return encoder_out.get("token_states", encoder_out["encoder_out"])[0]


def padding_of(encoder_out: Mapping[str, Any]) -> Tensor:
    """The padding of those states: B x T, true at padding."""
    return encoder_out.get("token_padding_mask", encoder_out["encoder_padding_mask"])[0]


class ReadTokens(NamedTuple):
    """All tokens that an encoder has read: their states, T x B x C, where they are padding, B x T, and their
    ids, B x T.
    """

    states: Tensor
    padding: Tensor
    tokens: Tensor


def read_by(encoder_out: Mapping[str, Any], src_tokens: Tensor) -> ReadTokens:
    """What an encoder has read of a batch, a `<s>` of its own in front included.

    Args:
        src_tokens: of the batch, B x S.
    """
    if "read_tokens" in encoder_out:
        return ReadTokens(*(encoder_out[f"read_{name}"][0] for name in ReadTokens._fields))
    return ReadTokens(states_of(encoder_out), padding_of(encoder_out), src_tokens)


def vectors_of(encoder_out: Mapping[str, Any]) -> Tensor:
    """One vector per sentence, B x `ModelSizes.sentence_width`; a mean is float32 or better.

    That of a sentence encoder ("sentence_vectors", one tensor); of any other encoder the mean of the states
    without padding.
    """
    if "sentence_vectors" in encoder_out:
        return encoder_out["sentence_vectors"]
    return sentence_means(states_of(encoder_out), padding_of(encoder_out))


@dataclass
class Term:
    """What a loss contributes to the loss of a batch.

    Attributes:
        loss: scalar with gradient, weighted, on the scale of a translation loss that is summed over the
            batch's target tokens (fairseq divides the sum of both by the number of tokens). Where there is
            nothing to learn from it is a zero that depends on all parameters of the loss: in distributed
            training every parameter needs a gradient in every batch.
        value: what is logged, unweighted, in nats, summed over `count` units; without gradient.
        count: number of units.
    """

    loss: Tensor
    value: Tensor
    count: int


class WeightedLoss(nn.Module):
    """Base of all losses of the registry.

    Args:
        sizes: of the model.

    Attributes:
        name: what `--losses` and the logs call it.
        Options: dataclass of the loss's own options, each field with a default and `metadata["help"]`; one of
            them is `weight`. Field `x` is the option `--NAME-x` of the command line, with dashes.
        batch_fields: names of the batch fields it reads beyond fairseq's (`fairseq_ext.data.batch_fields`).
        needs_decoder: does it look at the decoder? A model without one is refused.
        needs_sentence_encoder: is it of sentence encoders only, whose sentences have no tags? Other models
            are refused.
        decoder_arguments: keyword arguments of fairseq's decoder that it depends on.
        decodes_again: the decoder is to run with these arguments a second time, for this loss alone, and the
            translation loss without them.
        model_dropout: dropout of a model that is trained with this loss, or None for its own.
        counts_pairs: is it a sum over sentence pairs, each of which weighs the same (thesis, equation 2.12)?
            The gradient of such losses alone is divided by the number of pairs.
        is_information: is its value in nats, and logged in bits? Others are logged as they are.
        logged_digits: behind the point, of a value that is logged as it is.
        looks_at_vectors_only: does it need nothing of the encoder but `vectors_of`? Then batches may be
            larger than what the encoder can hold (`fairseq_ext.modules.cached_gradients`).
        looks_at_tokens_only: does it look at the states of tokens, and at no vector, so that what is above
            them learns nothing?
        runs_encoder: does it run the encoder by itself, on sentences of the batch? Then stored vectors are
            not enough, and it looks at no encoded mirror.
        hides_tokens: are some tokens hidden from the encoder? Then it has to read every batch anew.
        needs_translations: are the sentences of a pair to be translations of each other?
        sides_are_languages: is one side of all pairs to be in one language, or group of languages?

    Raises:
        InputError: a weight that is no number, infinite or negative.
    """

    name: ClassVar[str]
    Options: ClassVar[type]
    batch_fields: ClassVar[tuple[str, ...]] = ()
    needs_decoder: ClassVar[bool] = False
    needs_sentence_encoder: ClassVar[bool] = False
    decoder_arguments: Mapping[str, Any] = {}
    decodes_again: bool = False
    model_dropout: float | None = None
    counts_pairs: ClassVar[bool] = False
    is_information: ClassVar[bool] = True
    logged_digits: ClassVar[int] = 6
    looks_at_vectors_only: bool = False
    looks_at_tokens_only: bool = False
    runs_encoder: ClassVar[bool] = False
    hides_tokens: ClassVar[bool] = False
    needs_translations: ClassVar[bool] = True
    sides_are_languages: ClassVar[bool] = False

    def __init__(self, options, sizes: ModelSizes):
        super().__init__()
        self.options = options
        self.sizes = sizes
        self.require(0 <= options.weight < math.inf, "weight", "a number, 0 or above")

    def require(self, condition: bool, option: str, expected: str) -> None:
        """Refuse an option's value, as `--NAME-OPTION VALUE: expected …`."""
        if not condition:
            name = f"--{self.name}-{option}".replace("_", "-")
            raise InputError(f"{name} {getattr(self.options, option)}: expected {expected}")

    def gathers(self, option: bool) -> bool:
        """Whether what all processes have is compared. Not in validation, without gradients: its loss does
        not depend on their number, and one that has no batch left is given another's by fairseq. (`training`
        is no guide: it is false where such a batch stands in in training, and all processes must gather.)
        """
        return option and torch.is_grad_enabled()

    def model_batch(self, batch: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the model is to see in place of the batch, the same unless overridden: for losses that hide
        something. The losses see the batch as it was, and what is added here under names of its own.
        """
        return batch

    def forward(self, outputs: ModelOutputs, batch: Mapping[str, Any]) -> Term:
        raise NotImplementedError

    def after_update(self, model, updates: int) -> None:
        """Called once after every update of the model's parameters, accumulated batches and all: for what
        moves along with the model (a momentum encoder), or learns by itself (a discriminator with an
        optimizer of its own).

        Parameters that fairseq shall not train have `requires_grad` off when the loss is built. They are
        saved like all others; what else is to be saved, an optimizer's state, is the module's
        `get_extra_state` (tensors, numbers, lists and dictionaries).

        Args:
            model: the model, perhaps in the wrapper of distributed training.
            updates: how many there have been.
        """
