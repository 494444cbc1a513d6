"""Every number among the options of models and criteria has a range, in training."""

import argparse
from argparse import Namespace

import pytest
from fairseq.criterions import CRITERION_DATACLASS_REGISTRY
from fairseq.dataclass.utils import gen_parser_from_dataclass
from fairseq.models import MODEL_REGISTRY

from command_line.errors import InputError
from fairseq_ext.models.mnmt_transformer import UNSUPPORTED
from fairseq_ext.tasks.option_ranges import RANGES, check_ranges
from tests.fairseq_ext.folders import write_toy_folder
from tests.fairseq_ext.test_multilingual_nmt import SIZES, make_task, refused

MODELS = ("mnmt_transformer", "interlingua_transformer", "sentence_encoder")
CHECKED_BY_MODELS = {"interlingua_layers", "interlingua_length", "interlingua_max_length", "pooler_width",
                     "interlingua_length_jitter", "sentence_width"}  # fmt: skip
OF_WHAT_IS_REFUSED = {
    "quant_noise_pq_block_size",
    "base_sublayers",
    "base_shuffle",
}  # quantization, BASE layers
OF_OTHER_TRAININGS = {"min_params_to_wrap"}  # fully sharded ones


def numbers(parser: argparse.ArgumentParser) -> set[str]:
    return {action.dest for action in parser._actions if action.type in (int, float)}


def test_every_number_of_a_model_has_a_range():
    for name in MODELS:
        parser = argparse.ArgumentParser(conflict_handler="resolve")
        MODEL_REGISTRY[name].add_args(parser)
        others = {*UNSUPPORTED, *CHECKED_BY_MODELS, *OF_WHAT_IS_REFUSED, *OF_OTHER_TRAININGS}
        assert numbers(parser) - others - RANGES.keys() == set()


def test_every_number_of_the_translation_loss_has_a_range():
    parser = argparse.ArgumentParser()
    gen_parser_from_dataclass(parser, CRITERION_DATACLASS_REGISTRY["label_smoothed_cross_entropy"]())
    assert numbers(parser) <= RANGES.keys()


@pytest.mark.parametrize("name", RANGES)
def test_what_is_out_of_its_range_is_refused(name):
    is_share = "below 1" in RANGES[name].expected
    for value in (-1, float("nan"), float("inf"), *[1, 2] * is_share):
        with pytest.raises(InputError, match=f"^--{name.replace('_', '-')} {value}: expected a "):
            check_ranges(Namespace(**{name: value}))
    check_ranges(Namespace(**{name: 0.5 if is_share else 1}))
    check_ranges(Namespace(**{name: None}))


@pytest.fixture
def task(tmp_path):
    return make_task(write_toy_folder(tmp_path / "data"))


def test_a_training_refuses_them(task):
    options = {"_name": "mnmt_transformer", "arch": "mnmt_transformer", **SIZES}
    message = refused(task.build_model, Namespace(**options | {"encoder_layers": -1}))
    assert message.startswith("--encoder-layers -1: expected a whole number from 0")
    task.build_model(Namespace(**options))
    for value in (2, -1, float("nan")):
        criterion = {"_name": "label_smoothed_cross_entropy", "sentence_avg": False, "label_smoothing": value}
        message = refused(task.build_criterion, Namespace(**criterion))
        assert message == f"--label-smoothing {value}: expected a number from 0 below 1"
