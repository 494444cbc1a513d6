"""Names in records of others become paths: none leads out of its folder."""

import pytest

from command_line.errors import InputError
from command_line.names_in_records import path_inside, plain_name

OUTSIDE = ["../x", "/etc/passwd", "a/../../x", "sub/x", "..", ".", "", "x\n", "x\0", None, 3, ["x"], {"x": 1}]


@pytest.mark.parametrize("name", OUTSIDE, ids=repr)
def test_names_that_lead_elsewhere(tmp_path, name):
    for check in (
        lambda: plain_name(name, "r.json: field x"),
        lambda: path_inside(tmp_path, name, "r.json: field x"),
    ):
        with pytest.raises(
            InputError, match=r"^r\.json: field x is .*; expected a plain name without folders$"
        ):
            check()


@pytest.mark.parametrize("name", ["subword.codes", "zh_CN", "..a", "a..", "日本語", "with space"])
def test_plain_names(tmp_path, name):
    assert path_inside(tmp_path, plain_name(name, "r.json"), "r.json") == tmp_path / name


def test_links(tmp_path):
    (tmp_path / "real").mkdir()
    folder = tmp_path / "linked"
    folder.symlink_to(tmp_path / "real")
    (folder / "inside").symlink_to("file")
    (folder / "outside").symlink_to("/etc/passwd")
    assert path_inside(folder, "inside", "r.json") == folder / "inside"
    with pytest.raises(
        InputError, match=f"^{folder}/outside: a link to /etc/passwd; expected a file in {folder}"
    ):
        path_inside(folder, "outside", "r.json")
