"""Lines of text to token ids, block by block: the arithmetic of the step `binarize`."""

from itertools import repeat
from pathlib import Path

import numpy as np

from command_line.workers import Workers
from data_prep.blocks import Block, read_blocks
from data_prep.formats.sentences import written_sentences

END_OF_LINE = "\0"  # no word: text has no NUL


class BlockBinarizer:
    """Looks up the words of a block of lines; a worker process gets it once.

    Words are separated by whitespace, as fairseq has it. `</s>` ends every sentence.

    Args:
        ids: of the symbols of a dictionary and of fairseq's special ones.
    """

    def __init__(self, ids: dict[str, int]):
        self._end = len(ids)  # stands for `</s>` until the lengths are known
        self._ids = ids | {END_OF_LINE: self._end}
        self._unknown, self._eos = ids["<unk>"], ids["</s>"]

    def __call__(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Token ids of all lines, one after the other, and the tokens of every line."""
        words = block.text().replace("\n", f" {END_OF_LINE} ").split()
        ids = map(self._ids.get, words, repeat(self._unknown))
        tokens = np.fromiter(ids, dtype=np.uint32, count=len(words))
        ends = np.flatnonzero(tokens == self._end)
        tokens[ends] = self._eos
        return tokens, np.diff(ends, prepend=-1)


def binarize_file(path: Path, prefix: Path, binarizer: BlockBinarizer, symbols: int, workers: Workers) -> int:
    """Write the binarized sentences of a file, one per line; returns their number."""
    with written_sentences(prefix, symbols) as writer:
        for tokens, lengths in workers.map(binarizer, read_blocks(path)):
            writer.write(tokens, lengths)
    return writer.count
