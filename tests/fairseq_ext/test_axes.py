"""Axes: every choice on every axis is another system, with a record and a name of its own."""

import json
import re
from argparse import Namespace
from dataclasses import dataclass, field, fields
from enum import Enum
from itertools import chain, combinations

import pytest
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_CONFIG_REGISTRY, ARCH_MODEL_REGISTRY
from omegaconf import OmegaConf

from command_line.errors import InputError
from fairseq_ext.axes.record import AXES, check_record, choices, describe, name_of, order
from fairseq_ext.criterions.options_of_losses import TRANSLATION
from fairseq_ext.data import language_tags
from fairseq_ext.data.language_tags import DEFAULT_PLACEMENT
from fairseq_ext.data.noising import tasks
from fairseq_ext.export.encoder_graph import placement_of_layer
from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.losses.weighted_loss import WeightedLoss
from fairseq_ext.models.interlingua_options import INTERLINGUAS, InterlinguaTransformerConfig
from fairseq_ext.models.lealla_architectures import ROWS
from fairseq_ext.models.mnmt_transformer import MnmtTransformerConfig, MnmtTransformerModel
from fairseq_ext.models.sentence_encoder_options import SentenceEncoderConfig
from fairseq_ext.modules import residual_block
from fairseq_ext.modules.pooling import POOLINGS
from tests.fairseq_ext.models import build, toy_dictionary
from tests.recipes.commands import parse_training

USUAL = ["--arch", "mnmt_transformer", "--criterion", "weighted_losses", "--label-smoothing", "0.1"]


def record_of(*given: str, initialized_from: dict | None = None, task: str = "multilingual_nmt") -> dict:
    """The record of a training with these options, the last of several being valid."""
    words = ["fairseq-train", "data", "--task", task, *USUAL, *given]
    args = parse_training(words)
    cfg = {"model": args, "task": args, "criterion": args, "common": {"seed": args.seed}}
    tags = (args.language_tags or DEFAULT_PLACEMENT) if task == "multilingual_nmt" else None
    return describe(cfg, tags and str(tags), initialized_from or {})


def options_of(dataclass_type, prefix: str, others: tuple[str, ...] = (), **chosen) -> dict[str, list[str]]:
    """Every option of a configuration with a value that is not its default."""
    found = {}
    for one in fields(dataclass_type):
        if one.name in others:
            continue
        option = f"--{prefix}{one.name}".replace("_", "-")
        if isinstance(one.default, bool):
            found[option] = [option]
        elif isinstance(one.type, type) and issubclass(one.type, Enum) and one.name not in chosen:
            found[option] = [option, next(str(each) for each in one.type if str(each) != one.default)]
        else:
            value = chosen[one.name] if one.name in chosen else (one.default or 0) + 3
            found[option] = [option, str(value)]
    return found


def bridges() -> dict[str, list[str]]:
    variable = ["--arch", "interlingua_transformer"]
    fixed = {
        f"{kind} {length}": [*variable, "--interlingua", kind, "--interlingua-length", str(length)]
        for kind in INTERLINGUAS
        if kind != "variable"
        for length in (17, 21)
    }
    others = (*MnmtTransformerConfig.__dataclass_fields__, "interlingua", "interlingua_length")
    options = options_of(InterlinguaTransformerConfig, "", others, centric_language="de")
    return {"variable": variable, **fixed, **{name: variable + words for name, words in options.items()}}


def losses() -> dict[str, list[str]]:
    found = {
        "no translation": ["--losses", "word_contrastive"],
        "translation weight": ["--translation-weight", "0.5"],
        "no smoothing": ["--label-smoothing", "0"],
        "smoothing": ["--label-smoothing", "0.3"],
    }
    for name, loss in LOSSES.items():
        chosen = ["--losses", f"{TRANSLATION},{name}"]
        found[name] = chosen
        for option, words in options_of(loss.Options, f"{name}_").items():
            found[option] = chosen + words
    return found


SENTENCE_ENCODERS = ("sentence_encoder", "ems", "ems_small", *(name for name, _ in ROWS.values()))


def sentence_encoders() -> dict[str, list[str]]:
    usual = ["--arch", "ems_small", "--losses", "sentence_contrastive"]
    kinds = {name: [*usual, "--pooling", name] for name in POOLINGS if name != "mean"}
    from_folder = ("pretrained_encoder", "token_encoder", "token_encoder_checksum")
    others = (*MnmtTransformerConfig.__dataclass_fields__, "pooling", *from_folder)
    options = options_of(SentenceEncoderConfig, "", others, pooling_layer="mix")
    decoder = [*usual, "--decoder-layers", "1", "--losses", "translation,sentence_contrastive"]
    return {
        "sentence encoder": usual,
        "sentence encoder with translation": decoder,
        **kinds,
        **{name: usual + words for name, words in options.items()},
    }


SIZES = {  # beside a named architecture: in the record, not in the name
    words[0]: words for words in (["--encoder-layers", "9"], ["--dropout", "0.3"], ["--encoder-learned-pos"])
}


def systems() -> dict[str, dict]:
    """What was chosen -> record: one choice on one axis each, found in the registries."""
    norms, tags = (
        set(residual_block.PLACEMENTS) - {"post"},
        set(language_tags.PLACEMENTS) - {DEFAULT_PLACEMENT},
    )
    trainings = {
        **{f"norm {name}": ["--norm-placement", name] for name in norms},
        "simple": ["--no-norm-affine"],
        "sampling": ["--sampling-temperature", "1.5"],
        "without final norm": ["--norm-placement", "pre", "--no-encoder-final-norm"],
        **{f"tags {name}": ["--language-tags", name] for name in tags},
        **{f"residual {layers}": ["--drop-residual-layers", layers] for layers in ("4", "2,3")},
        **bridges(),
        **losses(),
        **sentence_encoders(),
        **{
            f"architecture {name}": ["--arch", name]
            for name, model in ARCH_MODEL_REGISTRY.items()
            if model.__module__.startswith("fairseq_ext.")
            and name not in ("mnmt_transformer", "interlingua_transformer")
        },
        **SIZES,
    }
    records = {name: record_of(*words) for name, words in trainings.items()}
    for task in tasks.TASKS:
        pretraining = record_of("--pretraining-tasks", f"ja={task}", task="linguistic_pretraining")
        origin = {"file": "a.pt", "sha256": "ab" * 32, "seed": 1, "system": pretraining}
        records |= {f"pre-training {task}": pretraining, f"from {task}": record_of(initialized_from=origin)}
    for option in ("--unify-task-tokens", "--inverted-mask"):
        records[option] = record_of(option, "--pretraining-tasks", "ja=mass", task="linguistic_pretraining")
    usual = record_of()
    origins = [{"file": "mbart/model.pt", "sha256": digest * 32} for digest in ("12", "34")]
    for number, origin in enumerate([*origins, {"file": "a.pt", "system": usual}]):
        records[f"from {number}"] = record_of(initialized_from=origin)
    return {"usual": usual, **records}


@pytest.fixture(scope="module")
def registered():
    return systems()


def test_every_choice_has_a_record_and_a_name_of_its_own(registered):
    assert len(registered) > 70
    names, records = {}, {}
    for chosen, record in registered.items():
        json.dumps(record)
        check_record(record, "scores.json")
        assert name_of(record) == record["name"]
        if chosen not in SIZES:
            names.setdefault(record["name"], []).append(chosen)
        without = {field: value for field, value in record.items() if field not in ("name", "seed")}
        records.setdefault(json.dumps(without, sort_keys=True), []).append(chosen)
    assert [chosen for chosen in (*names.values(), *records.values()) if len(chosen) > 1] == []


def test_one_choice_is_one_axis(registered):
    """All of them differ from the usual system, and from each other, on one axis or more."""
    known = {name: choices(record) for name, record in registered.items() if not name.startswith("pre-")}
    known = {name: found for name, found in known.items() if found}
    for first, second in combinations(known, 2):
        assert known[first] != known[second], (first, second)
    usual = dict.fromkeys(sentence_encoders(), known["sentence encoder"])
    differing = {
        name: [axis for axis in found if found[axis] != usual.get(name, known["usual"])[axis]]
        for name, found in known.items()
    }
    assert differing.pop("usual") == differing.pop("sentence encoder") == []
    several = {name: axes for name, axes in differing.items() if len(axes) > 1}
    assert several == {  # these architectures are choices on two axes by their definition
        "architecture interlingua_transformer_big": ["bridge", "architecture"],
        "architecture interlingua_transformer_tiny": ["bridge", "architecture"],
        "architecture mnmt_transformer_mbart": ["placement of normalization", "architecture"],
        **{f"architecture {name}": ["sentence encoder", "architecture"] for name in SENTENCE_ENCODERS},
        "sentence encoder with translation": ["losses", "architecture"],  # a decoder and what it learns from
    }


def test_names():
    assert record_of()["name"] == "PostNorm S-ENC-T-DEC"
    given = ["--losses", "translation,word_contrastive", "--word-contrastive-temperature", "0.1"]
    assert record_of(*given)["name"] == "PostNorm S-ENC-T-DEC +word_contrastive (temperature 0.1)"
    aligned = ["--losses", "translation,word_contrastive", "--alignments", "word2word"]
    assert record_of(*aligned)["name"] == "PostNorm S-ENC-T-DEC +word_contrastive (alignments word2word)"
    assert record_of("--alignments", "word2word")["name"] == "PostNorm S-ENC-T-DEC"  # nothing reads them
    jass = ["--pretraining-tasks", "ja=bmass+brss.f:2,en=mass", "--dropout", "0.3"]
    pretraining = record_of(*jass, task="linguistic_pretraining")
    assert pretraining["name"] == "PostNorm MASS (en) BMASS+BRSS.F:2 (ja)"
    assert record_of("--sampling-temperature", "5")["name"] == "PostNorm S-ENC-T-DEC (sampling temperature 5)"
    tuned = record_of("--dropout", "0.3", initialized_from={"system": pretraining})
    assert tuned["name"] == "PostNorm S-ENC-T-DEC from MASS (en) BMASS+BRSS.F:2 (ja)"
    again = record_of("--arch", "mnmt_transformer_tiny", initialized_from={"system": tuned})
    assert again["name"] == (
        "PostNorm S-ENC-T-DEC from usual architecture, from MASS (en) BMASS+BRSS.F:2 (ja) tiny"
    )


def test_names_of_sentence_encoders():
    """They have no tags and no translation loss to speak of."""
    ems = ["--arch", "ems", "--language-tags", "none", "--losses", "sentence_contrastive"]
    assert record_of(*ems)["name"] == "PostNorm +sentence_contrastive ems"
    pooled = [*ems, "--pooling", "cls", "--pooling-layer", "3", "--sentence-width", "256"]
    assert record_of(*pooled)["name"] == (
        "PostNorm CLS pooling (layer 3, sentence width 256) +sentence_contrastive ems"
    )
    translating = [*ems, "--language-tags", "t-dec", "--losses", "sentence_contrastive,translation"]
    assert record_of(*translating)["name"] == "PostNorm +translation +sentence_contrastive ems"


@pytest.mark.parametrize(
    ("pairs", "shown"),
    [
        ("nl-en,fr-en,de-en,cs-en", "on cs-en, de-en, fr-en, nl-en (pair budget 9)"),
        ("nl-en,fr-en,de-en,cs-en,it-en", "on 5 pairs (pair budget 9)"),
    ],
)
def test_up_to_four_pairs_are_spelled_out(pairs, shown):
    task = Namespace(_name="sentence_embedding", pairs=pairs, pair_budget=9)
    system = describe({"model": Namespace(arch="x"), "task": task, "common": {"seed": 3}}, None)
    assert system["name"] == f"PostNorm {shown} x"


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"norm_placement": "post"}, "PostNorm T-ENC"),
        ({"norm_placement": "pre"}, "PreNorm T-ENC"),
        ({"norm_placement": "swap-pre", "no_norm_affine": True}, "Swap-PreNorm-simple T-ENC"),
        ({"norm_placement": "sandwich"}, "Sandwich-LN T-ENC"),
        ({"norm_placement": "pre", "no_encoder_final_norm": True}, "PreNorm w/o Enc-Last T-ENC"),
        ({"norm_placement": "post", "drop_residual_layers": "4"}, "PostNorm T-ENC w/o Res."),
        ({"norm_placement": "pre", "drop_residual_layers": "2,3"}, "PreNorm T-ENC w/o Res. (2,3)"),
        ({"encoder_normalize_before": True}, "PreNorm T-ENC"),
        ({}, "PostNorm T-ENC"),
        (
            {"interlingua": "fixed-universal", "interlingua_length": 17},
            "PostNorm T-ENC Len-fix. Uni. Intl. (length 17)",
        ),
        ({"interlingua": "variable", "interlingua_length_jitter": 0}, "PostNorm T-ENC Len-vari. Intl."),
        (
            {
                "interlingua": "variable",
                "interlingua_length_jitter": 0.2,
                "length_predictor_source_length": True,
            },
            "PostNorm T-ENC Len-vari. Intl. (length jitter 0.2, length predictor source length)",
        ),
    ],
    ids=str,
)
def test_name_of_a_checkpoint_of_few_options(options, name):
    cfg = {"model": Namespace(arch="x", **options), "common": {"seed": 3}}
    system = describe(cfg, "t-enc")
    assert system["name"] == f"{name} x"
    assert (system["seed"], system["language_tags"], system["architecture"]) == (3, "t-enc", "x")
    assert "losses" not in system and "initialization" not in system  # nothing is known of them


def test_options_as_a_checkpoint_holds_them():
    given = ["--losses", "translation,length_prediction", "--length-prediction-deviation", "2"]
    given += ["--arch", "interlingua_transformer_tiny", "--encoder-layers", "4", "--lang-pairs", "en-de"]
    args = parse_training(["fairseq-train", "data", "--task", "multilingual_nmt", *USUAL, *given])
    cfg = OmegaConf.to_container(convert_namespace_to_omegaconf(args), resolve=True, enum_to_str=True)
    for options in (cfg, {name: OmegaConf.create(cfg[name]) for name in ("criterion", "task")} | cfg):
        record = describe(options, "s-enc-t-dec", {})
        schedule = record.pop("schedule")
        assert (schedule["lr"], schedule["name"], schedule["warmup_updates"]) == ([0.25], "fixed", 0)
        assert record == record_of(*given)
        assert record["losses"] == {"translation": {}, "length_prediction": {"deviation": 2.0}}
        assert record["architecture_options"] == {"encoder_layers": 4}


def test_criteria_that_are_translation_alone():
    plain, fused, summed = (
        record_of("--criterion", name)
        for name in ("label_smoothed_cross_entropy", "fused_label_smoothed_cross_entropy", "weighted_losses")
    )
    assert plain == fused == summed
    assert record_of("--fused-vocabulary-loss") == summed  # computes the same
    criterion = {"_name": "adaptive_loss"}
    other = describe({"model": Namespace(), "criterion": criterion, "common": {"seed": 1}}, "t-enc")
    assert other["name"] == "PostNorm T-ENC +adaptive_loss w/o translation"


def test_what_follows_from_other_options_is_not_recorded():
    record = record_of("--encoder-embed-dim", "64", "--decoder-embed-dim", "64", "--checkpoint-activations")
    assert record["architecture_options"] == {"encoder_embed_dim": 64}


def test_a_new_placement_is_one_entry(monkeypatch):
    def doubled(x, sublayer, norms, dropout, residual):
        of_contribution, of_sum = norms
        return of_sum(x + dropout(of_contribution(sublayer(x))))

    entry = residual_block.NormPlacement(
        "DoubleNorm", "LN(x+LN(F(x)))", final_norm=True, apply=doubled, norms=2
    )
    monkeypatch.setitem(residual_block.PLACEMENTS, "double", entry)
    model = build(MnmtTransformerModel, toy_dictionary(), norm_placement="double")
    layer = model.encoder.layers[0]
    assert placement_of_layer(layer) == "double" and len(layer.final_layer_norm) == 2
    assert model.encoder.layer_norm is not None and model.decoder.layer_norm is not None
    cfg = {"model": model.encoder.cfg, "common": {"seed": 1}}
    record = describe(cfg, "t-enc")
    assert record["name"].startswith("DoubleNorm T-ENC")
    bare = record | {"encoder_final_norm": False}
    assert name_of(bare).startswith("DoubleNorm w/o Enc-Last T-ENC")
    assert order(record)[0] is False  # it has a place in tables


def test_a_new_placement_of_tags_is_one_entry(monkeypatch):
    entry = language_tags.TagPlacement("T-END", encoder=(), decoder=False, source_ending=("target",))
    monkeypatch.setitem(language_tags.PLACEMENTS, "t-end", entry)
    assert describe({"model": Namespace(), "common": {"seed": 1}}, "t-end")["name"] == "PostNorm T-END"


def test_a_new_loss_and_a_new_architecture_are_named(monkeypatch):
    @dataclass
    class Options:
        weight: float = field(default=1.0, metadata={"help": "weight"})
        margin: float = field(default=0.3, metadata={"help": "margin"})

    loss = type("Distance", (WeightedLoss,), {"name": "distance", "Options": Options})
    monkeypatch.setitem(LOSSES, "distance", loss)
    monkeypatch.setitem(ARCH_CONFIG_REGISTRY, "mnmt_transformer_thin", lambda args: None)
    criterion = {"_name": "weighted_losses", "losses": "distance,translation", "label_smoothing": 0.1}
    criterion["distance_margin"] = 0.5
    cfg = {"model": Namespace(arch="mnmt_transformer_thin"), "criterion": criterion, "common": {"seed": 1}}
    record = describe(cfg, "t-enc")
    assert record["name"] == "PostNorm T-ENC +distance (margin 0.5) thin"
    assert record["losses"] == {"distance": {"margin": 0.5}, "translation": {}}


def test_a_system_of_which_nothing_was_recorded_has_no_choices():
    assert choices({"name": "ours", "seed": 1}) is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"norm_affine": "yes"}, "field 'system.norm_affine' is 'yes', expected true or false"),
        ({"losses": ["a"]}, "field 'system.losses' is ['a'], expected an object"),
        (
            {"initialization": {"system": {"language_tags": 3}}},
            "field 'system.initialization.system.language_tags' is 3, expected a string",
        ),
    ],
)
def test_malformed_records(fields, message):
    with pytest.raises(InputError, match=re.escape(message)):
        check_record({"name": "A", **fields}, "scores.json")


def test_axes_do_not_share_fields_or_options():
    for names in ([axis.fields for axis in AXES], [axis.options for axis in AXES]):
        assert len([*chain(*names)]) == len({*chain(*names)})
    assert len({axis.name for axis in AXES}) == len(AXES)
