"""Enju's XML and CoNLL-U, sound and broken."""

from pathlib import Path

import pytest

from command_line.errors import InputError
from data_prep.parsing.parse_files import parse_file, parsed_conllu, parsed_enju_line, read_parses
from data_prep.parsing.trees import head_final_order

PATH = Path("parses")


def tok(number: int, word: str) -> str:
    return f'<tok id="t{number}" cat="X" pos="X" base="{word}">{word}</tok>'


def cons(name: str, head: str, *children: str, **more: str) -> str:
    attributes = "".join(f' {key}="{value}"' for key, value in more.items())
    return (
        f'<cons id="{name}" cat="X" head="{head}" sem_head="{head}"{attributes}>{" ".join(children)}</cons>'
    )


def leaf(number: int, word: str) -> str:
    return cons(f"p{number}", f"t{number}", tok(number, word))


def sentence(content: str, status: str = "success") -> str:
    return f'<sentence id="s0" parse_status="{status}" fom="1.5">{content}</sentence>'


def finalized(line: str) -> str:
    parsed = parsed_enju_line(line, PATH, 1)
    words = [parsed.characters[a:b] for a, b in zip([0, *parsed.ends], parsed.ends, strict=False)]
    marks = [word in ".," for word in words]
    return " ".join(words[place] for place in head_final_order(parsed.tree, marks, [False] * len(words)))


NESTED = sentence(
    cons(
        "c0",
        "c1",
        leaf(0, "John"),
        cons(
            "c1",
            "c2",
            cons("c2", "p1", leaf(1, "hit"), schema="unary"),
            cons("c3", "p3", leaf(2, "a"), leaf(3, "ball")),
        ),
        schema="subj_head",
    )
    + "."
)


def test_nested_phrases_with_unary_ones_and_a_full_stop_outside():
    parsed = parsed_enju_line(NESTED, PATH, 1)
    assert parsed.characters == "Johnhitaball."
    assert parsed.ends == [4, 7, 8, 12, 13]
    assert parsed.tree.splits == [4, 1, 2, 3]
    assert finalized(NESTED) == "John a ball hit ."


@pytest.mark.parametrize("marker", [{"schema": "coord_left"}, {"xcat": "COOD"}])
def test_coordination_keeps_its_order(marker):
    pair = cons(
        "c1",
        "p0",
        leaf(0, "apples"),
        cons("c2", "p1", leaf(1, "and"), leaf(2, "pears"), schema="coord_right"),
        **marker,
    )
    assert finalized(sentence(pair)) == "apples and pears"
    ordinary = cons("c1", "p0", leaf(0, "apples"), cons("c2", "p2", leaf(1, "of"), leaf(2, "gold")))
    assert finalized(sentence(ordinary)) == "of gold apples"


def test_fragments_stay_in_their_order():
    fragments = cons("c0", "p0", leaf(0, "eat"), leaf(1, "it")) + " " + leaf(2, "now")
    assert finalized(sentence(fragments, "fragmental parse")) == "it eat now"


def test_text_between_tokens_belongs_to_the_token_before():
    parsed = parsed_enju_line(sentence(cons("c0", "p0", leaf(0, "a") + "--", leaf(1, "b"))), PATH, 1)
    assert (parsed.characters, parsed.ends) == ("a--b", [3, 4])


def test_escaped_characters():
    parsed = parsed_enju_line(sentence(leaf(0, "AT&amp;T")), PATH, 1)
    assert parsed.characters == "AT&T"


@pytest.mark.parametrize(
    "line", ["", sentence("he ate .", "fail"), '<sentence id="s1" parse_status="empty line"/>', sentence(" ")]
)
def test_what_enju_could_not_parse(line):
    assert parsed_enju_line(line, PATH, 1) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("<sentence><cons></sentence>", "parses:7: not Enju's XML"),
        ("he ate", "parses:7: not Enju's XML"),
        ("<s/>", "parses:7: found <s>, expected Enju's <sentence>"),
    ],
)
def test_broken_xml_is_refused(line, message):
    with pytest.raises(InputError, match=message):
        parsed_enju_line(line, PATH, 7)


def test_a_deep_parse():
    content = leaf(999, "w")
    for number in range(998, -1, -1):
        content = cons(f"c{number}", f"p{number}", leaf(number, "v"), content)
    assert parsed_enju_line(sentence(content), PATH, 1).tree.splits == list(range(1, 1_000))


def conllu(*rows: str) -> str:
    """Rows ID FORM HEAD RELATION."""
    lines = []
    for row in rows:
        identifier, form, head, relation = row.split(" ")
        lines.append("\t".join([identifier, form, "_", "_", "_", "_", head, relation, "_", "_"]))
    return "\n".join(lines)


def test_conllu_with_a_multiword_token_and_an_empty_node():
    text = conllu("1 i 4 nsubj", "2-3 don't _ _", "2 do 4 aux", "3 n't 4 advmod", "4 go 0 root", "4.1 x _ _")
    parsed = parsed_conllu(text, PATH, 1)
    assert parsed.characters == "idon'tgo"
    assert parsed.ends == [1, 6, 6, 8]
    assert parsed.tree.splits == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\ta", "parses:3: 2 columns"),
        (conllu("1 a 0 root", "3 b 1 obj"), "parses:4: word 3, expected 2"),
        (conllu("1 a 0 root", "2 b x obj"), "parses:4: found 'x', expected the number of a word"),
        (conllu(f"1 a {'1' * 5000} root"), "parses:3: found '1111"),
        (conllu("1 a 2 obj", "2 b 1 obj"), "parses:3: the dependencies have a cycle"),
        (conllu("1 a 7 obj"), "parses:3: a head is not a token"),
    ],
)
def test_broken_conllu_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parsed_conllu(text, PATH, 3)


def test_sentences_of_a_file(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("# text = a\n1\ta\n\n\n# x\n1\tb\n2\tc\n", encoding="utf-8")
    assert list(read_parses(path, "conllu")) == [(2, "1\ta"), (6, "1\tb\n2\tc")]


def test_the_file_of_a_text(tmp_path):
    (tmp_path / "train.en-ja.en.xml.gz").touch()
    assert parse_file(tmp_path, Path("x/train.en-ja.en"), "enju-xml").name == "train.en-ja.en.xml.gz"
    with pytest.raises(InputError, match=r"train.en-ja.en.conllu: no such file"):
        parse_file(tmp_path, Path("x/train.en-ja.en.gz"), "conllu")
