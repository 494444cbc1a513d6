"""What a batch can carry beyond a translation example, by name: built only if a loss asks for it.

A field is made once per direction and split: `FIELDS[name](FieldSource(…))`. A new field is a
class and an entry of FIELDS.
"""

from dataclasses import dataclass

import numpy as np
import torch

from data_prep.formats.alignments import AlignedSpans, aligners, alignment_path, choose_aligner
from fairseq_ext.data.dataset_parts import BatchField, pad_right
from fairseq_ext.data.language_tags import LanguageTags
from fairseq_ext.data.multilingual_dataset import DirectionData, tagged
from fairseq_ext.data.sentence_pairs import uncut
from fairseq_ext.data.teachers import Teacher

OPTION = "--alignments"  # of the task


@dataclass(frozen=True)
class FieldSource:
    """What a field of one direction is made of.

    Attributes:
        folder, split: where the sentence pairs are from.
        optional: the field may be empty where its file is missing: in zero-shot directions.
        aligner: whose alignments; None for the only ones in the folder.
        teacher: of the student that is trained, if there is one.
        encoder_vectors: what stands for the encoder that is trained, if it does not run.
    """

    pairs: DirectionData
    tags: LanguageTags
    folder: object
    split: str
    optional: bool = False
    aligner: str | None = None
    teacher: Teacher | None = None
    encoder_vectors: Teacher | None = None


class Mirror(BatchField):
    """The target sentences as encoder input, with the tags they would have as sources of the opposite
    direction.

    In a batch: `src_tokens`, B x T, padded on the right, and `src_lengths`, B.
    """

    def __init__(self, of: FieldSource):
        part, tags = of.pairs, of.tags
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

    def __init__(self, of: FieldSource):
        part, tags = of.pairs, of.tags
        source, target = part.direction
        pair = tuple(sorted(part.direction))
        self.swapped = pair != part.direction
        self.spans = None
        if not of.optional or aligners(of.folder):
            self.spans = self._open(of, pair)
        if self.spans is not None:
            sizes = [np.asarray(side.sizes) - 1 for side in map(uncut, (part.sources, part.targets))]
            self.spans.check(*(sizes[::-1] if self.swapped else sizes))  # without </s>
        self.limits = [np.asarray(sizes) - 1 for sizes in (part.source_sizes, part.target_sizes)]
        in_front = [tags.encoder_ids(source, target), tags.encoder_ids(target, source), part.target_tags]
        self.shifts = np.repeat([len(ids) for ids in in_front], 2)

    @staticmethod
    def _open(of: FieldSource, pair: tuple[str, str]) -> AlignedSpans | None:
        aligner = choose_aligner(of.folder, of.aligner, OPTION)
        if of.optional and not alignment_path(of.folder, of.split, pair, aligner).exists():
            return None
        return AlignedSpans.open(of.folder, of.split, pair, aligner)

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

    def __init__(self, of: FieldSource):
        self.language = of.tags.languages.index(of.pairs.direction[self.side])

    def __getitem__(self, item: int) -> int:
        return self.language

    @staticmethod
    def collate(languages: list[int], pad: int) -> torch.Tensor:
        return torch.tensor(languages)


class TargetLanguages(SourceLanguages):
    """As `SourceLanguages`, of the target sentences."""

    side = 1


def vectors_of(of: FieldSource, teacher: Teacher) -> BatchField:
    """What a teacher has for both sentences of every pair (`fairseq_ext.data.teachers`)."""
    part = of.pairs
    return teacher.field(of.folder, of.split, part.direction, (part.sources, part.targets))


FIELDS = {
    "mirror": Mirror,
    "word_alignments": WordAlignments,
    "source_languages": SourceLanguages,
    "target_languages": TargetLanguages,
    "teacher": lambda of: vectors_of(of, of.teacher),
    "encoder_vectors": lambda of: vectors_of(of, of.encoder_vectors),
}
