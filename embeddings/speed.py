"""Lines per second of several encoders, side by side (of which thesis 2.3.4 says why it reports none).

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
from command_line.option_classes import from_arguments
from command_line.progress import progress
from command_line.provenance import versions
from command_line.result_file import add_output_arguments, write_result
from data_prep.formats.package import is_package
from data_prep.formats.texts import LANGUAGE, language_in_name
from embeddings.encoders.options import CHECKPOINT, EncoderOptions, kind_of
from embeddings.encoders.sentence_encoder import BATCH_TOKENS, SentenceEncoder, of_text

KIND = "encoding-speed"
WARM_UP = 32  # lines


@dataclass(frozen=True)
class Job:
    """What is timed.

    Attributes:
        encoders: name and model of each; ratios are to the first.
        model_data: binarized folder of those that are checkpoints.
        text: a sentence per line, of which the first `lines` are encoded.
        language: of the text; None for what its name ends with.
        rounds: turns of every encoder.
        threads: of a processor that an encoder may use; None for as many as there are.
        dataset: name in tables; None for that of the text.
    """

    encoders: list[tuple[str, Path]]
    model_data: Path | None
    text: Path
    language: str | None
    lines: int
    rounds: int
    threads: int | None
    batch_tokens: int
    cpu: bool
    dataset: str | None

    def options(self, name: str, model: Path) -> EncoderOptions:
        """How an encoder is loaded."""
        needs_data = not is_package(model) and kind_of(model) == CHECKPOINT
        data = self.model_data if needs_data else None
        return EncoderOptions(
            model, model_data=data, batch_tokens=self.batch_tokens, cpu=self.cpu, encoder_name=name
        )


def add_arguments(parser) -> None:
    parser.add_argument(
        "encoders",
        nargs="+",
        type=types.assignment("NAME=model.pt", types.path),
        metavar="NAME=MODEL",
        help="encoders, each with its name in tables: checkpoints, or folders, as --model elsewhere",
    )
    parser.add_argument("--text", required=True, type=types.path, metavar="FILE", help="a sentence per line")
    parser.add_argument(
        "--model-data", type=types.path, help="of checkpoints: binarized folder with their dictionary"
    )
    parser.add_argument(
        "--language", type=LANGUAGE, metavar="LANG", help="of the text (default: what its name ends with)"
    )
    parser.add_argument("--lines", type=types.positive, default=2000, help="that are encoded, from the first")
    parser.add_argument("--rounds", type=types.positive, default=5, help="turns of every encoder")
    parser.add_argument(
        "--threads", type=types.worker_count, help="of a processor (default: as many as it has)"
    )
    parser.add_argument(
        "--batch-tokens", type=types.positive, default=BATCH_TOKENS, help="of a batch, padding included"
    )
    parser.add_argument("--cpu", action="store_true", help="do not use a GPU")
    parser.add_argument("--dataset", type=types.text, help="name in tables (default: name of the text)")
    add_output_arguments(parser, KIND)


def main(args) -> None:
    job = from_arguments(Job, args)
    names = [name for name, _ in job.encoders]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name}=: is the name of two encoders; expected one of its own for each")
    files = [file for one in job.encoders for file in job.options(*one).files(args.output)]
    inputs = [job.text, *dict.fromkeys(files)]
    write_result("embeddings", KIND, job, inputs, lambda: measure(job), args.output, args.force)


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
    encoders = [job.options(*one).load() for one in job.encoders]
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
            "ratio": statistics.median(first / one for first, one in zip(seconds[0], own, strict=True)),
        }
        rows = [row for turn, one in enumerate(own) for row in numbers({"seconds": one}, repeat=turn)]
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
