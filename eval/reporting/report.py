"""Tables, plots and one HTML file from result files alone.

Takes any mixture of scores.json (or scored folders) and comparison files; folders with the same system name
and other seeds become one system with mean and standard deviation. Writes report.html (self-contained),
report.md, tables/*.csv and plots/*.png. Tables follow Table 8.2 and Tables E.3-E.8 of the thesis. The same
files give the same bytes.
"""

from base64 import b64encode
from pathlib import Path

from command_line import options
from command_line.outputs import write_text
from eval.reporting.parts import Figure, Section, escape_markdown, write_parts
from eval.reporting.sections import SECTIONS
from eval.results.result_set import ResultSet

TEMPLATE = "report_template.html"


def add_arguments(parser) -> None:
    parser.add_argument(
        "results",
        nargs="+",
        type=options.path,
        metavar="RESULT.json",
        help="scores.json, scored folder or comparison",
    )
    parser.add_argument(
        "--output", required=True, type=options.output_folder, metavar="DIR", help="folder for the report"
    )
    parser.add_argument(
        "--title", type=options.text, default="Multilingual translation", help="heading of the report"
    )


def main(args) -> None:
    results = ResultSet.load(args.results, (kind for kind, _ in SECTIONS))
    sections = [section(results) for kind, section in SECTIONS if results.of_kind(kind)]
    output = Path(args.output)
    write_parts(sections, output / "tables", output / "plots")
    write_text(output / "report.md", markdown(args.title, sections))
    write_text(output / "report.html", html(args.title, sections))
    print(output / "report.html")


def markdown(title: str, sections: list[Section]) -> str:
    """The report as Markdown; plots are links to their files."""
    blocks = [f"# {escape_markdown(title)}"]
    for section in sections:
        blocks += [f"## {escape_markdown(section.title)}", *map(escape_markdown, section.notes)]
        for part in section.parts:
            if isinstance(part, Figure):
                blocks.append(f"![{escape_markdown(part.caption)}](plots/{part.name}.png)")
            else:
                blocks.append(part.markdown())
    return "\n\n".join(blocks) + "\n"


def html(title: str, sections: list[Section]) -> str:
    """One HTML file without external resources; everything from result files is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["base64"] = lambda data: b64encode(
        data.encode() if isinstance(data, str) else data
    ).decode()
    environment.tests["figure"] = lambda part: isinstance(part, Figure)
    return environment.get_template(TEMPLATE).render(title=title, sections=sections)
