"""fairseq plug-ins of the toolkit: `fairseq-train --user-dir fairseq_ext`.

Importing this package registers every task, model, criterion and optimizer (`fairseq_ext.plug_ins`), and sets
the process up (`fairseq_ext.set_up`):

- fairseq reads checkpoints safely (`fairseq_ext.checkpoints.reading`, docs/security.md). Where fairseq's own
  commands load a stranger's checkpoint, it meets none of our classes, so nothing later than the import could
  stand in its way.
- Checkpoints are sent to the other processes of a training without the options, which these would refuse
  (`fairseq_ext.checkpoints.broadcasting`).
- Copies of checkpoints appear under their names when they are complete (`fairseq_ext.checkpoints.copying`).
- A training that goes on gets what its task has saved (`fairseq_ext.tasks.resuming`).
- fairseq is imported without libraries that are not needed yet (`fairseq_ext.quick_fairseq`), and warnings
  that fairseq causes at every start are hidden (`fairseq_ext.start_up`).
- fairseq's threads end before the process, which they would abort (`fairseq_ext.data.reading_ahead`).
- The limit of open files is raised (`command_line.open_files`).
- In fairseq's own commands, bad input and gradients that are no numbers become one line
  (`fairseq_ext.uncaught`).
"""

import sys

# `python -m fairseq_ext` (and `mnmt fairseq_ext`) imports this package before its `__main__`, and its help
# should not wait seconds for torch and fairseq. Commands set the process up when they run.
if not (sys.argv[:1] == ["-m"] and __name__ in sys.orig_argv):
    from fairseq_ext.set_up import set_up_process

    set_up_process()
