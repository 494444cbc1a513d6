"""A model with an interlingua from training to tables, by the commands that users type."""

import json
import re

import pytest
import torch

from data_prep.formats.preparation import Preparation
from tests.eval.rows import rows_of
from tests.integration.commands import USER_DIR, Result, run_forked
from tests.integration.test_fairseq_commands import hypotheses
from tests.integration.test_translate import texts, translate_arguments
from tests.integration.toy_corpus import SUPERVISED, ZERO_SHOT, sentence
from tests.integration.training import TASK, final_state, logged, training
from tests.made_once import made_once

BRIDGE = (
    "--arch", "interlingua_transformer", "--interlingua-layers", 1,
    "--criterion", "weighted_losses", "--best-checkpoint-metric", "nmt_loss",
    "--losses", "translation,interlingua_alignment,length_prediction",
)  # fmt: skip
FIXED = ("--interlingua", "fixed-universal", "--interlingua-length", 6)
ALIGNED = ("--losses", "translation,interlingua_alignment")
REPAIRED = (
    "--interlingua-length-jitter", 0.2, "--length-predictor-source-length",
    "--length-prediction-deviation", 1,
)  # fmt: skip


@pytest.fixture(scope="session")
def bridged(tmp_path_factory, data):
    """A folder with checkpoint_best.pt of a model with an interlingua, and its `log`."""

    def train(folder) -> None:
        result = run_forked(
            folder / "logs", "train",
            *training(
                data, folder, *BRIDGE, "--fused-vocabulary-loss", "--max-epoch", 10, "--log-interval", 100,
                "--validate-interval", 5, "--zero-shot-lang-pairs", "de-fr,fr-de",
            ),
        )  # fmt: skip
        (folder / "log").write_text(result.text, encoding="utf-8")
        assert result.status == 0, result.text[-3000:]

    return made_once(tmp_path_factory, "bridged", train)


@pytest.mark.slow
def test_every_loss_is_logged_and_translation_and_lengths_are_learned(bridged):
    """Interlinguas that say little yet are near to each other, too: their distance may rise and fall."""
    first, last = logged(Result(0, (bridged / "log").read_text(), ""), "valid")
    for name in ("nmt_loss", "length_prediction"):
        assert float(last[f"valid_{name}"]) < float(first[f"valid_{name}"]), name
    assert 0 < float(last["valid_interlingua_alignment"]) < 1
    assert float(last["valid_nmt_loss"]) < float(last["valid_loss"])
    assert final_state(bridged, "checkpoint_best.pt")["extra_state"]["best"] == pytest.approx(
        float(last["valid_best_nmt_loss"]), abs=1e-3
    )


@pytest.mark.slow
def test_generate_equals_translate(data, bridged, forked, tmp_path):
    generated = forked(
        "generate", data, *USER_DIR, *TASK, "--path", bridged / "checkpoint_best.pt",
        "-s", "de", "-t", "en", "--cpu", "--skip-invalid-size-inputs-valid-test", "--max-len-b", 20,
    )  # fmt: skip
    assert generated.status == 0, generated.text
    translated = forked(
        "eval", *translate_arguments(data, bridged / "checkpoint_best.pt", tmp_path / "out"),
        "--directions", "de-en", "--max-len-b", 20,
    )  # fmt: skip
    assert translated.status == 0, translated.text
    assert "1 lines are longer than the model reads (32 tokens) and were cut" in translated.err
    found, expected = texts(tmp_path / "out")["de-en"], hypotheses(generated)
    assert (len(found), len(expected)) == (40, 39)
    for number, text in expected.items():
        assert found[number] == Preparation.load(data).detokenize("en", text), number


@pytest.mark.slow
def test_interactive(data, bridged, forked):
    german = sentence("de", [1, 5, 9, 2, 7])
    result = forked(
        "interactive", data, *USER_DIR, *TASK, "--path", bridged / "checkpoint_best.pt",
        "-s", "de", "-t", "fr", "--cpu", stdin=f"{Preparation.load(data).segment('de', german)}\n",
    )  # fmt: skip
    assert result.status == 0, result.text
    assert Preparation.load(data).detokenize("fr", hypotheses(result)[0])


@pytest.mark.slow
def test_several_lengths_and_the_probe(data, bridged, forked, tmp_path):
    checkpoint = bridged / "checkpoint_best.pt"
    search = ("--beam", 2, "--max-len-b", 20)
    result = forked(
        "eval", *translate_arguments(data, checkpoint, tmp_path / "out", *search, "--length-candidates", 3)
    )
    assert result.status == 0, result.text
    assert sorted(texts(tmp_path / "out")) == sorted(SUPERVISED + ZERO_SHOT)
    record = json.loads((tmp_path / "out" / "translate.json").read_text())
    assert (record["length_candidates"], record["system"]["interlingua"]) == (3, "variable")
    assert record["system"]["name"].startswith(
        "PostNorm S-ENC-T-DEC Len-vari. Intl. (layers 1) +interlingua_alignment +length_prediction"
    )
    probe = ("probe", "interlingua", "--checkpoint", checkpoint, "--data", data, "--cpu", "--samples", 59)
    result = forked("eval", *probe, *search, "--output", tmp_path / "probe")
    assert result.status == 0, result.text
    rows = rows_of(tmp_path / "probe/interlingua.csv")
    lengths = rows[rows.part != ""].set_index(["part", "measure"]).value.unstack()
    assert list(lengths.index) == ["cs", "de", "fr"]
    translated = forked(
        "eval", *translate_arguments(data, checkpoint, tmp_path / "one", *search, "--directions", "de-en")
    )
    assert translated.status == 0, translated.text
    scored = forked("eval", "score", tmp_path / "one")
    assert scored.status == 0, scored.text
    scored = rows_of(tmp_path / "one/scores.csv").set_index(["direction", "measure"]).value
    bleu = scored["de-en", "bleu"]
    german = lengths.loc["de"]
    assert german["bleu_predicted"] == pytest.approx(bleu)
    assert 0 <= german["accuracy"] < 1 and german["absolute_error"] > 0
    assert abs(german["bias"]) <= german["absolute_error"]
    similarity = rows[rows.part == ""].set_index(["direction", "measure"]).value.unstack()
    assert list(similarity.index) == ["cs-de", "cs-en", "cs-fr", "de-en", "de-fr", "en-fr"]
    assert (similarity.cosine > similarity.cosine_by_chance).all()
    assert (tmp_path / "probe" / "interlingua_similarity_data.png").exists()


@pytest.mark.parametrize(
    "options",
    [
        ("--norm-placement", "swap-pre", *REPAIRED, "--autocast-bf16", "--update-freq", 2),
        ("--norm-placement", "pre", *FIXED, *ALIGNED, "--language-tags", "t-enc"),
        ("--norm-placement", "post", *FIXED, "--interlingua", "fixed-language-specific", *ALIGNED),
        ("--norm-placement", "pre", "--language-tags", "s-enc-t-enc", "--no-norm-affine"),
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_two_updates_with_every_choice(data, forked, tmp_path, options):
    result = forked(
        "train",
        *training(data, tmp_path / "model", *BRIDGE, "--max-update", 2, "--max-tokens", 300, *options),
    )
    assert result.status == 0, result.text[-3000:]
    last = logged(result, "valid")[-1]
    assert "valid_interlingua_alignment" in last


def test_a_model_without_interlingua_initializes_one(data, trained, forked, tmp_path):
    result = forked(
        "train",
        *training(
            data, tmp_path / "model", *BRIDGE, "--norm-placement", "pre", "--max-update", 1, "--lr", 1e-9,
            "--finetune-from-model", trained / "checkpoint_best.pt",
        ),
    )  # fmt: skip
    assert result.status == 0, result.text[-3000:]
    assert "the checkpoint has no interlingua" in result.text
    before = final_state(trained, "checkpoint_best.pt")["model"]
    after = final_state(tmp_path / "model")["model"]
    for name in ("encoder.embed_tokens.weight", "encoder.layers.0.fc1.weight", "decoder.layers.0.fc2.weight"):
        torch.testing.assert_close(after[name], before[name], atol=1e-4, rtol=0)


def test_training_sentences_longer_than_the_model_are_left_out(data, forked, tmp_path):
    options = ("--max-source-positions", 8, "--max-target-positions", 64, "--max-update", 2)
    result = forked("train", *training(data, tmp_path / "model", *BRIDGE, *options))
    assert result.status == 0, result.text[-3000:]
    for split in ("train", "valid"):
        assert (
            len(re.findall(rf"{split}: [\d,]+ of [\d,]+ examples are longer than .* left out", result.text))
            == 1
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--interlingua", "fixed-universal"),
            "--interlingua-length None: --interlingua fixed-universal",
        ),
        (("--lang-pairs", "en-de,de-en"), "--centric-language: expected one of de, en"),
        (("--language-tags", "t-enc"), "--interlingua variable: needs the source language on the encoder"),
        (ALIGNED, "--losses: a part of the model learns from length_prediction alone; add it with"),
        (
            FIXED,
            "--losses length_prediction: needs --arch interlingua_transformer --interlingua variable",
        ),
    ],
)
def test_bad_options_are_refused(data, refusal, tmp_path, options, message):
    arguments = training(data, tmp_path / "model", *BRIDGE, "--max-update", 1, *options)
    assert message in refusal("train", *arguments)


def test_the_probe_wants_an_interlingua(data, trained, our_refusal, tmp_path):
    message = our_refusal(
        "eval", "probe", "interlingua", "--checkpoint", trained / "checkpoint_best.pt", "--data", data,
        "--output", tmp_path / "probe", "--cpu",
    )  # fmt: skip
    assert message.endswith("has no interlingua, expected --arch interlingua_transformer")
