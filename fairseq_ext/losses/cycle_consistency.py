"""Cycle consistency between two languages without bitext (Tien and Steinert-Threlkeld 2022)."""

from dataclasses import dataclass

from torch import Tensor, nn

from fairseq_ext.losses.triplet_ranking import CountedTripletsOptions, check_triplets, triplet_ranking_of
from fairseq_ext.losses.unpaired_loss import UnpairedLoss
from fairseq_ext.losses.weighted_loss import Term
from fairseq_ext.modules.dropout import Dropout
from fairseq_ext.modules.similarity import pooled_similarity
from fairseq_ext.options import option


@dataclass
class CycleConsistencyOptions(CountedTripletsOptions):
    weight: float = option("lambda (5.2: 5 for BUCC, 5.3: 10 for Tatoeba)", 5.0)
    margin: float = option("alpha of h (5.2: 0, 5.3: 0.2)", 0.0)
    random_negatives: int = option(
        "of h, besides the hardest one, which n counts, too (5.2: n = 1, 5.3: n = 2)", 0
    )
    dropout: float = option("of what F and G return (published code: 0.1)", 0.0)
    unit_vectors: bool = option("F and G map vectors of length 1, as in the published code", False)


class CycleConsistency(UnpairedLoss):
    """What is mapped to the other language and back is what it was, among the vectors of the batch.

    Reference: Tien and Steinert-Threlkeld 2022, 3.2, after Zhu et al. 2017. With linear maps F from the
    vectors of the first language to those of the second and G back, and h of `triplet_ranking`,

        L_cycle = h(y_i, G(F(y_i))) + h(F(G(y_j)), y_j)

    summed over the rows i of the first language and j of the second, which are no translations. It keeps an
    adversarial loss from an encoder that says nothing.

    Batch fields: `mirror`, the other side. The first language of a pair (`--pairs`) is that of i. Logged per
    row. Half batches have fewer negatives, and do not add up to the whole.

    Cost: 4 B vectors through a C x C matrix, and 2 B^2 cosines.
    """

    name = "cycle_consistency"
    Options = CycleConsistencyOptions

    def __init__(self, options: CycleConsistencyOptions, sizes):
        super().__init__(options, sizes)
        check_triplets(self)
        self.forth, self.back = (nn.Linear(self.width, self.width) for _ in range(2))  # F and G
        self.dropout = Dropout(options.dropout)

    def forward(self, outputs, batch) -> Term:
        source, target = self.vectors(outputs, self.forth.weight.dtype)
        there_and_back = self.cycle(source, self.forth, self.back)
        back_and_there = self.cycle(target, self.back, self.forth)
        value = self.h(source, there_and_back) + self.h(back_and_there, target)
        return Term(self.options.weight * value, value.detach(), len(source))

    def cycle(self, vectors: Tensor, *maps: nn.Module) -> Tensor:
        """B x C through F and G, or G and F."""
        for each in maps:
            vectors = self.dropout(each(vectors))
        return vectors

    def h(self, a: Tensor, b: Tensor) -> Tensor:
        """Of 3.2, over B x C each."""
        return triplet_ranking_of(pooled_similarity(a, b), self.options)
