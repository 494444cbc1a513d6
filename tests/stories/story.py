"""What a story is: pages whose commands go on from each other, run in one folder as they stand."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.documented_commands import ROOT, Command

PACKAGES = ("command_line", "data_prep", "embeddings", "eval", "fairseq_ext", "llm", "multilingual_nmt")
STORIES = ROOT / "tests/stories"


@dataclass(frozen=True)
class Story:
    """Commands that go on from each other.

    parts: page and how its commands begin (a regular expression), in the order of the story.
    results: files that are there in the end.
    materials: writes what a reader has before; told the folder.
    before: how a command begins, and shell code (a file of `before/`) for what a reader does before it.
    small: how a command that takes longer than its story needs is written, and what is run for it (`re.sub`):
        a training of hours in its small configuration, one of `$SMALL`; two updates in place of twenty.
    after: the story that this one goes on from, in a copy of its folder.
    """

    parts: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    materials: Callable[[Path], None] = lambda folder: None
    before: tuple[tuple[str, str], ...] = ()
    small: tuple[tuple[str, str], ...] = ()
    after: str = ""

    def tells(self, command: Command) -> bool:
        return any(command.page == page and re.match(start, command.text) for page, start in self.parts)

    def in_order(self, commands: list[Command]) -> list[Command]:
        """Those of the story, part by part."""
        return [
            command
            for page, start in self.parts
            for command in commands
            if command.page == page and re.match(start, command.text)
        ]

    def script(self, commands: list[Command]) -> str:
        """Shell code that runs the commands, and ends at the first one that fails."""
        before, small = dict(self.before), set()
        lines = [f"ROOT={ROOT} SMALL={STORIES / 'small'}", "set -xeuo pipefail"]
        for command in commands:
            for start in [start for start in before if re.match(start, command.text)]:
                lines.append((STORIES / "before" / before.pop(start)).read_text(encoding="utf-8"))
            text = command.text
            for training, replacement in self.small:
                text, replaced = re.subn(training, replacement, text)
                small |= {training} if replaced else set()
            lines.append(command.as_shell(text))
        assert not before and len(small) == len(self.small), "no command begins so"
        return "\n".join(lines)


def lay_out(folder: Path) -> None:
    """The folder of a reader who has the repository."""
    for name in (*PACKAGES, "benchmarks", "recipes"):
        (folder / name).symlink_to(ROOT / name)
