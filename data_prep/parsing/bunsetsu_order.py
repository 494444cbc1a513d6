"""The order in which BRSS reads the bunsetsu of a sentence (thesis 4.3.1)."""

from collections.abc import Sequence

from data_prep.parsing.tokens_to_words import is_punctuation

TOPIC_MARKER = "は"


def reversed_bunsetsu(words: Sequence[str], ends: Sequence[int]) -> list[int]:
    """The words in BRSS' order: `[2, 0, 1]` puts word 2 first.

    Chunking signal words are punctuation marks and the topic marker は. A mark keeps its place, and parts a
    bunsetsu in which it stands; は ends a chunk that its bunsetsu still belongs to.

    Args:
        ends: where every bunsetsu ends, in words.
    """
    order: list[int] = []
    chunk: list[range] = []

    def close_chunk() -> None:
        for part in reversed(chunk):
            order.extend(part)
        chunk.clear()

    begin = 0
    for end in ends:
        part_begin = begin
        for place in range(begin, end):
            if is_punctuation(words[place]):
                chunk.append(range(part_begin, place))
                close_chunk()
                order.append(place)
                part_begin = place + 1
        chunk.append(range(part_begin, end))
        if end > part_begin and words[end - 1] == TOPIC_MARKER:
            close_chunk()
        begin = end
    close_chunk()
    return order
