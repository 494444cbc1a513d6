"""Lines come back from the tokenizers that say so, in any script, and words are not cut apart."""

import functools

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from data_prep.spacing import JOINT, spelled
from data_prep.tokenizers import make_tokenizer

SCRIPTS = {  # letters, marks and digits of a script, and what else is written with it
    "Latin": "[\\p{Latin}\\p{Mn}0-9]",
    "Greek": "\\p{Greek}",
    "Cyrillic": "\\p{Cyrillic}",
    "Armenian": "\\p{Armenian}",
    "Hebrew": "\\p{Hebrew}",
    "Arabic": "[\\p{Arabic}\u200c\u200d]",
    "Ethiopic": "\\p{Ethiopic}",
    "Devanagari": "[\\p{Devanagari}\u200c\u200d।॥]",
    "Bengali": "[\\p{Bengali}\u200c\u200d।]",
    "Malayalam": "[\\p{Malayalam}\u200c\u200d]",
    "Sinhala": "[\\p{Sinhala}\u200d]",
    "Thai": "\\p{Thai}",
    "Lao": "\\p{Lao}",
    "Khmer": "[\\p{Khmer}\u200b]",
    "Myanmar": "\\p{Myanmar}",
    "Tibetan": "\\p{Tibetan}",
    "Hangul": "\\p{Hangul}",
    "Han": "\\p{Han}",
    "Kana": "[\\p{Hiragana}\\p{Katakana}ー]",
}
SEQUENCES = [
    "👨‍👩‍👧‍👦", "❤️", "🇩🇪🇫🇷", "👍🏽", "1️⃣", "🏴‍☠️", "ශ්‍රී", "അവള്‍ക്ക്", "می‌خواهد", "กำลังดี", "ញ៉ាំ",
    'צה"ל', "צה״ל", "ז'בוטינסקי", "Ankara'dır", "Oʻzbek", "o‘zbek", "col·lecció", "l'eau", "don’t", "Ի՞նչ",
    "well-known", "5,300.50", "12:30", "www.x.org/a?b=c&d", "a@b.de", "Ọ̀rẹ́", "ng'ombe", "C++", "...",
    "«\u00a0", "\u00a0!", "\u3000", "  ", "\t", "&#160;", "&#8256;", "&amp;", "&", "#", JOINT, "￭", "▁",
    "@@", "@-@",
    "<unk>", "\x85", "\u2028", "\x1c", "\ufeff", "\x00", "\x07",
]  # fmt: skip
PUNCTUATION = st.sampled_from(list(".,;:!?()[]{}\"'«»“”‘’„‚-–—…/%&#@*。、「」！？،؛؟።፣՝։־׳"))


@functools.cache
def characters_of(pattern):
    """Characters that match, each as likely as the others."""
    return st.sampled_from(regex.findall(pattern, "".join(map(chr, range(0x32000)))))


@st.composite
def lines_of(draw, script):
    word = st.text(characters_of(script), min_size=1, max_size=6)
    part = st.one_of(word, st.just(" "), PUNCTUATION, st.sampled_from(SEQUENCES))
    return "".join(draw(st.lists(part, max_size=14)))


def assert_comes_back(tokenizer, line):
    tokens = tokenizer.tokenize(line)
    assert tokenizer.detokenize(tokens) == line.strip()
    assert tokens == " ".join(tokens.split())  # as many as fairseq finds, whatever spaces the line has
    assert "".join(map(spelled, tokens.split())) == "".join(line.split())
    return tokens


def assert_words_are_whole(tokens, line):
    """No token begins with a combining mark or a joiner that follows another character."""
    place = 0
    for token in tokens.split():
        while line[place].isspace():
            place += 1
        begins_inside = place and regex.match(r"\S[\p{M}\p{Emoji_Modifier}\u200c\u200d]", line[place - 1 :])
        assert not begins_inside, (token, line)
        for _ in spelled(token):
            while line[place].isspace():
                place += 1
            place += 1


@pytest.mark.parametrize("script", SCRIPTS)
def test_every_line_comes_back_and_words_are_whole(script):
    @settings(max_examples=100, deadline=None, derandomize=True)
    @given(lines_of(SCRIPTS[script]))
    def holds(line):
        assert_words_are_whole(assert_comes_back(make_tokenizer("unicode", "xx"), line), line)

    holds()


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])))
def test_any_line_comes_back(line):
    assert_comes_back(make_tokenizer("unicode", "xx"), line)


@pytest.mark.parametrize(
    ("name", "module", "scripts"),
    [("jieba", "jieba", ["\\p{Han}", "[a-zA-Z0-9]"]), ("mecab", "MeCab", [SCRIPTS["Kana"], "\\p{Han}"])],
)
def test_chinese_and_japanese_come_back_with_all_their_spaces(name, module, scripts):
    pytest.importorskip(module)
    tokenizer = make_tokenizer(name, "xx")
    word = st.one_of(*(st.text(characters_of(script), min_size=1, max_size=4) for script in scripts))
    printable = [one for one in SEQUENCES if "\x00" not in one]  # no text file has it
    part = st.one_of(word, st.just(" "), PUNCTUATION, st.sampled_from(printable))

    @settings(max_examples=400, deadline=None, derandomize=True)
    @given(st.lists(part, max_size=14).map("".join))
    def holds(line):
        assert_comes_back(tokenizer, line)

    holds()


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(
        st.sampled_from([JOINT, "&#8256;", "&#32;", "&#", "160;", "a", ".", " ", "&#99999999999;"]),
        max_size=12,
    )
)
def test_whatever_a_model_writes_becomes_one_line(parts):
    text = make_tokenizer("unicode", "xx").detokenize("".join(parts))
    assert "\n" not in text and text == text.strip()


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("Yes, sir.", "Yes ⁀, sir ⁀."),
        ('He said: "(a/b)!"', 'He said ⁀: " ⁀(⁀ a ⁀/⁀ b ⁀) ⁀! ⁀"'),
        ("It's 5,300 dollars at 12:30, Mr. Smith...", "It's 5,300 dollars at 12:30 ⁀, Mr ⁀. Smith ⁀..."),
        ("a well-known AT&T", "a well-known AT ⁀&⁀ T"),
        ("«\u00a0Oui\u00a0!\u00a0»", "«&#160;⁀ Oui ⁀&#160;! ⁀&#160;»"),
        ("10\u00a0km  weit", "10 ⁀&#160;km ⁀&#32;&#32;weit"),
        ("a⁀b &#8256;", "a ⁀&#8256;⁀ b & ⁀#⁀ 8256 ⁀;"),
        ('צה"ל הודיע.', 'צה"ל הודיע ⁀.'),
        ("👨‍👩‍👧‍👦❤️ 🇩🇪🇫🇷", "👨‍👩‍👧‍👦 ⁀❤️ 🇩🇪 ⁀🇫🇷"),
        ("Ի՞նչ է։", "Ի՞նչ է ⁀։"),
        ("ශ්‍රී ലങ്ക", "ශ්‍රී ലങ്ക"),
    ],
)
def test_tokens_by_eye(line, tokens):
    assert make_tokenizer("unicode", "en").tokenize(line) == tokens


@pytest.mark.parametrize(
    ("name", "module", "line", "tokens"),
    [
        ("jieba", "jieba", "无法发送 0 字节文件。", "无法 发送 ⁀&#32;0 ⁀&#32;字节 文件 。"),
        ("jieba", "jieba", "用New York版本3.11。", "用 New York 版本 3.11 。"),
        ("mecab", "MeCab", "はい！ Python 3.11です", "はい ！&#32;⁀ Python 3 . 11 です"),
    ],
)
def test_spaces_that_are_not_expected_are_recorded(name, module, line, tokens):
    pytest.importorskip(module)
    assert make_tokenizer(name, "xx").tokenize(line) == tokens


def test_a_program_that_changes_characters_gives_its_words():
    from data_prep.tokenizers import UnspacedText

    class FullWidth(UnspacedText):
        def words(self, line):
            return line.replace("1", "１").split()

    assert FullWidth().tokenize("第1 号") == "第１ 号"


def test_escapes_of_moses_and_marks_are_no_characters_of_the_text():
    assert [spelled(token) for token in ("&apos;s", "&amp;", "⁀,", "«&#160;⁀", "⁀&#8256;⁀", "&", "word")] == [
        "'s", "&", ",", "«", "⁀", "&", "word",
    ]  # fmt: skip
