"""`mnmt_transformer_mbart` against fairseq's `mbart_large`, and the choice of mBART's rows."""

import re
import shlex
from argparse import Namespace
from pathlib import Path

import pytest
import torch

from command_line.errors import InputError
from fairseq_ext.checkpoints import mbart
from fairseq_ext.models.mnmt_architectures import mnmt_mbart_architecture
from fairseq_ext.models.mnmt_transformer import MnmtTransformerModel
from tests.fairseq_ext.mbart import SIZES, mbart_dictionary, mbart_model
from tests.fairseq_ext.models import ToyTask, random_batch
from tests.our_commands import parse_command
from tests.test_readme import parse_fairseq

WORDS = [f"w{number}" for number in range(12)]


@pytest.fixture
def dictionary():
    return mbart_dictionary(WORDS)


def ours(dictionary, **options):
    args = Namespace(**{**SIZES, "dropout": 0.0, **options})
    mnmt_mbart_architecture(args)
    return MnmtTransformerModel.build_model(args, ToyTask(dictionary)).eval()


def test_same_weights_give_the_outputs_of_fairseqs_mbart(dictionary):
    stock, _ = mbart_model(dictionary)
    model = ours(dictionary)
    model.load_state_dict(stock.state_dict(), strict=True)
    batch = random_batch(dictionary)
    real = batch["target"].ne(dictionary.pad())
    found, expected = (each(**batch["net_input"])[0][real] for each in (model, stock))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    assert expected.std() > 0.5  # the comparison is not one of zeros


@pytest.mark.parametrize(
    "option",
    [
        {"activation_fn": "relu"}, {"layernorm_embedding": False}, {"norm_placement": "post"},
        {"no_scale_embedding": True}, {"encoder_learned_pos": False},
    ],
    ids=str,
)  # fmt: skip
def test_every_option_of_the_architecture_counts(dictionary, option):
    stock, _ = mbart_model(dictionary)
    model = ours(dictionary, **option)
    model.load_state_dict(stock.state_dict(), strict=False)
    inputs = random_batch(dictionary)["net_input"]
    assert (model(**inputs)[0] - stock(**inputs)[0]).abs().max() > 0.01


def test_full_size_is_that_of_mbart_25():
    args = Namespace()
    mnmt_mbart_architecture(args)
    sizes = {name: getattr(args, f"encoder_{name}") for name in ("layers", "embed_dim", "attention_heads")}
    assert sizes == {"layers": 12, "embed_dim": 1024, "attention_heads": 16}
    assert (args.decoder_layers, args.decoder_ffn_embed_dim, args.decoder_embed_dim) == (12, 4096, 1024)


# --- rows


def vocabulary(languages=("de_DE", "en_XX", "zh_CN")):
    return mbart.MbartVocabulary(["a", "b", "c"], languages)


def test_rows_are_in_the_order_of_the_new_dictionary_and_its_tags():
    """mBART: <s> <pad> </s> <unk> a b c [de_DE] [en_XX] [zh_CN] <mask>."""
    known = vocabulary()
    assert len(known) == 11
    rows = known.rows(["c", "a", "madeupword0000"], ["en_XX", "de_DE"], "dict.txt")
    assert rows.tolist() == [0, 1, 2, 3, 6, 4, 3, 8, 7]


def test_a_symbol_that_mbart_lacks_is_refused():
    with pytest.raises(InputError, match=r"dict.txt:2: 'x' is not in mBART's dictionary; make the data with"):
        vocabulary().rows(["a", "x"], [], "dict.txt")


def test_tags():
    known = vocabulary()
    assert known.tag_of("de", {}) == "de_DE"
    assert known.tag_of("fr", {"fr": "en_XX"}) == "en_XX"
    for language, given in (("fr", {}), ("de", {"de": "de_AT"})):
        with pytest.raises(
            InputError, match=r"--tags: no tag of mBART for .*; give .* one of de_DE,en_XX,zh"
        ):
            known.tag_of(language, given)
    with pytest.raises(InputError, match="--tags: no tag of mBART for de; give de=NAME"):
        vocabulary(("de_DE", "de_AT")).tag_of("de", {})


@pytest.mark.parametrize(
    ("language", "tag"),
    [("deu", "de_DE"), ("deu_Latn", "de_DE"), ("en_XX", "en_XX"), ("zho_Hans", "zh_CN"), ("zh_SG", "zh_CN")],
)
def test_tags_of_other_codes_of_the_language(language, tag):
    assert vocabulary().tag_of(language, {}) == tag


@pytest.mark.parametrize("language", ["zho_Hant", "zh_TW", "yue", "xa"])
def test_no_tag_of_another_language_or_script(language):
    with pytest.raises(InputError, match=f"no tag of mBART for {language}"):
        vocabulary().tag_of(language, {})


def test_shape_is_read_from_the_weights(dictionary):
    stock, args = mbart_model(dictionary)
    shape = mbart.shape_of(stock.state_dict(), args, "model.pt")
    assert {name: getattr(shape, name) for name in SIZES} == SIZES
    assert mbart.shape_of(stock.state_dict(), None, "model.pt").encoder_attention_heads == 1  # 64 wide


@pytest.mark.parametrize("missing", ["encoder.layernorm_embedding.weight", "encoder.layer_norm.weight"])
def test_another_model_is_refused(dictionary, missing):
    weights = mbart_model(dictionary)[0].state_dict()
    del weights[missing]
    with pytest.raises(InputError, match=f"model.pt: no {missing} in it; expected fairseq's mBART"):
        mbart.shape_of(weights, None, "model.pt")


# --- the guide

PAGE = (Path(__file__).parents[3] / "docs/mbart.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```bash\n(.*?)^```", PAGE, flags=re.M | re.S)
    for line in block.splitlines()
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_guide_is_understood(command):
    words = shlex.split(command)
    if words[0] == "python":
        parse_command(words)
    else:
        parse_fairseq(words[0], words[1:])


@pytest.mark.parametrize("heads", ["__import__('os').abort()", 3, 0, True, 2.0, [4]], ids=repr)
def test_heads_of_a_stranger(heads):
    """The one option that is read of a checkpoint whose task this version may not know."""
    with pytest.raises(
        InputError, match=r"^x: option encoder_attention_heads is .*; expected a divisor of the"
    ):
        mbart.heads_of(Namespace(encoder_attention_heads=heads), "encoder", 64, "x")
