"""Criterion `nmt_with_auxiliary_losses`: the translation loss plus any number of weighted auxiliary losses.

    --criterion nmt_with_auxiliary_losses --auxiliary-losses word_contrastive,attention_alignment

Without `--auxiliary-losses` it is fairseq's `label_smoothed_cross_entropy`, with `--fused-vocabulary-loss`
our `fused_label_smoothed_cross_entropy`, to the last bit.
"""

import contextlib
import dataclasses
import logging
import math
from types import MappingProxyType

import torch
from fairseq.criterions import FairseqCriterion, register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from fairseq.logging import metrics

from command_line.errors import InputError
from fairseq_ext.criterions.fused_label_smoothed_cross_entropy import FusedLabelSmoothedCrossEntropyCriterion
from fairseq_ext.losses.auxiliary_loss import AuxiliaryLoss, ModelOutputs, ModelSizes
from fairseq_ext.losses.registry import LOSSES
from fairseq_ext.modules.dropout import set_dropout

logger = logging.getLogger(__name__)
TRANSLATION = "nmt_loss"  # how the translation loss alone is logged; `loss` is the sum of all


@dataclasses.dataclass
class _OwnOptions(LabelSmoothedCrossEntropyCriterionConfig):
    auxiliary_losses: str = dataclasses.field(
        default="", metadata={"help": f"comma-separated, of: {', '.join(LOSSES)} (default: none)"}
    )
    fused_vocabulary_loss: bool = dataclasses.field(
        default=False,
        metadata={"help": "translation loss as in --criterion fused_label_smoothed_cross_entropy"},
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


NmtWithAuxiliaryLossesConfig = dataclasses.make_dataclass(
    "NmtWithAuxiliaryLossesConfig",
    _options_of_losses(),
    bases=(_OwnOptions,),
    namespace={"__module__": __name__},
)


def build_losses(cfg, sizes: ModelSizes | None) -> dict[str, AuxiliaryLoss]:
    """The losses that `--auxiliary-losses` names, with their options.

    Raises:
        InputError: no such loss, one that occurs twice, an option's value that a loss refuses, or a task that
            does not know the model.
    """
    names = [name.strip() for name in (cfg.auxiliary_losses or "").split(",") if name.strip()]
    for name in names:
        if name not in LOSSES:
            raise InputError(
                f"--auxiliary-losses {cfg.auxiliary_losses}: no loss {name!r}; expected {', '.join(LOSSES)}"
            )
        if names.count(name) > 1:
            raise InputError(f"--auxiliary-losses {cfg.auxiliary_losses}: {name!r} occurs twice")
    if names and sizes is None:
        raise InputError("--auxiliary-losses: need --task multilingual_nmt")
    losses = {}
    for name in names:
        given = {
            option.name: getattr(cfg, f"{name}_{option.name}")
            for option in dataclasses.fields(LOSSES[name].Options)
        }
        losses[name] = LOSSES[name](LOSSES[name].Options(**given), sizes)
    return losses


@contextlib.contextmanager
def observed(model, decoder_arguments):
    """What encoder and decoder return when the model is called inside; the decoder gets further arguments.

    Hooks, so that any model of fairseq's will do, and so that the call itself, which distributed training
    wraps, stays the translation loss's. A model of several calls shows the last.
    """
    seen = {}
    hooks = [
        model.encoder.register_forward_hook(lambda module, inputs, output: seen.update(source=output)),
        model.decoder.register_forward_hook(lambda module, inputs, output: seen.update(decoder=output[1])),
        model.decoder.register_forward_pre_hook(
            lambda module, inputs, named: (inputs, {**named, **decoder_arguments}), with_kwargs=True
        ),
    ]
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


@register_criterion("nmt_with_auxiliary_losses", dataclass=NmtWithAuxiliaryLossesConfig)
class NmtWithAuxiliaryLosses(FairseqCriterion):
    """Sum of the translation loss and the weighted auxiliary losses; gradients are divided by `sample_size`
    tokens (sentences with `--sentence-avg`), as in the translation loss's criterion.

    The mirror is encoded by itself, after the translation loss: on a CPU that is faster than one batch of
    both, whose sentences must be padded to the longest of either side; and it leaves the translation loss,
    dropout included, as it is without auxiliary losses.

    `loss` is logged as the sum of all, `nmt_loss` as the translation loss alone, and every auxiliary loss
    under its name, unweighted, per unit of its own; all in bits, in training and in validation. Losses per
    token (`reduce=False`) are those of the translation loss.

    The losses' parameters are the criterion's: fairseq trains them, saves them beside the model under
    "criterion", and restores them when training is resumed. Inference never sees them.
    """

    def __init__(self, task, translation: FairseqCriterion, losses: dict[str, AuxiliaryLoss]):
        super().__init__(task)
        self.translation = translation
        self.losses = torch.nn.ModuleDict(losses)
        self.batch_fields = tuple(
            dict.fromkeys(name for loss in losses.values() for name in loss.batch_fields)
        )
        arguments: dict = {}
        for name, loss in losses.items():
            if loss.decodes_again:
                continue
            for key, value in loss.decoder_arguments.items():
                if arguments.setdefault(key, value) != value:
                    raise InputError(f"--auxiliary-losses: {name} cannot be combined with another one: {key}")
        self.decoder_arguments = MappingProxyType(arguments)
        dropouts = [loss.model_dropout for loss in losses.values() if loss.model_dropout is not None]
        self.model_dropout = dropouts[0] if dropouts else None

    @classmethod
    def build_criterion(cls, cfg, task):
        fused = cfg.fused_vocabulary_loss
        translation = FusedLabelSmoothedCrossEntropyCriterion if fused else LabelSmoothedCrossEntropyCriterion
        losses = build_losses(cfg, getattr(task, "model_sizes", None))
        return cls(task, translation.build_criterion(cfg, task), losses)

    def forward(self, model, sample, reduce=True):
        if not self.losses or not reduce:
            return self.translation(model, sample, reduce)
        if self.model_dropout is not None:
            set_dropout(model, self.model_dropout)
        with observed(model, self.decoder_arguments) as seen:
            loss, sample_size, log = self.translation(model, sample, reduce)
        log[TRANSLATION] = log["loss"]
        outputs = ModelOutputs(
            seen["source"], self._encode_mirror(model, sample, seen["source"]), seen["decoder"]
        )
        for name, auxiliary in self.losses.items():
            term = auxiliary(self._seen_by(auxiliary, model, sample, outputs), sample)
            loss = loss + term.loss
            log[f"{name}:sum"], log[f"{name}:count"] = term.value, term.count
        log["loss"] = loss.data
        return loss, sample_size, log

    def _encode_mirror(self, model, sample, source):
        if "mirror" not in self.batch_fields:
            return None
        shared = source.get("mirror_arguments", {})  # what an encoder wants both sentences of a pair to have
        return model.encoder(**sample["mirror"], **shared, return_all_hiddens=True)

    def _seen_by(self, loss: AuxiliaryLoss, model, sample, outputs: ModelOutputs) -> ModelOutputs:
        """What a loss looks at: the translation loss's pass of the decoder, or one of its own."""
        if not loss.decodes_again:
            return outputs
        decoder_input = sample["net_input"]["prev_output_tokens"]
        _, seen = model.decoder(
            decoder_input, encoder_out=outputs.source, features_only=True, **loss.decoder_arguments
        )
        return dataclasses.replace(outputs, decoder=seen)

    def load_state_dict(self, state_dict, strict=True):
        """Also accepts a checkpoint that was trained without some of the losses: those begin untrained."""
        own = self.state_dict()
        state_dict = state_dict or {}
        new = [
            name
            for name in self.losses
            if not any(key.startswith(f"losses.{name}.") for key in state_dict)
            and any(key.startswith(f"losses.{name}.") for key in own)
        ]
        if new:
            logger.warning(f"the checkpoint lacks the parameters of {', '.join(new)}: they begin untrained")
        missing = {key: value for key, value in own.items() if key.split(".")[1] in new}
        return super().load_state_dict({**missing, **state_dict}, strict=strict)

    @classmethod
    def reduce_metrics(cls, logging_outputs) -> None:
        LabelSmoothedCrossEntropyCriterion.reduce_metrics(logging_outputs)

        def total(key):
            return sum(log.get(key, 0) for log in logging_outputs)

        if TRANSLATION in logging_outputs[0]:
            tokens = total("sample_size")
            metrics.log_scalar(TRANSLATION, total(TRANSLATION) / tokens / math.log(2), tokens, round=3)
        for name in LOSSES:
            if count := total(f"{name}:count"):
                metrics.log_scalar(name, total(f"{name}:sum") / count / math.log(2), count, round=3)

    @staticmethod
    def logging_outputs_can_be_summed() -> bool:
        return True
