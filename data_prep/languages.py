"""Language codes as their users write them, and what a code says about its language.

A corpus calls its languages as its user does: `de`, `deu`, `deu_Latn` (FLORES), `zh_Hans` (BCP 47; `_` since
`-` separates the languages of a pair), `en_XX` (mBART). The code stays as it is written in file names,
directions, tags and tables, and two codes are two languages, whatever they have in common. This module only
answers questions about a code; the IANA registry of language subtags and the likely scripts of Unicode's CLDR
know the answers, through the library langcodes. A code that is in no registry is a language, too (an
artificial one, say); it has no script, no name and no relatives.
"""

import functools
from collections.abc import Container, Iterable
from dataclasses import dataclass

JAPANESE = frozenset(("Jpan", "Hira", "Kana", "Hrkt"))
HAN = frozenset(("Hans", "Hant", "Hani", "Hanb"))
KOREAN = frozenset(("Kore", "Hang"))
# What a script of a code is written with, where it is several scripts of Unicode, or one of another name.
SCRIPTS = {"Jpan": ("Hani", "Hira", "Kana"), "Kore": ("Hang", "Hani"), "Hans": ("Hani",), "Hant": ("Hani",)}
# Class SA of Unicode's line breaking (UAX 14: no spaces between words), and Tibetan, which marks syllables.
UNSPACED = frozenset(("Thai", "Laoo", "Khmr", "Mymr", "Tale", "Talu", "Lana", "Tavt", "Ahom", "Tibt"))
TWO_LETTERS = {"hbs": "sh"}  # of a language that langcodes replaces by a variety, without saying so
# Pashto, Fula and Quechua as test sets have them; CLDR's standard is another variety.
STANDARDS = ({"ps", "pbt"}, {"ff", "fuv"}, {"qu", "quy"})
ONE_LANGUAGE = 1  # CLDR's distance of Bokmål from Norwegian; Mandarin to Chinese is 0, Malay to Indonesian 14


@dataclass(frozen=True)
class Language:
    """What a known code stands for.

    Attributes:
        subtag: of the language, as short as BCP 47 has it: `de` for `deu`, `arz` for `arz_Arab`.
        script: the one in the code, or the likely one: `Hans`, `Latn`; None where CLDR does not know it.
        macrolanguage: the language of ISO 639-3 that it is one of (`ar` of `arz`), if any.
        name: in English, without script and region: "Egyptian Arabic".
    """

    subtag: str
    script: str | None
    macrolanguage: str | None
    name: str


@functools.cache
def find_language(code: str) -> Language | None:
    """The language of a code, or None if no registry has it."""
    import langcodes
    from langcodes.data_dicts import LANGUAGE_REPLACEMENTS, LIKELY_SUBTAGS, MACROLANGUAGES

    primary = primary_subtag(code)
    try:
        tag = langcodes.Language.get(code)
    except langcodes.LanguageTagError:
        return find_language(primary) if primary != code else None
    subtag = tag.language
    if "-" in LANGUAGE_REPLACEMENTS.get(primary, ""):  # Dari by `fa-AF`, of which `fa` alone is Persian
        subtag = TWO_LETTERS.get(primary, primary)
    language = langcodes.Language.make(language=subtag)
    if subtag is None or not language.is_valid():
        return None
    macrolanguage = MACROLANGUAGES.get(subtag)
    script = tag.script
    if script is None and tag.language in LIKELY_SUBTAGS:
        script = tag.maximize().script
    elif script is None and macrolanguage is not None:
        script = langcodes.Language.make(language=macrolanguage).maximize().script
    return Language(subtag, script, macrolanguage, language.display_name())


def primary_subtag(code: str) -> str:
    """The first part of a code, in lower case: `zho` of `zho_Hans`."""
    return code.replace("-", "_").partition("_")[0].lower()


@functools.cache
def writing_system(code: str) -> str | None:
    """How words are separated, which decides on tokenizers; None if the code is not known.

    Returns:
        "han" (no spaces, Chinese characters), "japanese", "korean", "unspaced" (no spaces, an alphabet) or
        "spaced".
    """
    language = find_language(code)
    if language is None:
        return None
    groups = {"han": HAN, "japanese": JAPANESE, "korean": KOREAN, "unspaced": UNSPACED}
    return next((name for name, scripts in groups.items() if language.script in scripts), "spaced")


def is_unspaced(code: str) -> bool:
    """Whether a language is written without spaces between its words."""
    return writing_system(code) in ("han", "japanese", "unspaced")


def is_english(code: str) -> bool:
    return subtag(code) == "en"


def subtag(code: str) -> str:
    """What BCP 47 calls the language, without script and region; an unknown code itself."""
    language = find_language(code)
    return code if language is None else language.subtag


def same_written_language(first: str, second: str) -> bool:
    """Whether two codes mean one language in one script, as far as they say it: `zh_CN` and `zho_Hans`."""
    language, other = find_language(first), find_language(second)
    if language is None or other is None:
        return first == second
    return (language.subtag, language.script) == (other.subtag, other.script)


def same_language(first: str, second: str) -> bool:
    """Whether two codes are usual names of one language, as far as they say it: `zh` and `cmn_Hant`, `ms` and
    `zsm`. Neither are `ms` and `id`, though both are Malay (`msa`) to ISO 639-3, nor `zh_Hans` and `zh_Hant`.
    """
    from langcodes import tag_distance

    language, other = find_language(first), find_language(second)
    if language is None or other is None:
        return first == second
    both_say_more = first != primary_subtag(first) and second != primary_subtag(second)
    if both_say_more and language.script != other.script:
        return False
    subtags = {language.subtag, other.subtag}
    return subtags in STANDARDS or tag_distance(language.subtag, other.subtag) <= ONE_LANGUAGE


def usual_names(code: str, candidates: Iterable[str]) -> set[str]:
    """Those of other codes that mean the same language: itself; else those of `same_language`, of several the
    ones in its script, and of these the ones that name it as it does: `zho_Hans` of `zh` and of `cmn`.
    """
    candidates = set(candidates)
    if code in candidates:
        return {code}
    own = find_language(code)
    languages = {name: find_language(name) for name in candidates if same_language(name, code)}
    likeness = {
        name: (each.script == own.script, each.subtag == own.subtag) for name, each in languages.items()
    }
    most = max(likeness.values(), default=None)
    return {name for name, like in likeness.items() if like == most}


def display_name(code: str) -> str:
    """A language's name for messages: "Egyptian Arabic (arz_Arab)"; the code alone if it is not known."""
    language = find_language(code)
    return code if language is None else f"{language.name} ({code})"


def closest(code: str, candidates: Container[str]) -> str | None:
    """What others, who have these codes, call a language: its subtag, or else its macro-language's."""
    language = find_language(code)
    names = [code] if language is None else [language.subtag, language.macrolanguage]
    return next((name for name in names if name in candidates), None)
