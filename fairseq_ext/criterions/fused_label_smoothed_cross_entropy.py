"""Criterion `fused_label_smoothed_cross_entropy`: fairseq's `label_smoothed_cross_entropy`, faster and in
less memory.
"""

import torch
from fairseq.criterions import register_criterion
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
    LabelSmoothedCrossEntropyCriterionConfig,
)
from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.modules.vocabulary_loss import fused_label_smoothed_loss


@register_criterion("fused_label_smoothed_cross_entropy", dataclass=LabelSmoothedCrossEntropyCriterionConfig)
class FusedLabelSmoothedCrossEntropyCriterion(LabelSmoothedCrossEntropyCriterion):
    """Same options, same sums and same logs as its parent; gradients are divided by `sample_size` tokens,
    as there.

    Losses per token (`reduce=False`) and ignored prefixes go through the parent, and validation with
    `--report-accuracy`; training does not report it. What is training is told by gradients: a batch that
    stands in for an empty one has the criterion's mode of validation, and the other processes' logs.
    """

    def forward(self, model, sample, reduce=True):
        reports_accuracy = self.report_accuracy and not torch.is_grad_enabled()
        if not reduce or self.ignore_prefix_size or reports_accuracy:
            return super().forward(model, sample, reduce)
        projection = projection_of(model)
        features, _ = model(**sample["net_input"], features_only=True)
        loss, nll_loss = fused_label_smoothed_loss(
            features, projection, sample["target"], self.eps, self.padding_idx
        )
        sample_size = sample["target"].size(0) if self.sentence_avg else sample["ntokens"]
        logging_output = {
            "loss": loss.data,
            "nll_loss": nll_loss.data,
            "ntokens": sample["ntokens"],
            "nsentences": sample["target"].size(0),
            "sample_size": sample_size,
        }
        return loss, sample_size, logging_output


def projection_of(model) -> Tensor:
    """The matrix from the decoder's features to the vocabulary, V x C.

    Raises:
        InputError: an adaptive softmax, which has none.
    """
    projection = getattr(model.decoder, "output_projection", None)
    if projection is None:
        raise InputError(
            "--adaptive-softmax-cutoff: the fused loss needs one projection to the vocabulary; use"
            " --criterion adaptive_loss, or leave the option out"
        )
    return projection.weight
