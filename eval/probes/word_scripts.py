"""In which scripts the words of an output are: what language identification of whole lines cannot see.

A model that is unsure of its target language often mixes scripts inside a line. Names and terms are in other
scripts in references, too: their shares stand beside those of the output.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Sequence

from fontTools.unicodedata import script

from command_line.measurements import numbers
from data_prep.languages import SCRIPTS, find_language

script_of = functools.cache(script)
OF_ALL_SCRIPTS = ("Zyyy", "Zinh")  # common and inherited: the mark of long vowels in Japanese, for instance


def words_by_script(line: str, own: str | None) -> Counter:
    """Words of a line by script: runs of letters in one script, between spaces. Digits and marks are none.

    Args:
        own: the script of the line's language, also one of several scripts of Unicode (`Jpan`), which count
            as one.
    """
    own_parts = SCRIPTS.get(own, (own,))
    counts: Counter = Counter()
    for word in line.split():
        scripts = (script_of(character) for character in word if character.isalpha())
        names = (own if name in own_parts else name for name in scripts if name not in OF_ALL_SCRIPTS)
        counts.update(name for name, _ in itertools.groupby(names))
    return counts


def script_rows(hypotheses: Sequence[str], references: Sequence[str], language: str) -> list[dict]:
    """Rows of one direction, each of the hypotheses and of the references ("…_reference"): the share of words
    that are "words_in_script" of every script; "other_script", the share of words that are not in the script
    of the language; "mixed_lines", the share of lines with words in its script and in another one.

    Without the last two for a language whose script is not known.
    """
    described = find_language(language)
    own = described.script if described else None
    rows = []
    for lines, ending in ((hypotheses, ""), (references, "_reference")):
        by_line = [words_by_script(line, own) for line in lines]
        words = sum(by_line, Counter())
        for name, count in sorted(words.items()):
            rows += numbers({f"words_in_script{ending}": count / words.total()}, part=name)
        if own and words:
            mixed = sum(0 < counts[own] < counts.total() for counts in by_line)
            shares = {"other_script": 1 - words[own] / words.total(), "mixed_lines": mixed / len(lines)}
            rows += numbers({f"{name}{ending}": share for name, share in shares.items()})
    return rows
