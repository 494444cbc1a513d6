"""The steps as commands: order, counts, restarts after a kill, malformed input, instant help."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command_line.dispatch import run
from command_line.errors import InputError
from data_prep.__main__ import DESCRIPTION, STEPS
from data_prep.step_folder import StepFolder
from tests import hanging

ROOT = Path(__file__).parents[2]


def small(write_corpus, folder, lines=("Das ist gut.", "Ja, z.B. hier.", "")):
    return write_corpus(
        folder, {"train.de-en.de": list(lines), "train.de-en.en": ["It's fine."] * len(lines)}
    )


@pytest.mark.parametrize("name", STEPS)
def test_help_is_complete_and_needs_no_heavy_import(name):
    code = (
        "import sys; from command_line.dispatch import run; from data_prep.__main__ import STEPS\n"
        f"try: run('data_prep', '', STEPS, [{name!r}, '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'fairseq', 'babel', 'sacremoses', 'matplotlib', 'mtdata', 'transformers'}\n"
        "sys.exit(str(sorted(heavy & set(sys.modules))) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--input" in done.stdout or "--output" in done.stdout
    assert "default" in done.stdout


def test_overview_lists_the_steps():
    done = subprocess.run(
        [sys.executable, "-m", "data_prep", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert all(f"  {name} " in done.stdout for name in STEPS)


@pytest.mark.parametrize("workers", [1, 2])
def test_tokenize_keeps_every_line_in_its_place(step, tmp_path, write_corpus, read, monkeypatch, workers):
    monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", 7)
    lines = [f"Zeile {number}, gut." if number % 5 else "" for number in range(100)]
    folder = small(write_corpus, tmp_path / "in", lines)
    assert step("tokenize", "--input", folder, "--output", tmp_path / "out", "--workers", workers)[0] == 0
    expected = [f"Zeile {number} ⁀, gut ⁀." if number % 5 else "" for number in range(100)]
    assert read(tmp_path / "out/train.de-en.de") == expected
    assert read(tmp_path / "out/train.de-en.en") == ["It's fine ⁀."] * 100


def tokenize(capsys, folder, *options) -> tuple[str, str]:
    """What the step prints on standard output and on standard error."""
    words = ["tokenize", "--input", folder, "--output", folder.parent / "tok", "--workers", 1, *options]
    assert run("data_prep", DESCRIPTION, STEPS, list(map(str, words))) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def test_tokenize_shows_how_many_lines_come_back(tmp_path, write_corpus, capsys, monkeypatch):
    monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", 100)
    monkeypatch.setattr("data_prep.tokenize.CHECKED_LINES", 50)  # of each of three blocks
    lines = [f"Satz {number}." for number in range(300)]
    lines[70] = lines[120] = "Haus/Hof"
    folder = small(write_corpus, tmp_path / "in", lines)
    output, errors = tokenize(capsys, folder, "--tokenizer", "moses", "en=unicode")
    rows = [re.split("  +", line) for line in output.splitlines()]
    assert rows == [
        ["language", "tokenizer", "lines checked", "come back", "first that does not"],
        ["de", "moses", "150", "99.33%", f"{folder}/train.de-en.de:121: 'Haus/Hof' becomes 'Haus / Hof'"],
        ["en", "unicode", "150", "100.00%"],
    ]
    assert "warning" not in errors


def test_tokenize_warns_of_a_language_that_loses_lines(tmp_path, write_corpus, capsys):
    folder = small(write_corpus, tmp_path / "in", ["Ja/nein.", "Gut."])
    _, errors = tokenize(capsys, folder, "--tokenizer", "moses")
    assert "warning: de: 50.00% of the lines come back from tokenizer moses" in errors
    assert "--tokenizer de=unicode keeps the text" in errors and "warning: en" not in errors


def test_lines_in_lower_case_come_back_in_lower_case(tmp_path, write_corpus, capsys):
    folder = small(write_corpus, tmp_path / "in", ["ÄHM, Straße!"])
    output, errors = tokenize(capsys, folder, "--lowercase")
    assert output.count("100.00%") == 2 and "warning" not in errors


def test_a_finished_step_is_skipped_until_something_changes(step, tmp_path, write_corpus, read):
    folder = small(write_corpus, tmp_path / "in")
    command = ["tokenize", "--input", folder, "--output", tmp_path / "out", "--workers", 1]
    assert step(*command)[0] == 0
    output = tmp_path / "out/train.de-en.de"
    first = output.stat().st_mtime_ns
    assert "complete, skipped" in step(*command)[1]
    assert output.stat().st_mtime_ns == first
    assert step(*command, "--force")[0] == 0
    assert output.stat().st_mtime_ns != first
    output.write_text("mark\n")  # not what the step wrote
    assert "train.de-en.de has changed since" in step(*command)[1]
    assert read(output) == ["Das ist gut ⁀.", "Ja ⁀, z.B ⁀. hier ⁀.", ""]
    assert step(*command, "--tokenizer", "de=none")[0] == 0
    assert read(output) == ["Das ist gut.", "Ja, z.B. hier.", ""]
    small(write_corpus, folder, ["anders"])
    assert step(*command)[0] == 0
    assert read(output) == ["anders"]


def test_a_killed_step_leaves_no_half_file_and_can_be_run_again(step, tmp_path, write_corpus, read):
    lines = [f"Das ist Zeile {number}, z.B. {number * 7919}." for number in range(60_000)]
    folder = small(write_corpus, tmp_path / "in", lines)
    command = ["tokenize", "--input", folder, "--output", tmp_path / "out", "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-m", "data_prep", *map(str, command)],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + hanging.SECONDS
    while not list((tmp_path / "out").glob(".partial-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "out/train.de-en.en").exists() and not (tmp_path / "out/tokenize.json").exists()
    status, error = step("subword", "--input", tmp_path / "out", "--output", tmp_path / "sub")
    assert status == 2 and error.count("\n") == 1
    small(write_corpus, folder, lines[:50])
    assert step(*command)[0] == 0
    assert not list((tmp_path / "out").glob(".*"))
    assert len(read(tmp_path / "out/train.de-en.de")) == len(read(tmp_path / "out/train.de-en.en")) == 50


MALFORMED = {
    "no other side": ({"train.de-en.de": b"a\n"}, "train.de-en.de has no other side"),
    "unequal": ({"train.de-en.de": b"a\nb\n", "train.de-en.en": b"a\n"}, "train.de-en."),
    "latin-1": (
        {"train.de-en.de": b"a\nb\xfc\n", "train.de-en.en": b"a\nb\n"},
        "train.de-en.de:2: byte 0xfc",
    ),
    "empty": ({"train.de-en.de": b"", "train.de-en.en": b""}, "train.de-en.de: is empty"),
    "no gzip": ({"train.de-en.de.gz": b"text", "train.de-en.en": b"a\n"}, "de.gz: is not compressed"),
    "gzip": (
        {"train.de-en.de.gz": b"\x1f\x8bx", "train.de-en.en": b"a\n"},
        "train.de-en.de.gz:1: cannot read",
    ),
    "foreign language": ({"train.de-en.fr": b"a\n"}, "language 'fr' is not one of the two"),
    "nothing": ({}, "no files named"),
}


@pytest.mark.parametrize("problem", MALFORMED)
@pytest.mark.parametrize("name", ["clean", "tokenize", "subword", "corpus-stats"])
def test_malformed_input_is_one_line_that_names_the_file(step, tmp_path, name, problem):
    files, message = MALFORMED[problem]
    (tmp_path / "in").mkdir()
    for file, content in files.items():
        (tmp_path / "in" / file).write_bytes(content)
    status, error = step(name, "--input", tmp_path / "in", "--output", tmp_path / "out", "--workers", 1)
    lines = [line for line in error.splitlines() if line.startswith("error:")]
    assert status == 2 and len(lines) == 1 and message in lines[0], error
    assert "Traceback" not in error
    assert not (tmp_path / "out" / f"{name}.json").exists()


@pytest.mark.parametrize("name", ["clean", "tokenize", "subword", "corpus-stats"])
def test_missing_folder_and_output_into_input(step, tmp_path, write_corpus, name):
    status, error = step(name, "--input", tmp_path / "nowhere", "--output", tmp_path / "out")
    assert status == 2 and "nowhere: no such folder" in error
    folder = small(write_corpus, tmp_path / "in")
    status, error = step(name, "--input", folder, "--output", folder)
    assert status == 2 and "is the input folder" in error


def test_what_somebody_else_put_into_the_folder_stays(step, tmp_path, write_corpus):
    """Also if its name could be a step's: a redo removes what the step has written."""
    folder = small(write_corpus, tmp_path / "in", ["a", "b"])
    command = ["tokenize", "--input", folder, "--output", tmp_path / "out"]
    assert step(*command)[0] == 0
    other = tmp_path / "out/train.sh"
    other.write_text("echo mine")
    for _ in range(2):
        assert step(*command, "--force")[0] == 0
        assert other.read_text() == "echo mine"
    assert "train.sh" not in (tmp_path / "out/tokenize.json").read_text()


def test_a_step_does_not_write_into_what_it_reads(tmp_path):
    (tmp_path / "data/text").mkdir(parents=True)
    (tmp_path / "data/text/valid.de-en.de").write_text("a")
    folder = StepFolder(tmp_path / "data", "binarize", {}, inputs=[tmp_path / "data/text"])
    refused = pytest.raises(InputError, match=r"would write into .*text, which it reads")
    with refused, folder.writing(lambda path: True, subfolder="text"):
        pass
    assert (tmp_path / "data/text/valid.de-en.de").exists()


def test_a_step_that_runs_in_another_process_is_not_begun(step, tmp_path, write_corpus):
    folder = small(write_corpus, tmp_path / "in", ["a", "b"])
    output = tmp_path / "out"
    code = (
        "import sys, time; from command_line.completion import Stamp; "
        "stamp = Stamp(sys.argv[1], 'tokenize', {}); stamp.begin(); "
        "print('begun', flush=True); time.sleep(60)"
    )
    words = [sys.executable, "-c", code, str(output / "tokenize.json")]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "begun\n"
        status, error = step("tokenize", "--input", folder, "--output", output)
        first.kill()
    assert status == 2
    assert f"{output}: `tokenize` is running here in another process; wait for its end" in error
    assert step("tokenize", "--input", folder, "--output", output)[0] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--vocabulary-size", "99"], "--vocabulary-size: needs --type sentencepiece, but --type is bpe"),
        (["--type", "none", "--merges", "9"], "--merges: needs --type bpe, but --type is none"),
        (
            ["--dictionary-from", "x", "--merges", "9"],
            "--merges: needs --type bpe, but --dictionary-from has a model; leave it out",
        ),
        (
            ["--dictionary-from", "x", "--type", "bpe"],
            "--type: --dictionary-from has a model already; leave it out",
        ),
        (["--tokenizer", "x", "--type", "none"], "--type: --tokenizer has a model already"),
        (
            ["--dictionary-from", "x", "--min-count", "1"],
            "--min-count 1: --dictionary-from has a dictionary already; leave it out",
        ),
    ],
)
def test_options_of_subword_that_would_do_nothing(step, tmp_path, write_corpus, words, message):
    folder = small(write_corpus, tmp_path / "in", ["a", "b"])
    status, error = step("subword", "--input", folder, "--output", tmp_path / "out", *words)
    assert status == 2 and message in error and error.count("\n") == 1
