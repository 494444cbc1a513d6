"""The unified generative task, UGT (Mao et al. 2021; thesis 2.2.2 and 2.4.7): token reconstruction that also
says which word of the sentence itself is hidden.
"""

import torch

from fairseq_ext.losses.token_reconstruction import TokenReconstruction
from fairseq_ext.modules.token_distributions import TokenDistributions, token_distributions


class UnifiedGeneration(TokenReconstruction):
    """One word of each pair is hidden, on a side drawn at random; the vector of that side predicts it along
    with the tokens of the other side.

    Reference: thesis 2.4.7 describes the task in words: it "concurrently predicts the token distribution of
    the target language and a masked token". What that leaves open is as in the code that the authors
    published with Mao et al. 2021 ("Lightweight Cross-Lingual Sentence Representation Learning") and
    with EMS: a word of one of the two sentences is hidden, all losses see that pair of sentences, and if
    w is hidden in S,

        q_S   learns  1/2 <w> + 1/2 p_S'
        q_S'  learns  p_S

    with 2.2 to 2.7 as in `token_reconstruction`, whose options, batch fields and logs it has. Here p_S has w
    itself (there: the symbol in its place), and any token but `</s>` may be hidden (there: no punctuation).
    The symbol is `<s>`, which sentences do not have. In validation the draw is the same each time.
    """

    name = "unified_generation"
    hides_tokens = True

    def model_batch(self, batch):
        sides = [batch["net_input"], batch["mirror"]]
        tokens = [side["src_tokens"] for side in sides]
        generator = None if self.training else torch.Generator().manual_seed(0)
        hides_mirror = torch.rand(len(tokens[0]), generator=generator).to(tokens[0].device) < 0.5
        words = torch.full_like(tokens[0][:, 0], self.sizes.padding)
        hidden = []
        for sentences, concerned in zip(tokens, (~hides_mirror, hides_mirror), strict=True):
            place, is_drawn = self._draw(sentences, generator)
            row = (concerned & is_drawn).nonzero().squeeze(1)
            words[row] = sentences[row, place[row]]
            hidden.append(sentences.index_put((row, place[row]), words.new_tensor(self.sizes.bos)))
        inputs, mirror = ({**side, "src_tokens": seen} for side, seen in zip(sides, hidden, strict=True))
        hidden_words = {"tokens": words, "in_mirror": hides_mirror}
        return {**batch, "net_input": inputs, "mirror": mirror, "hidden_words": hidden_words}

    def _draw(self, sentences, generator):
        """A place for each of B sentences, and whether there is a token to hide at all; both B."""
        hideable = sentences.ne(self.sizes.padding) & sentences.ne(self.sizes.eos)
        order = torch.rand(sentences.shape, generator=generator).to(sentences.device) + 1
        return (order * hideable).argmax(dim=1), hideable.any(dim=1)

    def targets(self, batch) -> TokenDistributions:
        words, in_mirror = (batch["hidden_words"][name] for name in ("tokens", "in_mirror"))
        sentences = len(words)
        rows, tokens, weights = self.other_tokens(batch)
        hiding = words.ne(self.sizes.padding).nonzero().squeeze(1)
        predictors = hiding + sentences * in_mirror[hiding]
        halved = torch.isin(rows, predictors)
        return token_distributions(
            torch.cat([rows, predictors]),
            torch.cat([tokens, words[hiding]]),
            torch.cat([torch.where(halved, 0.5 * weights, weights), weights.new_full((len(hiding),), 0.5)]),
        )
