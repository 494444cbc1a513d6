"""Four toy languages that say the same things: word c of a language is the stem c with the language's ending.

Sentences are translated word by word, so that a tiny model learns all directions, unseen ones included, in
seconds. English is the language in the middle of the training data; test sets are multi-way.
"""

import random
from itertools import combinations
from pathlib import Path

LANGUAGES = ("cs", "de", "en", "fr")
ENDINGS = {"cs": "ky", "de": "en", "en": "", "fr": "eau"}
STEMS = [first + second for first in ("ba", "ki", "mo", "tu") for second in ("d", "l", "r")]
SUPERVISED = [f"{a}-{b}" for other in ("cs", "de", "fr") for a, b in (("en", other), (other, "en"))]
ZERO_SHOT = [f"{a}-{b}" for a in ("cs", "de", "fr") for b in ("cs", "de", "fr") if a != b]


def sentence(language: str, concepts: list[int]) -> str:
    return " ".join(STEMS[concept] + ENDINGS[language] for concept in concepts)


def random_concepts(rng: random.Random, count: int) -> list[list[int]]:
    return [rng.choices(range(len(STEMS)), k=rng.randint(4, 7)) for _ in range(count)]


def write_sides(folder: Path, name: str, pair: tuple[str, str], concepts: list[list[int]]) -> None:
    for language in pair:
        lines = [sentence(language, each) for each in concepts]
        path = folder / f"{name}.{'-'.join(pair)}.{language}"
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_toy_corpus(folder: Path, train: dict[str, int], valid: int, test: int, seed: int = 1) -> Path:
    """Raw text of English-centric training pairs and multi-way validation and test sets.

    Line 2 of the test set is empty, line 3 is longer than a model with 32 positions reads.

    Args:
        train: number of training pairs with English per language.
    """
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    shared = {"valid": random_concepts(rng, valid), "test": random_concepts(rng, test)}
    shared["test"][1] = []
    shared["test"][2] = [number % len(STEMS) for number in range(40)]
    for pair in combinations(LANGUAGES, 2):
        if "en" in pair:
            other = next(language for language in pair if language != "en")
            write_sides(folder, "train", pair, random_concepts(rng, train[other]))
        for split, concepts in shared.items():
            write_sides(folder, split, pair, concepts)
    return folder
