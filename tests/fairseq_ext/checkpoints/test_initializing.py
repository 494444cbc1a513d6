"""`--pretrained-checkpoint`: which weights are taken over, which stay, and what is refused."""

from argparse import Namespace

import pytest
import torch

from command_line.errors import InputError
from data_prep.formats.dictionary import dictionary_fingerprint
from fairseq_ext.checkpoints.initializing import EMBEDDINGS, finetuned_from
from fairseq_ext.inference import load_for_inference
from fairseq_ext.tasks.linguistic_pretraining import LinguisticPretrainingConfig, LinguisticPretrainingTask
from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask
from tests.fairseq_ext.folders import write_dictionaries
from tests.fairseq_ext.models import SIZES
from tests.fairseq_ext.monolingual import write_monolingual

ARCHITECTURE = "mnmt_transformer"
WORDS = 34  # four special symbols and w0 to w29


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_monolingual(tmp_path_factory.mktemp("data"))


def options(**given) -> Namespace:
    small = {"encoder_layers": 1, "decoder_layers": 1}
    return Namespace(**{"_name": ARCHITECTURE, "arch": ARCHITECTURE, **SIZES, **small, **given})


@pytest.fixture(scope="module")
def pretrained(folder, tmp_path_factory):
    """A checkpoint of `linguistic_pretraining` as fairseq's trainer saves it."""
    cfg = LinguisticPretrainingConfig(data=str(folder), pretraining_tasks="ja=bmass,en=mass", seed=1)
    task = LinguisticPretrainingTask.setup_task(cfg)
    torch.manual_seed(5)
    model_options = options()
    task_options = {"_name": "linguistic_pretraining", "pretraining_tasks": cfg.pretraining_tasks}
    model = task.build_model(model_options)
    path = tmp_path_factory.mktemp("pretrained") / "checkpoint_best.pt"
    state = {
        "args": None,
        "cfg": {"model": model_options, "task": task_options, "common": {"seed": 3}},
        "model": model.state_dict(),
        "task_state": task.state_dict(),
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "FusedAdam", "lr_scheduler_state": {}}],
        "extra_state": {"train_iterator": {"epoch": 2, "iterations_in_epoch": 3}},
        "last_optimizer_state": None,
    }
    torch.save(state, path)
    return path


def built(folder, path, from_checkpoint=False, model=None, **task_options):
    cfg = MultilingualNmtConfig(
        data=str(folder), pretrained_checkpoint=path and str(path), **{"lang_pairs": "ja-en", **task_options}
    )
    task = MultilingualNmtTask.setup_task(cfg)
    torch.manual_seed(1)
    return task, task.build_model(options(**(model or {})), from_checkpoint)


def test_all_weights_are_taken_over_and_pretraining_tokens_dropped(folder, pretrained):
    task, model = built(folder, pretrained)
    theirs, ours = torch.load(pretrained)["model"], model.state_dict()
    assert len(theirs[EMBEDDINGS[0]]) > len(ours[EMBEDDINGS[0]]) == WORDS + 2 == len(task.dictionary)
    for name, tensor in ours.items():
        expected = theirs[name][: WORDS + 2] if name in EMBEDDINGS else theirs[name]
        assert torch.equal(tensor, expected), name
    assert model.encoder.embed_tokens.weight is model.decoder.output_projection.weight


def test_tags_in_another_order_and_new_ones(folder, pretrained):
    theirs = torch.load(pretrained)["model"][EMBEDDINGS[0]]
    _, model = built(folder, pretrained, langs="zh,ja,en")
    _, fresh = built(folder, None, langs="zh,ja,en")
    for name in EMBEDDINGS:
        ours = model.state_dict()[name]
        assert torch.equal(ours[:WORDS], theirs[:WORDS])
        assert torch.equal(ours[WORDS], fresh.state_dict()[name][WORDS])  # zh: as initialized
        assert torch.equal(ours[WORDS + 1 :], theirs[[WORDS + 1, WORDS]])  # pre-trained as en, ja


def test_a_tag_that_is_a_word_of_the_dictionary_is_no_further_row(tmp_path, pretrained):
    """`__en__` has the row of the word; the tags behind the words are the others."""
    folder = tmp_path / "data"
    dictionary = write_dictionaries(folder, ["en", "ja"])
    dictionary.add_symbol("__en__")
    for language in ("en", "ja"):
        dictionary.save(str(folder / f"dict.{language}.txt"))
    theirs = torch.load(pretrained)
    theirs["task_state"] |= {
        "dictionary_sha256": dictionary_fingerprint(dictionary),
        "languages": ["en", "ja", "de"],
    }
    torch.save(theirs, folder / "start.pt")
    task, model = built(folder, folder / "start.pt", lang_pairs="ja-en", langs="en,fr,ja")
    found, expected = model.state_dict()[EMBEDDINGS[0]], theirs["model"][EMBEDDINGS[0]]
    assert task.dictionary.symbols[WORDS:] == ["__en__", "__fr__", "__ja__"]
    assert torch.equal(found[WORDS], expected[WORDS])
    assert torch.equal(found[WORDS + 2], expected[WORDS + 1])


def test_a_model_that_is_read_from_a_checkpoint_is_left_alone(folder, pretrained):
    _, fresh = built(folder, None)
    _, model = built(folder, "/no/such/file", from_checkpoint=True)
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), fresh.parameters(), strict=True))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"encoder_layers": 2}, "is of another architecture: Missing key(s)"),
        ({"decoder_ffn_embed_dim": 32}, "is of another architecture: size mismatch for decoder.layers.0.fc1"),
        (
            {"encoder_embed_dim": 16, "decoder_embed_dim": 16},
            "is of another architecture: embeddings of width 32, expected 16",
        ),
        ({"encoder_attention_heads": 2}, "is of another architecture: --encoder-attention-heads 4, here 2"),
        ({"norm_placement": "pre"}, "is of another architecture: --norm-placement post, here pre"),
        (
            {"share_all_embeddings": False},
            "is of another architecture: --share-all-embeddings True, here None",
        ),
    ],
)
def test_another_architecture_is_refused_in_one_line(folder, pretrained, model, message):
    with pytest.raises(InputError) as caught:
        built(folder, pretrained, model=model)
    assert str(caught.value).startswith(f"--pretrained-checkpoint {pretrained}: {message}")
    assert "\n" not in str(caught.value)


def test_another_dictionary_is_refused(folder, pretrained, tmp_path):
    write_dictionaries(tmp_path, ["en", "ja"], words=31)
    with pytest.raises(InputError, match=r"was trained with another dictionary than dict"):
        built(tmp_path, pretrained)


def test_what_is_not_such_a_checkpoint_is_refused(folder, pretrained, tmp_path):
    with pytest.raises(InputError, match=r"/no/such/file: no such file"):
        built(folder, "/no/such/file")
    torch.save(torch.load(pretrained) | {"task_state": {}}, tmp_path / "other.pt")
    with pytest.raises(InputError, match=r"other.pt: says nothing about its dictionary"):
        built(folder, tmp_path / "other.pt")


def test_a_folder_to_finetune_from_is_refused(tmp_path):
    """fairseq would say that there is no checkpoint, and train from nothing."""
    with pytest.raises(InputError, match="is a folder, expected a checkpoint, such as the model"):
        finetuned_from(Namespace(finetune_from_model=str(tmp_path)))
    assert finetuned_from(Namespace()) == {}


def test_a_file_to_finetune_from_that_is_not_there_is_refused(tmp_path):
    """Unless the training goes on, which does without."""
    gone = Namespace(finetune_from_model=str(tmp_path / "gone.pt"), save_dir=str(tmp_path / "model"))
    with pytest.raises(InputError, match=r"^--finetune-from-model \S+gone\.pt: no such file, expected a ch"):
        finetuned_from(gone)
    (tmp_path / "model").mkdir()
    (tmp_path / "model/checkpoint_last.pt").touch()
    assert finetuned_from(gone) is None


@pytest.mark.parametrize("option", ["finetune_from_model", "restore_file"])
def test_weights_of_other_heads_or_activations_are_refused(folder, pretrained, option):
    """They fit, and nothing of what they have learned is there."""
    start = {option: str(pretrained), "reset_optimizer": option == "restore_file"}
    built(folder, None, model=start)
    for other, said in (
        ({"encoder_attention_heads": 2}, "--encoder-attention-heads 4, here 2"),
        ({"decoder_attention_heads": 2}, "--decoder-attention-heads 4, here 2"),
        ({"activation_fn": "gelu"}, "--activation-fn relu, here gelu"),
        ({"no_scale_embedding": True}, "--no-scale-embedding None, here True"),
    ):
        with pytest.raises(InputError, match=f"^--.*: is of another architecture: {said}"):
            built(folder, None, model={**start, **other})


@pytest.mark.parametrize("option", ["finetune_from_model", "restore_file"])
def test_a_second_start_is_refused(folder, pretrained, option):
    """Its weights would be trained, under the name of the first."""
    start = {option: str(pretrained), "reset_optimizer": option == "restore_file"}
    with pytest.raises(InputError, match=r"--finetune-from-model, or .* would replace its weights; give one"):
        built(folder, pretrained, model=start)
    built(folder, pretrained, model={"restore_file": "own.pt"})  # a training that goes on


def test_inference_says_to_fine_tune_it_first(folder, pretrained):
    with pytest.raises(InputError, match=r"is pre-trained only and cannot translate; fine-tune it first"):
        load_for_inference(pretrained, folder)
