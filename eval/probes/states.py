"""Extract the hidden states of every layer of a model, once for all probes: of checkpoints, ours or stock
fairseq's, and of models that read raw text (`eval.probes.folder_states`): folders of `transformers`, and
checkpoints with a folder of `fairseq-preprocess`.

Decoder states are those of the model's own output (thesis 8.2.3: "obtained auto-regressively without
teacher-forcing"): every sentence is translated first, with beam search, and one pass over the tokens found
gives the states that the search had.

Of the set `valid`, supervised directions are taken (--valid-directions), on which the classifiers of
layer-wise language recognition train; of other sets, --directions. Layers are L0 (embeddings), L1 … of the
encoder and onward of the decoder, encoder-norm, decoder-embedding and decoder-norm; see eval/probes/store.py.
"""

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from command_line import options as types
from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import add_options, force_switch, from_arguments, option, output_folder
from data_prep.formats.directions import directions_or, format_direction
from data_prep.formats.preparation import raw_text_path
from eval.probes.folder_states import FolderExtraction, FolderOptions, extract_folder
from eval.probes.store import (
    KIND,
    TRAINING_SPLIT,
    StateStore,
    choose_layers,
    store_files,
    write_index,
    write_vocabulary,
)
from eval.results.files import split_direction
from eval.translation.evaluated_model import SETS, Directions, EvaluatedModel, settings_of
from eval.translation.model_options import ModelOptions, RawTextOptions, model_of
from eval.translation.raw_text_model import RawTextModel
from eval.translation.search_options import DecodingOptions
from eval.translation.transformers_model import TransformersModel


@dataclass(frozen=True, kw_only=True)
class Extraction:
    """Which states of which sentences."""

    model: EvaluatedModel
    splits: list[str] = option(
        "sets to take (default: valid,test)", ["valid", "test"], type=types.items(types.split)
    )
    directions: Directions = field(default_factory=Directions)
    valid_directions: str = option(
        "the same of the set `valid` (default: supervised, on which llr trains; retrieval between all"
        " languages needs all)",
        "supervised",
        type=directions_or(*SETS),
        metavar="LIST",
    )
    layers: list[str] = option(
        "all, or a list such as L0,encoder-norm,L12 (default: all)", ["all"], type=types.items(types.text)
    )
    max_lines: int | None = option("only the first lines of every set (default: all)")
    forced: str = option(
        "tokens that the decoder is given: the model's own output (thesis 8.2.3), or the reference",
        "output",
        choices=("output", "reference"),
    )
    untrained: int | None = option(
        "a baseline: the model as it was before its training, with weights drawn by this seed",
        type=types.seed,
        metavar="SEED",
    )
    dtype: str = option(
        "of the states on disk; float16 ends at 65504", "float16", choices=("float16", "float32")
    )
    decoding: DecodingOptions = field(default_factory=DecodingOptions)


@dataclass(frozen=True, kw_only=True)
class Written:
    """Where the states go."""

    output: Path = output_folder("the states")
    force: bool = force_switch("extract again even if it is done")


def add_arguments(parser) -> None:
    for options in (Extraction, FolderOptions, RawTextOptions, Written):
        add_options(parser, options)


def main(args) -> None:
    written = from_arguments(Written, args)
    model = model_of(from_arguments(ModelOptions, args))
    if isinstance(model, RawTextModel):
        if args.untrained is not None:
            raise InputError("--untrained: needs a checkpoint with its binarized folder; leave it out")
        if args.input and isinstance(model, TransformersModel) and model.data:
            raise InputError("--input: in place of --data; leave out one of them")
        extract_folder(model, from_arguments(FolderExtraction, args), written.output, written.force)
        return
    if args.input:
        raise InputError(
            f"--input: needs a model that reads raw text, found --checkpoint {args.checkpoint} with its"
            " binarized folder; leave it out"
        )
    job = from_arguments(Extraction, args)
    files = job.model.data_files(job.splits)
    stamp = Stamp(written.output / ".states.done", KIND, settings_of(job), files)
    if not stamp.is_current(written.force):
        extract(job, written.output, stamp, continued=not written.force)


def extract(job: Extraction, output: Path, stamp: Stamp, continued: bool = True) -> None:
    """Load, translate, force, store.

    Args:
        stamp: describes the work, for which a journal of translations is kept.
        continued: take what is in the journal of a run that was killed.
    """
    from command_line.journal import Journal
    from eval.translation.decoding import build_decoder, load_sources

    started = time.monotonic()
    loaded = load(job)
    decoder = build_decoder(loaded, job.decoding, keep_tags=True)
    task, data = decoder.task, job.model.data
    keys = [(split, direction) for split in job.splits for direction in directions_of(task, job, split)]
    parts = [load_sources(task, data, split, direction, job.max_lines) for split, direction in keys]
    choose_layers(layers_of(loaded.model, job.model.checkpoint), job.layers)
    stamp.begin()
    with Journal(output / ".journal.jsonl", stamp.work, keep=continued) as journal:
        for path in store_files(output):  # of an earlier extraction
            path.unlink()
        outputs = forced_tokens(decoder, journal, job, keys, parts)
    translated = time.monotonic()
    splits = write_states(job, decoder, keys, parts, outputs, output)
    add_texts(splits, data, keys, job.max_lines)
    seconds = {"translate": translated - started, "states": time.monotonic() - translated}
    write_index(output, describe(job, loaded, splits) | {"seconds": rounded(seconds)})
    journal.remove()
    stamp.finish(store_files(output))


def states_of(texts: Mapping[str, Mapping[str, Sequence[str]]], output: Path, job: Extraction) -> StateStore:
    """The states of sentences that are in no data: the store that the command would write of them.

    Args:
        texts: set -> direction ("de-fr") -> lines of raw text.
        output: folder of the store.
        job: the model, and what is stored of it.
    """
    from command_line.journal import Journal
    from eval.translation.checkpoint_translator import CheckpointTranslator
    from eval.translation.decoding import build_decoder, search_all
    from eval.translation.translator import Sentence, TranslatorOptions

    translator = CheckpointTranslator(job.model, TranslatorOptions(decoding=job.decoding))
    loaded = translator.loaded
    decoder = build_decoder(loaded, job.decoding, keep_tags=True)
    lines = {
        (split, split_direction(name)): of_direction
        for split, by_direction in texts.items()
        for name, of_direction in by_direction.items()
    }
    for _, direction in lines:
        translator.check(*direction)
    parts = [
        translator.sources(
            direction, [Sentence(direction, translator.ids(line, direction[0])) for line in of_direction]
        )
        for (_, direction), of_direction in lines.items()
    ]
    with Journal(output / ".journal.jsonl", {}, keep=False) as journal:
        outputs = search_all(decoder, journal, parts, "translate")
    splits = write_states(job, decoder, list(lines), parts, outputs, output)
    for (split, direction), of_direction in lines.items():
        splits[split][format_direction(direction)]["text_sha256"] = sha256_of_lines(of_direction)
    write_index(output, describe(job, loaded, splits))
    journal.remove()
    return StateStore.open(output)


def load(job: Extraction):
    """The `fairseq_ext.inference.LoadedModel`, before its training if that is asked for."""
    loaded = job.model.load()
    return loaded if job.untrained is None else loaded.untrained(job.untrained)


def write_states(job: Extraction, decoder, keys, parts, outputs, output: Path) -> dict:
    """The states of all sentences, and the vocabulary.

    Args:
        keys: set and direction of every part.
        parts: sources.
        outputs: what the decoder is given, per part and sentence.

    Returns:
        The field "splits" of the index.
    """
    from eval.probes.storing import Sentences, StateWriter

    layers = choose_layers(layers_of(decoder.model, job.model.checkpoint), job.layers)
    sentences = [Sentences(*each) for each in zip(keys, parts, outputs, strict=True)]
    splits = StateWriter(decoder, layers, job.dtype, output).write(sentences)
    dictionary = decoder.task.dictionary
    write_vocabulary(output, [dictionary[number] for number in range(len(dictionary))])
    return splits


def add_texts(splits: dict, data: Path, keys, max_lines: int | None) -> None:
    """Note the checksum of the raw source lines of every direction, where the data have them: sets with as
    many lines under one name may be of other sentences.
    """
    for split, (source, target) in keys:
        path = raw_text_path(data, split, "-".join(sorted((source, target))), source)
        if path.is_file():
            lines = islice(read_lines(path), max_lines)
            splits[split][f"{source}-{target}"]["text_sha256"] = sha256_of_lines(lines)


def sha256_of_lines(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8")).hexdigest()


def rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    return {stage: round(value, 2) for stage, value in seconds.items()}


def directions_of(task, job: Extraction, split: str) -> list:
    from eval.translation.directions import choose_directions

    wanted = job.valid_directions if split == TRAINING_SPLIT else job.directions.directions
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


def describe(job: Extraction, loaded, splits: dict) -> dict:
    """The contents of the index without format, kind and what it took."""
    available = layers_of(loaded.model, job.model.checkpoint)
    provenance = job.model.provenance(loaded)
    if job.untrained is not None:
        name = f"{provenance['system']['name']}, untrained"
        provenance["system"] |= {"name": name, "seed": job.untrained}
    return {
        **provenance,
        "forced": job.forced,
        "beam": job.decoding.search.beam,
        "max_lines": job.max_lines,
        "supervised": [format_direction(direction) for direction in loaded.task.supervised],
        "layers": {side: list(chosen) for side, chosen in choose_layers(available, job.layers).items()},
        "encoder_output": available["encoder"][-1],
        "tags": sorted(loaded.task.tags.all_ids()),
        "eos": loaded.task.dictionary.eos(),
        "splits": splits,
    }


def layers_of(model, checkpoint: Path) -> dict[str, list[str]]:
    """Names of the layers of both sides, see `eval.probes.forward_states.layers_of`."""
    from eval.probes import forward_states

    return forward_states.layers_of(model, checkpoint)
