"""Which of the sentences that there are a sentence encoder is trained on (Niu et al. 2022, 3.1)."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from command_line.errors import InputError
from fairseq_ext.data.sampling import spread

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingSample:
    """A budget that all texts share, then lengths, so that nobody need look at more than the budget, then the
    first of what is left.

    Attributes:
        budget: number of lines of all texts together; None: all.
        min_tokens: of a sentence, `</s>` not included.
        max_pair_tokens: of both sentences of a pair together, likewise; None: any number.
        seed: of the draw, which is the same in every epoch.
        first: lines of every text; None: any number (Pan, Hang et al. 2021, 3.1).
    """

    budget: int | None
    min_tokens: int
    seed: int
    max_pair_tokens: int | None = None
    first: int | None = None

    def __post_init__(self):
        if self.budget is not None and self.budget < 1:
            raise InputError(f"--pair-budget {self.budget}: expected a number above 0")
        if self.min_tokens < 0:
            raise InputError(f"--min-tokens {self.min_tokens}: expected a number, 0 or above")
        if self.max_pair_tokens is not None and self.max_pair_tokens < 1:
            raise InputError(f"--max-pair-tokens {self.max_pair_tokens}: expected a number above 0")
        if self.first is not None and self.first < 1:
            raise InputError(f"--first-pairs {self.first}: expected a number above 0")

    @classmethod
    def of(cls, cfg) -> "TrainingSample":
        """That of a task's options."""
        return cls(cfg.pair_budget, cfg.min_tokens, cfg.seed, cfg.max_pair_tokens, cfg.first_pairs)

    def lines(
        self,
        names: Sequence[str],
        sizes: Sequence[np.ndarray],
        side: int = 0,
        of_both: Sequence[np.ndarray] | None = None,
    ) -> list[np.ndarray]:
        """The lines of every text that are trained on, ascending; logs how many there are.

        Args:
            sizes: tokens of every line, of the shorter sentence if it is a pair, `</s>` included.
            side: of unpaired texts, 0 or 1: each side is drawn independently of the other, so that a sentence
                is not drawn because its translation is.
            of_both: of pairs, tokens of both sentences together.

        Raises:
            InputError: nothing is left of a text.
        """
        lengths = [len(each) for each in sizes]
        budget = sum(lengths) if self.budget is None else self.budget
        drawn = spread(lengths, budget, np.random.default_rng([self.seed, budget, side]))
        fitting = [self._fitting(*each) for each in zip(sizes, of_both or [None] * len(sizes), strict=True)]
        chosen = [lines[each[lines]] for lines, each in zip(drawn, fitting, strict=True)]
        for name, length, lines, kept in zip(names, lengths, drawn, chosen, strict=True):
            if len(lines) < length:
                logger.info(f"{name}: {len(lines):,} of {length:,} lines are drawn (--pair-budget)")
            if len(kept) < len(lines):
                left_out = len(lines) - len(kept)
                logger.info(
                    f"{name}: {left_out:,} of {len(lines):,} lines are left out, not {self._expected}"
                )
            if not len(kept):
                raise InputError(
                    f"{name}: nothing to train on; of {length:,} lines {len(lines):,} are drawn "
                    f"(--pair-budget), of which none is {self._expected}"
                )
            if self.first is not None and len(kept) > self.first:
                logger.info(
                    f"{name}: the first {self.first:,} of {len(kept):,} lines are read (--first-pairs)"
                )
        return [lines[: self.first] for lines in chosen]

    def _fitting(self, sizes: np.ndarray, of_both: np.ndarray | None) -> np.ndarray:
        """Which lines have as many tokens as they shall have."""
        fitting = sizes > self.min_tokens
        if of_both is not None and self.max_pair_tokens is not None:
            fitting &= of_both <= self.max_pair_tokens + 2  # one `</s>` each
        return fitting

    @property
    def _expected(self) -> str:
        longest = f", with its translation up to {self.max_pair_tokens} (--max-pair-tokens)"
        return f"of {self.min_tokens} tokens or more (--min-tokens){longest if self.max_pair_tokens else ''}"
