"""Extract the hidden states of every layer of a model, once for all probes.

The model is a checkpoint, ours or stock fairseq's, or a model that reads raw text: a folder of
`transformers`, or a checkpoint with a folder of `fairseq-preprocess`.

Decoder states are those of the model's own output (thesis 8.2.3: "obtained auto-regressively without
teacher-forcing"). Beam search translates every sentence first. One pass over the translation then gives the
same states as the search.

--valid-directions are the directions of the set `valid`, on which `llr` trains; --directions are those of
all other sets. The layers are L0 (embeddings), L1 and so on through encoder and decoder, encoder-norm,
decoder-embedding and decoder-norm (eval/probes/store.py).
"""

import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.option_classes import force_switch, output_folder
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.preparation import raw_text_path
from eval.probes.folder_states import extract_folder
from eval.probes.state_options import Extraction, StateOptions
from eval.probes.store import (
    KIND,
    TRAINING_SPLIT,
    choose_layers,
    sha256_of_lines,
    store_files,
    write_vocabulary,
)
from eval.translation.evaluated_model import NamedModel, settings_of
from eval.translation.model_options import RawTextOptions, model_of
from eval.translation.raw_text_model import RawTextModel


@dataclass(frozen=True, kw_only=True)
class StatesCommand:
    """Which states of which sentences, and where they go."""

    model: NamedModel
    states: StateOptions
    raw_text: RawTextOptions
    output: Path = output_folder("the states")
    force: bool = force_switch("extract again even if it is done")


def main(options: StatesCommand) -> None:
    job = Extraction(model=model_of(options.model, options.raw_text), **vars(options.states))
    if isinstance(job.model, RawTextModel):
        extract_folder(job, options.output, options.force)
        return
    if job.input:
        raise InputError(
            f"--input: needs a model that reads raw text, found --checkpoint {job.model.checkpoint} with its"
            " binarized folder; leave it out"
        )
    settings = settings_of(job)  # first of all, whether there is such a checkpoint
    stamp = Stamp(options.output / ".states.done", KIND, settings, job.model.data_files(job.splits))
    if not stamp.is_current(options.force):
        extract(job, options.output, stamp, continued=not options.force)


def extract(job: Extraction, output: Path, stamp: Stamp, continued: bool = True) -> None:
    """Load, translate, force, store.

    Args:
        continued: take what is in the journal of translations of a run that was killed.
    """
    from command_line.journal import Journal
    from eval.probes.hidden_states import CheckpointStates
    from eval.probes.readers import tokens_of
    from eval.probes.storing import DirectionTokens, write_states
    from eval.translation.decoding import build_decoder, load_sources

    started = time.monotonic()
    loaded = job.model.load()
    if job.untrained is not None:
        loaded = loaded.untrained(job.untrained)
    decoder = build_decoder(loaded, job.decoding, keep_tags=True)
    dictionary, data = loaded.task.dictionary, job.model.data
    keys = [
        (split, direction) for split in job.splits for direction in directions_of(loaded.task, job, split)
    ]
    sources = [load_sources(loaded.task, data, split, direction, job.max_lines) for split, direction in keys]
    hidden = CheckpointStates(loaded.model, dictionary.pad(), job.model.checkpoint)
    layers = choose_layers(hidden.layers, job.layers)
    stamp.begin()
    with Journal(output / ".journal.jsonl", stamp.work, keep=continued) as journal:
        for path in store_files(output):  # of an earlier extraction
            path.unlink()
        outputs = forced_tokens(decoder, journal, job, keys, sources)
    directions = [
        DirectionTokens(*key, tokens_of(part, forced, dictionary.eos()), text_sha256(job, *key))
        for key, part, forced in zip(keys, sources, outputs, strict=True)
    ]
    write_vocabulary(output, [dictionary[number] for number in range(len(dictionary))])
    write_states(hidden, layers, directions, job, output, described(job, loaded), started)
    journal.remove()
    stamp.finish(store_files(output))


def text_sha256(job: Extraction, split: str, direction: Direction) -> str | None:
    """The checksum of the raw source lines, where the data have them: sets with as many lines under one name
    may be of other sentences.
    """
    path = raw_text_path(job.model.data, split, "-".join(sorted(direction)), direction[0])
    return sha256_of_lines(islice(read_lines(path), job.max_lines)) if path.is_file() else None


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


def described(job: Extraction, loaded) -> dict:
    """What the index says of the model and its sentences."""
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
        "tags": sorted(loaded.task.tags.all_ids()),
        "eos": loaded.task.dictionary.eos(),
    }
