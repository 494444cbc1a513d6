"""What the losses of distillation have in common: sentences by the student and by its teacher."""

from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.losses.weighted_loss import WeightedLoss


class Distillation(WeightedLoss):
    """A loss that compares the vectors of a student with those of its teacher, which does not learn.

    Batch fields: `mirror`, and `teacher`: {"source": B x Ct, "target": B x Ct}.

    Raises:
        InputError: the task has no teacher.
    """

    batch_fields = ("mirror", "teacher")
    counts_pairs = True
    is_information = False
    looks_at_vectors_only = True

    def __init__(self, options, sizes):
        super().__init__(options, sizes)
        if sizes.teacher_width is None:
            raise InputError(
                f"--losses {self.name}: has no teacher; give --teacher NAME, whose vectors `python -m"
                " embeddings encode --data` has stored, or --teacher-checkpoint FILE"
            )


def teacher_of(batch, like: Tensor) -> tuple[Tensor, Tensor]:
    """The teacher's vectors of the source and the target sentences, B x Ct each, of the type of `like`."""
    teacher = batch["teacher"]
    return teacher["source"].to(like), teacher["target"].to(like)
