"""Write bilingual dictionaries from word alignments, in MUSE's format: a word and a translation per line.

`--input` is the folder of words that `align` read, `--alignments` what it wrote. A dictionary is made of the
training lines alone, for both directions of every pair: OUTPUT/A-B.txt and OUTPUT/B-A.txt, the translations
of a word from the most frequent on. Links of single words count; phrases do not.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from command_line.completion import check_finished
from command_line.errors import InputError, at
from command_line.lines import read_lines
from command_line.option_classes import force_switch, option, output_folder
from command_line.outputs import atomic_path
from command_line.progress import progress
from command_line.workers import dask_option, make_workers, workers_option
from data_prep.alignment.job import TEXT_SUFFIX
from data_prep.alignment.links import check_range, parse_line
from data_prep.alignment.pair_counts import PairCounts
from data_prep.blocks import Block, read_blocks
from data_prep.formats.texts import TRAIN, find_bitexts
from data_prep.step_folder import StepFolder


@dataclass(frozen=True, kw_only=True)
class LexiconJob:
    """The options of the step."""

    input: Path = option("folder of words, the output of `tokenize`", required=True)
    alignments: Path = option("folder of their alignments, of `align`", required=True)
    output: Path = output_folder("dictionaries A-B.txt")
    translations: int = option("translations of a word, at most", 3)
    min_count: int = option("aligned word pairs that a translation needs", 2)
    workers: int = workers_option()
    dask: str | None = dask_option()
    force: bool = force_switch()


def main(job: LexiconJob) -> None:
    training = [text for text in find_bitexts(job.input) if text.split == TRAIN]
    if not training:
        raise InputError(f"{job.input}: no training files, expected train.A-B.LANG")
    check_finished(job.alignments)
    links = {text.pair: job.alignments / f"{TRAIN}.{text.pair}{TEXT_SUFFIX}" for text in training}
    for path in links.values():
        if not path.is_file():
            raise InputError(f"{path}: no such file; expected the output of `python -m data_prep align`")
    settings = {"translations": job.translations, "min_count": job.min_count}
    reads = [*(path for text in training for path in text.paths), *links.values()]
    step = StepFolder(job.output, "lexicon", settings, reads=reads, inputs=(job.input, job.alignments))
    if step.is_complete(job.force):
        return
    with make_workers(job.workers, job.dask) as workers, step.writing(lambda path: path.suffix == ".txt"):
        for text in training:
            blocks = workers.map(aligned_words, read_blocks(*text.paths, links[text.pair]))
            shown = progress(blocks, None, f"lexicon {text.pair}", "word", size=Counter.total)
            counted = chain.from_iterable(block.items() for block in shown)
            write_dictionaries(job, text.pair, PairCounts(counted).at_least(job.min_count))


def aligned_words(block: Block) -> Counter:
    """(word, translation) -> how often a link of single words joins them."""
    path, counts = block.paths[2], Counter()
    texts = map(block.decode, range(3))
    for number, (a, b, line) in enumerate(zip(*texts, strict=True), block.first_line):
        words_a, words_b, spans = a.split(), b.split(), parse_line(line, path, number)
        check_range(spans, len(words_a), len(words_b), path, number)
        counts.update(
            (words_a[start_a], words_b[start_b])
            for start_a, end_a, start_b, end_b in spans
            if end_a - start_a == 1 == end_b - start_b
        )
    return counts


def write_dictionaries(job: LexiconJob, pair: str, counts: Counter) -> None:
    """Write those of both directions of a pair."""
    first, second = pair.split("-")
    for name, pairs in (
        (f"{first}-{second}", counts),
        (f"{second}-{first}", Counter({(b, a): count for (a, b), count in counts.items()})),
    ):
        lines = list(dictionary_lines(pairs, job.translations))
        if lines:  # a dictionary without entries is none, for those who read it as well
            with atomic_path(job.output / f"{name}.txt") as path:
                path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        print(f"lexicon {name}: {len(lines):,} entries")


def dictionary_lines(counts: Counter, translations: int) -> Iterator[str]:
    """Lines of a dictionary, in the order of the words' code points."""
    best = defaultdict(list)
    for (word, translation), count in counts.items():
        best[word].append((-count, translation))
    for word in sorted(best):
        for _, translation in sorted(best[word])[:translations]:
            yield f"{word} {translation}"


def read_dictionary(path: Path) -> dict[str, list[str]]:
    """Word -> its translations, of a file in MUSE's format: two words per line, a blank or a tab between."""
    translations: dict[str, list[str]] = defaultdict(list)
    for number, line in enumerate(read_lines(path), start=1):
        words = line.split()
        if len(words) != 2:
            raise InputError(f"{at(path, number)}: {line[:60]!r}, expected a word and its translation")
        if words[1] not in translations[words[0]]:
            translations[words[0]].append(words[1])
    if not translations:
        raise InputError(f"{path}: no entries, expected a word and its translation per line")
    return dict(translations)


def read_dictionaries(folder, languages: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """Language -> word -> its translations into any of the other languages, of the files A-B.txt."""
    check_finished(folder)
    languages = sorted(languages)
    merged: dict[str, dict[str, list[str]]] = {}
    for source in languages:
        for target in languages:
            path = Path(folder) / f"{source}-{target}.txt"
            if source == target or not path.is_file():
                continue
            dictionary = merged.setdefault(source, {})
            for word, translations in read_dictionary(path).items():
                kept = dictionary.setdefault(word, [])
                kept += [other for other in translations if other not in kept and other != word]
    if not merged:
        raise InputError(
            f"{folder}: no dictionary of {', '.join(languages)}; expected files A-B.txt, as `python -m"
            " data_prep lexicon` writes them and MUSE has them"
        )
    return merged
