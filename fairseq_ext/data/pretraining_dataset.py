"""Monolingual text of several languages, every sentence anew in every epoch an example of a random task."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from command_line.completion import check_finished
from command_line.errors import InputError
from data_prep.parsing.structure_file import Structures, structure_path
from fairseq_ext.data.binarized import load_sentences
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset, pad_right, tagged
from fairseq_ext.data.noising.example import Symbols
from fairseq_ext.data.noising.tasks import FALLBACK, TASKS

TAGS = 2  # task and language, in front of every source (thesis 4.4.2)


@dataclass
class MonolingualText(DirectionData):
    """The sentences of one file; `direction` is (language, task), or (language, "") for a mixture.

    Attributes:
        mixture: task -> weight.
        structures: kind of analysis -> the analyses of the file.
        tags: task -> the two tokens in front of its sources.
    """

    mixture: dict[str, float] = field(default_factory=dict)
    structures: dict[str, Structures] = field(default_factory=dict)
    tags: dict[str, list[int]] = field(default_factory=dict)

    def __post_init__(self):
        self._names = list(self.mixture)
        self._limits = np.cumsum(list(self.mixture.values())) / sum(self.mixture.values())

    def task_at(self, draw: float) -> str:
        """The task that a number in [0, 1) stands for."""
        return self._names[min(int(np.searchsorted(self._limits, draw, side="right")), len(self._names) - 1)]

    def measures_its_task(self) -> np.ndarray:
        """Which sentences of a component say how well its task is learned: none that falls back."""
        needs = TASKS[self.direction[1]].needs
        return self.structures[needs].analysed() if needs else np.ones(len(self), dtype=bool)


def find_texts(folder, split: str, language: str) -> list[Path]:
    """Prefixes of the binarized files of a language: `SPLIT.….LANG`, of bitexts or monolingual.

    Raises:
        InputError: there is none, or a step that writes into the folder did not finish.
    """
    check_finished(folder)
    names = sorted(path.name.removesuffix(".idx") for path in Path(folder).glob(f"{split}.*.idx"))
    found = [Path(folder) / name for name in names if name.rpartition(".")[2] == language]
    if not found:
        raise InputError(f"{folder}: no files {split}.….{language}.idx; was text of {language} binarized?")
    return found


def load_text(prefix: Path, language: str, task: str, mixture: dict[str, float], tags) -> MonolingualText:
    """One file with the analyses that the mixture needs.

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
    sizes = sentences.sizes
    none = [0] * TAGS  # only their number counts here: which ones depends on the task
    return MonolingualText(
        (language, task), sentences, sentences, sizes, sizes, none, [], {}, mixture, structures, tags
    )


class PretrainingDataset(MultilingualDataset):
    """Examples of the pre-training tasks; see `MultilingualDataset` for batches, epochs and sampling.

    Which task and which mask a sentence gets depends on seed, epoch and sentence only. Empty sentences are
    left out, and where tasks are validated by themselves, those without the analysis that the task needs.

    Args:
        parts: the files.
        symbols, inverted: what the tasks make examples with (`PretrainingTask.make`).
    """

    def __init__(self, parts: list[MonolingualText], symbols: Symbols, inverted: bool, **options):
        self.symbols, self.inverted = symbols, inverted
        super().__init__(parts, **options)

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        self.draws = self._rng(purpose=2).random(len(self), dtype=np.float32)

    def ordered_indices(self) -> np.ndarray:
        order = super().ordered_indices()
        order = order[self.source_sizes[order] > TAGS + 1]
        if not self.separate_directions:
            return order
        measured = [part.measures_its_task() for part in self.parts]
        firsts = np.cumsum([0, *map(len, measured)])[self.owners[order]]
        return order[np.concatenate(measured)[firsts + self.items[order]]]

    def __getitem__(self, index: int) -> dict:
        owner, item = int(self.owners[index]), int(self.items[index])
        part = self.parts[owner]
        name = part.task_at(self.draws[index])
        structure = None
        if TASKS[name].needs:
            structure = part.structures[TASKS[name].needs][item]
            if structure is None:
                name = FALLBACK
        tokens = np.asarray(part.sources[item], dtype=np.int64)[:-1]
        rng = np.random.default_rng([self.seed, self.epoch, index])
        example = TASKS[name].make(tokens, structure, rng, self.symbols, self.inverted)
        return {
            "id": int(index),
            "item": item,
            "owner": owner,
            "source": tagged(part.tags[name], example.source),
            "target": example.target,
            "decoder_input": example.decoder_input,
            "positions": example.positions,
        }

    def collater(self, examples: list[dict]) -> dict:
        """A batch in fairseq's format, and `decoder_positions` (B x T, as `prev_output_tokens`; 0 at
        padding) and `decoder_length`, more than any of them.
        """
        batch = super().collater(examples)
        if batch:
            inputs = pad_right([example["decoder_input"] for example in examples], self.pad)
            batch["net_input"]["prev_output_tokens"] = inputs
            batch["decoder_positions"] = pad_right([example["positions"] for example in examples], 0)
            batch["decoder_length"] = int(batch["decoder_positions"].max()) + 1
        return batch
