"""Training with weighted losses: every choice runs, resumes exactly, and works in two processes."""

import shutil

import pytest
import torch

from data_prep.formats.alignments import AlignedSpansWriter
from tests.integration.commands import USER_DIR, Result, run_forked, train_in_processes
from tests.integration.training import final_state, logged, training
from tests.made_once import made_once

ALL_THREE = "word_contrastive,sentence_contrastive,attention_alignment"
DROP = "--word-contrastive-drop-false-negatives"
TINY = ("--max-update", 2, "--max-tokens", 400, "--dropout", 0.1, "--max-tokens-valid", 2000)


def criterion(losses: str = ALL_THREE) -> tuple:
    return ("--criterion", "weighted_losses", "--losses", f"translation,{losses}")


def words_of(line: str) -> list[tuple[int, int]]:
    """Words of a line of subword text as half-open spans."""
    spans, start = [], 0
    for number, unit in enumerate(line.split(), start=1):
        if not unit.endswith("@@"):
            spans.append((start, number))
            start = number
    return spans


def write_alignments(data, subword, every: int) -> None:
    """The toy languages translate word by word; of every line that is no multiple of `every`, no word."""
    for index in sorted(data.glob("*.idx")):
        split, pair, language = index.name.removesuffix(".idx").split(".")
        if split == "test" or language != pair.split("-")[0]:
            continue
        sides = [(subword / f"{split}.{pair}.{name}").read_text().splitlines() for name in pair.split("-")]
        with AlignedSpansWriter(data, split, tuple(pair.split("-")), "fast_align") as writer:
            for number, lines in enumerate(zip(*sides, strict=True)):
                first, second = map(words_of, lines)
                rows = zip(first, second, strict=True) if number % every == 0 else []
                writer.append((*a, *b) for a, b in rows)


@pytest.fixture(scope="session")
def aligned(tmp_path_factory, data):
    """The toy corpus with all words aligned (`dense`), and with those of every 50th line (`sparse`)."""

    def make_folders(folder) -> None:
        for name, every in (("dense", 1), ("sparse", 50)):
            shutil.copytree(data, folder / name)
            write_alignments(folder / name, data.parent / "sub", every)

    return made_once(tmp_path_factory, "aligned", make_folders)


@pytest.mark.parametrize(
    "options",
    [
        ("--language-tags", "s-enc-t-dec", "--norm-placement", "post", "--autocast-bf16"),
        ("--language-tags", "t-enc", "--norm-placement", "pre", "--fused-vocabulary-loss"),
        (
            "--language-tags",
            "t-dec",
            "--norm-placement",
            "swap-pre",
            "--word-contrastive-drop-false-negatives",
        ),
        ("--language-tags", "s-enc-t-enc", "--norm-placement", "pre", "--update-freq", 2),
        ("--language-tags", "none", "--norm-placement", "post", "--word-contrastive-dim", 16),
        ("--arch", "transformer", "--optimizer", "adam"),
    ],
    ids=lambda options: " ".join(map(str, options)),
)
def test_two_updates_with_every_choice(aligned, forked, tmp_path, options):
    arguments = training(aligned / "dense", tmp_path / "model", *criterion(), *TINY)
    if "--arch" in options:  # fairseq's own model has no such options
        arguments += ["--share-all-embeddings"]
    result = forked("train", *arguments, *options)
    assert result.status == 0, result.text[-3000:]
    updates, (valid,) = logged(result, "train_inner"), logged(result, "valid")
    assert len(updates) == 2
    for name in ("loss", "nmt_loss", *ALL_THREE.split(",")):
        assert all(0 < float(entry[name]) < 30 for entry in updates)
        assert 0 < float(valid[f"valid_{name}"]) < 30
    assert sorted(final_state(tmp_path / "model")["criterion"]) == [
        "losses.word_contrastive.hidden.weight",
        "losses.word_contrastive.output.weight",
    ]


@pytest.mark.slow
def test_without_losses_it_trains_the_same_model(data, forked, tmp_path):
    """Every parameter, to the last bit, on data without alignments."""
    models = []
    for name, options in (
        ("plain", ("--criterion", "label_smoothed_cross_entropy")),
        ("none", ("--criterion", "weighted_losses")),
    ):
        options = (*TINY, "--disable-validation", *options)
        result = forked("train", *training(data, tmp_path / name, *options))
        assert result.status == 0, result.text[-3000:]
        state = final_state(tmp_path / name)
        assert state["criterion"] is None
        models.append(state["model"])
    assert all(torch.equal(models[0][name], tensor) for name, tensor in models[1].items())


def same(first, second) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


FORTY_UPDATES = (
    "--dropout", 0.1, "--max-update", 40, "--save-interval-updates", 20, "--disable-validation",
)  # fmt: skip


@pytest.fixture(scope="module")
def forty_updates(aligned, tmp_path_factory):
    """The log of 40 updates and the folder of checkpoint_1_20.pt and checkpoint_last.pt."""

    def train(folder) -> None:
        arguments = training(aligned / "dense", folder / "model", *criterion(), *FORTY_UPDATES)
        result = run_forked(folder / "logs", "train", *arguments)
        assert result.status == 0, result.text[-3000:]
        (folder / "log").write_text(result.text, encoding="utf-8")

    folder = made_once(tmp_path_factory, "forty", train)
    return Result(0, (folder / "log").read_text(encoding="utf-8"), ""), folder / "model"


@pytest.mark.slow
def test_the_loss_falls(forty_updates):
    values = [float(entry["word_contrastive"]) for entry in logged(forty_updates[0], "train_inner")]
    assert values[-1] < values[0] - 1  # bits


@pytest.mark.slow
def test_resumed_training_is_exact(aligned, forty_updates, forked, tmp_path):
    whole, resumed = forty_updates[1], tmp_path / "resumed"
    resumed.mkdir()
    shutil.copy(whole / "checkpoint_1_20.pt", resumed / "checkpoint_last.pt")
    result = forked("train", *training(aligned / "dense", resumed, *FORTY_UPDATES, *criterion()))
    assert result.status == 0, result.text[-3000:]
    assert "Loaded checkpoint" in result.text
    early, expected, found = (
        final_state(whole, "checkpoint_1_20.pt"),
        final_state(whole),
        final_state(resumed),
    )
    assert not same(early["criterion"], expected["criterion"])
    for part in ("model", "criterion"):
        assert same(found[part], expected[part])
    for number, state in expected["last_optimizer_state"]["state"].items():
        assert same(found["last_optimizer_state"]["state"][number], state)


@pytest.mark.slow
def test_inference_needs_no_losses(aligned, forty_updates, forked, tmp_path):
    data, path = aligned / "dense", forty_updates[1] / "checkpoint_last.pt"
    assert not any("contrastive" in name for name in final_state(path.parent)["model"])
    task = (data, *USER_DIR, "--task", "multilingual_nmt", "--path", path, "--cpu", "--source-lang", "de")
    generated = forked(
        "generate", *task, "--target-lang", "fr", "--gen-subset", "valid", "--beam", 1, "--max-len-b", 10
    )
    assert generated.status == 0, generated.text[-3000:]
    assert sum(line.startswith("H-") for line in generated.out.splitlines()) == 30
    validated = forked(
        "validate", *task, "--target-lang", "en", "--valid-subset", "valid", "--max-tokens", 2000
    )
    assert validated.status == 0, validated.text[-3000:]
    translated = forked(
        "eval", "translate", "--checkpoint", path, "--data", data, "--split", "valid", "--beam", 1,
        "--directions", "de-fr", "--max-len-b", 10, "--output", tmp_path / "translations",
    )  # fmt: skip
    assert translated.status == 0, translated.text[-3000:]


@pytest.mark.slow
def test_fine_tuning_of_a_model_trained_without_losses(aligned, trained, forked, tmp_path):
    start = ("--finetune-from-model", trained / "checkpoint_best.pt", "--norm-placement", "pre")
    result = forked("train", *training(aligned / "dense", tmp_path / "model", *criterion(), *TINY, *start))
    assert result.status == 0, result.text[-3000:]
    assert "the checkpoint lacks the parameters of word_contrastive" in result.text
    assert float(logged(result, "train_inner")[0]["nll_loss"]) < 1  # the model knows its languages


@pytest.mark.slow
def test_two_processes_equal_one(aligned, forked, tmp_path):
    """Many batches have no aligned word: their processes go on together."""
    common = (
        *criterion(), "--max-update", 8, "--max-tokens", 300, "--dropout", 0, "--word-contrastive-dropout", 0,
        "--word-contrastive-weight", 1, "--disable-validation", "--required-batch-size-multiple", 1,
    )  # fmt: skip
    data = aligned / "sparse"
    single = forked("train", *training(data, tmp_path / "single", *common, "--update-freq", 2))
    assert single.status == 0, single.text[-3000:]
    double = train_in_processes(tmp_path / "logs", 2, training(data, tmp_path / "double", *common))
    expected, found = logged(single, "train_inner"), logged(double, "train_inner")
    assert len(expected) == len(found) == 8
    assert sum("word_contrastive" in entry for entry in expected) > 0
    for reference, entry in zip(expected, found, strict=True):
        assert entry.keys() == reference.keys()
        for name in {"loss", "nmt_loss", "gnorm", *ALL_THREE.split(",")} & entry.keys():
            assert float(entry[name]) == pytest.approx(float(reference[name]), abs=2e-3), name
    expected, found = (final_state(tmp_path / name) for name in ("single", "double"))
    for part in ("model", "criterion"):
        assert found[part].keys() == expected[part].keys()
        for name, tensor in expected[part].items():
            torch.testing.assert_close(found[part][name], tensor, atol=1e-4, rtol=1e-3, msg=name)


def test_data_without_alignments_is_refused(data, refusal, tmp_path):
    arguments = training(data, tmp_path / "model", *criterion(), *TINY, "--lang-pairs", "en-cs")
    message = refusal("train", *arguments)
    assert message.startswith(f"{data}: no word alignments; `python -m data_prep align` writes them")
