"""What is measured of interlinguas: predicted against right lengths and what the difference costs (thesis
Table 7.5), and how alike parallel sentences are, position by position (1 - L_IA of equation 7.6).
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import torch

from command_line.errors import InputError
from command_line.measurements import numbers
from command_line.progress import progress
from data_prep.bleu import bleu_metric
from data_prep.formats.directions import Direction
from data_prep.formats.sentences import load_pair, with_data
from eval.scoring.paired_test import PairedTest
from eval.scoring.significance import check_samples, holm
from eval.scoring.surface_metrics import surface_scores
from eval.translation.decoding import build_decoder, load_sources, text_of, to_device
from fairseq_ext.data.batch_fields import FieldSource, Mirror
from fairseq_ext.data.dataset_parts import BatchField
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset
from fairseq_ext.losses.interlingua_alignment import misalignment

LEVEL = 0.05  # of a difference that is marked


class GivenLengths(BatchField):
    """Lengths for the encoder, a field of a batch: `DirectionData.fields["encoder_arguments"]`."""

    def __init__(self, lengths: np.ndarray):
        self.lengths = lengths

    def __getitem__(self, item: int) -> int:
        return int(self.lengths[item])

    @staticmethod
    def collate(lengths: list[int], pad: int) -> dict[str, torch.Tensor]:
        return {"interlingua_lengths": torch.tensor(lengths)}


def predictions(decoder, loaded, options) -> list[dict]:
    """Rows of the columns of Table 7.5: numbers of every source language.

    Raises:
        InputError: there is no set from any language into the centric one.
    """
    task = decoder.task
    centric = task.tags.languages[decoder.model.encoder.centric]
    directions = [(language, centric) for language in task.tags.languages if language != centric]
    directions = with_data(options.model.data, options.split, directions)
    if not directions:
        raise InputError(
            f"{options.model.data}: no {options.split} set into {centric}, the centric language of the model"
        )
    check_samples(options.samples, len(directions), LEVEL)
    forced = build_decoder(loaded, options.decoding)
    by_language = {
        direction[0]: of_direction(decoder, forced, options, direction) for direction in directions
    }
    adjusted, rows = holm([values["p_value"] for values in by_language.values()]), []
    for (language, values), p_value in zip(by_language.items(), adjusted, strict=True):
        is_better = p_value <= LEVEL and values["bleu_gold"] > values["bleu_predicted"]
        tested = {"adjusted_p_value": p_value, "gold_is_better": is_better}
        rows += numbers(values | tested, part=language)
    return rows


def of_direction(decoder, forced, options, direction) -> dict[str, float]:
    """The numbers of one language."""
    task = decoder.task
    part = load_sources(task, options.model.data, options.split, direction, options.max_lines)
    gold = right_lengths(decoder, options, direction)[: len(part)]
    predicted = predicted_lengths(decoder, part)
    given = replace(part, fields={"encoder_arguments": GivenLengths(gold)})
    texts = {
        "predicted": translated(decoder, options, part, f"{direction[0]}, predicted lengths"),
        "gold": translated(forced, options, given, f"{direction[0]}, right lengths"),
    }
    sources, references = raw_lines(options, direction, len(part))
    bleu, scores, statistics = bleu_metric(direction[1]), {}, {}
    for name, lines in texts.items():
        scored, rows = surface_scores(bleu, lines, sources, references)
        statistics[name] = {"": [rows["bleu"]]}
        scores[f"bleu_{name}"] = scored["bleu"]
    test = PairedTest(options.samples)
    result = test("bleu", statistics["predicted"], statistics["gold"], {"": [""]})[""]
    return {
        "lines": len(part),
        "accuracy": float((predicted == gold).mean()),
        "absolute_error": float(np.abs(predicted - gold).mean()),
        "bias": float((predicted - gold).mean()),
        "mean_length": float(gold.mean()),
        **scores,
        "p_value": result.p_value,
    }


def right_lengths(decoder, options, direction) -> np.ndarray:
    """Tokens of the references as encoder input, as in training: tags and `</s>` count; at most K."""
    references = load_pair(options.model.data, options.split, direction)[1]
    tags = decoder.task.tags.encoder_ids(*direction[::-1])
    lengths = np.asarray(references.sizes) + len(tags)
    return np.minimum(lengths, decoder.model.encoder.lengths.longest).astype(np.int64)


@torch.no_grad()
def predicted_lengths(decoder, part: DirectionData) -> np.ndarray:
    """What the predictor says (equation 7.3), in the order of the sentences."""
    sentences, batches = decoder.batches([part])
    lengths = np.empty(len(part), dtype=np.int64)
    for batch in progress(batches, len(part), "predict lengths", "sentence", size=len):
        sample = to_device(sentences.collater([sentences[index] for index in batch]), decoder.device)
        encoded = decoder.model.encoder(**sample["net_input"])
        lengths[batch] = encoded["interlingua_lengths"][0].cpu().numpy()
    return lengths


def translated(decoder, options, part: DirectionData, task: str) -> list[str]:
    """Detokenized hypotheses in the order of the sentences."""
    from data_prep.formats.preparation import Preparation

    preparation, dictionary = Preparation.load(options.model.data), decoder.task.dictionary
    lines = [""] * len(part)
    for examples, hypotheses in decoder.translate([part], task=task):
        for example, tokens in zip(examples, hypotheses, strict=True):
            lines[example] = text_of(preparation, dictionary, part.direction[1], tokens)
    return lines


def raw_lines(options, direction, count: int) -> tuple[list[str], list[str]]:
    """The first lines of sources and references."""
    from fairseq_ext.tasks.validation import RawReferences

    raw = RawReferences(options.model.data)
    sides = (direction[::-1], direction)
    return tuple(raw(options.split, side, range(count)) for side in sides)


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
