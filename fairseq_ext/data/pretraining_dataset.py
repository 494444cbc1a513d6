"""Monolingual text of several languages, every sentence anew in every epoch an example of a random task."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from command_line.completion import check_finished
from command_line.errors import InputError
from data_prep.formats.directions import Direction, format_direction
from data_prep.formats.sentences import load_sentences, prefixes
from data_prep.formats.structures import Structures, structure_path
from fairseq_ext.data.dataset_parts import DatasetPart, pad_right
from fairseq_ext.data.multilingual_dataset import tagged
from fairseq_ext.data.multipart_dataset import MultipartDataset
from fairseq_ext.data.noising.example import Sentence, Symbols
from fairseq_ext.data.noising.tasks import FALLBACK, TASKS, TRANSLATION
from fairseq_ext.data.sampling import epoch_sizes

TAGS = 2  # task and language, in front of every source (thesis 4.4.2)


@dataclass
class MonolingualText(DatasetPart):
    """The sentences of one file, of which every one becomes an example of a task.

    Attributes:
        task: its only task, or "" for a mixture.
        sentences: 1-D integer tensors that end with `</s>`, and
        sizes: their lengths.
        mixture: task -> weight.
        structures: kind -> the structures of the file.
        tags: task -> the two tokens in front of its sources.
    """

    language: str
    task: str
    sentences: object
    sizes: np.ndarray
    mixture: dict[str, float]
    structures: dict[str, Structures]
    tags: dict[str, list[int]]

    def __post_init__(self):
        self._names = list(self.mixture)
        self._limits = np.cumsum(list(self.mixture.values())) / sum(self.mixture.values())

    def __len__(self) -> int:
        return len(self.sizes)

    def encoder_sizes(self) -> np.ndarray:
        return np.asarray(self.sizes) + TAGS

    def decoder_sizes(self) -> np.ndarray:
        return np.asarray(self.sizes)

    @property
    def component(self) -> tuple[str, str]:
        """What is validated by itself."""
        return self.language, self.task

    def task_at(self, draw: float) -> str:
        """The task that a number in [0, 1) stands for."""
        return self._names[min(int(np.searchsorted(self._limits, draw, side="right")), len(self._names) - 1)]

    def measures_its_task(self) -> np.ndarray:
        """Which sentences of a component say how well its task is learned: none that falls back."""
        needs = TASKS[self.task].needs
        return self.structures[needs].known() if needs else np.ones(len(self), dtype=bool)


@dataclass
class ParallelText(DatasetPart):
    """The sentence pairs of one direction, among the examples of pre-training tasks.

    Attributes:
        direction: of translation.
        sources, targets: 1-D integer tensors that end with `</s>`.
        tags: the two tokens in front of every source: of translation, and of the target's language.
    """

    direction: Direction
    sources: object
    targets: object
    tags: list[int]

    def __len__(self) -> int:
        return len(self.sources.sizes)

    def encoder_sizes(self) -> np.ndarray:
        return np.asarray(self.sources.sizes) + TAGS

    def decoder_sizes(self) -> np.ndarray:
        return np.asarray(self.targets.sizes)

    @property
    def component(self) -> tuple[str, str]:
        """What is validated by itself."""
        return format_direction(self.direction), TRANSLATION

    def measures_its_task(self) -> np.ndarray:
        return np.ones(len(self), dtype=bool)

    def example(self, line: int) -> dict:
        """As those of `PretrainingDataset`: the source sentence -> the target sentence."""
        source, target = (np.asarray(side[line], dtype=np.int64) for side in (self.sources, self.targets))
        return {
            "source": tagged(self.tags, source),
            "target": target,
            "decoder_input": np.concatenate((target[-1:], target[:-1])),
            "positions": np.arange(len(target)),
        }


def binarized_texts(folder, split: str, language: str) -> list[Path]:
    """Prefixes of the binarized files of a language: `SPLIT.….LANG`, of bitexts or monolingual.

    Raises:
        InputError: there is none, or a step that writes into the folder did not finish.
    """
    check_finished(folder)
    texts = prefixes(folder, split, language)
    if not texts:
        raise InputError(f"{folder}: no files {split}.….{language}.idx; was text of {language} binarized?")
    return texts


def load_text(prefix: Path, language: str, task: str, mixture: dict[str, float], tags) -> MonolingualText:
    """One file with the structures that the mixture needs.

    Args:
        tags: task -> the two tokens in front of its sources.

    Raises:
        InputError: a file is missing, or is not of these sentences.
    """
    sentences = load_sentences(prefix)
    structures = {}
    for kind in sorted({TASKS[name].needs for name in mixture} - {None}):
        path = structure_path(prefix, kind)
        if not path.is_file():
            raise InputError(
                f"{path}: no such file; `python -m data_prep {kind}` and then `structures` write it"
            )
        structures[kind] = Structures(path, kind)
        structures[kind].check(np.asarray(sentences.sizes) - 1)
    return MonolingualText(language, task, sentences, sentences.sizes, mixture, structures, tags)


class PretrainingDataset(MultipartDataset):
    """Examples of the pre-training tasks, and of translation; see `MultipartDataset` for batches, epochs and
    sampling.

    Which task and which mask an example gets depends on seed, epoch and its number in the epoch only, so that
    a sentence that is drawn twice is two examples. Empty sentences are left out, and where tasks are
    validated by themselves, those without the structure that the task needs.

    Args:
        symbols, inverted: what the tasks make examples with (`PretrainingTask.make`).
        translation_share: of the examples of an epoch that are sentence pairs, drawn as often as that takes;
            None: pairs are parts as all others.
    """

    def __init__(
        self,
        parts: list[MonolingualText | ParallelText],
        symbols: Symbols,
        inverted: bool,
        translation_share: float | None = None,
        **options,
    ):
        self.symbols, self.inverted = symbols, inverted
        self.translation_share = translation_share
        super().__init__(parts, **options)

    def counts(self, sizes: np.ndarray) -> np.ndarray | None:
        """The temperature holds among texts, and among directions."""
        if self.translation_share is None:
            return super().counts(sizes)
        is_pair = np.array([isinstance(part, ParallelText) for part in self.parts])
        counts = sizes.copy()
        if self.temperature is not None:
            counts[~is_pair] = epoch_sizes(sizes[~is_pair], self.temperature)
        odds = self.translation_share / (1 - self.translation_share)
        pairs = epoch_sizes(sizes[is_pair], self.temperature or 1) * odds
        pairs *= counts[~is_pair].sum() / sizes[is_pair].sum()
        counts[is_pair] = np.maximum(np.round(pairs), 1)
        return counts

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        self.draws = self._rng(purpose=2).random(len(self), dtype=np.float32)

    def ordered_indices(self) -> np.ndarray:
        order = super().ordered_indices()
        order = order[(self.source_sizes[order] > TAGS + 1) & (self.target_sizes[order] > 1)]
        if not self.separate_parts:
            return order
        measured = [part.measures_its_task() for part in self.parts]
        firsts = np.cumsum([0, *map(len, measured)])[self.part_numbers[order]]
        return order[np.concatenate(measured)[firsts + self.lines[order]]]

    def example(self, part: MonolingualText | ParallelText, line: int, index: int) -> dict:
        if isinstance(part, ParallelText):
            return part.example(line)
        name = part.task_at(self.draws[index])
        structure = None
        if TASKS[name].needs:
            structure = part.structures[TASKS[name].needs][line]
            if structure is None:
                name = FALLBACK
        tokens = np.asarray(part.sentences[line], dtype=np.int64)[:-1]
        rng = np.random.default_rng([self.seed, self.epoch, index])
        example = TASKS[name].make(Sentence(tokens, structure, rng, self.symbols, self.inverted))
        return {
            "source": tagged(part.tags[name], example.source),
            "target": example.target,
            "decoder_input": example.decoder_input,
            "positions": example.positions,
        }

    def decoder_inputs(self, examples: list[dict]) -> torch.Tensor:
        return pad_right([example["decoder_input"] for example in examples], self.pad)

    def collater(self, examples: list[dict]) -> dict:
        """A batch, and `decoder_positions` (B x T, as `prev_output_tokens`; 0 at padding) and
        `decoder_length`, more than any of them.
        """
        batch = super().collater(examples)
        if batch:
            batch["decoder_positions"] = pad_right([example["positions"] for example in examples], 0)
            batch["decoder_length"] = int(batch["decoder_positions"].max()) + 1
        return batch
