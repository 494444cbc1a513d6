"""The nearest sentences of given ones, against loops over the vectors that the encoder gives by itself."""

import numpy as np
import pytest

from command_line.measurements import EXAMPLES, read_examples
from embeddings.neighbours import KIND
from tests.embeddings.test_retrieve import encoder_of, sentences, write
from tests.eval.rows import values_of


def cosine(one, other):
    return one @ other / np.linalg.norm(one) / np.linalg.norm(other)


def found_by(command, one_space, output, *argv):
    result = command("neighbours", *one_space, "--output", output, *argv)
    assert result.status == 0, result.err
    by_sentence: dict[int, list[dict]] = {}
    for example in read_examples(output / f"{KIND}{EXAMPLES}"):
        by_sentence.setdefault(example["line"], []).append(example)
        (cosine_of_pair,) = values_of(
            output / f"{KIND}.csv",
            measure="cosine",
            part=f"line {example['line']}",
            repeat=example["neighbour_line"],
        )
        assert cosine_of_pair == example["cosine"]
    return list(by_sentence.values()), result.out


def test_the_nearest_of_other_sentences(command, one_space, tmp_path):
    texts = {"de": sentences(4, seed=1), "en": sentences(9, seed=2)}
    files = {language: write(tmp_path / f"some.{language}", lines) for language, lines in texts.items()}
    options = [files["de"], "--candidates", files["en"], "--show", "2"]
    nearest, _ = found_by(command, one_space, tmp_path / "out", *options)
    encoder = encoder_of(one_space)
    vectors = {language: encoder.encode(lines, language) for language, lines in texts.items()}
    for query, vector, neighbours in zip(texts["de"], vectors["de"], nearest, strict=True):
        cosines = [cosine(vector, other) for other in vectors["en"]]
        best = sorted(range(9), key=lambda row: -cosines[row])[:2]
        assert {near["sentence"] for near in neighbours} == {query}
        assert [near["cosine"] for near in neighbours] == pytest.approx(
            [cosines[row] for row in best], abs=1e-6
        )
        assert [near["neighbour_line"] - 1 for near in neighbours] == best
        assert [near["neighbour"] for near in neighbours] == [texts["en"][row] for row in best]


def test_two_sentences_are_each_other_s_neighbours_and_not_their_own(command, one_space, tmp_path):
    """The case of 2.4.8: the same words in another order."""
    case = write(tmp_path / "case.en", ["w1 w2 w3", "w3 w2 w1"])
    nearest, out = found_by(command, one_space, tmp_path / "out", case)
    expected = cosine(*encoder_of(one_space).encode(["w1 w2 w3", "w3 w2 w1"], "en"))
    for (near,), other in zip(nearest, (2, 1), strict=True):
        assert near["neighbour_line"] == other and near["cosine"] == pytest.approx(expected, abs=1e-6)
    assert f"w1 w2 w3\n  {expected:.4f}  line 2: w3 w2 w1\n" in out


def test_what_is_done_is_printed_again(command, one_space, tmp_path):
    case = write(tmp_path / "case.en", ["w1 w2 w3", "w3 w2 w1"])
    first, second = (found_by(command, one_space, tmp_path / "out", case)[1] for _ in range(2))
    assert first.endswith(second) and "line 2: w3 w2 w1" in second


def test_equal_lines_are_neighbours(command, one_space, tmp_path):
    same = write(tmp_path / "same.en", ["w1 w2"] * 5)
    nearest, _ = found_by(command, one_space, tmp_path / "out", same, "--show", "1")
    assert len(nearest) == 5
    for number, (near,) in enumerate(nearest, start=1):
        assert near["neighbour_line"] != number and near["cosine"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("lines", "message"), [([], "0 lines, expected at least 2"), (["w1"], "1 lines, exp")]
)
def test_a_text_without_others_is_one_line(refusal, one_space, tmp_path, lines, message):
    path = write(tmp_path / "a.en", lines)
    assert f"{path}: {message}" in refusal("neighbours", *one_space, "--output", tmp_path / "out", path)
