"""The commands and the lines of Python that the README and the guides show, page by page."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [
    path.relative_to(ROOT).as_posix()
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "recipes/**/README.md")
    for path in sorted(ROOT.glob(pattern))
]
SHELL = ("", "bash", "sh", "console")
PROGRAMS = r"(?:python|python3|bash|fairseq-\w+|make|mnmt|sbatch|source|pip|comet-env/bin/pip)"
LOOP = re.compile(r"for \w+ in .*?; do\s*|;?\s*\bdone\b|^do\b")


@dataclass(frozen=True)
class Command:
    """A command of a page, and the head of the loop around it, `for … in …`, if there is one.

    A block of Python is a command, too.
    """

    page: str
    text: str
    loop: str = ""
    is_python: bool = False

    @property
    def words(self) -> list[str]:
        return shlex.split(self.text)

    def as_shell(self, text: str) -> str:
        """Shell code that runs `text`, in place of the command, as often as the page says."""
        if self.is_python:
            return f"python << 'END'\n{text}END"
        return f"{self.loop}; do {text}; done" if self.loop else text

    def __str__(self) -> str:
        return f"{self.page}: {self.text}"


def blocks(text: str) -> list[tuple[str, str]]:
    """The kind and the text of every block of code: fenced, or a command indented by four columns."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, flags=re.M | re.S)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    indented = re.findall(rf"^    ((?:… |{PROGRAMS} ).*)$", rest, flags=re.M)
    return fenced + [("", command) for command in indented]


def inline(text: str) -> list[str]:
    """Commands in the middle of a sentence, with what follows the name of the step, if anything does."""
    rest = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    found = [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", rest)]
    return [code for code in found if re.match(r"(python -m \w|mnmt \w|make \w|bash \w)", code)]


def commands_of_block(page: str, block: str, kind: str = "") -> list[Command]:
    """One per line; loops are what they repeat. A line with … or [OPTION] is a synopsis, and no command."""
    if kind == "python":
        return [Command(page, block, is_python=True)]
    if kind not in SHELL:
        return []
    found, loop = [], ""
    for line in block.replace("\\\n", " ").splitlines():
        head = re.search(r"for \w+ in .*?(?=; do)", line)
        loop = head[0] if head else loop
        commands = LOOP.sub("", line.split(" # ")[0]).strip()
        for part in filter(None, re.split(r"\s*(?:&&|;)\s*", commands)):
            if "…" not in part and not re.search(r"\s\[[A-Z-]", part):
                found.append(Command(page, " ".join(part.split()), loop))
        if re.search(r"\bdone\b", line):
            loop = ""
    return found


def shown() -> list[Command]:
    """Every command in a block of a page, in the order of the pages and in them."""
    return [
        command
        for page in PAGES
        for kind, block in blocks((ROOT / page).read_text(encoding="utf-8"))
        for command in commands_of_block(page, block, kind)
    ]
