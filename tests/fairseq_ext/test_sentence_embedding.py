"""Task `sentence_embedding`: batches of pairs, training and validation of tiny models, what it refuses."""

import logging
import math
from argparse import Namespace
from unittest import mock

import numpy as np
import pytest
import torch
from fairseq import utils
from fairseq.logging import metrics

from command_line.errors import InputError
from data_prep.formats.alignments import AlignedSpansWriter
from fairseq_ext.criterions.options_of_losses import WeightedLossesConfig
from fairseq_ext.criterions.weighted_losses import WeightedLosses
from fairseq_ext.inference import load_for_inference
from fairseq_ext.losses.weighted_loss import vectors_of
from fairseq_ext.models.sentence_encoder import SentenceEncoderModel
from fairseq_ext.modules.similarity import TokenStates, bert_score, normalized
from fairseq_ext.tasks.sentence_embedding import SentenceEmbeddingConfig, SentenceEmbeddingTask
from tests.fairseq_ext.folders import write_dictionaries, write_pair, write_toy_folder
from tests.fairseq_ext.models import SIZES
from tests.fairseq_ext.test_retrieval_validation import loop

EOS = 2
ENCODER = {name: value for name, value in SIZES.items() if not name.startswith("decoder_")}


@pytest.fixture
def folder(tmp_path):
    return write_toy_folder(tmp_path / "data")


def make_task(folder, **options) -> SentenceEmbeddingTask:
    options = {
        "pairs": "de-en,fr-en",
        "train_subset": "train",
        "seed": 1,
        "max_update": 0,
        "update_freq": [1],
        **options,
    }
    return SentenceEmbeddingTask.setup_task(SentenceEmbeddingConfig(data=str(folder), **options))


def model_options(**options) -> Namespace:
    names = {"_name": "sentence_encoder", "arch": "sentence_encoder"}
    return Namespace(**{**names, "dropout": 0.0, "attention_dropout": 0.0, **ENCODER, **options})


def make_model(task, **options) -> SentenceEncoderModel:
    torch.manual_seed(1)
    args = model_options(**options)
    with mock.patch(
        "fairseq.models.build_model", lambda cfg, task, _: SentenceEncoderModel.build_model(cfg, task)
    ):
        return task.build_model(args)


def make_criterion(task, losses: str = "sentence_contrastive") -> WeightedLosses:
    with mock.patch(
        "fairseq.criterions.build_criterion",
        lambda cfg, task, from_checkpoint: WeightedLosses.build_criterion(cfg, task),
    ):
        return task.build_criterion(WeightedLossesConfig(losses=losses, sentence_avg=True))


def whole_part(task, split: str, number: int) -> dict:
    dataset = task.dataset(split)
    return dataset.collater([dataset[index] for index in np.flatnonzero(dataset.part_numbers == number)])


def test_no_sentence_has_a_language_and_the_batch_knows_both(folder):
    task = make_task(folder)
    make_model(task)
    make_criterion(task)
    task.load_dataset("train")
    batch = whole_part(task, "train", 1)  # fr-en, whose files are named en-fr
    assert batch["net_input"]["src_tokens"].tolist() == [[6 + i, EOS] for i in range(6)]
    assert batch["mirror"]["src_tokens"].tolist() == [[4 + i, 5 + i, EOS] for i in range(6)]
    assert batch["source_languages"].tolist() == [2] * 6  # de, en, fr
    assert batch["target_languages"].tolist() == [1] * 6
    assert "target" not in batch and "prev_output_tokens" not in batch["net_input"]


def test_long_sentences_are_cut_with_a_count_in_the_log(tmp_path, caplog):
    folder = tmp_path / "data"
    write_dictionaries(folder, ["de", "en"])
    lines = [[4] * count + [EOS] for count in (3, 119, 120, 400)]
    for split in ("train", "valid"):
        write_pair(folder, split, "de-en", lines, [[5, EOS]] * 4)
    task = make_task(folder, pairs="en-de")
    with caplog.at_level(logging.INFO):
        task.load_dataset("train")
    message = "train en-de: 2 of 4 sentences in de are cut to 120 tokens (--max-source-positions)"
    assert [record.message for record in caplog.records if "cut" in record.message] == [message]
    mirror = whole_part(task, "train", 0)["mirror"]["src_tokens"]
    assert mirror.size(1) == 120
    assert mirror[2].tolist() == mirror[3].tolist() == [4] * 119 + [EOS]


@pytest.mark.parametrize("decoder_layers", [0, 1])
@pytest.mark.parametrize("longest", [120, 200])
@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_no_pair_is_left_out_for_its_length(tmp_path, pooling, longest, decoder_layers):
    """By fairseq's own filter, which asks task and model, and raises where validation would lose a pair."""
    folder = tmp_path / "data"
    write_dictionaries(folder, ["de", "en"])
    lines = [[4] * count + [EOS] for count in (3, longest, longest - 1, 400)]
    write_pair(folder, "valid", "de-en", lines, [lines[0], lines[0], lines[3], lines[2]])
    task = make_task(folder, pairs="de-en", max_source_positions=longest)
    model = make_model(
        task, pooling=pooling, decoder_layers=decoder_layers, encoder_learned_pos=True,
        decoder_learned_pos=True, max_source_positions=longest, max_target_positions=None,
    )  # fmt: skip
    make_criterion(task, "translation" if decoder_layers else "sentence_contrastive")
    task.load_dataset("valid")
    limits = utils.resolve_max_positions(task.max_positions(), model.max_positions())
    batches = task.get_batch_iterator(task.dataset("valid"), max_sentences=4, max_positions=limits)
    (batch,) = batches.next_epoch_itr(shuffle=False)
    assert len(batch["lines"]) == 4
    tokens = batch["net_input"]["src_tokens"]
    assert tokens.shape == batch["mirror"]["src_tokens"].shape == (4, longest)
    if decoder_layers:
        assert batch["net_input"]["prev_output_tokens"].shape == (4, longest + 1)  # with the language
        model(**batch["net_input"])
    for side in (batch["net_input"], batch["mirror"]):
        assert torch.isfinite(vectors_of(model.encoder(side["src_tokens"], side["src_lengths"]))).all()


def test_sentences_are_cut_to_what_the_model_reads(tmp_path, caplog):
    """An encoder of transformers has positions of its own, a decoder perhaps fewer."""
    folder = tmp_path / "data"
    write_dictionaries(folder, ["de", "en"])
    write_pair(folder, "train", "de-en", [[4] * 100 + [EOS]], [[5, EOS]])
    for options, longest in (({}, 64), ({"decoder_layers": 1, "max_target_positions": 31}, 30)):
        task = make_task(folder, pairs="de-en")
        make_model(task, **options)
        caplog.clear()
        with caplog.at_level(logging.INFO):
            task.load_dataset("train")
        assert f"1 of 1 sentences in de are cut to {longest} tokens (the model reads no more)" in caplog.text
        assert whole_part(task, "train", 0)["net_input"]["src_tokens"].shape == (1, longest)


def test_words_beyond_the_cut_are_not_aligned(tmp_path):
    folder = tmp_path / "data"
    write_dictionaries(folder, ["de", "en"])
    write_pair(folder, "train", "de-en", [[4, 5, 6, 7, EOS]], [[8, 9, 10, EOS]])
    with AlignedSpansWriter(folder, "train", ("de", "en"), "fast_align") as writer:
        writer.append([(0, 1, 2, 3), (1, 2, 0, 1), (2, 4, 1, 2)])
    for longest, kept in ((10, 3), (4, 2), (3, 1)):
        task = make_task(folder, pairs="de-en", max_source_positions=longest)
        task.batch_fields = ("word_alignments",)
        task.load_dataset("train")
        aligned = whole_part(task, "train", 0)["word_alignments"]
        assert len(aligned["source"]) == kept
        assert int(aligned["source"].max()) <= longest - 1


class Optimizer(torch.optim.Adam):
    def backward(self, loss):
        loss.backward()


def train(task, model, criterion, batches: list[dict], updates: int) -> list[float]:
    optimizer = Optimizer([*model.parameters(), *criterion.parameters()], lr=0.003)
    losses = []
    for update in range(updates):
        for batch in batches:
            optimizer.zero_grad()
            loss, size, _ = task.train_step(batch, model, criterion, optimizer, update)
            task.optimizer_step(optimizer, model=model, update_num=update)
        losses.append(loss.item() / size)
    return losses


def validate(task, model, criterion) -> dict[str, float]:
    criterion.eval()
    task.begin_valid_epoch(1, model)
    with metrics.aggregate(new_root=True) as logged:
        for number in range(len(task.pairs)):
            _, _, log = task.valid_step(whole_part(task, "valid", number), model, criterion)
            task.reduce_metrics([log], criterion)
    return logged.get_smoothed_values()


@pytest.mark.parametrize(
    ("losses", "model_options"),
    [
        ("sentence_contrastive", {}),
        ("sentence_contrastive", {"pooling": "pooler", "sentence_width": 8, "norm_placement": "pre"}),
        ("translation,sentence_contrastive", {"decoder_layers": 1}),
        ("translation", {"decoder_layers": 1, "sentence_width": 8}),
    ],
    ids=str,
)
def test_it_learns_and_is_validated_by_retrieval(folder, losses, model_options):
    task = make_task(folder, random_sides=True, eval_retrieval=True)
    model = make_model(task, **model_options)
    criterion = make_criterion(task, losses)
    for split in ("train", "valid"):
        task.load_dataset(split)
    before = validate(task, model, criterion)
    train(task, model, criterion, [whole_part(task, "train", number) for number in (0, 1)], updates=60)
    after = validate(task, model, criterion)
    assert after["loss"] < before["loss"]
    assert {"loss_de-en", "loss_fr-en", "mean_cosine", "effective_rank"} <= set(after)
    model.eval()
    for number, pair in enumerate(("de-en", "fr-en")):
        batch = whole_part(task, "valid", number)
        source = vectors_of(model.encoder(batch["net_input"]["src_tokens"])).detach()
        target = vectors_of(model.encoder(batch["mirror"]["src_tokens"])).detach()
        assert after[f"retrieval_{pair}"] == pytest.approx(loop(source, target), abs=0.01)
    if "sentence_contrastive" in losses:
        assert after["retrieval"] > 80 > before["retrieval"]


@pytest.mark.parametrize("without_specials", [False, True])
def test_validation_compares_as_it_is_asked_to(folder, without_specials):
    """By BERT-score of the states that are pooled, less popularity."""
    options = {"eval_retrieval_similarity": "bert-score", "eval_retrieval_normalization": 0.75}
    options["eval_retrieval_without_specials"] = without_specials
    task = make_task(folder, eval_retrieval=True, **options)
    model, criterion = make_model(task, pooling_layer="1"), make_criterion(task)
    task.load_dataset("valid")
    found = validate(task, model, criterion)
    model.eval()
    for number, pair in enumerate(("de-en", "fr-en")):
        batch = whole_part(task, "valid", number)
        sides = []
        for text in (batch["net_input"]["src_tokens"], batch["mirror"]["src_tokens"]):
            encoded = model.encoder(text)
            states, padding = encoded["token_states"][0], encoded["token_padding_mask"][0]
            ends = text == task.dictionary.eos() if without_specials else None
            sides.append(TokenStates.of(states.detach().transpose(0, 1), padding, ends, cosine=True))
        scores = normalized(bert_score(*sides).f, 0.75)
        own = torch.arange(len(scores))
        hits = torch.cat([scores.argmax(1) == own, scores.argmax(0) == own]).float().mean()
        assert found[f"retrieval_{pair}"] == pytest.approx(100 * float(hits), abs=0.01)


@pytest.mark.parametrize(
    ("losses", "passes"),
    [
        ("sentence_contrastive", 2),  # the source and its mirror, for the loss and for retrieval
        ("translation,sentence_contrastive", 2),
        ("translation,sentence_contrastive,unified_generation", 4),  # hides words, but none from retrieval
    ],
)
def test_validation_encodes_a_sentence_once_unless_a_loss_hides_its_words(folder, losses, passes):
    task = make_task(folder, eval_retrieval=True)
    decoder = {} if losses == "sentence_contrastive" else {"decoder_layers": 1}
    model, criterion = make_model(task, **decoder), make_criterion(task, losses)
    counted, vectors = [], []
    model.encoder.register_forward_hook(lambda module, given, output: counted.append(output))
    task.retrieval.add = lambda split, part, lines, *sides: vectors.extend(sides)
    task.load_dataset("valid")
    batch = whole_part(task, "valid", 0)
    model.eval(), criterion.eval()
    task.valid_step(batch, model, criterion)
    assert len(counted) == passes
    expected = [
        vectors_of(model.encoder(side["src_tokens"], side["src_lengths"]))
        for side in (batch["net_input"], batch["mirror"])
    ]
    for side, right in zip(vectors, expected, strict=True):
        torch.testing.assert_close(side, right)


def test_without_the_option_nothing_is_retrieved(folder):
    task = make_task(folder)
    model, criterion = make_model(task), make_criterion(task)
    task.load_dataset("valid")
    assert not [name for name in validate(task, model, criterion) if name.startswith("retrieval")]


def test_a_decoder_has_the_language_in_front(folder):
    task = make_task(folder)
    make_model(task, decoder_layers=1)
    make_criterion(task, "translation")
    task.load_dataset("train")
    batch = whole_part(task, "train", 0)
    tag = task.dictionary.index("__en__")
    assert batch["target"].tolist() == [[tag, 6 + i, EOS] for i in range(6)]
    assert batch["net_input"]["src_tokens"][0].tolist() == [4, 5, EOS]
    assert task.state_dict()["language_tags"] == "t-dec"


@pytest.mark.parametrize("losses", ["translation", "translation,sentence_contrastive"])
def test_in_validation_the_language_is_given_and_not_predicted(folder, losses):
    """As a translation task has it."""
    task = make_task(folder)
    model, criterion = make_model(task, decoder_layers=1), make_criterion(task, losses)
    task.load_dataset("valid")
    found = validate(task, model, criterion)
    model.eval()
    bits, tokens = 0.0, 0
    for number in range(2):
        batch = whole_part(task, "valid", number)
        with torch.no_grad():
            log_p = model(**batch["net_input"])[0].log_softmax(-1)[:, 1:]
        words = batch["target"][:, 1:]
        assert batch["target"][:, 0].unique().tolist() == [task.dictionary.index("__en__")]
        bits -= float(log_p.gather(2, words[:, :, None]).sum()) / math.log(2)
        tokens += words.numel()
    assert found["nll_loss"] == pytest.approx(bits / tokens, abs=2e-3)


def refused(call, *arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_decoder_and_its_loss_go_together(folder):
    task = make_task(folder)
    make_model(task, decoder_layers=1)
    assert refused(make_criterion, task, "sentence_contrastive") == (
        "--decoder-layers: none of --losses sentence_contrastive trains a decoder; leave the option out, or "
        "add translation"
    )
    make_model(task)
    assert refused(make_criterion, task, "translation").startswith(
        "--losses translation, the default: needs a model with a"
    )


def test_nothing_is_translated(folder):
    task = make_task(folder)
    assert refused(task.build_generator, [make_model(task)], None).startswith(
        "--task sentence_embedding: its models make vectors and do not translate"
    )


def test_other_criteria_are_refused(folder):
    task = make_task(folder)
    make_model(task)
    with mock.patch("fairseq.criterions.build_criterion", lambda *_, **__: torch.nn.Identity()):
        message = refused(task.build_criterion, Namespace())
    assert message == "--criterion: --task sentence_embedding needs --criterion weighted_losses"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": ""}, "--pairs: names none; expected pairs of languages"),
        ({"pairs": "de-en,en-de"}, "--pairs: de-en and en-de are the same sentences; give one of them"),
        ({"pairs": "de"}, "--pairs: 'de' is not SOURCE-TARGET"),
        ({"max_source_positions": 1}, "--max-source-positions 1: expected 2 tokens or more"),
        ({"sampling_temperature": 0.5}, "--sampling-temperature 0.5: expected a number >= 1"),
        ({"langs": "de,en"}, "--langs de,en: lacks fr, which --pairs uses"),
        (
            {"eval_retrieval_similarity": "bert-score"},
            "--eval-retrieval-similarity: needs --eval-retrieval; give both",
        ),
        (
            {"eval_retrieval_normalization": 0.75},
            "--eval-retrieval-normalization: needs --eval-retrieval; give both",
        ),
        (
            {"eval_retrieval_without_specials": True},
            "--eval-retrieval-without-specials: needs --eval-retrieval; give both",
        ),
        (
            {"eval_retrieval": True, "eval_retrieval_without_specials": True},
            "--eval-retrieval-without-specials: needs --eval-retrieval-similarity bert-score; give both",
        ),
    ],
)
def test_bad_options_are_one_line(folder, options, message):
    assert refused(make_task, folder, **options).startswith(message)


def test_languages_without_data_are_one_line(folder):
    task = make_task(folder, pairs="de-en,de-cs")
    message = refused(task.load_dataset, "train")
    assert message.startswith(f"{folder}/train.de-cs.de.idx: no such file")


def test_a_checkpoint_knows_its_languages(folder, tmp_path):
    state = make_task(folder, langs="fr,de,en").state_dict()
    assert state["lang_pairs"] == ["de-en", "fr-en"]
    make_task(folder, langs="fr,de,en").load_state_dict(state)
    message = refused(make_task(folder).load_state_dict, state)
    assert message == "--langs: the checkpoint has fr,de,en; give --langs fr,de,en"
    other = write_toy_folder(tmp_path / "other")
    write_dictionaries(other, ["de", "en", "fr"], words=31)
    assert refused(make_task(other).load_state_dict, state).startswith(f"{other}/dict.*.txt: is not the")


def test_loss_is_per_pair_in_bits(folder):
    task = make_task(folder)
    model, criterion = make_model(task), make_criterion(task)
    task.load_dataset("valid")
    logged = validate(task, model, criterion)
    model.eval()
    batch = whole_part(task, "valid", 0)
    loss, size, _ = criterion(model, batch)
    assert logged["loss_de-en"] == pytest.approx(loss.item() / size / math.log(2), abs=1e-3)


@pytest.mark.parametrize("decoder_layers", [0, 1])
def test_a_checkpoint_is_loaded_for_vectors(folder, tmp_path, decoder_layers):
    task = make_task(folder, langs="fr,de,en")
    model = make_model(task, decoder_layers=decoder_layers, sentence_width=8).eval()
    path = tmp_path / "checkpoint.pt"
    state = {
        "args": None,
        "cfg": {
            "model": model_options(decoder_layers=decoder_layers, sentence_width=8),
            "task": {"_name": "sentence_embedding", "max_source_positions": 64, "max_target_positions": 65},
            "criterion": {"_name": "weighted_losses", "losses": "sentence_contrastive"},
            "common": {"seed": 1},
        },
        "model": model.state_dict(),
        "task_state": task.state_dict(),
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "FusedAdam", "lr_scheduler_state": {}}],
        "extra_state": {"train_iterator": {"epoch": 2, "iterations_in_epoch": 3}},
        "last_optimizer_state": None,
    }
    torch.save(state, path)
    loaded = load_for_inference(path, folder, translates=False)
    assert loaded.task.tags.languages == ["fr", "de", "en"]
    assert [*map("-".join, loaded.task.pairs)] == ["de-en", "fr-en"]
    tokens = torch.tensor([[4, 5, EOS], [7, EOS, 1]])
    assert torch.equal(vectors_of(loaded.model.encoder(tokens)), vectors_of(model.encoder(tokens)))
    record = loaded.system()
    assert record["name"] == (
        "PostNorm mean pooling (sentence width 8) +sentence_contrastive sentence_encoder"
    )
    message = refused(load_for_inference, path, folder)
    assert message.startswith(f"{path}: has the task 'sentence_embedding': a sentence encoder, which")
