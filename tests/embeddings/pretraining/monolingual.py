"""Small monolingual texts to learn from."""

import random
from pathlib import Path

WORDS = {
    "de": ("der", "die", "das", "Haus", "Baum", "Hund", "läuft", "schläft", "groß", "über", "unter", "schön"),
    "en": ("a", "the", "this", "house", "tree", "dog", "runs", "sleeps", "big", "over", "under", "nice"),
}


def write_monolingual(folder: Path, lines: int = 300) -> Path:
    """train.LANG and valid.LANG of two languages; of English there is half as much."""
    folder.mkdir(parents=True)
    draw = random.Random(1)
    for language, words in WORDS.items():
        for split, count in (("train", lines if language == "de" else lines // 2), ("valid", 20)):
            text = [" ".join(draw.choices(words, k=draw.randint(3, 9))) for _ in range(count)]
            (folder / f"{split}.{language}").write_text("".join(f"{line}\n" for line in text))
    return folder
