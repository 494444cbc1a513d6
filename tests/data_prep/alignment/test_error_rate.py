"""Alignment error rate: the definition on examples that can be counted by hand."""

import json

import pytest


def run(step, tmp_path, gold: str, found: str, *options):
    (tmp_path / "gold").write_text(gold)
    (tmp_path / "found").write_text(found)
    output = tmp_path / "aer.json"
    files = "--gold", tmp_path / "gold", "--alignment", tmp_path / "found", "--output", output
    status, error = step("alignment-error", *files, *options)
    return status, error, json.loads(output.read_text()) if output.exists() else None


@pytest.mark.parametrize(
    ("gold", "found", "options", "error_rate", "precision", "recall"),
    [
        ("0-0 1-1\n", "0-0 1-1\n", [], 0, 1, 1),
        ("0-0 1-1\n", "0-1\n", [], 1, 0, 0),
        # 3 links, 1 sure and 2 possible of them; 2 sure: 1 - (1 + 2) / (3 + 2)
        ("0-0 1-1 2p2 3?3\n", "0-0 2-2 5-5\n", [], 0.4, 0.6667, 0.5),
        ("1-1 2p2\n\n", "0-0 1-1\n\n", ["--gold-first-word", 1], 0, 1, 1),
        ("0-2\n", "2-0\n", ["--reverse-gold"], 0, 1, 1),
        ("0-0 0-1 1-0 1-1\n", "0:2-0:2\n", [], 0, 1, 1),
        ("\n", "\n", [], 0, 1, 1),
    ],
)
def test_numbers(step, tmp_path, gold, found, options, error_rate, precision, recall):
    status, error, numbers = run(step, tmp_path, gold, found, *options)
    assert status == 0, error
    assert (numbers["error_rate"], numbers["precision"], numbers["recall"]) == (error_rate, precision, recall)


@pytest.mark.parametrize(
    ("gold", "found", "options", "message"),
    [
        ("0-0\n0~0\n", "0-0\n0-0\n", [], "gold:2: found '0~0', expected i-j"),
        ("0-0\n", "0.0\n", [], "found:1: found '0.0', expected i-j, or i:k-j:l"),
        ("0-0\n", "3:3-1\n", [], "found:1: found '3:3-1'"),
        ("0-0\n", "1-1\n", ["--gold-first-word", 1], "gold:1: found '0-0', expected words from 1"),
        ("0-0\n", "0-0\n0-0\n", [], "gold: ends after 1 lines"),
    ],
)
def test_bad_files(step, tmp_path, gold, found, options, message):
    status, error, _ = run(step, tmp_path, gold, found, *options)
    assert status == 2 and message in error and len(error.splitlines()) == 1


def test_numbers_of_thousands_of_digits(step, tmp_path):
    """Of which Python makes no number."""
    number = "9" * 5000
    for gold, found in (("0-0\n", f"{number}-0\n"), (f"0-{number}\n", "0-0\n")):
        status, error, _ = run(step, tmp_path, gold, found)
        assert status == 2 and "d:1: found '" in error and len(error) < 300


@pytest.mark.parametrize("name", ["gold", "found"])
def test_what_is_read_is_not_written(step, tmp_path, name):
    run(step, tmp_path, "0-0\n", "0-0\n")
    files = "--gold", tmp_path / "gold", "--alignment", tmp_path / "found"
    status, error = step("alignment-error", *files, "--output", tmp_path / name)
    assert status == 2 and "is a file that is read, expected another one" in error
    assert (tmp_path / name).read_text() == "0-0\n"
