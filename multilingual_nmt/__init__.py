"""The one name under which an installed copy lies in an environment, and the folder of its packages.

`eval`, `data_prep` and the others are names that other projects have as well. So an installation puts them
inside this package, and only a process of ours gets this folder on its path: one that `mnmt` starts, one
that imports the user-dir (fairseq puts the parent of a user-dir on the path), and a task of ours on a
cluster.
"""

import pickle
import sys
from pathlib import Path

_HERE = Path(__file__).absolute().parent
IS_INSTALLED = (_HERE / "fairseq_ext").is_dir()  # else this is the repository, where the packages lie beside
FOLDER = _HERE if IS_INSTALLED else _HERE.parent  # of the packages
USER_DIR = FOLDER / "fairseq_ext"


def put_first_on_path() -> None:
    """This process finds our packages before all others of their names."""
    sys.path[:] = [str(FOLDER), *(entry for entry in sys.path if entry != str(FOLDER))]


def call(request: bytes):
    """Do what another process of ours asks for; that one knows only this package by its name.

    Args:
        request: a function of our packages and its argument, pickled.
    """
    put_first_on_path()
    function, argument = pickle.loads(request)
    return function(argument)
