"""Make instructions of bitext: translate it, judge and use its word alignments, complete it (thesis 6.2).

--text is a folder of raw text, such as the output of `data_prep clean`, with train and valid sets; `llm tune`
needs both. Instructions with words (align, hint, revise) also need --words, the same text by `data_prep
tokenize`, and --alignments, the output of `data_prep align --no-one-to-one`, because the pairs of the thesis
join several words. Every sentence pair gives one instruction of each task and direction. A pair without
aligned words gives none with words. A pair in which nothing can be made wrong gives no align and revise.

The command writes OUTPUT/SPLIT.TASK.A-B.jsonl, a line per instruction ("direction", "input", "output"), and
OUTPUT/instructions.json, the counts. Memory does not grow with the text.
"""

import functools
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import by_name, force_switch, option, output_folder
from command_line.progress import progress
from command_line.workers import Workers, workers_option
from data_prep.alignment.job import TEXT_SUFFIX
from data_prep.alignment.links import check_range, parse_line
from data_prep.blocks import Block, read_blocks
from data_prep.formats.directions import DIRECTIONS, Direction, format_direction
from data_prep.formats.texts import (
    LANGUAGE,
    TEST,
    TRAIN,
    Text,
    find_bitexts,
    languages_of,
    open_outputs,
    pair_name,
)
from data_prep.languages import is_english, is_unspaced
from data_prep.step_folder import StepFolder
from llm.instructions.folder import INDEX, STEP, InstructionFolder, encode, file_name
from llm.instructions.language_names import language_names
from llm.instructions.sentence_pair import SentencePair, Side, phrases_by_length
from llm.instructions.tasks import TASKS
from llm.instructions.word_pairs import LONGEST, Characters, is_word, phrase_pairs, word_places

LINES = 1_000  # of a task of a worker
OTHERS, OWN = "other-sentences", "same-sentence"  # where wrong phrases of revise are from


@dataclass(frozen=True, kw_only=True)
class InstructionJob:
    """Which instructions are made of which text."""

    text: Path = option("folder of raw text, SPLIT.A-B.LANG", required=True, metavar="DIR")
    words: Path | None = option("the same in words, the output of `data_prep tokenize`", metavar="DIR")
    alignments: Path | None = option("links of the words, the output of `data_prep align`", metavar="DIR")
    output: Path = output_folder("instructions")
    tasks: list[str] = option(
        "; ".join(f"{name}: {task.summary}" for name, task in TASKS.items()) + " (default: mt,align)",
        ["mt", "align"],
        type=options.items(options.one_of(TASKS)),
        metavar="TASK,…",
    )
    directions: list[str] | None = option(
        "those that are instructed, such as en-de,en-fr (default: both of every pair)",
        type=DIRECTIONS,
        metavar="A-B,…",
    )
    mono_languages: list[str] | None = option(
        "of mono-full and mono-half (default: all but English; the thesis: the unseen ones)",
        type=options.items(LANGUAGE),
        metavar="LANG,…",
    )
    longest_phrase: int = option("words of an aligned phrase", LONGEST)
    errors: str = option(
        f"of revise: the wrong phrase is of one of the {LINES:,} lines around, and as long ({OTHERS}), or of"
        f" the sentence itself, which then has it twice ({OWN})",
        OTHERS,
        choices=(OTHERS, OWN),
    )
    seed: int = option("of what is drawn: pairs, answers, errors, hints", 1, type=options.seed)
    workers: int = workers_option()
    force: bool = force_switch()

    def __post_init__(self):
        needing = [task for task in self.tasks if TASKS[task].needs_words]
        for name in ("words", "alignments"):
            if needing and getattr(self, name) is None:
                raise InputError(f"--{name}: is missing; --tasks {','.join(needing)} need aligned words")

    @property
    def needs_words(self) -> bool:
        return any(TASKS[task].needs_words for task in self.tasks)

    def chosen(self, bitext: Text) -> list[Direction]:
        """The directions of a pair that are instructed."""
        both = [bitext.languages, bitext.languages[::-1]]
        return [
            direction
            for direction in both
            if self.directions is None or format_direction(direction) in self.directions
        ]

    def tasks_of(self, direction: Direction) -> list[str]:
        """What is instructed in a direction: monolingual tasks where its target is one of their languages."""
        return [task for task in self.tasks if not TASKS[task].is_monolingual or self._is_mono(direction[1])]

    def has_some_for(self, bitext: Text) -> bool:
        """Whether anything is instructed of a pair."""
        return any(self.tasks_of(direction) for direction in self.chosen(bitext))

    def _is_mono(self, language: str) -> bool:
        return not is_english(language) if self.mono_languages is None else language in self.mono_languages


def main(job: InstructionJob) -> None:
    bitexts = bitexts_of(job)
    check_languages(job, bitexts)
    wanted = list(filter(job.has_some_for, bitexts))
    if not wanted:
        raise InputError(
            f"--tasks {','.join(job.tasks)}: are of the languages that --directions translate into and"
            " --mono-languages have (default: all but English), and there is none; expected one or more"
        )
    files = files_of(job, wanted)
    reads = [path for paths in files.values() for path in paths]
    inputs = [folder for folder in (job.text, job.words, job.alignments) if folder]
    step = StepFolder(job.output, STEP, by_name(job), reads, inputs)
    if step.is_complete(job.force):
        return
    with step.writing(lambda path: path.suffix == ".jsonl" or path.name == INDEX):
        counts = instruct_all(job, bitexts, files)
    print(summary(counts))


def instruct_all(job: InstructionJob, bitexts: list[Text], files: dict[Text, list[Path]]) -> dict[str, dict]:
    """Write the instructions of all texts, and the index; returns the entries of the index, by file."""
    names = language_names(languages_of(bitexts))
    with Workers(job.workers) as workers:
        counts = {}
        for bitext, paths in files.items():
            counts |= instruct(job, bitext, paths, names, job.output, workers)
    directions = sorted(
        {format_direction(direction) for bitext in bitexts for direction in job.chosen(bitext)}
    )
    InstructionFolder(job.output, names, directions, counts).save()
    return counts


def bitexts_of(job: InstructionJob) -> list[Text]:
    """Training text, and the validation text of the same pairs.

    Raises:
        InputError: there is no training text.
    """
    bitexts = [bitext for bitext in find_bitexts(job.text) if bitext.split != TEST]
    trained = {bitext.pair for bitext in bitexts if bitext.split == TRAIN}
    if not trained:
        raise InputError(f"{job.text}: no training text, expected files train.A-B.LANG")
    return [bitext for bitext in bitexts if bitext.pair in trained]


def check_languages(job: InstructionJob, bitexts: list[Text]) -> None:
    """Refuse options that name what the text does not have."""
    languages = languages_of(bitexts)
    for name, named in (
        ("--directions", [language for pair in job.directions or [] for language in pair.split("-")]),
        ("--mono-languages", job.mono_languages or []),
    ):
        for language in named:
            if language not in languages:
                raise InputError(f"{name}: {language!r} is no language of {job.text}: {', '.join(languages)}")
    pairs = {bitext.pair for bitext in bitexts}
    for direction in job.directions or []:
        if pair_name(*direction.split("-")) not in pairs:
            raise InputError(
                f"--directions: no text of {direction} in {job.text}, only of {', '.join(sorted(pairs))}"
            )


def files_of(job: InstructionJob, bitexts: Iterable[Text]) -> dict[Text, list[Path]]:
    """What is read of every pair, line-parallel: text of both sides, and, if needed, words of both and links.

    Raises:
        InputError: words or links of a text are missing.
    """
    if not job.needs_words:
        return {bitext: list(bitext.paths) for bitext in bitexts}
    words = {(aligned.split, aligned.pair): aligned.paths for aligned in find_bitexts(job.words)}
    files = {}
    for bitext in bitexts:
        paths = words.get((bitext.split, bitext.pair))
        if paths is None:
            raise InputError(
                f"{job.words}: no {bitext.split} text of {bitext.pair}, expected that of {job.text}"
            )
        links = job.alignments / f"{bitext.split}.{bitext.pair}{TEXT_SUFFIX}"
        if not links.is_file():
            raise InputError(f"{links}: no such file; expected the output of `python -m data_prep align`")
        files[bitext] = [*bitext.paths, *paths, links]
    return files


def instruct(
    job: InstructionJob,
    bitext: Text,
    paths: list[Path],
    names: dict[str, str],
    output: Path,
    workers: Workers,
) -> dict[str, dict]:
    """Write the instructions of one text.

    Returns:
        name of a file -> its entry in the index.
    """
    tasks = list(dict.fromkeys(task for direction in job.chosen(bitext) for task in job.tasks_of(direction)))
    files = {task: output / file_name(bitext.split, task, bitext.pair) for task in tasks}
    counts: Counter = Counter()
    make = functools.partial(instructions_of_block, job, bitext, names)
    blocks = progress(
        workers.map(make, read_blocks(*paths, lines=LINES)),
        None,
        f"instruct {bitext.split}.{bitext.pair}",
        "line",
        size=lambda result: result[0],
    )
    with open_outputs(files.values()) as streams:
        by_task = dict(zip(files, streams, strict=True))
        for _, made in blocks:
            for task, lines in made.items():
                counts[task] += len(lines)
                by_task[task].write("".join(lines).encode())
    return {
        path.name: {"split": bitext.split, "task": task, "instructions": counts[task]}
        for task, path in files.items()
    }


def instructions_of_block(
    job: InstructionJob, bitext: Text, names: dict[str, str], block: Block
) -> tuple[int, dict[str, list[str]]]:
    """How many lines a block has, and task -> lines of its file. Runs in a worker process."""
    made: dict[str, list[str]] = {}
    numbered = list(read_sides(job, bitext, names, block))
    elsewhere: dict[str, dict[int, list[str]]] = {language: {} for language in bitext.languages}
    if job.errors == OTHERS:
        for side, language in enumerate(bitext.languages):
            elsewhere[language] = phrases_by_length(sides[side] for _, sides in numbered)
    for number, sides in numbered:
        by_language = dict(zip(bitext.languages, sides, strict=True))
        for direction in job.chosen(bitext):
            source, target = direction
            pair = SentencePair(by_language[source], by_language[target], elsewhere[target])
            name = format_direction(direction)
            for task in job.tasks_of(direction):
                chance = random.Random(f"{job.seed} {bitext.split} {bitext.pair} {number} {name} {task}")
                instruction = TASKS[task].make(pair, chance)
                if instruction is not None:
                    made.setdefault(task, []).append(encode(name, instruction))
    return block.lines, made


def read_sides(
    job: InstructionJob, bitext: Text, names: dict[str, str], block: Block
) -> Iterator[tuple[int, tuple[Side, Side]]]:
    """Line number and both sentences of the pairs of a block; not of those in which one is empty.

    Raises:
        InputError: links are not as they must be, or words spell another text; names file and line.
    """
    rows = zip(*(block.decode(side) for side in range(len(block.paths))), strict=True)
    for number, (first, second, *words_and_links) in enumerate(rows, start=block.first_line):
        texts = first.strip(), second.strip()
        if not all(texts):
            continue
        sides = [
            {"language": names[code], "text": text, "is_unspaced": is_unspaced(code)}
            for code, text in zip(bitext.languages, texts, strict=True)
        ]
        if words_and_links:
            for side, more in zip(
                sides, _aligned(job, texts, words_and_links, block.paths, number), strict=True
            ):
                side |= more
        yield number, (Side(**sides[0]), Side(**sides[1]))


def _aligned(job: InstructionJob, texts, words_and_links, paths, number: int) -> list[dict]:
    """Words and phrases of both sides."""
    *lines, links = words_and_links
    *word_paths, link_path = paths[2:]
    words = [line.split() for line in lines]
    spans = parse_line(links, link_path, number)
    check_range(spans, *map(len, words), link_path, number)
    places = [word_places(*each, number) for each in zip(words, texts, word_paths, strict=True)]
    pairs = phrase_pairs(spans, job.longest_phrase)
    phrases = zip(
        *(
            _characters(place, [pair[first : first + 2] for pair in pairs])
            for place, first in zip(places, (0, 2), strict=True)
        ),
        strict=True,
    )
    spelled = [
        pair
        for pair in phrases
        if all(is_word(text[slice(*span)]) for text, span in zip(texts, pair, strict=True))
    ]
    return [
        {"words": place, "phrases": [pair[side] for pair in spelled]} for side, place in enumerate(places)
    ]


def _characters(places: list[Characters], spans: list[tuple[int, int]]) -> list[Characters]:
    """Spans of words as spans of characters; words that the line does not spell are nowhere."""
    there = [[place for place in places[start:end] if place[0] < place[1]] for start, end in spans]
    return [(words[0][0], words[-1][1]) if words else (0, 0) for words in there]


def summary(counts: dict[str, dict]) -> str:
    """Instructions of every set and task, as lines of text for the terminal."""
    totals: Counter = Counter()
    for entry in counts.values():
        totals[entry["split"], entry["task"]] += entry["instructions"]
    return "\n".join(f"{split:<6} {task:<10} {total:>12,}" for (split, task), total in totals.items())
