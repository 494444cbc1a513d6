"""Tokenizers: equal to their libraries, and undone by detokenization."""

import marshal
import random
import sys
import tempfile
from types import SimpleNamespace

import pytest

from command_line.errors import InputError
from data_prep import moses
from data_prep.moses import FastMosesTokenizer
from data_prep.tokenizers import choose_tokenizers, make_tokenizer, tokenizer_like

PIECES = [
    *"aabAB12.,'\"`-?!()&<>|[]%$@:; ;  \t…’«»éßжД漢字हि्\u00a0\u2028\x1c\x85\x00\x07",
    "...", "..", "DOT", "DOTMULTI", "DOTDOTMULTI", "Mr.", "Nr.", "e.g.", "U.S.", "d'", "'s", "No.",
    "z.B.", " 'tis ",
]  # fmt: skip


def sacremoses_tokenizer(language):
    from sacremoses import MosesTokenizer

    tokenizer = MosesTokenizer(language)
    return lambda line: tokenizer.tokenize(line, return_str=True)


@pytest.mark.parametrize("language", ["en", "fr", "it", "de", "cs", "ru", "xx"])
def test_moses_equals_sacremoses_on_hostile_lines(language):
    fast, slow = FastMosesTokenizer(language).tokenize, sacremoses_tokenizer(language)
    draws = random.Random(4)
    for _ in range(800):
        line = "".join(draws.choice(PIECES) for _ in range(draws.randint(0, 14)))
        assert fast(line) == slow(line), repr(line)


def test_moses_equals_sacremoses_when_words_come_again(monkeypatch):
    monkeypatch.setattr(moses, "REMEMBERED_WORDS", 3)  # forgetting must not matter either
    fast, slow = FastMosesTokenizer("en").tokenize, sacremoses_tokenizer("en")
    lines = [
        "Mr. Smith's No. 5, e.g. a U.S. dog.",
        "No. it isn't 'so', is it? No. 7",
        ", he said...",
        "a. b",
        "a. B",
        "a. 1",
    ]
    for line in lines * 2:
        assert fast(line) == slow(line)


def test_all_languages_remember_within_one_limit(monkeypatch):
    """A process that tokenizes sixty of them does not grow with their number."""
    monkeypatch.setattr(moses, "REMEMBERED_WORDS", 4)
    monkeypatch.setattr(moses, "_memory", moses._Memory())
    tokenizers = [FastMosesTokenizer(language) for language in ("en", "fr", "de")]
    for line in ("one two three", "four five", "six seven. eight", "nine"):
        for tokenizer in tokenizers:
            tokenizer.tokenize(line)
            kept = [words for one in tokenizers for words in (one._inner, one._last, one._with_stop)]
            assert 0 < sum(map(len, kept)) <= 4


def test_jieba_takes_nothing_from_a_shared_folder(tmp_path, monkeypatch):
    """Its cache in /tmp may be anybody's, and changes the words."""
    pytest.importorskip("jieba")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "jieba.cache").write_bytes(marshal.dumps(({"我": 1}, 1)))
    tokenizer = make_tokenizer.__wrapped__("jieba", "zh")
    assert tokenizer.tokenize("我喜欢自然语言") == make_tokenizer("jieba", "zh").tokenize("我喜欢自然语言")
    assert "喜欢" in tokenizer.tokenize("我喜欢自然语言").split()
    assert [path.name for path in tmp_path.iterdir()] == ["jieba.cache"]


def test_moses_by_eye():
    tokenizer = make_tokenizer("moses", "en")
    tokenized = tokenizer.tokenize("It's 5,300 dollars (about AT&T), Mr. Smith.")
    assert tokenized == "It &apos;s 5,300 dollars ( about AT &amp; T ) , Mr. Smith ."
    assert (
        tokenizer.detokenize("It &apos;s 5,300 dollars ( about ) , Mr. Smith .")
        == "It's 5,300 dollars (about), Mr. Smith."
    )


def test_czech_numbers_keep_their_space():
    tokenizer = make_tokenizer("moses", "cs")
    line = "Na trhu jsme koupili jablka: 58 kilogramů. Je neděle 18. ledna 2015."
    assert tokenizer.detokenize(tokenizer.tokenize(line)) == line


@pytest.mark.parametrize("language", ["de", "en", "es", "fr", "pl", "pt", "ru", "sv"])
def test_detokenization_gives_the_phrasebook_back(language):
    from data_prep.phrasebook.rendering import Renderer
    from data_prep.phrasebook.structures import Draws, draw_structure

    renderer, draws, tokenizer = Renderer(language), Draws(8), make_tokenizer("moses", language)
    for _ in range(60):
        line = renderer.render(draw_structure(draws))
        assert tokenizer.detokenize(tokenizer.tokenize(line)) == line


@pytest.mark.parametrize(
    ("name", "language", "module", "line"),
    [
        ("jieba", "zh", "jieba", "我喜欢New York和Python 3.11，价格是1,200元（约8 USD）。"),
        ("mecab", "ja", "MeCab", "私はPython 3.11とNew Yorkが好きです。価格は1,200円（約8 USD）です。"),
        ("mecab", "ja", "MeCab", "「はい」と言った。"),
    ],
)
def test_chinese_and_japanese_come_back_with_the_spaces_of_latin_words(name, language, module, line):
    pytest.importorskip(module)
    tokenizer = make_tokenizer(name, language)
    tokens = tokenizer.tokenize(line)
    assert len(tokens.split()) > 5 or len(line) < 10
    assert "".join(tokens.split()) == "".join(line.split())
    assert tokenizer.detokenize(tokens) == line


@pytest.mark.parametrize("name", ["jieba", "mecab", "moses", "unicode", "none"])
def test_empty_and_blank_lines_stay_one_line(name):
    if name in ("jieba", "mecab"):
        pytest.importorskip({"jieba": "jieba", "mecab": "MeCab"}[name])
    tokenizer = make_tokenizer(name, {"jieba": "zh", "mecab": "ja"}.get(name, "en"))
    for line in ("", "  ", "\u3000"):
        assert tokenizer.tokenize(line) == ""
        assert tokenizer.detokenize("") == ""


def test_jumanpp_without_its_program(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(InputError, match="no program `jumanpp`"):
        make_tokenizer.__wrapped__("jumanpp", "ja")


def test_jumanpp_gives_the_words_of_its_morphemes(monkeypatch):
    class Jumanpp:
        def apply_to_sentence(self, line):
            return SimpleNamespace(
                morphemes=[SimpleNamespace(text=text) for text in ("日本", "語", "\u3000", "だ")]
            )

    monkeypatch.setattr("shutil.which", lambda name: "/bin/jumanpp")
    monkeypatch.setitem(sys.modules, "rhoknp", SimpleNamespace(Jumanpp=Jumanpp))
    tokenizer = make_tokenizer.__wrapped__("jumanpp", "ja")
    assert tokenizer.tokenize("日本語だ") == "日本 語 だ"
    assert tokenizer.tokenize("日本語\u3000だ") == "日本 語 ⁀&#12288;だ"
    assert tokenizer.tokenize(" ") == ""
    assert tokenizer.detokenize("日本 語 ⁀&#12288;だ") == "日本語\u3000だ"


def test_a_word_that_is_too_long_for_mecab_is_an_error_of_one_line():
    tokenizer = make_tokenizer("mecab", "ja")
    with pytest.raises(
        InputError, match=r"mecab: failed \(too long sentence.*'あああ.*1000000 characters"
    ) as error:
        tokenizer.tokenize("あ" * 1_000_000)
    assert "\n" not in str(error.value)
    assert tokenizer.tokenize("東京都") == "東京 都"


def test_a_library_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(InputError, match=r"needs jieba: pip install '\.\[zh\]'"):
        make_tokenizer.__wrapped__("jieba", "zh")


def test_choices_per_language():
    assert choose_tokenizers({"en", "ja", "zh"}, []) == {"en": "unicode", "ja": "mecab", "zh": "jieba"}
    assert choose_tokenizers({"en", "ja"}, ["ja=jumanpp"]) == {"en": "unicode", "ja": "jumanpp"}
    assert choose_tokenizers({"en", "ja"}, ["ja=mecab", "none"]) == {"en": "none", "ja": "mecab"}


@pytest.mark.parametrize(
    ("code", "tokenizer"),
    [("zho_Hans", "jieba"), ("zh_TW", "jieba"), ("yue", "jieba"), ("zho_Latn", "unicode"),
     ("jpn_Jpan", "mecab"), ("jpn", "mecab"), ("kor_Hang", "unicode"), ("tha", "unicode"), ("xa", "unicode")],
)  # fmt: skip
def test_the_default_follows_the_language_whatever_its_code(code, tokenizer, capsys):
    assert choose_tokenizers({code, "en"}, []) == {code: tokenizer, "en": "unicode"}
    assert capsys.readouterr().err == ""


def test_moses_tokenizes_an_artificial_language_by_general_rules_with_a_warning(capsys):
    assert choose_tokenizers({"xa", "en"}, ["moses"]) == {"en": "moses", "xa": "moses"}
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: 'xa' is not a known language code: Moses tokenizes it by general rules")
    assert choose_tokenizers({"xa", "en"}, ["moses", "xa=none"]) and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("code", "rules"), [("fra_Latn", "fr"), ("fr_CA", "fr"), ("ces", "cs"), ("lvs_Latn", "lv"), ("xa", "xa")]
)
def test_moses_has_its_rules_for_every_code_of_a_language(code, rules):
    from sacremoses import MosesDetokenizer

    line = "L'eau, c'est l'hôtel n° 5 : oui ! 18. ledna 2015 ."
    ours, plain = make_tokenizer("moses", code), sacremoses_tokenizer(rules)
    assert ours.tokenize(line) == plain(line)
    words = ["l'", "eau", "est", "là", ":", "oui", "!", "»"]
    assert ours.detokenize(" ".join(words)) == MosesDetokenizer(rules).detokenize(words)


@pytest.mark.parametrize(
    ("choice", "message"), [("zh=jieba", "no language 'zh'"), ("en=spacy", "'spacy'"), ("x", "'x'")]
)
def test_bad_choices(choice, message):
    with pytest.raises(InputError, match=message):
        choose_tokenizers({"en", "de"}, [choice])


@pytest.mark.parametrize("choices", [["none", "moses"], ["en=moses", "none", "en=none"]])
def test_contradicting_choices(choices):
    message = f"--tokenizer {choices[-1]}: another choice is {choices[0]}; leave one out"
    with pytest.raises(InputError, match=message):
        choose_tokenizers({"en", "de"}, choices)
    assert choose_tokenizers({"en", "de"}, ["en=none", "en=none"])["en"] == "none"


def test_words_in_lower_case():
    """Of every tokenizer, and of languages that come later (thesis 2.3.2)."""
    names = choose_tokenizers({"en", "ja"}, ["moses", "ja=none"], lowercase=True)
    assert names == {"en": "moses+lowercase", "ja": "none+lowercase"}
    tokenizer = make_tokenizer("moses+lowercase", "de")
    assert tokenizer.tokenize("ÄHM, Straße!") == "ähm , straße !"
    assert tokenizer.detokenize("ähm , straße !") == "ähm, straße!"
    assert tokenizer_like(names.values(), "zh") == "jieba+lowercase"
    assert tokenizer_like(["none+lowercase"], "zh") == "none+lowercase"
    assert tokenizer_like(["moses", "none"], "zh") == "jieba"
    assert tokenizer_like(["moses", "jieba"], "de") == "moses"
    assert tokenizer_like(["unicode", "moses"], "de") == tokenizer_like([], "de") == "unicode"
    with pytest.raises(InputError, match="unknown tokenizer 'mosse' for de"):
        make_tokenizer("mosse+lowercase", "de")
