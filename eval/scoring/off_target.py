"""The off-target rate: the share of lines that are not in the language that was asked for (thesis, 8.2.2).

The identifier has labels of its own for languages, fewer than there are. So a direction's intended language
is a label of it, or none: then there is no rate, and a sentence says why. What a label covers besides the
target, among the languages of the test set, is said in the same place. An identifier that the user chooses
must have all languages.

A line without any letter is in no language: it is off-target, as an empty line is, unless its reference has
no letters either (a number, say); then it is as good as any.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from command_line.errors import InputError
from data_prep.language_identification import LABELS, NO_LETTERS, LanguageIdentifier, identifier_of
from data_prep.languages import display_name, find_language, subtag

IDENTIFIER = "fastText model that identifies languages, such as GlotLID's or OpenLID's; none: lid.176"


@dataclass(frozen=True)
class Intended:
    """What the identifier should answer to the lines of a direction.

    Attributes:
        label: the identifier's for the target; None if no rate can be computed.
        note: what the label does not say, or why there is none; None where it is the language and no other.
    """

    label: str | None
    note: str | None = None

    def is_met(self, identified: str, reference: str) -> bool:
        """Whether a line is on target.

        Args:
            identified, reference: the identifier's answers to the line and to its reference.
        """
        return identified == self.label or identified == reference == NO_LETTERS

    def met(self, identified: Sequence[str], references: Sequence[str]) -> list[bool] | None:
        """Whether each line is on target; None if that cannot be known."""
        if self.label is None:
            return None
        return list(map(self.is_met, identified, references))

    def rate(self, identified: Sequence[str], references: Sequence[str]) -> float | None:
        """The share of lines that are off target; on the references themselves: the identifier's error."""
        met = self.met(identified, references)
        return None if met is None else 1 - sum(met) / len(met)


def intended(direction: tuple[str, str], labels: Mapping[str, str | None]) -> Intended:
    """What the identifier should answer in a direction.

    Args:
        direction: source and target.
        labels: all languages of the test set -> their labels.
    """
    source, target = direction
    label = labels[target]
    if label is None:
        return Intended(None, f"the identifier does not know {display_name(target)}")
    if labels[source] == label:
        return Intended(None, f"the identifier cannot tell {target} from {source}: both are its {label!r}")
    notes = []
    if is_macrolanguage(label, target):
        notes.append(f"the identifier knows {display_name(target)} only as {display_name(label)}")
    if others := [language for language in sorted(set(labels) - {target}) if labels[language] == label]:
        notes.append(f"{', '.join(others)} would count as {target}: the identifier's {label!r} covers both")
    return Intended(label, "; ".join(notes) or None)


def is_macrolanguage(label: str, code: str) -> bool:
    """Whether a label is of the macro-language of a code only: `ar` for `arq`, but not `no` for `nb`."""
    language = find_language(code)
    return language is not None and subtag(label) == language.macrolanguage and language.subtag not in LABELS


def labels_of_languages(identifier: LanguageIdentifier, languages: Iterable[str]) -> dict[str, str | None]:
    """Language -> the identifier's label, of all languages of a test set."""
    return {language: identifier.label(language) for language in sorted(set(languages))}


def names_of_labels(labels: Mapping[str, str | None]) -> dict[str, str]:
    """The identifier's label -> what the test set calls that language: `zh` -> "zho_Hans/zho_Hant".

    Args:
        labels: language -> label.
    """
    names: dict[str, list[str]] = {}
    for code, label in sorted(labels.items()):
        if label:
            names.setdefault(label, []).append(code)
    return {label: "/".join(codes) for label, codes in names.items()}


def by_number(counts: Counter) -> dict[str, int]:
    """The most frequent first."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def check_identifier(path: Path | None, languages: Iterable[str]) -> None:
    """An identifier that was chosen has all languages of a test set.

    Raises:
        InputError: it lacks one, or the file is no identifier.
    """
    if path is None:
        return
    labels = labels_of_languages(identifier_of(path), languages)
    if unknown := [display_name(language) for language, label in labels.items() if label is None]:
        raise InputError(
            f"--identifier {path}: has no label for {', '.join(unknown)}; expected an identifier of all"
            " languages of the test set"
        )
