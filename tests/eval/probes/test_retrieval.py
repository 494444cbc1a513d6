"""`python -m eval probe retrieval` against plain loops over planted states."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from data_prep.formats.alignments import AlignedSpansWriter
from eval.probes.retrieval import batches_of, word_vectors
from eval.probes.store import StateStore
from tests.embeddings.test_precision import cosine
from tests.eval.probes.planted import write_store
from tests.eval.rows import rows_of

LINES, C = 12, 5
DIRECTIONS = [("de", "en"), ("en", "de")]
LAYERS = ("L0", "encoder-norm")
SHOWN = ("L0", "output")


@pytest.fixture
def states():
    """Direction -> per line, layers x T x C, a tag before 2 to 6 words that are somewhat alike on both sides,
    and perhaps more on one.
    """
    rng = np.random.default_rng(3)
    found = {direction: [] for direction in DIRECTIONS}
    for _ in range(LINES):
        length = int(rng.integers(4, 9))
        meaning = rng.normal(size=(len(LAYERS), length, C))
        for direction in DIRECTIONS:
            more = 0.3 * rng.normal(size=(len(LAYERS), int(rng.integers(0, 3)), C))
            one = meaning + 0.7 * rng.normal(size=meaning.shape)
            found[direction].append(np.concatenate([one, more], axis=1))
    lengths = np.array([[one.shape[1] for one in found[direction]] for direction in DIRECTIONS])
    assert (lengths[0] < lengths[1]).any() and (lengths[0] > lengths[1]).any()
    return found


@pytest.fixture
def spans(states):
    """Word by word; in line 0 spans that overlap and words with several partners, in line 1 none."""
    found = []
    for line in range(LINES):
        words = min(states[direction][line].shape[1] for direction in DIRECTIONS) - 2
        found.append([(word, word + 1, word, word + 1) for word in range(words)])
    found[0] = [(0, 2, 1, 2), (1, 2, 0, 2), (1, 2, 1, 2)]
    found[1] = []
    return found


@pytest.fixture
def data(tmp_path, spans):
    (tmp_path / "data").mkdir()
    with AlignedSpansWriter(tmp_path / "data", "test", ("de", "en"), "fast_align") as writer:
        for line in spans:
            writer.append(line)
    return tmp_path / "data"


@pytest.fixture
def store(tmp_path, states):
    return write_store(tmp_path / "states", states, LAYERS)


@pytest.fixture
def probe(command, tmp_path):
    return lambda *arguments: command("probe", "retrieval", *arguments, "--output", tmp_path / "out")


@pytest.fixture
def value(tmp_path):
    """Function of a measure and a layer: the number of the only pair."""

    def find(measure: str, layer: str = "output") -> float:
        return rows_of(tmp_path / "out/retrieval.csv", measure=measure, layer=layer).value.item()

    return find


def nearest(query, keys) -> int:
    return max(range(len(keys)), key=lambda j: cosine(query, keys[j]))


def batches(states, most: int) -> list[list[int]]:
    """Consecutive lines with at most `most` tokens in the longer language."""
    found, total = [[]], 0
    for line in range(LINES):
        size = max(states[direction][line].shape[1] for direction in DIRECTIONS)
        if found[-1] and total + size > most:
            found.append([])
            total = 0
        found[-1].append(line)
        total += size
    return found


def sentence_precision(states, layer: int, groups: list[list[int]]) -> float:
    shares = []
    for direction in DIRECTIONS:
        right = 0
        for group in groups:
            queries = [states[direction][line][layer].mean(0).tolist() for line in group]
            keys = [states[direction[::-1]][line][layer].mean(0).tolist() for line in group]
            right += sum(nearest(query, keys) == i for i, query in enumerate(queries))
        shares.append(right / LINES)
    return sum(shares) / 2


def test_sentence_precision_is_that_of_loops(store, states, probe, value, tmp_path):
    result = probe(store, "--batch-tokens", "20")
    assert result.status == 0, result.err
    groups = batches(states, 20)
    assert 2 < len(groups) < LINES
    for layer, name in enumerate(SHOWN):
        whole = sentence_precision(states, layer, [list(range(LINES))])
        assert value("sentence", name) == pytest.approx(whole)
        in_batches = sentence_precision(states, layer, groups)
        assert value("sentence_in_batch", name) == pytest.approx(in_batches)
    assert 0 < value("sentence") < value("sentence_in_batch") < 1
    assert rows_of(tmp_path / "out/retrieval.csv", measure="word").empty


@pytest.mark.parametrize(
    ("supervised", "kind"), [(DIRECTIONS, "supervised"), (DIRECTIONS[:1], "zero-shot"), ([], "zero-shot")]
)
def test_a_pair_is_supervised_if_both_of_its_directions_are(tmp_path, states, probe, supervised, kind):
    assert probe(write_store(tmp_path / "states", states, LAYERS, supervised)).status == 0
    assert set(rows_of(tmp_path / "out/retrieval.csv").kind) == {kind}


def word_precision(states, spans, groups) -> tuple[float, int]:
    """Every distinct word looks for one that it is aligned with, in the other language of its batch."""
    shares, words = [], 0
    for side in (0, 1):
        right, count = 0, 0
        for group in groups:
            gold, vectors = {}, ({}, {})
            for line in group:
                for row in spans[line]:
                    keys = (line, *row[:2]), (line, *row[2:])
                    for which, (number, start, end) in enumerate(keys):
                        tokens = states[DIRECTIONS[which]][number][1]
                        vectors[which][number, start, end] = tokens[1 + start : 1 + end].mean(0)
                    gold.setdefault(keys[side], set()).add(keys[1 - side])
            others = list(vectors[1 - side])
            for word, answers in gold.items():
                best = nearest(vectors[side][word], [vectors[1 - side][other] for other in others])
                right += others[best] in answers
                count += 1
        shares.append(right / count)
        words += count
    return sum(shares) / 2, words


@pytest.mark.parametrize("most", [20, 512])
def test_word_precision_is_that_of_loops(store, states, spans, data, probe, value, most):
    result = probe(store, "--words", data, "--batch-tokens", most)
    assert result.status == 0, result.err
    expected, words = word_precision(states, spans, batches(states, most))
    assert value("word") == pytest.approx(expected)
    assert value("words") == words
    assert 0.1 < expected < 0.95


def test_a_word_is_the_mean_of_its_subwords(store, states):
    part = StateStore.open(store).encoder("test", ("de", "en"))
    words = np.array([(3, 0, 1), (3, 0, 2), (5, 1, 2)])
    expected = [states["de", "en"][n][1][1 + start : 1 + end].mean(0) for n, start, end in words]
    assert word_vectors(part, "encoder-norm", words) == pytest.approx(np.array(expected), abs=1e-6)


def test_words_beyond_a_cut_sentence_are_left_out(store, states, spans, tmp_path, probe, value):
    (tmp_path / "data").mkdir()
    spans[2] = [*spans[2], (0, 1, 30, 31)]
    with AlignedSpansWriter(tmp_path / "data", "test", ("de", "en"), "fast_align") as writer:
        for line in [*spans, [(0, 1, 0, 1)]]:  # the states may be of the first lines only
            writer.append(line)
    result = probe(store, "--words", tmp_path / "data")
    assert result.status == 0
    assert "test.de-en.fast_align.alignment: 1 aligned pairs end beyond their sentence" in result.err
    del spans[2][-1]
    assert value("word") == pytest.approx(word_precision(states, spans, batches(states, 512))[0])


def test_tables_and_report(store, data, probe, report, tmp_path):
    assert probe(store, "--words", data).status == 0
    with open(tmp_path / "out/retrieval_word_toy.csv", encoding="utf-8", newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert (row["system"], row["direction"], row["kind"]) == ("A", "de-en", "supervised")
    html = (report(tmp_path / "out/retrieval.json") / "report.html").read_text(encoding="utf-8")
    assert f"{100 * float(row['value']):.1f}" in html
    assert html.count("<figure>") == html.count('download="') == 5


def refused(result) -> str:
    assert result.status == 2, result.err
    (line,) = [line for line in result.err.splitlines() if line.startswith("error: ")]
    return line.removeprefix("error: ")


def test_missing_alignments(store, tmp_path, probe):
    message = refused(probe(store, "--words", tmp_path))
    assert message == f"{tmp_path}: no word alignments; `python -m data_prep align` writes them"


def test_words_are_those_of_the_lexicon_unless_another_aligner_is_chosen(store, data, probe, value, spans):
    with AlignedSpansWriter(data, "test", ("de", "en"), "word2word") as writer:
        for line in spans:
            writer.append(line[:1])

    def words(*options) -> float:
        result = probe(store, "--words", data, "--force", *options)
        assert result.status == 0, result.err
        return value("words")

    assert words() == words("--alignments", "word2word") < words("--alignments", "fast_align")
    message = refused(probe(store, "--words", data, "--alignments", "eflomal"))
    assert message.startswith(f"--alignments eflomal: {data} has alignments by fast_align, word2word;")


def test_alignments_of_other_sentences(store, tmp_path, probe):
    with AlignedSpansWriter(tmp_path, "test", ("de", "en"), "fast_align") as writer:
        writer.append([(0, 1, 0, 1)])
    assert "1 lines, but the states are of 12; expected" in refused(probe(store, "--words", tmp_path))


def test_no_aligned_words(store, tmp_path, probe):
    with AlignedSpansWriter(tmp_path, "test", ("de", "en"), "fast_align") as writer:
        for _ in range(LINES):
            writer.append([])
    message = refused(probe(store, "--words", tmp_path))
    assert "test.de-en.fast_align.alignment: no aligned words of de-en" in message


def test_batches_of_no_tokens(store, probe):
    message = "--batch-tokens: found '0', expected a whole number from 1 to "
    assert refused(probe(store, "--batch-tokens", "0")).startswith(message)


def test_words_start_behind_the_tags_in_front_and_not_before_those_at_the_end():
    """`__de__ w w </s>` and, as in mBART, `w w w </s> __de__`."""
    part = SimpleNamespace(
        is_tag=np.array([True, False, False, False, False, False, False, False, True]),
        offsets=np.array([0, 4, 9]),
        read=lambda start, stop, layer: np.arange(9.0)[start:stop, None],
    )
    words = np.array([(0, 0, 1), (0, 0, 2), (1, 0, 1), (1, 1, 3)])
    assert word_vectors(part, "output", words).tolist() == [[1.0], [1.5], [4.0], [5.5]]


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [
        ([5, 5, 5, 5, 5], 10, [(0, 2), (2, 4), (4, 5)]),
        ([5, 6, 5], 10, [(0, 1), (1, 2), (2, 3)]),
        ([20, 1, 1], 10, [(0, 1), (1, 3)]),
        ([1, 20, 1], 10, [(0, 1), (1, 2), (2, 3)]),
        ([1, 1], 10, [(0, 2)]),
    ],
)
def test_batches(sizes, most, expected):
    assert [(batch.start, batch.stop) for batch in batches_of(np.array(sizes), most)] == expected
