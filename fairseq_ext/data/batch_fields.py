"""What a batch can carry beyond a translation example, by name: built only if a loss asks for it.

A field is made once per direction and split: `FIELDS[name](part, tags, folder, split, optional, aligner)` for
the sentence pairs of a direction (without tags), the tags of the model, and where the sentence pairs are
from; `optional` allows a field to be empty where its file is missing (directions that are measured beside the
training directions), `aligner` chooses between alignments.
"""

import numpy as np
import torch

from data_prep.formats.alignments import AlignedSpans, aligners, alignment_path, choose_aligner
from fairseq_ext.data.language_tags import LanguageTags
from fairseq_ext.data.multilingual_dataset import DirectionData, tagged
from fairseq_ext.data.multipart_dataset import BatchField, pad_right
from fairseq_ext.data.sentence_pairs import uncut

OPTION = "--alignments"  # of the task


class Mirror(BatchField):
    """The target sentences as encoder input, with the tags they would have as sources of the opposite
    direction.

    In a batch: `src_tokens`, B x T, padded on the right, and `src_lengths`, B.
    """

    def __init__(
        self,
        part: DirectionData,
        tags: LanguageTags,
        folder,
        split: str,
        optional: bool = False,
        aligner: str | None = None,
    ):
        opposite = part.direction[::-1]
        self.tags, self.ending = tags.encoder_ids(*opposite), tags.source_ending_ids(*opposite)
        self.targets = part.targets
        self.source_sizes = np.asarray(part.target_sizes) + len(self.tags) + len(self.ending)

    def __getitem__(self, item: int) -> np.ndarray:
        return tagged(self.tags, self.targets[item], self.ending)

    @staticmethod
    def collate(sentences: list[np.ndarray], pad: int) -> dict[str, torch.Tensor]:
        return {
            "src_tokens": pad_right(sentences, pad),
            "src_lengths": torch.tensor([len(sentence) for sentence in sentences]),
        }


class WordAlignments(BatchField):
    """Aligned words as half-open spans of tokens, which count the tags that stand in front. Words beyond the
    end of a sentence that was cut are left out.

    In a batch, for N aligned words: `sentence`, N row numbers of the batch, ascending; `source` (in
    `net_input.src_tokens`), `mirror` (in `mirror.src_tokens`) and `target` (in `target`), each N x 2.

    Raises:
        InputError: the file of the pair is missing, or does not match the sentences; names file and line.
    """

    def __init__(
        self,
        part: DirectionData,
        tags: LanguageTags,
        folder,
        split: str,
        optional: bool = False,
        aligner: str | None = None,
    ):
        source, target = part.direction
        pair = tuple(sorted(part.direction))
        self.swapped = pair != part.direction
        self.spans = None
        if not optional or aligners(folder):
            self.spans = self._open(folder, split, pair, optional, choose_aligner(folder, aligner, OPTION))
        if self.spans is not None:
            sizes = [np.asarray(side.sizes) - 1 for side in map(uncut, (part.sources, part.targets))]
            self.spans.check(*(sizes[::-1] if self.swapped else sizes))  # without </s>
        self.limits = [np.asarray(sizes) - 1 for sizes in (part.source_sizes, part.target_sizes)]
        in_front = [tags.encoder_ids(source, target), tags.encoder_ids(target, source), part.target_tags]
        self.shifts = np.repeat([len(ids) for ids in in_front], 2)

    @staticmethod
    def _open(folder, split: str, pair, optional: bool, aligner: str) -> AlignedSpans | None:
        if optional and not alignment_path(folder, split, pair, aligner).exists():
            return None
        return AlignedSpans.open(folder, split, pair, aligner)

    def __getitem__(self, item: int) -> np.ndarray:
        """n x 6: start and end in source, mirror and target."""
        if self.spans is None:
            return np.empty((0, 6), dtype=np.int64)
        spans = self.spans[item]
        source, target = (spans[:, 2:], spans[:, :2]) if self.swapped else (spans[:, :2], spans[:, 2:])
        fits = (source[:, 1] <= self.limits[0][item]) & (target[:, 1] <= self.limits[1][item])
        return np.concatenate([source, target, target], axis=1)[fits] + self.shifts

    @staticmethod
    def collate(spans: list[np.ndarray], pad: int) -> dict[str, torch.Tensor]:
        sentence = np.repeat(np.arange(len(spans)), [len(each) for each in spans])
        places = torch.from_numpy(np.concatenate(spans))
        return {
            "sentence": torch.from_numpy(sentence),
            "source": places[:, 0:2],
            "mirror": places[:, 2:4],
            "target": places[:, 4:6],
        }


class SourceLanguages(BatchField):
    """The language of every source sentence: its number among `LanguageTags.languages`. In a batch: B."""

    side = 0

    def __init__(
        self,
        part: DirectionData,
        tags: LanguageTags,
        folder,
        split: str,
        optional: bool = False,
        aligner: str | None = None,
    ):
        self.language = tags.languages.index(part.direction[self.side])

    def __getitem__(self, item: int) -> int:
        return self.language

    @staticmethod
    def collate(languages: list[int], pad: int) -> torch.Tensor:
        return torch.tensor(languages)


class TargetLanguages(SourceLanguages):
    """As `SourceLanguages`, of the target sentences."""

    side = 1


FIELDS = {
    "mirror": Mirror,
    "word_alignments": WordAlignments,
    "source_languages": SourceLanguages,
    "target_languages": TargetLanguages,
}
