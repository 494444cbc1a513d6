"""Language-informed rescoring: the hypotheses of the beam are chosen by the language that they are in, too.

The score of a hypothesis y becomes s(y) + w log p(l | y), with the score s of the search and the probability
that a language identifier gives to the target language l among the languages of the model. It is the idea of
language-informed beam search (arXiv:2408.05738) for finished hypotheses. The identifier is another one than
that of the off-target rate, or the rate would measure what was optimized for it: py3langid (Lui and Baldwin's
langid.py), or any other fastText model, GlotLID for instance.
"""

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from command_line.errors import InputError
from data_prep.language_identification import LanguageIdentifier, default_identifier, label_in
from eval.translation.finished_hypotheses import Hypothesis
from eval.translation.search_options import PY3LANGID, RescoringOptions

SMALLEST = 1e-12  # probability that a language has at least: a fastText model gives many 0


class Py3langid:
    """The naive Bayes identifier of 97 languages inside the package py3langid.

    Raises:
        InputError: it is not installed.
    """

    def __init__(self):
        try:
            from py3langid.langid import MODEL_FILE, LanguageIdentifier
        except ImportError:
            raise InputError("--language-rescoring needs py3langid: pip install py3langid") from None
        self._identifier = LanguageIdentifier.from_pickled_model(MODEL_FILE)
        self.labels = frozenset(map(str, self._identifier.nb_classes))

    def log_likelihoods(self, text: str) -> dict[str, float]:
        """label -> logarithm of a number in proportion to its probability."""
        return dict(self._identifier.rank(text))


class FastText:
    """A fastText model of languages.

    Args:
        path: its file; labels are `__label__xx` or, as GlotLID has them, `__label__xxx_Script`.

    Raises:
        InputError: no such model, or it is the one that measures off-target rates.
    """

    def __init__(self, path: Path):
        if not path.is_file():
            raise InputError(
                f"--rescoring-identifier {path}: expected {PY3LANGID}, or the file of a fastText model"
            )
        self._identifier = LanguageIdentifier(path)
        self.labels = self._identifier.labels
        if self.labels == default_identifier().labels:
            raise InputError(
                f"--rescoring-identifier {path}: its languages are those of lid.176, which measures"
                f" off-target rates; expected another identifier, for example {PY3LANGID}"
            )

    def log_likelihoods(self, text: str) -> dict[str, float]:
        """As `Py3langid`."""
        probabilities = self._identifier.probabilities(text)  # of those that are not 0
        return {label: math.log(max(SMALLEST, probabilities.get(label, 0.0))) for label in self.labels}


class LanguageRescorer:
    """Orders hypotheses anew.

    Args:
        languages: of the model, among which a hypothesis may be.
        text_of: of a language and token ids.
        candidates: so many hypotheses of a sentence are looked at.
    """

    def __init__(
        self,
        options: RescoringOptions,
        languages: Iterable[str],
        text_of: Callable[[str, list[int]], str],
        candidates: int,
    ):
        self.weight, self._text_of, self.candidates = options.language_rescoring, text_of, candidates
        name = options.rescoring_identifier or PY3LANGID
        self._identifier = Py3langid() if name == PY3LANGID else FastText(Path(name))
        self.labels = {language: label_in(language, self._identifier.labels) for language in languages}
        self._known = sorted({label for label in self.labels.values() if label})
        if unknown := [language for language, label in self.labels.items() if not label]:
            print(
                f"warning: --language-rescoring: {name} does not know {', '.join(unknown)}; translations into"
                " these languages stay as they are",
                file=sys.stderr,
            )

    def log_probability(self, language: str, text: str) -> float:
        """log p(language | text); 0 of a language that the identifier does not know, and the same for all
        languages where a text has no letters.
        """
        label = self.labels[language]
        if label is None:
            return 0.0
        if not any(map(str.isalpha, text)):
            return -math.log(len(self._known))
        likelihoods = self._identifier.log_likelihoods(text)
        values = np.array([likelihoods[known_label] for known_label in self._known])
        return float(likelihoods[label] - values.max() - np.log(np.exp(values - values.max()).sum()))

    def ranked(self, language: str, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The hypotheses of a sentence with their new scores, best first; equal ones in their order."""
        rescored = [
            (tokens, score + self.weight * self.log_probability(language, self._text_of(language, tokens)))
            for tokens, score in hypotheses
        ]
        return sorted(rescored, key=lambda hypothesis: -hypothesis[1])
