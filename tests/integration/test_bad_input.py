"""Bad input of fairseq's commands: one line that names the file or option.

Three commands are run as a shell runs them; the others are called in this process.
"""

import shutil

import pytest

from tests.fairseq_ext.folders import write_pair
from tests.integration.commands import run_script
from tests.integration.test_translate import missing_data, truncated_data
from tests.integration.training import TASK, USER_DIR, training

UNKNOWN = "language 'it': the model has no tag for it; known languages: cs, de, en, fr"


def cut(path, size: int = 50):
    path.write_bytes(path.read_bytes()[:size])


def truncated_index(data):
    cut(data / "train.de-en.en.idx")
    return f"{data}/train.de-en.en.idx: not a fairseq mmap index, or damaged"


def truncated_tokens(data):
    cut(data / "train.de-en.en.bin")
    return f"{data}/train.de-en.en.bin: 50 bytes, but its index describes"


def missing_tokens(data):
    (data / "train.de-en.en.bin").unlink()
    return f"{data}/train.de-en.en.bin: no such file"


def missing_pair(data):
    for path in data.glob("train.de-en.*"):
        path.unlink()
    return f"{data}/train.en-de.en.idx: no such file, nor train.de-en.en.idx"


def empty_direction(data):
    write_pair(data, "train", "de-en", [], [])
    return f"{data}/train.de-en.en.idx: no sentences"


def unequal_counts(data):
    write_pair(data, "train", "de-en", [[4, 2]] * 3, [[4, 2]] * 2)
    return f"{data}/train.de-en.en.idx: 2 sentences, but {data}/train.de-en.de.idx has 3"


def different_dictionaries(data):
    (data / "dict.fr.txt").write_text("word 1\n")
    return f"{data}/dict.fr.txt: differs from {data}/dict.cs.txt"


def malformed_dictionary(data):
    for path in data.glob("dict.*.txt"):
        path.write_text("word\n")
    return f"{data}/dict.cs.txt: not a fairseq dictionary"


def missing_dictionary(data):
    for path in data.glob("dict.*.txt"):
        path.unlink()
    return f"{data}/dict.cs.txt: no such file"


DAMAGES = [
    truncated_index, truncated_tokens, missing_tokens, missing_pair, empty_direction, unequal_counts,
    different_dictionaries, malformed_dictionary, missing_dictionary,
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_training_data(data, refusal, tmp_path, damage):
    folder = shutil.copytree(data, tmp_path / "data")
    message = damage(folder)
    assert refusal("train", *training(folder, tmp_path / "model", "--max-update", 1)).startswith(message)
    assert not list((tmp_path / "model").glob("*.pt"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lang-pairs", "ende"], "--lang-pairs: 'ende' is not SOURCE-TARGET"),
        (["--lang-pairs", "en-de,en-de"], "--lang-pairs: 'en-de' occurs twice"),
        (["--zero-shot-lang-pairs", "de-it"], UNKNOWN),
        (["--drop-residual-layers", "9"], "--drop-residual-layers 9: expected encoder layers between 1 and"),
    ],
    ids=lambda value: "" if isinstance(value, str) else " ".join(value),
)  # fmt: skip
def test_training_options(data, refusal, tmp_path, options, message):
    arguments = training(data, tmp_path / "model", "--max-update", 1, *options)
    assert refusal("train", *arguments).startswith(message)


def generate(data, checkpoint, source: str = "de", target: str = "en") -> list:
    return [data, *USER_DIR, *TASK, "--path", checkpoint, "-s", source, "-t", target, "--cpu"]


@pytest.mark.parametrize("damage", [truncated_data, missing_data])
def test_test_data(data, trained, refusal, tmp_path, damage):
    folder = shutil.copytree(data, tmp_path / "data")
    message = damage(folder)
    assert refusal("generate", *generate(folder, trained / "checkpoint_best.pt")).startswith(message)


def test_another_dictionary(data, trained, refusal, tmp_path):
    folder = shutil.copytree(data, tmp_path / "data")
    for path in folder.glob("dict.*.txt"):
        path.write_text("word 1\n")
    message = f"{folder}/dict.*.txt: is not the dictionary that the checkpoint was trained with"
    for command in ("generate", "interactive"):
        assert refusal(command, *generate(folder, trained / "checkpoint_best.pt")).startswith(message)


@pytest.mark.parametrize("command", ["generate", "interactive"])
def test_unknown_language(data, trained, refusal, tmp_path, command):
    folder = shutil.copytree(data, tmp_path / "data")
    for path in folder.glob("test.de-en.*"):
        path.rename(str(path).replace(".de-en.", ".de-it.").replace(".en.", ".it."))
    shutil.copyfile(folder / "dict.en.txt", folder / "dict.it.txt")
    assert refusal(command, *generate(folder, trained / "checkpoint_best.pt", target="it")) == UNKNOWN


@pytest.mark.parametrize("command", ["generate", "interactive", "validate", "train"])
def test_a_checkpoint_that_runs_code_is_refused_and_nothing_runs(data, refusal, tmp_path, command):
    from tests.fairseq_ext.test_checkpoints import RunsACommand, save

    sentinel = tmp_path / "owned"
    path = save(tmp_path / "evil.pt", {"cfg": None, "model": RunsACommand(f"touch {sentinel}")})
    arguments = {
        "train": training(data, tmp_path / "model", "--restore-file", path),
        "validate": [data, *USER_DIR, *TASK, "--path", path, "--max-tokens", 1000, "--cpu"],
    }.get(command) or generate(data, path)
    message = f"{path}: refused, expected a checkpoint of nothing but weights and options"
    assert refusal(command, *arguments).startswith(message)
    assert not sentinel.exists()


# --- as a shell runs them


def refused(result, message: str) -> None:
    assert result.status == 2
    assert result.last_error.startswith(f"error: {message}"), result.err[-2000:]
    assert "Traceback" not in result.err and "Exception ignored" not in result.err


def test_data_that_training_refuses(data, tmp_path):
    folder = shutil.copytree(data, tmp_path / "data")
    message = truncated_index(folder)
    refused(
        run_script("fairseq_cli.train", *training(folder, tmp_path / "model", "--max-update", 1)), message
    )


@pytest.mark.slow
def test_a_language_that_interactive_refuses(data, trained, tmp_path):
    folder = shutil.copytree(data, tmp_path / "data")
    shutil.copyfile(folder / "dict.en.txt", folder / "dict.it.txt")
    arguments = generate(folder, trained / "checkpoint_best.pt", target="it")
    refused(run_script("fairseq_cli.interactive", *arguments, stdin="bal mod\n"), UNKNOWN)


@pytest.mark.slow
def test_a_checkpoint_that_validate_refuses(data, trained, tmp_path):
    path = tmp_path / "cut.pt"
    path.write_bytes((trained / "checkpoint_best.pt").read_bytes()[:5000])
    arguments = [data, *USER_DIR, *TASK, "--path", path, "--max-tokens", 1000, "--cpu"]
    refused(run_script("fairseq_cli.validate", *arguments), f"{path}: damaged, or not a fairseq checkpoint")
