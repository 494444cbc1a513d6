"""The one name under which an installed copy lies in an environment, and the folder of its packages.

`eval`, `data_prep` and the others are names that other projects have as well. So an installation puts them
inside this package, and only a process of ours gets this folder on its path: one that `mnmt` starts, one
that imports the user-dir (fairseq puts the parent of a user-dir on the path), and a task of ours on a
cluster.
"""

import functools
import pickle
import sys
from contextlib import nullcontext
from pathlib import Path
from threading import Lock

_HERE = Path(__file__).absolute().parent
IS_INSTALLED = (_HERE / "fairseq_ext").is_dir()  # else this is the repository, where the packages lie beside
FOLDER = _HERE if IS_INSTALLED else _HERE.parent  # of the packages
USER_DIR = FOLDER / "fairseq_ext"
_ONE_AT_A_TIME = Lock()


def put_first_on_path() -> None:
    """This process finds our packages before all others of their names."""
    sys.path[:] = [str(FOLDER), *(entry for entry in sys.path if entry != str(FOLDER))]


def call(function: bytes, argument: bytes, alone: bool = False):
    """Do what another process of ours asks for; that one knows only this package by its name.

    Args:
        function: of our packages, pickled; it is kept for further calls.
        argument: pickled.
        alone: no other thread of this process is in such a call meanwhile.
    """
    put_first_on_path()
    with _ONE_AT_A_TIME if alone else nullcontext():
        return _unpickled(function)(pickle.loads(argument))


@functools.lru_cache(maxsize=2)
def _unpickled(function: bytes):
    return pickle.loads(function)
