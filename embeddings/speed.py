"""Lines per second of several encoders, side by side. Thesis 2.3.4 says why it reports none.

Encoders take turns, round by round, so that whatever else the machine does slows all of them: ratios are the
medians of those within a round. Each is loaded, and encodes some lines, before the first round.
"""

import statistics
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from command_line import options as types
from command_line.errors import InputError
from command_line.lines import read_lines
from command_line.measurements import Measured, numbers
from command_line.option_classes import force_switch, option, output_folder, positional, switch
from command_line.progress import progress
from command_line.provenance import versions
from command_line.result_file import write_result
from data_prep.formats.package import is_package
from data_prep.formats.texts import LANGUAGE, language_in_name
from embeddings.encoders.options import CHECKPOINT, EncoderOptions, kind_of
from embeddings.encoders.sentence_encoder import BATCH_TOKENS, SentenceEncoder, of_text

KIND = "encoding-speed"
WARM_UP = 32  # lines


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is timed."""

    encoders: list[tuple[str, Path]] = positional(
        "encoders, each with its name in tables: checkpoints, or folders, as --model elsewhere",
        nargs="+",
        type=types.assignment("NAME=model.pt", types.path),
        metavar="NAME=MODEL",
    )
    text: Path = option("a sentence per line", required=True, metavar="FILE")
    model_data: Path | None = option("of checkpoints: binarized folder with their dictionary")
    language: str | None = option(
        "of the text (default: what its name ends with)", type=LANGUAGE, metavar="LANG"
    )
    lines: int = option("that are encoded, from the first", 2000)
    rounds: int = option("turns of every encoder", 5)
    threads: int | None = option("of a processor (default: as many as it has)", type=types.worker_count)
    batch_tokens: int = option("of a batch, padding included", BATCH_TOKENS)
    cpu: bool = switch("do not use a GPU")
    dataset: str | None = option("name in tables (default: name of the text)")
    output: Path = output_folder(f"{KIND}.json")
    force: bool = force_switch()

    def options(self, name: str, model: Path) -> EncoderOptions:
        """How an encoder is loaded."""
        needs_data = not is_package(model) and kind_of(model) == CHECKPOINT
        data = self.model_data if needs_data else None
        return EncoderOptions(
            model, model_data=data, batch_tokens=self.batch_tokens, cpu=self.cpu, encoder_name=name
        )


def main(job: Job) -> None:
    names = [name for name, _ in job.encoders]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name}=: is the name of two encoders; expected one of its own for each")
    files = [file for encoder in job.encoders for file in job.options(*encoder).files(job.output)]
    inputs = [job.text, *dict.fromkeys(files)]
    write_result("embeddings", KIND, job, inputs, lambda: measure(job), job.output, job.force)


def measure(job: Job) -> Measured:
    """A run per encoder.

    Raises:
        InputError: the text is empty.
    """
    import torch

    if job.threads:
        torch.set_num_threads(job.threads)
    lines = list(islice(read_lines(job.text), job.lines))
    if not lines:
        raise InputError(f"{job.text}: is empty, expected a sentence per line")
    encoders = [job.options(*encoder).load() for encoder in job.encoders]
    with of_text(job.text, "--language"):
        seconds = take_turns(encoders, lines, job.language or language_in_name(job.text), job.rounds)
    measured = Measured(
        about={
            "encoders": [encoder.record() for encoder in encoders],
            "threads": torch.get_num_threads(),
            "versions": versions("torch", "numpy"),
        }
    )
    for encoder, own in zip(encoders, seconds, strict=True):
        rates = {
            "lines": len(lines),
            "lines_per_second": len(lines) / statistics.median(own),
            "ratio": statistics.median(first / second for first, second in zip(seconds[0], own, strict=True)),
        }
        rows = [row for turn, value in enumerate(own) for row in numbers({"seconds": value}, repeat=turn)]
        measured.add(
            {"system": encoder.system, "dataset": job.dataset or job.text.name}, numbers(rates) + rows
        )
    return measured


def take_turns(
    encoders: list[SentenceEncoder], lines: list[str], language: str | None, rounds: int
) -> list[list[float]]:
    """Seconds of every round, by encoder."""
    for encoder in encoders:
        encoder.encode(lines[:WARM_UP], language)
    seconds: list[list[float]] = [[] for _ in encoders]
    for _ in progress(range(rounds), rounds, "encode", "round"):
        for own, encoder in zip(seconds, encoders, strict=True):
            start = time.perf_counter()
            encoder.encode(lines, language)
            own.append(max(time.perf_counter() - start, 1e-9))
    return seconds
