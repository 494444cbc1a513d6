"""What `eval.api` offers, and the page that shows it, run as it stands."""

from pathlib import Path

import numpy as np
import pytest

from command_line.errors import InputError
from eval.api import load_model, probe, read_rows, write_store
from eval.probes.store import StateStore
from tests.documented_commands import shown
from tests.eval.conftest import TEXTS, write_lines
from tests.eval.translation.packages import package, write_checkpoint, write_data
from tests.eval.translation.transformers_folders import write_nllb

PAGE = "docs/python.md"


def write_system(folder: Path) -> Path:
    data = write_data(folder / "data")
    return package(folder / "example/system", data, write_checkpoint(folder / "model.pt", data))


def test_the_page_runs_as_it_stands(tmp_path, monkeypatch, command, capsys):
    (tmp_path / "example").mkdir()
    write_system(tmp_path)
    (tmp_path / "models/nllb-200").mkdir(parents=True)
    write_nllb(tmp_path / "models/nllb-200")
    for first, second in (("de", "en"), ("en", "fr"), ("de", "fr")):
        for language in (first, second):
            write_lines(tmp_path / f"toy/text/test.{first}-{second}.{language}", TEXTS[language] * 3)
    monkeypatch.chdir(tmp_path)
    given = ("--checkpoint", "models/nllb-200", "--data", "toy", "--max-len-b", 5, "--cpu", "--output")
    assert command("probe", "states", *given, "states/nllb", "--splits", "test").status == 0
    assert command("translate", *given, "example/of_nllb").status == 0
    assert command("score", "example/of_nllb", "--workers", 1).status == 0
    names: dict = {}
    for block in shown():
        if block.page == PAGE:
            exec(compile(block.text, PAGE, "exec"), names)
    printed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert [name for name in printed if name in names["model"].hidden.layers["encoder"]] == [
        "L0", "L1", "encoder-norm",
    ]  # fmt: skip
    assert len(names["rows"]) and set(names["scores"].direction) == {
        "de-en", "de-fr", "en-de", "en-fr", "fr-de", "fr-en",
    }  # fmt: skip
    assert names["model"].states(["Danke."], "de", "fr")[0].encoder_tokens[0] == "deu_Latn"
    assert names["part"].pieces[-1] == "</s>" and len(names["part"]) == 3 * len(TEXTS["de"])
    assert set(names["own"][names["own"].measure == "accuracy"].layer) == {"L0", "L1", "output"}
    parity = names["recognized"]
    assert set(parity[parity.measure == "class_accuracy"].direction) == {"even", "odd"}
    assert list(Path("probes/own").glob("*.svg"))


def test_a_checkpoint_is_read_with_its_data(tmp_path):
    (tmp_path / "example").mkdir()
    packaged = load_model(write_system(tmp_path))
    alone = load_model(tmp_path / "model.pt", data=tmp_path / "data")
    states = [model.states(["w1 w2"], "de", "fr")[0].encoder["L1"] for model in (packaged, alone)]
    np.testing.assert_array_equal(*states)


def test_states_of_lines_in_a_store_are_theirs(tmp_path):
    (tmp_path / "example").mkdir()
    model = load_model(write_system(tmp_path))
    lines = model.states(["w1 w2 w3", "w4"], "de", "fr")
    store = write_store(
        tmp_path / "s", {"test": lines}, "A", "toy", tags=model.names(model.tags), end="</s>", dtype="float32"
    )
    for side in ("encoder", "decoder"):
        part = getattr(store, side)("test", "de-fr")
        assert part.pieces == [piece for line in lines for piece in getattr(line, f"{side}_tokens")]
        assert part.is_tag.any() and part.is_end.sum() == 2
        for layer in part.layers:
            np.testing.assert_array_equal(
                part.states(layer), np.concatenate([getattr(line, side)[layer] for line in lines])
            )


@pytest.mark.parametrize("forced", ["output", "reference"])
def test_states_of_our_models_are_those_that_the_probes_read(tmp_path, command, forced):
    (tmp_path / "example").mkdir()
    system = write_system(tmp_path)
    given = ("--checkpoint", tmp_path / "model.pt", "--data", tmp_path / "data", "--dtype", "float32")
    options = (
        "--splits",
        "test",
        "--directions",
        "de-fr",
        "--forced",
        forced,
        "--output",
        tmp_path / "states",
    )
    assert command("probe", "states", *given, *options).status == 0
    store = StateStore.open(tmp_path / "states")
    lines, references = (
        (tmp_path / f"data/text/test.de-fr.{language}").read_text().splitlines() for language in ("de", "fr")
    )
    states = load_model(system).states(lines, "de", "fr", references if forced == "reference" else None)
    for side, layers in (("encoder", store.encoder_layers), ("decoder", store.decoder_layers)):
        part = getattr(store, side)("test", "de-fr")
        for layer in layers:
            ours = np.concatenate([getattr(line, side)[layer] for line in states])
            np.testing.assert_allclose(ours, part.states(layer), atol=1e-5)


def test_refused(tmp_path):
    (tmp_path / "example").mkdir()
    model = load_model(write_system(tmp_path))
    for arguments, message in (
        ((["w1"], "de"), "expected a target language"),
        ((["w1", " "], "de", "fr"), "line 2 has no words"),
        ((["w1"], "de", "fr", ["w2", "w3"]), "2 references for 1 lines"),
    ):
        with pytest.raises(InputError, match=message):
            model.states(*arguments)
    with pytest.raises(InputError, match="probe 'states': expected one of llr, similarity"):
        probe("states", output=tmp_path / "out")
    with pytest.raises(InputError, match="--depth"):
        probe("similarity", tmp_path, "--depth", 3, output=tmp_path / "out")
    write_nllb(tmp_path / "nllb")
    with pytest.raises(InputError, match="data='DATA': only a checkpoint is read with a binarized folder"):
        load_model(tmp_path / "nllb", data="DATA")
    with pytest.raises(InputError, match=r"nothing\.json"):
        read_rows(tmp_path / "nothing.json")
