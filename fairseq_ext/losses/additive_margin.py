"""Additive margin softmax, AMS, the contrast of LaBSE (thesis 3.1; LaBSE-EMS of thesis 2.4)."""

import math
from dataclasses import dataclass

from fairseq_ext.losses.sentence_contrast import SentenceContrast, SentenceContrastOptions
from fairseq_ext.options import option


@dataclass
class AdditiveMarginOptions(SentenceContrastOptions):
    temperature: float = option(
        "T of equation 2.8: 1 = none (LaBSE-EMS-vanilla), 0.1 with -scaled and -joint", 1.0
    )
    dim: int = option(
        "width of the vectors after the two layers of 2.10: 0 = the vectors themselves "
        "(LaBSE-EMS-vanilla), 128 with -scaled and -joint",
        0,
    )
    margin: float = option("m of equation 3.2 (thesis 2.4)", 0.3)


class AdditiveMargin(SentenceContrast):
    """`sentence_contrast` in which the right answer is found only if it is more similar by a margin.

    Reference: thesis 3.1, after Feng et al. 2022 ("Language-agnostic BERT Sentence Embedding"). With
    phi = cos, for N pairs (x_i, y_i),

        (3.1)  L_ams = 1/N sum_i (L(x_i, y_i) + L(y_i, x_i))
        (3.2)  L(x_i, y_i) = - log e_ii / (e_ii + sum_n!=i exp(phi(x_i, y_n))),  e_ii = exp(phi(x_i, y_i) - m)

    summed over the pairs, as all losses of pairs are (the criterion divides by N). The systems of thesis 2.4:

        LaBSE-EMS-vanilla   this loss alone, as it is;
        LaBSE-EMS-scaled    with `temperature` 0.1 and `dim` 128: sim of 2.9 for phi, and (sim - m)/T;
        LaBSE-EMS-joint     scaled, together with `token_reconstruction`.

    Batch fields, logs, options and cost are those of `sentence_contrast`.
    """

    name = "additive_margin"
    Options = AdditiveMarginOptions

    def __init__(self, options: AdditiveMarginOptions, sizes):
        super().__init__(options, sizes)
        self.require(0 <= options.margin < math.inf, "margin", "a number, 0 or above")
        self.margin = options.margin
