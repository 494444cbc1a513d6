"""Copies of checkpoints appear under their names when they are complete.

fairseq saves a checkpoint once under a temporary name and renames it, but copies it to its other names in
place: a training that was killed meanwhile had a part of a checkpoint.
"""

from fairseq import checkpoint_utils
from fairseq.file_io import PathManager


class WholeCopies(PathManager):
    """fairseq's access to files, as `fairseq.checkpoint_utils` sees it."""

    @staticmethod
    def copy(src_path: str, dst_path: str, overwrite: bool = False) -> bool:
        """Copy a file; true if that has been done."""
        if not PathManager.supports_rename(dst_path):
            return PathManager.copy(src_path, dst_path, overwrite)
        unfinished = f"{dst_path}.tmp"  # as fairseq names it where it saves, which the next save takes again
        copied = PathManager.copy(src_path, unfinished, overwrite=True)
        PathManager.rename(unfinished, dst_path)
        return copied


def copy_whole_files() -> None:
    """From here on, fairseq's copies of checkpoints in this process appear when they are complete."""
    checkpoint_utils.PathManager = WholeCopies
