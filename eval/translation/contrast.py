"""Source- and language-contrastive decoding: what a search is to turn away from.

Sennrich, Vamvas and Mohammadshahi, "Mitigating Hallucinations and Off-target Machine Translation with Source-
Contrastive and Language-Contrastive Decoding", EACL 2024. The score of a token y_i is

    log( p(y_i | y_<i, X, l) - s/N sum_X' p(y_i | y_<i, X', l) - t sum_l' p(y_i | y_<i, X, l') ),

with N other sources X' and other target languages l': English and the language of the source, in the paper
and by default, unless one is the target. The model is given X', or the tag of l' wherever it reads the
target's, and the hypothesis that it has for X. X' is another line of the same text: the draw depends on the
direction, the number of lines and the seed, and on nothing else. The paper shuffles the text, by which a
sentence may be contrasted with itself; here it is always another line.
"""

import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from command_line.errors import InputError
from data_prep.formats.directions import Direction, format_direction
from data_prep.languages import is_english
from eval.translation.search_options import ContrastOptions
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset
from fairseq_ext.data.unpaired import ChosenSentences

SOURCE = "source"  # the language of the source, among contrast languages


@dataclass(frozen=True)
class Variant:
    """The sentences of all parts with another source or another target language.

    Attributes:
        parts: as long as the sentences' own.
        weights: of every part; 0 where it has no such contrast, and is itself.
    """

    parts: list[DirectionData]
    weights: list[float]


class ContrastedSentences(MultilingualDataset):
    """Sentences at inference, whose contrasts are searched in the same batch. The length of a sentence is
    that of the longest source beside it, its own or a contrast's: a batch has room for all of them.
    """

    def __init__(self, parts: Sequence[DirectionData], variants: Sequence[Variant], pad: int, eos: int):
        super().__init__(parts, pad, eos, shuffle=False)
        self.variants = variants
        self.others = [MultilingualDataset(variant.parts, pad, eos, shuffle=False) for variant in variants]
        self.source_sizes = np.max([sentences.source_sizes for sentences in (self, *self.others)], axis=0)

    def batch(self, indices: Sequence[int]) -> dict:
        """B sentences collated, then their first contrasts, and so on. With V contrasts, `contrast` (V x B)
        has their weights.
        """
        sample = self.collater([sentences[index] for sentences in (self, *self.others) for index in indices])
        if self.variants:
            parts = sample["parts"][: len(indices)]
            sample["contrast"] = torch.tensor(
                [[variant.weights[part] for part in parts] for variant in self.variants]
            )
        return sample


class Contrast:
    """The contrasts of a search with a model.

    Args:
        options: of which one weight is above 0; weights of 0 are no contrasts.

    Raises:
        InputError: a language that the model does not have; weights that leave nothing of a probability.
    """

    def __init__(self, options: ContrastOptions, tags):
        self.wanted, self.tags = options.contrast_languages, tags
        self.source_weight, self.language_weight = (
            options.source_contrast or 0,
            options.language_contrast or 0,
        )
        self.sources = 1 if options.contrast_sources is None else options.contrast_sources
        self.seed = 1 if options.contrast_seed is None else options.contrast_seed
        self.languages = self._languages() if self.language_weight else []
        if self.source_weight + self.language_weight * len(self.languages) >= 1:
            raise InputError(
                f"--source-contrast {self.source_weight:g} and --language-contrast {self.language_weight:g}"
                f" of {len(self.languages)} languages: expected less than 1 together, or no probability is"
                " left"
            )

    @classmethod
    def of(cls, options: ContrastOptions | None, tags) -> "Contrast | None":
        """None where nothing is contrasted."""
        is_off = options is None or not (options.source_contrast or options.language_contrast)
        return None if is_off else cls(options, tags)

    def _languages(self) -> list[str]:
        tags, wanted = self.tags, self.wanted
        if not tags.exist or tags.placement_name == "none":
            raise InputError("--language-contrast: the model has no tags that name a target language")
        if wanted is None:
            return [*filter(is_english, tags.languages), SOURCE]
        for language in wanted:
            if language != SOURCE and language not in tags.languages:
                raise InputError(
                    f"--contrast-languages: {language!r}: the model has no tag for it; expected some of"
                    f" {', '.join(tags.languages)}, or {SOURCE}"
                )
        return list(dict.fromkeys(wanted))

    def __len__(self) -> int:
        """Number of contrasts that a sentence may have."""
        return self.sources * bool(self.source_weight) + len(self.languages)

    def languages_of(self, direction: Direction) -> list[str]:
        """The languages that a direction is contrasted with."""
        source, target = direction
        named = (source if language == SOURCE else language for language in self.languages)
        return [language for language in dict.fromkeys(named) if language != target]

    def variants(self, parts: Sequence[DirectionData]) -> list[Variant]:
        """All contrasts of these sentences; a sentence alone has no other source, which a warning says."""
        variants = []
        if self.source_weight:
            weights = [self.source_weight / self.sources * (len(part) > 1) for part in parts]
            for part in parts:
                if len(part) == 1:
                    print(
                        f"warning: --source-contrast: {format_direction(part.direction)} has one sentence at"
                        " a time, no other source; it is searched without",
                        file=sys.stderr,
                    )
            for number in range(self.sources):
                variants.append(Variant([self._with_other_sources(part, number) for part in parts], weights))
        languages = [self.languages_of(part.direction) for part in parts]
        for number in range(max(map(len, languages), default=0)):
            has = [number < len(others) for others in languages]
            variants.append(
                Variant(
                    [
                        self._into(part, others[number]) if is_there else part
                        for part, others, is_there in zip(parts, languages, has, strict=True)
                    ],
                    [self.language_weight * is_there for is_there in has],
                )
            )
        return variants

    def _with_other_sources(self, part: DirectionData, number: int) -> DirectionData:
        name, size = format_direction(part.direction), len(part)
        if size < 2:
            return part
        seed = [self.seed, zlib.crc32(name.encode()), number]
        steps = np.random.default_rng(seed).integers(1, size, size)
        lines = (np.arange(size) + steps) % size  # any line but its own
        others = ChosenSentences(part.sources, lines)
        return self._like(part, part.direction, others, others.sizes)

    def _into(self, part: DirectionData, language: str) -> DirectionData:
        return self._like(part, (part.direction[0], language), part.sources, part.source_sizes)

    def _like(self, part: DirectionData, direction: Direction, sources, sizes) -> DirectionData:
        return DirectionData.with_tags(self.tags, direction, sources, None, sizes, None)
