"""Groups of languages over which results are averaged, in a TOML file: lines like `mUSE = ["ar", "zh"]`.

Groups that come with the project are in `language_groups/NAME.toml`, and go by the name alone.
"""

import tomllib
from collections.abc import Collection
from pathlib import Path

from command_line.errors import InputError
from data_prep.formats.texts import LANGUAGE_CODE
from data_prep.languages import is_english, usual_names

OURS = Path(__file__).with_name("language_groups")


def groups_file(given: Path) -> Path:
    """The file that is meant: one of the user's, or else one of ours by its name."""
    ours = OURS / f"{given}.toml"
    return ours if not given.exists() and given.name == str(given) and ours.is_file() else given


def read_groups(path: Path) -> dict[str, list[str]]:
    """Group -> codes of languages.

    Raises:
        InputError: the file is missing, empty, no TOML, or has something else than lists of language codes.
    """
    try:
        groups = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; expected groups of languages, NAME = ['de', 'fr']") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: no TOML: {error}") from None
    if not groups:
        raise InputError(f"{path}: has no group; expected lines like NAME = ['de', 'fr']")
    for name, codes in groups.items():
        if not isinstance(codes, list) or not codes or not all(map(_is_code, codes)):
            raise InputError(f"{path}: {name} = {codes!r:.100}; expected a list of language codes")
    return groups


def _is_code(code) -> bool:
    return isinstance(code, str) and LANGUAGE_CODE.fullmatch(code) is not None


def pairs_of_group(names: Collection[str], members: list[str]) -> dict[str, list[str]]:
    """Those pairs of languages of which a group has both, or all but a common one.

    A set with one common language (Tatoeba: English) has a pair per language; of any other set the group's
    own pairs count. A member stands for the set's usual names of it: `ar` for Tatoeba's `ara`, and for no
    dialect.

    Returns:
        "pairs", their names, and "missing": members that occur in none.
    """
    pairs = {name: set(name.split("-")) for name in names}
    common = common_languages(names)
    there = set().union(*pairs.values())
    meant_by = {member: usual_names(member, there) for member in members}
    meant = set().union(*meant_by.values())
    chosen = [
        name for name, languages in pairs.items() if languages <= common | meant and not languages <= common
    ] or [name for name, languages in pairs.items() if languages <= meant]
    seen = {language for name in chosen for language in pairs[name]}
    return {
        "pairs": chosen,
        "missing": [member for member, codes in meant_by.items() if not codes & seen],
    }


def common_languages(pairs: Collection[str]) -> set[str]:
    """The languages that are in all pairs; of a single pair that has English, English."""
    common = set.intersection(*(set(name.split("-")) for name in pairs)) if pairs else set()
    english = set(filter(is_english, common))
    return english if len(english) == 1 else common
