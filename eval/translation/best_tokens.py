"""The most probable next tokens, without sorting the vocabulary.

A step of beam search needs the normalizer over the vocabulary and the best 2K tokens of every hypothesis.
The logits are made for a few hypotheses at a time, so that they stay near the processor, and the best
tokens are looked for in the blocks of the vocabulary with the highest maxima only: the best k tokens lie in
the k blocks with the highest maxima.
"""

import torch
from torch import Tensor

BLOCK = 64  # tokens of the vocabulary
LOGITS_PER_CHUNK = {"cpu": 1 << 21, "cuda": 1 << 27}  # 8 MB of float32 near a core; 512 MB on a GPU


class NextTokens:
    """Log-probabilities of the next token under an output projection.

    Args:
        projection: V x C.
        never: token ids that are never the best (they count in the normalizer, as in fairseq).
    """

    def __init__(self, projection: Tensor, never: list[int]):
        self.projection, self.never = projection, never
        self.vocabulary = len(projection)
        self.blocks = -(-self.vocabulary // BLOCK)
        self.rows = max(1, LOGITS_PER_CHUNK.get(projection.device.type, 1 << 27) // (self.blocks * BLOCK))

    def best(self, features: Tensor, count: int) -> tuple[Tensor, Tensor]:
        """The best `count` tokens, best first.

        Args:
            features: R x C, the decoder's last layer.

        Returns:
            Log-probabilities and token ids, R x count each.
        """
        found = [self._best(log_p, count) for log_p in self._chunks(features)]
        return tuple(torch.cat(parts) for parts in zip(*found, strict=True))

    def log_p(self, features: Tensor, tokens: Tensor) -> Tensor:
        """Log-probabilities of given tokens: R x C and R x n token ids -> R x n."""
        found, start = [], 0
        for log_p in self._chunks(features):
            found.append(log_p.gather(1, tokens[start : start + len(log_p)]))
            start += len(log_p)
        return torch.cat(found)

    def _chunks(self, features: Tensor):
        """Yield log-probabilities of a few rows at a time, padded with -inf to whole blocks."""
        rows = min(self.rows, len(features))
        buffer = self.projection.new_full((rows, self.blocks * BLOCK), -torch.inf, dtype=torch.float32)
        for some in features.split(rows):
            padded = buffer[: len(some)]
            logits = padded[:, : self.vocabulary]
            if torch.is_autocast_enabled(some.device.type) or some.dtype != torch.float32:
                logits.copy_(torch.nn.functional.linear(some, self.projection))
            else:
                torch.mm(some, self.projection.t(), out=logits)
            yield padded.log_softmax(dim=1)

    def _best(self, log_p: Tensor, count: int) -> tuple[Tensor, Tensor]:
        log_p[:, self.never] = -torch.inf
        blocks = log_p.view(len(log_p), -1, BLOCK)
        highest = blocks.amax(dim=2).topk(min(count, self.blocks), dim=1, sorted=False).indices
        candidates = blocks.gather(1, highest[:, :, None].expand(-1, -1, BLOCK)).flatten(1)
        values, places = candidates.topk(count, dim=1)
        return values, highest.gather(1, places // BLOCK) * BLOCK + places % BLOCK
