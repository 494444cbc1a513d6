"""Vocabularies of transformers: from raw text to binarized data, ids of text are the tokenizer's own."""

import json
import random
import shutil

import pytest

from command_line.errors import InputError
from data_prep.formats.dictionary import load_dictionary, read_symbols
from data_prep.formats.preparation import Preparation
from data_prep.subword_models import load_subwords
from data_prep.transformers_tokenizer import ROLES, TransformersTokenizer, store_tokenizer
from tests.data_prep.tokenizer_folders import KINDS, TEXT

SPECIAL_IN_TEXT = ["a </s> b", "[PAD]", "<s>", "[SEP][CLS] [MASK]", "<pad><unk>", "<|end|> x", "[UNK]"]


def awkward_lines(count: int = 300) -> list[str]:
    """Words of the training text beside Unicode's spaces, unknown characters, and what looks like a symbol of
    fairseq's dictionary.
    """
    rng = random.Random(5)
    words = " ".join(TEXT).split()
    words += ["__de__", "madeupword0000", "12", "4", "0", "#fairseq:overwrite", "😀", "☃", "\u0301x", "ﬁ"]
    spaces = [" ", " ", " ", "  ", "\u3000", "\u00a0", "\u2009", "\u2028", "\u0085", "\t", "", "\u200b"]
    lines = ["", " ", "\u3000", " lead", "trail ", "x\u3000"]
    while len(lines) < count:
        pieces = [rng.choice(words) + rng.choice(spaces) for _ in range(rng.randint(1, 12))]
        lines.append("".join(pieces))
    return lines


@pytest.fixture(scope="module", params=KINDS)
def folder(request, tmp_path_factory):
    return KINDS[request.param](tmp_path_factory.mktemp("tokenizers") / request.param)


@pytest.fixture(scope="module")
def theirs(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def stored(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "subword.tokenizer.json"
    store_tokenizer(folder, path)
    return path


def own_ids(tokenizer, line: str) -> list[int]:
    return tokenizer(line, add_special_tokens=False, truncation=False, padding=False)["input_ids"]


def prepare(step, tmp_path, folder, lines: list[str], write_corpus, *options):
    """The lines binarized as training and test text of `en`, their reverse as `de`."""
    files = {f"{split}.de-en.en": lines for split in ("train", "test")}
    files |= {f"{split}.de-en.de": lines[::-1] for split in ("train", "test")}
    write_corpus(tmp_path / "raw", files)
    words = ["--input", tmp_path / "raw", "--output", tmp_path / "sub", "--tokenizer", folder, "--workers", 1]
    assert step("subword", *words, *options)[0] == 0
    words = ["--input", tmp_path / "sub", "--text", tmp_path / "raw", "--output", tmp_path / "data"]
    assert step("binarize", *words, "--workers", 1)[0] == 0
    return tmp_path / "data"


def binarized(data, name: str) -> list[list[int]]:
    from fairseq.data.indexed_dataset import MMapIndexedDataset

    return [tokens.tolist() for tokens in MMapIndexedDataset(str(data / name))]


@pytest.mark.parametrize("options", [(), ("--only-used",)])
def test_text_has_the_ids_of_its_tokenizer(step, tmp_path, folder, theirs, write_corpus, options):
    lines = awkward_lines()
    data = prepare(step, tmp_path, folder, lines, write_corpus, *options)
    dictionary = load_dictionary(f"{data}/dict.en.txt")
    preparation = Preparation.load(data)
    ids = preparation.subwords.tokenizer_ids(dictionary)
    for name, expected in (("train.de-en.en", lines), ("test.de-en.de", lines[::-1])):
        found = binarized(data, name)
        assert len(found) == len(expected)
        for line, sentence in zip(expected, found, strict=True):
            assert sentence[-1] == dictionary.eos()
            assert ids[sentence[:-1]].tolist() == own_ids(theirs, line), repr(line)
            again = dictionary.encode_line(preparation.segment("en", line), add_if_not_exist=False)
            assert again.tolist() == sentence
            assert preparation.detokenize("en", dictionary.string(again)) == theirs.decode(
                own_ids(theirs, line), clean_up_tokenization_spaces=False
            )


def test_the_bijection(step, tmp_path, folder, theirs, write_corpus):
    data = prepare(step, tmp_path, folder, TEXT, write_corpus)
    dictionary = load_dictionary(data / "dict.en.txt")
    for language in ("de", "en"):
        dictionary.add_symbol(f"__{language}__")
    tokenizer = Preparation.load(data).subwords
    ids = tokenizer.tokenizer_ids(dictionary)
    known = [number for number in ids.tolist() if number >= 0]
    assert len(known) == len(set(known)) and set(known) == set(theirs.get_vocab().values())
    assert len(dictionary) % 8 == 2 and (ids[-2:] == -1).all()
    assert [number for number in known if number not in ids[:4]] == sorted(set(known) - set(ids[:4].tolist()))
    for place, number in enumerate(ids.tolist()):
        own = next((symbol for symbol in ROLES if tokenizer.special[symbol] == number), str(number))
        assert number == -1 or dictionary[place] == own
    assert Preparation.load(data).tokenizers == {"de": "raw", "en": "raw"}


def test_fairseqs_symbols_are_the_tokenizers(tmp_path):
    from transformers import AutoTokenizer

    expected = {
        "bert": {"<s>": "[CLS]", "<pad>": "[PAD]", "</s>": "[SEP]", "<unk>": "[UNK]", "mask": "[MASK]"},
        "xlmr": {"<s>": "<s>", "<pad>": "<pad>", "</s>": "</s>", "<unk>": "<unk>", "mask": "<mask>"},
        "llama": {"<s>": "<s>", "<pad>": None, "</s>": "</s>", "<unk>": "<unk>", "mask": None},
        "gpt2": {"<s>": None, "<pad>": None, "</s>": "<|end|>", "<unk>": None, "mask": None},
    }
    for kind, names in expected.items():
        store_tokenizer(KINDS[kind](tmp_path / kind), tmp_path / f"{kind}.json")
        tokenizer = TransformersTokenizer(tmp_path / f"{kind}.json")
        pieces = AutoTokenizer.from_pretrained(tmp_path / kind).convert_ids_to_tokens
        found = {name: None if one is None else pieces(one) for name, one in tokenizer.special.items()}
        assert found == names, kind


def test_sentencepiece_ids_with_the_offset_of_xlmr(tmp_path):
    """Against sentencepiece itself: XLM-R's ids are its ids plus 1, and 3 for an unknown piece."""
    import sentencepiece

    folder = KINDS["xlmr"](tmp_path / "xlmr")
    store_tokenizer(folder, tmp_path / "stored.json")
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model"))
    ours = TransformersTokenizer(tmp_path / "stored.json")
    for line in [*TEXT, "ein neuer Satz mit ☃ und 😀"]:
        assert ours.ids(line) == [number + 1 if number else 3 for number in model.encode(line)]


@pytest.mark.parametrize("line", SPECIAL_IN_TEXT)
def test_text_cannot_become_a_special_symbol(stored, theirs, line):
    tokenizer = TransformersTokenizer(stored)
    unknown = tokenizer.special["<unk>"]
    expected = [unknown if number in theirs.all_special_ids else number for number in own_ids(theirs, line)]
    assert tokenizer.ids(line) == [number for number in expected if number is not None]
    assert not {"<s>", "</s>", "<pad>"} & set(tokenizer.segment(line).split())


def test_units_become_text_again(stored):
    tokenizer = TransformersTokenizer(stored)
    for line in TEXT[:2] + TEXT[7:8]:
        joined = tokenizer.join(tokenizer.segment(line) + " __de__ madeupword0001")
        assert joined.replace(" '", "'").replace("' ", "'").strip() == line


def test_the_stored_tokenizer_is_written_for_transformers(stored, theirs, tmp_path):
    from transformers import AutoTokenizer

    load_subwords("transformers", stored).save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    assert type(again) is type(theirs)
    lines = [*awkward_lines(60), *SPECIAL_IN_TEXT]
    assert [again(line)["input_ids"] for line in lines] == [
        theirs(line, truncation=False, padding=False)["input_ids"] for line in lines
    ]


def test_only_what_the_training_text_uses(step, tmp_path, write_corpus):
    folder = KINDS["bert"](tmp_path / "bert")
    lines = ["the weather is nice", "the weather", "nice park"]
    data = prepare(step, tmp_path, folder, lines, write_corpus, "--only-used", "--min-count", 4)
    symbols = read_symbols(data / "dict.en.txt")
    tokenizer = Preparation.load(data).subwords
    counts = {}
    for line in lines * 2:
        for number in tokenizer.ids(line):
            counts[number] = counts.get(number, 0) + 1
    used = {number for number, count in counts.items() if count >= 4} | {tokenizer.special["mask"]}
    assert [symbol for symbol in symbols if symbol.isdecimal()] == [str(number) for number in sorted(used)]


def test_new_text_for_an_existing_vocabulary(step, tmp_path, write_corpus):
    data = prepare(step, tmp_path, KINDS["xlmr"](tmp_path / "xlmr"), TEXT, write_corpus, "--only-used")
    lines = ["Das\u3000Wetter", "☃"]
    write_corpus(tmp_path / "new", {"test.de-en.de": lines, "test.de-en.en": lines})
    words = [
        "--input",
        tmp_path / "new",
        "--output",
        tmp_path / "new-sub",
        "--dictionary-from",
        tmp_path / "sub",
    ]
    assert step("subword", *words, "--workers", 1)[0] == 0
    for name in ("dict.txt", "subword.tokenizer.json"):
        assert (tmp_path / "new-sub" / name).read_bytes() == (tmp_path / "sub" / name).read_bytes()
    preparation = Preparation.load(data)
    found = (tmp_path / "new-sub/test.de-en.de").read_text().splitlines()
    assert found == [preparation.segment("de", line) for line in lines]
    record = json.loads((tmp_path / "new-sub/subword.json").read_text())
    assert record["settings"]["tokenizers"] == {"de": "raw", "en": "raw"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--only-used"], "--only-used: needs --tokenizer; give both, or leave it out"),
        (["--tokenizer", "FOLDER", "--min-count", 2], "--min-count 2: with --tokenizer all ids are in the"),
        (["--tokenizer", "RAW"], "RAW: no tokenizer in it; expected tokenizer.json"),
        (["--tokenizer", "nowhere"], "--tokenizer nowhere: no such folder"),
        (
            ["--tokenizer", "FOLDER", "--input", "TOK"],
            "is tokenized by unicode, but tokenizers of transformers",
        ),
        (["--tokenizer", "CODE"], "field 'auto_map' asks for code or another model, which is never loaded"),
        (["--tokenizer", "BROKEN"], "broken: not a model of transformers"),
        (["--tokenizer", "CUT"], "cut/tokenizer.json:1: not JSON: Expecting ',' delimiter"),
        (["--tokenizer", "EMPTY"], "empty/spm.model: not a model of sentencepiece; damaged, copy it again"),
        (
            ["--tokenizer", "ALONE"],
            "nothing says which tokenizer this is; expected tokenizer_config.json with",
        ),
    ],
)
def test_bad_input(step, tmp_path, prepared, options, message):
    places = {"FOLDER": tmp_path / "bert", "RAW": prepared / "raw", "TOK": prepared / "tok"}
    places |= {"CODE": tmp_path / "code", "BROKEN": tmp_path / "broken"}
    KINDS["bert"](places["FOLDER"])
    KINDS["bert"](places["CODE"])
    config = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["own.Own", None]}}
    (places["CODE"] / "tokenizer_config.json").write_text(json.dumps(config))
    places["BROKEN"].mkdir()
    (places["BROKEN"] / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    places["ALONE"] = KINDS["gpt2"](tmp_path / "alone")
    (places["ALONE"] / "tokenizer_config.json").unlink()
    (places["BROKEN"] / "tokenizer.json").write_text('{"version": "1.0", "model": {"type": "Unigram"}}')
    places["CUT"] = shutil.copytree(places["BROKEN"], tmp_path / "cut")
    (places["CUT"] / "tokenizer.json").write_text('{"version": "1.0"')
    places["EMPTY"] = tmp_path / "empty"
    places["EMPTY"].mkdir()
    (places["EMPTY"] / "tokenizer_config.json").write_text('{"tokenizer_class": "DebertaV2Tokenizer"}')
    (places["EMPTY"] / "spm.model").touch()
    words = ["--input", prepared / "raw", "--output", tmp_path / "out", "--workers", 1]
    status, error = step("subword", *words, *(places.get(word, word) for word in options))
    for name, path in places.items():
        message = message.replace(name, str(path)) if name == "RAW" else message
    assert (status, error.count("\n")) == (2, 1) and message in error


def test_a_broken_file_of_a_binarized_folder(stored, tmp_path):
    content = json.loads(stored.read_bytes())
    for change, message in (
        ({"special": content["special"] | {"</s>": 10**6}}, "expected an id of the tokenizer"),
        ({"tokenizer": {"model": 3}}, "not a model of tokenizers"),
        ({"format": 2}, "field 'format' is 2, expected 1"),
    ):
        (tmp_path / "broken.json").write_text(json.dumps(content | change))
        with pytest.raises(InputError, match=message):
            TransformersTokenizer(tmp_path / "broken.json")


def test_ids_spell_no_words(step, tmp_path, prepared):
    """Said before anything is aligned or parsed."""
    folder = KINDS["bert"](tmp_path / "bert")
    words = ["--input", prepared / "raw", "--output", tmp_path / "sub", "--tokenizer", folder]
    assert step("subword", *words, "--workers", 1)[0] == 0
    words = ["--input", prepared / "tok", "--subword", tmp_path / "sub", "--data", prepared / "data"]
    status, error = step("align", *words, "--output", tmp_path / "aligned", "--workers", 1)
    assert (status, error.count("\n")) == (2, 1)
    assert f"{tmp_path / 'sub'}: its subwords are ids of a tokenizer, which spell no words" in error
    assert not (tmp_path / "aligned").exists()
