"""What importing `fairseq_ext` does: everything is registered, and the calls below, of which the package's
docstring says what each is for.
"""

from command_line import open_files
from fairseq_ext import quick_fairseq, start_up, uncaught  # noqa: F401 (quick_fairseq comes before all of fairseq)
from fairseq_ext.checkpoints.broadcasting import let_checkpoints_travel
from fairseq_ext.checkpoints.copying import copy_whole_files
from fairseq_ext.checkpoints.reading import guard_fairseq
from fairseq_ext.criterions import (  # noqa: F401
    fused_label_smoothed_cross_entropy,
    weighted_losses,
)
from fairseq_ext.data.reading_ahead import end_readers_with_the_process
from fairseq_ext.models import (  # noqa: F401
    interlingua_transformer,
    lealla_architectures,
    mnmt_architectures,
    mnmt_transformer,
    sentence_encoder,
)
from fairseq_ext.optim import fused_adam  # noqa: F401
from fairseq_ext.tasks import linguistic_pretraining, multilingual_nmt, sentence_embedding  # noqa: F401
from fairseq_ext.tasks.resuming import restore_tasks

guard_fairseq()
copy_whole_files()
let_checkpoints_travel()
restore_tasks()
start_up.be_quiet()
end_readers_with_the_process()
open_files.allow_many()
uncaught.report_in_one_line()
