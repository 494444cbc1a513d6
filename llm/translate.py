"""Translate a test set in all directions with a language model that is asked by a prompt (thesis 6.3.1).

DATA/text has the raw test sets, SPLIT.A-B.LANG, as a folder of `data_prep binarize` does. --tuned adds what
`llm tune` has taught the model. The command writes OUTPUT/SRC-TGT.txt, one line per line, and
OUTPUT/translate.json. `eval score`, `eval compare` and `eval report` read these like translations of other
models. A killed run continues.

Prompts are those of Table D.2. `--prompt FILE` asks in other words, `--chat` by the model's own chat
template, `--shots N` with examples of the validation set. The first line behind the prompt is the answer.
`--pivot en` translates directions that were not taught through English (thesis D.4). The search is greedy, or
with --beam; the thesis does not say.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.journal import Journal, JournaledStep
from command_line.lines import read_lines
from command_line.option_classes import by_name, force_switch, option, output_folder
from command_line.outputs import check_other_folder
from command_line.provenance import path_in_record
from data_prep.formats.directions import Direction, directions_or, format_direction, parse_directions
from data_prep.formats.package import dataset_of
from data_prep.formats.parallel_sets import source_files
from data_prep.formats.texts import LANGUAGE
from eval.translation.evaluated_model import SETS
from eval.translation.translated_folder import write_translations
from llm.instructions.language_names import language_names
from llm.language_model import check_positions, warn_of_cut
from llm.prompted_model import PromptedModel
from llm.prompting import PromptOptions
from llm.search import Search

ALL, SUPERVISED, _ = SETS


@dataclass(frozen=True, kw_only=True)
class PromptedJob:
    """What is translated with what."""

    model: PromptedModel
    data: Path = option("folder whose text/ has the test sets", required=True, metavar="DATA")
    dataset: str | None = option("name of the data in tables (default: the name of DATA)")
    output: Path = output_folder("SRC-TGT.txt")
    split: str = option("which set to translate", "test", type=options.split)
    directions: str = option(
        f"{', '.join(SETS)}, or a list such as de-fr,fr-de",
        ALL,
        flags=("--directions", "--direction"),
        type=directions_or(*SETS),
        metavar="A-B,…",
    )
    asked: PromptOptions
    pivot: str | None = option(
        "translate zero-shot directions through this language", type=LANGUAGE, metavar="LANG"
    )
    search: Search
    force: bool = force_switch()

    @property
    def text(self) -> Path:
        return self.data / "text"

    @cached_property
    def sets(self) -> dict[Direction, Path]:
        """Direction -> file of its sources, of all that there are."""
        return source_files(self.text, self.split)

    def sources(self) -> dict[Direction, Path]:
        """Direction -> file of its sources, of those that are translated.

        Raises:
            InputError: there is no such set, or a direction without one is asked for, or one that is not
                translated through the pivot; or the pivot is neither a language of the sets nor a taught one.
        """
        sets, taught = self.sets, self.model.taught()
        languages = {language for direction in (*sets, *taught) for language in direction}
        if self.pivot and sets and self.pivot not in languages:
            raise InputError(
                f"--pivot: {self.pivot!r} is no language of the {self.split} sets of {self.text}, nor taught:"
                f" {', '.join(sorted(languages))}"
            )
        wanted = self.directions
        if wanted in SETS:
            chosen = [pair for pair in sets if wanted == ALL or (pair in taught) == (wanted == SUPERVISED)]
        else:
            chosen = parse_directions(wanted, "--directions")
            for direction in chosen:
                if direction not in sets:
                    raise InputError(f"{self.text}: no {self.split} set of {format_direction(direction)}")
        if self.pivot:
            through = [pair for pair in chosen if pair not in taught and self.pivot not in pair]
            if wanted not in SETS and through != chosen:
                other = next(pair for pair in chosen if pair not in through)
                raise InputError(
                    f"--pivot {self.pivot}: {format_direction(other)} of --directions was taught or has"
                    f" {self.pivot} in it; expected zero-shot directions between other languages"
                )
            chosen = through
        if not chosen:
            raise InputError(f"{self.text}: no {self.split} set for {wanted} directions")
        return {direction: sets[direction] for direction in sorted(chosen)}


def main(job: PromptedJob) -> None:
    sources = job.sources()
    check_other_folder(job.output, [job.text, *job.model.folders()])
    inputs = [*set(sources.values()), *job.model.files(), *job.asked.files(job.text)]
    stamp = Stamp(job.output / ".translate.done", "translate", by_name(job), inputs)
    JournaledStep(stamp, job.force).do(lambda: prepared(job, sources))


def prepared(job: PromptedJob, sources: dict[Direction, Path]) -> Callable[[Journal], list[Path]]:
    """The translation, by a model that has been loaded, of texts that have been read."""
    from llm.generation import Answers

    started = time.monotonic()
    job.model.warn_of_unknown(job.sets, f"{job.split} set in {job.text}")
    read = job.search.max_input + job.search.max_output - 1  # all but the last token of an answer
    limits = f"--max-input {job.search.max_input}, --max-output {job.search.max_output}"
    check_positions(job.model.weights, read, limits)
    model, tokenizer = job.model.load()
    answers = Answers(model, tokenizer, job.search, job.asked.chat)
    lines = {path: [line.strip() for line in read_lines(path)] for path in set(sources.values())}
    texts = {direction: lines[path] for direction, path in sources.items()}
    return lambda journal: translate(job, texts, Asking(job, answers, journal, sources), started)


def translate(
    job: PromptedJob, sources: dict[Direction, list[str]], ask: "Asking", started: float
) -> list[Path]:
    """Ask, and write; returns the files.

    Args:
        sources: the lines of each direction.
        started: when the model began to be loaded, in seconds.
    """
    texts = list(sources.values())
    if job.pivot:
        texts = ask([(source, job.pivot) for source, _ in sources], texts, f"to {job.pivot}")
        translations = ask([(job.pivot, target) for _, target in sources], texts, f"from {job.pivot}")
    else:
        translations = ask(list(sources), texts, "translate")
    described = describe(job)
    hypotheses = dict(zip(sources, translations, strict=True))
    cut = {direction: {"cut_prompts": ask.cut[number]} for number, direction in enumerate(sources)}
    files = write_translations(job.output, described, hypotheses, job.model.taught(), started, details=cut)
    warn_of_cut(ask.cut.total(), ask.asked.total(), "prompts", job.search.max_input, " and lost their ends")
    return files


class Asking:
    """Asks for translations of texts.

    Attributes:
        asked, cut: number of a text -> how many prompts it had, and how many of them were too long and lost
            their ends.
    """

    def __init__(self, job: PromptedJob, answers, journal: Journal, directions: Iterable[Direction]):
        self.answers, self.journal = answers, journal
        languages = {language for direction in directions for language in direction}
        if job.pivot:
            languages.add(job.pivot)
        names = language_names(sorted(languages)) | job.model.languages()
        self.prompter = job.asked.prompter(job.text, names, answers.tokenizer, job.model.weights)
        self.asked: Counter = Counter()
        self.cut: Counter = Counter()

    def __call__(self, directions: list[Direction], texts: list[list[str]], task: str) -> list[list[str]]:
        """The translation of every line; that of an empty one is empty."""
        prompts = [
            self.prompter(direction, filter(None, lines))
            for direction, lines in zip(directions, texts, strict=True)
        ]
        answers = iter(self.answers.to([prompt for each in prompts for prompt in each], self.journal, task))
        for number, each in enumerate(prompts):
            self.asked[number] += len(each)
            self.cut[number] += sum(prompt in self.answers.cut for prompt in each)
        return [[next(answers) if line else "" for line in lines] for lines in texts]


def describe(job: PromptedJob) -> dict:
    """What `translate.json` says of model, data and search."""
    return {
        **job.model.provenance(job.asked.label),
        "prompt_template": job.asked.template,
        "data": {"path": path_in_record(job.data, job.output), "dictionary_sha256": None},
        "dataset": job.dataset or dataset_of(job.data),
        "split": job.split,
        "beam": job.search.beam,
        "max_len_b": job.search.max_output,
        "max_input": job.search.max_input,
        "pivot": job.pivot,
    }
