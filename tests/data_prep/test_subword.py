"""Joint subwords: equal to the libraries' own commands, undone exactly, one dictionary."""

import io
import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from command_line.dispatch import run
from command_line.errors import InputError
from data_prep.__main__ import STEPS
from data_prep.formats.dictionary import dictionary_lines
from data_prep.formats.preparation import Preparation
from data_prep.step_folder import read_record
from data_prep.subword_models import BytePairs, NoSubwords, SentencePieces, load_subwords


def training_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("train.*"))


def test_merges_and_segmentation_are_those_of_subword_nmt(prepared, read):
    from subword_nmt.apply_bpe import BPE
    from subword_nmt.learn_bpe import learn_bpe

    text = io.StringIO("".join(path.read_text(encoding="utf-8") for path in training_files(prepared / "tok")))
    codes = io.StringIO()
    learn_bpe(text, codes, 300)
    found = (prepared / "sub/subword.codes").read_text(encoding="utf-8")
    assert len(found.splitlines()) == 301
    assert found == codes.getvalue()
    theirs = BPE(io.StringIO(found))
    for name in ("train.de-en.de", "test.en-fr.fr"):
        assert read(prepared / "sub" / name) == [
            theirs.process_line(line) for line in read(prepared / "tok" / name)
        ]


def test_subwords_are_undone(prepared, read):
    model = BytePairs(prepared / "sub/subword.codes")
    for path in sorted((prepared / "tok").glob("*.*-*.*")):
        lines = read(path)
        assert [model.join(line) for line in read(prepared / "sub" / path.name)] == lines


def test_one_dictionary_with_the_counts_of_all_training_text(prepared, read):
    from fairseq.data import Dictionary

    counts = Counter(
        unit for path in training_files(prepared / "sub") for line in read(path) for unit in line.split()
    )
    rows = [line.rsplit(" ", 1) for line in read(prepared / "sub/dict.txt")]
    assert {unit: int(count) for unit, count in rows if count != "0"} == counts
    assert [int(count) for _, count in rows] == sorted((int(count) for _, count in rows), reverse=True)
    dictionary = Dictionary.load(str(prepared / "sub/dict.txt"))
    assert len(dictionary) % 8 == 0 and len(dictionary) == len(rows) + 4
    assert all(dictionary.index(unit) != dictionary.unk() for unit in counts)


def test_dictionary_depends_on_counts_alone():
    units = [("b", 2), ("a", 2), ("c", 5), ("rare", 1), ("</s>", 9)]
    expected = ["c 5", "a 2", "b 2", "madeupword0000 0"]
    for seed in range(3):
        random.Random(seed).shuffle(units)
        assert list(dictionary_lines(Counter(dict(units)), min_count=2)) == expected


def test_words_that_are_called_like_padding():
    lines = list(dictionary_lines(Counter({"madeupword0000": 2, "a": 2, "madeupword0001": 1}), min_count=2))
    assert lines == ["a 2", "madeupword0000 2", "madeupword0002 0", "madeupword0003 0"]


def learn_sentence_pieces_without_letters(path: Path) -> None:
    """A model that knows no letter of special symbols, so that each is one unknown unit."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["xy yx", "yyx xy"] * 20), model_writer=model, vocab_size=8, model_type="bpe",
        hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    path.write_bytes(model.getvalue())


@pytest.mark.parametrize("line", ["</s> x <unk>", "<s>", "a <pad> </s>"])
def test_text_cannot_become_a_special_symbol(tmp_path, line):
    merges = ("< /", "</ s", "</s ></w>", "< s", "<s ></w>", "< p", "<p a", "<pa d", "<pad ></w>")
    (tmp_path / "codes").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    learn_sentence_pieces_without_letters(tmp_path / "model")
    for model in (BytePairs(tmp_path / "codes"), SentencePieces(tmp_path / "model"), NoSubwords()):
        units = model.segment(line)
        assert not {"<s>", "</s>", "<pad>", "<unk>"} & set(units.split())
        assert model.join(units) == line
    assert len(units.split()) == len(line.split())  # of words as units, one for each


def test_a_word_that_ends_like_a_unit_inside_a_word_stays_one(tmp_path):
    merges = ("@ @</w>", "b @@</w>", "a b@@</w>", "l o", "lo w</w>", "@ @", "x @@", "x@@ y</w>")
    (tmp_path / "codes").write_text("#version: 0.2\n" + "\n".join(merges) + "\n")
    model = BytePairs(tmp_path / "codes")
    assert model.segment("ab@@ low x@@y") == "ab@@@ @ low x@@y"
    assert model.segment("low x@@y") == "low x@@y"
    rng = random.Random(1)
    for _ in range(2000):
        words = ["".join(rng.choices("ab@", k=rng.randint(1, 5))) for _ in range(rng.randint(0, 4))]
        assert model.join(model.segment(" ".join(words))) == " ".join(words)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_sentencepiece(step, tmp_path, prepared, read, kind):
    arguments = f"--type sentencepiece --model-type {kind} --vocabulary-size 200 --workers 1".split()
    sums = set()
    for attempt in ("a", "b"):
        assert (
            step("subword", "--input", prepared / "raw", "--output", tmp_path / attempt, *arguments)[0] == 0
        )
        sums.add((tmp_path / attempt / "subword.model").read_bytes())
    assert len(sums) == 1
    model = load_subwords("sentencepiece", tmp_path / "a/subword.model")
    for name in ("train.de-en.de", "test.de-fr.fr"):
        lines = read(prepared / "raw" / name)
        units = read(tmp_path / "a" / name)
        assert len(units) == len(lines) and [model.join(line) for line in units] == lines
    units = [line.rsplit(" ", 1)[0] for line in read(tmp_path / "a/dict.txt")]
    assert len(units) == 196 and set(units) == set(model.pieces)  # with fairseq's four: what was asked for


def symbols_of(folder: Path, read) -> list[str]:
    return [line.rsplit(" ", 1)[0] for line in read(folder / "dict.txt")]


def test_what_is_in_no_piece_is_unknown(tmp_path, write_corpus, read, capsys):
    """A dictionary has what was asked for, however many characters of a text are in no piece."""
    lines = [f"ein Satz von Wort {number}" for number in range(400)] + ["雪 ☃☃ Satz", "ein ☃ 氷 Satz"]
    folder = write_corpus(tmp_path / "in", {f"train.de-en.{code}": lines for code in ("de", "en")})
    words = f"subword --type sentencepiece --vocabulary-size 48 --workers 1 --input {folder} --output".split()
    assert run("data_prep", "", STEPS, [*words, f"{tmp_path}/o"]) == 0
    symbols = symbols_of(tmp_path / "o", read)
    units = [unit for line in read(tmp_path / "o/train.de-en.de") for unit in line.split()]
    unknown = [unit for unit in units if unit not in symbols]
    assert len(symbols) == 44 and 0 < len(unknown) <= 4
    share = f"{100 * len(unknown) / len(units):.2f}%"  # both sides are the same text
    expected = "dictionary: 48 symbols (44 of 44 pieces, 4 special symbols, 0 for a multiple of 8); "
    assert f"{expected}{share} of the training text's units are <unk>" in capsys.readouterr().out
    assert run("data_prep", "", STEPS, [*words, f"{tmp_path}/all", "--character-coverage", "1"]) == 0
    assert {"☃", "雪", "氷"} <= set("".join(symbols_of(tmp_path / "all", read)))
    assert " 0.00% of the" in capsys.readouterr().out


def test_rare_pieces_are_left_out_where_that_is_asked_for(step, tmp_path, write_corpus, read):
    lines = ["aa ab ba bb"] * 5 + ["c"]
    folder = write_corpus(tmp_path / "in", {f"train.de-en.{code}": lines for code in ("de", "en")})
    words = ["--type", "sentencepiece", "--vocabulary-size", 12, "--character-coverage", 1, "--min-count", 3]
    assert step("subword", "--input", folder, "--output", tmp_path / "o", *words, "--workers", 1)[0] == 0
    assert "c" in "".join(load_subwords("sentencepiece", tmp_path / "o/subword.model").pieces)
    assert not any("c" in symbol for symbol in symbols_of(tmp_path / "o", read))


@pytest.mark.parametrize(("rule", "spelled"), [("identity", "ﬁn Ａ"), ("nmt_nfkc", "fin A")])
def test_normalization_is_recorded_and_applied(step, tmp_path, write_corpus, rule, spelled):
    lines = ["ﬁn Ａ fin A", "A fin", "ﬁn Ａ"] * 20
    names = [f"{split}.de-en.{code}" for split in ("train", "test") for code in ("de", "en")]
    folder = write_corpus(tmp_path / "in", dict.fromkeys(names, lines))
    out, data = tmp_path / "o", tmp_path / "data"
    words = ["--type", "sentencepiece", "--vocabulary-size", 16, "--character-coverage", 1, "--workers", 1]
    assert step("subword", "--input", folder, "--output", out, *words, "--normalization", rule)[0] == 0
    assert step("binarize", "--input", out, "--text", folder, "--output", data, "--workers", 1)[0] == 0
    preparation = Preparation.load(data)
    assert preparation.subword == {"type": "sentencepiece", "model": "subword.model", "normalization": rule}
    assert preparation.detokenize("de", preparation.segment("de", "ﬁn Ａ")) == spelled
    assert step("subword", "--input", folder, "--output", tmp_path / "new", "--dictionary-from", out)[0] == 0
    assert read_record(tmp_path / "new", "subword")["normalization"] == rule


def test_words_as_units(step, tmp_path, prepared, read):
    assert step("subword", "--input", prepared / "tok", "--output", tmp_path / "o", "--type", "none")[0] == 0
    assert read(tmp_path / "o/test.de-en.de") == read(prepared / "tok/test.de-en.de")
    assert not list((tmp_path / "o").glob("subword.[cm]o*"))


def test_an_existing_model_is_applied_to_new_text(step, tmp_path, prepared, read, write_corpus):
    write_corpus(
        tmp_path / "new",
        {"test.de-en.de": ["Der Zug fährt an diesem Tag ."], "test.de-en.en": ["The train ."]},
    )
    arguments = ["--input", tmp_path / "new", "--dictionary-from", prepared / "sub", "--workers", 1]
    assert step("subword", *arguments, "--output", tmp_path / "o")[0] == 0
    for name in ("dict.txt", "subword.codes"):
        assert (tmp_path / "o" / name).read_bytes() == (prepared / "sub" / name).read_bytes()
    model = BytePairs(prepared / "sub/subword.codes")
    assert read(tmp_path / "o/test.de-en.en") == [model.segment("The train .")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tokenizer", "none"], None),
        ([], "de is tokenized by unicode, but that of OLD by none; run `tokenize` with --tokenizer de=none"),
        (["--tokenizer", "none", "--lowercase"], "--tokenizer de=none en=none, without --lowercase"),
    ],
)
def test_an_existing_model_is_for_text_tokenized_alike(step, tmp_path, write_corpus, options, message):
    lines = ["it's all right, isn't it?", "all right!"]
    raw = write_corpus(tmp_path / "raw", {f"train.de-en.{code}": lines for code in ("de", "en")})
    assert step("tokenize", "--input", raw, "--output", tmp_path / "tok", "--tokenizer", "none")[0] == 0
    learning = ("--type", "sentencepiece", "--vocabulary-size", 20, "--model-type", "bpe", "--workers", 1)
    old = tmp_path / "old"
    assert step("subword", "--input", tmp_path / "tok", "--output", old, *learning)[0] == 0
    assert step("tokenize", "--input", raw, "--output", tmp_path / "new", *options)[0] == 0
    words = ("--input", tmp_path / "new", "--output", tmp_path / "o", "--dictionary-from", old)
    status, error = step("subword", *words, "--workers", 1)
    assert status == (2 if message else 0), error
    assert message is None or (message.replace("OLD", str(old)) in error and error.count("\n") == 1)


def test_another_existing_model_is_noticed(step, tmp_path, prepared, write_corpus):
    write_corpus(tmp_path / "new", {"test.de-en.de": ["Der Zug ."], "test.de-en.en": ["The train ."]})
    shutil.copytree(prepared / "sub", tmp_path / "old")
    command = ["subword", "--input", tmp_path / "new", "--dictionary-from", tmp_path / "old", "--workers", 1]
    command += ["--output", tmp_path / "o"]
    assert step(*command)[0] == 0
    assert "complete, skipped" in step(*command)[1]
    for name in ("subword.codes", "dict.txt"):
        path = tmp_path / "old" / name
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
        status, error = step(*command)
        assert (status, f"was made from another {path}" in error) == (0, True)
        assert (tmp_path / "o" / name).read_bytes() == path.read_bytes()


def test_bad_requests(step, tmp_path, prepared, write_corpus):
    write_corpus(tmp_path / "test", {"test.de-en.de": ["x"], "test.de-en.en": ["y"]})
    for arguments, message in (
        (["--input", tmp_path / "test"], "no training files"),
        (["--input", tmp_path / "test", "--dictionary-from", tmp_path], "no subword.json"),
        (["--input", prepared / "tok", "--merges", 0], "--merges: found '0', expected a whole number from 1"),
        (
            ["--input", prepared / "tok", "--type", "sentencepiece", "--vocabulary-size", 5],
            "cannot learn so many pieces",
        ),
    ):
        status, error = step("subword", *arguments, "--output", tmp_path / "o", "--workers", 1)
        assert status == 2 and message in error, error


def test_broken_models(tmp_path):
    (tmp_path / "model").write_text("nonsense with many words\n")
    for kind in ("subword-nmt", "sentencepiece"):
        with pytest.raises(InputError, match="model: not a"):
            load_subwords(kind, tmp_path / "model")
        with pytest.raises(InputError, match="nowhere: no such file"):
            load_subwords(kind, tmp_path / "nowhere")
