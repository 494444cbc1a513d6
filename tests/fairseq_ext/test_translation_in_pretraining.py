"""Sentence pairs among the examples of `linguistic_pretraining`."""

from argparse import Namespace
from collections import Counter

import numpy as np
import pytest
import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.logging import metrics

from command_line.errors import InputError
from fairseq_ext.axes.record import describe
from tests.fairseq_ext.folders import write_dictionaries, write_pair
from tests.fairseq_ext.models import SIZES
from tests.fairseq_ext.monolingual import write_monolingual
from tests.fairseq_ext.test_linguistic_pretraining import loaded, make_task, names_of

PAIRS = {"translation_pairs": "en-ja,ja-en"}
LINES = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_monolingual(tmp_path_factory.mktemp("monolingual"))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A folder of sentence pairs of the same dictionary: en `5+i 6+i`, ja `8+i`; line 3 has no target."""
    folder = tmp_path_factory.mktemp("pairs")
    write_dictionaries(folder, ["en", "ja"])
    english = [[5 + i, 6 + i, 2] for i in range(LINES)]
    japanese = [[8 + i, 2] if i != 3 else [2] for i in range(LINES)]
    for split in ("train", "valid"):
        write_pair(folder, split, "en-ja", english, japanese)
    return folder


def with_pairs(folder, pairs, split="train", **options):
    return loaded(folder, split, translation_data=str(pairs), **{**PAIRS, **options})


def is_translation(task, example) -> bool:
    return task.dictionary[int(example["source"][0])] == "__task_translation__"


def examples_of(dataset) -> list[dict]:
    return [dataset[int(index)] for index in dataset.ordered_indices()]


def test_an_example_is_the_pair_behind_its_task_and_the_targets_language(folder, pairs):
    task, dataset = with_pairs(folder, pairs)
    found = {}
    for example in filter(lambda one: is_translation(task, one), examples_of(dataset)):
        source, target = (names_of(task, example[side].tolist()) for side in ("source", "target"))
        found[tuple(source)] = target
        assert names_of(task, example["decoder_input"].tolist()) == ["</s>", *target[:-1]]
        assert example["positions"].tolist() == list(range(len(target)))
    tag = "__task_translation__"
    expected = {}
    for i in range(LINES):
        if i != 3:  # an empty sentence is no example
            english, japanese = [f"w{1 + i}", f"w{2 + i}", "</s>"], [f"w{4 + i}", "</s>"]
            expected[tag, "__ja__", *english] = japanese
            expected[tag, "__en__", *japanese] = english
    assert found == expected


def test_a_batch_mixes_pairs_and_tasks_and_every_pair_is_seen_once(folder, pairs):
    task, dataset = with_pairs(folder, pairs)
    examples = examples_of(dataset)
    assert sum(is_translation(task, example) for example in examples) == 2 * (LINES - 1)
    plain = loaded(folder)[1]
    assert len(examples) - 2 * (LINES - 1) == len(plain.ordered_indices())
    some = [dataset[int(index)] for index in dataset.ordered_indices()[:24]]
    assert len({is_translation(task, example) for example in some}) == 2
    batch = dataset.collater(some)
    assert batch["decoder_positions"].shape == batch["net_input"]["prev_output_tokens"].shape


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_the_share_of_an_epoch(folder, pairs, share):
    """Pairs are drawn as often as that takes, texts are seen once, and anew in every epoch."""
    dataset = with_pairs(folder, pairs, translation_share=share)[1]
    texts = 20 + 23
    drawn = []
    for epoch in (1, 2):
        dataset.set_epoch(epoch)
        numbers = Counter(dataset.part_numbers.tolist())
        sizes = [numbers[number] for number in range(4)]
        assert sizes[:2] == [23, 20]
        assert sum(sizes[2:]) / (texts + sum(sizes[2:])) == pytest.approx(share, abs=0.02)
        assert abs(sizes[2] - sizes[3]) <= 1
        drawn.append(dataset.lines[dataset.part_numbers == 2].tolist())
        again = with_pairs(folder, pairs, translation_share=share)[1]
        again.set_epoch(epoch)
        assert again.lines.tolist() == dataset.lines.tolist()
    counts = Counter(drawn[0])
    if len(drawn[0]) >= LINES:
        assert max(counts.values()) - min(counts.values()) <= 1
    else:
        assert drawn[0] != drawn[1]


def test_the_temperature_holds_among_texts_and_among_directions(folder, pairs, tmp_path):
    write_dictionaries(tmp_path, ["en", "ja", "zh"])
    write_pair(tmp_path, "train", "en-ja", [[5, 2]] * 64, [[6, 2]] * 64)
    write_pair(tmp_path, "train", "ja-zh", [[5, 2]] * 4, [[6, 2]] * 4)
    options = {"translation_pairs": "en-ja,ja-zh", "translation_share": 0.5, "langs": "en,ja,zh"}
    dataset = with_pairs(folder, tmp_path, sampling_temperature=2.0, **options)[1]
    sizes = np.bincount(dataset.part_numbers, minlength=4)
    assert sizes[:2].sum() == 43
    assert sizes[2:].sum() == pytest.approx(43, abs=1)
    assert sizes[2] / sizes[3] == pytest.approx(64**0.5 / 4**0.5, rel=0.2)


def test_pairs_may_lie_beside_the_texts(tmp_path):
    folder = write_monolingual(tmp_path / "data")
    write_pair(folder, "train", "de-en", [[5, 2]] * 3, [[6, 2]] * 3)
    write_dictionaries(folder, ["de", "en", "ja"])
    task, dataset = loaded(folder, tasks="ja=bmass", translation_pairs="de-en")
    assert [len(part) for part in dataset.parts] == [23, 3]
    assert task.tags.languages == ["de", "en", "ja"]


def test_without_pairs_nothing_is_another(folder):
    task = make_task(folder)
    assert "__task_translation__" not in task.dictionary.symbols
    assert not task.state_dict()["translates"]
    mixed = make_task(folder, **PAIRS)
    assert mixed.dictionary.symbols == [*task.dictionary.symbols, "__task_translation__"]


def test_validation_measures_every_direction(folder, pairs):
    task, dataset = with_pairs(folder, pairs, split="valid")
    torch.manual_seed(1)
    model = task.build_model(Namespace(arch="mnmt_transformer", dropout=0.0, **SIZES))
    criterion = LabelSmoothedCrossEntropyCriterion(task, False, 0.1)
    total = 0.0  # of en-ja, by hand
    with metrics.aggregate(new_root=True) as found:
        logs = []
        for batch in dataset.batch_by_size(dataset.ordered_indices(), max_sentences=8):
            sample = dataset.collater([dataset[int(index)] for index in batch])
            assert len(set(sample["parts"])) == 1
            logs.append(task.valid_step(sample, model, criterion)[2])
            if dataset.parts[int(sample["parts"][0])].component == ("en-ja", "translation"):
                log_p = model(**sample["net_input"])[0].log_softmax(-1).detach()
                real = sample["target"].ne(task.dictionary.pad())
                total -= float(log_p.gather(2, sample["target"][..., None])[..., 0][real].sum())
        task.reduce_metrics(logs, criterion)
    values = found.get_smoothed_values()
    for name in ("en-ja-translation", "ja-en-translation", "ja-bmass", "en-hfss"):
        assert f"accuracy_{name}" in values
    tokens = 2 * (LINES - 1)
    assert values["nll_loss_en-ja-translation"] == pytest.approx(total / tokens / np.log(2), abs=2e-3)


def test_the_record_and_the_name_say_so():
    cfg = {"model": Namespace(arch="mnmt_transformer"), "common": {"seed": 1}, "criterion": {}}
    tasks = {"pretraining_tasks": "ja=mass"}
    plain, mixed = (
        describe({**cfg, "task": {**tasks, **more}}, None)["name"]
        for more in ({}, {"translation_pairs": "en-ja", "translation_share": 0.3})
    )
    assert mixed == f"{plain} (translation pairs en-ja, translation share 0.3)"


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"translation_share": 0.3}, "--translation-share 0.3: goes with --translation-pairs"),
        ({"translation_data": "x"}, "--translation-data x: goes with --translation-pairs"),
        (
            {**PAIRS, "translation_share": 0.0},
            "--translation-share 0.0: expected a number above 0",
        ),
        (
            {**PAIRS, "translation_share": 1.0},
            "--translation-share 1.0: expected a number above 0",
        ),
        ({"translation_pairs": "enja"}, "--translation-pairs: 'enja' is not SOURCE-TARGET"),
        ({"translation_pairs": "en-ja,en-ja"}, "--translation-pairs: 'en-ja' occurs twice"),
    ],
)
def test_nonsense_is_one_line(folder, options, message):
    with pytest.raises(InputError) as caught:
        make_task(folder, **options)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_another_dictionary_or_checkpoint(folder, tmp_path):
    write_dictionaries(tmp_path, ["en", "ja"], words=31)
    with pytest.raises(InputError, match=r"^--translation-data .*: its dictionary is not that of the data"):
        with_pairs(folder, tmp_path)
    state = make_task(folder).state_dict()
    with pytest.raises(InputError, match=r"another token of translation \(--translation-pairs\): False, exp"):
        make_task(folder, **PAIRS).load_state_dict(state)
    make_task(folder, **PAIRS).load_state_dict(make_task(folder, **PAIRS).state_dict())


def test_losses_of_sentence_pairs_have_nothing_to_read(folder):
    task = make_task(folder, **PAIRS)
    task.build_model(Namespace(arch="mnmt_transformer", dropout=0.0, **SIZES))
    from fairseq_ext.criterions.options_of_losses import WeightedLossesConfig

    cfg = WeightedLossesConfig(losses="translation,word_contrastive", sentence_avg=False, label_smoothing=0.1)
    cfg.criterion = "weighted_losses"
    with pytest.raises(InputError, match=r"^--losses: they read mirror, word_alignments of sentence pairs"):
        task.build_criterion(cfg)
