"""Small parallel texts whose words and links are known: a sentence is translated word by word."""

import random
from pathlib import Path

WORDS = {
    "de": ("Haus", "Baum", "Hund", "Garten", "Wasser", "Brot", "Vogel", "Schule", "Kind", "Fluss"),
    "en": ("house", "tree", "dog", "garden", "water", "bread", "bird", "school", "child", "river"),
    "fr": ("maison", "arbre", "chien", "jardin", "eau", "pain", "oiseau", "école", "enfant", "fleuve"),
}
PAIRS = ("de-en", "en-fr")
LINES = {"train": 12, "valid": 4, "test": 4}
EMPTY = 5  # this line of every training text


def sentences(split: str, pair: str) -> list[list[int]]:
    """Numbers of words, a list per line."""
    draw = random.Random(f"{split} {pair}")
    drawn = [draw.sample(range(10), draw.randint(2, 4)) for _ in range(LINES[split])]
    if split == "train":
        drawn[EMPTY - 1] = []
    return drawn


def text_of(sentence: list[int], language: str) -> str:
    words = " ".join(WORDS[language][number] for number in sentence)
    return f"{words}." if words else ""


def write_texts(folder: Path, pairs=PAIRS, splits=tuple(LINES)) -> Path:
    """Folders text, words and alignments; a period is a word of its own, which is linked, too."""
    for name in ("text", "words", "alignments"):
        (folder / name).mkdir(parents=True)
    for split in splits:
        for pair in pairs:
            numbers = sentences(split, pair)
            for language in pair.split("-"):
                lines = [text_of(sentence, language) for sentence in numbers]
                write_lines(folder / f"text/{split}.{pair}.{language}", lines)
                words = [line.replace(".", " .") for line in lines]
                write_lines(folder / f"words/{split}.{pair}.{language}", words)
            links = [
                " ".join(f"{number}-{number}" for number in range(len(drawn) + 1)) if drawn else ""
                for drawn in numbers
            ]
            write_lines(folder / f"alignments/{split}.{pair}.align", links)
    return folder


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
