"""Whether text comes back from its tokenizer: a perfect translation cannot score 100 where it does not."""

from collections.abc import Iterable
from dataclasses import dataclass

SHOWN = 40  # characters of a line, around what differs


@dataclass
class RoundTrips:
    """Lines that were tokenized and detokenized.

    Attributes:
        unchanged: those that came back, but for the kinds of their spaces, which no score sees.
        first_change: where the first other line is, and both texts; empty if there is none.
    """

    lines: int = 0
    unchanged: int = 0
    first_change: str = ""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], path, first_line: int = 1) -> "RoundTrips":
        """The round trips of consecutive lines of a file, each with what it came back as."""
        trips = cls()
        for number, (line, back) in enumerate(pairs, start=first_line):
            trips.lines += 1
            if line.split() == back.split():
                trips.unchanged += 1
            elif not trips.first_change:
                trips.first_change = f"{path}:{number}: {difference(line, back)}"
        return trips

    def add(self, later: "RoundTrips") -> None:
        self.lines += later.lines
        self.unchanged += later.unchanged
        self.first_change = self.first_change or later.first_change

    @property
    def percentage(self) -> float:
        return 100 * self.unchanged / self.lines if self.lines else 100.0

    @property
    def shown_percentage(self) -> str:
        """Rounded down, so that 100 means all lines."""
        return f"{int(self.percentage * 100) / 100:.2f}%"


def difference(line: str, back: str) -> str:
    """Both texts around the first character in which they differ."""
    line, back = (" ".join(text.split()) for text in (line, back))
    pairs = enumerate(zip(line, back, strict=False))
    place = next(
        (place for place, (character, other) in pairs if character != other), min(len(line), len(back))
    )
    part = slice(max(0, place - SHOWN // 2), place + SHOWN // 2)
    return f"{line[part]!r} becomes {back[part]!r}"
