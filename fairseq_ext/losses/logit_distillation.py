"""Logit distillation of LEALLA (thesis 3.3.1): sentences are as similar as the teacher finds them."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from fairseq_ext.losses.distillation import Distillation, teacher_of
from fairseq_ext.losses.in_batch_contrast import SIMILARITIES_PER_BLOCK
from fairseq_ext.losses.weighted_loss import Term, vectors_of
from fairseq_ext.modules.all_gather import all_gather_rows
from fairseq_ext.modules.float32 import at_least_float32
from fairseq_ext.options import option


@dataclass
class LogitDistillationOptions:
    weight: float = option("gamma of equation 3.5 (thesis 3.3.2: 1e-2)", 1e-2)
    temperature: float = option("T of equation 3.4 (thesis 3.3.2): the loss is divided by its square", 100.0)
    gather: bool = option("with the sentences of all processes (N of 3.4, of a batch of 8,192)", False)


class LogitDistillation(Distillation):
    """Squared difference of the student's similarities of all sentences of a batch from the teacher's.

    Reference: thesis 3.3.1. With phi = cos, for N pairs with the student's vectors x^s, y^s and the
    teacher's x^t, y^t,

        (3.4)  L_ld = 1/N^2 sum_i sum_j ( (phi(x_i^t, y_j^t) - phi(x_i^s, y_j^s)) / T )^2

    times N (the criterion divides by N). With `gather` j runs over the pairs of all processes, whose losses
    add up to that of the union; otherwise half batches have fewer similarities and do not add up.

    Logged as L_ld. Cost: B x B similarities of student and teacher, in blocks that never exist together.
    """

    name = "logit_distillation"
    Options = LogitDistillationOptions
    logged_digits = 12  # it falls with the square of the temperature, which is 100 in the thesis

    def __init__(self, options: LogitDistillationOptions, sizes):
        super().__init__(options, sizes)
        self.require(0 < options.temperature < math.inf, "temperature", "a number above 0")

    def forward(self, outputs, batch) -> Term:
        student = [
            F.normalize(at_least_float32(vectors_of(side)), dim=-1)
            for side in (outputs.source, outputs.mirror)
        ]
        teacher = [F.normalize(side, dim=-1) for side in teacher_of(batch, student[0])]
        if self.gathers(self.options.gather):
            student[1], teacher[1] = (all_gather_rows(side)[0] for side in (student[1], teacher[1]))
        pairs = max(1, len(student[1]))
        value = squared_differences(*student, *teacher) / (pairs * self.options.temperature**2)
        return Term(self.options.weight * value, value.detach(), len(student[0]))


class _SquaredDifferences(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, y: Tensor, x_teacher: Tensor, y_teacher: Tensor, block: int):
        with_gradient = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        total = x.new_zeros(())
        gradients = torch.zeros_like(x), torch.zeros_like(y)
        at_once = max(1, block // max(1, len(y)))
        for start in range(0, len(x), at_once):
            rows = slice(start, start + at_once)
            difference = x[rows] @ y.t()
            difference.addmm_(x_teacher[rows], y_teacher.t(), alpha=-1)
            total += difference.flatten().dot(difference.flatten())
            if with_gradient:
                difference.mul_(2)
                torch.mm(difference, y, out=gradients[0][rows])
                gradients[1].addmm_(difference.t(), x[rows])
        ctx.save_for_backward(*gradients)
        return total

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient: Tensor):
        x_gradient, y_gradient = ctx.saved_tensors
        return x_gradient * gradient, y_gradient * gradient, None, None, None


def squared_differences(
    x: Tensor, y: Tensor, x_teacher: Tensor, y_teacher: Tensor, block: int | None = None
) -> Tensor:
    """sum_ij (x_i y_j - x'_i y'_j)^2, whose gradient is computed with it; the teacher has none.

    Args:
        x, y: K x C and M x C.
        x_teacher, y_teacher: K x C' and M x C'.
        block: products that exist at a time, at least one row of M (default: `SIMILARITIES_PER_BLOCK`).
    """
    with torch.autocast(x.device.type, enabled=False):
        return _SquaredDifferences.apply(x, y, x_teacher, y_teacher, block or SIMILARITIES_PER_BLOCK)
