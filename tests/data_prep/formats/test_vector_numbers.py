"""Numbers of fewer bits, against plain loops over their definitions."""

import numpy as np
import pytest

from data_prep.formats.vector_numbers import DTYPES, Numbers

WIDTHS = (8, 13)  # whole bytes of bits, and not


def unit_vectors(width):
    vectors = np.random.default_rng(1).normal(size=(20, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("width", WIDTHS)
def test_int8_is_read_as_the_nearest_step(width):
    vectors, numbers = unit_vectors(width), Numbers("int8", width)
    vectors[0], vectors[1] = 0, np.eye(width)[0]  # zeros, and a number beyond what fits
    stored = numbers.stored(vectors)
    step = 4 / (127 * np.sqrt(width))
    for row, vector in enumerate(vectors):
        for place, number in enumerate(vector):
            whole = max(-127, min(127, round(float(number) / step)))
            assert int(stored[row, place]) == whole
            assert numbers.read(stored)[row, place] == pytest.approx(whole * step)


@pytest.mark.parametrize("width", WIDTHS)
def test_binary_is_a_bit_per_number_and_of_length_1(width):
    vectors, numbers = unit_vectors(width), Numbers("binary", width)
    vectors[0, 0] = 0  # is not above 0
    stored = numbers.stored(vectors)
    assert stored.shape == (20, (width + 7) // 8)
    read = numbers.read(stored)
    for row, vector in enumerate(vectors):
        for place, number in enumerate(vector):
            assert bool(stored[row, place // 8] >> (7 - place % 8) & 1) == (number > 0)
            assert read[row, place] == pytest.approx((1 if number > 0 else -1) / np.sqrt(width))
    assert np.linalg.norm(read, axis=1) == pytest.approx(np.ones(20))


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_read_is_stored_as_it_was(dtype):
    numbers = Numbers(dtype, 13)
    stored = numbers.stored(unit_vectors(13))
    assert stored.dtype == numbers.storage and stored[0].nbytes == numbers.bytes
    read = numbers.read(stored)
    assert read.dtype == np.float32 and (numbers.stored(read) == stored).all()
    read[:] = 0  # the caller's to change
    assert stored.any()


def test_bytes_of_a_vector():
    assert {dtype: Numbers(dtype, 768).bytes for dtype in DTYPES} == {
        "float16": 1536, "float32": 3072, "int8": 768, "binary": 96,
    }  # fmt: skip
