"""The states of the tokens of a text, beside the vectors of its lines, for comparing by BERT-score without
the encoder (`data_prep.formats.token_states`). A text that was not done when the command was killed is begun
again.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from command_line.completion import Stamp
from command_line.errors import InputError, at
from command_line.lines import count_lines
from command_line.option_classes import by_name
from command_line.progress import progress
from command_line.provenance import command_typed, text_in_record, versions
from command_line.step import Step
from data_prep.formats.token_states import step_name, write_token_states
from embeddings.cluster import Reading
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.sentence_encoder import SentenceEncoder
from embeddings.windows import windows

WINDOW = 1_024  # lines, of which all states are in memory


def encode_states(job, load: Callable[[], SentenceEncoder], path: Path, output: Path) -> None:
    """Store the states of a text, unless they are there.

    Args:
        output: the vectors beside which they lie.

    Raises:
        InputError: the encoder has no states of tokens, or a state is NaN, infinite or beyond float16; names
            the line.
    """
    settings = {name: value for name, value in by_name(job).items() if name != "normalize"}
    mark = output.with_name(f".{output.stem}.states.done")
    stamp = Stamp(mark, step_name(output), settings, [path, *job.encoder.files(output.parent)])
    Step(stamp, job.force).do(lambda: prepared(job, load(), path, output))


def prepared(job, encoder: SentenceEncoder, path: Path, output: Path) -> Callable[[], list[Path]]:
    """The storing of the states of a text, of which the first ones have been computed: there are any."""
    language = job.language_of(path)
    record = {
        "encoder": encoder.record(),
        "language": language,
        "text": text_in_record(path, output.parent, count_lines(path)),
        "command": command_typed("embeddings"),
        "versions": versions("torch", "numpy"),
    }
    reading = Reading(EncoderOptions.load, (job.encoder.absolute(),), "encode_tokens", (language,))
    states = _states(reading.all_by(encoder, job.dask), path, record["text"]["lines"])
    first = next(states)

    def write() -> list[Path]:
        try:
            return write_token_states(output, chain([first], states), job.dtype, record)
        except InputError as error:
            raise InputError(f"{path}, {error}") from None

    return write


def _states(encode_all: Callable, path: Path, lines: int) -> Iterator[tuple]:
    encoded = encode_all(windows(path, WINDOW))
    for window in progress(encoded, lines, f"states {path.name}", "line", size=lambda window: window.lines):
        if window.vectors is None:
            raise InputError(
                f"{at(path, window.start + window.not_finite + 1)}: a state is NaN or infinite; expected an"
                " encoder whose training converged, or --precision float32"
            )
        yield window.start, window.vectors.states, window.vectors.special
