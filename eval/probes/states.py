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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import force_switch, output_folder
from data_prep.formats.directions import format_direction
from data_prep.formats.preparation import raw_text_path
from eval.probes.folder_states import FolderExtraction, extract_folder
from eval.probes.state_options import FolderOptions, StateOptions
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
from eval.translation.evaluated_model import EvaluatedModel, NamedModel, settings_of
from eval.translation.transformers_model import TransformersModel, is_model_folder


@dataclass(frozen=True, kw_only=True)
class StatesCommand:
    """Which states of which sentences, and where they go."""

    model: NamedModel
    states: StateOptions
    folder: FolderOptions
    output: Path = output_folder("the states")
    force: bool = force_switch("extract again even if it is done")


@dataclass(frozen=True, kw_only=True)
class Extraction(StateOptions):
    """The states of a checkpoint of fairseq."""

    model: EvaluatedModel


def main(options: StatesCommand) -> None:
    if is_model_folder(options.model.checkpoint):
        extract_folder(folder_extraction(options), options.output, options.force)
        return
    for name, value in vars(options.folder).items():
        if value:
            raise InputError(
                f"--{name.replace('_', '-')}: of a folder of transformers, not of --checkpoint"
                f" {options.model.checkpoint}; leave it out"
            )
    job = Extraction(model=EvaluatedModel(**vars(options.model)), **vars(options.states))
    files = job.model.data_files(job.splits)
    stamp = Stamp(options.output / ".states.done", KIND, settings_of(job), files)
    if not stamp.is_current(options.force):
        extract(job, options.output, stamp, continued=not options.force)


def folder_extraction(options: StatesCommand) -> FolderExtraction:
    """What is taken of a folder of transformers."""
    if options.states.untrained is not None:
        raise InputError("--untrained: of a checkpoint of fairseq; leave it out")
    of_model = vars(options.folder) | vars(options.model)
    lines = of_model.pop("input")
    return FolderExtraction(model=TransformersModel(**of_model), input=lines, **vars(options.states))


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
