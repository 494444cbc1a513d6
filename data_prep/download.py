"""Fetch a public corpus and lay it out as SPLIT.SRC-TGT.LANG files.

{corpora}

Languages default to those of Table 8.1. Training is with --centric (8.2.1: English), and of l10n also with
--further-pairs. Downloads resume, are kept in OUTPUT/downloads, and are verified against
OUTPUT/downloads/SHA256SUMS, which is written at the first download or may be there before. --from-folder
takes a folder with the archives or the files in them instead of the network. --train-pairs cuts the training
text of every pair of languages; an id of mtdata with @N behind it is cut to its first N pairs.
"""

from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from command_line import options
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from command_line.outputs import remove_leftovers, write_json
from command_line.progress import progress
from data_prep.blocks import encode
from data_prep.corpora import CORPORA
from data_prep.corpora.fetching import Source, read_sums
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


@dataclass(frozen=True)
class DownloadJob:
    """Which corpus is fetched, and from where: the options of the step.

    Attributes:
        name: key of `CORPORA`, or `MTDATA`.
        langs: languages; None takes all of the corpus.
        from_folder: a local copy instead of the network, or None.
        centric: the language of every training pair.
        further_pairs: training pairs without it.
        train, valid, test: ids of mtdata.
        train_pairs: training lines of every pair of languages; None for all.
    """

    name: str
    langs: list[str] | None
    from_folder: Path | None
    centric: str
    further_pairs: list[str]
    train: list[str]
    valid: list[str]
    test: list[str]
    train_pairs: int | None

    def ids(self) -> dict[str, list[str]]:
        """Split -> ids of mtdata."""
        return {split: getattr(self, split) for split in SPLITS}


def add_arguments(parser) -> None:
    parser.add_argument("name", choices=(*CORPORA, MTDATA), help="the corpus")
    parser.add_argument(
        "--langs", type=LANGUAGES, help="languages, separated by commas (default: all of the corpus)"
    )
    parser.add_argument(
        "--output", required=True, type=options.output_folder, help="folder for the text files"
    )
    parser.add_argument(
        "--from-folder", type=options.path, metavar="DIR", help="a local copy instead of the network"
    )
    parser.add_argument(
        "--centric", type=LANGUAGE, default="en", help="the language of every training pair (8.2.1: English)"
    )
    parser.add_argument(
        "--further-pairs",
        type=options.items(options.split),
        default=[],
        metavar="PAIR,…",
        help="training pairs without it, of l10n: de-fr,cs-ja",
    )
    for split in SPLITS:
        parser.add_argument(
            f"--{split}",
            nargs="+",
            type=options.text,
            default=[],
            metavar="ID",
            help=f"mtdata ids for {split}; ID@N: its first N pairs",
        )
    parser.add_argument(
        "--train-pairs",
        type=options.positive,
        metavar="N",
        help="the first N training lines of every pair of languages (default: all)",
    )
    parser.add_argument("--force", action="store_true", help="lay it out again; verified downloads are kept")


def chosen_languages(job: DownloadJob) -> list[str]:
    """The languages asked for, or all of the corpus.

    Raises:
        InputError: one that the corpus does not have.
    """
    corpus = CORPORA.get(job.name)
    if job.langs is None:
        if corpus is None:
            raise InputError("download mtdata: --langs is needed, for instance --langs de,en")
        return sorted(corpus.languages)
    if corpus and corpus.further_languages is not None:
        known = sorted({*corpus.languages, *corpus.further_languages})
        for language in job.langs:
            if language not in known:
                raise InputError(f"--langs: {job.name} has no {language!r}; it has {', '.join(known)}")
    return job.langs


def find_splits(job: DownloadJob, languages: list[str], source: Source):
    """The bitexts of the corpus that the job asks for."""
    further = further_pairs(job, languages)
    if job.name == MTDATA:
        from data_prep.corpora.mtdata_index import mtdata_splits

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
        corpus.read(source, languages, centric), (corpus.read_pair(source, pair) for pair in further)
    )


def further_pairs(job: DownloadJob, languages: list[str]) -> list[str]:
    """The pairs without the centric language that are asked for, each in alphabetical order.

    Raises:
        InputError: the corpus has no such training text, or an entry is no pair of its languages, or is there
            anyway.
    """
    if job.further_pairs and (job.name == MTDATA or CORPORA[job.name].read_pair is None):
        raise InputError(f"--further-pairs: {job.name} has none; leave the option out")
    found = []
    for entry in job.further_pairs:
        codes = entry.split("-")
        if len(set(codes)) != 2 or not set(codes) <= set(languages):
            raise InputError(
                f"--further-pairs {entry}: expected two of --langs {','.join(languages)}, for example de-fr"
            )
        pair = pair_name(*codes)
        if job.centric in codes or pair in found:
            raise InputError(f"--further-pairs {entry}: is trained on already; leave it out")
        found.append(pair)
    return found


def write_bitext(bitext, folder: Path, train_pairs: int | None = None) -> int:
    """Write one bitext, of training its first `train_pairs` lines; returns its number of lines.

    Raises:
        InputError: it has none.
    """
    count = 0
    outputs = [folder / f"{bitext.split}.{bitext.pair}.{code}" for code in bitext.pair.split("-")]
    rows = islice(bitext.rows(), train_pairs if bitext.split == TRAIN else None)
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
    corpus, found = CORPORA[name], []
    for bitext, lines in counts.items():
        split, pair = bitext.split(".")
        expected = corpus.lines.get(split, lines)
        if split == TRAIN and train_pairs:
            expected = min(expected, train_pairs)
        if lines != expected and set(pair.split("-")) <= set(corpus.languages):
            found.append(f"{bitext}: {lines} lines, the published corpus has {expected}")
    return found


def main(args) -> None:
    import sys

    job = from_arguments(DownloadJob, args)
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
    step = StepFolder(args.output, "download", settings, inputs=(job.from_folder,) if job.from_folder else ())
    downloads = args.output / "downloads"
    with Source(job.from_folder, downloads) as source:
        known = step.stamp.recorded().get("inputs", {})
        step.stamp.inputs = source.identities(known, known if job.from_folder is None else None)
        if step.is_complete(args.force):
            return
        remove_leftovers(downloads)
        # What is missing fails before old files go; but for corpora of mtdata, which come one by one.
        splits = list(find_splits(job, languages, source))
        step.begin(lambda path: is_corpus_file(path) or path.name == REPORT)
        counts = {
            f"{bitext.split}.{bitext.pair}": write_bitext(bitext, args.output, job.train_pairs)
            for bitext in splits
        }
        step.stamp.inputs = source.identities(source.asked)
    for difference in compare_with_paper(job.name, counts, job.train_pairs):
        print(f"download: {difference}", file=sys.stderr)
    write_json(args.output / REPORT, {"lines": counts, "sha256": read_sums(downloads)})
    step.finish()
