"""What the steps `bunsetsu` and `phrases` share: files, shards that survive a kill, workers, the record.

Every language has a record of its own, `phrases.en.json`: several may share a folder, as `structures` reads
it. While a file is being parsed, its finished shards (1,000 lines each) lie in `OUTPUT/.shards-phrases.en`;
the same command goes on from there.
"""

import functools
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NotRequired

from typing_extensions import TypedDict

from command_line.completion import check_finished
from command_line.dask_workers import DaskWorkers
from command_line.errors import InputError
from command_line.lines import count_lines, uncompressed_name
from command_line.option_classes import force_switch, option, output_folder
from command_line.outputs import remove_leftovers, write_json
from command_line.progress import progress
from command_line.records import read_json, read_record
from command_line.workers import Workers, dask_option, workers_option
from data_prep.blocks import read_blocks
from data_prep.formats.structures import join_structures, structure_path, write_structures
from data_prep.formats.texts import SPLITS, split_of, text_file
from data_prep.parsing.parse_files import SUFFIXES, parse_file, read_parses
from data_prep.parsing.parsers import OWN_MODELS, ParserChoice, make_parser, model_files, model_version
from data_prep.parsing.shards import Shard, structures_of_shard
from data_prep.step_folder import StepFolder

LINES_PER_SHARD = 1_000
COUNTS = ("lines", "analysed", "empty", "unparsed", "unmapped", "too-long", "words", "moved", "inside-words")
ShardCounts = TypedDict(  # the record of a finished shard
    "ShardCounts", {**dict.fromkeys(COUNTS, NotRequired[int | None]), "lines": int}
)


@dataclass(frozen=True, kw_only=True)
class ParsingJob:
    """Which text is parsed, with what, and where the structures go."""

    parser: str
    model: str | None
    input: Path = option("folder of tokenized text, SPLIT.….LANG files", required=True)
    output: Path = output_folder("the structures")
    lang: str
    text: Path | None = option(
        "folder of the same files before tokenization, for the parser to read instead of joined words"
    )
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()


def texts_of_language(folder: Path, language: str) -> list[Path]:
    """Files of text of one language: SPLIT.….LANG, plain or compressed, of a bitext or monolingual."""
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: no such folder")
    check_finished(folder)
    paths: dict[str, Path] = {}
    for path in sorted(Path(folder).iterdir()):
        name = uncompressed_name(path)
        parts = name.split(".")
        if path.is_file() and len(parts) > 1 and split_of(parts[0]) and parts[-1] == language:
            if name in paths:
                raise InputError(f"{path}: the same text as {paths[name].name}; keep one of them")
            paths[name] = path
    if not paths:
        raise InputError(f"{folder}: no files named SPLIT.….{language} with SPLIT one of {', '.join(SPLITS)}")
    return list(paths.values())


def read_shards(path: Path, raw: Path | None, parses: Path | None, parser: str) -> Iterator[Shard]:
    """The lines of a file of text with what belongs to them."""
    sentences = read_parses(parses, parser) if parses else iter(())
    blocks = read_blocks(*((path, raw) if raw else (path,)), lines=LINES_PER_SHARD)
    for number, block in enumerate(blocks):
        if not parses:
            yield Shard(number, block)
            continue
        filled = [bool(line.split()) for line in block.decode()]
        wanted = len(filled) if parser == "enju-xml" else sum(filled)
        parses_of_block = list(islice(sentences, wanted))
        if len(parses_of_block) < wanted:
            raise InputError(
                f"{parses}: ends {wanted - len(parses_of_block)} sentences before line "
                f"{block.first_line + block.lines - 1} of {path}; "
                f"expected one sentence for every line{'' if parser == 'enju-xml' else ' with words'}"
            )
        if parser == "enju-xml":
            parses_of_block = [
                parse for parse, is_filled in zip(parses_of_block, filled, strict=True) if is_filled
            ]
        yield Shard(number, block, tuple(parses_of_block), parses)
    extra = next(sentences, None)
    if extra:
        raise InputError(
            f"{parses}:{extra[0]}: a sentence beyond the last line of {path}; is it of another text?"
        )


def run(job: ParsingJob, kind: str, parses: Path | None = None) -> None:
    """Analyse every file of the language.

    Args:
        kind: name of the command, and of what it writes (`formats.structures`).
        parses: folder of the parses, for a parser that reads files.
    """
    choice = ParserChoice(job.parser, job.model or OWN_MODELS.get(job.parser, ""), job.lang)
    texts = texts_of_language(job.input, job.lang)
    if job.text:
        check_finished(job.text)
    rows = []
    for path in texts:
        raw = text_file(job.text / uncompressed_name(path), path) if job.text else None
        rows.append((path, raw, parse_file(parses, path, choice.name) if parses else None))
    settings = {"parser": choice.name, "model": choice.model, "language": choice.language}
    settings |= model_version(choice.model)
    reads = [path for row in rows for path in row if path] + model_files(choice.model)
    name = f"{kind}.{job.lang}"
    inputs = filter(None, (job.input, job.text, parses))
    step = StepFolder(job.output, name, settings, reads=reads, inputs=inputs)
    shards = job.output / f".shards-{name}"
    if step.is_complete(job.force):
        shutil.rmtree(shards, ignore_errors=True)  # of a run that was killed after its end
        return
    if choice.name not in SUFFIXES and not job.dask:
        # what is not installed fails now, and worker processes inherit what has been loaded
        make_parser(choice)
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)  # of every worker
    report = f"{name}-report.json"
    with (
        _workers(job) as workers,
        step.writing(lambda path: path.name.endswith(f".{job.lang}.{kind}") or path.name == report),
    ):
        _keep_shards(shards, step.stamp.work, job.force)
        counts = {}
        for path, raw, parsed in rows:
            file = structure_path(path, kind).name
            counts[file] = structures_of_file(
                (path, raw, parsed), job.output / file, kind, choice, shards / file, workers
            )
            print(in_words(file, counts[file]), flush=True)
        write_json(job.output / report, counts)
    shutil.rmtree(shards)


def structures_of_file(paths, output: Path, kind: str, choice: ParserChoice, shards: Path, workers) -> dict:
    """Analyse one file of text, shard by shard, and join the shards. Returns the counts (`COUNTS`)."""
    path, raw, parses = paths
    shards.mkdir(parents=True, exist_ok=True)
    remove_leftovers(shards)
    numbers: list[int] = []
    todo = _unfinished(read_shards(path, raw, parses, choice.name), shards, numbers)
    results = workers.map(functools.partial(structures_of_shard, choice), todo)
    finished = sum(read_record(done, ShardCounts)["lines"] for done in shards.glob("[!.]*.json"))
    total = count_lines(path) - finished
    for result in progress(results, total, f"{kind} {path.name}", "line", size=lambda item: len(item.values)):
        write_structures(_shard_path(shards, result.number), kind, result.values)
        write_json(
            _counts_path(shards, result.number), result.counts
        )  # last: it says that the shard is whole
    join_structures(output, kind, [_shard_path(shards, number) for number in numbers])
    counts: Counter = Counter()
    for number in numbers:
        counts.update(read_record(_counts_path(shards, number), ShardCounts))
    return {name: counts[name] for name in COUNTS}


def _unfinished(shards: Iterable[Shard], folder: Path, numbers: list[int]) -> Iterator[Shard]:
    """The shards that are not in the folder yet; all numbers go to `numbers`."""
    for shard in shards:
        numbers.append(shard.number)
        if not _counts_path(folder, shard.number).exists():
            yield shard


def _shard_path(folder: Path, number: int) -> Path:
    return folder / f"{number:07d}"


def _counts_path(folder: Path, number: int) -> Path:
    return folder / f"{number:07d}.json"


def _keep_shards(folder: Path, work: dict, force: bool) -> None:
    """Empty the folder of finished shards, unless they are of a run with the same settings and inputs."""
    record = folder / "settings.json"
    if force or not record.exists() or read_json(record) != work:
        shutil.rmtree(folder, ignore_errors=True)
        write_json(record, work)


def _workers(job: ParsingJob):
    if job.dask:
        return DaskWorkers(job.dask, alone=False)
    return Workers(job.workers)


def in_words(name: str, counts: dict) -> str:
    """One line about a finished file."""
    others = ", ".join(
        f"{counts[reason]} {reason}"
        for reason in ("empty", "unparsed", "unmapped", "too-long")
        if counts[reason]
    )
    moved = 100 * counts["moved"] / max(1, counts["words"])
    return (
        f"{name}: {counts['analysed']} of {counts['lines']} lines parsed"
        f"{f' ({others}: these fall back to MASS)' if others else ''}; "
        f"the reordering moves {moved:.2f}% of the words"
    )
