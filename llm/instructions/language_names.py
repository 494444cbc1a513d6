"""What instructions call a language."""

from collections import Counter
from collections.abc import Iterable

from data_prep.languages import find_language


def language_names(codes: Iterable[str]) -> dict[str, str]:
    """Code -> English name, "German"; with script and region where two of the languages share a name, as in
    "Chinese (Simplified)"; the code itself where no registry has it.
    """
    codes = list(codes)
    known = {code: find_language(code) for code in codes}
    names = {code: code if language is None else language.name for code, language in known.items()}
    shared = Counter(names.values())
    return {code: name if shared[name] == 1 else _full_name(code) for code, name in names.items()}


def _full_name(code: str) -> str:
    import langcodes

    return langcodes.Language.get(code).display_name()
