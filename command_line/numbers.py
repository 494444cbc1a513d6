"""Numbers in text of others: options of fairseq, columns of files, fields of records."""

import re

_NATURAL = re.compile("[0-9]{1,18}")  # int() takes digits of any script, and fails on thousands of them


def natural(text: str) -> int | None:
    """A whole number from 0 in decimal digits, of a size that computers count with; None for other text.

    Unlike `str.isdigit` and `str.isdecimal`, which take "²" or "٣" for numbers.
    """
    return int(text) if _NATURAL.fullmatch(text) else None
