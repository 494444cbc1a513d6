"""Any corpus of mtdata's index: mtdata knows where it is and reads its format; the download is ours."""

import io
import logging
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from command_line.errors import InputError
from command_line.lines import open_binary, read_lines, read_parallel
from data_prep.corpora.corpus import BitextRows
from data_prep.corpora.fetching import Source
from data_prep.formats.texts import TRAIN, pair_name
from data_prep.languages import closest, find_language

PLAIN = ("txt", "raw")  # mtdata's formats with a segment in every line of either file
TEXT = ("tsv", "csvwithheader", "tmx", "sgm")  # and those that it opens as text


def find_entry(identifier: str):
    """mtdata's entry of an id such as Statmt-europarl-10-deu-eng."""
    logging.getLogger("mtdata").setLevel(logging.ERROR)
    try:
        from mtdata.entry import DatasetId
        from mtdata.index import Index

        entry = Index.get_instance()[DatasetId.parse(identifier)]
    except ImportError as error:
        raise InputError(f"mtdata cannot be imported: {error}") from None
    except Exception as error:  # mtdata raises plain exceptions for malformed ids and unknown languages
        reason = "unknown" if isinstance(error, KeyError) else error
        raise InputError(f"mtdata id {identifier}: {reason}; `mtdata list -id -l de-en` lists ids") from None
    if len(entry.did.langs) != 2:
        raise InputError(f"mtdata id {identifier}: is not a bitext")
    return entry


def read_entry(source: Source, entry) -> Iterator[tuple[str, str]]:
    """Line pairs of an entry, in the order of its languages; without pairs that have an empty side."""
    urls = [entry.url] if isinstance(entry.url, str) else list(entry.url)
    if entry.in_ext == "opus_xces" or entry.ext == "hfds":
        raise InputError(f"mtdata id {entry.did}: format {entry.in_ext or entry.ext} is not supported")
    if entry.is_archive:
        archive = f"{entry.did}.{entry.ext}"
        members = source.members(urls[0], archive, list(entry.in_paths), also=urls[0].rpartition("/")[2])
        paths = [members[name] for name in entry.in_paths]
    else:  # other entries have files of these names, too
        names = [url.rpartition("/")[2] for url in urls]
        paths = [
            source.file(url, f"{entry.did}.{number}.{name}", also=name)
            for number, (url, name) in enumerate(zip(urls, names, strict=True))
        ]
    try:
        for first, second, *_ in _segments(paths, entry):
            if first.strip() and second.strip():
                yield " ".join(first.split()), " ".join(second.split())
    except InputError:
        raise
    except UnicodeDecodeError as error:
        for path in paths:
            deque(read_lines(path, nul=True), maxlen=0)  # says which line it is
        raise InputError(f"{paths[0]}: is not UTF-8 ({error}); convert it, for instance with iconv") from None
    except Exception as error:  # mtdata reports damaged files with plain exceptions
        raise InputError(f"{paths[0]}: mtdata cannot read {entry.did}: {error}") from None


class _StrictText:
    """A file of text as mtdata opens it. By itself mtdata puts U+FFFD for what is not UTF-8, and ends lines
    of compressed files at carriage returns, too.
    """

    suffix = ""  # of a compression that would be left to mtdata

    def __init__(self, path: Path):
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def open(self, *_, **__) -> io.TextIOWrapper:
        return io.TextIOWrapper(open_binary(self._path), encoding="utf-8-sig", newline="\n")


def _segments(paths: list[Path], entry) -> Iterable[Sequence]:
    """What the files of an entry have: pairs of segments, perhaps with more behind them."""
    from mtdata.parser import Parser

    form = entry.in_ext or entry.ext
    kind = form.partition(".")[0]  # of txt.gz
    if kind in PLAIN and len(paths) == 2:
        return read_parallel(*paths, nul=True)
    files = [_StrictText(path) for path in paths] if kind in TEXT else paths
    return Parser(files, ext=form, ent=entry).read_segs(show_pbar=False)


def mtdata_splits(
    source: Source, languages: list[str], identifiers: dict[str, list[str]]
) -> Iterator[BitextRows]:
    """Bitexts of mtdata ids; several ids of one split and pair are put one after the other.

    Args:
        identifiers: split -> ids, ID@N for the first N pairs of one.
    """
    tags = {code: mtdata_tag(code) for code in languages}
    grouped: dict[tuple[str, str], list] = {}
    for split, names in identifiers.items():
        for given in names:
            name, pairs = split_limit(given)
            entry = find_entry(name)
            codes = [own_code(tag, tags) for tag in entry.did.langs]
            if None in codes:
                raise InputError(
                    f"mtdata id {name}: its languages are not both among --langs {','.join(languages)}"
                )
            grouped.setdefault((split, pair_name(*codes)), []).append((entry, codes != sorted(codes), pairs))
    if not any(split == TRAIN for split, _ in grouped):
        raise InputError("download mtdata: no --train ids")
    for (split, pair), entries in grouped.items():
        yield BitextRows(split, pair, _concatenate(source, entries))


def split_limit(given: str) -> tuple[str, int | None]:
    """`ID@N` -> the id and N; without @ the id and None."""
    name, sign, number = given.partition("@")
    if not sign:
        return name, None
    if not re.fullmatch(r"[1-9][0-9]{0,11}", number):
        raise InputError(f"mtdata id {given}: found {number!r} after @, expected a number of pairs above 0")
    return name, int(number)


def mtdata_tag(code: str):
    """mtdata's form of a language code, with `lang`, `script` and `region`."""
    from mtdata.iso.bcp47 import bcp47

    language = find_language(code)
    try:
        if language is None:
            raise ValueError
        return bcp47(code)
    except ValueError:
        raise InputError(
            f"--langs: {code!r} is not a language that mtdata knows, such as en or zho_Hans"
        ) from None


def own_code(wanted, tags: dict):
    """Which of our languages an entry's language is: the same tag, the only one of that language, or of its
    macro-language (`arb` is `ar`, `zsm` is `ms`).

    Args:
        wanted: mtdata's tag.
        tags: our code -> mtdata's tag.
    """
    same = [code for code, tag in tags.items() if str(tag) == str(wanted)]
    matching = same or [code for code, tag in tags.items() if tag.lang == wanted.lang]
    if len(matching) > 1:
        raise InputError(
            f"--langs: {' and '.join(matching)} are both {wanted} of mtdata; expected one of them"
        )
    return matching[0] if matching else closest(wanted.lang, tags)


def _concatenate(source: Source, entries: list) -> Iterator[tuple[str, str]]:
    for entry, swap, pairs in entries:
        for first, second in islice(read_entry(source, entry), pairs):
            yield (second, first) if swap else (first, second)
