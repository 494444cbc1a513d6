"""fairseq plug-ins of the toolkit: `fairseq-train --user-dir fairseq_ext`.

Importing this package registers every task, model, criterion and optimizer. It does nothing else, with two
exceptions. It makes fairseq read checkpoints safely (docs/security.md): a stranger's checkpoint meets none of
our classes where fairseq's own commands load it, so nothing later than the import could stand in its way. And
in fairseq's own commands it makes bad input one line (`fairseq_ext.uncaught`).
"""

from fairseq_ext import checkpoints, uncaught
from fairseq_ext.criterions import (  # noqa: F401
    fused_label_smoothed_cross_entropy,
    nmt_with_auxiliary_losses,
    weighted_losses,
)
from fairseq_ext.models import interlingua_transformer, mnmt_transformer  # noqa: F401
from fairseq_ext.optim import fused_adam  # noqa: F401
from fairseq_ext.tasks import linguistic_pretraining, multilingual_nmt  # noqa: F401

checkpoints.guard_fairseq()
uncaught.report_input_errors()
