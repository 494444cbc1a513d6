"""Averages of P@1 over pairs of languages, all or a group's, of either direction and of both.

Some papers measure one direction of a set with a common language, English in Tatoeba. Dual-pivot transfer
retrieves from English (5.3), as does the published evaluation of XTREME, whose Tatoeba OneAligner has (3.1).
"""

from collections.abc import Callable, Collection, Mapping
from statistics import fmean

from embeddings.groups import average_by_group, common_languages

FROM, TO = "from", "to"
Values = Callable[[str], dict[str, float]]  # similarity -> pair of languages -> P@1


def averages(directions: Mapping, similarities: list[str], groups: Mapping[str, list[str]]) -> dict:
    """Means of P@1, by similarity: of all pairs of languages ("average"), and of groups ("groups").

    Of a pair, both directions are averaged first, as in Table 2.4 of the thesis.
    """
    pairs = by_pair(directions)

    def values(similarity: str) -> dict[str, float]:
        return {name: fmean(each[similarity]["p_at_1"] for each in both) for name, both in pairs.items()}

    return _averages(values, similarities, groups)


def by_pair(directions: Mapping) -> dict[str, list[dict]]:
    """Pair of languages, in the order of the alphabet -> what was measured of its directions."""
    pairs: dict[str, list[dict]] = {}
    for name, measured in directions.items():
        pairs.setdefault("-".join(sorted(name.split("-"))), []).append(measured)
    return pairs


def averages_by_direction(
    directions: Mapping, similarities: list[str], groups: Mapping[str, list[str]]
) -> dict | None:
    """The same of the directions from the one language that is in all pairs ("pivot"), and of those to it.

    Returns:
        "pivot", FROM and TO; None where there is no such language.
    """
    pivot = pivot_of(directions)
    if pivot is None:
        return None
    averages_of_sides: dict = {"pivot": pivot}
    for side, place in ((FROM, 0), (TO, 1)):
        chosen = {name: each for name, each in directions.items() if name.split("-")[place] == pivot}

        def values(similarity: str, chosen: dict = chosen) -> dict[str, float]:
            return {name: each[similarity]["p_at_1"] for name, each in chosen.items()}

        averages_of_sides[side] = _averages(values, similarities, groups)
    return averages_of_sides


def pivot_of(directions: Collection[str]) -> str | None:
    """The language that is in all pairs; of a single pair, English. None if there is none."""
    common = common_languages(directions)
    return common.pop() if len(common) == 1 else None


def _averages(values: Values, similarities: list[str], groups: Mapping[str, list[str]]) -> dict:
    of_all = {similarity: values(similarity) for similarity in similarities}
    return {
        "average": {similarity: fmean(of.values()) for similarity, of in of_all.items()},
        "groups": {
            group: {similarity: average_by_group(of, members) for similarity, of in of_all.items()}
            for group, members in groups.items()
        },
    }
