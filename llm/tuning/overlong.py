"""Which training instructions are longer than the limits, noted where they become tokens."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

SEEN, QUESTION, ANSWER = 1, 2, 4
ENDING = ".overlong"


class Overlong:
    """A byte per instruction, in a file of every device that the processes of its loader share, and that a
    training which was killed keeps.

    Args:
        path: of this device's file; those of other devices lie beside it.
        sizes: objective -> how many instructions it has, in their order.
    """

    def __init__(self, path: Path, sizes: Mapping[str, int]):
        self.path, self.sizes = path, dict(sizes)
        path.parent.mkdir(parents=True, exist_ok=True)
        total = sum(self.sizes.values())
        there = path.is_file() and path.stat().st_size == total
        self._marks = np.memmap(path, dtype=np.uint8, mode="r+" if there else "w+", shape=(total,))

    def __reduce__(self):
        return Overlong, (self.path, self.sizes)  # numpy would give a process of a loader a copy

    def note(self, index: int, question: bool, answer: bool) -> None:
        """One that has become tokens, and whether its parts are longer than the limits."""
        self._marks[index] = SEEN | QUESTION * question | ANSWER * answer

    def flush(self) -> None:
        """Make what this device has noted visible to others, on other nodes too."""
        self._marks.flush()

    def counts(self) -> dict[str, dict[str, int]]:
        """Objective -> "instructions" that have become tokens on any device, "questions" and "answers" of
        them that are longer.
        """
        marks_of_devices = [
            np.fromfile(path, dtype=np.uint8) for path in sorted(self.path.parent.glob(f"*{ENDING}"))
        ]
        total = sum(self.sizes.values())
        marks = np.bitwise_or.reduce(
            [marks_of_device for marks_of_device in marks_of_devices if len(marks_of_device) == total]
        )
        ends = np.cumsum(list(self.sizes.values()))
        return {
            objective: {
                name: int(np.count_nonzero(part & mark))
                for name, mark in (("instructions", SEEN), ("questions", QUESTION), ("answers", ANSWER))
            }
            for objective, part in zip(self.sizes, np.split(marks, ends[:-1]), strict=True)
        }


def overlong_line(counts: Mapping[str, dict], max_input: int, max_output: int, skipped: bool) -> str | None:
    """What to tell the user of them; None where all are short enough."""
    parts = []
    for part, option in (
        ("questions", f"--max-input {max_input}"),
        ("answers", f"--max-output {max_output}"),
    ):
        shares = [
            f"{count[part]:,} of {count['instructions']:,} {part} of {objective}"
            for objective, count in counts.items()
            if count[part]
        ]
        if shares:
            parts.append(f"longer than {option}: {', '.join(shares)}")
    if not parts:
        return None
    done, advice = ("were left out", "") if skipped else ("lost their ends", ", or --skip-overlong")
    return f"{'; '.join(parts)}, which {done}; give larger limits{advice}"
