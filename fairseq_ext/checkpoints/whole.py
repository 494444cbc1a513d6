"""Whether a checkpoint is whole, and where a training goes on whose last one is not."""

import contextlib
import logging
import zipfile
from pathlib import Path

from command_line.errors import InputError
from fairseq_ext.checkpoints.progress import updates_of

logger = logging.getLogger(__name__)


def is_whole(checkpoint: Path) -> bool:
    """Whether a checkpoint has been written to its end and not been damaged since: it is a ZIP archive with
    checksums.
    """
    with contextlib.suppress(OSError, zipfile.BadZipFile, EOFError), zipfile.ZipFile(checkpoint) as archive:
        return archive.testzip() is None
    return False


def whole_or_newest(last: Path) -> Path:
    """The last checkpoint of a training. If it is damaged: of the whole ones beside it that a training can go
    on from, the one with the most updates.

    Raises:
        InputError: there is none.
    """
    from fairseq_ext.checkpoints.reading import read_state

    if is_whole(last):
        return last
    updates = {}
    for path in filter(is_whole, sorted(last.parent.glob("checkpoint*.pt"))):
        with contextlib.suppress(InputError):  # another file with the name of a checkpoint
            state = read_state(path)
            if state.get("last_optimizer_state") is not None:  # an average has none
                updates[path] = updates_of(state) or 0
    if not updates:
        raise InputError(
            f"{last}: is damaged, and no other checkpoint beside it can be gone on from; remove it to train"
            " anew, or give another --save-dir"
        )
    newest = max(updates, key=updates.__getitem__)
    logger.warning(f"{last}: is damaged; the training goes on from {newest}, of {updates[newest]} updates")
    return newest
