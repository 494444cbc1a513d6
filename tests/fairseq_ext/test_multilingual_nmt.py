"""The task `multilingual_nmt`: options, what travels in a checkpoint, losses and BLEU per direction."""

import json
import math
import multiprocessing
from argparse import Namespace

import pytest
import sacrebleu
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.logging import metrics

from command_line.errors import InputError
from fairseq_ext.criterions.fused_label_smoothed_cross_entropy import FusedLabelSmoothedCrossEntropyCriterion
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask
from fairseq_ext.tasks.validation import RawReferences, ValidationBleu, bleu_of_statistics
from tests.fairseq_ext.folders import write_dictionaries, write_pair, write_toy_folder
from tests.fairseq_ext.models import SIZES, build

PAIRS = "de-en,en-de,en-fr,fr-en"


@pytest.fixture
def folder(tmp_path):
    return write_toy_folder(tmp_path / "data")


def make_task(folder, **options) -> MultilingualNmtTask:
    options = {
        "lang_pairs": PAIRS,
        "train_subset": "train",
        "seed": 1,
        "update_freq": [1],
        "max_update": 0,
        **options,
    }
    return MultilingualNmtTask.setup_task(MultilingualNmtConfig(data=str(folder), **options))


def refused(function, *arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        function(*arguments, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lang_pairs": "ende"}, "--lang-pairs: 'ende' is not SOURCE-TARGET"),
        ({"lang_pairs": "de-en,de-en"}, "--lang-pairs: 'de-en' occurs twice"),
        ({"lang_pairs": ""}, "--lang-pairs (training) or --source-lang and --target-lang"),
        ({"zero_shot_lang_pairs": "de-en"}, "--zero-shot-lang-pairs: de-en is a training direction"),
        ({"zero_shot_lang_pairs": "de-fr,de-fr"}, "--zero-shot-lang-pairs: 'de-fr' occurs twice"),
        ({"zero_shot_lang_pairs": "de-it"}, "language 'it': the model has no tag for it; known languages"),
        ({"source_lang": "de"}, "--source-lang and --target-lang go together"),
        ({"target_lang": "de"}, "--source-lang and --target-lang go together"),
        ({"sampling_temperature": 0.5}, "--sampling-temperature 0.5: expected a number >= 1"),
        ({"sampling_temperature": float("nan")}, "--sampling-temperature nan: expected a number >= 1"),
        ({"langs": "de,en"}, "--langs de,en: lacks fr, which --lang-pairs uses"),
        ({"language_tags": "nonsense"}, "--language-tags nonsense: expected one of s-enc-t-dec, t-enc"),
        ({"data": "/no/such/folder"}, "/no/such/folder: no such folder"),
    ],
    ids=str,
)  # fmt: skip
def test_bad_options(folder, options, message):
    data = options.pop("data", folder)
    assert refused(make_task, data, **options).startswith(message)


def test_unknown_language_of_a_training_direction(folder):
    task = make_task(folder, lang_pairs="de-it,en-de")
    message = refused(task.load_dataset, "train")
    assert "train.de-it.de.idx: no such file" in message


def test_languages_default_to_the_sorted_ones_of_the_pairs(folder):
    assert make_task(folder, lang_pairs="fr-en,en-de").tags.languages == ["de", "en", "fr"]
    assert make_task(folder, lang_pairs="en-de", langs="fr,en,de").tags.languages == ["fr", "en", "de"]


# --- data


def test_training_data_mixes_the_directions(folder):
    task = make_task(folder, zero_shot_lang_pairs="de-fr")
    task.load_dataset("train")
    dataset = task.dataset("train")
    assert ["-".join(part.direction) for part in dataset.parts] == PAIRS.split(",")
    assert (len(dataset), dataset.shuffle, dataset.separate_parts) == (24, True, False)


def test_workers_of_the_loader_end_with_the_epoch(folder):
    task = make_task(folder)
    task.load_dataset("train")
    options = {"max_tokens": 8, "num_workers": 1, "data_buffer_size": 10}  # as fairseq-train has them
    batches = task.get_batch_iterator(task.dataset("train"), **options)
    others = set(multiprocessing.active_children())
    epoch = batches.next_epoch_itr()
    examples = sum(len(batch["id"]) for batch in epoch)
    epoch._itr._consumer.join(10)  # fairseq's thread, which holds the worker
    assert (examples, set(multiprocessing.active_children()) - others) == (24, set())


def test_validation_data_has_the_zero_shot_directions_too(folder):
    task = make_task(folder, zero_shot_lang_pairs="de-fr,fr-de")
    task.load_dataset("valid")
    dataset = task.dataset("valid")
    assert ["-".join(part.direction) for part in dataset.parts] == [*PAIRS.split(","), "de-fr", "fr-de"]
    assert (dataset.shuffle, dataset.separate_parts, dataset.temperature) == (False, True, None)


def test_inference_data_is_the_direction_asked_for(folder):
    task = make_task(folder, source_lang="fr", target_lang="de")
    task.load_dataset("valid")
    assert [part.direction for part in task.dataset("valid").parts] == [("fr", "de")]


def test_several_folders_take_turns(tmp_path, folder):
    other = write_toy_folder(tmp_path / "other", lines=4)
    task = make_task(f"{folder}:{other}")
    sizes = []
    for epoch in (1, 2, 3):
        task.load_dataset("train", epoch=epoch)
        sizes.append(len(task.dataset("train")))
    task.load_dataset("valid", epoch=2)
    assert (sizes, len(task.dataset("valid"))) == ([24, 16, 24], 24)


def test_folders_that_take_turns_have_one_dictionary(tmp_path, folder):
    """Token ids of another one would be read as of the first."""
    other = write_toy_folder(tmp_path / "other", lines=4)
    for path in other.glob("dict.*.txt"):
        path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    message = refused(make_task(f"{folder}:{other}").load_dataset, "train")
    assert message.startswith(f"{other}/dict.*.txt: is another dictionary than that of {folder}; folders")


def test_bad_data_is_named(folder):
    write_pair(folder, "train", "de-en", [[4, 2]] * 3, [[4, 2]] * 2)
    message = refused(make_task(folder).load_dataset, "train")
    assert message == f"{folder}/train.de-en.de.idx: 3 sentences, but {folder}/train.de-en.en.idx has 2"


# --- checkpoints


def test_tags_travel_in_the_checkpoint(folder):
    state = json.loads(json.dumps(make_task(folder, language_tags="t-enc", langs="fr,en,de").state_dict()))
    task = make_task(folder, lang_pairs="", source_lang="de", target_lang="fr")
    assert task.tags is None
    task.load_state_dict(state)
    assert (task.tags.languages, task.tags.placement_name) == (["fr", "en", "de"], "t-enc")
    assert ["-".join(direction) for direction in task.supervised] == PAIRS.split(",")
    assert task.dictionary.symbols[-3:] == ["__fr__", "__en__", "__de__"]


def test_unknown_language_at_inference_lists_the_known(folder):
    write_dictionaries(folder, ["it"])
    write_pair(folder, "valid", "de-it", [[4, 2]], [[4, 2]])
    task = make_task(folder, lang_pairs="", source_lang="de", target_lang="it")
    task.load_state_dict(make_task(folder).state_dict())
    assert "known languages: de, en, fr" in refused(task.load_dataset, "valid")


@pytest.mark.parametrize("options", [{"language_tags": "t-enc"}, {"langs": "fr,en,de"}], ids=str)
def test_options_that_contradict_the_checkpoint(folder, options):
    message = refused(make_task(folder, **options).load_state_dict, make_task(folder).state_dict())
    assert message.startswith("the checkpoint has tags s-enc-t-dec for de,en,fr, the options say ")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"language_tags": "s-enc-t-dec"}, "s-enc-t-dec for de,en,fr"),  # also the default of a training
        ({"langs": "de,en"}, "t-enc for de,en"),
        ({"langs": "fr,en,de"}, "t-enc for fr,en,de"),
    ],
    ids=str,
)
def test_options_that_contradict_the_checkpoint_at_inference(folder, options, said):
    state = make_task(folder, language_tags="t-enc").state_dict()
    inference = {"lang_pairs": "", "source_lang": "de", "target_lang": "fr"}
    message = refused(make_task(folder, **inference, **options).load_state_dict, state)
    assert message == (
        f"the checkpoint has tags t-enc for de,en,fr, the options say {said};"
        " give --language-tags and --langs as there"
    )
    for same in ({}, {"language_tags": "t-enc"}, {"langs": "de,en,fr"}):
        task = make_task(folder, **inference, **same)
        task.load_state_dict(state)
        assert task.tags.placement_name == "t-enc"


def test_tags_of_a_training_that_does_not_name_any(folder):
    assert make_task(folder).tags.placement_name == "s-enc-t-dec"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_generation_refuses_weights_that_are_no_numbers(folder, value):
    task = make_task(folder)
    model = build(MnmtTransformerModel, task.dictionary)
    with torch.no_grad():
        model.decoder.layers[1].fc1.bias[3] = value
    message = refused(task.build_generator, [model], Namespace(beam=2))
    assert (
        message.startswith("the model: 1 of ") and " weights of decoder.layers.1.fc1.bias are NaN" in message
    )


def test_another_dictionary_than_the_checkpoint(folder):
    state = make_task(folder).state_dict()
    write_dictionaries(folder, ["de", "en", "fr"], words=29)
    message = refused(make_task(folder).load_state_dict, state)
    assert message.startswith(
        f"{folder}/dict.*.txt: is not the dictionary that the checkpoint was trained with"
    )


def test_checkpoint_of_another_task(folder):
    task = make_task(folder, lang_pairs="", source_lang="de", target_lang="en")
    assert refused(task.load_state_dict, {}).startswith("the checkpoint is not of the task multilingual_nmt")
    make_task(folder).load_state_dict({})  # training that starts from a stock checkpoint


# --- what a training does not have


def begun(task, **criterion):
    """The task when its first epoch begins, of a training with these options of the criterion."""
    model = task.build_model(Namespace(_name="mnmt_transformer", arch="mnmt_transformer", **SIZES))
    usual = {"criterion": "weighted_losses", "label_smoothing": 0.1, "sentence_avg": False}
    task.build_criterion(Namespace(**usual, **criterion))
    task.begin_epoch(1, model)
    return task


def test_a_training_is_not_reduced_to_a_direction_of_inference(folder):
    task = make_task(folder, source_lang="de", target_lang="en")
    message = refused(begun, task)
    assert message.startswith("--source-lang de --target-lang en: choose a direction at inference; a train")
    options = Namespace(_name="mnmt_transformer", arch="mnmt_transformer", **SIZES)
    task.build_model(options, from_checkpoint=True)  # which translates


def test_options_of_losses_that_are_not_trained_are_named_once(folder, caplog):
    options = {"losses": "translation,sentence_contrastive", "sentence_contrastive_temperature": 0.2}
    begun(make_task(folder), **options)
    assert not caplog.messages
    task = begun(make_task(folder), **options, word_contrastive_dim=8, interlingua_alignment_weight=2.0)
    expected = (
        "--interlingua-alignment-weight, --word-contrastive-dim: no effect, because --losses"
        " translation,sentence_contrastive does not name their losses"
    )
    assert caplog.messages == [expected]
    task.begin_epoch(2, None)
    task = make_task(folder)
    task.model_sizes = begun(make_task(folder)).model_sizes
    task.build_criterion(Namespace(criterion="weighted_losses", word_contrastive_dim=8))  # as for validation


@pytest.mark.parametrize(
    ("measure", "losses", "missing", "given"),
    [
        (
            "nmt_loss",
            "translation",
            "losses beside translation, where it is what loss is",
            {"losses": "translation,sentence_contrastive"},
        ),
        ("nmt_loss", "sentence_contrastive", "translation among --losses", {"translation_weight": 0.5}),
        ("accuracy", "translation", "--report-accuracy", {"report_accuracy": True}),
        ("ppl", "sentence_contrastive", "translation among --losses", {"losses": "translation"}),
        (
            "word_contrastive",
            "translation",
            "word_contrastive among --losses",
            {"losses": "translation,word_contrastive"},
        ),
    ],
)
@pytest.mark.parametrize("option", ["best_checkpoint_metric", "improvement_metrics"])
def test_measures_that_no_validation_logs_are_refused(folder, option, measure, losses, missing, given):
    """At the first epoch; fairseq would look for them after it."""
    chosen = {"best_checkpoint_metric": "loss", "improvement_metrics": "", option: measure}
    message = refused(begun, make_task(folder, **chosen), losses=losses)
    assert message == f"{measure} is not measured without {missing}"
    begun(make_task(folder, **chosen), **{"losses": "translation", **given})


def test_measures_of_directions_that_are_not_validated_are_refused(folder):
    for measure in ("nll_loss_en-xx", "loss_de"):
        message = refused(begun, make_task(folder, best_checkpoint_metric=measure))
        part = measure.rpartition("_")[2]
        assert message.startswith(f"{measure}: {part} is not validated; expected one of ")
    known = message.partition("one of ")[2].split(", ")
    begun(make_task(folder, best_checkpoint_metric=f"nll_loss_{known[0]}"))


def test_zero_shot_bleu_needs_zero_shot_directions(folder):
    task = make_task(folder, best_checkpoint_metric="zero_shot_bleu", eval_bleu=True)
    assert refused(begun, task) == "zero_shot_bleu is not measured without --zero-shot-lang-pairs"


def test_fairseqs_own_criterion_logs_accuracy_if_it_is_asked_to(folder):
    chosen = {"best_checkpoint_metric": "accuracy", "maximize_best_checkpoint_metric": True}
    plain = {"criterion": "label_smoothed_cross_entropy", "sentence_avg": False}

    def begin(**options) -> None:
        task = make_task(folder, **chosen)
        task.build_criterion(Namespace(**plain, **options))
        task.begin_epoch(1, None)

    assert refused(begin) == "accuracy is not measured without --report-accuracy"
    begin(report_accuracy=True)


# --- losses per direction


def model_and_criterion(task):
    task.cfg.max_source_positions = task.cfg.max_target_positions = 64
    model = build(MnmtTransformerModel, task.dictionary, **{**SIZES, "encoder_layers": 1}).eval()
    return model, LabelSmoothedCrossEntropyCriterion(task, False, 0.1)


def validate(task, model, criterion, direction=None) -> dict:
    """What fairseq's trainer logs for the validation set, or for one direction of it."""
    task.load_dataset("valid")
    dataset = task.dataset("valid")
    with metrics.aggregate(new_root=True) as logged:
        for batch in dataset.batch_by_size(dataset.ordered_indices(), max_sentences=4):
            sample = dataset.collater([dataset[index] for index in batch])
            if direction and "-".join(dataset.parts[sample["parts"][0]].direction) != direction:
                continue
            _, _, log = task.valid_step(sample, model, criterion)
            task.reduce_metrics([log], criterion)
    return logged.get_smoothed_values()


def loss_by_hand(task, model, criterion, directions, smoothing: float | None = None) -> float:
    """Bits per target token of the smoothed loss over all sentences of the directions, token by token, where
    the language tag is given and not predicted.
    """
    dataset, total, tokens = task.dataset("valid"), 0.0, 0
    smoothing = criterion.eps if smoothing is None else smoothing
    for index in range(len(dataset)):
        if "-".join(dataset.parts[dataset.part_numbers[index]].direction) in directions:
            sample = dataset.collater([dataset[index]])
            with torch.no_grad():
                log_p = model(**sample["net_input"])[0][0].log_softmax(-1)
            for scores, token in zip(log_p, sample["target"][0].tolist(), strict=True):
                if token in task.tags.all_ids():
                    continue
                each = smoothing / (len(scores) - 1)
                total -= float((1 - smoothing - each) * scores[token] + each * scores.sum())
                tokens += 1
    return total / tokens / math.log(2)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("tags", ["s-enc-t-dec", "t-dec", "t-enc", "mbart", "embedded"])
def test_the_forced_tag_is_given_and_not_predicted(folder, tags, fused):
    task = make_task(folder, language_tags=tags, zero_shot_lang_pairs="de-fr")
    model, criterion = model_and_criterion(task)
    if fused:
        criterion = FusedLabelSmoothedCrossEntropyCriterion(task, False, 0.1)
    logged = validate(task, model, criterion)
    pairs = PAIRS.split(",")
    assert logged["loss"] == pytest.approx(loss_by_hand(task, model, criterion, pairs), abs=2e-3)
    bits = loss_by_hand(task, model, criterion, pairs, smoothing=0.0)
    assert logged["nll_loss"] == pytest.approx(bits, abs=2e-3)
    assert logged["ppl"] == pytest.approx(2**bits, rel=2e-3)
    zero_shot = loss_by_hand(task, model, criterion, ["de-fr"], smoothing=0.0)
    assert logged["nll_loss_de-fr"] == pytest.approx(zero_shot, abs=2e-3)


def test_the_forced_tag_counts_in_the_training_loss(folder):
    """As in fairseq, where the tag is the first token of the target."""
    task = make_task(folder)
    model, criterion = model_and_criterion(task)
    task.load_dataset("train")
    dataset = task.dataset("train")
    sample = dataset.collater([dataset[index] for index in range(4)])
    log_p = model(**sample["net_input"])[0].log_softmax(-1)
    real = sample["target"].ne(task.dictionary.pad())
    expected = -log_p.gather(2, sample["target"][:, :, None])[real].sum()

    class Optimizer:
        def backward(self, loss):
            pass

    _, size, log = task.train_step(sample, model, criterion, Optimizer(), 0)
    assert float(log["nll_loss"]) == pytest.approx(float(expected.detach()), rel=1e-4)
    assert size == int(real.sum())
    assert int(sample["target"][0, 0]) in task.tags.all_ids()


def test_zero_shot_directions_never_enter_the_loss(folder):
    task = make_task(folder, zero_shot_lang_pairs="de-fr,fr-de")
    model, criterion = model_and_criterion(task)
    logged = validate(task, model, criterion)
    assert logged["loss"] == pytest.approx(loss_by_hand(task, model, criterion, PAIRS.split(",")), abs=2e-3)
    for direction in [*PAIRS.split(","), "de-fr", "fr-de"]:
        expected = loss_by_hand(task, model, criterion, [direction])
        assert logged[f"loss_{direction}"] == pytest.approx(expected, abs=2e-3)
    everything = loss_by_hand(task, model, criterion, [*PAIRS.split(","), "de-fr", "fr-de"])
    assert abs(logged["loss"] - everything) > 4e-3  # the directions differ enough for this test to notice
    without = make_task(folder)
    assert validate(without, model, criterion)["loss"] == logged["loss"]


def test_every_direction_has_the_bleu_of_its_own_batches(folder, monkeypatch):
    task = make_task(folder, zero_shot_lang_pairs="de-fr", eval_bleu=True)
    right, wrong = torch.tensor([[4.0, 3, 2, 1, 4, 3, 2, 1, 4, 4], [0, 0, 0, 0, 4, 3, 2, 1, 4, 4]]).double()
    statistics = {("de", "fr"): right}
    monkeypatch.setattr(task, "_bleu_statistics", lambda *given: statistics.get(given[-1], wrong))
    logged = validate(task, *model_and_criterion(task))
    assert logged["bleu_de-fr"] == pytest.approx(100)
    assert {logged[f"bleu_{direction}"] for direction in PAIRS.split(",")} == {0}


def test_logs_of_zero_shot_batches_alone(folder):
    task = make_task(folder, zero_shot_lang_pairs="de-fr")
    model, criterion = model_and_criterion(task)
    logged = validate(task, model, criterion, direction="de-fr")
    assert logged["loss"] == 0
    assert logged["loss_de-fr"] == pytest.approx(loss_by_hand(task, model, criterion, ["de-fr"]), abs=2e-3)
    assert "loss_de-en" not in logged


def test_a_single_direction_is_the_loss(folder):
    """fairseq-validate -s de -t fr: what is asked for is measured, trained or not."""
    task = make_task(folder, source_lang="de", target_lang="fr")
    model, criterion = model_and_criterion(task)
    logged = validate(task, model, criterion)
    assert logged["loss"] == pytest.approx(loss_by_hand(task, model, criterion, ["de-fr"]), abs=2e-3)
    assert logged["loss"] == logged["loss_de-fr"]


def test_every_batch_logs_the_same_names(folder):
    """fairseq adds the logs of several processes name by name, tensors and numbers apart."""
    task = make_task(folder, zero_shot_lang_pairs="de-fr")
    model, criterion = model_and_criterion(task)
    task.load_dataset("valid")
    dataset = task.dataset("valid")
    logs = []
    for index in (0, len(dataset) - 1):
        logs.append(task.valid_step(dataset.collater([dataset[index]]), model, criterion)[2])
    assert list(logs[0]) == list(logs[1])
    assert [*map(type, logs[0].values())] == [*map(type, logs[1].values())]
    assert (logs[0]["sample_size"], logs[1]["sample_size"]) == (2, 0)  # one word and </s>


# --- BLEU


class Words:
    """A preparation without subwords and tokenization."""

    @staticmethod
    def detokenize(language: str, line: str) -> str:
        return line


REFERENCES = [
    "the cat sat on the mat",
    "there is a dog in the house now",
    "yes",
    "we like it very much indeed",
]
HYPOTHESES = ["the cat sat on a mat", "there is a dog in the house", "no", "we like it very very much"]


@pytest.mark.parametrize("batches", [[[0, 1, 2, 3]], [[0], [1], [2], [3]], [[2, 0], [3, 1]]], ids=str)
def test_bleu_of_summed_batches_is_that_of_the_corpus(tmp_path, batches):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "valid.de-en.en").write_text("".join(f"{line}\n" for line in REFERENCES))
    bleu = ValidationBleu(Words, RawReferences(tmp_path))
    statistics = sum(
        bleu.statistics([HYPOTHESES[line] for line in lines], "valid", ("de", "en"), lines)
        for lines in batches
    )
    expected = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert bleu_of_statistics(statistics) == pytest.approx(expected, abs=0.01)
    assert 20 < expected < 90


def test_bleu_without_four_right_words_in_a_row_is_smoothed_as_sacrebleu_does(tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "valid.de-en.en").write_text(f"{REFERENCES[0]}\n")
    hypotheses = ["a cat sat on my mat"]
    bleu = ValidationBleu(Words, RawReferences(tmp_path))
    found = bleu_of_statistics(bleu.statistics(hypotheses, "valid", ("de", "en"), [0]))
    expected = sacrebleu.corpus_bleu(hypotheses, [REFERENCES[:1]]).score
    assert found == pytest.approx(expected, abs=0.01) and expected > 10


def test_bleu_of_nothing_is_zero():
    assert bleu_of_statistics(torch.zeros(10)) == 0.0


def test_references_are_those_of_the_split(tmp_path):
    (tmp_path / "text").mkdir()
    for split in ("valid", "test"):
        (tmp_path / "text" / f"{split}.de-en.de").write_text(f"{split} null\n{split} eins\n")
    references = RawReferences(tmp_path)
    assert references("test", ("en", "de"), [1, 0]) == ["test eins", "test null"]
    assert references("valid", ("en", "de"), [1]) == ["valid eins"]
