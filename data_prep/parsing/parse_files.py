"""Parses that lie in files, line by line parallel to the text: CoNLL-U, and the XML of Enju.

Enju is the paper's parser of English (thesis 4.4.2); it writes one `<sentence>` per line. `<cons>` is a
phrase, its `head` the id of its head child; `<tok>` is a word. Coordination shows in the attributes `schema`
("coord_left", "coord_right") or `xcat` ("COOD"). A sentence that could not be parsed has no `<cons>`; of a
"fragmental parse" the fragments stay in their order. The final full stop is text outside of any `<tok>`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from command_line.errors import InputError, at
from command_line.lines import read_lines, uncompressed_name
from command_line.numbers import natural
from data_prep.formats.texts import text_file
from data_prep.parsing.constituency import Phrase, tree_of_phrases
from data_prep.parsing.dependencies import tree_of_dependencies
from data_prep.parsing.tokens_to_words import ends_of
from data_prep.parsing.trees import ParsedTree, Tree, surround

SUFFIXES = {"enju-xml": ".xml", "conllu": ".conllu"}
Parse = tuple[int, str]  # number of its first line in the file, text
_COLUMNS = 10


def parse_file(folder: Path, text_path: Path, parser: str) -> Path:
    """The file of parses that belongs to a file of text, plain or compressed."""
    return text_file(folder / (uncompressed_name(text_path) + SUFFIXES[parser]), text_path)


def read_parses(path: Path, parser: str) -> Iterator[Parse]:
    """The sentences of a file one by one, not yet read as trees."""
    lines = enumerate(read_lines(path), start=1)
    if parser == "enju-xml":
        yield from ((number, line) for number, line in lines if not line.startswith("<?xml"))
        return
    sentence: list[str] = []
    first = 0
    for number, line in lines:
        if line.strip() and not line.startswith("#"):
            first = first if sentence else number
            sentence.append(line)
        elif sentence and not line.strip():
            yield first, "\n".join(sentence)
            sentence = []
    if sentence:
        yield first, "\n".join(sentence)


def read_parse(parse: Parse, parser: str, path: Path) -> ParsedTree | None:
    """One sentence of `read_parses` as a tree; None when the parser failed on it."""
    number, text = parse
    return parsed_enju_line(text, path, number) if parser == "enju-xml" else parsed_conllu(text, path, number)


def parsed_enju_line(line: str, path: Path, number: int) -> ParsedTree | None:
    """A line of Enju. Text outside of tokens goes to the token before; at the ends of the sentence it
    becomes leaves.
    """
    if not line.strip():
        return None
    sentence = read_sentence(line, path, number)
    if sentence is None:
        return None
    places = [place for place, (_, is_token) in enumerate(sentence.pieces) if is_token]
    first, last = places[0], places[-1]
    texts: list[str] = []
    for place, (text, is_token) in enumerate(sentence.pieces):
        text = "".join(text.split())
        if is_token or place < first or place > last:
            texts.append(text)
        else:
            texts[-1] += text
    tree = surround(sentence.tree, first, len(sentence.pieces) - 1 - last)
    return ParsedTree(ends_of(texts), tree, "".join(texts))


def parsed_conllu(text: str, path: Path, number: int) -> ParsedTree:
    """A sentence in CoNLL-U. The parts of a multiword token share its characters; empty nodes are left
    out.
    """
    heads: list[int] = []
    relations: list[str] = []
    forms: list[str] = []
    ends: list[int] = []
    end = covered = 0  # words up to `covered` belong to a multiword token
    for line_number, line in enumerate(text.split("\n"), start=number):
        columns = line.split("\t")
        if len(columns) != _COLUMNS:
            raise InputError(
                f"{at(path, line_number)}: {len(columns)} columns, expected the {_COLUMNS} of CoNLL-U, "
                "separated by tabs"
            )
        identifier, form, head, relation = columns[0], "".join(columns[1].split()), columns[6], columns[7]
        if "." in identifier:
            continue
        if "-" in identifier:
            forms.append(form)
            end += len(form)
            covered = _number(identifier.partition("-")[2], path, line_number)
            continue
        if _number(identifier, path, line_number) != len(heads) + 1:
            raise InputError(f"{at(path, line_number)}: word {identifier}, expected {len(heads) + 1}")
        if len(heads) >= covered:
            forms.append(form)
            end += len(form)
        heads.append(_number(head, path, line_number) - 1)
        relations.append(relation)
        ends.append(end)
    heads = [token if head < 0 else head for token, head in enumerate(heads)]
    try:
        return ParsedTree(ends, tree_of_dependencies(heads, relations), "".join(forms))
    except ValueError as error:
        raise InputError(f"{at(path, number)}: {error}") from None


def _number(text: str, path: Path, line_number: int) -> int:
    number = natural(text)
    if number is None:
        raise InputError(f"{at(path, line_number)}: found {text!r:.80}, expected the number of a word")
    return number


class EnjuSentence(NamedTuple):
    """One sentence of Enju's output.

    Attributes:
        pieces: the sentence in order: (text, whether it is a token), without those that are only spaces.
        tree: over the tokens.
    """

    pieces: list[tuple[str, bool]]
    tree: Tree


def read_sentence(line: str, path, line_number: int) -> EnjuSentence | None:
    """One line of Enju's output; None when Enju could not parse the sentence (or it is empty)."""
    try:
        root = ElementTree.fromstring(line)
    except (ElementTree.ParseError, ValueError) as error:
        raise InputError(f"{at(path, line_number)}: not Enju's XML (enju -xml): {error}") from None
    if root.tag != "sentence":
        raise InputError(f"{at(path, line_number)}: found <{root.tag}>, expected Enju's <sentence>")
    pieces: list[tuple[str, bool]] = []
    phrases = _phrases(root, pieces)
    count = sum(is_token for _, is_token in pieces)
    if not phrases or not count:
        return None
    whole = phrases[0] if len(phrases) == 1 else Phrase("sentence", tuple(phrases), head=0, coordinated=True)
    try:
        return EnjuSentence(pieces, tree_of_phrases(whole, count))
    except ValueError as error:
        raise InputError(f"{at(path, line_number)}: {error}, expected every <cons> to have a <tok>") from None


def _phrases(root, pieces: list) -> list[Phrase]:
    """The phrases directly below `root`; appends the text to `pieces`. Not recursive: parses may be deep."""
    tokens = 0
    finished: dict[int, list[Phrase]] = {id(root): []}
    pending = [(root, None, False)]
    while pending:
        element, parent, is_done = pending.pop()
        if not is_done:
            pending.append((element, parent, True))
            finished[id(element)] = []
            text = (element.text or "").strip()
            if element.tag == "tok":
                pieces.append(("".join("".join(element.itertext()).split()), True))
                finished[id(parent)].append(Phrase(element.get("cat") or "tok", token=tokens))
                tokens += 1
                continue
            if text:
                pieces.append((text, False))
            pending += [(child, element, False) for child in reversed(element)]
            continue
        tail = (element.tail or "").strip()
        if parent is not None and tail:
            pieces.append((tail, False))
        if element.tag == "cons" and finished[id(element)]:
            finished[id(parent)].append(_phrase(element, finished.pop(id(element))))
    return finished[id(root)]


def _phrase(element, children: list[Phrase]) -> Phrase:
    inside = [child for child in element if child.tag in ("cons", "tok")]
    head = next((place for place, child in enumerate(inside) if child.get("id") == element.get("head")), None)
    if head is None or len(inside) != len(children):
        head = len(children) - 1  # a <cons> without a token inside: order as it is
    schema, category = element.get("schema") or "", element.get("xcat") or ""
    coordinated = schema.startswith("coord") or "COOD" in category
    return Phrase(element.get("cat") or "cons", tuple(children), head=head, coordinated=coordinated)
