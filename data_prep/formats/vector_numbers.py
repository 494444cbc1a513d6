"""The numbers that vectors of sentences are stored as: floats, or fewer bits of vectors of length 1.

| dtype | a number on disk | is read as |
|---|---|---|
| `float32`, `float16` | itself | itself |
| `int8` | steps of 4 / (127 sqrt C) of a vector of length 1, larger ones cut | the steps' size |
| `binary` | a bit, 1 where it is above 0; eight to a byte | ± 1 / sqrt C |

A step of int8 depends on the width C alone, as numbers of vectors of length 1 have a deviation of 1 / sqrt C
or less: vectors of any two files can be compared. A vector of zeros is zeros in int8, and has no like in
binary: its bits are those of a vector that is below 0 throughout.
"""

from dataclasses import dataclass

import numpy as np

INT8, BINARY = "int8", "binary"
FLOATS = ("float16", "float32")
DTYPES = (*FLOATS, INT8, BINARY)
DEVIATIONS = 4  # 1 / sqrt C times as many fit into int8
_BITS = {"float32": 32, "float16": 16, INT8: 8, BINARY: 1}


@dataclass(frozen=True)
class Numbers:
    """How the numbers of vectors are stored.

    Attributes:
        dtype: one of DTYPES.
        width: C, numbers of a vector.
    """

    dtype: str
    width: int

    @property
    def bits(self) -> int:
        """Of a number."""
        return _BITS[self.dtype]

    @property
    def are_floats(self) -> bool:
        return self.dtype in FLOATS

    @property
    def storage(self) -> np.dtype:
        """Of the array on disk."""
        return np.dtype("uint8" if self.dtype == BINARY else self.dtype)

    @property
    def columns(self) -> int:
        """Of the array on disk."""
        return (self.width + 7) // 8 if self.dtype == BINARY else self.width

    @property
    def bytes(self) -> int:
        """Of a vector on disk."""
        return self.columns * self.storage.itemsize

    def stored(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors as they are stored, n x columns.

        Args:
            vectors: n x C; of length 1 (or zeros) for int8.
        """
        if self.dtype == INT8:
            return np.clip(np.rint(vectors * self._steps), -127, 127).astype(np.int8)
        if self.dtype == BINARY:
            return np.packbits(vectors > 0, axis=1)
        with np.errstate(over="ignore"):  # becomes infinite, which whoever stores it looks at
            return vectors.astype(self.storage)

    def read(self, rows: np.ndarray) -> np.ndarray:
        """What was stored, n x C, float32, in an array of its own."""
        if self.dtype == BINARY:
            bits = np.unpackbits(rows, axis=-1, count=self.width)
            return (2 * bits.astype(np.float32) - 1) / np.float32(self.width**0.5)
        numbers = np.array(rows, dtype=np.float32)
        return numbers / np.float32(self._steps) if self.dtype == INT8 else numbers

    @property
    def _steps(self) -> float:
        """Of int8, in 1."""
        return 127 * self.width**0.5 / DEVIATIONS
