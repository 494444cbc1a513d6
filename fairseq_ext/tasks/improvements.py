"""Validations that improve in several measures at once: early stopping of thesis 4.4.3.

The thesis stops with OpenNMT on "1-gram accuracy and perplexity on the development set"; fairseq's
`--patience` looks at one number. That number can be the one counted here:

    --improvement-metrics accuracy,ppl --report-accuracy
    --best-checkpoint-metric improvements --maximize-best-checkpoint-metric --patience 10

A validation is an improvement if every measure is better than at the last improvement (as in OpenNMT-py); the
first one is, and none with a measure that is NaN or infinite. `improvements` counts them, so that training
stops `--patience` validations after the last, and checkpoint_best.pt is that of the last: to any other
validation a half less is given (never less than 0), because fairseq takes the newer of two checkpoints that
are equally good.
"""

import math
from collections.abc import Callable

from fairseq.logging import metrics
from typing_extensions import TypedDict

from command_line.errors import InputError

NAME = "improvements"
OPTION = "--improvement-metrics"
# First words of the names of measures; of others nothing is known.
LARGER_IS_BETTER = ("accuracy", "bleu", "zero_shot_bleu", "retrieval", "effective_rank")
LESS_IS_BETTER = ("loss", "nll_loss", "nmt_loss", "ppl")


class SavedCount(TypedDict):
    """What a checkpoint keeps."""

    count: int
    best: dict[str, float]


class Improvements:
    """The count, and what is to be beaten.

    Logs of a validation are asked for more than once, so that looking at it (`after`) changes nothing;
    `validated` does, once for every validation.

    Args:
        names: of what is logged in validation, comma-separated, as in `--best-checkpoint-metric`.
    """

    def __init__(self, names: str):
        self.names = [name.strip() for name in (names or "").split(",") if name.strip()]
        self._awaited = False
        self.restart()

    def restart(self) -> None:
        """A training begins, perhaps from the checkpoint of another."""
        self.count = 0
        self.best: dict[str, float] = {}

    def after(self, value: Callable[[str], float]) -> float:
        """The count after a validation, a half less if that was no improvement.

        Args:
            value: of a measure in it, by name.

        Raises:
            InputError: the validation did not measure it.
        """
        if self._is_improvement(self._measured(value)):
            return self.count + 1
        return max(0, self.count - 0.5)  # fairseq never removes a checkpoint whose name has a minus sign

    def log(self) -> None:
        """Log the count, from the meters of the validation that is going on."""
        if self.names:
            metrics.log_derived(NAME, self._counted)

    def _counted(self, meters) -> float:
        """NaN where a measure is missing: fairseq asks after every batch, and not every batch has all of
        them; whether the validation has is `validated`'s question.
        """
        if any(name not in meters for name in self.names):
            return math.nan
        return self.after(meters.get_smoothed_value)

    def begin(self) -> None:
        """A validation begins."""
        self._awaited = True

    def validated(self, stats: dict) -> None:
        """A validation has ended; of several sets the first counts, as for fairseq's best checkpoint."""
        if not (self.names and self._awaited):
            return
        self._awaited = False
        values = self._measured(stats.__getitem__)
        if self._is_improvement(values):
            self.count, self.best = self.count + 1, values

    def state_dict(self) -> dict:
        return {NAME: {"count": self.count, "best": self.best}} if self.names else {}

    def load_state_dict(self, state: dict) -> None:
        """Go on with the count of a checkpoint; other measures than there begin anew."""
        saved = state.get(NAME)
        if saved and sorted(saved["best"]) == sorted(self.names):
            self.count, self.best = saved["count"], dict(saved["best"])

    def _measured(self, value: Callable[[str], float]) -> dict[str, float]:
        try:
            return {name: float(value(name)) for name in self.names}
        except KeyError as error:
            raise InputError(
                f"{OPTION} {','.join(self.names)}: validation does not log {error.args[0]!r}"
            ) from None

    def _is_improvement(self, values: dict[str, float]) -> bool:
        def better(name: str) -> bool:
            difference = values[name] - self.best[name]
            return difference > 0 if name.startswith(LARGER_IS_BETTER) else difference < 0

        return all(map(math.isfinite, values.values())) and (not self.best or all(map(better, self.names)))
