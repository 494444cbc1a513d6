"""Translating many directions at once: one loaded model, batches of similar lengths, no line lost."""

import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial

import torch
from fairseq import utils

from command_line.errors import InputError
from command_line.progress import progress
from data_prep.formats.directions import format_direction
from data_prep.formats.preparation import Preparation
from data_prep.formats.sentences import file_prefix, load_sentences
from eval.translation.beam_search import BeamSearch, NoScore
from eval.translation.contrast import Contrast, ContrastedSentences
from eval.translation.finished_hypotheses import Hypothesis
from eval.translation.length_search import LengthSearch
from eval.translation.rescoring import LanguageRescorer
from eval.translation.search_options import (
    ContrastOptions,
    DecodingOptions,
    LengthOptions,
    RescoringOptions,
)
from fairseq_ext.data.multilingual_dataset import DirectionData
from fairseq_ext.data.sentence_pairs import CutSentences


def sources_of(task, direction, sentences, sizes) -> DirectionData:
    """The source side of one direction, with tags, cut to the model's length."""
    tags = len(task.tags.encoder_ids(*direction)) + len(task.tags.source_ending_ids(*direction))
    cut = CutSentences(sentences, task.max_positions()[0] - tags, task.dictionary.eos(), sizes)
    return DirectionData.with_tags(task.tags, direction, cut, None, cut.sizes, None)


def load_sources(task, data, split: str, direction, max_lines: int | None = None) -> DirectionData:
    """The sources of a direction as the model reads them; says how many were cut."""
    prefix = file_prefix(data, split, direction, direction[0])
    sentences = load_sentences(prefix)
    part = sources_of(task, direction, sentences, sentences.sizes[:max_lines])
    if part.sources.cut:
        print(
            f"warning: {prefix}: {part.sources.cut} lines are longer than the model reads "
            f"({task.max_positions()[0]} tokens) and were cut",
            file=sys.stderr,
        )
    return part


class Decoder:
    """Translates batches.

    Args:
        search: a `BeamSearch` of the model, or a `LengthSearch` around one.
        max_tokens: source tokens of the sentences of a batch, padding included, and as many of each contrast.
            Batches hold sentences of similar length from all directions, so that few steps are spent on
            finished sentences.
        keep_tags: hypotheses are as found, with language tags that the model produced by itself.
        rescorer: orders the hypotheses of every sentence anew, if given.
    """

    def __init__(
        self,
        loaded,
        search: BeamSearch | LengthSearch,
        max_tokens: int,
        device: torch.device,
        keep_tags: bool = False,
        contrast: Contrast | None = None,
        rescorer: LanguageRescorer | None = None,
    ):
        self.task = loaded.task
        self.model = loaded.model.to(device)
        self.device = device
        self.max_tokens = max_tokens
        self.stripped = set() if keep_tags else self.task.tags.all_ids()
        self.search = search
        self.contrast, self.rescorer = contrast, rescorer
        self.seconds = 0.0

    @property
    def cost(self) -> dict[str, float | None]:
        """What was spent until now: seconds from batch to hypotheses, and tokens of the decoder."""
        return {"seconds": self.seconds, "decoder_tokens": self.search.decoder_tokens}

    def batches(self, parts: list[DirectionData]) -> tuple[ContrastedSentences, list]:
        """All sentences, and their batches; the longest come first, to run out of memory early if at all."""
        variants = self.contrast.variants(parts) if self.contrast else []
        dictionary = self.task.dictionary
        sentences = ContrastedSentences(parts, variants, dictionary.pad(), dictionary.eos())
        room = max(self.max_tokens, int(sentences.sizes.max()))  # a batch holds at least the longest sentence
        batches = sentences.batch_by_size(sentences.ordered_indices(), max_tokens=room)
        return sentences, batches[::-1]

    def translate(
        self, parts: list[DirectionData], done: Iterable[int] = (), task: str = "translate"
    ) -> Iterator[tuple[list[int], list[list[int]]]]:
        """Yield batches of (example numbers, best hypotheses as token ids without forced tags and `</s>`).

        Example numbers count through the parts. Batches that consist of `done` examples are skipped. A field
        "encoder_arguments" of the parts goes to the encoder.
        """
        sentences, batches = self.batches(parts)
        done = set(done)
        batches = [batch for batch in batches if not done.issuperset(batch)]
        total = sum(map(len, batches))
        shown = progress(batches, total, task, "sentence", size=len)
        for numbers, lists in self._searched(parts, sentences, shown, task, count=1):
            yield numbers, [best[0][0] for best in lists]

    def n_best(
        self, parts: list[DirectionData], count: int
    ) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        """As `translate`, the best `count` hypotheses of every sentence with their scores."""
        sentences, batches = self.batches(parts)
        yield from self._searched(parts, sentences, batches, "translate", count)

    def _searched(
        self, parts: list[DirectionData], sentences: ContrastedSentences, batches: Iterable, task: str, count
    ) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        """Yield example numbers and their hypotheses, batch by batch."""
        for batch in batches:
            started = time.monotonic()
            sample = to_device(sentences.batch(batch), self.device)
            of_parts = [parts[number] for number in sample["parts"][: len(batch)]]
            options = dict(sample.get("encoder_arguments", {}))
            if "decoder_start" in sample:
                options["starts"] = sample["decoder_start"]
            if "contrast" in sample:
                options["contrast"] = sample["contrast"]
            try:
                with self.task.autocast(sample):
                    lists = self.search.n_best(
                        sample["net_input"]["src_tokens"],
                        sample["net_input"]["src_lengths"],
                        sample["prefix_tokens"],
                        count=self.rescorer.candidates if self.rescorer else count,
                        **options,
                    )
            except NoScore as error:
                raise InputError(
                    f"{task}: {format_direction(of_parts[error.row].direction)}, sentence"
                    f" {sample['lines'][error.row] + 1}: the model's scores are NaN or infinite, so it has no"
                    " translation; expected a checkpoint of a training that converged"
                ) from None
            lists = [[(self._strip(tokens), score) for tokens, score in each] for each in lists]
            if self.rescorer:
                languages = [part.direction[1] for part in of_parts]
                ranked = map(self.rescorer.ranked, languages, lists)
                lists = [each[:count] for each in ranked]
            self.seconds += time.monotonic() - started
            yield sample["id"].tolist()[: len(batch)], lists

    def _strip(self, tokens: list[int]) -> list[int]:
        """The tokens without language tags that the model produced by itself."""
        return [token for token in tokens if token not in self.stripped]


def build_decoder(
    loaded,
    options: DecodingOptions,
    lengths: LengthOptions | None = None,
    keep_tags: bool = False,
    contrast: ContrastOptions | None = None,
    rescoring: RescoringOptions | None = None,
) -> Decoder:
    """A `Decoder` of a loaded model.

    Raises:
        InputError: options that the model does not allow, or that do not go together.
    """
    device = torch.device("cuda" if torch.cuda.is_available() and not options.cpu else "cpu")
    search = BeamSearch(loaded.model, loaded.task.dictionary, options.search)
    contrasts = Contrast.of(contrast, loaded.task.tags)
    rescorer = _rescorer(loaded.task, rescoring, options.search.beam)
    candidates = lengths.length_candidates if lengths else 1
    if candidates > 1:
        if contrasts or rescorer:
            other = "--source-contrast or --language-contrast" if contrasts else "--language-rescoring"
            raise InputError(f"--length-candidates {candidates}: not with {other}; give one of them")
        search = LengthSearch(search, candidates, lengths.length_weight)
    # a sentence is searched with every length, or beside every contrast, at once
    together = candidates * (1 + len(contrasts or ()))
    most = max(1, options.max_tokens // together)
    return Decoder(loaded, search, most, device, keep_tags, contrasts, rescorer)


def _rescorer(task, options: RescoringOptions | None, beam: int) -> LanguageRescorer | None:
    if options is None or not options.language_rescoring:
        return None
    if beam == 1:
        raise InputError("--language-rescoring: with --beam 1 there is one hypothesis; give a larger beam")
    text = partial(text_of, Preparation.load(task.cfg.data), task.dictionary)
    return LanguageRescorer(options, task.tags.languages, text, candidates=beam)


def search_all(decoder, journal, parts, stage: str) -> list[list[list[int]]]:
    """Hypotheses (token ids) per part and sentence; what the journal has of this stage is not searched
    again.
    """
    tokens_of: dict[int, list[int]] = {}
    for entry in journal.entries:
        if entry["stage"] == stage:
            tokens_of.update(zip(entry["examples"], entry["tokens"], strict=True))
    before = decoder.cost
    for examples, tokens in decoder.translate(parts, done=tokens_of, task=stage):
        cost = {name: value and value - before[name] for name, value in decoder.cost.items()}
        journal.add({"stage": stage, "examples": examples, "tokens": tokens, "cost": cost})
        tokens_of.update(zip(examples, tokens, strict=True))
        before = decoder.cost
    total = sum(map(len, parts))
    missing = [example for example in range(total) if example not in tokens_of]
    if missing:
        raise RuntimeError(
            f"{len(missing)} of {total} sentences have no hypothesis, the first is number {missing[0]}"
        )
    hypotheses, start = [], 0
    for part in parts:
        hypotheses.append([tokens_of[example] for example in range(start, start + len(part))])
        start += len(part)
    return hypotheses


def text_of(preparation, dictionary, language: str, tokens: list[int]) -> str:
    """Detokenized text of a hypothesis, one line."""
    subwords = dictionary.string(tokens)
    return " ".join(preparation.detokenize(language, subwords).split())


def to_device(sample: dict, device: torch.device) -> dict:
    return utils.move_to_cuda(sample, device) if device.type == "cuda" else sample
