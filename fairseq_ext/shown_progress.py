"""What is shown of a training while it runs: a short line for every report in the log of fairseq-train."""

import re
import textwrap
import time
from collections.abc import Mapping

LONGEST_LINE = 150  # characters of a report in a form that is not known
_UPDATES = re.compile(r"train_inner \| epoch (\d+): +(\d+) / (\d+) (.*)")
_VALIDATION = re.compile(r"valid \| .*?\| (loss .*)")
_REPORT = re.compile(r".*\| INFO \| ((?:train_inner|valid) \| .*)|.*?(error: .*)")


class ShownProgress:
    """Lines for the reports of one training.

    Args:
        options: of fairseq-train -> values as text; `--max-update` and `--max-epoch` say where it ends.
        clock: seconds since some moment.
    """

    def __init__(self, options: Mapping[str, str], clock=time.monotonic):
        given = [options.get(name, "") for name in ("--max-update", "--max-epoch")]
        self._ends = [int(text) if text.isdecimal() else 0 for text in given]
        self._may_stop_early = "--patience" in options
        self._clock = clock
        self._start: tuple[float, float] | None = None  # what was done at the first report, and when

    def line(self, logged: str) -> str | None:
        """What to show of a line of the log; None: nothing."""
        report = _REPORT.match(logged)
        if report is None:
            return None
        if updates := _UPDATES.fullmatch(report[1] or ""):
            return self._of_updates(*map(int, updates.groups()[:3]), _values(updates[4], ", ", "="))
        if validation := _VALIDATION.fullmatch(report[1] or ""):
            return _of_validation(_values(validation[1], " | ", " "))
        return report[2] or textwrap.shorten(report[1].partition(" | ")[2], LONGEST_LINE, placeholder=" …")

    def _of_updates(self, epoch: int, batch: int, batches: int, values: dict[str, str]) -> str:
        done = (int(values.get("num_updates", 0)), epoch - 1 + batch / batches)
        share = max(now / end if end else 0.0 for now, end in zip(done, self._ends, strict=True))
        text = f"epoch {epoch}, update {done[0]:,}, loss {values.get('loss', 'unknown')}"
        if not 0 < share <= 1:
            return text
        now = self._clock()
        first, start = self._start = self._start or (share, now)
        if share == first:
            return f"{text}, {share:.0%} done"
        left = (now - start) * (1 - share) / (share - first)
        return f"{text}, {share:.0%} done, {'at most ' * self._may_stop_early}{_duration(left)} left"


def _of_validation(values: dict[str, str]) -> str:
    """The loss, and the metric that selects the checkpoint, now and at its best."""
    best = {name: value for name, value in values.items() if name.startswith("best_")}
    selecting = [name.removeprefix("best_") for name in best]
    shown = {"loss": values["loss"]} | {name: values[name] for name in selecting if name in values} | best
    return "validation: " + ", ".join(f"{name} {value}" for name, value in shown.items())


def _values(text: str, separator: str, sign: str) -> dict[str, str]:
    return {name: value for name, _, value in (part.partition(sign) for part in text.split(separator))}


def _duration(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else "less than a minute"
