"""Extract the hidden states of every layer of a model, once for all probes: of checkpoints, ours or stock
fairseq's, and of folders of `transformers` (`eval.probes.folder_states`).

Decoder states are those of the model's own output (thesis 8.2.3: "obtained auto-regressively without
teacher-forcing"): every sentence is translated first, with beam search, and one pass over the tokens found
gives the states that the search had.

Of the set `valid`, supervised directions are taken (--valid-directions), on which the classifiers of
layer-wise language recognition train; of other sets, --directions. Layers are L0 (embeddings), L1 … of the
encoder and onward of the decoder, encoder-norm, decoder-embedding and decoder-norm; see eval/probes/store.py.
"""

import hashlib
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from command_line import options
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import add_options, from_arguments
from data_prep.formats.directions import directions_or
from data_prep.formats.preparation import raw_text_path
from eval.probes.folder_states import FolderExtraction, FolderOptions, extract_folder
from eval.probes.store import KIND, TRAINING_SPLIT, choose_layers, store_files, write_index
from eval.translation.evaluated_model import (
    SETS,
    EvaluatedModel,
    add_directions_argument,
    add_model_arguments,
    add_name_arguments,
    settings_of,
)
from eval.translation.search_options import DecodingOptions, add_decoding_arguments
from eval.translation.transformers_model import is_model_folder

DTYPES = ("float16", "float32")


@dataclass(frozen=True)
class Extraction:
    """Which states of which sentences.

    Attributes:
        splits: of the data.
        directions: "all", "supervised", "zero-shot", or a list such as "de-fr,fr-de"; not of the set `valid`.
        valid_directions: the same of the set `valid`.
        layers: their names, or ["all"].
        max_lines: only the first lines of every set; None for all.
        forced: the decoder is given its own "output", or the "reference".
        dtype: of the states on disk.
    """

    model: EvaluatedModel
    splits: list[str]
    directions: str
    valid_directions: str
    layers: list[str]
    max_lines: int | None
    forced: str
    dtype: str
    decoding: DecodingOptions


def add_arguments(parser) -> None:
    add_model_arguments(parser)
    parser.add_argument("--output", required=True, type=options.output_folder, help="folder for the states")
    parser.add_argument(
        "--splits", type=options.items(options.split), default="valid,test", help="sets to take"
    )
    add_directions_argument(parser)
    parser.add_argument(
        "--valid-directions",
        type=directions_or(*SETS),
        default="supervised",
        metavar="LIST",
        help="the same of the set `valid` (default: supervised, on which llr trains; retrieval between all"
        " languages needs all)",
    )
    parser.add_argument(
        "--layers",
        type=options.items(options.text),
        default="all",
        help="all, or a list such as L0,encoder-norm,L12",
    )
    parser.add_argument(
        "--max-lines", type=options.positive, help="only the first lines of every set (default: all)"
    )
    parser.add_argument(
        "--forced",
        choices=("output", "reference"),
        default="output",
        help="tokens that the decoder is given: the model's own output (thesis 8.2.3), or the reference",
    )
    parser.add_argument(
        "--dtype", choices=DTYPES, default="float16", help="of the states on disk; float16 ends at 65504"
    )
    add_decoding_arguments(parser)
    add_name_arguments(parser)
    add_options(parser, FolderOptions)
    parser.add_argument("--force", action="store_true", help="extract again even if it is done")


def main(args) -> None:
    if is_model_folder(args.checkpoint):
        extract_folder(from_arguments(FolderExtraction, args), args.output, args.force)
        return
    for name in ("input", "supervised", "language_codes", "source_prefix"):
        if getattr(args, name):
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option}: of a folder of transformers, not of --checkpoint {args.checkpoint}; leave it out"
            )
    job = from_arguments(Extraction, args)
    files = job.model.data_files(job.splits)
    stamp = Stamp(args.output / ".states.done", KIND, settings_of(job), files)
    if not stamp.is_current(args.force):
        extract(job, args.output, stamp, continued=not args.force)


def extract(job: Extraction, output: Path, stamp: Stamp, continued: bool = True) -> None:
    """Load, translate, force, store.

    Args:
        stamp: describes the work, for which a journal of translations is kept.
        continued: take what is in the journal of a run that was killed.
    """
    from command_line.journal import Journal
    from eval.probes.forward_states import layers_of
    from eval.probes.storing import Sentences, StateWriter
    from eval.translation.decoding import build_decoder, load_sources

    started = time.monotonic()
    loaded = job.model.load()
    available = layers_of(loaded.model, job.model.checkpoint)
    layers = choose_layers(available, job.layers)
    decoder = build_decoder(loaded, job.decoding, keep_tags=True)
    task, data = decoder.task, job.model.data
    keys = [(split, direction) for split in job.splits for direction in directions_of(task, job, split)]
    parts = [load_sources(task, data, split, direction, job.max_lines) for split, direction in keys]
    stamp.begin()
    with Journal(output / ".journal.jsonl", stamp.work, keep=continued) as journal:
        for path in store_files(output):  # of an earlier extraction
            path.unlink()
        outputs = forced_tokens(decoder, journal, job, keys, parts)
    translated = time.monotonic()
    sentences = [Sentences(*each) for each in zip(keys, parts, outputs, strict=True)]
    splits = StateWriter(decoder, layers, job.dtype, output).write(sentences)
    add_texts(splits, data, keys, job.max_lines)
    seconds = {"translate": translated - started, "states": time.monotonic() - translated}
    record = describe(job, loaded, layers, splits, seconds)
    write_index(output, record | {"encoder_output": available["encoder"][-1]})
    journal.remove()
    stamp.finish(store_files(output))


def add_texts(splits: dict, data: Path, keys, max_lines: int | None) -> None:
    """Note the checksum of the raw source lines of every direction, where the data have them: sets with as
    many lines under one name may be of other sentences.
    """
    for split, (source, target) in keys:
        path = raw_text_path(data, split, "-".join(sorted((source, target))), source)
        if path.is_file():
            lines = "\n".join(islice(read_lines(path), max_lines))
            digest = hashlib.sha256(lines.encode("utf-8")).hexdigest()
            splits[split][f"{source}-{target}"]["text_sha256"] = digest


def directions_of(task, job: Extraction, split: str) -> list:
    from eval.translation.directions import choose_directions

    wanted = job.valid_directions if split == TRAINING_SPLIT else job.directions
    return choose_directions(task, job.model.data, split, wanted)


def forced_tokens(decoder, journal, job: Extraction, keys, parts) -> list[list[list[int]]]:
    """What the decoder is given per part and sentence, without forced tag and `</s>`."""
    from data_prep.formats.sentences import load_pair
    from eval.translation.decoding import search_all

    if job.forced == "output":
        return search_all(decoder, journal, parts, "translate")
    outputs = []
    for (split, direction), part in zip(keys, parts, strict=True):
        references = load_pair(job.model.data, split, direction)[1]
        room = decoder.task.max_positions()[1] - len(part.target_tags) - 1
        outputs.append([references[i][:-1][:room].tolist() for i in range(len(part))])
    return outputs


def describe(job: Extraction, loaded, layers: dict, splits: dict, seconds: dict) -> dict:
    """The contents of the index without format and kind."""
    from data_prep.formats.directions import format_direction

    return {
        **job.model.provenance(loaded),
        "forced": job.forced,
        "beam": job.decoding.search.beam,
        "max_lines": job.max_lines,
        "supervised": [format_direction(direction) for direction in loaded.task.supervised],
        "layers": {side: list(chosen) for side, chosen in layers.items()},
        "tags": sorted(loaded.task.tags.all_ids()),
        "eos": loaded.task.dictionary.eos(),
        "splits": splits,
        "seconds": {stage: round(value, 2) for stage, value in seconds.items()},
    }
