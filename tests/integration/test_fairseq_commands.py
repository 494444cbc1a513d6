"""Stock fairseq commands with `--user-dir fairseq_ext` and nothing but the arguments that fairseq needs."""

import pytest
import sacrebleu

from command_line.lines import read_lines
from data_prep.formats.preparation import Preparation
from tests.integration.commands import Result
from tests.integration.toy_corpus import SUPERVISED, sentence
from tests.integration.training import TASK, USER_DIR, logged


def hypotheses(result: Result) -> dict[int, str]:
    """Line number -> best hypothesis (subwords) in the output of fairseq-generate or -interactive."""
    found = {}
    for line in result.out.splitlines():
        if line.startswith("H-"):
            number, _, text = line[2:].split("\t")
            found[int(number)] = text
    return found


def test_training_learns_and_logs_every_direction(trained):
    last = logged(Result(0, (trained / "log").read_text(), ""), "valid")[-1]
    bleu = {direction: float(last[f"valid_bleu_{direction}"]) for direction in SUPERVISED}
    assert min(bleu.values()) > 40, bleu
    assert float(last["valid_bleu"]) > 70
    assert float(last["valid_bleu"]) == pytest.approx(sum(bleu.values()) / len(bleu), abs=0.02)
    mean = (float(last["valid_bleu_de-fr"]) + float(last["valid_bleu_fr-de"])) / 2
    assert float(last["valid_zero_shot_bleu"]) == pytest.approx(mean, abs=0.02)
    losses = {
        direction: float(last[f"valid_loss_{direction}"]) for direction in [*SUPERVISED, "de-fr", "fr-de"]
    }
    supervised = [losses[direction] for direction in SUPERVISED]
    assert min(supervised) < float(last["valid_loss"]) < max(supervised)
    assert max(losses["de-fr"], losses["fr-de"]) > max(supervised)


def test_validate(data, trained, forked):
    result = forked(
        "validate", data, *USER_DIR, *TASK, "--path", trained / "checkpoint_last.pt",
        "--max-tokens", 1500, "--cpu", "--log-format", "json",
    )  # fmt: skip
    assert result.status == 0, result.text
    found = logged(result, "valid")[-1]
    expected = logged(Result(0, (trained / "log").read_text(), ""), "valid")[-1]
    for name in ("loss", "loss_en-de", "loss_de-fr", "bleu_en-de", "bleu"):
        assert float(found[f"valid_{name}"]) == pytest.approx(float(expected[f"valid_{name}"]), abs=0.05), (
            name
        )


def test_generate(data, trained, forked):
    result = forked(
        "generate", data, *USER_DIR, *TASK, "--path", trained / "checkpoint_best.pt",
        "--source-lang", "de", "--target-lang", "en", "--cpu", "--skip-invalid-size-inputs-valid-test",
    )  # fmt: skip
    assert result.status == 0, result.text
    found = hypotheses(result)
    assert sorted(found) == [number for number in range(40) if number != 2]  # line 3 is too long
    assert not [text for text in found.values() if "__" in text]
    preparation = Preparation.load(data)
    references = list(read_lines(data / "text" / "test.de-en.en"))
    pairs = [(preparation.detokenize("en", text), references[number]) for number, text in found.items()]
    assert sacrebleu.corpus_bleu([h for h, _ in pairs], [[r for _, r in pairs]]).score > 60


def test_interactive(data, trained, forked):
    german, english = (sentence(language, [1, 5, 9, 2, 7]) for language in ("de", "en"))
    result = forked(
        "interactive", data, *USER_DIR, *TASK, "--path", trained / "checkpoint_best.pt",
        "-s", "en", "-t", "de", "--cpu", stdin=f"{Preparation.load(data).segment('en', english)}\n",
    )  # fmt: skip
    assert result.status == 0, result.text
    assert Preparation.load(data).detokenize("de", hypotheses(result)[0]) == german


def test_validate_one_direction_on_the_test_set(data, trained, forked):
    """A direction that was not trained is measured, against the references of the set that was asked for."""
    result = forked(
        "validate", data, *USER_DIR, *TASK, "--path", trained / "checkpoint_best.pt", "--max-tokens", 1500,
        "-s", "de", "-t", "en", "--valid-subset", "test", "--cpu", "--log-format", "json",
        "--skip-invalid-size-inputs-valid-test",
    )  # fmt: skip
    assert result.status == 0, result.text
    (found,) = logged(result, "test")
    assert found["test_loss"] == found["test_loss_de-en"]
    assert float(found["test_bleu"]) > 60
