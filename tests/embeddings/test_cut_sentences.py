"""What an encoder does not read of long sentences: every result counts them, and the command says so once."""

import json

import pytest

from embeddings.encoders.described import described_encoder
from tests.embeddings.test_retrieve import encoder_of, sentences, write

LONG = " ".join(["w1", "w2"] * 50)  # of an encoder that reads 64 tokens


@pytest.fixture
def texts(tmp_path):
    """Two texts with three long sentences, all different."""
    german = [*sentences(5, seed=1), LONG, f"{LONG} w3"]
    english = [*sentences(6, seed=2), f"{LONG} w4"]
    return [write(tmp_path / f"long.{name}", text) for name, text in (("de", german), ("en", english))]


def commands(texts, folder):
    """Kind of the result -> words of a command."""
    rated = [
        f"{line},{other},{row}" for row, (line, other) in enumerate(zip(*map(lines, texts), strict=True))
    ]
    write(folder / "sts-de.csv", rated)
    for path in texts:
        labelled = [f"{row % 2}\t{line}" for row, line in enumerate(lines(path))]
        write(folder / f"classes/{path.suffix[1:]}.test.tsv", labelled)
        for part in ("train", "valid"):
            write(
                folder / f"classes/{path.suffix[1:]}.{part}.tsv", [f"{row % 2}\tw{row}" for row in range(8)]
            )
        name = f"bucc/de-en.training{path.suffix}"
        write(folder / name, [f"{path.suffix}{row}\t{line}" for row, line in enumerate(lines(path))])
    write(folder / "bucc/de-en.training.gold", [".de0\t.en0"])
    return [
        ("sentence-retrieval", ["retrieve", "--parallel", *texts]),
        ("mining", ["mine", *texts]),
        ("mining", ["mine", *texts, "--line-by-line"]),
        ("mining", ["bucc", folder / "bucc", "--pairs", "de-en", "--tested", "training"]),
        ("sts", ["sts", folder / "sts-de.csv"]),
        (
            "classification",
            ["classify", folder / "classes", "--languages", "de,en", "--runs", 1, "--epochs", 1],
        ),
        ("neighbours", ["neighbours", texts[0], "--candidates", texts[1]]),
    ]


def lines(path):
    return path.read_text().splitlines()


def test_every_result_counts_them(completed, one_space, texts, tmp_path):
    for number, (kind, words) in enumerate(commands(texts, tmp_path)):
        done = completed(*words, *one_space, "--output", tmp_path / f"out{number}")
        assert json.loads((tmp_path / f"out{number}/{kind}.json").read_text())["cut"] == 3, words
        assert done.err.count("warning: sentences of as many tokens as") == 1, words
        assert "reads, or more: 3; what is beyond is not in their vectors" in done.err


def test_short_sentences_are_not_spoken_of(command, one_space, tmp_path):
    texts = [write(tmp_path / f"short.{name}", sentences(5, seed=3)) for name in ("de", "en")]
    done = command("mine", *texts, *one_space, "--output", tmp_path / "out")
    assert json.loads((tmp_path / "out/mining.json").read_text())["cut"] == 0 and "tokens" not in done.err


def test_stored_vectors_remember_them(command, one_space, texts, tmp_path):
    done = command("encode", *texts, *one_space, "--output", tmp_path / "vectors")
    for path, count in zip(texts, (2, 1), strict=True):
        assert any(str(path) in line and f"or more: {count};" in line for line in done.err.splitlines())
    words = ["retrieve", "--parallel", *texts, "--model", tmp_path / "vectors"]
    assert command(*words, "--output", tmp_path / "out").status == 0
    assert json.loads((tmp_path / "out/sentence-retrieval.json").read_text())["cut"] == 3


def test_states_of_tokens_are_counted_too(one_space, texts):
    encoder = encoder_of(one_space)
    encoder.encode_tokens(lines(texts[0]))
    assert described_encoder(encoder)["cut"] == 2
