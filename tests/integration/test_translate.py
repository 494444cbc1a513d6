"""`python -m eval translate` against fairseq-generate, kills, pivots and bad input."""

import json
import shutil

import pytest

from command_line.lines import read_lines
from data_prep.formats.preparation import Preparation
from tests.integration.commands import Forked, run_script
from tests.integration.test_fairseq_commands import hypotheses
from tests.integration.toy_corpus import SUPERVISED, ZERO_SHOT
from tests.integration.training import TASK, USER_DIR
from tests.made_once import made_once

LINES = 40


def translate_arguments(data, checkpoint, output, *options) -> list:
    return ["translate", "--checkpoint", checkpoint, "--data", data, "--output", output, "--cpu", *options]


@pytest.fixture(scope="session")
def translated(tmp_path_factory, data, trained):
    """Every direction of the test set, translated by a command as a user types it."""

    def translate(folder) -> None:
        arguments = translate_arguments(data, trained / "checkpoint_best.pt", folder / "out")
        result = run_script("eval", *arguments)
        assert result.status == 0, result.text
        warnings = [line for line in result.err.splitlines() if line.startswith("warning")]
        assert len(warnings) == len(SUPERVISED + ZERO_SHOT)
        cut = "1 lines are longer than the model reads (32 tokens) and were cut"
        assert all(cut in line for line in warnings)

    return made_once(tmp_path_factory, "translated", translate) / "out"


def texts(output) -> dict[str, list[str]]:
    return {path.stem: list(read_lines(path)) for path in output.glob("*.txt")}


def test_one_line_per_line_in_every_direction(data, translated):
    found = texts(translated)
    assert sorted(found) == sorted(SUPERVISED + ZERO_SHOT)
    assert {len(lines) for lines in found.values()} == {LINES}
    assert all("__" not in line and "@@" not in line for lines in found.values() for line in lines)
    record = json.loads((translated / "translate.json").read_text())
    kinds = {name: entry["kind"] for name, entry in record["directions"].items()}
    assert kinds == dict.fromkeys(SUPERVISED, "supervised") | dict.fromkeys(ZERO_SHOT, "zero-shot")
    assert {entry["lines"] for entry in record["directions"].values()} == {LINES}
    assert record["system"]["name"] == "PreNorm S-ENC-T-DEC"
    assert record["system"]["losses"] == {"translation": {}}
    assert record["system"]["initialization"] == {}
    assert not (translated / ".journal.jsonl").exists()


@pytest.mark.parametrize("direction", ["de-en", "en-fr", "cs-de"])
def test_hypotheses_are_those_of_fairseq_generate(data, trained, translated, forked, direction):
    source, target = direction.split("-")
    result = forked(
        "generate", data, *USER_DIR, *TASK, "--path", trained / "checkpoint_best.pt",
        "-s", source, "-t", target, "--cpu", "--skip-invalid-size-inputs-valid-test",
    )  # fmt: skip
    assert result.status == 0, result.text
    expected = hypotheses(result)
    assert len(expected) == LINES - 1  # without the line that is too long
    preparation = Preparation.load(data)
    found = list(read_lines(translated / f"{direction}.txt"))
    for number, text in expected.items():
        assert found[number] == preparation.detokenize(target, text), number


def test_a_finished_output_is_kept_and_a_missing_one_is_made_again(data, trained, forked, tmp_path):
    options = translate_arguments(
        data, trained / "checkpoint_best.pt", tmp_path / "out", "--directions", "de-en"
    )
    assert forked("eval", *options).status == 0
    before = (tmp_path / "out" / "translate.json").stat().st_mtime_ns
    again = forked("eval", *options)
    assert again.status == 0
    assert "complete, skipped (--force redoes it)" in again.err
    assert (tmp_path / "out" / "translate.json").stat().st_mtime_ns == before
    hypotheses = (tmp_path / "out" / "de-en.txt").read_text()
    (tmp_path / "out" / "de-en.txt").unlink()
    assert forked("eval", *options).status == 0
    assert (tmp_path / "out" / "de-en.txt").read_text() == hypotheses
    other = forked("eval", *options, "--beam", 2)
    assert other.status == 0
    assert "skipped" not in other.err
    assert json.loads((tmp_path / "out" / "translate.json").read_text())["beam"] == 2


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [("supervised", SUPERVISED), ("zero-shot", ZERO_SHOT), ("fr-de,en-de", ["en-de", "fr-de"])],
)
def test_directions(data, trained, translated, forked, tmp_path, wanted, expected):
    out = tmp_path / "out"
    result = forked(
        "eval", *translate_arguments(data, trained / "checkpoint_best.pt", out, "--directions", wanted)
    )
    assert result.status == 0, result.text
    whole = texts(translated)
    assert texts(out) == {direction: whole[direction] for direction in expected}


@pytest.mark.slow
def test_killed_and_continued_gives_the_same_lines(data, trained, translated, forked, tmp_path):
    out = tmp_path / "out"
    options = translate_arguments(data, trained / "checkpoint_best.pt", out, "--max-tokens", 40)
    killed = Forked(
        tmp_path / "killed", "eval", *options, dies_after=("command_line.journal:Journal.add", 6)
    ).wait()
    assert killed.status == -9, killed.text
    assert not texts(out)
    lines = (out / ".journal.jsonl").read_text().splitlines()[1:]
    assert len(lines) == 6
    done = sum(len(json.loads(line.partition(" ")[2])["examples"]) for line in lines)
    total = LINES * len(SUPERVISED + ZERO_SHOT)
    assert 0 < done < total
    result = forked("eval", *options)
    assert result.status == 0, result.text
    searched = int(result.err.split("translate: ")[-1].split("/")[0])
    assert searched == total - done
    assert texts(out) == texts(translated)


def test_pivot_is_two_translations(data, trained, translated, forked, tmp_path):
    out, model = tmp_path / "out", trained / "checkpoint_best.pt"
    result = forked("eval", *translate_arguments(data, model, out, "--pivot", "en"))
    assert result.status == 0, result.text
    found = texts(out)
    assert sorted(found) == sorted(ZERO_SHOT)
    assert {len(lines) for lines in found.values()} == {LINES}
    preparation = Preparation.load(data)
    english = [preparation.segment("en", line) for line in read_lines(translated / "de-en.txt")]
    manual = forked(
        "interactive", data, *USER_DIR, *TASK, "--path", model, "-s", "en", "-t", "fr", "--cpu",
        "--buffer-size", 100, "--batch-size", 100, stdin="".join(f"{line}\n" for line in english),
    )  # fmt: skip
    assert manual.status == 0, manual.text
    expected = hypotheses(manual)
    kept = [number for number in range(LINES) if number != 2]
    assert [found["de-fr"][number] for number in kept] == [
        preparation.detokenize("fr", expected[number]) for number in kept
    ]
    assert json.loads((out / "translate.json").read_text())["pivot"] == "en"


# --- bad input: one line, exit status 2, the file or option is named


def copy_of(data, folder):
    """A copy of the binarized folder that may be damaged."""
    return shutil.copytree(data, folder / "data")


def drop_language_dictionary(data):
    (data / "dict.fr.txt").write_text("word 1\n")
    return f"{data}/dict.fr.txt: differs from"


def other_dictionary(data):
    for path in data.glob("dict.*.txt"):
        path.write_text("word 1\n")
    return f"{data}/dict.*.txt: is not the dictionary that the checkpoint was trained with"


def no_dictionaries(data):
    for path in data.glob("dict.*.txt"):
        path.unlink()
    return f"{data}: no dict.LANG.txt in it"


def no_record(data):
    (data / "preparation.json").unlink()
    return f"{data}/preparation.json: no such file"


def damaged_index(data):
    path = data / "test.de-en.de.idx"
    path.write_bytes(path.read_bytes()[:50])
    return f"{path}: not a fairseq mmap index, or damaged"


def truncated_data(data):
    path = data / "test.de-en.de.bin"
    path.write_bytes(path.read_bytes()[:50])
    return f"{path}: 50 bytes, but its index describes"


def missing_data(data):
    (data / "test.de-en.de.bin").unlink()
    return f"{data}/test.de-en.de.bin: no such file"


@pytest.mark.parametrize(
    "damage",
    [
        drop_language_dictionary, other_dictionary, no_dictionaries, no_record, damaged_index, truncated_data,
        missing_data,
    ],
)  # fmt: skip
def test_bad_data(data, trained, our_refusal, tmp_path, damage):
    folder = copy_of(data, tmp_path)
    expected = damage(folder)
    arguments = translate_arguments(folder, trained / "checkpoint_best.pt", tmp_path / "out")
    assert our_refusal("eval", *arguments).startswith(expected)
    assert not list((tmp_path / "out").glob("*.txt"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--directions", "de-it"],
            "language 'it': the model has no tag for it; known languages: cs, de, en, fr",
        ),
        (["--directions", "de"], "--directions/--direction: found 'de', expected a direction such as en-de"),
        (["--pivot", "it"], "language 'it': the model has no tag for it; known languages: cs, de, en, fr"),
        (["--pivot", "en", "--directions", "de-en"], "--pivot en: de-en has no zero-shot direction"),
        (["--split", "test2"], "DATA: no test2 set for all directions between the languages of the model"),
        (["--split", "test2", "--directions", "de-en"], "DATA/test2.de-en.de.idx: no such file"),
        (["--checkpoint", "/no/such.pt"], "/no/such.pt: no such file"),
        (["--data", "/no/such"], "/no/such/preparation.json: no such file"),
    ],
    ids=str,
)
def test_bad_options(data, trained, our_refusal, tmp_path, options, message):
    arguments = translate_arguments(data, trained / "checkpoint_best.pt", tmp_path / "out", *options)
    assert our_refusal("eval", *arguments).startswith(message.replace("DATA", str(data)))


def test_damaged_checkpoint(data, trained, our_refusal, tmp_path):
    path = tmp_path / "cut.pt"
    path.write_bytes((trained / "checkpoint_best.pt").read_bytes()[:5000])
    message = our_refusal("eval", *translate_arguments(data, path, tmp_path / "out"))
    assert message.startswith(f"{path}: damaged, or not a fairseq checkpoint")
