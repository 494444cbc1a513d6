"""What `--user-dir fairseq_ext` and our commands do to the process before they train or read checkpoints."""

from functools import cache

from command_line import open_files
from fairseq_ext import plug_ins, start_up, uncaught  # noqa: F401 (plug_ins registers everything)
from fairseq_ext.checkpoints.broadcasting import let_checkpoints_travel
from fairseq_ext.checkpoints.copying import copy_whole_files
from fairseq_ext.checkpoints.reading import guard_fairseq
from fairseq_ext.data.reading_ahead import end_readers_with_the_process
from fairseq_ext.tasks.resuming import restore_tasks


@cache
def set_up_process() -> None:
    """Register everything and change fairseq in this process, once; the package's docstring says what each
    call is for.
    """
    guard_fairseq()
    copy_whole_files()
    let_checkpoints_travel()
    restore_tasks()
    start_up.be_quiet()
    end_readers_with_the_process()
    open_files.allow_many()
    uncaught.report_in_one_line()
