"""Word-level contrastive learning (thesis chapter 5): aligned words meet on top of the encoder."""

from dataclasses import dataclass
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_ext.losses.in_batch_contrast import in_batch_contrast
from fairseq_ext.losses.weighted_loss import Term, WeightedLoss, states_of
from fairseq_ext.modules.all_gather import all_gather_rows, sum_over_processes
from fairseq_ext.modules.float32 import at_least_float32
from fairseq_ext.modules.pooling import span_means
from fairseq_ext.modules.surface_hashes import surface_hashes
from fairseq_ext.options import option


@dataclass
class WordContrastiveOptions:
    weight: float = option("w of equation 5.3 (thesis 5.2.3)", 0.1)
    temperature: float = option("T of equation 5.1 (thesis 5.2.3)", 0.2)
    dim: int = option("d', width of the projected words (thesis 5.2.3)", 128)
    dropout: float = option(
        "dropout of the projection (thesis 5.2.3, see --word-contrastive-model-dropout)", 0.2
    )
    model_dropout: Optional[float] = option(
        "dropout of the model trained with this loss, in place of its --dropout: 0.2, with "
        "--word-contrastive-dropout 0, is the other reading of thesis 5.2.3 (default: --dropout)"
    )
    drop_false_negatives: bool = option(
        "words spelled as the right answer are no wrong answers (not in the thesis)", False
    )
    gather_negatives: bool = option(
        "negatives from the batches of all processes (the thesis: of the own batch)", False
    )


class WordContrastive(WeightedLoss):
    """Every aligned word has to find its translation among all aligned words of the batch, in both
    directions.

    Reference: thesis 5.1.2. For N aligned pairs (s_k, t_k) in a batch with N_T target tokens,

        (5.1)  L_align = - sum_k ( log exp(sim(s_k, t_k)/T) / sum_m exp(sim(s_k, t_m)/T)
                                 + log exp(sim(s_k, t_k)/T) / sum_m exp(sim(s_m, t_k)/T) )
        (5.2)  sim(x, y) = cos(g(mean of x), g(mean of y)),   g(x) = W2 relu(W1 x)
        (5.3)  added to the summed translation loss: w N_T / (2 N) L_align

    where a word is the mean of its subwords' states on top of the encoder (after a final norm, if there is
    one), W1 is d x d and W2 d x d', without biases.

    Batch fields: `word_alignments`, `mirror` (the target sentence as encoder input).

    Dropout: 5.2.3 lists, for the objective, "a smaller dropout of 0.2 because our proposed objective serves
    as a regularization part", where the model has 0.3, and not its place. By default it is the dropout of the
    projection, after the ReLU, and the model keeps its own: the states of both sentences are those that the
    encoder computes in training; the source's are shared with the translation loss. The reason that is given
    fits the other reading as well, which is the letter of 5.2 (g has no dropout): a model that is trained
    with the objective needs less of it. That is `model_dropout` 0.2 with `dropout` 0: what `--dropout` sets,
    after embeddings and sublayers of encoder and decoder, in all passes.

    Negatives depend on what else is in the batch, so two accumulated half batches are not one whole batch;
    each has its own N and N_T.

    Cost: one more encoder pass for the mirror; projections of 2 N words; the N x N similarities in blocks.
    """

    name = "word_contrastive"
    Options = WordContrastiveOptions
    batch_fields = ("mirror", "word_alignments")

    def __init__(self, options: WordContrastiveOptions, sizes):
        super().__init__(options, sizes)
        self.require(options.temperature > 0, "temperature", "a number above 0")
        self.require(options.dim > 0, "dim", "a number above 0")
        self.require(0 <= options.dropout < 1, "dropout", "a number from 0 to below 1")
        self.require(
            options.model_dropout is None or 0 <= options.model_dropout < 1,
            "model_dropout",
            "a number from 0 to below 1",
        )
        self.model_dropout = options.model_dropout
        width = sizes.encoder_width
        self.hidden = nn.Linear(width, width, bias=False)  # W1
        self.output = nn.Linear(width, options.dim, bias=False)  # W2
        self.dropout = nn.Dropout(options.dropout)
        for layer in (self.hidden, self.output):
            nn.init.xavier_uniform_(layer.weight)

    def project(self, words: Tensor) -> Tensor:
        """g of equation 5.2, to unit length: N x C -> N x d'."""
        words = words.to(self.hidden.weight.dtype)
        projected = self.output(self.dropout(F.relu(self.hidden(words))))
        return F.normalize(at_least_float32(projected), dim=-1)

    def forward(self, outputs, batch) -> Term:
        aligned = batch["word_alignments"]
        words = [
            span_means(states_of(encoded), aligned["sentence"], aligned[side])
            for encoded, side in ((outputs.source, "source"), (outputs.mirror, "mirror"))
        ]
        source, target = self.project(torch.cat(words)).chunk(2)
        value = self.contrast(source, target, *self._surfaces(batch))
        pairs, tokens = len(source), batch["ntokens"]
        if self.gathers(self.options.gather_negatives):
            pairs, tokens = (sum_over_processes(number, source.device) for number in (pairs, tokens))
        scale = self.options.weight * tokens / (2 * max(1, pairs))
        return Term(scale * value, value.detach(), 2 * len(source))

    def contrast(self, source: Tensor, target: Tensor, source_surfaces=None, target_surfaces=None) -> Tensor:
        """L_align of equation 5.1 over unit vectors, N x d' each."""
        sides = [(source, source_surfaces), (target, target_surfaces)]
        own = torch.arange(len(source), device=source.device)
        gathers, loss = self.gathers(self.options.gather_negatives), 0
        for (anchors, _), (positives, surfaces) in (sides, sides[::-1]):
            candidates, first, classes = positives, 0, None
            if gathers:
                candidates, first = all_gather_rows(positives)
            if surfaces is not None:
                everywhere = all_gather_rows(surfaces)[0] if gathers else surfaces
                classes = (surfaces, everywhere)
            anchors = anchors / self.options.temperature
            loss = loss + in_batch_contrast(anchors, candidates, own + first, classes)
        return loss

    def _surfaces(self, batch) -> tuple[Tensor | None, Tensor | None]:
        """A number for the tokens of every word, equal for equal words, N for each side."""
        if not self.options.drop_false_negatives:
            return None, None
        aligned = batch["word_alignments"]
        return tuple(
            surface_hashes(layout["src_tokens"], aligned["sentence"], aligned[side])
            for layout, side in ((batch["net_input"], "source"), (batch["mirror"], "mirror"))
        )
