"""What instructions call a language."""

from collections import Counter
from collections.abc import Iterable

from data_prep.languages import find_language, subtag


def language_names(codes: Iterable[str]) -> dict[str, str]:
    """Code -> English name, "German"; with script and region where two of the languages share a name, as in
    "Chinese (Simplified)", or with the code where these are the same, too, "German (deu)"; the code itself
    where no registry has it.
    """
    languages = {code: find_language(code) for code in codes}
    names = {code: code if language is None else language.name for code, language in languages.items()}
    for longer in (_with_region, _with_code):
        shared = Counter(names.values())
        names = {code: name if shared[name] == 1 else longer(code, name) for code, name in names.items()}
    return names


def _with_region(code: str, name: str) -> str:
    import langcodes

    try:
        return langcodes.Language.get(code).update_dict({"language": subtag(code)}).display_name()
    except langcodes.LanguageTagError:  # only the first part of the code is known
        return name


def _with_code(code: str, name: str) -> str:
    return f"{name} ({code})"
