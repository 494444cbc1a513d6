"""The task `linguistic_pretraining`: tokens, mixtures, batches, positions, and what validation reports."""

import math
from argparse import Namespace
from unittest import mock

import numpy as np
import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.logging import metrics

from command_line.errors import InputError
from fairseq_ext.data.noising.example import Symbols
from fairseq_ext.data.noising.tasks import TASKS, parse_mixtures, task_tokens
from fairseq_ext.data.pretraining_dataset import MonolingualText, PretrainingDataset
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from fairseq_ext.tasks.linguistic_pretraining import LinguisticPretrainingConfig, LinguisticPretrainingTask
from tests.fairseq_ext.models import SIZES
from tests.fairseq_ext.monolingual import write_monolingual

JASS_ENSS = "ja=bmass+brss.f,en=mass:3+hfss"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_monolingual(tmp_path_factory.mktemp("monolingual"))


def make_task(folder, tasks=JASS_ENSS, **options) -> LinguisticPretrainingTask:
    options = {"pretraining_tasks": tasks, "train_subset": "train", "seed": 1, "max_update": 0, **options}
    return LinguisticPretrainingTask.setup_task(LinguisticPretrainingConfig(data=str(folder), **options))


def loaded(folder, split="train", tasks=JASS_ENSS, **options):
    task = make_task(folder, tasks, **options)
    task.load_dataset(split)
    return task, task.datasets[split]


def names_of(task, tokens) -> list[str]:
    return [task.dictionary[token] for token in tokens]


# --- options


def test_mixtures():
    assert parse_mixtures(JASS_ENSS, "x") == {
        "ja": {"bmass": 1.0, "brss.f": 1.0},
        "en": {"mass": 3.0, "hfss": 1.0},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty, expected for example"),
        ("ja", "'ja' is not LANG=TASK"),
        ("ja=mass,ja=mass", "'ja' occurs twice"),
        ("ja=mass+mass", "'mass' occurs twice for 'ja'"),
        ("ja=brss", "unknown task 'brss'; expected one of: mass, multimass"),
        ("ja=mass:0", "'mass:0': expected a weight above 0"),
        ("ja=mass:x", "expected a weight above 0"),
        ("ja=mass:nan", "expected a weight above 0"),
        ("ja=mass:inf", "expected a weight above 0"),
    ],
)
def test_bad_mixtures(folder, text, message):
    with pytest.raises(InputError, match=r"--pretraining-tasks: .*") as caught:
        make_task(folder, text)
    assert message in str(caught.value)


def test_bad_options(folder, tmp_path):
    with pytest.raises(InputError, match="--langs en: lacks ja"):
        make_task(folder, langs="en")
    with pytest.raises(InputError, match=r"--sampling-temperature 0\.5: expected a number >= 1"):
        make_task(folder, sampling_temperature=0.5)
    with pytest.raises(InputError, match=r"dict.de.txt: no such file"):
        make_task(folder, "de=mass")
    task = make_task(folder, "ja=pmass.p")
    with pytest.raises(InputError, match=r"ja.phrases: no such file; `python -m data_prep phrases`"):
        task.load_dataset("train")
    with pytest.raises(InputError, match="no files test"):
        task.load_dataset("test")


def test_structures_of_other_sentences_are_refused(tmp_path):
    folder = write_monolingual(tmp_path / "a")
    other = write_monolingual(tmp_path / "b", seed=2)
    name = "train.en-ja.ja.bunsetsu"
    (folder / name).write_bytes((other / name).read_bytes())
    with pytest.raises(InputError, match=r"train.en-ja.ja.bunsetsu:\d+: does not describe a sentence of"):
        make_task(folder).load_dataset("train")


# --- tokens


@pytest.mark.parametrize("unified", [False, True])
def test_tokens_of_tasks_and_languages(folder, unified):
    task = make_task(folder, unify_task_tokens=unified, langs="ja,en")
    tokens = task_tokens(unified)
    assert len(tokens) == (2 if unified else 8)
    assert task.dictionary.symbols[-len(tokens) - 3 :] == ["__ja__", "__en__", "__mask__", *tokens]


def test_every_source_begins_with_task_and_language(folder):
    for unified, first in (
        (False, {"__task_bmass__", "__task_brss__", "__task_mass__"}),
        (True, {"__task_masking__", "__task_reordering__"}),
    ):
        task, dataset = loaded(folder, tasks="ja=bmass+brss.r", unify_task_tokens=unified)
        examples = [dataset[index] for index in dataset.ordered_indices()]
        assert len(examples) == 22  # all but the empty one
        assert {names_of(task, example["source"][:1])[0] for example in examples} == first
        assert {names_of(task, example["source"][1:2])[0] for example in examples} == {"__ja__"}


def test_a_sentence_without_structure_falls_back_to_mass(folder):
    task, dataset = loaded(folder, tasks="ja=brss.f")
    tags = [names_of(task, dataset[index]["source"][:2]) for index in range(1, len(dataset))]
    assert tags[0] == ["__task_mass__", "__ja__"]
    assert all(pair == ["__task_brss__", "__ja__"] for pair in tags[1:])


def test_what_falls_back_is_not_measured_as_the_task(folder):
    task, dataset = loaded(folder, "valid", tasks="ja=brss.f+mass")
    marks = {}
    for index in dataset.ordered_indices():
        component = dataset.parts[dataset.part_numbers[index]].component[1]
        marks.setdefault(component, []).append(names_of(task, dataset[index]["source"][:1])[0])
    lines = 13  # of which the first is empty and the second has no structure
    assert marks == {"brss.f": ["__task_brss__"] * (lines - 2), "mass": ["__task_mass__"] * (lines - 1)}


# --- mixtures and epochs


def test_weights_and_epochs(tmp_path):
    task, dataset = loaded(write_monolingual(tmp_path, lines=600), tasks="en=mass:3+hfss")
    drawn = []
    for epoch in (1, 2, 1):
        dataset.set_epoch(epoch)
        drawn.append([dataset[index]["source"].tolist() for index in range(2, len(dataset))])
    assert drawn[0] == drawn[2] != drawn[1]
    mass = task.dictionary.index("__task_mass__")
    for epoch in drawn:
        assert np.mean([source[0] == mass for source in epoch]) == pytest.approx(0.75, abs=0.06)
    batch = dataset.collater([dataset[index] for index in range(2, 60)])
    assert len(set(batch["net_input"]["src_tokens"][:, 0].tolist())) == 2  # tasks mix in a batch


def equal_sentences(mixture: dict[str, float], lines: int) -> PretrainingDataset:
    """One sentence of ten words again and again, as examples of tasks whose marks are their numbers."""
    sentences = [torch.tensor([*range(20, 30), 2])] * lines
    tags = {name: [number, 3] for number, name in enumerate(mixture, start=10)}
    part = MonolingualText("en", "", sentences, np.full(lines, 11), mixture, {}, tags)
    return PretrainingDataset([part], Symbols(mask=4, eos=2), False, pad=1, eos=2)


def test_equal_sentences_are_masked_in_their_own_ways_and_anew_in_every_epoch():
    """Of 252 choices of five words; what is masked is drawn beside the task."""
    dataset, epochs = equal_sentences({"multimass": 1.0}, 300), []
    for epoch in (1, 2):
        dataset.set_epoch(epoch)
        epochs.append([tuple(dataset[index]["source"].tolist()) for index in range(300)])
        assert len(set(epochs[-1])) > 140
    assert sum(one != other for one, other in zip(*epochs, strict=True)) > 280


def test_equal_sentences_have_tasks_of_their_own_and_others_in_every_epoch():
    mixture = {"mass": 3.0, "multimass": 1.0, "deshuffling": 2.0}
    dataset, epochs = equal_sentences(mixture, 1_200), []
    for epoch in (1, 2):
        dataset.set_epoch(epoch)
        epochs.append(np.array([dataset[index]["source"][0] for index in range(1_200)]))
        shares = np.bincount(epochs[-1] - 10, minlength=3) / 1_200
        assert shares.tolist() == pytest.approx([3 / 6, 1 / 6, 2 / 6], abs=0.05)
    changed = 1 - (3**2 + 1**2 + 2**2) / 6**2  # another draw is another task
    assert np.mean(epochs[0] != epochs[1]) == pytest.approx(changed, abs=0.05)


def test_several_languages_in_a_batch(folder):
    task, dataset = loaded(folder)
    batch = dataset.collater([dataset[index] for index in dataset.ordered_indices()])
    assert set(names_of(task, batch["net_input"]["src_tokens"][:, 1])) == {"__en__", "__ja__"}


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("inverted", [False, True])
def test_a_batch_of_every_task(folder, name, inverted):
    language = "en" if TASKS[name].needs == "phrases" else "ja"
    task, dataset = loaded(folder, tasks=f"{language}={name}", inverted_mask=inverted)
    examples = [dataset[index] for index in dataset.ordered_indices()]
    batch = dataset.collater(examples)
    target, previous = batch["target"], batch["net_input"]["prev_output_tokens"]
    pad = task.dictionary.pad()
    assert target.shape == previous.shape == batch["decoder_positions"].shape
    assert target.eq(pad).equal(previous.eq(pad))
    assert batch["ntokens"] == int(target.ne(pad).sum())
    assert batch["decoder_length"] > int(batch["decoder_positions"].max())
    for row, example in enumerate(examples):
        size = len(example["target"])
        assert target[row, :size].tolist() == example["target"].tolist()
        assert previous[row, :size].tolist() == example["decoder_input"].tolist()
        assert batch["decoder_positions"][row, :size].tolist() == example["positions"].tolist()


# --- the model sees the positions of the sentence


def build_model(task, **options):
    """The task's own model, without fairseq's registry of architectures."""
    torch.manual_seed(1)
    sizes = Namespace(arch="mnmt_transformer", **{"dropout": 0.0, **SIZES, **options})
    make = MnmtTransformerModel.build_model
    with mock.patch("fairseq.models.build_model", lambda cfg, task, _: make(cfg, task)):
        return task.build_model(sizes)


@pytest.mark.parametrize("learned", [False, True])
def test_decoder_inputs_have_the_positions_of_the_sentence(folder, learned):
    task = make_task(folder)
    model = build_model(task, decoder_learned_pos=learned).eval()
    source, lengths = torch.tensor([[5, 6, 7, 2]]), torch.tensor([4])
    embed = model.decoder.embed_positions
    plain = model(source, lengths, torch.tensor([[2, 9, 10, 11]]))[0]
    with task.decoder_positions.at(torch.tensor([[0, 1, 2, 3]]), 4):
        assert torch.allclose(model(source, lengths, torch.tensor([[2, 9, 10, 11]]))[0], plain, atol=1e-6)
    whole = embed(torch.tensor([[5, 5, 5, 5, 5]]))[0]
    with task.decoder_positions.at(torch.tensor([[4, 2]]), 5):
        assert torch.equal(embed(torch.tensor([[9, 9]]))[0], whole[[4, 2]])
        moved = model(source, lengths, torch.tensor([[9, 9]]))[0]
    assert not torch.allclose(moved[0, 0], model(source, lengths, torch.tensor([[9, 9]]))[0][0, 0])
    assert not any("hook" in name for name in model.state_dict())


def test_training_uses_the_positions(folder):
    task, dataset = loaded(folder, tasks="en=mass")
    model = build_model(task)
    batch = dataset.collater([dataset[index] for index in (5, 6, 7)])
    seen = []
    embed = model.decoder.embed_positions
    embed.register_forward_hook(lambda module, inputs, output: seen.append(output))
    criterion = LabelSmoothedCrossEntropyCriterion(task, sentence_avg=False, label_smoothing=0.0)

    class Optimizer:
        def backward(self, loss):
            loss.backward()

    task.train_step(batch, model, criterion, Optimizer(), 0)
    table = embed.forward(torch.full((1, 64), 5))[0]
    assert torch.equal(seen[0], table[batch["decoder_positions"]])
    assert task.decoder_positions._positions is None


# --- validation


@pytest.mark.parametrize("at_once", [True, False])
def test_components_are_validated_one_by_one(folder, at_once):
    """fairseq logs batch by batch, of which each weighs as much as it has tokens."""
    task, dataset = loaded(folder, "valid")
    model = build_model(task).eval()
    criterion = LabelSmoothedCrossEntropyCriterion(task, sentence_avg=False, label_smoothing=0.0)
    indices = dataset.ordered_indices()
    batches = dataset.batch_by_size(indices, max_sentences=4)
    logs, right, tokens, nll = [], {}, {}, {}
    for indices in batches:
        batch = dataset.collater([dataset[int(index)] for index in indices])
        assert len(set(batch["parts"].tolist())) == 1
        logs.append(task.valid_step(batch, model, criterion)[2])
        name = "-".join(dataset.parts[batch["parts"][0]].component)
        with torch.no_grad(), task.decoder_positions.at(batch["decoder_positions"], batch["decoder_length"]):
            logits = model(**batch["net_input"])[0].log_softmax(dim=-1)
        for row, target in zip(logits, batch["target"], strict=True):
            for scores, token in zip(row, target.tolist(), strict=True):
                if token != task.dictionary.pad():
                    right[name] = right.get(name, 0) + int(scores.argmax() == token)
                    tokens[name] = tokens.get(name, 0) + 1
                    nll[name] = nll.get(name, 0.0) - float(scores[token])
    with metrics.aggregate() as found:
        for some in [logs] if at_once else [[log] for log in logs]:
            task.reduce_metrics(some, criterion)
    values = found.get_smoothed_values()
    assert set(tokens) == {"ja-bmass", "ja-brss.f", "en-mass", "en-hfss"}
    for name in tokens:
        assert values[f"accuracy_{name}"] == pytest.approx(100 * right[name] / tokens[name], abs=0.01)
        assert values[f"ppl_{name}"] == pytest.approx(math.exp(nll[name] / tokens[name]), abs=0.02)
    ja = [name for name in tokens if name.startswith("ja-")]
    of_ja = [sum(counts[name] for name in ja) for counts in (right, tokens, nll)]
    assert values["accuracy_ja"] == pytest.approx(100 * of_ja[0] / of_ja[1], abs=0.01)
    assert values["ppl_ja"] == pytest.approx(math.exp(of_ja[2] / of_ja[1]), abs=0.02)
    overall = 100 * sum(right.values()) / sum(tokens.values())
    assert values["accuracy"] == pytest.approx(overall, abs=0.01)
    assert values["ppl"] == pytest.approx(math.exp(sum(nll.values()) / sum(tokens.values())), abs=0.02)


def test_padding_is_no_token_that_is_predicted_right(folder):
    """By a model that predicts padding everywhere."""
    task, dataset = loaded(folder, "valid")
    model, pad = build_model(task).eval(), torch.tensor([task.dictionary.pad()])
    model.decoder.output_projection.register_forward_hook(lambda *call: call[-1].index_fill(-1, pad, 99.0))
    criterion = LabelSmoothedCrossEntropyCriterion(task, sentence_avg=False, label_smoothing=0.0)
    indices = dataset.batch_by_size(dataset.ordered_indices(), max_sentences=20)[0]
    batch = dataset.collater([dataset[int(index)] for index in indices])
    assert batch["target"].eq(pad).any()
    with metrics.aggregate() as found:
        task.reduce_metrics([task.valid_step(batch, model, criterion)[2]], criterion)
    assert found.get_smoothed_values()["accuracy"] == 0


def test_accuracy_is_logged_once(folder):
    """fairseq's criterion logs it with --report-accuracy, as a meter that cannot be added to."""
    task, dataset = loaded(folder, "valid")
    criterion = LabelSmoothedCrossEntropyCriterion(task, False, 0.0, report_accuracy=True)
    batch = dataset.collater([dataset[int(index)] for index in dataset.ordered_indices()[:4]])
    log = task.valid_step(batch, build_model(task).eval(), criterion)[2]
    with metrics.aggregate() as found:
        task.reduce_metrics([log], criterion)
    right = sum(value for name, value in log.items() if name.startswith("correct:"))
    assert found.get_smoothed_values()["accuracy"] == pytest.approx(
        100 * int(right) / int(log["total"]), abs=0.01
    )


def test_a_checkpoint_of_other_tokens_is_refused(folder):
    state = make_task(folder).state_dict()
    make_task(folder, "ja=mass,en=mass").load_state_dict(state)
    for options, message in (
        ({"unify_task_tokens": True}, "task tokens"),
        ({"langs": "ja,en"}, "languages"),
    ):
        with pytest.raises(InputError, match=f"the checkpoint has another {message}"):
            make_task(folder, **options).load_state_dict(state)
    with pytest.raises(InputError, match="dictionary"):
        make_task(folder).load_state_dict({**state, "dictionary_sha256": "x"})
