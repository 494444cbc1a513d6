"""Enju's XML (the paper's parser of English, thesis 4.4.2): one `<sentence>` per line.

`<cons>` is a phrase, its `head` the id of its head child; `<tok>` is a word. Coordination shows in the
attributes `schema` ("coord_left", "coord_right") or `xcat` ("COOD"). A sentence that could not be parsed has
no `<cons>`; of a "fragmental parse" the fragments stay in their order. The final full stop is text outside
of any `<tok>`.
"""

from typing import NamedTuple
from xml.etree import ElementTree

from command_line.errors import InputError, at
from data_prep.parsing.constituency import Phrase, tree_of_phrases
from data_prep.parsing.trees import Tree


class EnjuSentence(NamedTuple):
    """
    Attributes:
        pieces: the sentence in order: (text, whether it is a token), without those that are only spaces.
        tree: over the tokens.
    """

    pieces: list[tuple[str, bool]]
    tree: Tree


def read_sentence(line: str, path, line_number: int) -> EnjuSentence | None:
    """One line of Enju's output; None when Enju could not parse the sentence (or it is empty).

    Raises:
        InputError: the line is not a `<sentence>` of Enju; names file and line.
    """
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
