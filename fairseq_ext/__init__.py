"""fairseq plug-ins of the toolkit: `fairseq-train --user-dir fairseq_ext`.

Importing this package registers every task, model, criterion and optimizer. It does nothing else, with these
exceptions. It makes fairseq read checkpoints safely (`fairseq_ext.checkpoints.reading`, docs/security.md): a
stranger's checkpoint meets none of our classes where fairseq's own commands load it, so nothing later than
the import could stand in its way. Checkpoints are sent to the other processes of a training without the
options, which these would refuse (`fairseq_ext.checkpoints.broadcasting`). It gives a training that goes on
what its task has saved (`fairseq_ext.tasks.resuming`). It imports fairseq without libraries that are not
needed yet (`fairseq_ext.quick_fairseq`), and hides warnings that fairseq causes at every start
(`fairseq_ext.start_up`). It ends fairseq's threads before the process, which they would abort
(`fairseq_ext.data.reading_ahead`). It raises the limit of open files (`command_line.open_files`). And in
fairseq's own commands it makes bad input, and gradients that are no numbers, one line
(`fairseq_ext.uncaught`).
"""

import sys

# `python -m fairseq_ext` (and `mnmt fairseq_ext`) imports this package before its `__main__`, and its help
# should not wait seconds for torch and fairseq. Commands import the plug-ins when they run.
if not (sys.argv[:1] == ["-m"] and __name__ in sys.orig_argv):
    from fairseq_ext import plug_ins  # noqa: F401
