"""How a loss compares the sentences of a batch: options that several losses share."""

import math
from dataclasses import dataclass

import torch
from fairseq.dataclass import ChoiceEnum
from torch import Tensor

from fairseq_ext.losses.weighted_loss import ModelSizes, WeightedLoss, read_by, vectors_of
from fairseq_ext.modules.similarity import TokenStates, bert_score, normalized, pooled_similarity
from fairseq_ext.options import option

BERT_SCORES = ("bert-score", "bert-score-cosine")
CHOICES = ("dot", "cosine", *BERT_SCORES)
HELP = (
    "dot product or cosine of the sentence vectors; or BERT-score, F, over the token states, by dot products "
    "or cosines"
)


@dataclass
class ComparisonOptions:
    """Each loss has defaults of its own for the first two."""

    similarity: ChoiceEnum(CHOICES) = option(HELP, "cosine")
    normalization: float = option(
        "alpha of in-batch normalization (Niu et al. 2022, 2.2: 0.75); 0: without", 0.0
    )
    without_specials: bool = option("BERT-score: <s> and </s> have no share in the means over tokens", False)


def compares_vectors(options: ComparisonOptions) -> bool:
    """Are the sentence vectors all that is compared?"""
    return str(options.similarity) not in BERT_SCORES


def similarities(outputs, batch, options: ComparisonOptions, sizes: ModelSizes) -> Tensor:
    """The similarities of every source of a batch with every sentence of the mirror, B x B; pairs are on the
    diagonal.
    """
    kind = str(options.similarity)
    if compares_vectors(options):
        sides = vectors_of(outputs.source), vectors_of(outputs.mirror)
        scores = pooled_similarity(*sides, cosine=kind == "cosine")
    else:
        sides = (
            _token_states(encoded, text, options, sizes)
            for encoded, text in (
                (outputs.source, batch["net_input"]),
                (outputs.mirror, batch["mirror"]),
            )
        )
        scores = bert_score(*sides).f
    return normalized(scores, options.normalization) if options.normalization else scores


def specials_among(tokens: Tensor, sizes: ModelSizes) -> Tensor:
    """Which tokens are <s> or </s>, B x T."""
    return torch.isin(tokens, tokens.new_tensor([sizes.bos, sizes.eos]))


def _token_states(encoded, text, options: ComparisonOptions, sizes: ModelSizes) -> TokenStates:
    read = read_by(encoded, text["src_tokens"])
    specials = specials_among(read.tokens, sizes) if options.without_specials else None
    cosine = str(options.similarity) == "bert-score-cosine"
    return TokenStates.of(read.states.transpose(0, 1), read.padding, specials, cosine)


def check(loss: WeightedLoss) -> None:
    """Refuse values of the options that mean nothing."""
    loss.require(0 <= loss.options.normalization < math.inf, "normalization", "a number, 0 or above")
    is_bert_score = not compares_vectors(loss.options)
    loss.require(is_bert_score or not loss.options.without_specials, "similarity", "a BERT-score")
