"""The most probable next tokens, without sorting the vocabulary.

A step of beam search needs the normalizer over the vocabulary and the best 2K tokens of every hypothesis.
The logits are made for a few hypotheses at a time, so that they stay near the processor, and the best
tokens are looked for in the blocks of the vocabulary with the highest maxima only: the best k tokens lie in
the k blocks with the highest maxima.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

BLOCK = 64  # tokens of the vocabulary
LOGITS_PER_CHUNK = {"cpu": 1 << 21, "cuda": 1 << 27}  # 8 MB of float32 near a core; 512 MB on a GPU


class NextTokens:
    """Log-probabilities of the next token under an output projection, or the log of the mean probability
    under those of several models.

    Args:
        projections: V x C_i each.
        never: token ids that are never the best (they count in the normalizer, as in fairseq).
    """

    def __init__(self, projections: Sequence[Tensor], never: list[int]):
        self.projections, self.never = list(projections), never
        self.widths = [projection.shape[1] for projection in projections]
        self.vocabulary, device = len(projections[0]), projections[0].device.type
        self.blocks = -(-self.vocabulary // BLOCK)
        self.rows = max(1, LOGITS_PER_CHUNK.get(device, 1 << 27) // (self.blocks * BLOCK))

    def best(
        self,
        features: Tensor,
        count: int,
        banned: Sequence[Sequence[int]] | None = None,
        contrast: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The best `count` tokens, best first.

        Args:
            features: R x (C_1 + …), the decoders' last layers; with V contrasts (1 + V) R rows, those of the
                first contrast after all others.
            banned: for every row, tokens that cannot be the best.
            contrast: V x R weights, see `contrasted`.

        Returns:
            Log-probabilities and token ids, R x count each.
        """
        chunks, start = [], 0
        for log_p in self._chunks(features, contrast):
            for row, tokens in enumerate(banned[start : start + len(log_p)] if banned else ()):
                log_p[row, list(tokens)] = -torch.inf
            chunks.append(self._best(log_p, count))
            start += len(log_p)
        return tuple(torch.cat(parts) for parts in zip(*chunks, strict=True))

    def log_p(self, features: Tensor, tokens: Tensor) -> Tensor:
        """Log-probabilities of given tokens: R x (C_1 + …) and R x n token ids -> R x n."""
        chunks, start = [], 0
        for log_p in self._chunks(features):
            chunks.append(log_p.gather(1, tokens[start : start + len(log_p)]))
            start += len(log_p)
        return torch.cat(chunks)

    def _chunks(self, features: Tensor, contrast: Tensor | None = None):
        """Yield log-probabilities of a few rows at a time, padded with -inf to whole blocks."""
        inputs = features.chunk(1 if contrast is None else 1 + len(contrast))  # the input, its contrasts
        rows = min(self.rows, len(inputs[0]))
        buffer = features.new_full((rows, self.blocks * BLOCK), -torch.inf, dtype=torch.float32)
        starts = range(0, len(inputs[0]), rows)
        for start, *some in zip(starts, *(each.split(rows) for each in inputs), strict=True):
            log_p, *others = (self._of_models(each, buffer[: len(each)]) for each in some)
            if contrast is not None:
                log_p = contrasted(log_p, others, contrast[:, start : start + len(log_p)])
            yield log_p

    def _of_models(self, features: Tensor, padded: Tensor) -> Tensor:
        parts = zip(features.split(self.widths, dim=1), self.projections, strict=True)
        of_models = [self._log_p(part, projection, padded) for part, projection in parts]
        return of_models[0] if len(of_models) == 1 else _log_mean(of_models)

    def _log_p(self, features: Tensor, projection: Tensor, padded: Tensor) -> Tensor:
        logits = padded[:, : self.vocabulary]
        if torch.is_autocast_enabled(features.device.type) or features.dtype != torch.float32:
            logits.copy_(torch.nn.functional.linear(features, projection))
        else:
            torch.mm(features, projection.t(), out=logits)
        return padded.log_softmax(dim=1)

    def _best(self, log_p: Tensor, count: int) -> tuple[Tensor, Tensor]:
        log_p[:, self.never] = -torch.inf
        blocks = log_p.view(len(log_p), -1, BLOCK)
        highest = blocks.amax(dim=2).topk(min(count, self.blocks), dim=1, sorted=False).indices
        candidates = blocks.gather(1, highest[:, :, None].expand(-1, -1, BLOCK)).flatten(1)
        values, places = candidates.topk(count, dim=1)
        tokens = highest.gather(1, places // BLOCK) * BLOCK + places % BLOCK
        return values, tokens.clamp(max=self.vocabulary - 1)  # at -inf there are also places without a token


def contrasted(log_p: Tensor, others: Sequence[Tensor], weights: Tensor) -> Tensor:
    """log( p - sum_v w_v p_v ), -inf where that is not above 0 (Sennrich et al. 2024, equations 1 and 2).

    Args:
        log_p: R x n, given the input.
        others: R x n each, given what it is contrasted with.
        weights: V x R.
    """
    share = torch.zeros_like(log_p)
    for weight, other in zip(weights[:, :, None], others, strict=True):
        share += torch.where(weight > 0, weight * (other - log_p).exp(), 0)
    return torch.where(share >= 1, -torch.inf, log_p + torch.log1p(-share)).where(log_p > -torch.inf, log_p)


def _log_mean(log_p: list[Tensor]) -> Tensor:
    return torch.logsumexp(torch.stack(log_p), dim=0) - math.log(len(log_p))


def repeated(tokens: Tensor, size: int | None) -> list[set[int]] | None:
    """For every row, the tokens that would repeat an n-gram of the hypothesis.

    fairseq's own compares the end of its buffer, which is padding, and bans nothing without its extension for
    GPUs.

    Args:
        tokens: R x t, beginning with the first token of the decoder's input.
        size: of the n-grams; None: nothing is banned.
    """
    if size is None:
        return None
    banned = []
    for row in tokens.tolist():
        end = row[len(row) - size + 1 :]
        starts = range(len(row) - size + 1)
        banned.append({row[start + size - 1] for start in starts if row[start : start + size - 1] == end})
    return banned
