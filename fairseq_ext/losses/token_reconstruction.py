"""Cross-lingual token-level reconstruction, XTR (thesis 2.2.2): a sentence's vector says which tokens its
translation has.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_ext.losses.weighted_loss import Term, WeightedLoss, vectors_of
from fairseq_ext.modules.token_distributions import (
    TokenDistributions,
    divergence,
    occurrences,
    token_distributions,
)
from fairseq_ext.options import option


@dataclass
class TokenReconstructionOptions:
    weight: float = option("of the loss in equation 2.12 (thesis: 1)", 1.0)
    language_dim: int = option("d_la, width of the embedding of the other language (thesis 2.3.3)", 128)
    without_language: bool = option(
        "the other sentence's language is not given ('- langs tok' of Table 2.14)", False
    )
    shared_embedding: bool = option(
        "W_emb is the encoder's embedding of tokens, and W_fc reduces its input to that width "
        "('share L_emb params' of Table 2.14; default: a matrix of its own)",
        False,
    )
    without_eos: bool = option("</s> is no token of a sentence in 2.7, nor counts in ||S||", False)


class TokenReconstruction(WeightedLoss):
    """The vector of a sentence, and the language of its translation, predict the bag of the translation's
    tokens.

    Reference: thesis 2.2.2. With u and v the vectors of both sentences S and S' of a pair in languages l, l',

        (2.2, 2.3)  u_la = W_la <2l'>,   v_la = W_la <2l>
        (2.4, 2.5)  q_S = softmax(W_emb swish(W_fc (u_la + u) + b_fc)),   q_S' with v likewise  (+: one after
                    the other)
        (2.7)       p_S(w) = N_w / ||S||
        (2.6)       L_XTR = sum over the batch of D_KL(p_S' || q_S) + D_KL(p_S || q_S')

    where N_w is how often w occurs among the ||S|| tokens of S, of which `</s>` is one as in the mean of 2.1,
    unless it is left out. A sentence without tokens teaches nothing. W_emb is V x (d_la + d) and the loss's
    own, or that of the encoder, V x C; then W_fc maps to C.

    Batch fields: `mirror`; `source_languages` and `target_languages`. Logged per reconstructed sentence, two
    for a pair. Summed over pairs: two accumulated half batches, or two processes, are the whole batch.

    Cost: a softmax over the vocabulary per sentence, in place of one per token in a decoder, never for the
    whole batch at once.
    """

    name = "token_reconstruction"
    Options = TokenReconstructionOptions
    batch_fields = ("mirror", "source_languages", "target_languages")
    counts_pairs = True
    looks_at_vectors_only = True

    def __init__(self, options: TokenReconstructionOptions, sizes):
        super().__init__(options, sizes)
        width, languages = sizes.sentence_width or sizes.encoder_width, 0
        if options.without_language:
            self.batch_fields = ("mirror",)
            self.language_embedding = None
        else:
            self.require(options.language_dim > 0, "language_dim", "a number above 0")
            self.require(sizes.languages > 0, "without_language", "True with a task that knows no languages")
            languages = options.language_dim
            self.language_embedding = nn.Embedding(sizes.languages, languages)
            nn.init.normal_(self.language_embedding.weight, std=languages**-0.5)
        hidden = sizes.encoder_width if options.shared_embedding else languages + width
        self.hidden = nn.Linear(languages + width, hidden)  # W_fc, b_fc
        nn.init.xavier_uniform_(self.hidden.weight)
        nn.init.zeros_(self.hidden.bias)
        self.output = None if options.shared_embedding else nn.Linear(hidden, sizes.vocabulary, bias=False)
        if self.output is not None:
            nn.init.normal_(self.output.weight, std=hidden**-0.5)  # as fairseq's output projections
        left_out = [sizes.padding, *([sizes.eos] if options.without_eos else [])]
        self.register_buffer("left_out", torch.tensor(left_out), persistent=False)

    def forward(self, outputs, batch) -> Term:
        vectors = torch.cat([vectors_of(outputs.source), vectors_of(outputs.mirror)])
        weight = outputs.token_embeddings if self.output is None else self.output.weight
        value = divergence(self.features(vectors, batch), weight, self.targets(batch))
        return Term(self.options.weight * value, value.detach(), len(vectors))

    def features(self, vectors: Tensor, batch) -> Tensor:
        """What W_emb is applied to in 2.4 and 2.5: 2 B x C for the sources and then the mirror."""
        vectors = vectors.to(self.hidden.weight.dtype)
        if self.language_embedding is not None:
            others = torch.cat([batch["target_languages"], batch["source_languages"]])
            vectors = torch.cat([self.language_embedding(others), vectors], dim=1)
        return F.silu(self.hidden(vectors))

    def targets(self, batch) -> TokenDistributions:
        """p of what the 2 B sentences predict, in the order of their features."""
        return token_distributions(*self.other_tokens(batch))

    def other_tokens(self, batch) -> tuple[Tensor, Tensor, Tensor]:
        """The tokens of the other sentences: who predicts them, which they are, and their weights in p."""
        sources, mirror = batch["net_input"]["src_tokens"], batch["mirror"]["src_tokens"]
        of_mirror, of_sources = (occurrences(tokens, self.left_out) for tokens in (mirror, sources))
        of_sources = (of_sources[0] + len(sources), *of_sources[1:])
        return tuple(torch.cat(both) for both in zip(of_mirror, of_sources, strict=True))
