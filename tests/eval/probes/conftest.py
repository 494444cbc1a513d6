"""The commands of probes, and what they print."""

import re

import pytest

from tests.eval.rows import rows_of


@pytest.fixture
def llr(command, tmp_path):
    """Run `probe llr` on stores and return its rows, or the result of a command that failed."""

    def run(*stores, options=(), output="llr"):
        folders = [getattr(store, "folder", store) for store in stores]
        result = command("probe", "llr", *folders, "--output", tmp_path / output, *options)
        return result if result.status else rows_of(tmp_path / output / "llr.csv")

    return run


@pytest.fixture
def row_of():
    """Function of HTML and first cells: the other cells of the one row that begins with these."""

    def find(html: str, *first: str) -> list[str]:
        rows = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row, re.S) for row in html.split("<tr")]
        (cells,) = [row[len(first) :] for row in rows if tuple(map(str.strip, row[: len(first)])) == first]
        return [text.strip() for text in cells]

    return find


def refused(result) -> str:
    """The one error of a command that refused its input."""
    assert result.status == 2, result.err
    (line,) = [line for line in result.err.splitlines() if line.startswith("error: ")]
    return line.removeprefix("error: ")


@pytest.fixture
def one_line():
    """Function that demands a result with one error that contains a message."""

    def check(result, message: str) -> None:
        assert message in refused(result)

    return check
