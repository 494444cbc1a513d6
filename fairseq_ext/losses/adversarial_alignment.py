"""Adversarial alignment of two languages without bitext (Tien and Steinert-Threlkeld 2022)."""

import math
from dataclasses import dataclass

import torch
from fairseq.dataclass import ChoiceEnum
from torch import Tensor, nn

from fairseq_ext.losses.unpaired_loss import UnpairedLoss
from fairseq_ext.losses.weighted_loss import Term
from fairseq_ext.modules.discriminator import BOUNDS, CLIPPING, NONE, PENALTY, Discriminator
from fairseq_ext.options import option

STRENGTHS = {CLIPPING: 0.01, PENALTY: 10.0}  # of those who proposed them; of all others 1


@dataclass
class AdversarialAlignmentOptions:
    weight: float = option("of the loss", 1.0)
    steps: int = option("kappa, steps of the discriminator for one of the encoder (5.2 and 5.3: 2)", 2)
    lr: float = option("of the discriminator's Adam (section 4)", 0.001)
    hidden: int = option("units of the discriminator's hidden layer; 0: none, as in the published code", 0)
    dropout: float = option(
        "of what the discriminator's layers return (published code: 0.1, of the score)", 0.0
    )
    unit_vectors: bool = option(
        "of vectors of length 1, as in the published code; the paper says nothing of it", False
    )
    bound: ChoiceEnum(BOUNDS) = option(
        "what keeps the discriminator's scores bounded; the paper and the published code have nothing", NONE
    )
    strength: float = option(
        "of the bound: largest weight (clipping), weight of the penalty, largest singular value; "
        "0: 0.01, 10 and 1, as proposed",
        0.0,
    )


class AdversarialAlignment(UnpairedLoss):
    """The encoder hides from a discriminator which side a sentence is on: two languages get one distribution.

    Reference: Tien and Steinert-Threlkeld 2022, 3.2. With d the discriminator's unnormalized score of a
    vector, for sentences i of the first and j of the second language, which are no translations,

        L_disc = d(y_i) - d(y_j),   L_adv = - L_disc

    summed over the rows of a batch. After every update the discriminator takes kappa steps of an Adam of its
    own on the vectors of that update's batches, of all processes; validation and batches that stand in for an
    empty one teach it nothing. The next update hides from what it has learned. With `unit_vectors` y is of
    length 1: what L_adv weighs beside other losses does not depend on how long the encoder's vectors are.

    Batch fields: `mirror`, the other side. The first language of a pair (`--pairs`) is that of i. Logged per
    row: 0 where the discriminator is at chance.

    Cost: 4 + 2 kappa passes through one or two matrices.
    """

    name = "adversarial_alignment"
    Options = AdversarialAlignmentOptions

    def __init__(self, options: AdversarialAlignmentOptions, sizes):
        super().__init__(options, sizes)
        self.require(options.steps > 0, "steps", "a number above 0")
        self.require(0 < options.lr < math.inf, "lr", "a number above 0")
        self.require(options.hidden >= 0, "hidden", "a number, 0 or above")
        self.require(0 <= options.strength < math.inf, "strength", "a number, 0 or above")
        bound = str(options.bound)
        without = f"none, as --adversarial-alignment-bound {NONE} has no strength"
        self.require(bound != NONE or not options.strength, "strength", without)
        strength = options.strength or STRENGTHS.get(bound, 1.0)
        self.discriminator = Discriminator(
            self.width, options.hidden, options.lr, bound, strength, options.dropout
        )
        self.seen: list[tuple[Tensor, Tensor]] = []  # vectors since the last update
        # torch's wrapper of distributed training refuses a criterion of which fairseq trains nothing
        self.nothing = nn.Parameter(torch.zeros(()))

    def forward(self, outputs, batch) -> Term:
        source, target = self.vectors(outputs)
        if self.training:
            if self.nothing.grad is None:  # the update begins; one that fairseq gave up may have left vectors
                self.seen.clear()
            self.seen.append((source.detach(), target.detach()))
        value = (self.discriminator(target) - self.discriminator(source)).sum() + 0 * self.nothing
        return Term(self.options.weight * value, value.detach(), len(source))

    def after_update(self, model, updates: int) -> None:
        nothing = next(self.discriminator.parameters()).new_zeros(0, self.discriminator.layers[0].in_features)
        sides = zip(*self.seen, strict=True) if self.seen else ((), ())
        low, high = (torch.cat([nothing, *side]) for side in sides)
        finite = (low.isfinite() & high.isfinite()).all(
            dim=1
        )  # the encoder may have finite gradients of others
        self.discriminator.learn(low[finite], high[finite], self.options.steps)
        self.seen.clear()
