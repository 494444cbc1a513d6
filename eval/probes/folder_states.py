"""`eval probe states` of a model that reads raw text: a folder of `transformers`, or a checkpoint of stock
fairseq with a folder of `fairseq-preprocess`.

The sets are DATA/text/SPLIT.A-B.LANG, or lines that say the same in several languages (--input). Of lines
that are empty on a side neither side is read. Encoder-decoders have states of both sides, as our models do.
An encoder or a causal model reads a line as it is, without a prompt; all its layers are the store's encoder.
"""

import hashlib
import itertools
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import by_name, option
from command_line.outputs import check_other_folder
from command_line.progress import progress
from command_line.provenance import command_typed, path_in_record
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.parallel_sets import source_files
from data_prep.formats.texts import LANGUAGE
from eval.probes.parallel_lines import say_skipped, with_words
from eval.probes.store import (
    KIND,
    SIDES,
    TRAINING_SPLIT,
    choose_layers,
    store_files,
    write_index,
    write_vocabulary,
)
from eval.translation.raw_sets import choose_sets
from eval.translation.raw_text_model import RawTextModel
from eval.translation.search_options import DecodingOptions
from eval.translation.translator import TranslatorOptions


def _language_files(text: str) -> dict[str, str]:
    """`de=FILE,en=FILE` -> {"de": FILE, "en": FILE}."""
    found: dict[str, str] = {}
    for part in text.split(","):
        language, _, path = part.strip().partition("=")
        types.require(bool(path) and language not in found)
        found[LANGUAGE(language)] = path
    types.require(len(found) > 1)
    return found


LANGUAGE_FILES = types.OptionType(
    "two or more languages with files, such as de=a.de,en=a.en", _language_files
)


@dataclass(frozen=True, kw_only=True)
class FolderOptions:
    """What only models that read raw text have."""

    input: dict[str, str] | None = option(
        "of models that read raw text: lines that say the same in these languages, in place of the sets of"
        " --data",
        type=LANGUAGE_FILES,
        metavar="LANG=FILE,…",
    )


@dataclass(frozen=True)
class FolderExtraction:
    """Which states of which lines; the attributes are those of `states.Extraction`, and:

    Attributes:
        input: language -> file; None for the sets of the model's data.
    """

    splits: list[str]
    directions: str
    valid_directions: str
    layers: list[str]
    max_lines: int | None
    forced: str
    dtype: str
    decoding: DecodingOptions
    input: dict[str, str] | None

    def __post_init__(self):
        if self.input and len(self.splits) != 1:
            raise InputError(f"--input: is one set; name it by --splits, found {','.join(self.splits)}")

    def files(self, model: RawTextModel, split: str) -> dict[Direction, Path]:
        """Direction -> the file of its source.

        Raises:
            InputError: there is no such set.
        """
        if self.input:
            pairs = itertools.permutations(self.input, 2)
            return {(source, target): Path(self.input[source]) for source, target in pairs}
        files = source_files(model.text, split)
        if not files:
            raise InputError(f"{model.text}: no {split} set; expected such as {split}.de-en.de")
        return files


@dataclass
class Part:
    """One side of the lines of a direction."""

    name: str
    side: str
    rows: list[list[int]]


@dataclass
class DirectionLines:
    """The lines of a direction, and what both sides of the model are given for them.

    Attributes:
        parts: of the sides that no direction before has in the same words.
    """

    split: str
    direction: Direction
    lines: list[str]
    tokens: list
    parts: list[Part] = field(default_factory=list)

    @cached_property
    def name(self) -> str:
        return format_direction(self.direction)


def extract_folder(model: RawTextModel, job: FolderExtraction, output: Path, force: bool) -> None:
    """Load, translate, read, store, unless it is done."""
    sets = {split: job.files(model, split) for split in job.splits}
    texts = sorted({path for files in sets.values() for path in files.values()})
    check_other_folder(output, [model.checkpoint])
    settings = by_name(job) | by_name(model)
    stamp = Stamp(output / ".states.done", KIND, settings, [*texts, *model.files()])
    if stamp.is_current(force):
        return
    from eval.probes.readers import load_reader

    started = time.monotonic()
    reader = load_reader(model, TranslatorOptions(decoding=job.decoding))
    layers = choose_layers(reader.hidden.layers, job.layers)
    stamp.begin()
    for path in store_files(output):  # of an earlier extraction
        path.unlink()
    work = [each for split, files in sets.items() for each in _lines_of(model, reader, job, split, files)]
    for each, references in progress(work, len(work), "read", "direction"):
        each.tokens = reader.tokens(each.lines, each.direction, references)
    translated = time.monotonic()
    directions = [each for each, _ in work]
    splits = _name_parts(directions, reader)
    _store(job, reader, layers, directions, output)
    last = max(max(row) for each in directions for part in each.parts for row in part.rows)
    write_vocabulary(output, [name or "" for name in reader.names(range(last + 1))])
    write_index(output, {
        **_described(model, reader, job, output),
        "supervised": sorted(
            {one.name for one in directions if model.is_supervised(one.direction, reader.translator)}
        ),
        "layers": {side: list(chosen) for side, chosen in layers.items()},
        "encoder_output": reader.hidden.layers["encoder"][-1],
        "splits": splits,
        "seconds": {
            "translate": round(translated - started, 2), "states": round(time.monotonic() - translated, 2),
        },
    })  # fmt: skip
    stamp.finish(store_files(output))


def _lines_of(
    model: RawTextModel, reader, job: FolderExtraction, split: str, files: dict[Direction, Path]
) -> list[tuple[DirectionLines, list[str] | None]]:
    """The chosen directions of a set with their lines, and references if these are given to the decoder."""
    lines = {direction: list(read_lines(path))[: job.max_lines] for direction, path in files.items()}
    for (source, target), own in lines.items():
        if len(own) != len(lines[target, source]):
            raise InputError(
                f"{files[source, target]}: {len(own)} lines, expected {len(lines[target, source])} as in"
                f" {files[target, source]}"
            )
    kept = with_words(lines, f"{split} set")
    say_skipped({direction: len(lines[direction]) - len(own) for direction, own in kept.items()}, split)
    found = []
    wanted = job.valid_directions if split == TRAINING_SPLIT else job.directions
    for source, target in choose_sets(model, reader.translator, files, split, wanted):
        references = kept[target, source] if job.forced == "reference" else None
        found.append((DirectionLines(split, (source, target), kept[source, target], []), references))
    return found


def _name_parts(directions: Sequence[DirectionLines], reader) -> dict:
    """Give every direction its parts. Returns the field "splits" of the index."""
    known: dict[bytes, str] = {}
    splits: dict[str, dict] = {}
    for each in directions:
        names = {}
        for side in SIDES[: 1 + reader.has_decoder]:
            rows = [reader.numbers(getattr(tokens, side), side) for tokens in each.tokens]
            content = repr((each.split, side, rows)).encode()
            digest = hashlib.sha256(content).digest()
            if digest not in known:
                known[digest] = f"{each.split}.{side}.{each.name}"
                each.parts.append(Part(known[digest], side, rows))
            names[side] = known[digest]
        splits.setdefault(each.split, {})[each.name] = {
            **names,
            "sentences": len(each.lines),
            "text_sha256": hashlib.sha256("\n".join(each.lines).encode("utf-8")).hexdigest(),
        }
    return splits


def _store(
    job: FolderExtraction, reader, layers: dict, directions: Sequence[DirectionLines], output: Path
) -> None:
    from eval.probes.hidden_states import TRIAL

    parts = [part for each in directions for part in each.parts]
    width = {side: states.shape[-1] for side, states in reader.hidden([TRIAL]).items()}
    values = sum(sum(map(len, part.rows)) * len(layers[part.side]) * width[part.side] for part in parts)
    needed, free = values * np.dtype(job.dtype).itemsize, shutil.disk_usage(output).free
    if needed > free:
        raise InputError(
            f"--output {output}: states need {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free;"
            " use --layers, --directions or --max-lines"
        )
    with_parts = [each for each in directions if each.parts]
    written = (
        count for each in with_parts for count in _store_direction(job, reader, layers, width, each, output)
    )
    total = sum(len(each.lines) for each in with_parts)
    for _ in progress(written, total, "states", "sentence", size=int):
        pass


def _store_direction(
    job: FolderExtraction, reader, layers: dict, width: dict[str, int], each: DirectionLines, output: Path
) -> Iterator[int]:
    """Write the parts of one direction; yields the number of sentences of each batch."""
    import torch

    from eval.probes.storing import PartWriter, as_stored

    dtype = np.dtype(job.dtype)
    writers = {
        part.side: PartWriter(
            output / part.name,
            [np.array(row) for row in part.rows],
            len(layers[part.side]),
            width[part.side],
            dtype,
        )
        for part in each.parts
    }
    for batch in reader.batches(each.tokens, job.decoding.max_tokens):
        rows = [each.tokens[number] for number in batch]
        states = reader.hidden(rows)
        for side, writer in writers.items():
            chosen = states[side][list(layers[side].values())]
            lengths = [len(getattr(row, side)) for row in rows]
            tokens = torch.cat([chosen[:, i, :length] for i, length in enumerate(lengths)], dim=1)
            where = f"{each.split} {each.name}"
            writer.write(batch, as_stored(tokens, list(layers[side]), dtype, where))
        yield len(batch)
    for writer in writers.values():
        writer.close()


def _described(model: RawTextModel, reader, job: FolderExtraction, output: Path) -> dict:
    """What the index says of the model and the lines."""
    lines = {"files": dict(job.input)} if job.input else {"path": path_in_record(model.data, output)}
    described = model.provenance(reader.translator)
    if not reader.has_decoder:
        described["system"] = {
            "name": described["system"]["name"],
            "seed": None,
            "encoder": model.checkpoint.name,
        }
    return {
        **described,
        "data": lines,
        "dataset": model.dataset or (job.splits[0] if job.input else model.data.resolve().name),
        "command": command_typed("eval"),
        "forced": job.forced if reader.has_decoder else None,
        "beam": job.decoding.search.beam,
        "max_lines": job.max_lines,
        "tags": reader.tags,
        "eos": reader.eos,
    }
