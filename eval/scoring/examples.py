"""Translations of several systems side by side (thesis, Tables 4.10 and 4.11).

A rule chooses the lines: those in which the chrF of the last system differs most from that of the first one,
half of them better and half of them worse. Or `--numbers` names the lines. OUTPUT has examples.md and
examples.tex.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import option, output_folder, positional
from command_line.outputs import write_text
from eval.scoring.test_sets import TranslatedFolders

_SPECIAL = re.compile(r"([&%$#_{}])")  # of LaTeX
_OTHER = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


@dataclass(frozen=True, kw_only=True)
class Examples:
    """What is shown of which systems."""

    out: list[Path] = positional("folders of `eval translate`", nargs="+", type=options.path, metavar="OUT")
    direction: str = option("of the translations, such as ja-en", required=True)
    lines: int = option("that are shown", 4)
    numbers: list[int] | None = option("show these lines, counted from 1", nargs="+", type=options.positive)
    data: Path | None = option("binarized folder with text/, if it is not where translate.json says")
    output: Path = output_folder("examples.md and examples.tex")


Example = tuple[int, dict[str, str]]  # number of a line from 1; name -> text


def main(job: Examples) -> None:
    texts = side_by_side(job)
    numbers = [number - 1 for number in job.numbers or []] or chosen(texts, job.lines)
    length = len(texts["source"])
    if max(numbers) >= length:
        raise InputError(f"--numbers: found {max(numbers) + 1}, the test set has {length} lines")
    shown = [(n + 1, {name: lines[n] for name, lines in texts.items()}) for n in numbers]
    job.output.mkdir(parents=True, exist_ok=True)
    write_text(job.output / "examples.md", as_markdown(shown))
    write_text(job.output / "examples.tex", as_latex(shown))
    print(as_markdown(shown), end="")


def side_by_side(job: Examples) -> dict[str, list[str]]:
    """Source, reference, and every system -> its lines.

    Raises:
        InputError: a folder has no such direction, or another test set, or two systems have one name.
    """
    texts: dict[str, list[str]] = {}
    for translation, files in TranslatedFolders(job.out, job.data).files():
        file = next((file for file in files if file.direction == job.direction), None)
        if file is None:
            expected = ", ".join(translation.directions)
            raise InputError(
                f"{translation.folder}: no direction {job.direction}, expected one of: {expected}"
            )
        hypotheses, sources, references = file.read()
        if texts and (texts["source"], texts["reference"]) != (sources, references):
            raise InputError(f"{translation.folder}: translates another test set than {job.out[0]}")
        texts |= {"source": sources, "reference": references}
        if translation.name in texts:
            raise InputError(
                f"{translation.folder}: a second system {translation.name!r}; expected one of each"
            )
        texts[translation.name] = hypotheses
    return texts


def chosen(texts: dict[str, list[str]], lines: int) -> list[int]:
    """Numbers from 0 of the lines in which the last system is most above and below the first one, by chrF.

    With one system, those of the highest and the lowest chrF.
    """
    import sacrebleu

    chrf = sacrebleu.CHRF()
    first, *others = [name for name in texts if name not in ("source", "reference")]
    references = [[line] for line in texts["reference"]]
    scores = [
        np.array([chrf.sentence_score(*pair).score for pair in zip(texts[name], references, strict=True)])
        for name in (first, *others[-1:])
    ]
    gains = scores[-1] - scores[0] if others else scores[0]
    order = (-gains).argsort(kind="stable").tolist()
    better = (min(lines, len(order)) + 1) // 2
    worse = min(lines, len(order)) - better
    return order[:better] + order[len(order) - worse :]


def as_markdown(examples: list[Example]) -> str:
    """A table of each line."""
    parts = []
    for number, texts in examples:
        rows = [f"| {name} | {text.replace('|', chr(92) + '|')} |" for name, text in texts.items()]
        parts.append("\n".join([f"| line {number} | |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def as_latex(examples: list[Example]) -> str:
    """A tabular, with a rule between lines; needs the package booktabs."""
    parts = (
        "\n".join(rf"{_escaped(name)} & {_escaped(text)} \\" for name, text in texts.items())
        for _, texts in examples
    )
    body = "\n\\midrule\n".join(parts)
    return f"\\begin{{tabular}}{{lp{{0.75\\linewidth}}}}\n\\toprule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"


def _escaped(text: str) -> str:
    """As LaTeX shows it."""
    return "".join(_OTHER.get(letter) or _SPECIAL.sub(r"\\\1", letter) for letter in text)
