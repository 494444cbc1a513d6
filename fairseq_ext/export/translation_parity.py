"""Whether an exported translation model finds what the checkpoint finds, sentence by sentence.

The reference is fairseq's own search over the checkpoint's own model. The exported model scores the
reference's hypotheses, which compares the graphs, and translates the same sentences, which compares the
searches.
"""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from command_line.errors import InputError
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.preparation import Preparation
from data_prep.formats.sentences import file_prefix, load_sentences
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset
from fairseq_ext.inference import LoadedModel

DIRECTIONS = 3
BATCH = 32  # sentences
BEAM = 5
LONGEST = 100  # tokens of a hypothesis: a model that never ends is compared in time
MOST_DIFFERENCE = 1e-3  # of a score, log-probability / length
LEAST_EQUAL = 0.99  # of hypotheses


@dataclass(frozen=True)
class CheckedSentence:
    """A sentence with the reference's best hypothesis.

    Attributes:
        tokens: the encoder's input.
        prefix: forced first tokens of the hypothesis.
        start: of the decoder's input in place of `</s>`.
        hypothesis: token ids without the prefix and `</s>`.
        score: log-probability / length, with the prefix and `</s>`.
    """

    direction: Direction
    line: int
    tokens: list[int]
    prefix: list[int]
    start: int | None
    hypothesis: list[int]
    score: float


def checked_sentences(loaded: LoadedModel, preparation: Preparation, lines: int) -> list[CheckedSentence]:
    """Sentences of evaluation sets, of up to three directions, with the reference's hypotheses.

    Args:
        lines: of a direction.

    Raises:
        InputError: the data has no evaluation set.
    """
    parts = _parts(loaded, preparation, lines)
    if not parts:
        raise InputError(
            f"{preparation.folder}: no valid or test set of the model's languages to compare translations of;"
            " give --data with one, or --check-lines 0"
        )
    dictionary = loaded.task.dictionary
    sentences = MultilingualDataset(parts, dictionary.pad(), dictionary.eos(), shuffle=False)
    options = Namespace(beam=BEAM, max_len_b=LONGEST)
    generator = loaded.task.build_generator([loaded.model], options)
    order = np.argsort(sentences.sizes, kind="stable").tolist()
    checked: dict[int, CheckedSentence] = {}
    for start in range(0, len(order), BATCH):
        numbers = order[start : start + BATCH]
        batch = sentences.collater([sentences[number] for number in numbers])
        best = loaded.task.inference_step(generator, [loaded.model], batch)
        for number, hypotheses in zip(batch["id"].tolist(), best, strict=True):
            example = sentences[number]
            prefix = list(example["prefix"])
            checked[number] = CheckedSentence(
                parts[example["part"]].direction,
                example["line"],
                [int(token) for token in example["source"]],
                prefix,
                example["decoder_start"],
                hypotheses[0]["tokens"].tolist()[len(prefix) : -1],
                float(hypotheses[0]["score"]),
            )
    return [checked[number] for number in range(len(sentences))]


def _parts(loaded: LoadedModel, preparation: Preparation, lines: int) -> list[DirectionData]:
    """Directions of the model that have a set, evenly spaced in the order of their names."""
    tags, supervised = loaded.task.tags, set(loaded.task.supervised)
    splits: dict[Direction, str] = {}
    for split in ("test", "valid"):
        for pair in preparation.pairs.get(split, {}):
            first, second = pair.split("-")
            for direction in ((first, second), (second, first)):
                is_known = set(direction) <= set(tags.languages) and (tags.exist or direction in supervised)
                if is_known and preparation.pairs[split][pair]:
                    splits.setdefault(direction, split)
    names = sorted(splits)
    step = max(1, len(names) // DIRECTIONS)
    parts = [
        _part(loaded, preparation.folder, splits[name], name, lines) for name in names[::step][:DIRECTIONS]
    ]
    return [part for part in parts if len(part)]


def _part(loaded: LoadedModel, folder, split: str, direction: Direction, lines: int) -> DirectionData:
    """The first sentences that the model reads whole."""
    sentences, tags = load_sentences(file_prefix(folder, split, direction, direction[0])), loaded.task.tags
    around = len(tags.encoder_ids(*direction)) + len(tags.source_ending_ids(*direction))
    room = loaded.task.max_positions()[0] - around
    kept = [index for index, size in enumerate(sentences.sizes) if 1 < size <= room][:lines]
    chosen = [torch.as_tensor(sentences[index]) for index in kept]
    return DirectionData.with_tags(tags, direction, chosen, None, sentences.sizes[kept], None)


def check_translations(
    sentences: Sequence[CheckedSentence],
    scores: Callable[[Sequence[CheckedSentence]], Sequence[float]],
    translate: Callable[[Sequence[CheckedSentence]], Sequence[list[int]]] | None,
) -> dict:
    """Compare scores and hypotheses of all sentences.

    Args:
        scores: of the exported model, for the reference's hypotheses, as `CheckedSentence.score`.
        translate: the exported model's best hypotheses, of a beam of BEAM and at most LONGEST tokens.

    Returns:
        "sentences", "directions", "largest_difference" of a score and "equal_hypotheses", for the record.

    Raises:
        InputError: a score differs, named with its sentence; or too many hypotheses do.
    """
    pairs = list(zip(sentences, scores(sentences), strict=True))
    worst, score = max(pairs, key=lambda pair: abs(pair[0].score - pair[1]))
    difference = abs(worst.score - score)
    if not difference <= MOST_DIFFERENCE:
        raise InputError(
            f"the exported model differs from the checkpoint: {format_direction(worst.direction)}, sentence"
            f" {worst.line + 1}: score {score:.5f}, expected {worst.score:.5f} within {MOST_DIFFERENCE};"
            " nothing is written"
        )
    equal = None if translate is None else equal_share(sentences, translate(sentences))
    if equal is not None and equal < LEAST_EQUAL:
        raise InputError(
            f"the exported model differs from the checkpoint: {equal:.1%} of {len(sentences)} hypotheses are"
            f" equal, expected {LEAST_EQUAL:.0%} or more; nothing is written"
        )
    return {
        "sentences": len(sentences),
        "directions": sorted({format_direction(sentence.direction) for sentence in sentences}),
        "largest_difference": difference,
        "equal_hypotheses": equal,
    }


def equal_share(sentences: Sequence[CheckedSentence], hypotheses: Sequence[list[int]]) -> float:
    """The share of hypotheses that are the reference's."""
    pairs = zip(sentences, hypotheses, strict=True)
    return sum(sentence.hypothesis == tokens for sentence, tokens in pairs) / len(sentences)
