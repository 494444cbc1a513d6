"""Names of the files of a report."""

from itertools import combinations

import pytest

from command_line.errors import InputError
from eval.reporting.exhibits import Section, Table, cells, exhibit_files, slug


def test_plain_names_are_file_names():
    assert slug("worst_lines", "toy", "PostNorm-T-ENC") == "worst_lines_toy_PostNorm-T-ENC"
    assert slug("llr", "テスト") == "llr_テスト"


def test_other_names_have_file_names_of_their_own():
    long = "x" * 255
    names = [
        ("A", "B"), ("A", "B+"), ("A", "B*"), ("A", "B-"), ("A B",), ("A-B",), ("A_B",), ("A_B", "C"),
        ("A", "B_C"), ("A", "../B"), ("A", "B "), ("A", ""), ("A",), (), ("A", long), ("A", f"{long}y"),
    ]  # fmt: skip
    files = [slug("confusion", *one) for one in names]
    assert not [(one, other) for one, other in combinations(files, 2) if one == other]
    for file in files:
        assert len(file.encode()) < 100 and file.replace("-", "").replace("_", "").isalnum()


def test_file_names_stay_the_same():
    """Whoever links to a figure finds it again: the name depends on the system alone."""
    assert slug("confusion", "toy", "PreNorm w/o Res.") == "confusion_toy_PreNorm-w-o-Res--a89edf55"


def test_two_tables_of_one_name_are_refused(tmp_path):
    table = Table("x", "caption", [cells("a")], [cells("1")])
    sections = [Section("first", [table], []), Section("second", [table], [])]
    with pytest.raises(InputError, match="two tables are called 'x'"):
        exhibit_files(sections, tmp_path, tmp_path)
