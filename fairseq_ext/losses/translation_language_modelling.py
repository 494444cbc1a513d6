"""Translation language modelling, the word-level objective of post-pretraining alignment (Pan, Hang et al.
2021).
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairseq_ext.losses.weighted_loss import ModelOutputs, Term, WeightedLoss, read_by, states_of
from fairseq_ext.options import option

UNCHANGED, RANDOM = 0.1, 0.1  # of the chosen tokens (2.2)


@dataclass
class TranslationLanguageModellingOptions:
    weight: float = option("of the loss (equation 4: 1)", 1.0)
    mask_rate: float = option("of the tokens that are predicted (section 2.2)", 0.15)
    apart: bool = option(
        "every sentence is read by itself: masked language modelling ('repl TLM w/ MLM', Table 5)", False
    )


class TranslationLanguageModelling(WeightedLoss):
    """Masked tokens of two sentences that mean the same, one behind the other, are predicted from both.

    Reference: Pan, Hang et al. 2021 ("Multilingual BERT Post-Pretraining Alignment"), 2.2, after Conneau and
    Lample 2019 ("Cross-lingual Language Model Pretraining"). The encoder reads

        S </s> S' </s>        with `<s>` in front, if it reads that

    with positions that go on, and no embeddings of languages. Of all tokens but `<s>`, `</s>`, padding and
    language tags a share is chosen, each at random; 80% of these are read as the mask, 10% as any token, 10%
    as they are. Every chosen token w is predicted from its state x, one of those that are pooled,

        p(w) = softmax(E h + b)_w,   h = LayerNorm(gelu(W x + c))

    with E the encoder's embeddings, as BERT has it (Devlin et al. 2019). W, c, the norm and b begin as those
    of the folder of `--pretrained-encoder`, if it has a masked language model's and its last layer is pooled,
    else untrained.
    The loss is the mean of - log p(w) over the chosen tokens of a batch, for each of its pairs. Pairs that
    are longer than what the encoder reads have no share in it. The mask is that of the tokenizer; an encoder
    whose vocabulary has none reads `<s>`, which sentences do not have. In validation the draw is the same
    each time.

    Batch fields: `mirror`. Logged per chosen token.

    Cost: one pass of the encoder over both sentences, beside that over the sources which all losses share,
    and the scores of the chosen tokens.
    """

    name = "translation_language_modelling"
    Options = TranslationLanguageModellingOptions
    batch_fields = ("mirror",)
    needs_sentence_encoder = True
    counts_pairs = True
    looks_at_tokens_only = True
    runs_encoder = True

    def __init__(self, options: TranslationLanguageModellingOptions, sizes):
        super().__init__(options, sizes)
        self.require(0 < options.mask_rate < 1, "mask_rate", "a number between 0 and 1")
        width = sizes.encoder_width
        self.mask = sizes.bos if sizes.mask is None else sizes.mask
        self.head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.bias = nn.Parameter(torch.zeros(sizes.vocabulary))
        if sizes.word_head and (word_head := sizes.word_head()):
            self._start_from(word_head)

    @torch.no_grad()
    def _start_from(self, word_head) -> None:
        """Take the weights of a `WordHead`."""
        dense, _, norm = self.head
        dense.load_state_dict(word_head.dense.state_dict())
        norm.load_state_dict(word_head.norm.state_dict())
        norm.eps = word_head.norm.eps
        self.bias.copy_(word_head.bias)

    def forward(self, outputs, batch) -> Term:
        sides = (batch["net_input"]["src_tokens"], batch["mirror"]["src_tokens"])
        arranged = stacked if self.options.apart else joined
        tokens = arranged(*sides, self.sizes.padding)
        fitting = tokens.ne(self.sizes.padding).sum(dim=1) <= outputs.encoder.max_positions()
        tokens = tokens[fitting]
        generator = None if self.training else torch.Generator().manual_seed(0)
        chosen, read = self.masked(tokens, generator)
        states, words = self._states(outputs, read, chosen), tokens[chosen]
        features = self.head(states.to(self.bias.dtype))
        scores = F.linear(features, outputs.token_embeddings.to(features.dtype), self.bias)
        value = F.cross_entropy(scores.float(), words, reduction="sum")
        scale = self.options.weight * len(sides[0]) / max(1, len(words))
        return Term(scale * value, value.detach(), len(words))

    def masked(self, tokens: Tensor, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """Which tokens are predicted, and what is read in their place; both B x T, as the tokens.

        Args:
            generator: of a draw that is to be the same each time; None: torch's own.
        """
        sizes = self.sizes
        first_tag = sizes.vocabulary - sizes.languages
        special = tokens.new_tensor([sizes.padding, sizes.bos, sizes.eos])
        eligible = ~torch.isin(tokens, special) & (tokens < first_tag)
        drawn, kind = (torch.rand(tokens.shape, generator=generator).to(tokens.device) for _ in range(2))
        lowest = int(special.max()) + 1
        others = torch.randint(lowest, first_tag, tokens.shape, generator=generator).to(tokens)
        chosen = eligible & (drawn < self.options.mask_rate)
        read = torch.where(chosen & (kind >= UNCHANGED), others, tokens)
        return chosen, read.masked_fill(chosen & (kind >= UNCHANGED + RANDOM), self.mask)

    def _states(self, outputs: ModelOutputs, tokens: Tensor, chosen: Tensor) -> Tensor:
        """The states of the chosen tokens, N x C. If no pair is left, N is 0, and distributed training still
        finds all parameters in them.
        """
        if not len(tokens):
            return states_of(outputs.source)[:0, 0]
        lengths = tokens.ne(self.sizes.padding).sum(dim=1)
        states = read_by(outputs.encoder(tokens, lengths), tokens).states.transpose(0, 1)
        return states[:, -tokens.shape[1] :][chosen]  # without a `<s>` of the encoder's own


def stacked(first: Tensor, second: Tensor, padding: int) -> Tensor:
    """The sentences of both sides as 2 B x T, padded on the right."""
    rows = [*first, *second]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=padding)


def joined(first: Tensor, second: Tensor, padding: int) -> Tensor:
    """The second sentence of every pair behind the first one, without what padded them, padded on the right.

    Args:
        first, second: B x T and B x T', padded on the right.
    """
    lengths = [side.ne(padding).sum(dim=1) for side in (first, second)]
    whole = first.new_full((len(first), int(sum(lengths).max()) if len(first) else 0), padding)
    for side, begin in ((first, torch.zeros_like(lengths[0])), (second, lengths[0])):
        rows, places = side.ne(padding).nonzero(as_tuple=True)
        whole[rows, begin[rows] + places] = side[rows, places]
    return whole
