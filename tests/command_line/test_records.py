"""A wrong JSON file is one line: file, field, found, expected."""

from typing import Any, Literal, NotRequired

import pytest
from typing_extensions import TypedDict

from command_line.errors import InputError
from command_line.records import check, field, parse_json, read_json, read_record


class Pair(TypedDict):
    lines: int


class Record(TypedDict):
    name: str
    seed: NotRequired[int | None]
    kind: Literal["a", "b"]
    version: NotRequired[Literal[1]]
    loss: list[float]
    done: bool
    pairs: dict[str, Pair]


RIGHT = {"name": "x", "kind": "a", "loss": [1, 0.5], "done": True, "pairs": {"de-en": {"lines": 3}}, "new": 1}


def refusal(call, *args) -> str:
    with pytest.raises(InputError) as error:
        call(*args)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff{}", "r.json: not UTF-8 text (byte 0), expected JSON"),
        (b'{\n"a": }', "r.json:2: not JSON: Expecting value (column 6)"),
        (b"", "r.json:1: not JSON: Expecting value (column 1)"),
        (b"[NaN]", "r.json: not JSON as expected here: found the number 'NaN', expected finite ones"),
        (b"[-Infinity]", "r.json: not JSON as expected here: found the number '-Infinity'"),
        (b"[1e999]", "r.json: not JSON as expected here: found the number '1e999', expected finite ones"),
        (b'{"a": 1, "a": 2}', "r.json: not JSON as expected here: the field 'a' occurs twice"),
        (b"9" * 5000, "r.json: not JSON as expected here: Exceeds the limit (4300 digits)"),
        (b"[" * 200_000, "r.json: not JSON as expected here: nested too deeply"),
        (rb'{"name": "a\ud800b"}', r"r.json: not JSON as expected here: found half a character, '\ud800'"),
        (rb'{"\uDFFF": 1}', r"r.json: not JSON as expected here: found half a character, '\udfff'"),
    ],
    ids=range(11),
)
def test_what_is_not_json(tmp_path, content, message):
    path = tmp_path / "r.json"
    path.write_bytes(content)
    assert refusal(read_json, path).startswith(f"{tmp_path}/{message}")


def test_both_halves_of_a_character_are_text():
    assert parse_json(rb'["\ud83d\ude42", "\\ud800"]', "r.json") == ["🙂", r"\ud800"]


def test_what_is_no_file(tmp_path):
    assert refusal(read_json, tmp_path / "r.json") == f"{tmp_path}/r.json: no such file"
    assert refusal(read_json, tmp_path) == f"{tmp_path}: is a folder, expected a JSON file"


def test_a_line_of_a_file_is_named():
    assert refusal(parse_json, b"{", "a.jsonl", 7).startswith("a.jsonl:7: not JSON")
    assert refusal(parse_json, b"[NaN]", "a.jsonl", 7).startswith("a.jsonl:7: not JSON as expected here")


def test_an_object_in_place_of_a_list_is_called_so():
    assert refusal(check, {}, list[int], "r.json") == "r.json: found an object, expected a list"


def test_a_right_record_and_fields_that_nobody_asks_for():
    check(RIGHT, Record, "r.json")
    check(RIGHT | {"seed": None, "version": 1}, Record, "r.json")
    check(None, Any, "r.json")
    check([1.5], float | list[float], "r.json")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "field 'name' is 3, expected a string"),
        ({"name": None}, "field 'name' is None, expected a string"),
        ({"seed": 1.5}, "field 'seed' is 1.5, expected a whole number"),
        ({"seed": True}, "field 'seed' is True, expected a whole number"),
        ({"kind": "c"}, "field 'kind' is 'c', expected 'a' or 'b'"),
        ({"kind": ["a"]}, "field 'kind' is ['a'], expected 'a' or 'b'"),
        ({"version": True}, "field 'version' is True, expected 1"),
        ({"version": 1.0}, "field 'version' is 1.0, expected 1"),
        ({"loss": 1}, "field 'loss' is 1, expected a list"),
        ({"loss": [1, "x"]}, "field 'loss[1]' is 'x', expected a number"),
        ({"loss": [10**400]}, "field 'loss[0]' is 1000"),
        ({"loss": [False]}, "field 'loss[0]' is False, expected a number"),
        ({"done": 1}, "field 'done' is 1, expected true or false"),
        ({"pairs": []}, "field 'pairs' is [], expected an object"),
        ({"pairs": {"de-en": {}}}, "field 'pairs.de-en.lines' is missing"),
        ({"pairs": {"de-en": 3}}, "field 'pairs.de-en' is 3, expected an object"),
        ({"name": ["x" * 1000]}, "field 'name' is ['xxx"),
    ],
)
def test_a_wrong_field(change, message):
    refused = refusal(check, RIGHT | change, Record, "r.json")
    assert refused.startswith(f"r.json: {message}")
    assert len(refused) < 200


@pytest.mark.parametrize(
    ("value", "name"), [([], "a list"), ("x", "a string"), (None, "null"), (1, "a whole")]
)
def test_a_record_is_an_object(value, name):
    assert refusal(check, value, Record, "r.json").startswith(f"r.json: found {name}")


def test_one_of_several_schemas():
    kind = dict[str, int | list[float]]
    assert refusal(check, {"a": "x"}, kind, "r.json") == "r.json: field 'a' is 'x', expected a list"
    assert refusal(check, {"a": [None]}, kind, "r.json") == "r.json: field 'a[0]' is None, expected a number"
    assert refusal(check, 3, str | Pair, "r.json", "x") == "r.json: field 'x' is 3, expected an object"
    assert refusal(check, {}, str | Pair, "r.json", "x") == "r.json: field 'x.lines' is missing"


def test_a_field_by_its_dotted_name(tmp_path):
    assert field(RIGHT, "pairs.de-en", Pair, "r.json") == {"lines": 3}
    assert refusal(field, RIGHT, "pairs.de-fr.lines", int, "r") == "r: field 'pairs.de-fr' is missing"
    (tmp_path / "r.json").write_text('{"name": 1}')
    assert "field 'name' is 1" in refusal(read_record, tmp_path / "r.json", Record)
