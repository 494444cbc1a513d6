"""Length prediction (thesis 7.2): the encoder's states say how long the interlingua is."""

from dataclasses import dataclass

import torch
from torch import Tensor

from fairseq_ext.losses.interlingua_alignment import require_interlingua
from fairseq_ext.losses.weighted_loss import Term, WeightedLoss
from fairseq_ext.modules.float32 import at_least_float32
from fairseq_ext.options import option


@dataclass
class LengthPredictionOptions:
    weight: float = option("gamma of equation 7.5 (thesis 7.3.3)", 0.1)
    deviation: float = option(
        "ordinal targets: a normal distribution around the right length with this standard "
        "deviation in tokens; 0: only the right length counts, as in the thesis",
        0.0,
    )


class LengthPrediction(WeightedLoss):
    """The length of the sentence in the centric language is a class among K (equation 7.3).

    Reference: thesis 7.2.1 and 7.2.2: with p = softmax(W mean(H_S) + b) and the right length l,

        L_LP = - sum_i q_i log p_i,   q_i = 1 if i = l else 0

    is added as gamma L_LP per pair, as in `interlingua_alignment`. Only source sentences that are not in
    the centric language learn it: the others know their length. With `deviation` d (not in the thesis)
    q_i ~ exp(-(i - l)^2 / (2 d^2)): lengths close to the right one are less wrong.

    No batch fields. The parameters are the model's, `--arch interlingua_transformer --interlingua variable`.
    Logged per predicted length. Two accumulated half batches are the whole batch.

    Cost: next to none.
    """

    name = "length_prediction"
    Options = LengthPredictionOptions

    def __init__(self, options: LengthPredictionOptions, sizes):
        super().__init__(options, sizes)
        self.require(options.deviation >= 0, "deviation", "a number of tokens, 0 or above")

    def forward(self, outputs, batch) -> Term:
        require_interlingua(outputs, self.name, "length_targets", " --interlingua variable")
        targets = outputs.source["length_targets"][0]
        losses = length_loss(outputs.source["length_logits"][0], targets, self.options.deviation)
        value = losses.sum()
        return Term(self.options.weight * value, value.detach(), int(targets.gt(0).sum()))


def length_loss(logits: Tensor, lengths: Tensor, deviation: float = 0.0) -> Tensor:
    """L_LP per sentence, B, in float32 or better; 0 where the length is unknown.

    Args:
        logits: B x K, of the lengths 1 … K.
        lengths: B, 0 where unknown.
        deviation: of the ordinal targets, in tokens; 0 for one right class.
    """
    log_p = at_least_float32(logits).log_softmax(dim=1)
    if deviation:
        classes = torch.arange(1, log_p.size(1) + 1, device=log_p.device)
        q = (-0.5 * ((classes - lengths[:, None]) / deviation).square()).softmax(dim=1)
        losses = -(q * log_p).sum(dim=1)
    else:
        losses = -log_p.gather(1, (lengths - 1).clamp(min=0)[:, None])[:, 0]
    return losses * lengths.gt(0)
