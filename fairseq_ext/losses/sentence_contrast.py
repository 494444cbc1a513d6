"""The sentence-level contrast of EMS (thesis 2.2.3): every sentence finds its translation in the batch."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from command_line.numbers import natural
from fairseq_ext.losses.in_batch_contrast import in_batch_contrast
from fairseq_ext.losses.weighted_loss import Term, WeightedLoss, vectors_of
from fairseq_ext.modules.all_gather import all_gather_rows
from fairseq_ext.modules.float32 import at_least_float32
from fairseq_ext.modules.surface_hashes import sentence_hashes
from fairseq_ext.options import option


@dataclass
class SentenceContrastOptions:
    weight: float = option("of the loss in equation 2.12 (thesis: 1)", 1.0)
    temperature: float = option("T of equation 2.8 (thesis 2.3.3)", 0.1)
    dim: int = option(
        "d_cntrs, width of the projected vectors (thesis 2.3.3); 0: the vectors themselves, "
        "without the two layers of 2.10 ('- L_cntrs_mlp' of Table 2.14)",
        128,
    )
    drop_duplicates: bool = option(
        "a pair of which one sentence has the same tokens is no wrong answer (not in the thesis)", False
    )
    gather_negatives: bool = option(
        "negatives from the batches of all processes, not of the own batch alone", False
    )
    nested_widths: str = option(
        "for example 32,64: vectors are compared by their first so many numbers, too, so that "
        "they can be cut later (Matryoshka; Kusupati et al. 2022); with dim 0 only",
        "",
    )


class SentenceContrast(WeightedLoss):
    """Every sentence has to find its translation among all sentences of the other side, in both directions.

    Reference: thesis 2.2.3. For the pairs (S_j, S'_j) of a batch, with u_j and v_j their vectors,

        (2.8)         L_cntrs = - sum_j ( log exp(sim(S_j, S'_j)/T) / sum_k exp(sim(S_j, S'_k)/T)
                                        + log exp(sim(S_j, S'_j)/T) / sum_k exp(sim(S_k, S'_j)/T) )
        (2.9)         sim(S, S') = cos(h(S), h(S'))
        (2.10, 2.11)  h(S) = W_1 relu(W_2 u + b_2) + b_1;   with `dim` 0, h(S) = u

    With `drop_duplicates`, S'_k is no negative of S_j if S'_k = S'_j, where it is right, nor if S_k = S_j,
    where it is another translation of the same sentence, nor if S_k = S'_j or S'_k = S_j, where the pairs
    share it from different sides, as of cs-en and en-fr; and likewise in the other direction. Sentences are
    equal if their tokens are. With `gather_negatives` k runs over the batches of all processes.

    With `nested_widths` the loss is summed over vectors of several widths, the first so many numbers of u and
    v and all of them (Kusupati et al. 2022, "Matryoshka Representation Learning", equation 1, all c_m = 1).

    Batch fields: `mirror`. Logged per sentence that is to be found, two for a pair. Half batches have fewer
    negatives, and do not add up to the whole; processes that gather do.

    Cost: 2 B vectors through two layers, and B x B similarities in blocks.
    """

    name = "sentence_contrast"
    Options = SentenceContrastOptions
    batch_fields = ("mirror",)
    counts_pairs = True
    looks_at_vectors_only = True
    margin = 0.0  # of the cosine

    def __init__(self, options: SentenceContrastOptions, sizes):
        super().__init__(options, sizes)
        self.require(0 < options.temperature < math.inf, "temperature", "a number above 0")
        self.require(options.dim >= 0, "dim", "a number above 0, or 0 for no projection")
        width = sizes.sentence_width or sizes.encoder_width
        self.widths = self._parse_widths(options.nested_widths, width)
        self.projection = None
        if options.dim:
            self.projection = nn.Sequential(
                nn.Linear(width, width),  # W_2 and b_2
                nn.ReLU(),
                nn.Linear(width, options.dim),  # W_1 and b_1, not zero: a vector of zeros has no direction
            )

    def _parse_widths(self, text: str, width: int) -> list[int]:
        """Ascending widths, the last one of the whole vectors."""
        numbers = [natural(entry.strip()) or 0 for entry in filter(None, str(text).split(","))]
        right = numbers == sorted(set(numbers)) and all(0 < number < width for number in numbers)
        self.require(right, "nested_widths", f"ascending numbers between 1 and {width - 1}, as in 32,64")
        self.require(not (numbers and self.options.dim), "nested_widths", "none, or dim 0: no projection")
        return [*numbers, width]

    def project(self, vectors: Tensor) -> Tensor:
        """h of 2.10 to unit length: N x C -> N x d_cntrs."""
        if self.projection is not None:
            vectors = self.projection(vectors.to(self.projection[0].weight.dtype))
        return F.normalize(at_least_float32(vectors), dim=-1)

    def forward(self, outputs, batch) -> Term:
        vectors = torch.cat([vectors_of(outputs.source), vectors_of(outputs.mirror)])
        texts = self._texts(batch)
        value = sum(self.contrast(*self.project(vectors[:, :width]).chunk(2), texts) for width in self.widths)
        return Term(self.options.weight * value, value.detach(), len(vectors))

    def contrast(self, source: Tensor, target: Tensor, texts: Tensor | None = None) -> Tensor:
        """L_cntrs of 2.8 over unit vectors, B x d_cntrs each.

        Args:
            texts: B x 2, a number for each sentence of a pair, equal for equal ones; pairs that share one are
                no negatives of each other.
        """
        temperature = self.options.temperature
        own = torch.arange(len(source), device=source.device)
        classes = None if texts is None else self._classes(texts)
        loss = 0
        for anchors, positives in ((source, target), (target, source)):
            candidates, first = self._everywhere(positives)
            loss = loss + in_batch_contrast(
                anchors / temperature, candidates, own + first, classes, margin=self.margin / temperature
            )
        return loss

    def _classes(self, texts: Tensor) -> tuple[Tensor, Tensor]:
        """The pairs' sentences side by side, and with the sides exchanged: B x 4, and of all candidates."""
        everywhere, _ = self._everywhere(texts)
        return texts.repeat(1, 2), torch.cat([everywhere, everywhere.flip(1)], dim=1)

    def _everywhere(self, rows: Tensor) -> tuple[Tensor, int]:
        return all_gather_rows(rows) if self.gathers(self.options.gather_negatives) else (rows, 0)

    def _texts(self, batch) -> Tensor | None:
        if not self.options.drop_duplicates:
            return None
        sides = (batch["net_input"]["src_tokens"], batch["mirror"]["src_tokens"])
        return torch.stack([sentence_hashes(tokens, self.sizes.padding) for tokens in sides], dim=1)
