"""`embeddings finetune`: what is learned in one language helps in another; goes on where it was killed; what
is refused.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from embeddings import best_model
from embeddings.finetuning import training
from embeddings.finetuning.task import Scores
from tests.embeddings.calibration.english import sentences, translated, write_bert
from tests.embeddings.finetuning.inference import in_german, pairs, write_inference
from tests.embeddings.retrieved import RetrievalResult
from tests.embeddings.test_retrieve import write
from tests.eval.rows import by_name

PARALLEL = [("first.en", "first.de"), ("first.en", "first.fr"), ("second.de", "second.en")]
TRAINING = "--epochs 16 --learning-rate 5e-3 --batch-size 16 --warmup 5 --checkpoints 4 --cpu"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = write_inference(tmp_path_factory.mktemp("inference") / "data", count=48)
    write_bert(folder / "bert")
    return folder


def options(data, output, *others, test=("en", "de")) -> list:
    valid = [f"{language}={data}/valid.tsv" for language in ("en", "de")]
    files = ["--train", f"en={data}/train.en.jsonl", "--valid", *valid]
    tests = [f"{language}={data}/test.tsv" for language in test]
    task = ["finetune", "--task", "pairs", "--model", data / "bert", *files, "--test", *tests]
    return [*task, *TRAINING.split(), "--output", output, *others]


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    """A complete training."""
    from command_line.dispatch import run
    from embeddings.__main__ import COMMANDS

    output = tmp_path_factory.mktemp("trained") / "out"
    assert run("embeddings", "", COMMANDS, [str(word) for word in options(data, output)]) == 0
    return output


def record_of(output) -> dict:
    return json.loads((output / "finetuning.json").read_text())


def accuracies(output) -> dict[str, float]:
    """By the language of the test."""
    return by_name(output / "finetuning.csv", "direction", measure="accuracy", part="pairs")


def weights(output) -> dict:
    return load_file(output / "model/model.safetensors")


def same(first, second) -> bool:
    return all(np.array_equal(second[name], value) for name, value in first.items())


def test_what_is_learned_in_english_is_known_in_german(trained, data):
    """A third would be chance. Whatever transformers makes of the folder is what was tested."""
    (run,) = record_of(trained)["runs"]
    accuracy = accuracies(trained)
    assert accuracy.keys() == {"en", "de"} and min(accuracy.values()) > 60
    assert run["system"] == {"name": "bert", "seed": 1}
    assert (run["train_languages"], run["code_switching"]) == (["en"], False)
    assert run["train_examples"] == {"en": 144}
    assert run["hyperparameters"] == {
        "epochs": 16, "batch_size": 16, "learning_rate": 5e-3, "warmup": 5, "max_length": 128,
        "checkpoints": 4, "validation": ["de", "en"], "layer": None, "pooler": False, "precision": "float32",
    }  # fmt: skip

    from transformers import pipeline

    classify = pipeline("text-classification", model=str(trained / "model"), device=-1)
    rows = [line.split("\t") for line in (data / "test.tsv").read_text().splitlines()[1:]]
    german = [row for row in rows if row[0] == "de"]
    right = [classify({"text": row[3], "text_pair": row[4]})["label"] == row[1] for row in german]
    assert 100 * np.mean(right) == pytest.approx(accuracy["de"])
    with np.load(trained / "finetuning.npz") as by_example:
        np.testing.assert_array_equal(by_example["accuracy/de"], 100.0 * np.array(right))


def test_baselines_are_beside_the_accuracies(trained, data, completed, tmp_path):
    """Each class has 10 of the 30 test pairs. Without 6 neutral ones, the most frequent has 10 of 24."""
    rows = (data / "test.tsv").read_text().splitlines()
    neutral = [number for number, row in enumerate(rows) if "\tneutral\t" in row]
    kept = [row for number, row in enumerate(rows) if number not in neutral[:6]]
    shorter = write(tmp_path / "test.tsv", kept)
    output = shutil.copytree(trained, tmp_path / "out")
    completed(*options(data, output, "--test", f"en={shorter}", f"de={data}/test.tsv"))
    majority = by_name(output / "finetuning.csv", "direction", measure="majority")
    assert majority == {"en": pytest.approx(1000 / 24), "de": pytest.approx(100 / 3)}
    assert set(by_name(output / "finetuning.csv", "direction", measure="chance").values()) == {100 / 3}
    texts = record_of(output)["runs"][0]["texts"], record_of(trained)["runs"][0]["texts"]
    assert texts[0]["en"] != texts[1]["en"] and texts[0]["de"] == texts[1]["de"]


def test_the_best_in_validation_is_kept(data, command, tmp_path, monkeypatch):
    scores, seen = iter([50.0, 70.0, 60.0, 70.0]), []

    def measured(task, files, reader, predict):
        seen.append(next(scores))
        return {"en": Scores({"accuracy": seen[-1]})}

    with monkeypatch.context() as patch:
        patch.setattr(training, "measured", measured)
        patch.setattr(training, "tested", lambda *given: {"en": Scores({"accuracy": 1.0})})
        done = command(*options(data, tmp_path / "out"))
    assert done.status == 0, done.err
    record = record_of(tmp_path / "out")["training"]
    assert [checkpoint["accuracy"] for checkpoint in record["checkpoints"]] == [50, 70, 60, 70]
    assert record["best"] == record["checkpoints"][1] and record["score"] == "accuracy"
    assert record["updates"] == record["checkpoints"][-1]["update"] == 144


@pytest.mark.parametrize("moment", ["on_save", "move"])
def test_goes_on_where_it_was_killed(trained, data, command, completed, tmp_path, monkeypatch, moment):
    output, before = tmp_path / "out", getattr(training.BestModel, moment)

    def killed(self, *given, **others):
        before(self, *given, **others)
        if moment == "move" or given[1].global_step == 36:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training.BestModel, moment, killed)
        with pytest.raises(KeyboardInterrupt):
            command(*options(data, output))
    assert not (output / "training.json").exists() and not (output / "finetuning.json").exists()
    completed(*options(data, output))
    assert same(weights(trained), weights(output))
    for part in ("runs", "training"):
        assert record_of(output)[part] == record_of(trained)[part]
    assert not (output / "training").exists()


def test_a_training_that_is_begun_anew_leaves_no_result_of_before(
    trained, data, command, tmp_path, monkeypatch
):
    """It is killed before its first checkpoint: a report must not have numbers of a model that is gone."""
    output = shutil.copytree(trained, tmp_path / "out")

    def killed(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(training.Learner, "train", killed)
        with pytest.raises(KeyboardInterrupt):
            command(*options(data, output, "--seed", 2, "--force"))
    assert not (output / "model").exists() and not (output / "finetuning.json").exists()


def test_other_tests_need_no_training(trained, data, command, completed, refusal, tmp_path, monkeypatch):
    output = shutil.copytree(trained, tmp_path / "out")
    monkeypatch.setattr(training.Learner, "train", None)
    completed(*options(data, output, "--dataset", "Toy", "--encoder-name", "BERT", test=["de"]))
    (run,) = record_of(output)["runs"]
    assert accuracies(output) == {"de": accuracies(trained)["de"]}
    assert (run["dataset"], run["system"]["name"]) == ("Toy", "BERT")
    again = command(*options(data, output, "--dataset", "Toy", "--encoder-name", "BERT", test=["de"]))
    assert again.err.count("complete, skipped") == 2
    refused = refusal(*options(data, output, "--seed", 2))
    assert "another seed; give another --output, or --force to begin anew" in refused


def test_translations_with_code_switching(data, completed, tmp_path):
    english = data / "train.en.jsonl"
    switched = ["--train", f"de={data}/train.de.tsv", "--code-switching", english]
    completed(*options(data, tmp_path / "out", *switched))
    record = record_of(tmp_path / "out")
    assert record["runs"][0]["train_languages"] == ["de"] and record["runs"][0]["code_switching"]
    assert record["training"]["examples"] == {"de": 144}
    assert record["training"]["updates"] == 16 * 18  # of 2 x 144 windows, by 16
    assert str(english) in json.loads((tmp_path / "out/.training.done").read_text())["inputs"]
    assert min(accuracies(tmp_path / "out").values()) > 60


def by_retrieval(data, output, *others) -> list:
    """Of two sets, the first of which has a third language."""
    words = options(data, output, *others)
    start = words.index("--valid")
    del words[start : start + 3]
    lines = sentences(24, seed=4)
    texts = {"en": lines, "de": map(translated, lines), "fr": lines[1:] + lines[:1]}
    first = [write(data / f"first.{language}", text) for language, text in texts.items()]
    second = [write(data / f"second.{language}", text) for language, text in inference_texts().items()]
    return [*words, "--valid-parallel", *first, "--valid-parallel", *second, "--pivot", "en"]


def inference_texts() -> dict[str, list[str]]:
    """The premises of other pairs."""
    premises = [first for first, _, label in pairs(20, seed=5) if label == "entailment"]
    return {"de": [in_german(sentence) for sentence in premises], "en": premises}


@pytest.mark.parametrize("others", [["--layer", 1], [], ["--precision", "bfloat16"]])
def test_the_best_in_retrieval_is_kept(data, completed, tmp_path, others):
    """It is what `embeddings retrieve` measures of the folder, by which it is chosen and which is tested."""
    done = completed(*by_retrieval(data, tmp_path / "out", *others))
    record = record_of(tmp_path / "out")
    checkpoints, best = record["training"]["checkpoints"], record["training"]["best"]
    assert len(checkpoints) == 4
    assert best["p_at_1"] == max(checkpoint["p_at_1"] for checkpoint in checkpoints) > 0.1
    assert len({checkpoint["p_at_1"] for checkpoint in checkpoints}) > 1
    assert [Path(path).name for pair in best["pairs"] for path in pair["files"]] == [
        "first.en", "first.de", "first.en", "first.fr", "second.de", "second.en",
    ]  # fmt: skip
    assert f"P@1 {best['p_at_1']:.1%} of validation" in done.err
    for number, (pair, files) in enumerate(zip(best["pairs"], PARALLEL, strict=True)):
        names = [data / name for name in files]
        output = tmp_path / f"retrieved-{number}"
        model = ["--model", tmp_path / "out/model", *others, "--cpu"]
        completed("retrieve", "--parallel", *names, *model, "--output", output)
        assert list(RetrievalResult(output).p_at_1().values()) == pair["p_at_1"]


def test_a_training_that_is_validated_by_retrieval_goes_on_where_it_was_killed(
    data, command, completed, refusal, tmp_path, monkeypatch
):
    before = training.BestModel.on_save

    def killed(self, *given, **others):
        before(self, *given, **others)
        if given[1].global_step == 36:
            raise KeyboardInterrupt

    assert command(*by_retrieval(data, tmp_path / "whole")).status == 0
    with monkeypatch.context() as patch:
        patch.setattr(training.BestModel, "on_save", killed)
        with pytest.raises(KeyboardInterrupt):
            command(*by_retrieval(data, tmp_path / "out"))
    completed(*by_retrieval(data, tmp_path / "out"))
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "out"))
    assert record_of(tmp_path / "out")["training"] == record_of(tmp_path / "whole")["training"]
    assert "another layer" in refusal(*by_retrieval(data, tmp_path / "out", "--layer", 1))


def test_retrieval_changes_nothing_of_what_is_learned(data, completed, tmp_path, monkeypatch):
    """Whatever is measured at four checkpoints, the last ones are equal: it draws nothing by chance."""
    monkeypatch.setattr(best_model, "best_of", lambda checkpoints, score: checkpoints[-1])
    for name, make in (("task", options), ("retrieval", by_retrieval)):
        completed(*make(data, tmp_path / name))
        assert record_of(tmp_path / name)["training"]["best"]["update"] == 144
    assert same(weights(tmp_path / "task"), weights(tmp_path / "retrieval"))


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (["--valid", "en={data}/valid.tsv"], "--valid, --valid-parallel: found both, expected one of them"),
        (["--pivot", "fr"], "--pivot fr: no file of that language; there are de, en"),
        (["--layer", "3"], "--layer 3: "),
        (["--valid-parallel", "{data}/first.en", "{data}/bert"], "bert: no language in its name"),
        (["--valid-parallel", "{data}/first.en", "{data}/second.de"], "second.de: 20 lines, but"),
    ],
)
def test_a_wrong_validation_is_one_line(data, refusal, tmp_path, others, message):
    given = [word.format(data=data) for word in others]
    assert message in refusal(*by_retrieval(data, tmp_path / "out"), *given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (["--layer", "1"], "--layer: needs --valid-parallel; give both, or leave it out"),
        (["--pivot", "en"], "--pivot: needs --valid-parallel; give both, or leave it out"),
    ],
)
def test_options_of_retrieval_without_it_are_refused(data, refusal, tmp_path, others, message):
    assert message in refusal(*options(data, tmp_path / "out", *others))


def test_no_validation_is_refused(data, refusal, tmp_path):
    words = options(data, tmp_path / "out")
    start = words.index("--valid")
    refused = refusal(*words[:start], *words[start + 3 :])
    assert "--valid, --valid-parallel: found neither, expected one of them" in refused


def test_several_files_of_a_language_are_one(trained, data, completed, tmp_path):
    lines = (data / "test.tsv").read_text().splitlines()
    parts = {"a.tsv": lines[1:12], "b.tsv": lines[12:]}
    halves = [write(tmp_path / name, [lines[0], *part]) for name, part in parts.items()]
    output = shutil.copytree(trained, tmp_path / "out")
    words = options(data, output, test=[])
    place = words.index("--test") + 1
    completed(*words[:place], f"en={halves[0]}", f"en={halves[1]}", *words[place:])
    assert accuracies(output)["en"] == accuracies(trained)["en"]


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (["--task", "other"], "--task: invalid choice"),
        (["--code-switching", "{data}/train.en.jsonl"], "--train has en alone; expected languages that"),
        (["--test", "fr={data}/test.tsv"], "test.tsv: no pair of fr that has a label"),
        (["--test", "de={data}/none.tsv"], "none.tsv: no such file"),
        (["--train", "{data}/train.de.tsv"], "expected NAME=VALUE, for example de=train.de.tsv"),
        (["--train", "de={data}/valid.tsv", "--code-switching", "{data}/train.en.jsonl"],
         "valid.tsv: 30 pairs that have a label, and 144 of English"),
        (["--warmup", "200"], "--warmup 200: the training has 144 updates in all"),
        (["--model", "{data}/none"], "none: "),
        (["--model", "{data}"], "data: "),
        (["--learning-rate", "nan"], "--learning-rate: found 'nan'"),
    ],
)  # fmt: skip
def test_what_is_refused_is_one_line(data, command, tmp_path, others, message):
    refused = command(*options(data, tmp_path / "out", *(word.format(data=data) for word in others)))
    assert refused.status == 2
    assert message in refused.err and "Traceback" not in refused.err
    assert not (tmp_path / "out/model").exists()


@pytest.mark.parametrize("option", ["--valid", "--test"])
def test_labels_that_training_lacks_are_refused_before_it(data, refusal, tmp_path, option):
    lines = (data / "test.tsv").read_text().replace("neutral", "unclear").splitlines()
    other = write(tmp_path / "other.tsv", lines)
    refused = refusal(*options(data, tmp_path / "out", option, f"de={other}"))
    assert "label 'unclear', expected one of contradiction, entailment, neutral" in refused
    assert not (tmp_path / "out").exists()


def test_translations_in_another_order_are_refused(data, refusal, tmp_path):
    lines = (data / "train.de.tsv").read_text().splitlines()
    turned = write(tmp_path / "turned.tsv", [lines[0], lines[2], lines[1], *lines[3:]])
    switched = ["--train", f"de={turned}", "--code-switching", data / "train.en.jsonl"]
    refused = refusal(*options(data, tmp_path / "out", *switched))
    assert "turned.tsv:2: label 'contradiction', and of the English pair 'entailment'" in refused
