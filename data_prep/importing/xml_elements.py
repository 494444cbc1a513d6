"""XML as a stream of elements, for readers that keep one at a time.

Entities of a document are not expanded and nothing is loaded from elsewhere: a file that declares entities is
refused, and a document type is passed over.
"""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from command_line.errors import InputError, at
from command_line.lines import BROKEN, broken, open_binary


def read_elements(path: Path, *names: str) -> Iterator:
    """Yield the elements of these names, in whatever namespace. An element is emptied after its turn.

    Raises:
        InputError: the file is missing, broken, not well-formed, or declares entities; names the line.
    """
    from lxml import etree

    tags = [f"{{*}}{name}" for name in names]
    with closing(open_binary(path)) as stream:
        parsed = etree.iterparse(stream, tag=tags, resolve_entities=False, no_network=True)
        try:
            has_elements = False
            for _, element in parsed:
                if not has_elements:  # entities are declared before the first one
                    _refuse_entities(path, element)
                    has_elements = True
                yield element
                _forget(element)
            if not has_elements:
                _refuse_entities(path, parsed.root)
        except etree.XMLSyntaxError as error:
            reason = parsed.error_log.last_error.message if parsed.error_log else "is empty"
            raise InputError(f"{at(path, max(1, error.lineno))}: not well-formed XML: {reason}") from None
        except BROKEN as error:
            raise broken(path, 1, error) from None


def _refuse_entities(path: Path, element) -> None:
    subset = element.getroottree().docinfo.internalDTD
    for entity in subset.iterentities() if subset is not None else ():
        line = _line_of(path, entity.name)
        raise InputError(
            f"{at(path, line)}: declares the entity {entity.name!r}; write its text in place of it"
        )


def _line_of(path: Path, entity: str) -> int:
    """The line of its declaration, which the parser does not say; the first one if it is not found."""
    declaration = re.compile(rb"<!ENTITY\s+%?\s*" + re.escape(entity.encode()))
    with closing(open_binary(path)) as stream:
        return next((number for number, line in enumerate(stream, 1) if declaration.search(line)), 1)


def _forget(element) -> None:
    """Free an element and all that ended before it in the root."""
    element.clear(keep_tail=True)
    while (parent := element.getparent()) is not None:
        while element.getprevious() is not None:
            del parent[0]
        element = parent


def local_name(element) -> str:
    """The name without its namespace; "" of a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def children(element, *names: str) -> Iterator:
    return element.iterchildren(*(f"{{*}}{name}" for name in names))


def text_of(element, left_out: frozenset[str] = frozenset()) -> str:
    """The text of an element, without that of elements in it which hold markup. Line ends and indentation of
    the document are single spaces.
    """
    text = "".join(_texts(element, left_out)) if len(element) else element.text or ""
    return " ".join(text.split())


def _texts(element, left_out: frozenset[str]) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        if (name := local_name(child)) and name not in left_out:
            yield from _texts(child, left_out)
        yield child.tail or ""
