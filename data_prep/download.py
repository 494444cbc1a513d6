"""Fetch a public corpus and lay it out as SPLIT.SRC-TGT.LANG files.

{corpora}

Languages default to those of Table 8.1. Training is with --centric (thesis 8.2.1: English), and of l10n and
challenge also with --further-pairs. Downloads resume, are kept in OUTPUT/downloads, and are verified against
OUTPUT/downloads/SHA256SUMS, which is written at the first download or may be there before. --from-folder
takes a folder with the archives or the files in them instead of the network. --train-pairs cuts the training
text of every pair of languages; an id of mtdata with @N behind it is cut to its first N pairs.
"""

import sys
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import force_switch, option, output_folder, positional
from command_line.outputs import remove_leftovers, write_json
from command_line.progress import progress
from data_prep.blocks import encode
from data_prep.corpora import CORPORA
from data_prep.corpora.fetching import Source, read_sums
from data_prep.corpora.mtdata_index import mtdata_splits
from data_prep.formats.texts import (
    LANGUAGE,
    LANGUAGES,
    SPLITS,
    TRAIN,
    centric_language,
    is_corpus_file,
    open_outputs,
    pair_name,
)
from data_prep.languages import is_english
from data_prep.step_folder import StepFolder

REPORT = "download-report.json"
MTDATA = "mtdata"


def _list() -> str:
    """What the corpora are, one item each."""
    described = {name: corpus.description for name, corpus in CORPORA.items()}
    described[MTDATA] = "any bitexts of mtdata's index: --train ID ... --valid ID ... --test ID ..."
    return "\n".join(f"  {name:<11}{text}" for name, text in described.items())


__doc__ = __doc__.replace("{corpora}", _list())


def _ids(split: str) -> Any:
    """The option that takes the ids of a set."""
    return option(f"mtdata ids for {split}; ID@N: its first N pairs", [], metavar="ID")


@dataclass(frozen=True, kw_only=True)
class DownloadJob:
    """Which corpus is fetched, and from where: the options of the step."""

    name: str = positional("the corpus", choices=(*CORPORA, MTDATA))
    langs: list[str] | None = option(
        "languages, separated by commas (default: all of the corpus)", type=LANGUAGES
    )
    output: Path = output_folder("the text files")
    from_folder: Path | None = option("a local copy instead of the network", metavar="DIR")
    centric: str = option("the language of every training pair (thesis 8.2.1: English)", "en", type=LANGUAGE)
    further_pairs: list[str] = option(
        "training pairs without it, of l10n and challenge: de-fr,cs-ja",
        [],
        type=options.items(options.split),
        metavar="PAIR,…",
    )
    train: list[str] = _ids("train")
    valid: list[str] = _ids("valid")
    test: list[str] = _ids("test")
    train_pairs: int | None = option(
        "the first N training lines of every pair of languages (default: all)", metavar="N"
    )
    force: bool = force_switch("do it again even if it is done; verified downloads are kept")

    def ids(self) -> dict[str, list[str]]:
        """Split -> ids of mtdata."""
        return {split: getattr(self, split) for split in SPLITS}


def chosen_languages(job: DownloadJob) -> list[str]:
    """The languages asked for, or all of the corpus."""
    corpus = CORPORA.get(job.name)
    if job.langs is None:
        if corpus is None:
            raise InputError("download mtdata: --langs is needed, for instance --langs de,en")
        return sorted(corpus.languages)
    if corpus and corpus.further_languages is not None:
        languages = sorted({*corpus.languages, *corpus.further_languages})
        for language in job.langs:
            if language not in languages:
                raise InputError(f"--langs: {job.name} has no {language!r}; it has {', '.join(languages)}")
    return job.langs


def find_splits(job: DownloadJob, languages: list[str], source: Source):
    """The bitexts of the corpus that the job asks for."""
    further = further_pairs(job, languages)
    if job.name == MTDATA:
        if not is_english(job.centric):
            raise InputError(
                f"--centric {job.centric}: {MTDATA} has the pairs of its ids; leave the option out"
            )
        return mtdata_splits(source, languages, job.ids())
    for split, ids in job.ids().items():
        if ids:
            raise InputError(f"--{split}: ids of mtdata; {job.name} has its own sets, leave the option out")
    corpus = CORPORA[job.name]
    centric = centric_language(languages, job.centric)
    if corpus.english_centric and not is_english(centric):
        raise InputError(f"--centric {centric}: the training data of {job.name} is with English only")
    return chain(
        corpus.read(source, languages, centric), *(corpus.read_pair(source, pair) for pair in further)
    )


def further_pairs(job: DownloadJob, languages: list[str]) -> list[str]:
    """The pairs without the centric language that are asked for, each in alphabetical order."""
    if job.further_pairs and (job.name == MTDATA or CORPORA[job.name].read_pair is None):
        raise InputError(f"--further-pairs: {job.name} has none; leave the option out")
    further = []
    for entry in job.further_pairs:
        codes = entry.split("-")
        if len(set(codes)) != 2 or not set(codes) <= set(languages):
            raise InputError(
                f"--further-pairs {entry}: expected two of --langs {','.join(languages)}, for example de-fr"
            )
        pair = pair_name(*codes)
        if job.centric in codes or pair in further:
            raise InputError(f"--further-pairs {entry}: is trained on already; leave it out")
        further.append(pair)
    return further


def write_bitext(bitext, folder: Path, train_pairs: int | None = None) -> int:
    """Write one bitext, of training its first `train_pairs` lines; returns its number of lines."""
    count = 0
    outputs = [folder / f"{bitext.split}.{bitext.pair}.{code}" for code in bitext.pair.split("-")]
    rows = islice(bitext.rows, train_pairs if bitext.split == TRAIN else None)
    with open_outputs(outputs) as streams:
        for row in progress(rows, None, f"{bitext.split}.{bitext.pair}", "line"):
            for stream, line in zip(streams, row, strict=True):
                stream.write(encode([_one_line(line)]))
            count += 1
        if not count:
            raise InputError(f"{bitext.split}.{bitext.pair}: is empty, expected lines of text")
    return count


def _one_line(line: str) -> str:
    return line.replace("\r", " ").replace("\n", " ").strip()  # which characters of XML may have become


def compare_with_paper(name: str, counts: dict[str, int], train_pairs: int | None) -> list[str]:
    """Differences from Table 7.1, or from the training pairs that were asked for, for a warning."""
    if name not in CORPORA:
        return []
    corpus, differences = CORPORA[name], []
    for bitext, lines in counts.items():
        split, pair = bitext.split(".")
        expected = corpus.lines.get(split, lines)
        if split == TRAIN and train_pairs:
            expected = min(expected, train_pairs)
        if lines != expected and set(pair.split("-")) <= set(corpus.languages):
            differences.append(f"{bitext}: {lines} lines, the published corpus has {expected}")
    return differences


def is_written(path: Path) -> bool:
    return is_corpus_file(path) or path.name == REPORT


def main(job: DownloadJob) -> None:
    languages = chosen_languages(job)
    settings = {
        "name": job.name,
        "languages": languages,
        "centric": job.centric,
        "from_folder": job.from_folder,
        "further_pairs": job.further_pairs,
        "train_pairs": job.train_pairs,
        **job.ids(),
    }
    step = StepFolder(job.output, "download", settings, inputs=(job.from_folder,) if job.from_folder else ())
    downloads = job.output / "downloads"
    with Source(job.from_folder, downloads) as source:
        recorded = step.stamp.recorded().get("inputs", {})
        step.stamp.inputs = source.identities(recorded, recorded if job.from_folder is None else None)
        if step.is_complete(job.force):
            return
        remove_leftovers(downloads)
        # What is missing fails before old files go; but for corpora of mtdata, which come one by one.
        splits = list(find_splits(job, languages, source))
        with step.writing(is_written), source:  # what was taken out of archives goes before the step ends
            counts = {
                f"{bitext.split}.{bitext.pair}": write_bitext(bitext, job.output, job.train_pairs)
                for bitext in splits
            }
            step.stamp.inputs = source.identities(source.asked)
            write_json(job.output / REPORT, {"lines": counts, "sha256": read_sums(downloads)})
    for difference in compare_with_paper(job.name, counts, job.train_pairs):
        print(f"download: {difference}", file=sys.stderr)
