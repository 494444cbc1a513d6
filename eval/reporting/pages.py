"""A report as one Markdown and as one HTML file."""

from base64 import b64encode
from pathlib import Path

from eval.reporting.exhibits import Section, escape_markdown

TEMPLATE = "page.html"


def markdown(title: str, sections: list[Section]) -> str:
    """The report as Markdown; plots are links to their files, and have their numbers below, folded."""
    blocks = [f"# {escape_markdown(title)}"]
    for section in sections:
        blocks += [f"## {escape_markdown(section.title)}", *map(escape_markdown, section.lead)]
        for table in section.tables:
            caption = escape_markdown(table.caption)
            if table.images is None:
                blocks += [table.markdown(), f"*{caption}*"]
            else:
                blocks.append(f"![{caption}](plots/{table.name}.png)")
                blocks += ["<details><summary>Numbers</summary>", table.markdown(), "</details>"]
        blocks += map(escape_markdown, section.notes)
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
    return environment.get_template(TEMPLATE).render(title=title, sections=sections)
