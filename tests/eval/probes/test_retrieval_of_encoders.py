"""`eval probe retrieval` on top of an encoder and `embeddings retrieve` with it are one number."""

import numpy as np
import pytest

from tests.embeddings.retrieved import RetrievalResult
from tests.eval.rows import by_name
from tests.fairseq_ext.folders import write_pair, write_preparation, write_toy_folder
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save
from tests.our_commands import run_command

PAIRS = ("de-en", "en-fr", "de-fr")
LINES = 16


@pytest.fixture
def sentences():
    """Lines in three languages, of which most words are the same."""
    random = np.random.default_rng(7)
    meant = random.integers(4, 34, size=(LINES, 6))
    return {
        language: [np.where(random.random(6) < 0.8, line, random.integers(4, 34, size=6)) for line in meant]
        for language in ("de", "en", "fr")
    }


@pytest.fixture
def data(sentences, tmp_path):
    folder = write_toy_folder(tmp_path / "data")
    for pair in PAIRS:
        sides = ([[*line, 2] for line in sentences[language]] for language in pair.split("-"))
        write_pair(folder, "test", pair, *sides)
    write_preparation(folder)
    for language, lines in sentences.items():
        text = "".join(" ".join(f"w{word - 4}" for word in line) + "\n" for line in lines)
        (tmp_path / f"test.{language}").write_text(text)
    return folder


def test_both_commands_give_one_number(data, tmp_path):
    """By stored states and by sentences, over all tokens and over words."""
    model = save(tmp_path / "model.pt", checkpoint_state(data))
    texts = [str(tmp_path / f"test.{language}") for language in ("de", "en", "fr")]
    read = f"--checkpoint {model} --data {data} --cpu --max-len-b 3"
    assert run_command(f"eval probe states {read} --output {tmp_path}/states".split()) == 0
    for number, (probe, encoder) in enumerate([([], []), (["--only-words"], ["--pooling", "words"])]):
        probed, measured = tmp_path / f"probe{number}", tmp_path / f"found{number}"
        words = f"eval probe retrieval {tmp_path}/states --output {probed}".split()
        assert run_command([*words, *probe]) == 0
        words = f"embeddings retrieve --model {model} --model-data {data} --cpu --output {measured}".split()
        assert run_command([*words, "--similarity", "cosine", *encoder, "--parallel", *texts]) == 0
        states = by_name(probed / "retrieval.csv", "direction", measure="sentence", layer="output")
        vectors = RetrievalResult(measured).p_at_1()
        for pair in PAIRS:
            mean = np.mean([vectors[pair], vectors["-".join(pair.split("-")[::-1])]])
            assert states[pair] == pytest.approx(mean)
            assert 0.1 < mean < 1
