"""Find the bunsetsu of Japanese text, and reverse them as BRSS does (thesis 4.3.1, 4.4.2).

Writes `SPLIT.….ja.bunsetsu` for every `SPLIT.….ja` of tokenized text: which words form a bunsetsu, and BRSS'
order of the words. Masks are drawn from it anew in every epoch. The paper's parser is KNP (`knp`, needs the
programs knp and jumanpp); GiNZA needs nothing but `pip install '.[ja]'`. bunsetsu.ja-report.json counts
what could not be parsed (those lines fall back to MASS) and the share of words that the reordering moves
(4.5.1: 79.58%).
"""

from collections.abc import Sequence

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from data_prep.parsing.parsers import BUNSETSU_PARSERS
from data_prep.parsing.tokens_to_words import is_punctuation

TOPIC_MARKER = "は"


def add_arguments(parser) -> None:
    from data_prep.parsing.options import add_arguments as add_common

    parser.add_argument("--parser", choices=sorted(BUNSETSU_PARSERS), default="ginza", help="4.4.2 uses knp")
    parser.add_argument(
        "--model", type=options.text, help="another pipeline of GiNZA (ja_ginza_electra), by name or path"
    )
    add_common(parser, "ja")


def main(args) -> None:
    from data_prep.formats.structures import BUNSETSU
    from data_prep.parsing.options import ParsingJob
    from data_prep.parsing.step import run

    if args.model and args.parser != "ginza":
        raise InputError(f"--model {args.model}: of GiNZA, and --parser is {args.parser}; leave it out")
    run(from_arguments(ParsingJob, args), BUNSETSU)


def reversed_bunsetsu(words: Sequence[str], ends: Sequence[int]) -> list[int]:
    """The words in BRSS' order: `[2, 0, 1]` puts word 2 first.

    Chunking signal words are punctuation marks and the topic marker は. A mark keeps its place, and parts a
    bunsetsu in which it stands; は ends a chunk that its bunsetsu still belongs to.

    Args:
        words: of the sentence.
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
