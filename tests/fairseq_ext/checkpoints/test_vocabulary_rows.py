"""`--pretrained-dictionary` and `--new-rows`: a checkpoint of stock fairseq, as its trainer saves it, is the
beginning of a model with another dictionary.
"""

from argparse import Namespace

import pytest
import torch
from fairseq import checkpoint_utils
from fairseq.data import Dictionary
from fairseq.models.transformer import TransformerConfig, TransformerModelBase, base_architecture

from command_line.errors import InputError
from fairseq_ext.axes.record import check_record, describe
from fairseq_ext.checkpoints.reading import EMBEDDINGS
from fairseq_ext.checkpoints.vocabulary_rows import NewRows
from fairseq_ext.tasks.multilingual_nmt import MultilingualNmtConfig, MultilingualNmtTask
from tests.fairseq_ext.models import SIZES, ToyTask

OLD = ["w0", "w1", "w2", "comma", "madeupword0000"]
NEW = ["w2", "new1", "w0", "new2", "comma"]  # w1 and the dummy go, the others change places
LANGUAGES = ["de", "en"]
ROWS = {name: row for row, name in enumerate(["<s>", "<pad>", "</s>", "<unk>", *OLD, "__de__", "__en__"])}
ARCHITECTURE = {**SIZES, "encoder_layers": 1, "decoder_layers": 1}


def write_dictionary(path, symbols):
    dictionary = Dictionary()
    for symbol in symbols:
        dictionary.add_symbol(symbol, n=7)
    dictionary.save(str(path))
    return dictionary


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data with the new dictionary."""
    folder = tmp_path_factory.mktemp("data")
    for language in ("de", "en", "af"):
        write_dictionary(folder / f"dict.{language}.txt", NEW)
    return folder


@pytest.fixture(scope="module", params=[True, False], ids=["tied", "untied"])
def stock(request, tmp_path_factory):
    """A checkpoint of stock fairseq's `translation_multi_simple_epoch`, with an optimizer's state."""
    folder = tmp_path_factory.mktemp("stock")
    dictionary = write_dictionary(folder / "dict.txt", OLD)
    for language in LANGUAGES:  # as fairseq's task augments it
        dictionary.add_symbol(f"__{language}__")
    arguments = Namespace(**ARCHITECTURE)
    arguments.share_all_embeddings = request.param
    base_architecture(arguments)
    torch.manual_seed(3)
    model = TransformerModelBase.build_model(TransformerConfig.from_namespace(arguments), ToyTask(dictionary))
    arguments.arch = arguments._name = "transformer"
    task = Namespace(
        _name="translation_multi_simple_epoch", lang_pairs=["de-en"], langs=LANGUAGES, encoder_langtok="src",
        decoder_langtok=True,
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters())
    sum(parameter.sum() for parameter in model.parameters()).backward()
    optimizer.step()
    state = {
        "args": None,
        "cfg": {"model": arguments, "task": task, "common": {"seed": 3}},
        "model": model.state_dict(),
        "optimizer_history": [{"num_updates": 7, "optimizer_name": "Adam", "lr_scheduler_state": {}}],
        "last_optimizer_state": optimizer.state_dict(),
        "extra_state": {},
    }
    checkpoint_utils.torch_persistent_save(state, str(folder / "checkpoint.pt"))
    return folder / "checkpoint.pt"


def built(folder, path=None, **task_options):
    if path is not None:
        task_options = {"pretrained_dictionary": str(path.parent / "dict.txt"), **task_options}
    tied = path is None or torch.load(path, weights_only=False)["cfg"]["model"].share_all_embeddings
    cfg = MultilingualNmtConfig(
        data=str(folder), pretrained_checkpoint=path and str(path), lang_pairs="de-en,en-af", **task_options
    )
    task = MultilingualNmtTask.setup_task(cfg)
    torch.manual_seed(1)
    options = {**ARCHITECTURE, "share_all_embeddings": tied, "arch": "mnmt_transformer", "dropout": 0.0}
    return task, task.build_model(Namespace(**options))


def untied(stock) -> bool:
    return not torch.load(stock, weights_only=False)["cfg"]["model"].share_all_embeddings


def test_rows_follow_their_symbols_and_all_other_weights_are_the_checkpoints(folder, stock):
    task, model = built(folder, stock)
    theirs, ours = torch.load(stock, weights_only=False)["model"], model.state_dict()
    assert set(ours) == set(theirs)
    for name, tensor in ours.items():
        if name not in EMBEDDINGS:
            assert torch.equal(tensor, theirs[name]), name
            continue
        for row, symbol in enumerate(task.dictionary.symbols):
            if symbol in ROWS:
                assert torch.equal(tensor[row], theirs[name][ROWS[symbol]]), (name, symbol)
    assert task.dictionary.symbols[4:] == [*NEW, "__af__", "__de__", "__en__"]


def new_rows(task, model, name) -> dict:
    table = model.state_dict()[name]
    return {symbol: table[task.dictionary.index(symbol)] for symbol in ("new1", "new2", "__af__")}


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_new_rows_are_as_initialized_the_mean_or_copies(folder, stock, name):
    theirs = torch.load(stock, weights_only=False)["model"][name]
    real = ["w0", "w1", "w2", "comma", "__de__", "__en__"]  # neither special symbols nor dummies
    mean = sum(theirs[ROWS[symbol]] for symbol in real) / len(real)

    for each in new_rows(*built(folder, stock, new_rows="mean"), name).values():
        torch.testing.assert_close(each, mean)
    copied = new_rows(*built(folder, stock, new_rows="=comma"), name)
    assert all(torch.equal(each, theirs[ROWS["comma"]]) for each in copied.values())
    mixed = new_rows(*built(folder, stock, new_rows="mean,__af__=__de__,new2=w1"), name)
    torch.testing.assert_close(mixed["new1"], mean)
    assert torch.equal(mixed["__af__"], theirs[ROWS["__de__"]])
    assert torch.equal(mixed["new2"], theirs[ROWS["w1"]])
    copies = new_rows(*built(folder, stock, new_rows="=comma,__af__=__de__"), name)
    origins = {"new1": "comma", "new2": "comma", "__af__": "__de__"}
    assert all(torch.equal(copies[symbol], theirs[ROWS[origin]]) for symbol, origin in origins.items())


def test_random_rows_are_those_of_a_model_from_scratch(folder, stock):
    task, model = built(folder, stock)
    theirs = torch.load(stock, weights_only=False)["model"]
    found = new_rows(task, model, EMBEDDINGS[0])
    assert len({tuple(each.tolist()) for each in found.values()}) == 3
    for each in found.values():
        assert 0 < each.std() < 4 * SIZES["encoder_embed_dim"] ** -0.5
        assert not any(torch.equal(each, row) for row in theirs[EMBEDDINGS[0]])
    if not untied(stock):
        scratch = new_rows(*built(folder), EMBEDDINGS[0])
        assert all(torch.equal(found[symbol], each) for symbol, each in scratch.items())


def test_the_model_says_of_known_words_what_the_checkpoint_says(folder, stock):
    """Logits of symbols that both have, with stock fairseq and its own ids."""
    task, model = built(folder, stock)
    state = torch.load(stock, weights_only=False)
    dictionary = Dictionary.load(str(stock.parent / "dict.txt"))
    for language in LANGUAGES:
        dictionary.add_symbol(f"__{language}__")
    original = TransformerModelBase.build_model(
        TransformerConfig.from_namespace(state["cfg"]["model"]), ToyTask(dictionary)
    )
    original.load_state_dict(state["model"])
    source, target = ["__de__", "w0", "comma", "</s>"], ["</s>", "__en__", "w2"]

    def logits(one, words, symbols):
        inputs = [torch.tensor([[words.index(symbol) for symbol in side]]) for side in (source, target)]
        scores = one.eval()(inputs[0], torch.tensor([4]), inputs[1])[0]
        return scores[..., [words.index(symbol) for symbol in symbols]]

    known = ["w0", "w2", "comma", "__de__", "</s>"]
    torch.testing.assert_close(logits(model, task.dictionary, known), logits(original, dictionary, known))


def test_the_record_says_how_new_rows_began(folder, stock):
    task, _ = built(folder, stock, new_rows="mean")
    plain, _ = built(folder, stock)
    cfg = {"model": Namespace(arch="mnmt_transformer"), "common": {"seed": 1}, "task": {}, "criterion": {}}
    names = []
    for one in (task, plain):
        record = describe(cfg, "s-enc-t-dec", one.initialized_from)
        check_record(record, "x")
        names.append(record["name"])
    assert names[0] == f"{names[1]} (new rows mean)"


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"pretrained_dictionary": None},
            "checkpoint.pt: says nothing about its dictionary; give it with --pr",
        ),
        ({"pretrained_dictionary": "/no/dict.txt"}, "/no/dict.txt: no such file"),
        ({"new_rows": "zero"}, "--new-rows zero: found 'zero', expected random, mean or a symbol"),
        ({"new_rows": ""}, "--new-rows : found '', expected random, mean or"),
        ({"new_rows": "="}, "--new-rows =: found '=', expected random, mean or"),
        ({"new_rows": "mean,__af__"}, "--new-rows mean,__af__: found '__af__', expected"),
        (
            {"new_rows": "mean,__af__=__nl__"},
            "--new-rows: '__nl__' is no symbol of the checkpoint's dictionary",
        ),
        ({"new_rows": "=nothing"}, "--new-rows: 'nothing' is no symbol of the checkpoint's dictionary"),
        ({"new_rows": "mean,w0=w1"}, "--new-rows w0=w1: 'w0' is not new, the checkpoint's dictionary has it"),
        ({"new_rows": "mean,zzz=w1"}, "--new-rows zzz=w1: 'zzz' is not new, dict.*.txt lacks it"),
    ],
)
def test_nonsense_is_one_line(folder, stock, options, message):
    with pytest.raises(InputError) as caught:
        built(folder, stock, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_dictionary_that_is_not_the_checkpoints(folder, stock, tmp_path):
    write_dictionary(tmp_path / "dict.txt", [f"x{number}" for number in range(20)])
    with pytest.raises(
        InputError, match=r"has 11 embeddings, fewer than the 26 symbols of .*dict.txt and its"
    ):
        built(folder, stock, pretrained_dictionary=str(tmp_path / "dict.txt"))
    state = torch.load(stock, weights_only=False)
    state["task_state"] = {"dictionary_sha256": "0" * 64, "languages": LANGUAGES}
    torch.save(state, stock.parent / "ours.pt")
    with pytest.raises(
        InputError, match=r"--pretrained-dictionary .*dict.txt: is not the dictionary of .*ours"
    ):
        built(folder, stock.parent / "ours.pt")
    with pytest.raises(
        InputError, match=r"was trained with another dictionary than dict.*--pretrained-dictionary"
    ):
        built(folder, stock.parent / "ours.pt", pretrained_dictionary=None)


@pytest.mark.parametrize("option", ["pretrained_dictionary", "new_rows"])
def test_without_a_checkpoint_to_start_from(folder, option):
    value = {"pretrained_dictionary": "dict.txt", "new_rows": "mean"}[option]
    with pytest.raises(InputError, match="goes with --pretrained-checkpoint"):
        built(folder, **{option: value})


def test_names_with_an_equals_sign_are_split_at_the_last():
    assert NewRows.parse("random,a=b=c").named == {"a=b": "c"}
