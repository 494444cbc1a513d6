"""Tables of the reports that steps leave beside their output."""


def as_markdown(rows: list[dict]) -> str:
    """A table with the keys of the first row as its head."""
    head = list(rows[0])
    dashes = ("---:" if isinstance(rows[0][name], int | float) else "---" for name in head)
    table = ["| " + " | ".join(head) + " |", "| " + " | ".join(dashes) + " |"]
    for row in rows:
        cells = (f"{row[name]:,}" if isinstance(row[name], int) else str(row[name]) for name in head)
        table.append("| " + " | ".join(cells) + " |")
    return "\n".join(table) + "\n"
