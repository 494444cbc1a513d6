"""`eval probe states`: states are those of step-by-step decoding, every token has its own, none is lost."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from command_line.errors import InputError
from command_line.measurements import read_rows
from eval.probes.hidden_states import forced_states
from eval.probes.states import choose_layers
from eval.probes.store import StateStore, layer_names
from eval.probes.storing import as_stored
from eval.translation.beam_search import BeamSearch
from eval.translation.search_options import SearchOptions
from fairseq_ext.inference import load_for_inference
from tests.eval.translation.packages import WITH_EMPTY_LINES as SENTENCES
from tests.eval.translation.packages import write_binarized
from tests.fairseq_ext.test_checkpoints import checkpoint_state, save


@pytest.fixture
def folder(tmp_path):
    return write_binarized(tmp_path / "data", SENTENCES)


STOCK = {
    "arch": "transformer",
    "task": {
        "_name": "translation_multi_simple_epoch",
        "lang_pairs": "de-en,en-de,en-fr,fr-en",
        "langs": "de,en,fr",
        "encoder_langtok": "src",
        "decoder_langtok": True,
    },
    "encoder_normalize_before": True,
    "decoder_normalize_before": True,
}
MODELS = {
    "pre": {"norm_placement": "pre"},
    "post": {"norm_placement": "post"},
    "told its target pre": {"norm_placement": "pre", "target_embedding_layers": 1},
    "interlingua": {"arch": "interlingua_transformer", "interlingua": "variable"},
    "stock pre": STOCK,
    "stock post": STOCK | {"encoder_normalize_before": False, "decoder_normalize_before": False},
}


@pytest.fixture
def checkpoint(tmp_path, folder):
    def make(name: str = "pre", **options) -> str:
        return save(tmp_path / "model.pt", checkpoint_state(folder, **(MODELS[name] | options)))

    return make


@pytest.fixture
def states(command, folder, tmp_path):
    """Run the command and open what it wrote."""

    def run(checkpoint: str, *options, output: str = "states"):
        result = command(
            "probe", "states", "--checkpoint", checkpoint, "--data", folder, "--cpu", "--max-len-b", 6,
            "--output", tmp_path / output, *options,
        )  # fmt: skip
        return StateStore.open(tmp_path / output) if result.status == 0 else result

    return run


def test_the_index_knows_the_text(folder, checkpoint, states):
    def digests(output: str, *options) -> dict:
        store = states(checkpoint(), "--splits", "test", "--max-lines", "2", *options, output=output)
        return {direction: store.text_sha256("test", direction) for direction in store.directions("test")}

    assert set(digests("unknown").values()) == {None}  # data without raw text
    (folder / "text").mkdir(exist_ok=True)
    for pair in ("de-en", "de-fr", "en-fr"):
        for language in pair.split("-"):
            path = folder / "text" / f"test.{pair}.{language}"
            path.write_text(f"one {language}\ntwo\nthree\nfour\n")
    digests_known = digests("known")
    assert digests_known["de", "en"] == digests_known["de", "fr"] != digests_known["en", "de"]
    assert digests("other", "--max-lines", "1") != digests_known
    (folder / "text/test.de-en.de").write_text("one de\ntwo\nbeyond\nthem\n")
    assert digests("beyond") == digests_known


def test_checkpoints_of_one_training_are_shown_side_by_side(command, checkpoint, states, tmp_path):
    path = Path(checkpoint())
    names = {
        "checkpoint_best.pt": "PreNorm S-ENC-T-DEC",
        "checkpoint_1_200.pt": "PreNorm S-ENC-T-DEC, 200 updates",
        "checkpoint_2_500.pt": "PreNorm S-ENC-T-DEC, 500 updates",
        "checkpoint2.pt": "PreNorm S-ENC-T-DEC, epoch 2",
    }
    folders = []
    for file in names:
        shutil.copyfile(path, tmp_path / file)
        folders.append(states(str(tmp_path / file), "--splits", "test", output=f"of {file}").folder)
    assert command("probe", "cosine", *folders, "--output", tmp_path / "out").status == 0
    assert {row["system"] for row in read_rows(tmp_path / "out/cosine.csv")} == set(names.values())
    named = states(str(tmp_path / "checkpoint_1_200.pt"), "--name", "mine", output="named")
    assert named.system["name"] == "mine"


# --- the claim behind the forced pass


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("told")])
def test_forced_states_are_those_of_step_by_step_decoding(folder, checkpoint, name):
    loaded = load_for_inference(checkpoint(name), folder)
    sources = torch.tensor([[34, 5, 6, 7, 8, 2], [35, 9, 2, 1, 1, 1]])
    lengths = torch.tensor([6, 3])
    outputs = torch.tensor([[2, 35, 12, 13, 14, 15], [2, 36, 16, 17, 1, 1]])
    forced = forced_states(loaded.model, sources, lengths, outputs)["decoder"]
    with torch.no_grad():
        encoder_out = loaded.model.encoder(sources, src_lengths=lengths)
        state, steps = {}, []
        for step in range(1, outputs.size(1) + 1):
            _, extra = loaded.model.decoder.extract_features(
                outputs[:, :step], encoder_out=encoder_out, incremental_state=state
            )
            steps.append(extra["inner_states"])
    final_norm = [loaded.model.decoder.layer_norm] if loaded.model.decoder.layer_norm is not None else []
    for number in range(len(steps[0])):
        expected = torch.cat([each[number] for each in steps]).transpose(0, 1)
        for row, size in ((0, 6), (1, 4)):
            assert torch.allclose(forced[number][row, :size], expected[row, :size], atol=1e-5)
    for norm in final_norm:
        assert torch.equal(forced[-1], norm(forced[-2]))
    assert len(forced) == len(steps[0]) + len(final_norm)


def test_padding_of_a_batch_does_not_change_the_states(folder, checkpoint):
    loaded = load_for_inference(checkpoint("pre"), folder)
    sources = torch.tensor([[34, 5, 6, 7, 8, 2], [35, 9, 2, 1, 1, 1]])
    outputs = torch.tensor([[2, 35, 12, 13, 14, 15], [2, 36, 16, 17, 1, 1]])
    batch = forced_states(loaded.model, sources, torch.tensor([6, 3]), outputs)
    alone = forced_states(loaded.model, sources[1:, :3], torch.tensor([3]), outputs[1:, :4])
    for side, size in (("encoder", 3), ("decoder", 4)):
        for together, single in zip(batch[side], alone[side], strict=True):
            assert torch.allclose(together[1, :size], single[0], atol=1e-5)


# --- the command


@pytest.mark.parametrize("name", MODELS)
def test_every_token_of_every_direction_has_the_states_of_its_own_sentence(states, folder, checkpoint, name):
    """Sentence by sentence, without batches: search, then the pass over its output."""
    path = checkpoint(name)
    store = states(path)
    loaded = load_for_inference(path, folder)
    search = BeamSearch(loaded.model, loaded.task.dictionary, SearchOptions(5, 1.0, 0.0, 6))
    pre = name.endswith("pre")
    assert store.encoder_layers == ["L0", "L1", *["encoder-norm"] * pre]
    assert store.decoder_layers == ["decoder-embedding", "L2", *["decoder-norm"] * pre]
    assert store.record["encoder_output"] == store.encoder_layers[-1]
    assert store.directions("valid") == [("de", "en"), ("en", "de"), ("en", "fr"), ("fr", "en")]
    assert set(store.directions("test")) == store.supervised | {("de", "fr"), ("fr", "de")}
    for direction in store.directions("test"):
        encoder, decoder = store.encoder("test", direction), store.decoder("test", direction)
        assert len(encoder) == len(decoder) == 4
        for number, words in enumerate(SENTENCES[direction[0]]):
            tags = loaded.task.tags
            told = tags.source_ending_ids(*direction)  # apart from the sentence: has no state
            source = torch.tensor([[tags.id_of(direction[0]), *words, *told]])
            size = torch.tensor([source.size(1)])
            prefix = torch.tensor([[tags.id_of(direction[1])]])
            output = torch.tensor([[2, *prefix[0].tolist(), *search(source, size, prefix)[0]]])
            expected = forced_states(loaded.model, source, size, output)
            for side, part, tokens in (("encoder", encoder, source), ("decoder", decoder, output)):
                a, b = part.offsets[number], part.offsets[number + 1]
                read = tokens[0].tolist()[: tokens.size(1) - len(told) * (side == "encoder")]
                assert part.tokens[a:b].tolist() == read
                for layer, states_ in zip(part.layers, expected[side], strict=True):
                    assert np.allclose(part.states(layer)[a:b], states_[0, : b - a].numpy(), atol=4e-3)
        assert decoder.is_tag.tolist().count(True) >= 4


def test_directions_with_the_same_encoder_input_share_it(states, checkpoint):
    store = states(checkpoint("pre"))
    assert store.encoder("test", "de-fr").path == store.encoder("test", ("de", "en")).path
    assert store.encoder("test", "de-fr").path != store.encoder("test", "fr-de").path
    assert store.encoder("valid", "en-de").path != store.encoder("valid", "en-fr").path
    assert len(list(store.folder.glob("test.encoder.*.states.npy"))) == 3
    told = states(checkpoint("told its target pre"), output="told")  # the same tokens, other states
    assert len(list(told.folder.glob("test.encoder.*.states.npy"))) == 6


def test_a_subset_of_layers_lines_and_sets(states, checkpoint):
    path = checkpoint("post")
    whole = states(path)
    store = states(
        path, "--layers", "L2,L0", "--splits", "test", "--directions", "fr-de", "--max-lines", 2, "--dtype",
        "float32", output="few",
    )  # fmt: skip
    assert (store.encoder_layers, store.decoder_layers) == (["L0"], ["L2"])
    assert (store.splits, store.directions("test")) == (["test"], [("fr", "de")])
    for side in ("encoder", "decoder"):
        few, all_ = (getattr(each, side)("test", ("fr", "de")) for each in (store, whole))
        layer = few.layers[0]
        assert len(few) == 2
        assert few.states(layer).dtype == np.float32
        assert np.allclose(few.states(layer), all_.states(layer)[: all_.offsets[2]], atol=4e-3)


def test_the_reference_can_be_forced(states, checkpoint):
    store = states(checkpoint("pre"), "--forced", "reference", "--splits", "test")
    part, tag = store.decoder("test", ("de", "fr")), max(store.record["tags"])
    expected = [[2, tag, *words[:-1]] for words in SENTENCES["fr"]]
    assert [
        part.tokens[a:b].tolist() for a, b in zip(part.offsets, part.offsets[1:], strict=False)
    ] == expected


def test_what_is_complete_is_kept_and_what_is_not_is_made_again(states, checkpoint, command, capsys):
    path = checkpoint("pre")
    folder = states(path).folder
    before = (folder / "states.json").stat().st_mtime_ns
    assert states(path).folder == folder
    assert (folder / "states.json").stat().st_mtime_ns == before
    (folder / "states.json").unlink()
    (folder / "test.encoder.zz-de.states.npy").write_text("of another run")
    states(path)
    assert (folder / "states.json").exists()
    assert not (folder / "test.encoder.zz-de.states.npy").exists()


def test_a_killed_extraction_leaves_no_index(states, checkpoint, monkeypatch):
    from eval.probes import storing

    path = checkpoint("pre")
    folder = states(path).folder

    def killed(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(storing, "write_parts", killed)
    with pytest.raises(KeyboardInterrupt):
        states(path, "--force")
    assert not (folder / "states.json").exists()
    assert (folder / ".journal.jsonl").exists()  # the translations are not lost


def test_tags_that_the_model_produced_are_part_of_its_output(states, checkpoint, monkeypatch):
    path = checkpoint("pre")
    store = states(path)
    other = store.record["tags"][0]
    monkeypatch.setattr(
        BeamSearch, "n_best", lambda self, source, *_, **__: [[([5, other], 0.0)]] * len(source)
    )
    part = states(path, "--force").decoder("test", ("de", "fr"))
    tag = store.record["tags"][2]
    assert part.tokens.tolist() == [2, tag, 5, other] * 4
    assert part.is_tag.tolist() == [False, True, False, True] * 4


def test_an_empty_output_has_the_states_of_end_and_tag(states, checkpoint, monkeypatch):
    monkeypatch.setattr(BeamSearch, "n_best", lambda self, source, *_, **__: [[([], 0.0)] for _ in source])
    store = states(checkpoint("pre"))
    assert store.decoder("test", ("de", "fr")).offsets.tolist() == [0, 2, 4, 6, 8]


# --- bad input


def test_a_part_outside_of_its_folder(states, checkpoint):
    store = states(checkpoint("pre"))
    store.record["splits"]["test"]["de-fr"]["decoder"] = "../../other"
    with pytest.raises(InputError, match=r"test de-fr decoder is '\.\./\.\./other'; expected a plain"):
        store.decoder("test", ("de", "fr"))


def test_states_beyond_float16_are_refused_and_float32_holds_them(states, folder, tmp_path):
    state = checkpoint_state(folder, norm_placement="pre")
    state["model"]["encoder.layers.0.fc2.bias"] += 70000.0
    path = save(tmp_path / "model.pt", state)
    result = states(path)
    assert result.status == 2
    assert "layer L1 has a state of 700" in result.err and "use --dtype float32" in result.err
    assert sum(line.startswith("error: valid de-en: ") for line in result.err.splitlines()) == 1
    assert not (tmp_path / "states" / "states.json").exists()
    part = states(path, "--dtype", "float32").encoder("test", ("de", "en"))
    assert part.states("L1").max() > 65504


def test_the_largest_number_of_float16_is_stored():
    states = torch.tensor([[[65504.0, -65504.0]]])
    assert as_stored(states, ["L1"], np.dtype("float16"), "test de-en").tolist() == states.tolist()


def test_states_that_are_not_numbers_are_refused(states, folder, tmp_path):
    state = checkpoint_state(folder, norm_placement="pre")
    state["model"]["decoder.layers.0.fc2.weight"].fill_(3e38)  # finite weights; their sums are not
    result = states(save(tmp_path / "model.pt", state), "--forced", "reference", "--dtype", "float32")
    assert result.status == 2
    assert re.search(r"layer L2 has a state of (nan|inf)", result.err)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layers", "L1,L7"], "--layers: 'L7' is no layer of the model; it has: L0, L1, encoder-norm"),
        (["--directions", "de-cs"], "language 'cs': the model has no tag for it"),
        (["--splits", "valid,dev"], "no dev set for all directions"),
        (["--max-lines", "0"], "--max-lines: found '0', expected a whole number from 1"),
    ],
)
def test_bad_options(states, checkpoint, options, message):
    result = states(checkpoint("pre"), *options)
    assert result.status == 2
    assert message in result.err
    assert result.err.strip().count("\n") == 0


def test_a_direction_without_data(states, checkpoint, folder):
    for path in folder.glob("test.de-fr.*"):
        path.unlink()
    result = states(checkpoint("pre"), "--directions", "de-fr")
    assert result.status == 2
    assert "test.de-fr.de.idx: no such file" in result.err


def test_a_full_disk_is_known_before(states, checkpoint, monkeypatch):
    import shutil
    from collections import namedtuple

    usage = namedtuple("usage", "free")(1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    result = states(checkpoint("pre"))
    assert result.status == 2
    assert "0.0 GB are free; use --layers, --directions or --max-lines" in result.err


def test_a_model_without_decoder(states, checkpoint, monkeypatch):
    from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtTask

    path = checkpoint("pre")
    build = MultilingualNmtTask.build_model

    def build_encoder(*args, **kwargs):
        model = build(*args, **kwargs)
        del model.decoder
        return model

    monkeypatch.setattr(MultilingualNmtTask, "build_model", build_encoder)
    result = states(path)
    assert result.status == 2
    assert f"{path}: its model has no decoder; expected an encoder-decoder model" in result.err


def test_a_model_that_is_no_transformer(states, checkpoint, monkeypatch):
    from eval.probes import hidden_states

    class Recurrent(torch.nn.Module):
        pass

    path = checkpoint("pre")
    layers_of = hidden_states.layers_of

    def with_lstm(model, path):
        model.decoder = Recurrent()
        return layers_of(model, path)

    monkeypatch.setattr(hidden_states, "layers_of", with_lstm)
    result = states(path)
    assert result.status == 2
    assert "found a Recurrent, which is not made of Transformer layers" in result.err


def test_a_list_of_layers_fits_systems_with_and_without_final_norms():
    wanted = ["L1", "encoder-norm", "decoder-norm"]
    pre = choose_layers(layer_names(2, 1, True, True), wanted)
    post = choose_layers(layer_names(2, 1, False, False), wanted)
    assert pre == {"encoder": {"L1": 1, "encoder-norm": 3}, "decoder": {"decoder-norm": 2}}
    assert post == {"encoder": {"L1": 1, "L2": 2}, "decoder": {"L3": 1}}


def test_pieces_are_the_text_of_the_tokens(states, checkpoint, folder):
    store = states(checkpoint())
    dictionary = load_for_inference(checkpoint(), folder).task.dictionary
    for part in (store.encoder("test", "de-fr"), store.decoder("test", ("de", "fr"))):
        assert part.pieces == [dictionary[token] for token in part.tokens]
        assert "</s>" in part.pieces


def test_the_untrained_model_has_other_weights_and_another_name(states, checkpoint):
    trained, first, again, other = (
        states(checkpoint(), "--forced", "reference", *options, output=f"states{number}")
        for number, options in enumerate([(), *(("--untrained", seed) for seed in (3, 3, 4))])
    )
    of_layer = [each.encoder("test", "de-fr").states("L1") for each in (trained, first, again, other)]
    assert np.array_equal(of_layer[1], of_layer[2])
    for a, b in ((0, 1), (0, 3), (1, 3)):
        assert not np.allclose(of_layer[a], of_layer[b], atol=0.01)
    assert first.system["name"] == f"{trained.system['name']}, untrained"
    assert (first.system["seed"], other.system["seed"]) == (3, 4)
