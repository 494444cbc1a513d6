"""Progress with a rate: a bar on a terminal, a plain line now and then in a log."""

import sys
import time
from collections.abc import Iterable, Iterator

SECONDS_BETWEEN_LOG_LINES = 10.0


def progress(items: Iterable, total: int | None, task: str, unit: str, size=None) -> Iterator:
    """Yield `items` while showing how far and how fast it goes, on standard error.

    Args:
        total: how many units there will be, if known.
        task: what is being done ("translate").
        unit: what is counted ("line").
        size: function from an item to its number of units; 1 by default.
    """
    if sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(total=total, desc=task, unit=f" {unit}", unit_scale=True, leave=False) as bar:
            for item in items:
                yield item
                bar.update(size(item) if size else 1)
        return
    done, start = 0, time.monotonic()
    last = start
    for item in items:
        yield item
        done += size(item) if size else 1
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_LOG_LINES:
            last = now
            _log(task, done, total, unit, now - start)
    _log(task, done, total, unit, time.monotonic() - start)


def _log(task: str, done: int, total: int | None, unit: str, seconds: float) -> None:
    of = f"/{total}" if total else ""
    rate = done / max(seconds, 1e-9)
    digits = 0 if rate >= 10 else 2  # work of which a unit takes seconds has a rate, too
    print(f"{task}: {done}{of} {unit}s, {rate:,.{digits}f} {unit}s/s", file=sys.stderr, flush=True)
