"""Flores-200 (NLLB Team, 2022): sentences of Wikimedia in 204 languages, for evaluation."""

import re
from collections.abc import Iterator

from command_line.errors import InputError
from data_prep.corpora.corpus import BitextRows, Corpus, rows_of, supervised_pairs
from data_prep.corpora.fetching import Source
from data_prep.formats.texts import TEST, VALID
from data_prep.languages import find_language

URL = "https://dl.fbaipublicfiles.com/nllb/flores200_dataset.tar.gz"
# Of a macrolanguage the one that Flores has, or the standard among several.
INDIVIDUAL = {
    "ar": "arb", "ay": "ayr", "az": "azj", "fa": "pes", "ff": "fuv", "fil": "tgl", "gn": "grn", "kr": "knc",
    "ku": "kmr", "lv": "lvs", "mg": "plt", "mn": "khk", "ms": "zsm", "ne": "npi", "no": "nob", "om": "gaz",
    "or": "ory", "ps": "pbt", "qu": "quy", "sq": "als", "sw": "swh", "uz": "uzn", "yi": "ydd",
}  # fmt: skip
SCRIPTS = {"Kore": "Hang"}  # of which Flores has one
ITS_FORM = re.compile("[a-z]{3}_[A-Z][a-z]{3}")


def flores_code(code: str) -> str:
    """The name of a language in Flores-200: `afr_Latn` of `af`; codes of that form stay."""
    import langcodes

    language = find_language(code)
    if language is None or language.script is None:
        raise InputError(
            f"--langs: {code!r} is no language that Flores-200 can have; expected a code such as af"
        )
    if ITS_FORM.fullmatch(code):
        return code
    subtag = INDIVIDUAL.get(language.subtag) or langcodes.Language.make(language.subtag).to_alpha3()
    return f"{subtag}_{SCRIPTS.get(language.script, language.script)}"


def read(source: Source, languages: list[str], centric: str) -> Iterator[BitextRows]:
    """Flores-200 (NLLB Team, 2022): multi-way; here every language with the centric one. Its dev is the valid
    set and its devtest the test set.
    """
    published = {VALID: "dev", TEST: "devtest"}
    names = {
        (split, code): f"flores200_dataset/{folder}/{flores_code(code)}.{folder}"
        for split, folder in published.items()
        for code in languages
    }
    files = source.members(URL, "flores200_dataset.tar.gz", list(names.values()))
    for split in published:
        for pair in supervised_pairs(languages, centric):
            yield BitextRows(split, pair, rows_of(*(files[names[split, code]] for code in pair.split("-"))))


CORPUS = Corpus(
    description="Flores-200 (NLLB Team, 2022): valid and test sets only, of 204 languages with English",
    languages=("ar", "de", "en", "fr", "nl", "ru", "zh"),
    further_languages=None,
    read=read,
    lines={VALID: 997, TEST: 1_012},
    english_centric=False,
)
