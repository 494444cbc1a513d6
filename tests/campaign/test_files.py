"""Every file and folder that a command reads, wrong in every way: one line that names it, and no output."""

import os
import shutil

import pytest

from tests.campaign.conftest import change_json
from tests.campaign.world import WORDS, words_of

# --- a path that is something else


def missing(path):
    return path.with_name("nothing-here")


def a_file(path):
    found = path.with_name("a-file")
    found.write_text("text\n")
    return found


def below_a_file(path):
    return a_file(path) / "x"


def dangling(path):
    found = path.with_name("link")
    found.symlink_to("nowhere")
    return found


def a_loop(path):
    found = path.with_name("loop")
    found.symlink_to(found)
    return found


def too_long(path):
    return path.with_name("x" * 256)


def an_empty_folder(path):
    found = path.with_name("empty")
    found.mkdir()
    return found


def strange_and_missing(path):
    return path.with_name("a $b$ 'c' \"d\" <e> `f` é")


OTHERS = (missing, a_file, below_a_file, dangling, a_loop, too_long, an_empty_folder, strange_and_missing)
# Words behind `--` are another program's, which finds its inputs itself.
INPUTS = [
    (command, number)
    for command, words in WORDS.items()
    for number, word in enumerate(words.partition(" -- ")[0].split())
    if "{w}" in word
]


def files_in(folder) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*")) if folder.exists() else []


@pytest.mark.parametrize(("command", "number"), INPUTS)
def test_an_input_that_is_something_else(pristine, tmp_path, run, command, number):
    for wrong in OTHERS:
        if (command, wrong) == ("fairseq_ext checkpoints", an_empty_folder):
            continue  # a training that has not begun has none
        folder = tmp_path / wrong.__name__
        folder.mkdir()
        output = folder / "output"
        words = words_of(command, pristine, output)
        prefix, sign, _ = words[number].rpartition("=")
        path = wrong(folder / "input")
        words[number] = f"{prefix}{sign}{path}"
        found = run([*command.split(), *words])
        assert found.status == 2, wrong
        within = wrong is below_a_file
        named = (str(path), str(path.parent), words[number - 1]) if within else (str(path), "--")
        assert any(name in found.line for name in named), (wrong, found.line)
        assert [name for name in files_in(output) if not name.endswith(".unfinished")] == [], wrong


OUTPUTS = [(command, number) for command, words in WORDS.items() for number, word in enumerate(words.split())
           if "{o}" in word]  # fmt: skip


@pytest.mark.parametrize(("command", "number"), OUTPUTS)
def test_an_output_that_cannot_be_written(pristine, tmp_path, run, command, number):
    for wrong in (a_file, below_a_file, dangling):
        folder = tmp_path / wrong.__name__
        folder.mkdir()
        words = words_of(command, pristine, wrong(folder / "output"))
        before = files_in(folder)
        found = run([*command.split(), *words])
        assert found.status == 2, wrong
        options = ("--output", "OUT:", words[number - 1])
        assert any(option in found.line for option in options), (wrong, found.line)
        assert files_in(folder) == before, wrong


# --- contents

TEXT = {
    "not UTF-8": b"one\xff\ntwo\n",
    "NUL": b"one\0\ntwo\n",
    "empty": b"",
    "broken gzip": b"\x1f\x8b\x08junk",
    "one line": b"one\n",
}
TEXTS = {
    "data_prep import": "multi30k/train.de",
    "data_prep clean": "raw/train.de-en.de",
    "data_prep tokenize": "raw/train.de-en.de",
    "data_prep subword": "tok/train.de-en.de",
    "data_prep binarize": "sub/train.de-en.de",
    "data_prep align": "tok/train.de-en.de",
    "data_prep corpus-stats": "tok/train.de-en.de",
    "data_prep low-resource": "pair/train.de-en.de",
    "data_prep download": "multi30k/train.de",
    "data_prep new-tatoeba": "challenge/deu-eng/test.src",
    "eval score": "out/de-en.txt",
    "eval probe off-target": "out/de-en.txt",
    "eval probe contribution": "out/de-en.txt",
    "eval probe validation-curves": "train.log",
    "eval probe pretraining-accuracy": "train.log",
    "eval probe training-speed": "train.log",
    "eval probe cost": "train.log",
    "eval probe data-size": "sizes.tsv",
    "data_prep alignment-error": "gold.txt",
    "data_prep lexicon": "linked/train.de-en.align",
    "embeddings encode": "raw/test.de-en.de",
    "embeddings calibrate": "english/snli.jsonl",
    "embeddings finetune": "english/snli.jsonl",
    "llm instruct": "raw/train.de-en.de",
    "llm new-model": "raw/train.de-en.de",
    "llm translate": "data/text/test.de-en.de",
    "llm states": "data/text/test.de-en.de",
}


@pytest.mark.parametrize("damage", TEXT)
@pytest.mark.parametrize("command", TEXTS)
def test_text(pristine, tmp_path, run, command, damage):
    world = copy_of(pristine, tmp_path, TEXTS[command])
    path = world / TEXTS[command]
    if damage == "broken gzip":
        path.unlink(missing_ok=True)
        path = path.with_name(path.name + ".gz")
    path.write_bytes(TEXT[damage])
    found = run([*command.split(), *words_of(command, world, tmp_path / "output")])
    if found.status == 0:  # `clean` removes a NUL, which is harmless in a translation; one line is a text
        assert damage == "NUL" or (damage, command) == ("one line", "embeddings encode")
    else:
        assert str(world) in found.line or "--from-folder" in found.line


_VALID = "2026-01-01 | INFO | valid | {} | num_updates 10"
_UPDATE = "2026-01-01 | INFO | train_inner | epoch 001:  10 / 90 {}"
STRANGE_LOG_LINES = {
    "updates that are NaN": "x | valid | loss 5 | num_updates nan\n"
    + _UPDATE.format("wpb=9, num_updates=nan"),
    "infinite updates": "x | valid | loss 5 | num_updates inf\n" + _UPDATE.format("wpb=9, num_updates=-inf"),
    "half an update": "x | valid | loss 5 | num_updates 1.5\n" + _UPDATE.format("wpb=9, num_updates=0.5"),
    "a loss that is NaN": _VALID.format("loss nan | ppl nan | accuracy_en-mass nan"),
    "an infinite loss": _VALID.format("loss inf | ppl inf | accuracy_en-mass -inf"),
    "times that are NaN": _UPDATE.format("train_wall=nan, wpb=nan, num_updates=15"),
    "infinite times": _UPDATE.format("train_wall=inf, wpb=inf, num_updates=15"),
    "deep JSON": 'x | valid | {"loss": ' + "[" * 100_000 + "\nx | train_inner | {" + '"a":{' * 100_000,
    "a number of many digits": 'x | valid | {"valid_loss": 5, "valid_num_updates": ' + "9" * 4000 + "}",
    "a number of too many digits": 'x | valid | {"valid_loss": ' + "9" * 5000 + "}",
    "too many parameters": f"num. shared model params: {'9' * 5000} (num. trained: {'9' * 5000})",
    "parameters that are commas": "num. shared model params: ,, (num. trained: ,)",
}  # fmt: skip


@pytest.mark.parametrize("line", STRANGE_LOG_LINES)
@pytest.mark.parametrize("place", ["alone", "beside others"])
@pytest.mark.parametrize("command", [command for command, path in TEXTS.items() if path == "train.log"])
def test_strange_lines_of_logs(pristine, tmp_path, run, command, place, line):
    world = copy_of(pristine, tmp_path, "train.log")
    path = world / "train.log"
    others = path.read_text(encoding="utf-8") if place == "beside others" else ""
    path.write_text(f"{others}{STRANGE_LOG_LINES[line]}\n", encoding="utf-8")
    found = run([*command.split(), *words_of(command, world, tmp_path / "output")])
    assert found.status == 0 or str(path) in found.line or "expected a finite number" in found.line


JSON = {
    "eval translate": "data/preparation.json",
    "eval score": "out/translate.json",
    "eval compare": "out/scores.json",
    "eval report": "out/scores.json",
    "eval probe llr": "states/states.json",
    "eval probe similarity": "states/states.json",
    "eval probe retrieval": "states/states.json",
    "eval probe cosine": "states/states.json",
    "eval probe correlate": "retrieval/retrieval.json",
    "eval probe off-target": "out/translate.json",
    "eval probe contribution": "out/translate.json",
    "eval probe data-size": "retrieved/sentence-retrieval.json",
    "eval probe transfer": "fine-tuned/zero-shot/finetuning.json",
    "eval adequacy": "out/translate.json",
    "data_prep binarize": "sub/subword.json",
    "fairseq_ext trim-mbart": "data/preparation.json",
    "embeddings encode": "data/preparation.json",
    "llm tune": "instructions/instructions.json",
}
NOT_JSON = (
    b"", b"{", b"\xff", b"[]", b"null", b"3", b"{}", b"[NaN]", b'{"a": 1, "a": 2}', b"[" * 100_000,
    b'{"format": 1}', b'{"format": "1"}',
)  # fmt: skip


@pytest.mark.parametrize("command", JSON)
def test_what_is_no_such_record(pristine, tmp_path, run, command):
    world = copy_of(pristine, tmp_path, JSON[command])
    path = world / JSON[command]
    for number, content in enumerate(NOT_JSON):
        path.write_bytes(content)
        found = run([*command.split(), *words_of(command, world, tmp_path / f"output-{number}")])
        assert found.status == 2, content[:20]
        assert str(path) in found.line, (content[:20], found.line)


def copy_of(pristine, tmp_path, name: str):
    """The world through links, with a copy of the folder of one file."""
    world = tmp_path / "w"
    world.mkdir()
    top = name.split("/")[0]
    for path in pristine.iterdir():
        if path.name == top and path.is_file():
            shutil.copyfile(path, world / top)
        elif path.name == top:
            shutil.copytree(path, world / top, symlinks=True)
        else:
            os.symlink(path, world / path.name)
    return world


RECORDS = {  # one cheap command for every kind of record
    "eval score": "out/translate.json",
    "eval compare": "out/scores.json",
    "eval probe similarity": "states/states.json",
    "eval probe correlate": "retrieval/retrieval.json",
    "data_prep binarize": "sub/subword.json",
    "fairseq_ext trim-mbart": "data/preparation.json",
}


@pytest.mark.parametrize("wrong", [None, 3, [[]], {"x": None}], ids=repr)
@pytest.mark.parametrize("command", RECORDS)
def test_records_with_wrong_contents(pristine, tmp_path, run, command, wrong):
    """Every field of the record, one after the other, is something else."""
    world = copy_of(pristine, tmp_path, RECORDS[command])
    path = world / RECORDS[command]
    right = path.read_text(encoding="utf-8")
    refused = 0
    for change in changes(right, wrong):
        path.write_text(right, encoding="utf-8")
        change_json(path, change)
        found = run([*command.split(), *words_of(command, world, tmp_path / "output")])
        refused += found.status == 2
        shutil.rmtree(tmp_path / "output", ignore_errors=True)
    assert refused


def changes(text: str, wrong) -> list:
    import json

    def replaced(name):
        return lambda record: record | {name: wrong}

    return [replaced(name) for name in json.loads(text) if name not in ("command", "versions", "seconds")]
