"""What a result says of the encoder that it is of, and what the user is told of it."""

import sys

from embeddings.encoders.sentence_encoder import SentenceEncoder


def described_encoder(encoder: SentenceEncoder, *others: SentenceEncoder) -> dict:
    """The fields of a result, when all is encoded; says so if sentences were cut.

    Args:
        others: that encoded as well, such as one of candidates.

    Returns:
        "encoder", its record, and "cut": sentences that were as long as the encoder reads, or longer, each as
        often as it was encoded; of stored vectors, lines of their texts; None if it is not known of all.
    """
    counts = [each.cut for each in (encoder, *others)]
    cut = None if None in counts else sum(counts)
    warn_of_cut(cut or 0, encoder.name)
    return {"encoder": encoder.record(), "cut": cut}


def warn_of_cut(count: int, encoder: str, where: str = "") -> None:
    """One line for all sentences of which an encoder may have read a part."""
    if count:
        print(
            f"warning: {where}sentences of as many tokens as {encoder} reads, or more: {count:,}; what is"
            " beyond is not in their vectors",
            file=sys.stderr,
        )
