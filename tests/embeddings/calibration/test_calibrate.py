"""`embeddings calibrate`: keeps the best checkpoint, goes on where it was killed, and what is refused."""

import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from embeddings.calibration import training
from embeddings.calibration.encoder import SAMPLE
from embeddings.encoders.options import EncoderOptions
from embeddings.parallel_validation import ParallelValidation
from tests.embeddings.calibration.english import write_bert, write_english
from tests.embeddings.encoders.folders import write_sentence_transformers
from tests.embeddings.retrieved import RetrievalResult
from tests.embeddings.test_retrieve import write

TRAINING = "--batch-size 8 --sts-epochs 3 --learning-rate 5e-3 --cpu"
UPDATES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
retrieval = training.retrieval


def retrieval_and_vectors(encoder, pairs) -> dict:
    """With which any difference of two trainings is seen after every tenth."""
    return retrieval(encoder, pairs) | {"vectors": encoder.encode(SAMPLE).tolist()}


@pytest.fixture(scope="module")
def english(tmp_path_factory):
    folder = write_english(tmp_path_factory.mktemp("calibration") / "data", premises=16)
    write_bert(folder / "bert")
    return folder


def options(english, output, *others) -> list:
    valid = [english / "valid.en", english / "valid.de"]
    given = ["--nli", english / "snli.jsonl", "--sts", english / "stsb.csv", "--valid-parallel", *valid]
    return ["calibrate", "--model", english / "bert", *given, *TRAINING.split(), "--output", output, *others]


@pytest.fixture(scope="module")
def trained(english, tmp_path_factory):
    """A complete training."""
    from command_line.dispatch import run
    from embeddings.__main__ import COMMANDS

    output = tmp_path_factory.mktemp("trained") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "retrieval", retrieval_and_vectors)
        assert run("embeddings", "", COMMANDS, [str(word) for word in options(english, output)]) == 0
    return output


def record_of(output) -> dict:
    return json.loads((output / "calibration.json").read_text())


def vectors_of(folder):
    return EncoderOptions(folder, cpu=True).load().encode(SAMPLE)


def weights(output):
    return load_file(output / "encoder/model.safetensors")


def same(first, second) -> bool:
    return all(np.array_equal(second[name], value) for name, value in first.items())


def test_english_alone_makes_retrieval_better(trained, english, command, tmp_path):
    """What is recorded is what `retrieve` measures, before and after."""
    record = record_of(trained)
    assert record["score"] == "p_at_1"
    assert record["best"]["p_at_1"] > record["before"]["p_at_1"]
    valid = ["--parallel", english / "valid.en", english / "valid.de", "--similarity", "cosine", "--cpu"]
    for name, model in (("before", english / "bert"), ("best", trained / "encoder")):
        assert command("retrieve", *valid, "--model", model, "--output", tmp_path / name).status == 0
        p_at_1 = RetrievalResult(tmp_path / name).p_at_1()
        measured = [p_at_1[direction] for direction in ("en-de", "de-en")]
        assert record[name]["pairs"][0]["p_at_1"] == measured
        assert record[name]["p_at_1"] == sum(measured) / 2


def test_the_record_says_what_was_done(trained, english):
    record = record_of(trained)
    assert sorted(path.name for path in trained.iterdir() if path.name[0] != ".") == [
        "calibration.json", "encoder",
    ]  # fmt: skip
    assert (record["examples"], record["batches"]) == ({"nli": 32, "sts": 16}, {"nli": 4, "sts": 6})
    assert [each["update"] for each in record["checkpoints"]] == UPDATES
    assert [each["share"] for each in record["checkpoints"]] == [update / 10 for update in UPDATES]
    assert (record["before"]["update"], record["before"]["share"]) == (0, 0)
    assert record["settings"]["learning_rate"] == 5e-3
    read = {each["path"] for each in record["inputs"]}
    assert {str(english / name) for name in ("snli.jsonl", "stsb.csv", "valid.de")} <= read
    assert str(english / "bert/model.safetensors") in read


def test_all_checkpoints_are_kept_where_it_is_asked_for(english, command, completed, tmp_path, monkeypatch):
    """Each retrieves what the record says, and is what was measured; without the option they go."""
    monkeypatch.setattr(training, "retrieval", retrieval_and_vectors)
    out = tmp_path / "out"
    completed(*options(english, out, "--keep-checkpoints"))
    record = record_of(out)
    assert record["settings"]["keep_checkpoints"] is True
    assert {path.name for path in out.glob("encoder*")} == {"encoder", *(f"encoder-{n}" for n in UPDATES)}
    for each in record["checkpoints"]:
        assert np.allclose(vectors_of(out / f"encoder-{each['update']}"), each["vectors"], atol=1e-6)
    assert np.allclose(vectors_of(out / "encoder"), record["best"]["vectors"], atol=1e-6)
    assert "complete, skipped" in command(*options(english, out, "--keep-checkpoints")).err
    assert "was trained with another keep_checkpoints" in command(*options(english, out)).err
    assert command(*options(english, out, "--force")).status == 0
    assert {path.name for path in out.glob("encoder*")} == {"encoder"}


def test_the_best_checkpoint_is_kept(english, completed, tmp_path, monkeypatch):
    """The first of the highest; the encoder before training, whatever it retrieves, is not chosen."""
    shares, seen = iter([0.9, 0.1, 0.2, 0.8, 0.5, 0.8, 0.3, 0.3, 0.3, 0.3, 0.3]), []

    def measured(encoder, pairs):
        seen.append(encoder.encode(SAMPLE))
        return {"p_at_1": next(shares), "pairs": []}

    monkeypatch.setattr(training, "retrieval", measured)
    done = completed(*options(english, tmp_path / "out"))
    assert done.out == f"{tmp_path}/out/encoder\n"
    assert record_of(tmp_path / "out")["best"] == record_of(tmp_path / "out")["checkpoints"][2]
    vectors = vectors_of(tmp_path / "out/encoder")
    assert np.allclose(vectors, seen[3], atol=1e-6)
    for number in (0, 1, 2, 4, 5, 10):
        assert not np.allclose(vectors, seen[number], atol=1e-4)


def test_the_learning_rate_is_that_of_both_stages(english, command, tmp_path, monkeypatch):
    """Of every update; a state has the last one alone, however many there are."""
    rates, before = [], training.Progress.on_log

    def stop(self, folder):
        raise KeyboardInterrupt

    def noted(self, settings, state, control, logs=None, **others):
        rates.extend(logs[name] for name in logs if name == "learning_rate")
        before(self, settings, state, control, logs, **others)

    monkeypatch.setattr(training.Progress, "on_log", noted)
    monkeypatch.setattr(training.BestModel, "move", stop)
    with pytest.raises(KeyboardInterrupt):
        command(*options(english, tmp_path / "out", "--warmup", 0.5))
    state = json.loads((tmp_path / "out/training/checkpoint-10/trainer_state.json").read_text())
    assert [each["step"] for each in state["log_history"]] == [10]
    assert rates == pytest.approx([5e-3 * training.rate(update, (4, 6), 0.5) for update in range(10)])


def killed_in(name):
    """Stops behind the first call of a method of BestModel; of on_save, in place of that of update 4."""
    before = getattr(training.BestModel, name)

    def call(self, *args, **kwargs):
        if name != "on_save" or args[1].global_step < 4:
            before(self, *args, **kwargs)
        if name != "on_save" or args[1].global_step == 4:
            raise KeyboardInterrupt

    return call


@pytest.mark.parametrize("moment", ["state", "on_save", "_save", "move"])
def test_goes_on_where_it_was_killed(trained, english, command, completed, tmp_path, monkeypatch, moment):
    """While the state of update 4 is written; behind it; when an encoder is kept but not recorded; when all
    is there but the record of the whole.
    """
    output, name = tmp_path / "out", "on_save" if moment == "state" else moment
    monkeypatch.setattr(training, "retrieval", retrieval_and_vectors)
    with monkeypatch.context() as patch:
        patch.setattr(training.BestModel, name, killed_in(name))
        patch.setattr(training.OrderedTrainer, "_rotate_checkpoints", lambda *args, **kwargs: None)
        with pytest.raises(KeyboardInterrupt):
            command(*options(english, output))
    assert not (output / "calibration.json").exists()
    if moment == "state":
        (output / "training/checkpoint-4/trainer_state.json").write_text("{")
    completed(*options(english, output))
    assert same(weights(trained), weights(output))
    for part in ("before", "best", "checkpoints"):
        assert record_of(output)[part] == record_of(trained)[part]
    assert not (output / "training").exists()


def test_what_is_done_is_skipped_and_another_training_is_refused(trained, english, command, refusal):
    done = command(*options(english, trained))
    assert done.status == 0
    assert "complete, skipped" in done.err and done.out == f"{trained}/encoder\n"
    refused = refusal(*options(english, trained, "--seed", 2))
    assert "another seed; give another --output, or --force to begin anew" in refused
    assert (trained / "encoder/model.safetensors").is_file()


def test_other_sentences_are_another_training(trained, english, refusal, tmp_path):
    output, other = shutil.copytree(trained, tmp_path / "out"), shutil.copytree(english, tmp_path / "data")
    words = options(english, output)
    place = words.index(english / "stsb.csv")
    refused = refusal(*words[:place], write(other / "stsb.csv", ["a,b,1", "c,d,2"]), *words[place + 1 :])
    assert "was trained with another sts" in refused


def test_an_encoder_is_never_removed_unasked(trained, english, refusal, tmp_path):
    output = shutil.copytree(trained, tmp_path / "out")
    (output / ".calibration.done").unlink()
    refused = refusal(*options(english, output))
    assert "has encoder, but neither the record of a complete training nor a state to go on" in refused
    assert same(weights(trained), weights(output))


def test_a_folder_of_sentence_transformers(english, completed, tmp_path):
    model = write_sentence_transformers(tmp_path / "model", pooling="cls", dense=8)
    output = tmp_path / "out"
    completed(*options(english, output, "--model", model, "--sts-epochs", 4, "--precision", "bfloat16"))
    kept = [each["update"] for each in record_of(output)["checkpoints"]]
    assert kept == [2, 3, 4, 5, 6, 8, 9, 10, 11, 12]
    assert vectors_of(output / "encoder").shape == (2, 8)
    assert not np.allclose(vectors_of(output / "encoder"), vectors_of(model), atol=1e-3)


@pytest.mark.parametrize(
    ("others", "line"),
    [
        (["--model", "/nothing"], "--model /nothing: no such file or folder"),
        (["--nli", "{data}/stsb.csv"], "stsb.csv: expected .jsonl (SNLI, MultiNLI) or .tsv (AllNLI, XNLI)"),
        (["--sts", "{data}/valid.en"], "valid.en:1: 1 fields, expected sentence, sentence, rating"),
        (["--layer", "3"], "--layer 3: expected a number from 0 to 2"),
        (["--pivot", "fr"], "--pivot fr: no file of that language; there are en, de"),
        (["--valid-parallel", "{data}/valid.en"], "valid.en: expected files of at least two languages"),
        (["--output", "{data}/bert"], "bert: is the folder of the encoder, whose files change vectors"),
        (["--learning-rate", "0"], "--learning-rate: found '0', expected a number above 0 to 1"),
    ],
)  # fmt: skip
def test_refusals(english, command, tmp_path, others, line):
    others = [each.format(data=english) for each in others]
    refused = command(*options(english, tmp_path / "out", *others))
    assert refused.status == 2
    errors = [line for line in refused.err.splitlines() if "error: " in line]
    assert len(errors) == 1 and line in errors[0]
    assert not (tmp_path / "out").exists()


def test_layers_above_the_pooled_one_are_kept_for_fine_tuning(english, completed, tmp_path):
    """They are as they were, and those below as calibrated."""
    output = tmp_path / "out"
    completed(*options(english, output, "--layer", 1))
    before, calibrated = load_file(english / "bert/model.safetensors"), weights(output)
    kept = load_file(output / "encoder-all-layers/model.safetensors")
    assert kept.keys() == before.keys() and any("layer.1." in name for name in kept)
    assert not any("layer.1." in name for name in calibrated)
    for name, values in kept.items():
        expected = before if "layer.1." in name or "pooler" in name else calibrated
        np.testing.assert_array_equal(values, expected[name], name)
    first = next(name for name in kept if "layer.0." in name and name.endswith("query.weight"))
    assert not np.array_equal(kept[first], before[first])
    pooled = EncoderOptions(output / "encoder-all-layers", cpu=True, pooling="mean", layer="1").load()
    np.testing.assert_allclose(pooled.encode(SAMPLE), vectors_of(output / "encoder"), atol=1e-5)


@pytest.mark.parametrize("kind", ["transformers", "sentence-transformers"])
def test_a_prefix_is_learned_with_and_kept(english, command, completed, tmp_path, kind):
    """The encoder that is kept reads it without being told."""
    model = english / "bert" if kind == "transformers" else write_sentence_transformers(tmp_path / "model")
    output = tmp_path / "out"
    completed(*options(english, output, "--model", model, "--prefix", "two "))
    encoder = EncoderOptions(output / "encoder", cpu=True).load()
    assert encoder.prefix == "two "
    without = EncoderOptions(output / "encoder", cpu=True, prefix="").load()
    prefixed = without.encode([f"two {sentence}" for sentence in SAMPLE])
    np.testing.assert_allclose(encoder.encode(SAMPLE), prefixed, atol=1e-5)
    (before,) = record_of(output)["before"]["pairs"]
    valid = ["--parallel", english / "valid.en", english / "valid.de", "--similarity", "cosine", "--cpu"]
    words = ["--model", model, "--prefix", "two ", "--output", tmp_path / "before"]
    assert command("retrieve", *valid, *words).status == 0
    p_at_1 = RetrievalResult(tmp_path / "before").p_at_1()
    assert before["p_at_1"] == [p_at_1[direction] for direction in ("en-de", "de-en")]


@pytest.mark.parametrize("option", ["pooling", "layer"])
def test_options_that_a_folder_of_sentence_transformers_answers_itself(english, refusal, tmp_path, option):
    model = write_sentence_transformers(tmp_path / "model")
    value = {"pooling": "cls", "layer": "1"}[option]
    refused = refusal(*options(english, tmp_path / "out", "--model", model, f"--{option}", value))
    assert f"--{option}: {model} is a folder of sentence-transformers, which says itself" in refused


def test_a_loss_that_is_no_number(english, refusal, tmp_path, monkeypatch):
    forward = training.Losses.forward
    monkeypatch.setattr(
        training.Losses,
        "forward",
        lambda *args, **kwargs: {"loss": forward(*args, **kwargs)["loss"] * float("nan")},
    )
    refused = refusal(*options(english, tmp_path / "out"))
    assert "--learning-rate 0.005: the loss is nan at update 1; expected a number" in refused


def test_it_is_one_process(english, refusal, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    refused = refusal(*options(english, tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert "WORLD_SIZE 2: calibration runs in one process, on one device; start it" in refused


def test_sets_of_other_lines_and_a_pivot(english):
    paths = [english / f"valid.{language}" for language in ("en", "de", "fr")]
    shutil.copyfile(paths[1], paths[2])
    pairs = ParallelValidation([paths, paths[1:]], pivot=None).pairs()
    assert [pair.name for pair in pairs] == ["en-de", "en-fr", "de-fr", "de-fr"]
    pairs = ParallelValidation([paths, paths[:2]], pivot="en").pairs()
    assert [pair.name for pair in pairs] == ["en-de", "en-fr", "en-de"]
