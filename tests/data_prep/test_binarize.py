"""The folder for fairseq-train: what stock fairseq reads there is the text."""

import gzip
import itertools
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from command_line.errors import InputError
from command_line.outputs import checksum
from command_line.workers import Workers
from data_prep.formats.package import dataset_of
from data_prep.formats.preparation import Preparation
from data_prep.formats.sentences import addresses
from data_prep.step_folder import corpus_of

ROOT = Path(__file__).parents[2]
RAW_FILES = [f"{split}.de-en.{language}" for split in ("train", "valid", "test") for language in ("de", "en")]


def read_text(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def segment_and_binarize(step, text: Path, root: Path, *force: str) -> Path:
    """DATA of a folder of text; the steps between write into `root`, too."""
    tok, sub, data = root / "tok", root / "sub", root / "data"
    for words in (
        ["tokenize", "--input", text, "--output", tok],
        ["subword", "--input", tok, "--output", sub, "--merges", 100],
        ["binarize", "--input", sub, "--text", text, "--output", data],
    ):
        assert step(*words, "--workers", 1, *force)[0] == 0
    return data


def test_stock_fairseq_reads_every_line_back(prepared, read):
    from fairseq.data import Dictionary, data_utils

    data = prepared / "data"
    assert len(list(data.glob("*.bin"))) == len(list(data.glob("*.idx"))) == 4 + 6 + 6
    for index in sorted(data.glob("*.idx")):
        dictionary = Dictionary.load(str(data / f"dict{Path(index.stem).suffix}.txt"))
        dataset = data_utils.load_indexed_dataset(str(index.with_suffix("")), dictionary)
        text = read(prepared / "sub" / index.stem)
        assert len(dataset) == len(text)
        for tokens, line in zip(dataset, text, strict=True):
            assert dictionary.string(tokens) == (
                line
                if "train" in index.stem
                else dictionary.string(dictionary.encode_line(line, add_if_not_exist=False))
            )
            assert tokens[-1] == dictionary.eos() and (tokens == dictionary.eos()).sum() == 1


def test_stock_fairseq_preprocess_gives_the_same_bytes(prepared, tmp_path):
    command = [
        sys.executable, "-m", "fairseq_cli.preprocess", "--source-lang", "de", "--target-lang", "en",
        "--trainpref", prepared / "sub/train.de-en", "--srcdict", prepared / "sub/dict.txt",
        "--joined-dictionary", "--destdir", tmp_path,
    ]  # fmt: skip
    subprocess.run([str(word) for word in command], cwd=ROOT, check=True, capture_output=True)
    for suffix in ("de.bin", "de.idx", "en.bin", "en.idx"):
        theirs = (tmp_path / f"train.de-en.{suffix}").read_bytes()
        assert (prepared / f"data/train.de-en.{suffix}").read_bytes() == theirs


def test_record_and_text(prepared):
    record = Preparation.load(prepared / "data")
    assert record.languages == ["de", "en", "fr"]
    assert record.tokenizers == dict.fromkeys(record.languages, "unicode")
    assert record.subword == {"type": "subword-nmt", "model": "subword.codes"}
    pairs = ["de-en", "de-fr", "en-fr"]
    assert record.pairs == {
        "train": {"de-en": 300, "en-fr": 300},
        "valid": dict.fromkeys(pairs, 20),
        "test": dict.fromkeys(pairs, 30),
    }
    for language in record.languages:
        assert checksum(prepared / f"data/dict.{language}.txt") == record.dictionary_sha256
    assert len(record.text_sha256) == 12
    for name, digest in record.text_sha256.items():
        assert (prepared / "data/text" / name).read_bytes() == (prepared / "raw" / name).read_bytes()
        assert checksum(prepared / "data/text" / name) == digest
    assert not list((prepared / "data").rglob(".*"))


def test_a_folder_called_data_is_known_by_its_corpus(prepared, tmp_path):
    """ "BLEU (data)" would say nothing; a folder with a name of its own keeps that."""
    assert dataset_of(prepared / "data") == corpus_of(prepared / "tok") == "phrasebook"
    for source, target, expected in (("data", "german", "german"), ("raw", "data", "data")):
        shutil.copytree(prepared / source, tmp_path / target)
        assert dataset_of(tmp_path / target) == expected


def test_cleaned_text_that_took_the_place_of_its_input_is_of_no_known_corpus(step, tmp_path, write_corpus):
    raw = write_corpus(tmp_path / "raw", {"train.de-en.de": ["eins"], "train.de-en.en": ["one"]})
    assert step("clean", "--input", raw, "--output", tmp_path / "clean", "--workers", 1)[0] == 0
    shutil.rmtree(raw)
    (tmp_path / "clean").rename(raw)
    assert corpus_of(raw) is None


def test_earlier_text_that_is_made_anew_meanwhile_does_not_matter(step, prepared, tmp_path):
    """Not even for the name of the corpus, which is not known then."""
    raw, clean = shutil.copytree(prepared / "raw", tmp_path / "raw"), tmp_path / "clean"
    assert step("clean", "--input", raw, "--output", clean, "--workers", 1)[0] == 0
    assert corpus_of(clean) == "phrasebook"
    (raw / "phrasebook.json").rename(raw / ".phrasebook.unfinished")
    words = ("--input", prepared / "sub", "--text", clean, "--output", tmp_path / "data", "--workers", 1)
    status, error = step("binarize", *words)
    assert status == 0, error
    assert Preparation.load(tmp_path / "data").corpus is None


def test_segment_and_detokenize_are_the_steps_and_their_inverse(prepared, read):
    record = Preparation.load(prepared / "data")
    for language, name in (("de", "test.de-en.de"), ("fr", "valid.de-fr.fr")):
        raw, units = read(prepared / "raw" / name), read(prepared / "sub" / name)
        assert [record.segment(language, line) for line in raw] == units
        assert [record.detokenize(language, line) for line in units] == raw
        assert record.text_path(*name.split(".")).read_text(encoding="utf-8").split("\n")[:-1] == raw
    with pytest.raises(InputError, match="no language 'ja'; the folder has de, en, fr"):
        record.segment("ja", "x")


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("found", [b"\xff", b"\xed\xa0\x80", b"a\0b"], ids=["byte", "surrogate", "NUL"])
def test_text_that_is_none_is_one_line(prepared, step, tmp_path, monkeypatch, workers, found):
    """As many lines as the other side has; also where a worker begins in the middle of the file."""
    monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", 2)
    folder = shutil.copytree(prepared / "sub", tmp_path / "sub")
    path = folder / "train.de-en.de"
    lines = path.read_bytes().split(b"\n")
    lines[4] = found
    path.write_bytes(b"\n".join(lines))
    words = ("--input", folder, "--text", prepared / "raw", "--output", tmp_path / "new")
    status, error = step("binarize", *words, "--workers", workers)
    assert status == 2
    (line,) = [one for one in error.splitlines() if one.startswith("error: ")]
    assert line.startswith(f"error: {path}:5: ")


AS_WRITTEN_BY_OTHERS = "Der Zug fa\u0308hrt\u200b  am\u00a0Freitag ."  # NFD, zero-width and no-break spaces


@pytest.mark.parametrize("made_by", ["phrasebook", "clean", "low-resource", None])
def test_raw_text_is_normalized_as_the_text_of_the_folder_was(
    prepared, step, write_corpus, tmp_path, made_by
):
    files = {name: read_text(prepared / "raw" / name) for name in RAW_FILES}
    raw = tmp_path / "text" if made_by is None else tmp_path / "raw"
    write_corpus(raw, files)
    if made_by == "phrasebook":
        raw = prepared / "raw"
    elif made_by:
        assert step("clean", "--input", raw, "--output", tmp_path / "clean", "--workers", 1)[0] == 0
        raw = tmp_path / "clean"
    if made_by == "low-resource":
        words = ["--input", raw, "--output", tmp_path / "samples", "--sizes", "100"]
        assert step("low-resource", *words)[0] == 0
        raw = tmp_path / "samples/100"
    data = segment_and_binarize(step, raw, tmp_path)
    record = Preparation.load(data)
    assert record.normalized == (made_by is not None)
    found = record.segment("de", AS_WRITTEN_BY_OTHERS)
    assert (found == record.segment("de", "Der Zug fährt am Freitag .")) == record.normalized


def test_the_record_needs_no_library_of_tokenizers_or_models(prepared):
    code = (
        "import sys\n"
        "from data_prep.formats.preparation import Preparation\n"
        f"Preparation.load({str(prepared / 'data')!r})\n"
        "costly = {'torch', 'fairseq', 'transformers', 'sentencepiece', 'sacremoses', 'subword_nmt'}\n"
        "sys.exit(str(costly & set(sys.modules)) if costly & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "no such file"), ("[", r"json:1: not JSON"), ('{"format": 9}', "field 'format' is 9, expected 1"),
     ("[]", "field 'format' is None"), ('{"format": 1, "languages": []}', "field 'tokenizers' is missing")],
)  # fmt: skip
def test_broken_records(tmp_path, content, message):
    if content is not None:
        (tmp_path / "preparation.json").write_text(content)
    with pytest.raises(InputError, match=message):
        Preparation.load(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"subword": {"type": "sentencepiece", "model": "../x"}},
            "field subword.model is '../x'; expected a plain",
        ),
        (
            {"subword": {"type": "sentencepiece", "model": "/etc/passwd"}},
            "field subword.model is '/etc/passwd'",
        ),
        ({"languages": ["de", "../en"]}, "a language is '../en'; expected a plain name"),
        ({"pairs": {"test": {"../de-en": 3}}}, "a name in pairs is '../de-en'; expected a plain name"),
        ({"pairs": {"../test": {}}}, "a name in pairs is '../test'; expected a plain name"),
    ],
)
def test_records_that_lead_out_of_their_folder(prepared, tmp_path, change, message):
    content = json.loads((prepared / "data/preparation.json").read_text())
    (tmp_path / "preparation.json").write_text(json.dumps(content | change))
    with pytest.raises(InputError, match=re.escape(message)):
        Preparation.load(tmp_path)


@pytest.fixture
def copies(prepared, tmp_path):
    for name in ("sub", "raw"):
        shutil.copytree(prepared / name, tmp_path / name)
    return tmp_path


def binarize(step, folder):
    arguments = [
        "--input",
        folder / "sub",
        "--text",
        folder / "raw",
        "--output",
        folder / "data",
        "--workers",
        1,
    ]
    return step("binarize", *arguments)


def test_another_subword_model_is_noticed(step, copies):
    assert binarize(step, copies)[0] == 0
    assert "complete, skipped" in binarize(step, copies)[1]
    codes = copies / "sub/subword.codes"
    codes.write_text(codes.read_text() + "x y\n")
    assert f"was made from another {codes}" in binarize(step, copies)[1]
    assert (copies / "data/subword.codes").read_bytes() == codes.read_bytes()


@pytest.mark.parametrize("name", ["train.de-en.de.bin", "dict.de.txt", "text/test.de-en.en", "subword.codes"])
@pytest.mark.parametrize("damage", ["gone", "cut off"])
def test_an_output_that_is_gone_or_cut_off_is_made_again(step, copies, name, damage):
    assert binarize(step, copies)[0] == 0
    path = copies / "data" / name
    content = path.read_bytes()
    path.write_bytes(content[:-1]) if damage == "cut off" else path.unlink()
    said = {"gone": "is gone", "cut off": "has changed since"}[damage]
    assert f"{name} {said}; `binarize` is done again" in binarize(step, copies)[1]
    assert path.read_bytes() == content


def test_a_carriage_return_inside_a_line_is_a_space(step, copies, prepared):
    path = copies / "sub/train.de-en.de"
    path.write_bytes(path.read_bytes().replace(b" ", b"\r", 1))
    assert binarize(step, copies)[0] == 0
    for name in ("train.de-en.de.bin", "train.de-en.de.idx"):
        assert (copies / "data" / name).read_bytes() == (prepared / "data" / name).read_bytes()


@pytest.mark.parametrize(
    ("content", "message"), [(b"b\xff\n", "byte 0xff is not UTF-8"), (b"b\0\n", "a NUL byte")]
)
def test_what_is_no_text_is_named(step, copies, content, message):
    path = copies / "sub/train.de-en.de"
    path.write_bytes(b"".join([b"a\n", content, *path.read_bytes().splitlines(keepends=True)[2:]]))
    status, error = binarize(step, copies)
    assert status == 2 and f"train.de-en.de:2: {message}" in error and error.count("error:") == 1
    assert not (copies / "data/train.de-en.de.bin").exists()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda c: (c / "sub/dict.txt").unlink(), "dict.txt: no such file"),
        (
            lambda c: (c / "sub/dict.txt").write_text("only words\n"),
            "dict.txt:1: 'only words', expected SYMBOL",
        ),
        (lambda c: (c / "sub/dict.txt").write_text("a 3\n<unk> 2\n"), "has <unk>, which fairseq adds itself"),
        (lambda c: (c / "sub/subword.json").unlink(), "no subword.json"),
        (lambda c: (c / "sub/.subword.unfinished").touch(), "`subword` did not finish here"),
        (lambda c: [p.unlink() for p in (c / "raw").glob("test.de-fr.*")], "no test.de-fr.de, expected"),
        (lambda c: (c / "raw/valid.de-en.en").write_text("x\n"), "valid.de-en.en"),
        (lambda c: (c / "sub/valid.de-en.en").write_text("x\n"), "valid.de-en.en: has 1 lines but"),
    ],
)
def test_damaged_input(step, copies, damage, message):
    damage(copies)
    status, error = binarize(step, copies)
    assert status == 2 and message in error and "Traceback" not in error
    assert not (copies / "data/preparation.json").exists()


def test_several_processes_give_the_same_files(step, copies, prepared, monkeypatch):
    monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", 7)
    words = ["--input", copies / "sub", "--text", copies / "raw", "--output", copies / "data"]
    assert step("binarize", *words, "--workers", 3)[0] == 0
    for path in sorted((prepared / "data").glob("train.*")):
        assert (copies / "data" / path.name).read_bytes() == path.read_bytes()
    assert not list((copies / "data").glob(".*"))


ODD_LINES = [
    "", " ", "a", "a  b\tc", " a </s> b ", "<unk> <pad> <s> nowhere", "a\u00a0b\u2028c\x85d\x1ce\x0bf\u3000g",
    "x\u200dy \u0e01\u0e33 \ufeff", "der madeupword0000 #fairseq:overwrite",
]  # fmt: skip


@pytest.mark.parametrize("lines_per_block", [1, 2, 100])
def test_odd_lines_have_the_ids_that_fairseq_gives_them(tmp_path, monkeypatch, lines_per_block):
    from data_prep.binarize import BlockBinarizer, binarize_file
    from data_prep.formats.dictionary import dictionary_lines, load_dictionary, token_ids, write_dictionary
    from data_prep.formats.sentences import load_sentences

    monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", lines_per_block)
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in ODD_LINES), encoding="utf-8", newline="")
    counts = Counter(["a", "b", "c", "d", "e", "f", "g", "der", "x\u200dy"])
    write_dictionary(tmp_path / "dict.de.txt", dictionary_lines(counts))
    dictionary = load_dictionary(tmp_path / "dict.de.txt")
    with Workers(1) as workers:
        arguments = (BlockBinarizer(token_ids(tmp_path / "dict.de.txt")), len(dictionary), workers)
        assert binarize_file(tmp_path / "text", tmp_path / "train.de-en.de", *arguments) == len(ODD_LINES)
    expected = [dictionary.encode_line(line, add_if_not_exist=False).tolist() for line in ODD_LINES]
    assert [row.tolist() for row in load_sentences(tmp_path / "train.de-en.de")] == expected


@pytest.mark.parametrize("content", [b"caf\xe9 3\n", b"no count\n"])
def test_a_file_that_is_no_dictionary_is_named(tmp_path, content):
    from data_prep.formats.dictionary import load_dictionary

    path = tmp_path / "dict.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"{path}: not a fairseq dictionary"):
        load_dictionary(path)


@pytest.mark.parametrize("model", ["../secret", "/etc/passwd", "link"])
def test_a_subword_model_outside_of_its_folder(step, copies, model):
    """A record of a stranger would copy a file of the reader into data that are passed on."""
    (copies / "secret").write_text("private\n")
    (copies / "sub/link").symlink_to(copies / "secret")
    record = copies / "sub/subword.json"
    content = json.loads(record.read_text())
    content["settings"]["model"] = model
    record.write_text(json.dumps(content))
    status, error = binarize(step, copies)
    assert status == 2 and error.startswith(f"error: {copies}/sub/")
    assert "expected a" in error and error.count("\n") == 1
    assert not [path for path in (copies / "data").rglob("*") if path.name in ("secret", "passwd", "link")]
    assert not (copies / "data/preparation.json").exists()


def test_addresses_of_files_beyond_two_gigabytes():
    """Sizes are 32 bits, and their sum is not."""
    lengths = np.array([2**31 - 5, 7, 2**31 - 1, 0, 3], dtype="<i4")
    expected = [*itertools.accumulate((2 * length for length in lengths.tolist()), initial=6)][:-1]
    found = addresses(lengths, 2, start=6)
    assert found.dtype == np.int64 and found.tolist() == expected


def test_compressed_text_gives_the_same_files(step, copies, prepared):
    for path in sorted((copies / "sub").glob("train.*-*.*")):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert binarize(step, copies)[0] == 0
    for path in sorted((prepared / "data").glob("train.*")):
        assert (copies / "data" / path.name).read_bytes() == path.read_bytes()
