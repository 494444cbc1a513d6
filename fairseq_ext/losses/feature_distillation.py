"""Feature distillation of LEALLA (thesis 3.3.1, A.1): the student's vectors become the teacher's."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from fairseq.dataclass import ChoiceEnum
from torch import Tensor, nn

from command_line.errors import InputError
from fairseq_ext.losses.distillation import Distillation, teacher_of
from fairseq_ext.losses.weighted_loss import Term, vectors_of
from fairseq_ext.modules.float32 import at_least_float32
from fairseq_ext.options import option

LAST, FIRST, SYNCHRONIZED = "distillation-last", "distillation-first", "synchronized"
NOTHING, TEACHER, BOTH = "none", "teacher", "both"
MAP = "--sentence-width"


@dataclass
class FeatureDistillationOptions:
    weight: float = option("beta of equation 3.5 (thesis 3.3.2: 1e3; LEALLA-large: 1e4)", 1e3)
    pattern: ChoiceEnum([LAST, FIRST, SYNCHRONIZED]) = option(
        f"where widths become equal. {LAST}: a dense layer on the student's vector (eq. 3.3); "
        f"{FIRST}: the vector below --sentence-width is as wide as the teacher's; {SYNCHRONIZED}: the "
        "teacher's vectors have been reduced to the student's width (Table A.1)",
        LAST,
    )
    normalize: ChoiceEnum([NOTHING, TEACHER, BOTH]) = option(
        f"to length 1: {NOTHING} (3.3 as it stands), the {TEACHER}'s vectors, or {BOTH}", NOTHING
    )
    mean: bool = option("mean of the squares over the dimensions, not their sum as in 3.3", False)


class FeatureDistillation(Distillation):
    """Squared distance of the student's vectors from the teacher's, of both sentences of a pair.

    Reference: thesis 3.3.1. For N pairs with the student's vectors x^s, y^s and the teacher's x^t, y^t,

        (3.3)  L_fd = 1/N sum_i ( || x_i^t - f(x_i^s) ||^2 + || y_i^t - f(y_i^s) ||^2 )

    summed over the pairs (the criterion divides by N), with a trainable dense layer f from the width of the
    student to that of the teacher. The other patterns of A.1 have none: in "distillation-first" f(x) is the
    student's vector before its last linear map (`--sentence-width`), in "synchronized" it is the vector
    itself, and the teacher is one whose dimension was reduced.

    Logged per pair.
    """

    name = "feature_distillation"
    Options = FeatureDistillationOptions

    def __init__(self, options: FeatureDistillationOptions, sizes):
        super().__init__(options, sizes)
        self.pattern, self.normalize = str(options.pattern), str(options.normalize)
        self.looks_at_vectors_only = self.pattern != FIRST
        own, teacher = sizes.sentence_width or sizes.encoder_width, sizes.teacher_width
        self.dense = nn.Linear(own, teacher) if self.pattern == LAST else None
        if self.pattern == FIRST and MAP not in sizes.above_tokens:
            raise InputError(
                f"--feature-distillation-pattern {FIRST}: compares what is below the last linear map of the"
                f" student, which has none; give {MAP}, the width of its vectors"
            )
        if self.pattern == FIRST and sizes.pooled_width != teacher:
            raise InputError(
                f"--feature-distillation-pattern {FIRST}: the vector below --sentence-width has "
                f"{sizes.pooled_width} numbers, the teacher's {teacher}; give --pooler-width {teacher}"
            )
        if self.pattern == SYNCHRONIZED and own != teacher:
            raise InputError(
                f"--feature-distillation-pattern {SYNCHRONIZED}: vectors of {own} numbers, the teacher's have"
                f" {teacher}; give a teacher whose dimension was reduced to {own}"
            )

    def forward(self, outputs, batch) -> Term:
        student = torch.cat([self._compared(outputs.source), self._compared(outputs.mirror)])
        teacher = torch.cat(teacher_of(batch, student))
        if self.normalize != NOTHING:
            teacher = F.normalize(teacher, dim=-1)
        if self.normalize == BOTH:
            student = F.normalize(student, dim=-1)
        value = (teacher - student).square().sum()
        if self.options.mean:
            value = value / teacher.size(1)
        return Term(self.options.weight * value, value.detach(), len(student) // 2)

    def _compared(self, encoder_out) -> Tensor:
        """f(x) of 3.3: B x Ct."""
        if self.pattern == FIRST:
            return at_least_float32(encoder_out["pooled_vectors"])
        vectors = vectors_of(encoder_out)
        if self.dense is not None:
            vectors = self.dense(vectors.to(self.dense.weight.dtype))
        return at_least_float32(vectors)
