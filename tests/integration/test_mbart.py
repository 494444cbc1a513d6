"""From a small mBART to a fine-tuned model: trimming, training with a loss, generation, probes."""

import random

import pytest
import torch

from command_line.lines import read_lines
from data_prep.formats.preparation import Preparation
from eval.probes.retrieval import words_of
from eval.probes.store import StateStore
from tests.fairseq_ext.mbart import SIZES, train_pieces, write_mbart
from tests.integration import commands
from tests.integration.test_fairseq_commands import hypotheses
from tests.integration.toy_corpus import random_concepts, sentence, write_sides
from tests.integration.training import LOGS, TASK, USER_DIR, final_state, logged
from tests.made_once import made_once

pytestmark = pytest.mark.slow

LINES = 10
LANGUAGES = ("de", "en")


def prepare(folder) -> None:
    rng = random.Random(1)
    (folder / "text").mkdir()
    for split, lines in (("train", 300), ("valid", 8), ("test", LINES)):
        write_sides(folder / "text", split, LANGUAGES, random_concepts(rng, lines))
    every = [sentence(language, [i, j]) for language in ("cs", "de", "en") for i in range(12) for j in (3, 7)]
    names = ("mbart", "words", "subword", "data", "aligned")
    mbart, words, subword, data, aligned = (folder / name for name in names)
    write_mbart(mbart, train_pieces(mbart, every, 60), scale=0.05)
    for package, *arguments in (
        ("data_prep", "tokenize", "--tokenizer", "none", "--input", folder / "text", "--output", words),
        ("data_prep", "subword", "--pretrained", mbart, "--input", words, "--output", subword),
        ("data_prep", "binarize", "--input", subword, "--text", folder / "text", "--output", data),
        ("data_prep", "align", "--input", words, "--subword", subword, "--data", data, "--output", aligned),
        ("fairseq_ext", "trim-mbart", "--pretrained", mbart, "--data", data, "--output", folder / "start.pt"),
    ):  # fmt: skip
        result = commands.run_forked(folder / "logs", package, *arguments)
        assert result.status == 0, result.text
    sizes = [word for name, size in SIZES.items() for word in (f"--{name.replace('_', '-')}", size)]
    result = commands.run_forked(
        folder / "logs", "train", data, *USER_DIR, *TASK, "--lang-pairs", "de-en,en-de", *sizes,
        "--arch", "mnmt_transformer_mbart", "--language-tags", "mbart", *LOGS, "--optimizer", "fused_adam",
        "--criterion", "weighted_losses",
        "--losses", "translation,word_contrastive,attention_alignment",
        "--finetune-from-model", folder / "start.pt", "--save-dir", folder, "--dropout", 0.1,
        "--lr", 0.01, "--lr-scheduler", "inverse_sqrt", "--warmup-updates", 30,
        "--max-tokens", 1000, "--max-update", 70, "--disable-validation",
    )  # fmt: skip
    (folder / "log").write_text(result.text, encoding="utf-8")
    assert result.status == 0, result.text[-3000:]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_once(tmp_path_factory, "finetuned", prepare)


@pytest.fixture(scope="module")
def checkpoint(folder):
    return folder / "checkpoint_last.pt"


@pytest.fixture(scope="module")
def translated(folder, checkpoint, tmp_path_factory):
    def translate(output) -> None:
        result = commands.run_forked(
            output / "logs", "eval", "translate", "--checkpoint", checkpoint, "--data", folder / "data",
            "--output", output / "out", "--cpu", "--max-len-b", 30,
        )  # fmt: skip
        assert result.status == 0, result.text

    return made_once(tmp_path_factory, "finetuned-translated", translate) / "out"


def test_training_begins_with_mbarts_weights_and_all_losses_fall(folder):
    log = logged(commands.Result(0, (folder / "log").read_text(), ""), "train_inner")
    for name in ("nmt_loss", "word_contrastive"):
        assert float(log[-1][name]) < 0.8 * float(log[0][name])
    start, end = (final_state(folder, name)["model"] for name in ("start.pt", "checkpoint_last.pt"))
    name = "encoder.layers.1.self_attn.q_proj.weight"
    similarity = torch.cosine_similarity(start[name].flatten(), end[name].flatten(), dim=0)
    assert 0.2 < similarity < 1  # another initialization would be at 0


@pytest.mark.parametrize("direction", ["de-en", "en-de"])
def test_translations_are_those_of_fairseq_generate(folder, checkpoint, translated, direction, tmp_path):
    source, target = direction.split("-")
    result = commands.run_forked(
        tmp_path / "logs", "generate", folder / "data", *USER_DIR, *TASK, "--path", checkpoint,
        "-s", source, "-t", target, "--cpu", "--max-len-b", 30,
    )  # fmt: skip
    assert result.status == 0, result.text
    preparation, found = Preparation.load(folder / "data"), list(read_lines(translated / f"{direction}.txt"))
    expected = {n: preparation.detokenize(target, text) for n, text in hypotheses(result).items()}
    assert dict(enumerate(found)) == expected
    assert len(set(found)) > 2  # not yet good, but no constant


def test_interactive(folder, checkpoint, translated, tmp_path):
    """Lines without their direction, but for the command line's."""
    preparation = Preparation.load(folder / "data")
    lines = list(read_lines(folder / "data/text/test.de-en.de"))
    result = commands.run_forked(
        tmp_path / "logs", "interactive", folder / "data", *USER_DIR, *TASK, "--path", checkpoint, "-s", "de",
        "-t", "en", "--cpu", "--max-len-b", 30, "--buffer-size", LINES, "--max-sentences", 5,
        stdin="".join(f"{preparation.segment('de', line)}\n" for line in lines),
    )  # fmt: skip
    assert result.status == 0, result.text
    found = [preparation.detokenize("en", text) for _, text in sorted(hypotheses(result).items())]
    assert found == list(read_lines(translated / "de-en.txt"))


def test_probes_know_words_from_tags(folder, checkpoint, tmp_path):
    states, probe = tmp_path / "states", ("eval", "probe")
    for arguments in (
        ("states", "--checkpoint", checkpoint, "--data", folder / "data", "--splits", "test", "--cpu",
         "--max-len-b", 30, "--output", states),
        ("retrieval", states, "--words", folder / "data", "--output", tmp_path / "out"),
    ):  # fmt: skip
        result = commands.run_forked(tmp_path / "logs", probe[0], probe[1], *arguments)
        assert result.status == 0, result.text
    store = StateStore.open(states)
    encoder, decoder = (getattr(store, side)("test", LANGUAGES) for side in ("encoder", "decoder"))
    ends = encoder.offsets[1:]
    assert encoder.is_tag[ends - 1].all()
    assert encoder.is_end[ends - 2].all()
    assert decoder.is_tag[decoder.offsets[:-1]].all()
    assert not decoder.is_end.any()
    subwords = (folder / "subword/test.de-en.de").read_text("utf-8").splitlines()
    assert words_of(encoder).tolist() == [len(line.split()) for line in subwords]
