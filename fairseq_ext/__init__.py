"""fairseq plug-ins of the toolkit: `fairseq-train --user-dir fairseq_ext`.

Importing this package registers every task, model, criterion and optimizer, and allow-lists the classes
that fairseq's checkpoints contain, so that torch reads them with `weights_only=True`. It does nothing else.
"""

from fairseq_ext import checkpoints  # noqa: F401  (allow-lists classes)
from fairseq_ext.criterions import fused_label_smoothed_cross_entropy, nmt_with_auxiliary_losses  # noqa: F401
from fairseq_ext.models import interlingua_transformer, mnmt_transformer  # noqa: F401
from fairseq_ext.optim import fused_adam  # noqa: F401
from fairseq_ext.tasks import linguistic_pretraining, multilingual_nmt  # noqa: F401
