"""`fairseq_ext package`: one folder with everything, complete or refused, that leads nowhere else."""

import json
import os
import shutil
from argparse import Namespace

import pytest
import torch

from command_line.completion import unfinished_mark
from command_line.dispatch import run
from command_line.errors import InputError
from data_prep.formats.package import Package, single_checkpoint
from data_prep.formats.preparation import Preparation
from embeddings.encoders.options import EncoderOptions
from fairseq_ext.__main__ import COMMANDS
from fairseq_ext.checkpoints.reading import EMBEDDINGS
from fairseq_ext.inference import load_ensemble, load_for_inference
from tests.eval.translation.packages import write_checkpoint, write_data
from tests.fairseq_ext.models import toy_dictionary
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save
from tests.our_commands import run_command


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("package")
    data = write_data(folder / "data")
    for number in (1, 2, 3):
        write_checkpoint(folder / f"checkpoint{number}.pt", data, seed=number, updates=number)
    return folder


@pytest.fixture
def package(root, capsys):
    def call(*words) -> tuple[int, str]:
        status = run("fairseq_ext", "", COMMANDS, ["package", *map(str, words), "--data", str(root / "data")])
        return status, "".join(capsys.readouterr())

    return call


def files(folder) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def bilingual(data, **task) -> dict:
    """A checkpoint of fairseq's task `translation`: its dictionary has no tags."""
    state = checkpoint_state(data, "transformer", {"_name": "translation", **task})
    words = len(toy_dictionary())
    for name in EMBEDDINGS:
        state["model"][name] = state["model"][name][:words]
    return state


def weights_of(path) -> dict[str, torch.Tensor]:
    return torch.load(path, weights_only=True)["model"]


def test_what_is_in_a_package(package, root, tmp_path):
    out = tmp_path / "system"
    assert package(root / "checkpoint1.pt", "--output", out)[0] == 0
    dictionaries = {f"dict.{language}.txt" for language in ("de", "en", "fr")}
    assert files(out) == {"model.pt", "package.json", "preparation.json", *dictionaries}
    state = torch.load(out / "model.pt", weights_only=True)
    assert state["last_optimizer_state"] is None
    before = weights_of(root / "checkpoint1.pt")
    assert all(torch.equal(state["model"][name], values) for name, values in before.items())
    loaded = load_for_inference(out / "model.pt", out)
    assert (
        loaded.task.supervised == load_for_inference(root / "checkpoint1.pt", root / "data").task.supervised
    )
    assert Preparation.load(out).pairs == {}
    assert "complete, skipped" in package(root / "checkpoint1.pt", "--output", out)[1]


def test_with_sets(package, root, tmp_path):
    out = tmp_path / "system"
    assert package(root / "checkpoint1.pt", "--output", out, "--sets", "test,valid")[0] == 0
    names = {path.name for path in (root / "data").iterdir() if path.name.startswith(("test.", "valid."))}
    assert names <= files(out) and "text/test.de-en.de" in files(out)
    assert set(Preparation.load(out).pairs) == {"test", "valid"}
    assert package(root / "checkpoint1.pt", "--output", out, "--sets", "test")[0] == 0
    assert not {name for name in files(out) if name.startswith("valid.")}


def test_an_average_and_an_ensemble(package, root, tmp_path):
    every = [root / f"checkpoint{number}.pt" for number in (1, 2, 3)]
    for combine in ("average", "ensemble"):
        out = tmp_path / combine
        assert package(*every, "--combine", combine, "--output", out)[0] == 0
    found, sources = weights_of(tmp_path / "average/model.pt"), [weights_of(path) for path in every]
    for name, values in found.items():
        torch.testing.assert_close(values, (sources[0][name] + sources[1][name] + sources[2][name]) / 3)
    members = Package.load(tmp_path / "ensemble").checkpoints
    assert [path.name for path in members] == ["model1.pt", "model2.pt", "model3.pt"]
    for path, source in zip(members, sources, strict=True):
        assert all(torch.equal(values, source[name]) for name, values in weights_of(path).items())
    again = package(root, "--last", 2, "--combine", "average", "--output", tmp_path / "average")
    assert (
        again[0] == 0 and len(torch.load(tmp_path / "average/model.pt", weights_only=True)["averaged"]) == 2
    )


def test_every_checkpoint_is_read_to_be_checked_and_to_be_written(package, root, tmp_path, reads):
    """Those of a folder, besides, to be chosen."""
    names = [f"checkpoint{number}.pt" for number in (1, 2, 3)]
    one, two, three = (root / name for name in names)
    for words, expected in (
        ((one,), (2, 0, 0)),
        ((one, two, "--combine", "ensemble"), (2, 2, 0)),
        ((one, three, "--combine", "average"), (2, 0, 2)),
        ((root, "--last", 2, "--combine", "average"), (1, 3, 3)),
    ):
        reads.clear()
        assert package(*words, "--output", tmp_path / "out")[0] == 0
        assert tuple(reads[name] for name in names) == expected, words


def test_of_stock_fairseq_whose_direction_is_in_names_of_files_alone(package, root, tmp_path):
    """The folder of the training has one pair; the package has none."""
    data = tmp_path / "data"
    shutil.copytree(root / "data", data)
    for path in [*data.glob("*.*-*.*"), *data.glob("text/*")]:
        if not path.name.startswith("train.de-en"):
            path.unlink()
    path = save(tmp_path / "stock.pt", bilingual(data, source_lang=None, target_lang=None))
    words = ["package", path, "--data", str(data), "--output", str(tmp_path / "out")]
    assert run("fairseq_ext", "", COMMANDS, words) == 0
    loaded = load_for_inference(tmp_path / "out/model.pt", tmp_path / "out")
    assert loaded.task.supervised == [("de", "en")]


def test_an_old_checkpoint_of_one_namespace(package, root, tmp_path):
    state = bilingual(root / "data")
    model = vars(state["cfg"]["model"])
    task = {"task": "translation", "source_lang": "de", "target_lang": "en"}
    state |= {"args": Namespace(**{**model, **task, "seed": 1, "criterion": "cross_entropy"}), "cfg": None}
    status, said = package(save(tmp_path / "old.pt", state), "--output", tmp_path / "out")
    assert status == 0, said
    load_for_inference(tmp_path / "out/model.pt", tmp_path / "out")


def test_an_encoder_of_a_package(package, root, tmp_path):
    assert package(root / "checkpoint1.pt", "--output", tmp_path / "system")[0] == 0
    lines = ["w1 w2", "w3"]
    ours = EncoderOptions(tmp_path / "system", cpu=True).load()
    theirs = EncoderOptions(root / "checkpoint1.pt", model_data=root / "data", cpu=True).load()
    assert (ours.encode(lines, "de") == theirs.encode(lines, "de")).all()
    (tmp_path / "text.de").write_text("w1 w2\n")
    words = ["speed", f"a={tmp_path}/system", "--text", tmp_path / "text.de", "--rounds", "1", "--cpu"]
    assert run_command(["embeddings", *map(str, words), "--output", str(tmp_path / "speed")]) == 0


def test_described(package, root, tmp_path, capsys):
    assert package(root / "checkpoint1.pt", "--output", tmp_path / "system")[0] == 0
    assert run("fairseq_ext", "", COMMANDS, ["describe", str(tmp_path / "system"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["languages"] == ["de", "en", "fr"] and record["checkpoint"]["updates"] == 1


def test_nonsense_is_one_line(package, root, tmp_path):
    one, two = root / "checkpoint1.pt", root / "checkpoint2.pt"
    out = ("--output", tmp_path / "out")
    post = write_checkpoint(tmp_path / "pre.pt", root / "data", norm_placement="pre")
    tags = checkpoint_state(root / "data")
    tags["task_state"]["language_tags"] = "t-enc"
    other = checkpoint_state(root / "data")
    other["task_state"]["dictionary_sha256"] = "0" * 64
    nan = checkpoint_state(root / "data")
    nan["model"]["decoder.layers.0.fc1.bias"][0] = float("nan")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/model.pt").write_text("mine")
    for words, message in (
        ((one, two, *out), "2 checkpoints: expected --combine average or --combine ensemble"),
        ((one, "--combine", "average", *out), "--combine average: found one checkpoint"),
        ((root, *out), "is a folder; expected --last N or --best N"),
        ((tmp_path / "none.pt", *out), "none.pt: no such file"),
        ((one, "--sets", "tset", *out), "--sets tset: no such set of pairs"),
        ((one, "--sets", "../x", *out), "--sets: found '../x'"),
        ((one, "--output", root / "data"), "is the input folder, expected another one"),
        ((one, "--output", tmp_path / "full"), "exists and is not from this step"),
        ((one, post, "--combine", "average", *out), "norm_placement is 'pre', and 'post' in"),
        (
            (one, save(tmp_path / "tags.pt", tags), "--combine", "ensemble", *out),
            "its placement of language tags: t-enc, and s-enc-t-dec in",
        ),
        ((save(tmp_path / "other.pt", other), *out), "is not the dictionary that the checkpoint was"),
        ((save(tmp_path / "nan.pt", nan), *out), "are NaN or infinite"),
    ):
        status, said = package(*words)
        assert (status, said.count("\n")) == (2, 1) and message in said, (message, said)
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "full/model.pt").read_text() == "mine"


def test_damage_links_and_names_that_lead_out_of_the_folder(package, root, tmp_path):
    secret = tmp_path / "secret.pt"
    shutil.copy(root / "checkpoint1.pt", secret)
    assert package(root / "checkpoint1.pt", "--output", tmp_path / "system")[0] == 0

    def refused(damage) -> str:
        copy = tmp_path / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(tmp_path / "system", copy)
        damage(copy)
        with pytest.raises(InputError) as caught:
            Package.load(copy)
        return str(caught.value)

    def linked(name):
        def damage(folder):
            (folder / name).unlink()
            (folder / name).symlink_to(secret)

        return damage

    def named(models):
        def damage(folder):
            record = json.loads((folder / "package.json").read_text())
            record["settings"]["models"] = models
            (folder / "package.json").write_text(json.dumps(record))

        return damage

    for name in ("model.pt", "dict.de.txt"):
        assert f"{name}: a link to {secret}; expected files in" in refused(linked(name))
    assert "a link to" in refused(lambda folder: (folder / "text").symlink_to(tmp_path))
    assert "expected a plain name without folders" in refused(named(["../secret.pt"]))
    assert "expected a plain name without folders" in refused(named([str(secret)]))
    assert "expected a list" in refused(named("model.pt"))
    assert "is empty, expected names of checkpoints" in refused(named([]))
    assert "did not finish here" in refused(lambda folder: unfinished_mark(folder, "package").touch())
    assert "copy: dict.de.txt is gone; expected all files as" in refused(
        lambda folder: os.unlink(folder / "dict.de.txt")
    )
    assert "copy: model.pt has changed since" in refused(lambda folder: os.truncate(folder / "model.pt", 999))
    assert "no package.json in it" in refused(lambda folder: os.unlink(folder / "package.json"))


def test_a_package_of_one_model_is_a_checkpoint(package, root, tmp_path):
    pair = (root / "checkpoint1.pt", root / "checkpoint2.pt")
    assert package(*pair, "--combine", "ensemble", "--output", tmp_path / "both")[0] == 0
    with pytest.raises(InputError, match="an ensemble of 2 models, expected one"):
        single_checkpoint(tmp_path / "both")
    assert load_ensemble(Package.load(tmp_path / "both").checkpoints, tmp_path / "both").ensemble == 2
