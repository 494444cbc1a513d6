"""Options of a stranger's checkpoint: what could do harm is one line, what a training writes is kept."""

import contextlib
import copy
from argparse import Namespace
from functools import cache

import pytest
import torch
from fairseq import checkpoint_utils, options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import OmegaConf

import fairseq_ext  # noqa: F401  (registers)
from command_line.errors import InputError
from fairseq_ext.checkpoints import declared_options
from fairseq_ext.checkpoints.options_gate import (
    EVALUATED,
    FILES_OF_THE_TRAINING,
    REFUSED_FILES,
    pass_gate,
)
from fairseq_ext.checkpoints.reading import read_checkpoint
from tests.fairseq_ext.attacks import write_attack
from tests.fairseq_ext.folders import write_toy_folder

PARSED = {  # what users train; more options come from the parser
    "ours": ["--arch", "mnmt_transformer_tiny", "--task", "multilingual_nmt", "--lang-pairs", "de-en"],
    "bridge": ["--arch", "interlingua_transformer", "--task", "multilingual_nmt", "--lang-pairs", "de-en"],
    "pre-training": ["--arch", "mnmt_transformer", "--task", "linguistic_pretraining", "--langs", "de,en"],
    "sentences": ["--arch", "ems_small", "--task", "sentence_embedding", "--pairs", "de-en"],
    "bilingual": ["--arch", "transformer_iwslt_de_en", "--task", "translation", "--eval-bleu-args", "{}"],
    "adaptive": [
        "--arch", "transformer", "--task", "translation", "--adaptive-softmax-cutoff", "10,20", "--criterion",
        "adaptive_loss", "--encoder-layers-to-keep", "0,2",
    ],
    "multilingual": [
        "--arch", "transformer_wmt_en_de_big", "--task", "translation_multi_simple_epoch", "--lang-pairs",
        "de-en,en-de", "--langs", "de,en", "--encoder-langtok", "src", "--decoder-langtok",
        "--sampling-weights", "{'main:de-en': 0.5}",
    ],
    "mbart": ["--arch", "mbart_large", "--task", "translation_from_pretrained_bart", "--langs", "de,en"],
}  # fmt: skip
OPTIMIZATION = [
    "--optimizer", "adam", "--adam-betas", "(0.9, 0.98)", "--lr", "0.1", "--max-tokens", "100", "--criterion",
    "label_smoothed_cross_entropy",
]  # fmt: skip


def parsed(name: str) -> Namespace:
    """A training's options as stock fairseq parses them."""
    return options.parse_args_and_arch(
        options.get_training_parser(), ["data", *OPTIMIZATION, *PARSED[name], "--save-dir", "models/x"]
    )


def saved(name: str) -> dict:
    """`cfg` of the checkpoint that stock fairseq's trainer writes for it."""
    return copy.deepcopy(converted(name))


@cache
def converted(name: str) -> dict:
    cfg = convert_namespace_to_omegaconf(parsed(name))
    return OmegaConf.to_container(cfg, resolve=True, enum_to_str=True)


def entries(found) -> dict:
    return vars(found) if isinstance(found, Namespace) else found


def refusal(**contents) -> str:
    with pytest.raises(InputError) as caught:
        pass_gate(contents, "evil.pt")
    message = str(caught.value)
    assert message.startswith("evil.pt: ")
    assert "\n" not in message
    assert len(message) < 1000
    return message


# --- what trainings write is kept


@pytest.mark.parametrize("name", PARSED)
def test_what_fairseq_saves_passes_but_for_files_of_the_training(name):
    given = saved(name)
    found = pass_gate({"cfg": given}, "x.pt")["cfg"]
    for section, before in given.items():
        if before is None or section == "_name":
            continue
        before, after = entries(before), entries(found[section])
        expected = {key: None if key in FILES_OF_THE_TRAINING else value for key, value in before.items()}
        assert {key: after.get(key, "left out") for key in before} == expected, section
    assert type(found["model"]) is type(given["model"])


@pytest.mark.parametrize("name", PARSED)
def test_what_older_versions_save_passes(name):
    given = parsed(name)
    found = pass_gate({"args": given}, "x.pt")["args"]
    expected = {key: value for key, value in vars(given).items() if key not in FILES_OF_THE_TRAINING}
    assert {key: getattr(found, key, "left out") for key in expected} == expected
    assert not set(vars(found)) & FILES_OF_THE_TRAINING


def test_texts_of_numbers_become_numbers():
    """Older versions stored what they evaluated later."""
    given = Namespace(
        arch="transformer", adaptive_softmax_cutoff="10,20", encoder_layers="3", dropout="0.5",
        share_all_embeddings="True", lr=0.1, update_freq="[4]", max_tokens=100.0,
    )  # fmt: skip
    found = pass_gate({"args": given}, "x.pt")["args"]
    assert (found.adaptive_softmax_cutoff, found.encoder_layers, found.dropout) == ([10, 20], 3, 0.5)
    assert (found.share_all_embeddings, found.lr, found.update_freq) == (True, [0.1], [4])
    assert (found.max_tokens, type(found.max_tokens)) == (100, int)


def test_options_that_nobody_declares_are_left_out():
    """`xformers_att_config` without a side would be read for both sides of fairseq's Transformer."""
    strange = {"xformers_att_config": "print(1)", "future_option": "x", "decoder": {"embed_path": "/etc"}}
    found = pass_gate({"cfg": {"model": Namespace(arch="transformer", dropout=0.1, **strange)}}, "x.pt")
    assert vars(found["cfg"]["model"]) == {"arch": "transformer", "dropout": 0.1}
    given = {"hydra": {"run": "x"}, "common": {"seed": 3, "future": "${oc.env:HOME}", "user_dir": "/evil"}}
    assert pass_gate({"cfg": given}, "x.pt")["cfg"] == {"common": {"seed": 3, "user_dir": None}}


def test_what_builds_nothing_may_be_unknown():
    given = {"criterion": {"_name": "ctc", "wer_args": "print(1)"}, "optimizer": {"_name": "mine", "x": 1}}
    assert pass_gate({"cfg": given}, "x.pt")["cfg"] == {"criterion": None, "optimizer": None}


# --- what could do harm is refused

CODE = "__import__('os').system('touch owned')"
MODEL_OPTIONS = [
    ("adaptive_softmax_cutoff", CODE, "a list, each an integer"),
    ("encoder_xformers_att_config", CODE, "fairseq would evaluate it"),
    ("decoder_xformers_att_config", f"[{CODE}]", "fairseq would evaluate it"),
    ("encoder_embed_path", "/etc/passwd", "no file to load"),
    ("decoder_embed_path", "x", "no file to load"),
    ("encoder_layers", "two", "an integer"),
    ("encoder_layers", 2.5, "an integer"),
    ("encoder_layers", True, "an integer"),
    ("encoder_layers", [2], "an integer"),
    ("dropout", CODE, "a number"),
    ("dropout", torch.zeros(3), "a number"),
    ("dropout", Namespace(x=1), "a number"),
    ("share_all_embeddings", "maybe", "true or false"),
    ("share_all_embeddings", 2, "true or false"),
    ("activation_fn", "os.system", "one of relu, "),
    ("activation_fn", ["relu"], "one of relu, "),
    ("encoder_layers_to_keep", ["a"], "a list, each an integer"),
    ("max_source_positions", "9" * 20_000, "an integer"),
    ("max_source_positions", "(" * 9_000, "an integer"),
]
OTHER_OPTIONS = [
    ("task", "left_pad_source", CODE, "fairseq would evaluate it"),
    ("task", "lang_pairs", 7, "text or a list"),
    ("task", "lang_pairs", "${oc.env:HOME}", "no ${"),
    ("task", "langs", ["de", "${oc.env:HOME}"], "no ${"),
    ("task", "langtoks", {"${x}": 1}, "no ${"),
    ("task", "langtoks", torch.zeros(1), "plain data"),
    ("criterion", "label_smoothing", "lots", "a number"),
    ("optimizer", "adam_betas", CODE, "fairseq would evaluate it"),
    ("common_eval", "model_overrides", CODE, "fairseq would evaluate it"),
    ("common", "log_format", "${oc.env:HOME}", ""),
    ("common", "wandb_project", "a${oc.decode:x}", "no ${"),
    ("distributed_training", "pipeline_balance", CODE, "fairseq would evaluate it"),
    ("dataset", "max_tokens", "${x}", "an integer"),
]


@pytest.mark.parametrize(("option", "value", "expected"), MODEL_OPTIONS, ids=str)
@pytest.mark.parametrize(
    "arch", ["transformer", "mbart_large", "mnmt_transformer", "interlingua_transformer_tiny"]
)
def test_option_of_a_model(arch, option, value, expected):
    for model in (Namespace(arch=arch, **{option: value}), {"_name": arch, option: value}):
        message = refusal(cfg={"model": model})
        assert f"option model.{option} is " in message
        assert expected in message
    assert f"option args.{option} is " in refusal(
        args=Namespace(arch=arch, task="translation", **{option: value})
    )


@pytest.mark.parametrize(("section", "option", "value", "expected"), OTHER_OPTIONS, ids=str)
def test_option_of_another_section(section, option, value, expected):
    given = saved("multilingual")
    found = entries(given[section])
    found[option] = value
    message = refusal(cfg=given)
    assert message.startswith(f"evil.pt: option {section}.{option} is ")
    assert expected in message


@pytest.mark.parametrize("given", ["fconv", "transformer_lm", "lstm", "roberta", "no_such", 7, ["fconv"]])
def test_unknown_architecture(given):
    for model in (Namespace(arch=given), Namespace(_name=given, arch="transformer"), {"_name": given}):
        assert "expected bart_base, " in refusal(cfg={"model": model})
    assert "expected bart_base, " in refusal(args=Namespace(arch=given))
    assert "expected bart_base, " in refusal(cfg={"task": Namespace(arch=given, task="translation")})


@pytest.mark.parametrize("given", ["audio_finetuning", "online_backtranslation", "no_such", 7])
def test_unknown_task(given):
    for task in (Namespace(task=given), Namespace(_name="translation", task=given), {"_name": given}):
        assert refusal(cfg={"task": task}).startswith("evil.pt: has the task ")
    assert refusal(args=Namespace(arch="transformer", task=given)).startswith("evil.pt: has the task ")


@pytest.mark.parametrize("contents", [
    {"cfg": "x"}, {"cfg": [1]}, {"cfg": Namespace()}, {"cfg": {"model": "transformer"}},
    {"cfg": {"common": 3}}, {"args": {"arch": "x"}}, {"args": 7},
], ids=str)  # fmt: skip
def test_options_of_another_shape(contents):
    assert "; expected " in refusal(**contents)


def test_options_that_contain_themselves():
    loop, cycle = [], Namespace(arch="transformer", task="translation_multi_simple_epoch")
    loop.append(loop)
    cycle.langs, cycle.dropout = loop, cycle
    assert "option args." in refusal(args=cycle)


def test_hydras_escapes():
    r"""Options of old checkpoints are written in Hydra's grammar, where `$\{` is `${`."""
    given = Namespace(arch="transformer", task="translation", source_lang=r"\', $\{oc.env:HOME\}")
    assert "option args.source_lang is " in refusal(args=given)


# --- every option that is a text is known to be harmless or is in one of the gate's lists

HARMLESS = [
    "_name", "aim_run_hash", "alignments", "arch", "bert_score_lang",
    "best_checkpoint_metric", "bpe",
    "bpe_separator", "centric_language", "checkpoint_suffix", "criterion", "data", "ddp_backend",
    "decoder__name",
    "distributed_backend", "drop_residual_layers", "encoder__name", "encoder_vectors",
    "eos_token", "epoch2lr",
    "eval_bleu_args", "eval_bleu_detok", "eval_bleu_detok_args", "eval_bleu_remove_bpe", "extra_lang_pairs",
    "gen_subset", "groups", "improvement_metrics", "lang_pairs", "langs", "langtoks", "langtoks_specs",
    "layer_sums",
    "additive_margin_nested_widths", "sentence_contrast_nested_widths",
    "losses", "lr_scheduler", "new_rows", "no_whole_word_mask_langs", "optimizer", "pairs",
    "pooling_layer", "post_process", "pretraining_tasks",
    "quant_noise__name", "remove_bpe", "replace_unk", "retain_dropout_modules", "sampling_weights",
    "scoring", "slowmo_base_algorithm", "source_lang", "target_lang", "task", "teacher", "teacher_pooling",
    "token_encoder", "token_encoder_checksum", "tokenizer", "train_subset",
    "translation_pairs", "update2lr", "valid_subset", "wandb_project", "zero_shot_lang_pairs",
]  # fmt: skip


def all_declared():
    for section in declared_options.sections():
        names = declared_options.known_names(section) if section in declared_options.NAMES else [None]
        for name in names:
            yield from declared_options.of_section(section, name).items()
    yield from declared_options.OF_OLD_VERSIONS.items()


def test_every_text_is_classified():
    """A new option of fairseq or of ours that holds text fails here: does it name a file, is it evaluated?"""
    texts = {name for name, kind in all_declared() if "str" in str(kind) or "Any" in str(kind)}
    listed = [HARMLESS, REFUSED_FILES, FILES_OF_THE_TRAINING, EVALUATED]
    assert texts == set().union(*listed)
    assert sum(map(len, listed)) == len(texts)


def test_no_harmless_option_is_called_a_file():
    words = (
        "path",
        "file",
        "dir",
        "checkpoint",
        "pretrained",
        "load",
        "dict",
        "model",
        "json",
        "vocab",
        "codes",
    )
    named = {name for name in HARMLESS if set(words) & set(name.split("_"))}
    assert named == {"best_checkpoint_metric", "checkpoint_suffix"}


# --- the gate stands in every way of fairseq


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_toy_folder(tmp_path_factory.mktemp("gate") / "data")


ATTACKS = {
    "adaptive_softmax_cutoff": {},
    "encoder_xformers_att_config": {},
    "decoder_xformers_att_config": {},
    "left_pad_source": {"section": "task", "task": "translation_multi_simple_epoch"},
    "encoder_layers": {"arch": "fconv"},
    "decoder_attention": {"arch": "lstm"},
}


@pytest.mark.parametrize("option", ATTACKS)
def test_attacks_work_without_the_gate_and_not_with_it(tmp_path, folder, monkeypatch, option):
    sentinel = tmp_path / "owned"
    path = write_attack(tmp_path / "evil.pt", folder, sentinel, option, **ATTACKS[option])
    loaders = [
        read_checkpoint,
        checkpoint_utils.load_checkpoint_to_cpu,
        lambda name: checkpoint_utils.load_model_ensemble_and_task([name]),
        lambda name: checkpoint_utils.load_pretrained_component_from_model(None, name),
        checkpoint_utils.load_ema_from_checkpoint,
    ]
    for load in loaders:
        with pytest.raises(InputError, match=f"^{path}: "):
            load(path)
        assert not sentinel.exists()
    monkeypatch.setattr(checkpoint_utils, "torch", torch)
    with contextlib.suppress(Exception):
        checkpoint_utils.load_model_ensemble_and_task([path])
    assert sentinel.exists()
