"""`fairseq_ext average`: the mean of the weights of the checkpoints that it says, against a loop."""

import json
import shutil
import weakref

import pytest
import torch

from command_line.dispatch import run
from eval.translation.evaluated_model import EvaluatedModel
from fairseq_ext.__main__ import COMMANDS
from fairseq_ext.checkpoints import averaging, reading
from fairseq_ext.checkpoints.reading import read_checkpoint
from fairseq_ext.inference import load_for_inference
from tests.fairseq_ext.folders import write_preparation, write_toy_folder
from tests.fairseq_ext.test_checkpoints import RunsACommand, checkpoint_state, save


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = write_toy_folder(tmp_path_factory.mktemp("average") / "data")
    write_preparation(folder)
    return folder


@pytest.fixture
def average(capsys):
    def call(*words) -> tuple[int, str]:
        status = run("fairseq_ext", "", COMMANDS, ["average", *map(str, words)])
        return status, "".join(capsys.readouterr())

    return call


def state_of(data, updates: int, loss: float | None = None, **options) -> dict:
    """A checkpoint of one training, with weights that depend on its number of updates."""
    state = checkpoint_state(data, **options)
    generator = torch.Generator().manual_seed(updates)
    for values in {one.data_ptr(): one for one in state["model"].values()}.values():
        if values.is_floating_point():
            values.copy_(torch.randn(values.shape, generator=generator))
    state["optimizer_history"][0]["num_updates"] = updates
    state["extra_state"] |= {"val_loss": loss, "best": 2.0}
    state["last_optimizer_state"] = {"moments": torch.zeros(50_000)}
    state["cfg"]["checkpoint"] = {"maximize_best_checkpoint_metric": False}
    return state


@pytest.fixture
def training(tmp_path, data):
    """A folder of five checkpoints, two of them under two names; the fourth is the best, the fifth has no
    validation.
    """
    folder = tmp_path / "training"
    folder.mkdir()
    for updates, loss in ((10, 5.0), (20, 3.0), (30, 4.0), (100, 2.0), (110, None)):
        save(folder / f"checkpoint_1_{updates}.pt", state_of(data, updates, loss))
    shutil.copy(folder / "checkpoint_1_100.pt", folder / "checkpoint_best.pt")
    shutil.copy(folder / "checkpoint_1_110.pt", folder / "checkpoint_last.pt")
    return folder


def mean_by_loop(paths) -> dict[str, torch.Tensor]:
    states = [torch.load(path, weights_only=True)["model"] for path in paths]
    return {
        name: torch.from_numpy(sum(state[name].double().numpy() for state in states) / len(states))
        for name in states[0]
    }


def check_mean(path, of) -> None:
    state, expected = torch.load(path, weights_only=True), mean_by_loop(of)
    assert state["model"].keys() == expected.keys()
    for name, values in expected.items():
        found = state["model"][name]
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), values, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "updates"),
    [
        (("--last", 2), (100, 110)),
        (("--last", 5), (10, 20, 30, 100, 110)),
        (("--best", 2), (20, 100)),
        (("--best", 3), (20, 30, 100)),
    ],
)
def test_the_mean_of_what_a_training_has(average, training, tmp_path, data, words, updates):
    status, said = average(training, *words, "--output", tmp_path / "mean.pt")
    assert status == 0 and f"average: {len(updates)} checkpoints" in said
    check_mean(tmp_path / "mean.pt", [training / f"checkpoint_1_{number}.pt" for number in updates])
    entries = read_checkpoint(tmp_path / "mean.pt")["averaged"]
    assert [entry["updates"] for entry in entries] == list(updates)
    load_for_inference(tmp_path / "mean.pt", data)


@pytest.mark.parametrize("words", [("--last", 2), ("--best", 2)])
@pytest.mark.parametrize("reverse", [False, True])
def test_two_trainings_have_no_mean_whichever_comes_first(average, tmp_path, data, words, reverse):
    """They have checkpoints of as many updates as each other."""
    for seed in (1, 2):
        for updates in (10, 20):
            path = tmp_path / f"seed{seed}/checkpoint_1_{updates}.pt"
            path.parent.mkdir(exist_ok=True)
            state = state_of(data, updates, 3.0 - seed + updates / 100)
            state["cfg"]["common"] = {"seed": seed}
            save(path, state)
    folders = sorted(tmp_path.glob("seed*"), reverse=reverse)
    if words[0] == "--best":  # those of one training are the best; the other one loses nothing by its place
        assert average(*folders, *words, "--output", tmp_path / "mean.pt")[0] == 0
        check_mean(tmp_path / "mean.pt", sorted((tmp_path / "seed2").glob("*")))
        return
    status, said = average(*folders, *words, "--output", tmp_path / "mean.pt")
    assert status == 2 and "seed is " in said and "checkpoints of one training have a mean" in said


def test_of_counters_the_last_one_counts(tmp_path, data):
    """Whole numbers, such as those of updates in a model's buffers."""
    paths = []
    for updates in (3, 8):
        state = state_of(data, updates)
        state["model"]["encoder.updates"] = torch.tensor([updates])
        paths.append(save(tmp_path / f"checkpoint{updates}.pt", state))
    assert averaging.mean_of(paths)["model"]["encoder.updates"].tolist() == [8]


def test_a_higher_measure_may_be_better(average, tmp_path, data):
    for updates, bleu in ((1, 10.0), (2, 30.0), (3, 20.0)):
        state = state_of(data, updates, bleu)
        state["cfg"]["checkpoint"]["maximize_best_checkpoint_metric"] = True
        save(tmp_path / f"checkpoint{updates}.pt", state)
    assert average(tmp_path, "--best", 2, "--output", tmp_path / "mean.pt")[0] == 0
    check_mean(tmp_path / "mean.pt", [tmp_path / f"checkpoint{number}.pt" for number in (2, 3)])


def test_of_equally_good_ones_the_later_are_the_best(average, tmp_path, data):
    for updates, loss in ((1, 2.0), (2, 2.0), (3, 2.0), (4, 5.0)):
        save(tmp_path / f"checkpoint{updates}.pt", state_of(data, updates, loss))
    assert average(tmp_path, "--best", 2, "--output", tmp_path / "mean.pt")[0] == 0
    check_mean(tmp_path / "mean.pt", [tmp_path / f"checkpoint{number}.pt" for number in (2, 3)])


def test_means_in_the_folder_of_a_training_are_none_of_its_checkpoints(average, training, tmp_path, data):
    """That of the last ones has as many updates as the last one, and a name that comes before it."""
    (training / "checkpoint_1_110.pt").unlink()
    mean = training / "checkpoint_a_mean.pt"
    for _ in range(2):
        assert average(training, "--last", 2, "--output", mean, "--force")[0] == 0
        check_mean(mean, [training / "checkpoint_1_100.pt", training / "checkpoint_last.pt"])


def test_validations_by_several_measures_have_no_best(average, training, data):
    """A training that went on with another one."""
    state = state_of(data, 120, 31.0)
    state["cfg"]["checkpoint"]["best_checkpoint_metric"] = "bleu"
    save(training / "checkpoint_1_120.pt", state)
    status, said = average(training, "--best", 2, "--output", training / "mean.pt")
    assert status == 2 and "--best 2: checkpoints were chosen by bleu and by loss" in said


def test_half_precision_is_summed_in_full(average, tmp_path, data):
    """A sum in half precision would leave out the ones: 512 in place of 512.75, which is 513 there."""
    paths = []
    for number, value in enumerate((2048.0, 1.0, 1.0, 1.0)):
        state = state_of(data, number)
        state["model"] = {name: torch.full_like(one.half(), value) for name, one in state["model"].items()}
        paths.append(save(tmp_path / f"{number}.pt", state))
    assert average(*paths, "--output", tmp_path / "mean.pt")[0] == 0
    found = torch.load(tmp_path / "mean.pt", weights_only=True)["model"]["encoder.embed_tokens.weight"]
    assert found.dtype == torch.float16 and found.unique().tolist() == [513.0]


def test_what_is_written_is_small_and_a_system_of_its_own(average, training, tmp_path, data):
    assert average(training, "--last", 3, "--output", tmp_path / "mean.pt")[0] == 0
    assert (tmp_path / "mean.pt").stat().st_size < (training / "checkpoint_last.pt").stat().st_size / 2
    weights = torch.load(tmp_path / "mean.pt", weights_only=True)["model"]
    shared = {weights[f"{side}.embed_tokens.weight"].data_ptr() for side in ("encoder", "decoder")}
    assert len(shared) == 1
    system = EvaluatedModel(tmp_path / "mean.pt", data).load().system()
    assert system["averaged"] == 3 and system["name"].endswith("average of 3")
    assert run("fairseq_ext", "", COMMANDS, ["describe", str(tmp_path / "mean.pt")]) == 0


def test_done_is_done(average, training, tmp_path):
    words = (training, "--last", 2, "--output", tmp_path / "mean.pt")
    assert average(*words)[0] == 0
    assert "complete, skipped" in average(*words)[1]
    save(training / "checkpoint_1_120.pt", torch.load(training / "checkpoint_1_10.pt", weights_only=True))
    (training / "checkpoint_1_110.pt").unlink()
    (training / "checkpoint_last.pt").unlink()
    assert "complete, skipped" not in average(*words)[1]


def test_nonsense_is_one_line(average, training, tmp_path, data):
    one, best = training / "checkpoint_1_10.pt", training / "checkpoint_best.pt"
    other = save(tmp_path / "pre.pt", state_of(data, 9, norm_placement="pre"))
    seed = state_of(data, 9)
    seed["cfg"]["common"]["seed"] = 7
    reverse = state_of(data, 9)
    reverse["task_state"]["lang_pairs"] = ["en-de"]
    wide = state_of(data, 9)
    wide["model"]["decoder.layers.0.fc1.bias"] = torch.zeros(3)
    diverged = state_of(data, 9)
    diverged["model"]["decoder.layers.0.fc1.bias"][1] = float("nan")
    evil = save(tmp_path / "evil.pt", {**state_of(data, 9), "cfg": RunsACommand(f"touch {tmp_path}/owned")})
    torch.save({**state_of(data, 9), "averaged": [{"file": 1}]}, tmp_path / "odd.pt")
    (tmp_path / "empty").mkdir()
    out = ("--output", tmp_path / "mean.pt")
    for words, message in (
        ((one, *out), "one checkpoint; expected two or more to average"),
        ((training, *out), "is a folder; expected --last N or --best N"),
        ((training, "--last", 1, *out), "--last: found '1', expected a whole number from 2"),
        ((training, "--last", 6, *out), "--last 6: found 5 different checkpoints"),
        ((training, "--best", 5, *out), "--best 5: found 4 different checkpoints with a validation"),
        ((training, "--best", 2, "--last", 2, *out), "--last and --best: expected one of them"),
        ((tmp_path / "empty", "--last", 2, *out), "no checkpoint*.pt in it"),
        ((one, tmp_path / "none.pt", *out), "none.pt: no such file"),
        ((one, other, *out), "norm_placement is 'pre', and 'post' in"),
        ((one, save(tmp_path / "seed.pt", seed), *out), "seed is 7, and 1 in"),
        ((one, save(tmp_path / "reverse.pt", reverse), *out), "directions is ['en-de'], and ["),
        ((one, save(tmp_path / "wide.pt", wide), *out), "has the shape (3,), expected (64,)"),
        ((one, evil, *out), "evil.pt: refused"),
        (
            (one, save(tmp_path / "nan.pt", diverged), *out),
            "1 of 64 weights of decoder.layers.0.fc1.bias are NaN",
        ),
        ((one, best, "--output", best), "is one of the checkpoints, expected another file"),
        ((one, one, *out), "checkpoint_1_10.pt: occurs twice; expected different checkpoints"),
        ((one, best, "--output", tmp_path / "mean.json"), "mean.json: found no .pt at its end"),
        ((one, best, "--output", other), "pre.pt: exists and is not from `average`"),
    ):
        status, said = average(*words)
        assert (status, said.count("\n")) == (2, 1) and message in said, (message, said)
        assert not (tmp_path / "mean.pt").exists()
    assert not (tmp_path / "owned").exists()
    status = run("fairseq_ext", "", COMMANDS, ["describe", str(tmp_path / "odd.pt")])
    assert status == 2


def test_the_record_of_a_mean_names_its_files(average, training, tmp_path):
    assert average(training, "--best", 2, "--output", tmp_path / "mean.pt")[0] == 0
    record = json.loads((tmp_path / "mean.json").read_text())
    assert [path.rsplit("/")[-1] for path in record["inputs"]] == [
        "checkpoint_1_20.pt",
        "checkpoint_1_100.pt",
    ]


def test_every_checkpoint_is_read_to_be_checked_and_to_be_summed(average, training, tmp_path, reads):
    """Those of a folder are checked by what has been read to choose them."""
    two = ("checkpoint_1_20.pt", "checkpoint_1_100.pt")
    assert average(*(training / name for name in two), "--output", tmp_path / "files.pt")[0] == 0
    assert reads == dict.fromkeys(two, 2)
    reads.clear()
    assert average(training, "--best", 2, "--output", tmp_path / "mean.pt")[0] == 0
    once = {path.name: 1 for path in training.glob("*.pt")}
    assert reads == once | dict.fromkeys(two, 2)


def test_one_checkpoint_is_in_memory_at_a_time(training, monkeypatch):
    held: list[weakref.ref] = []

    def read(path) -> dict:
        assert not [one for one in held if one() is not None]
        state = reading.read_state(path)
        held.extend(map(weakref.ref, state["model"].values()))
        return state

    monkeypatch.setattr(averaging, "read_state", read)
    averaging.mean_of(sorted(training.glob("checkpoint_1_*.pt")))
    assert len(held) > 5
