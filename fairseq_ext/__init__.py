"""fairseq plug-ins of the toolkit: `fairseq-train --user-dir fairseq_ext`.

Importing this package registers every task, model, criterion and optimizer. It does nothing else, with five
exceptions. It makes fairseq read checkpoints safely (docs/security.md): a stranger's checkpoint meets none
of our classes where fairseq's own commands load it, so nothing later than the import could stand in its way.
It gives a training that goes on what its task has saved (`fairseq_ext.tasks.resuming`). It hides warnings
that fairseq causes at every start (`fairseq_ext.start_up`). It ends fairseq's threads before the process,
which they would abort (`fairseq_ext.data.reading_ahead`). And in fairseq's own commands it makes bad input
one line (`fairseq_ext.uncaught`).
"""

import sys

# `python -m fairseq_ext` (and `mnmt fairseq_ext`) imports this package before its `__main__`, and its help
# should not wait seconds for torch and fairseq. Commands import the plug-ins when they run.
if not (sys.argv[:1] == ["-m"] and __name__ in sys.orig_argv):
    from fairseq_ext import plug_ins  # noqa: F401
