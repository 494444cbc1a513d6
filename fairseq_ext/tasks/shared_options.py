"""The options that our tasks share."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import List, Optional

import torch
from fairseq.dataclass import FairseqDataclass
from fairseq.utils import split_paths
from omegaconf import II

from command_line.errors import InputError
from fairseq_ext.options import option
from fairseq_ext.tasks.improvements import LARGER_IS_BETTER, LESS_IS_BETTER
from fairseq_ext.tasks.improvements import NAME as IMPROVEMENTS

# First words of the names of measures, and options without which validation does not log them.
MEASURED_WITH = {
    "bleu": ("eval_bleu",),
    "zero_shot_bleu": ("eval_bleu", "zero_shot_lang_pairs"),
    "retrieval": ("eval_retrieval",),
    IMPROVEMENTS: ("improvement_metrics",),
}


@dataclass
class SharedTaskConfig(FairseqDataclass):
    data: Optional[str] = option(
        "folder of `python -m data_prep binarize` (several, separated by colons: one per epoch)"
    )
    langs: str = option(
        "languages that get a tag, in this order (default: those that are trained on, sorted)", ""
    )
    sampling_temperature: Optional[float] = option(
        "sample directions (pre-training: files) with p ~ size^(1/T); default: everything once "
        "per epoch (thesis 8.2.1)"
    )
    max_source_positions: int = option(
        "longest source in tokens, tags and </s> included (thesis 8.2.1: 256)", 256
    )
    max_target_positions: int = option(
        "longest target in tokens, tag and </s> included (thesis 8.2.1: 256)", 256
    )
    autocast_bf16: bool = option(
        "bfloat16 autocast on CPU and GPU: float32 weights and losses, bfloat16 products", False
    )
    compile: bool = option(
        "train with layers compiled by torch.compile, for GPUs; on a CPU layers are faster as they are", False
    )
    improvement_metrics: str = option(
        "count validations in which all of these are better than before, for example "
        "accuracy,ppl, as `improvements`: for --best-checkpoint-metric improvements "
        "--maximize-best-checkpoint-metric --patience N (thesis 4.4.3)",
        "",
    )
    batches_per_update: Optional[int] = option(
        "batches (of --max-tokens or --batch-size) in an update, whatever the number of GPUs or "
        "processes; --update-freq then is that number by processes, rounded up "
        "(default: --update-freq times processes)"
    )
    virtual_epoch_updates: Optional[int] = option(
        "virtual epochs: divide every pass over the training data into epochs of at most so many"
        " updates, after each of which is validated and saved (default: a pass is an epoch)"
    )
    update_freq: List[int] = II("optimization.update_freq")
    train_subset: str = II("dataset.train_subset")
    seed: int = II("common.seed")
    max_update: int = II("optimization.max_update")
    fp16: bool = II("common.fp16")
    bf16: bool = II("common.bf16")
    amp: bool = II("common.amp")
    cpu: bool = II("common.cpu")
    ddp_backend: str = II("distributed_training.ddp_backend")
    find_unused_parameters: bool = II("distributed_training.find_unused_parameters")
    store_ema: bool = II("ema.store_ema")
    valid_subset: str = II("dataset.valid_subset")
    max_valid_steps: Optional[int] = II("dataset.max_valid_steps")
    curriculum: int = II("dataset.curriculum")
    skip_remainder_batch: bool = II("optimization.skip_remainder_batch")
    best_checkpoint_metric: str = II("checkpoint.best_checkpoint_metric")
    maximize_best_checkpoint_metric: bool = II("checkpoint.maximize_best_checkpoint_metric")


def check_shared_options(cfg) -> None:
    """Refuse values of shared options that mean nothing."""
    if cfg.sampling_temperature is not None and not cfg.sampling_temperature >= 1:  # nor NaN
        raise InputError(f"--sampling-temperature {cfg.sampling_temperature}: expected a number >= 1")
    if cfg.batches_per_update is not None and cfg.batches_per_update < 1:
        raise InputError(f"--batches-per-update {cfg.batches_per_update}: expected a whole number >= 1")
    virtual = cfg.virtual_epoch_updates
    if virtual is not None and virtual < 1:
        raise InputError(f"--virtual-epoch-updates {virtual}: expected a whole number >= 1")
    if virtual is not None and len(split_paths(cfg.data)) > 1:
        raise InputError(
            f"--virtual-epoch-updates {virtual}: several folders are an epoch each already; give one of both"
        )


def chosen_measures(cfg) -> list[str]:
    """What of a validation decides which checkpoint is the best, and when a training stops."""
    improving = (name.strip() for name in cfg.improvement_metrics.split(","))
    return [str(cfg.best_checkpoint_metric), *filter(None, improving)]


def check_training(cfg) -> None:
    """Refuse options of fairseq that a training with our tasks does not have, or that do not go together."""
    _check_arithmetic(cfg)
    _check_validation(cfg)
    if cfg.virtual_epoch_updates is not None:
        _check_virtual_epochs(cfg)
    if cfg.ddp_backend == "fully_sharded":
        raise InputError(
            "--ddp-backend fully_sharded: losses here look into the model; expected pytorch_ddp or legacy_ddp"
        )
    if cfg.store_ema is True:
        raise InputError("--store-ema: nothing reads these weights; average checkpoints when it has ended")


def _check_arithmetic(cfg) -> None:
    if cfg.amp is True:
        raise InputError("--amp: is not for these tasks; expected --autocast-bf16 or --fp16")
    if cfg.bf16 is True:
        raise InputError("--bf16: is for TPUs in fairseq, which looks for one; expected --autocast-bf16")
    if cfg.autocast_bf16 is True and cfg.fp16 is True:
        raise InputError("--autocast-bf16 --fp16: are 2 kinds of half precision, expected one")
    if cfg.fp16 is True and (cfg.cpu is True or not torch.cuda.is_available()):
        raise InputError("--fp16: needs a GPU; expected --autocast-bf16 on a processor")


def _check_validation(cfg) -> None:
    if cfg.train_subset in str(cfg.valid_subset).split(","):
        raise InputError(
            f"--valid-subset {cfg.valid_subset}: {cfg.train_subset} is what is trained on, sampled and mixed;"
            " expected other sets"
        )
    for measure in chosen_measures(cfg):
        needed = (options for first, options in MEASURED_WITH.items() if measure.startswith(first))
        for needed_option in chain.from_iterable(needed):
            if not getattr(cfg, needed_option, None):  # else it ends after an epoch
                raise InputError(f"{measure} is not measured without --{needed_option.replace('_', '-')}")
    name = str(cfg.best_checkpoint_metric)
    larger = name.startswith((*LARGER_IS_BETTER, IMPROVEMENTS))
    if larger and cfg.maximize_best_checkpoint_metric is False:
        raise InputError(
            f"--best-checkpoint-metric {name}: more is better; add --maximize-best-checkpoint-metric"
        )
    if name.startswith(LESS_IS_BETTER) and cfg.maximize_best_checkpoint_metric is True:
        raise InputError(
            f"--best-checkpoint-metric {name}: less is better; leave out --maximize-best-checkpoint-metric"
        )


def _check_virtual_epochs(cfg) -> None:
    """They are made of the order and the number of updates of whole passes."""
    refused = {
        "--skip-remainder-batch": cfg.skip_remainder_batch is True,
        "--curriculum": isinstance(cfg.curriculum, int) and cfg.curriculum > 0,
        f"--update-freq {','.join(map(str, cfg.update_freq))}": len(cfg.update_freq) > 1,
    }
    for typed in (typed for typed, is_there in refused.items() if is_there):
        raise InputError(f"{typed}: counts epochs, which --virtual-epoch-updates divides; give one of both")


def languages_with_tag(cfg: SharedTaskConfig, used: Iterable[str], option: str) -> list[str]:
    """`--langs`, or those that are trained on in alphabetical order, as fairseq does.

    Args:
        option: that names those that are used.

    Raises:
        InputError: `--langs` lacks one of them.
    """
    used = set(used)
    if not cfg.langs:
        return sorted(used)
    given = cfg.langs.split(",")
    if missing := sorted(used - set(given)):
        raise InputError(f"--langs {cfg.langs}: lacks {', '.join(missing)}, which {option} uses")
    return given
