"""`--engine ctranslate2`: the same batches of all directions, searched by CTranslate2."""

import contextlib
import itertools
import math
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch

from command_line.completion import check_unchanged, read_settings
from command_line.errors import InputError
from command_line.outputs import checksum
from data_prep.formats.directions import format_direction
from data_prep.formats.package import single_checkpoint
from eval.translation.decoding import Decoder
from eval.translation.engine_options import CTRANSLATE2, DEFAULT_PRECISION, EngineOptions
from eval.translation.finished_hypotheses import Hypothesis
from eval.translation.search_options import DecodingOptions
from fairseq_ext.data.multilingual_dataset import DirectionData, MultilingualDataset

SUFFIX = ".ctranslate2"  # of the folder beside a checkpoint
STORED = "float32"  # weights of that folder; --precision is of the products


def engine_decoder(model, loaded, options: DecodingOptions, engine: EngineOptions) -> Decoder:
    """A decoder that searches with CTranslate2, from the folder that the options name.

    Raises:
        InputError: as `export --to ctranslate2`; the folder is of another checkpoint; a precision that the
            machine lacks.
    """
    folder = engine_folder(model, engine)
    from fairseq_ext.export.ctranslate2_search import Ctranslate2Search, check_precision

    cuda = torch.cuda.is_available() and not options.cpu
    precision = engine.precision or DEFAULT_PRECISION
    check_precision(precision, cuda)
    symbols = loaded.task.dictionary.symbols
    search = Ctranslate2Search(folder, symbols, precision, torch.get_num_threads(), cuda)
    return Ctranslate2Decoder(loaded, search, options)


def engine_folder(model, engine: EngineOptions) -> Path:
    """The exported folder, of weights in float32; one that is not there is made, with all comparisons.

    Raises:
        InputError: it is of another checkpoint, of another format, or of rounded weights.
    """
    from fairseq_ext.commands.export import NAME, make
    from fairseq_ext.export.formats import FORMATS
    from fairseq_ext.export.job import ExportJob

    FORMATS[CTRANSLATE2].check(CTRANSLATE2, STORED)
    checkpoint = single_checkpoint(model.checkpoint)
    folder, settings, is_whole = engine.engine_folder or checkpoint.with_suffix(SUFFIX), None, False
    with contextlib.suppress(InputError):  # one that was interrupted, or is damaged, is made again
        settings = read_settings(folder, NAME)
        check_unchanged(folder, NAME)
        is_whole = True
    wanted = {"to": CTRANSLATE2, "precision": STORED, "checkpoint_sha256": checksum(checkpoint)}
    is_wanted = bool(settings) and all(settings.get(name) == value for name, value in wanted.items())
    if is_wanted and is_whole:
        return folder
    if settings and not is_wanted and engine.engine_folder:
        raise InputError(
            f"--engine-folder {folder}: not exported from {checkpoint} for CTranslate2 in {STORED}; expected"
            " a folder of `python -m fairseq_ext export --to ctranslate2`, or none, which is then made"
        )
    print(f"{folder}: {checkpoint.name} is written for CTranslate2, and compared", file=sys.stderr)
    make(ExportJob(checkpoint=checkpoint, data=model.data, to=CTRANSLATE2, output=folder, precision=STORED))
    return folder


class Ctranslate2Decoder(Decoder):
    """Translates batches as `Decoder` does, with another search."""

    def __init__(self, loaded, search, options: DecodingOptions):
        self.task, self.search = loaded.task, search
        self.options, self.max_tokens = options.search, options.max_tokens
        self.stripped = self.task.tags.all_ids()
        self.longest = loaded.model.max_decoder_positions() - 1
        self.contrast, self.seconds = None, 0.0

    @property
    def cost(self) -> dict[str, float | None]:
        """See `Decoder.cost`; CTranslate2 does not say how many tokens it computes."""
        return {"seconds": self.seconds, "decoder_tokens": None}

    def _searched(
        self,
        parts: list[DirectionData],
        sentences: MultilingualDataset,
        batches: Iterable,
        task: str,
        count: int,
    ) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
        """Yield example numbers and hypotheses, batch by batch; so many batches are on their way that no
        thread waits for this one.
        """
        waiting, started = deque(), time.monotonic()
        for batch in itertools.chain(batches, [None]):
            if batch is not None:
                waiting.append((batch, self._begun(sentences, batch, count)))
            most = 2 * self.search.threads if batch is not None else 0
            while len(waiting) > most:
                searched = self._finished(parts, sentences, *waiting.popleft(), task)
                self.seconds += time.monotonic() - started
                yield searched
                started = time.monotonic()

    def _begun(self, sentences: MultilingualDataset, batch: list[int], count: int):
        from fairseq_ext.export.ctranslate2_search import Limits, Source

        examples = [sentences[index] for index in batch]
        sources = [
            Source(
                [int(token) for token in example["source"]], list(example["prefix"]), example["decoder_start"]
            )
            for example in examples
        ]
        options, longest = self.options, max(len(source.tokens) for source in sources)
        limits = Limits(
            beam=options.beam,
            lenpen=options.lenpen,
            max_length=min(int(options.max_len_a * longest + options.max_len_b), self.longest),
            count=count,
            score_without_tag=options.score_without_tag,
        )
        return self.search.begin(sources, limits)

    def _finished(self, parts, sentences: MultilingualDataset, batch: list[int], pending, task: str):
        lists = self.search.finish(pending)
        for index, hypotheses in zip(batch, lists, strict=True):
            if not hypotheses or not math.isfinite(hypotheses[0][1]):
                example = sentences[index]
                direction = format_direction(parts[example["part"]].direction)
                raise InputError(
                    f"{task}: {direction}, sentence {example['line'] + 1}: CTranslate2 finds no score that is"
                    " a number; try another --precision, or --engine pytorch"
                )
        return batch, [[(self._strip(tokens), score) for tokens, score in hypotheses] for hypotheses in lists]
