"""The probes states and llr on checkpoints of stock fairseq's `transformer` and of ours."""

import pytest

from command_line.lines import read_lines
from data_prep.formats.dictionary import load_shared_dictionary
from data_prep.formats.preparation import Preparation
from eval.probes.store import StateStore
from tests.eval.rows import rows_of
from tests.integration.test_translate import translate_arguments
from tests.integration.toy_corpus import LANGUAGES, SUPERVISED

pytestmark = pytest.mark.slow


@pytest.fixture(params=["ours", "stock"])
def checkpoint(request):
    if request.param == "ours":
        return request.getfixturevalue("trained") / "checkpoint_best.pt"
    return request.getfixturevalue("stock")


def test_states_and_language_recognition(data, checkpoint, forked, tmp_path):
    states = tmp_path / "states"
    search = ("--max-len-b", 20, "--beam", 2)
    extracted = forked(
        "eval", "probe", "states", "--checkpoint", checkpoint, "--data", data, "--output", states, "--cpu",
        *search,
    )  # fmt: skip
    assert extracted.status == 0, extracted.text
    translated = forked(
        "eval", *translate_arguments(data, checkpoint, tmp_path / "out", "--directions", "de-fr", *search)
    )
    assert translated.status == 0, translated.text
    assert_own_output(StateStore.open(states), data, tmp_path / "out" / "de-fr.txt")
    found = forked(
        "eval", "probe", "llr", states, "--output", tmp_path / "llr", "--tokens", "words",
    )  # fmt: skip
    assert found.status == 0, found.text
    accuracy = rows_of(tmp_path / "llr/llr.csv", measure="accuracy", part="source", layer="L0")
    assert set(accuracy.kind) == {"supervised", "zero-shot", "training"}
    assert len(accuracy) == 12 + 1  # directions, and training
    words_tell = accuracy[accuracy.kind == "supervised"]  # every word has the ending of its language
    assert words_tell.value.mean() > 0.9
    report = forked("eval", "report", tmp_path / "llr" / "llr.json", "--output", tmp_path / "report")
    assert report.status == 0, report.text
    assert (tmp_path / "report" / "report.html").exists()


def assert_own_output(store: StateStore, data, file) -> None:
    """The tokens under the decoder's states are those of `eval translate`."""
    assert {"-".join(direction) for direction in store.directions("valid")} == set(SUPERVISED)
    dictionary, preparation = load_shared_dictionary(data, LANGUAGES), Preparation.load(data)
    for language in LANGUAGES:
        dictionary.add_symbol(f"__{language}__")
    part = store.decoder("test", ("de", "fr"))
    lines = list(read_lines(file))
    assert len(part) == len(lines) == 40
    for number, line in enumerate(lines):
        tokens = part.tokens[part.offsets[number] : part.offsets[number + 1]]
        assert dictionary[tokens[1]] == "__fr__"
        words = [token for token in tokens[2:] if token not in part.tag_ids]
        assert preparation.detokenize("fr", dictionary.string(words)) == line, number
