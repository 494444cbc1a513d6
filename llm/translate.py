"""Translate a test set in all directions with a language model that is asked by a prompt (thesis 6.3.1).

DATA/text has the raw test sets, SPLIT.A-B.LANG, as a folder of `data_prep binarize` does. --tuned adds what
`llm tune` has taught the model. Writes OUTPUT/SRC-TGT.txt, one line per line, and OUTPUT/translate.json,
which `eval score`, `eval compare` and `eval report` take as those of translation models. A killed run
continues.

Prompts are those of Table D.2; with `--pivot en` directions that were not taught are translated into English
and from there (D.4). The thesis does not say how it searched; here it is greedily, or with --beam. A prompt
ends where the answer begins, of which the first line is taken.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.journal import Journal
from command_line.lines import read_lines
from command_line.option_classes import by_name, from_arguments
from command_line.outputs import check_other_folder, checksum, write_json, write_text
from command_line.provenance import path_in_record
from data_prep.formats.directions import Direction, directions_or, format_direction, parse_directions
from data_prep.formats.texts import LANGUAGE
from eval.results.scores import TRANSLATION
from eval.translation.evaluated_model import SETS
from llm.instructions.language_names import language_names
from llm.instructions.prompts import DEFAULT, PROMPTS
from llm.language_model import check_positions, warn_of_cut
from llm.parallel_sets import source_files
from llm.prompted_model import PromptedModel, add_model_arguments
from llm.search import Search

ALL, SUPERVISED, _ = SETS


@dataclass(frozen=True)
class PromptedJob:
    """What is translated with what.

    Attributes:
        data: folder with text/.
        directions: one of SETS, or a list such as "de-fr,fr-de".
        prompt: a key of PROMPTS.
        pivot: language through which zero-shot directions are translated.
    """

    model: PromptedModel
    data: Path
    dataset: str | None
    split: str
    directions: str
    prompt: str
    pivot: str | None
    search: Search

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
        found, taught = self.sets, self.model.taught()
        known = {language for direction in (*found, *taught) for language in direction}
        if self.pivot and found and self.pivot not in known:
            raise InputError(
                f"--pivot: {self.pivot!r} is no language of the {self.split} sets of {self.text}, nor taught:"
                f" {', '.join(sorted(known))}"
            )
        wanted = self.directions
        if wanted in SETS:
            chosen = [one for one in found if wanted == ALL or (one in taught) == (wanted == SUPERVISED)]
        else:
            chosen = parse_directions(wanted, "--directions")
            for direction in chosen:
                if direction not in found:
                    raise InputError(f"{self.text}: no {self.split} set of {format_direction(direction)}")
        if self.pivot:
            through = [one for one in chosen if one not in taught and self.pivot not in one]
            if wanted not in SETS and through != chosen:
                other = next(one for one in chosen if one not in through)
                raise InputError(
                    f"--pivot {self.pivot}: {format_direction(other)} of --directions was taught or has"
                    f" {self.pivot} in it; expected zero-shot directions between other languages"
                )
            chosen = through
        if not chosen:
            raise InputError(f"{self.text}: no {self.split} set for {wanted} directions")
        return {direction: found[direction] for direction in sorted(chosen)}


def add_arguments(parser) -> None:
    add_model_arguments(parser)
    add = parser.add_argument
    add(
        "--data",
        required=True,
        type=options.path,
        metavar="DATA",
        help="folder whose text/ has the test sets",
    )
    add("--dataset", type=options.text, help="name of the data in tables (default: the name of DATA)")
    add("--output", required=True, type=options.output_folder, metavar="DIR", help="folder for SRC-TGT.txt")
    add("--split", type=options.split, default="test", help="which set to translate")
    add(
        "--directions",
        "--direction",
        type=directions_or(*SETS),
        default=ALL,
        metavar="A-B,…",
        help=f"{', '.join(SETS)}, or a list such as de-fr,fr-de",
    )
    add("--prompt", choices=PROMPTS, default=DEFAULT, help="of Table D.2; the default one is that of tuning")
    add(
        "--pivot",
        type=LANGUAGE,
        metavar="LANG",
        help="translate zero-shot directions through this language",
    )
    add("--beam", type=options.positive, default=1, help="hypotheses of a beam search; 1 searches greedily")
    add("--max-input", type=options.positive, default=384, help="tokens of a prompt")
    add("--max-output", type=options.positive, default=384, help="tokens of a translation")
    add("--batch-sentences", type=options.positive, default=16, help="prompts at a time")
    add("--force", action="store_true", help="translate again even if it is done")


def main(args) -> None:
    job = from_arguments(PromptedJob, args)
    sources = job.sources()
    check_other_folder(args.output, [job.text, *job.model.folders()])
    stamp = Stamp(
        args.output / ".translate.done",
        "translate",
        by_name(job),
        [*set(sources.values()), *job.model.files()],
    )
    if not stamp.is_current(args.force):
        job.model.warn_of_unknown(job.sets, f"{job.split} set in {job.text}")
        translate(job, sources, args.output, stamp, continued=not args.force)


def translate(
    job: PromptedJob, sources: dict[Direction, Path], output: Path, stamp: Stamp, continued: bool
) -> None:
    """Load, ask, write.

    Args:
        sources: direction -> file.
        stamp: describes the work, for which a journal is kept.
        continued: take what is in the journal of a run that was killed.
    """
    from llm.generation import Answers

    started = time.monotonic()
    read = job.search.max_input + job.search.max_output - 1  # all but the last token of an answer
    limits = f"--max-input {job.search.max_input}, --max-output {job.search.max_output}"
    check_positions(job.model.weights, read, limits)
    answers = Answers(*job.model.load(), job.search)
    lines = {path: [line.strip() for line in read_lines(path)] for path in set(sources.values())}
    texts = [lines[path] for path in sources.values()]
    stamp.begin()
    with Journal(output / ".journal.jsonl", stamp.work, keep=continued) as journal:
        ask = Asking(job, answers, journal, sources)
        if job.pivot:
            to_pivot = [(source, job.pivot) for source, _ in sources]
            texts = ask(to_pivot, texts, f"to {job.pivot}")
            found = ask([(job.pivot, target) for _, target in sources], texts, f"from {job.pivot}")
        else:
            found = ask(list(sources), texts, "translate")
    for direction, hypotheses in zip(sources, found, strict=True):
        write_text(output / f"{format_direction(direction)}.txt", "".join(f"{line}\n" for line in hypotheses))
    record = describe(job, sources, output, found, ask.cut, time.monotonic() - started)
    write_json(output / TRANSLATION, record)
    warn_of_cut(ask.cut.total(), ask.asked.total(), "prompts", job.search.max_input, " and lost their ends")
    journal.remove()
    stamp.finish([output / TRANSLATION, *(output / f"{format_direction(one)}.txt" for one in sources)])


class Asking:
    """Asks for translations of texts.

    Args:
        answers: `llm.generation.Answers`.
        directions: all that are translated.

    Attributes:
        asked, cut: number of a text -> how many prompts it had, and how many of them were too long and lost
            their ends.
    """

    def __init__(self, job: PromptedJob, answers, journal: Journal, directions: Iterable[Direction]):
        self.prompt, self.answers, self.journal = PROMPTS[job.prompt], answers, journal
        known = {language for direction in directions for language in direction}
        if job.pivot:
            known.add(job.pivot)
        self.names = language_names(sorted(known)) | job.model.languages()
        self.asked: Counter = Counter()
        self.cut: Counter = Counter()

    def __call__(self, directions: list[Direction], texts: list[list[str]], task: str) -> list[list[str]]:
        """The translation of every line; that of an empty one is empty.

        Args:
            directions: one per text.
        """
        prompts = [
            [
                self.prompt.format(source=self.names[source], target=self.names[target], text=line)
                for line in lines
                if line
            ]
            for (source, target), lines in zip(directions, texts, strict=True)
        ]
        found = iter(self.answers.to([one for each in prompts for one in each], self.journal, task))
        for number, each in enumerate(prompts):
            self.asked[number] += len(each)
            self.cut[number] += sum(one in self.answers.cut for one in each)
        return [[next(found) if line else "" for line in lines] for lines in texts]


def describe(
    job: PromptedJob, sources, output: Path, found: list[list[str]], cut: Mapping[int, int], seconds: float
) -> dict:
    """The contents of `translate.json`.

    Args:
        cut: number of a direction -> prompts that lost their ends.
    """
    taught = job.model.taught()
    entries = {
        format_direction(direction): {
            "kind": "supervised" if direction in taught else "zero-shot",
            "lines": len(hypotheses),
            "cut_prompts": cut[number],
            "sha256": checksum(output / f"{format_direction(direction)}.txt"),
        }
        for number, (direction, hypotheses) in enumerate(zip(sources, found, strict=True))
    }
    return {
        "format": 1,
        **job.model.provenance(job.prompt),
        "data": {"path": path_in_record(job.data, output), "dictionary_sha256": None},
        "dataset": job.dataset or job.data.resolve().name,
        "split": job.split,
        "beam": job.search.beam,
        "max_len_b": job.search.max_output,
        "max_input": job.search.max_input,
        "pivot": job.pivot,
        "directions": entries,
        "seconds": round(seconds, 1),  # of this run
    }
