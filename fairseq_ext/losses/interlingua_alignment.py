"""Interlingua alignment (thesis 7.2.2): both sentences of a pair have the same interlingua."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.losses.weighted_loss import Term, WeightedLoss
from fairseq_ext.modules.float32 import at_least_float32
from fairseq_ext.options import option


@dataclass
class InterlinguaAlignmentOptions:
    weight: float = option("beta of equation 7.5 (thesis 7.3.3)", 1.0)
    per_token: bool = option(
        "a position weighs as much as a token of the translation loss (default: a sentence pair "
        "does, equations 7.5 and 7.6 to the letter)",
        False,
    )


class InterlinguaAlignment(WeightedLoss):
    """Position by position, the interlinguas of both sentences of a pair point into the same direction.

    Reference: thesis 7.2.2, after Zhu et al. 2020 ("Language-aware Interlingua for Multilingual Neural
    Machine Translation"):

        (7.6)  L_IA = 1 - 1/len_I(X) sum_i cos(H_I(X)_i, H_I(Y)_i)
        (7.5)  L(X, Y) = alpha L_NMT + beta L_IA + gamma L_LP

    summed over the pairs of a batch, as the translation loss is summed over its tokens (equation 5.3 of the
    thesis has an explicit factor where a loss is to count per token; 7.5 has none). So two accumulated half
    batches are the whole batch. Gradients flow through both sides.

    By default these equations are read to the letter: L_IA is a mean over the positions of a pair, and
    fairseq divides the sum of all losses by the number of tokens, so that a pair weighs as much as one token.
    With `per_token` L_NMT is read as a mean over tokens, too, and L_IA keeps its weight beside it: the loss
    of a pair is len_I(X) L_IA = sum_i (1 - cos(H_I(X)_i, H_I(Y)_i)); a position weighs as much as a token.

    Batch fields: `mirror`. No parameters of its own; needs `--arch interlingua_transformer`. Logged per
    pair, or per position. Its sibling `sentence_contrastive` pulls pairs together and other sentences apart.

    Cost: one more pass of encoder and interlingua for the mirror.
    """

    name = "interlingua_alignment"
    Options = InterlinguaAlignmentOptions
    batch_fields = ("mirror",)
    is_information = False

    def forward(self, outputs, batch) -> Term:
        require_interlingua(outputs, self.name)
        padding = outputs.source["encoder_padding_mask"][0]
        losses = misalignment(outputs.source["encoder_out"][0], outputs.mirror["encoder_out"][0], padding)
        count = len(losses)
        if self.options.per_token:
            positions = (~padding).sum(dim=1)
            losses, count = losses * positions, int(positions.sum())
        value = losses.sum()
        return Term(self.options.weight * value, value.detach(), count)


def require_interlingua(outputs, name: str, key: str = "interlingua_lengths", kind: str = "") -> None:
    if key not in outputs.source:
        raise InputError(f"--losses {name}: needs --arch interlingua_transformer{kind}")


def misalignment(source: Tensor, mirror: Tensor, padding: Tensor) -> Tensor:
    """L_IA of equation 7.6 per pair, B, in float32 or better.

    Args:
        source, mirror: H_I of both sides, T x B x C.
        padding: B x T, true at padding, of both.
    """
    source, mirror = at_least_float32(source), at_least_float32(mirror)
    with torch.autocast(source.device.type, enabled=False):
        cosines = F.cosine_similarity(source, mirror, dim=-1).t().masked_fill(padding, 0)  # B x T
        return 1 - cosines.sum(dim=1) / (~padding).sum(dim=1)
