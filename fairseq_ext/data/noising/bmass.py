"""BMASS (thesis 4.3.1, table 4.2): half of the bunsetsu of a Japanese sentence are masked."""

import numpy as np

from fairseq_ext.data.noising.example import Example, Symbols, masked_example
from fairseq_ext.data.noising.mass import masked_count


def bunsetsu_mask(length: int, boundaries: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Half of the bunsetsu (at least one), all subsets equally likely.

    Args:
        length: number of tokens.
        boundaries: first token of every bunsetsu but the first, ascending.
    """
    edges = np.concatenate(([0], boundaries, [length]))
    chosen = np.zeros(len(edges) - 1, dtype=bool)
    chosen[rng.permutation(len(chosen))[: masked_count(len(chosen))]] = True
    return np.repeat(chosen, np.diff(edges))


def bmass(
    tokens: np.ndarray,
    boundaries: np.ndarray,
    rng: np.random.Generator,
    symbols: Symbols,
    inverted: bool = False,
) -> Example:
    """Whole bunsetsu are masked.

    Args:
        tokens: `T` ids.
        boundaries: of the bunsetsu in tokens (`Structure.token_boundaries()`).
        inverted: as in `masked_example`.
    """
    return masked_example(tokens, bunsetsu_mask(len(tokens), boundaries, rng), symbols, inverted)
