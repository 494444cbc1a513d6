"""Which losses are trained and with which options: the command line of the criterion `weighted_losses`."""

import dataclasses

from fairseq.criterions import FairseqCriterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)

from command_line.errors import InputError
from fairseq_ext.criterions.fused_label_smoothed_cross_entropy import FusedLabelSmoothedCrossEntropyCriterion
from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.losses.weighted_loss import ModelSizes, WeightedLoss
from fairseq_ext.options import option

TRANSLATION = "translation"
TRANSLATION_LOG = "nmt_loss"  # how that loss alone is logged beside others; `loss` is the sum of all


@dataclasses.dataclass
class _OptionsOfTranslation(LabelSmoothedCrossEntropyCriterionConfig):
    translation_weight: float = option("of the translation loss among other losses", 1.0)
    fused_vocabulary_loss: bool = option(
        "translation loss as in --criterion fused_label_smoothed_cross_entropy", False
    )


def _options_of_losses() -> list[tuple]:
    """Every option of every loss, as a field with the loss's name in front."""
    return [
        (
            f"{name}_{option.name}",
            option.type,
            dataclasses.field(default=option.default, metadata=option.metadata),
        )
        for name, loss in LOSSES.items()
        for option in dataclasses.fields(loss.Options)
    ]


OptionsOfLosses = dataclasses.make_dataclass(
    "OptionsOfLosses",
    _options_of_losses(),
    bases=(_OptionsOfTranslation,),
    namespace={"__module__": __name__},
)


@dataclasses.dataclass
class WeightedLossesConfig(OptionsOfLosses):
    losses: str = option(
        f"what is learned, comma-separated, of: {', '.join([TRANSLATION, *LOSSES])}", TRANSLATION
    )
    cached_gradients: int = option(
        "batches larger than the memory: the encoder holds the activations of this many sentence "
        "pairs at a time, and computes them twice (GradCache, Gao et al. 2021; default: of all)",
        0,
    )


def names_of_losses(cfg) -> list[str]:
    """What `--losses` names.

    Raises:
        InputError: nothing, no such loss, or one that occurs twice.
    """
    registered = [TRANSLATION, *LOSSES]
    names = [name.strip() for name in (cfg.losses or "").split(",") if name.strip()]
    if not names:
        raise InputError(f"--losses: names none; expected some of {', '.join(registered)}")
    for name in names:
        if name not in registered:
            raise InputError(f"--losses {cfg.losses}: no loss {name!r}; expected {', '.join(registered)}")
        if names.count(name) > 1:
            raise InputError(f"--losses {cfg.losses}: {name!r} occurs twice")
    return names


def unused_options(cfg, names: list[str]) -> list[str]:
    """Options, as the command line has them, that were given to losses that are not trained.

    Args:
        names: of all losses that are.
    """
    return sorted(
        f"--{name}-{option.name}".replace("_", "-")
        for name, loss in LOSSES.items()
        if name not in names
        for option in dataclasses.fields(loss.Options)
        if getattr(cfg, f"{name}_{option.name}") != option.default
    )


def build_losses(cfg, names: list[str], sizes: ModelSizes | None) -> dict[str, WeightedLoss]:
    """The losses of the registry with these names, with their options.

    Raises:
        InputError: an option's value that a loss refuses, a task that does not know the model, or a model
            without the decoder that a loss needs, or none of sentences.
    """
    if names and sizes is None:
        raise InputError(f"--losses {cfg.losses}: need --task multilingual_nmt or sentence_embedding")
    losses = {}
    for name in names:
        if LOSSES[name].needs_decoder and not sizes.has_decoder:
            raise InputError(f"--losses {name}: needs a model with a decoder")
        if LOSSES[name].needs_sentence_encoder and sizes.pooled_width is None:
            raise InputError(f"--losses {name}: needs a sentence encoder; expected --task sentence_embedding")
        given = {
            option.name: getattr(cfg, f"{name}_{option.name}")
            for option in dataclasses.fields(LOSSES[name].Options)
        }
        losses[name] = LOSSES[name](LOSSES[name].Options(**given), sizes)
    return losses


def check_trained(names: list[str], losses: dict[str, WeightedLoss], sizes: ModelSizes | None) -> None:
    """Refuse parameters of the sentence vectors that no loss would train.

    Args:
        names: of all losses, translation included, whose decoder sees the vectors.

    Raises:
        InputError: all losses look at the states of tokens, below those parameters.
    """
    seen = TRANSLATION in names or not all(loss.looks_at_tokens_only for loss in losses.values())
    if losses and sizes.above_tokens and not seen:
        raise InputError(
            f"{sizes.above_tokens[0]}: would stay untrained, as --losses {','.join(names)} compare states of "
            f"tokens; leave it out, or compare vectors (--{names[0].replace('_', '-')}-similarity dot)"
        )


def check_cached_gradients(pairs: int, losses: dict[str, WeightedLoss], translates: bool) -> None:
    """Refuse cached gradients that the losses cannot have.

    Args:
        translates: is there a translation loss beside them?

    Raises:
        InputError: not a number of pairs, or a loss that looks at more of a sentence than its vector.
    """
    if pairs < 0:
        raise InputError(f"--cached-gradients {pairs}: expected a number of sentence pairs, 0 or above")
    too_curious = [name for name, loss in losses.items() if not loss.looks_at_vectors_only]
    for name in [TRANSLATION] * translates + too_curious:
        if pairs:
            raise InputError(
                f"--cached-gradients {pairs}: --losses {name} needs more of a sentence than its vector"
            )


def build_translation(cfg, task) -> FairseqCriterion:
    """The translation loss: a criterion of fairseq's, which calls the model.

    Raises:
        InputError: the model has no decoder, or the weight is negative.
    """
    sizes = getattr(task, "model_sizes", None)
    if sizes is not None and not sizes.has_decoder:
        default = ", the default" if cfg.losses == TRANSLATION else ""
        others = ", ".join(name for name, loss in LOSSES.items() if not loss.needs_decoder)
        raise InputError(
            f"--losses {TRANSLATION}{default}: needs a model with a decoder; an encoder alone learns by some"
            f" of {others}"
        )
    if not cfg.translation_weight >= 0:
        raise InputError(f"--translation-weight {cfg.translation_weight}: expected a number, 0 or above")
    fused = cfg.fused_vocabulary_loss
    criterion = FusedLabelSmoothedCrossEntropyCriterion if fused else LabelSmoothedCrossEntropyCriterion
    return criterion.build_criterion(cfg, task)
