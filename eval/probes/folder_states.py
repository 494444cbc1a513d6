"""`eval probe states` of a model that reads raw text: a folder of `transformers`, or a checkpoint of stock
fairseq with a folder of `fairseq-preprocess`.

The sets are DATA/text/SPLIT.A-B.LANG, or lines that say the same in several languages (--input). Of lines
that are empty on a side neither side is read. Encoder-decoders have states of both sides, as our models do.
An encoder or a causal model reads a line as it is, without a prompt; all its layers are the store's encoder.
"""

import itertools
import time
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import by_name
from command_line.outputs import check_other_folder
from command_line.progress import progress
from command_line.provenance import command_typed, path_in_record
from data_prep.formats.directions import Direction
from data_prep.formats.package import dataset_of
from data_prep.formats.parallel_sets import source_files
from eval.probes.parallel_lines import say_skipped, with_words
from eval.probes.state_options import Extraction
from eval.probes.store import (
    KIND,
    SIDES,
    TRAINING_SPLIT,
    choose_layers,
    sha256_of_lines,
    store_files,
    write_vocabulary,
)
from eval.translation.raw_sets import choose_sets
from eval.translation.transformers_model import TransformersModel
from eval.translation.translator import TranslatorOptions


def extract_folder(job: Extraction, output: Path, force: bool) -> None:
    """Load, translate, read, store, unless it is done."""
    if job.untrained is not None:
        raise InputError("--untrained: needs a checkpoint with its binarized folder; leave it out")
    if job.input and isinstance(job.model, TransformersModel) and job.model.data:
        raise InputError("--input: in place of --data; leave out one of them")
    if job.input and len(job.splits) != 1:
        raise InputError(f"--input: is one set; name it by --splits, found {','.join(job.splits)}")
    sets = {split: _files(job, split) for split in job.splits}
    texts = sorted({path for files in sets.values() for path in files.values()})
    check_other_folder(output, [job.model.checkpoint])
    stamp = Stamp(output / ".states.done", KIND, by_name(job), [*texts, *job.model.files()])
    if stamp.is_current(force):
        return
    from eval.probes.readers import load_reader
    from eval.probes.storing import DirectionTokens, write_states

    started = time.monotonic()
    reader = load_reader(job.model, TranslatorOptions(decoding=job.decoding))
    layers = choose_layers(reader.hidden.layers, job.layers)
    work = [each for split, files in sets.items() for each in _lines_of(job, reader, split, files)]
    stamp.begin()
    for path in store_files(output):  # of an earlier extraction
        path.unlink()
    directions = [
        DirectionTokens(
            split,
            direction,
            reader.tokens(lines, direction, references),
            sha256_of_lines(lines),
            reader.numbers,
        )
        for split, direction, lines, references in progress(work, len(work), "read", "direction")
    ]
    sides = SIDES[: 1 + reader.has_decoder]
    last = max(int(row.max()) for each in directions for side in sides for row in each.rows(side))
    write_vocabulary(output, [name or "" for name in reader.names(range(last + 1))])
    supervised = {
        each.name for each in directions if job.model.is_supervised(each.direction, reader.translator)
    }
    described = _described(job, reader, output) | {"supervised": sorted(supervised)}
    write_states(reader.hidden, layers, directions, job, output, described, started)
    stamp.finish(store_files(output))


def _files(job: Extraction, split: str) -> dict[Direction, Path]:
    """Direction -> the file of its source."""
    if job.input:
        pairs = itertools.permutations(job.input, 2)
        return {(source, target): Path(job.input[source]) for source, target in pairs}
    files = source_files(job.model.text, split)
    if not files:
        raise InputError(f"{job.model.text}: no {split} set; expected such as {split}.de-en.de")
    return files


def _lines_of(job: Extraction, reader, split: str, files: dict[Direction, Path]) -> list[tuple]:
    """The lines of the chosen directions: set, direction, lines, and the references if the decoder is given
    these.
    """
    lines = {direction: list(read_lines(path))[: job.max_lines] for direction, path in files.items()}
    for (source, target), own in lines.items():
        if len(own) != len(lines[target, source]):
            raise InputError(
                f"{files[source, target]}: {len(own)} lines, expected {len(lines[target, source])} as in"
                f" {files[target, source]}"
            )
    kept = with_words(lines, f"{split} set")
    say_skipped({direction: len(lines[direction]) - len(own) for direction, own in kept.items()}, split)
    forced = job.forced == "reference"
    where = "--input" if job.input else str(job.model.text)
    wanted = job.valid_directions if split == TRAINING_SPLIT else job.directions.directions
    return [
        (split, direction, kept[direction], kept[direction[::-1]] if forced else None)
        for direction in choose_sets(job.model, reader.translator, files, split, wanted, where)
    ]


def _described(job: Extraction, reader, output: Path) -> dict:
    """What the index says of the model and the lines."""
    model = job.model
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
        "dataset": model.dataset or (job.splits[0] if job.input else dataset_of(model.data)),
        "command": command_typed("eval"),
        "forced": job.forced if reader.has_decoder else None,
        "beam": job.decoding.search.beam,
        "max_lines": job.max_lines,
        "tags": reader.tags,
        "eos": reader.eos,
    }
