"""A blind sheet for raters of translations (thesis 4.5.3, Tables 4.8 and 4.9).

OUTPUT has sheet.html, one file that works without a server: each item is a source and a translation, in a
random order and without the system's name. Raters score adequacy and fluency from 1 (worst) to 5, and save
their scores as CSV. key.csv says which item is of which system: keep it from the raters. `human-scores` reads
both.
"""

import html
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options
from command_line.option_classes import option, output_folder, positional
from command_line.outputs import write_text
from command_line.spreadsheets import csv_text
from eval.scoring.examples import side_by_side

QUALITIES = ("adequacy", "fluency")
KEY = ("item", "line", "system")
SCALE = range(1, 6)
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Ratings of {direction}</title>
<style>body {{ font: 16px sans-serif; max-width: 50em; margin: auto }} .source {{ color: #555 }}</style></head>
<body><h1>Ratings of {direction}</h1>
<p>Adequacy: how much of the meaning of the source is in the translation. Fluency: how well formed it is.
1 is the worst, 5 the best score. Your scores stay on this computer until you save them.</p>
{items}
<button onclick="save()">Save the scores</button>
<script>
function save() {{
  const rows = ["item,adequacy,fluency"];
  for (let item = 1; item <= {count}; item++) {{
    const score = quality => (document.querySelector(`input[name=${{quality}}-${{item}}]:checked`) || {{value: ""}}).value;
    rows.push([item, score("adequacy"), score("fluency")].join(","));
  }}
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([rows.join("\\n") + "\\n"], {{type: "text/csv"}}));
  link.download = "ratings.csv";
  link.click();
}}
</script></body></html>
"""  # noqa: E501


@dataclass(frozen=True, kw_only=True)
class HumanSheet:
    """What is rated."""

    out: list[Path] = positional("folders of `eval translate`", nargs="+", type=options.path, metavar="OUT")
    direction: str = option("of the translations, such as ja-en", required=True)
    lines: int = option("drawn from the test set, of every system", 100)
    seed: int = option("of the draw and of the order", 1, type=options.seed)
    data: Path | None = option("binarized folder with text/, if it is not where translate.json says")
    output: Path = output_folder("sheet.html and key.csv")


@dataclass(frozen=True)
class Item:
    """A translation that is rated."""

    line: int
    system: str
    source: str
    translation: str


def main(job: HumanSheet) -> None:
    items = drawn(side_by_side(job), job.lines, job.seed)
    job.output.mkdir(parents=True, exist_ok=True)
    parts = [_shown(number, item) for number, item in enumerate(items, 1)]
    page = _PAGE.format(direction=html.escape(job.direction), items="\n".join(parts), count=len(items))
    write_text(job.output / "sheet.html", page)
    key = ((number, item.line, item.system) for number, item in enumerate(items, 1))
    write_text(job.output / "key.csv", csv_text([KEY, *key]))


def drawn(texts: dict[str, list[str]], lines: int, seed: int) -> list[Item]:
    """The same lines of every system, in a random order.

    Args:
        texts: "source", "reference", and every system -> its lines.
    """
    rng = np.random.default_rng(seed)
    length = len(texts["source"])
    numbers = sorted(rng.choice(length, min(lines, length), replace=False))
    systems = [name for name in texts if name not in ("source", "reference")]
    items = [
        Item(int(number) + 1, system, texts["source"][number], texts[system][number])
        for number in numbers
        for system in systems
    ]
    return [items[place] for place in rng.permutation(len(items))]


def _shown(number: int, item: Item) -> str:
    """An item of the page."""
    choices = [f"{quality}: {_buttons(quality, number)}" for quality in QUALITIES]
    source = f'<span class="source">{html.escape(item.source)}</span>'
    rows = (source, html.escape(item.translation), "; ".join(choices))
    return f"<p><b>{number}</b> {'<br>'.join(rows)}</p>"


def _buttons(quality: str, number: int) -> str:
    name = f"{quality}-{number}"
    return " ".join(
        f'<label><input type="radio" name="{name}" value="{score}">{score}</label>' for score in SCALE
    )
