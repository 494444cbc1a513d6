"""Importing this module registers every task, model, criterion and optimizer with fairseq, and no more."""

from fairseq_ext import quick_fairseq  # noqa: F401 (comes before all of fairseq)
from fairseq_ext.criterions import (  # noqa: F401
    fused_label_smoothed_cross_entropy,
    weighted_losses,
)
from fairseq_ext.models import (  # noqa: F401
    interlingua_transformer,
    lealla_architectures,
    mnmt_architectures,
    mnmt_transformer,
    sentence_encoder,
)
from fairseq_ext.optim import fused_adam  # noqa: F401
from fairseq_ext.tasks import linguistic_pretraining, multilingual_nmt, sentence_embedding  # noqa: F401
