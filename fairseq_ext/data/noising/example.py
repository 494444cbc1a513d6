"""What a transform is given and returns, and the two ways to make that: from a mask, and from another order
of the tokens.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from data_prep.formats.structures import Structure


class Symbols(NamedTuple):
    """Token ids that examples are made with.

    Attributes:
        mask: `[M]`.
        eos: `</s>`: ends sources and whole sentences, begins decoder inputs.
    """

    mask: int
    eos: int


class Sentence(NamedTuple):
    """What a transform makes an example of.

    Attributes:
        tokens: `T` ids of a sentence, without tags and `</s>`.
        structure: its bunsetsu or phrases; None for a task that needs none.
        rng: the only source of randomness.
        symbols: what is put in.
        inverted: masking tasks predict the inverted sequence of equation 4.1 (`masked_example`).
    """

    tokens: np.ndarray
    structure: Structure | None
    rng: np.random.Generator
    symbols: Symbols
    inverted: bool = False


class Example(NamedTuple):
    """One sequence-to-sequence training example; 1-D int64 arrays, no padding, no tags.

    Attributes:
        source: encoder input; ends with `</s>`.
        decoder_input: as long as `target`; entry `i` is what the decoder reads when it predicts `target[i]`.
        target: what the decoder predicts.
        positions: as long as `target`: which decoder position predicts `target[i]`. Masking tasks leave out
            what is not masked, and keep the positions of the sentence for the rest (Song et al. 2019).
    """

    source: np.ndarray
    decoder_input: np.ndarray
    target: np.ndarray
    positions: np.ndarray


Transform = Callable[[Sentence], Example]  # changes nothing of the sentence


def sequence_example(source: np.ndarray, target: np.ndarray, symbols: Symbols) -> Example:
    """`source` -> `target`, both whole sequences; `</s>` is added to both."""
    return Example(
        np.append(source, symbols.eos),
        np.concatenate(([symbols.eos], target)),
        np.append(target, symbols.eos),
        np.arange(len(target) + 1),
    )


def masked_example(sentence: Sentence, mask: np.ndarray) -> Example:
    """`x^C` -> the masked tokens (Song et al. 2019), or -> `x^{!C}` (thesis, equation 4.1).

    In the encoder every masked token is `[M]`. The decoder reads, to predict the token at position `p`, the
    token at `p - 1` if that one is masked in the encoder, too, and otherwise `[M]`: it sees nothing that the
    encoder sees. At position 0 it reads `</s>`, as always in fairseq.

    The target of an inverted sequence is the whole sentence with everything but the masked tokens replaced
    by `[M]`, and `</s>`; otherwise the masked tokens only.

    Args:
        mask: `T` booleans, C.
    """
    tokens, symbols = sentence.tokens, sentence.symbols
    visible = np.where(mask, symbols.mask, tokens)
    hidden = np.where(mask, tokens, symbols.mask)
    if sentence.inverted:
        return sequence_example(visible, hidden, symbols)
    positions = np.flatnonzero(mask)
    shifted = np.concatenate(([symbols.eos], hidden))
    return Example(np.append(visible, symbols.eos), shifted[positions], tokens[positions], positions)
