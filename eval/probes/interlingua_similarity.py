"""How alike the interlinguas of parallel sentences are, position by position (1 - L_IA of equation 7.6)."""

from itertools import combinations

import numpy as np
import torch

from command_line.errors import InputError
from command_line.measurements import numbers
from command_line.progress import progress
from data_prep.formats.directions import Direction
from data_prep.formats.sentences import load_pair, with_data
from eval.translation.decoding import to_device
from fairseq_ext.data.batch_fields import FieldSource, Mirror
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset
from fairseq_ext.losses.interlingua_alignment import misalignment


def similarities(decoder, options) -> list[dict]:
    """Rows of the mean cosine per pair of languages, and of that of sentences that do not belong together.

    Raises:
        InputError: there is no set of any pair.
    """
    languages = decoder.task.tags.languages
    pairs = with_data(options.model.data, options.split, combinations(sorted(languages), 2))
    if not pairs:
        raise InputError(
            f"{options.model.data}: no {options.split} set of any pair of {', '.join(languages)}"
        )
    return [row for pair in pairs for row in of_pair(decoder, options, pair)]


@torch.no_grad()
def of_pair(decoder, options, pair: Direction) -> list[dict]:
    """Both sentences get the length that the first has at inference; the centric language comes first.

    A sentence is compared with its translation and, for the similarity by chance, with the next translation
    in its batch, as far as both reach. Sentences longer than the model reads are left out.
    """
    encoder, task = decoder.model.encoder, decoder.task
    centric = None if encoder.centric is None else task.tags.languages[encoder.centric]
    direction = pair[::-1] if pair[1] == centric else pair
    dataset = parallel_sentences(task, options, direction)
    fitting, _ = dataset.filter_indices_by_size(dataset.ordered_indices(), task.max_positions())
    batches = dataset.batch_by_size(fitting, max_tokens=max(decoder.max_tokens, int(dataset.sizes.max())))
    own, others = [], []
    for batch in progress(batches, len(fitting), f"similarity {'-'.join(pair)}", "pair", size=len):
        sample = to_device(dataset.collater([dataset[index] for index in batch]), decoder.device)
        source = encoder(sample["net_input"]["src_tokens"])
        mirror = encoder(**sample["mirror"], **source["mirror_arguments"])
        h, h_mirror = (side["encoder_out"][0] for side in (source, mirror))
        padding = source["encoder_padding_mask"][0]
        own.append(1 - misalignment(h, h_mirror, padding))
        if len(batch) > 1:
            next_padding = padding | padding.roll(1, dims=0)
            others.append(1 - misalignment(h, h_mirror.roll(1, dims=1), next_padding))
    supervised = {direction, direction[::-1]} <= set(task.supervised)
    values = {"lines": len(fitting), "cosine": _mean(own), "cosine_by_chance": _mean(others)}
    return numbers(values, kind="supervised" if supervised else "zero-shot", direction="-".join(pair))


def _mean(parts: list[torch.Tensor]) -> float | None:
    return float(torch.cat(parts).double().mean()) if parts else None


def parallel_sentences(task, options, direction: Direction) -> MultilingualDataset:
    """Source sentences with their translations as mirrors."""
    sources, targets = load_pair(options.model.data, options.split, direction)
    sizes = [np.asarray(side.sizes)[: options.max_lines] for side in (sources, targets)]
    part = DirectionData.with_tags(task.tags, direction, sources, targets, *sizes)
    part.fields["mirror"] = Mirror(FieldSource(part, task.tags, options.model.data, options.split))
    return MultilingualDataset([part], task.dictionary.pad(), task.dictionary.eos(), shuffle=False)
