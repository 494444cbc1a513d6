"""`--no-repeat-ngram`: what a hypothesis must not go on with."""

from torch import Tensor


def repeated(tokens: Tensor, size: int | None) -> list[set[int]] | None:
    """The tokens that would end a hypothesis with `size` tokens that it has in a row already.

    fairseq's own compares the end of its buffer, which is padding, and bans nothing without its extension for
    GPUs.

    Args:
        tokens: R x t, beginning with the first token of the decoder's input.
        size: of the n-grams; None: nothing is banned.

    Returns:
        of every row, token ids.
    """
    if size is None:
        return None
    banned = []
    for row in tokens.tolist():
        end = row[len(row) - size + 1 :]
        starts = range(len(row) - size + 1)
        banned.append({row[start + size - 1] for start in starts if row[start : start + size - 1] == end})
    return banned
