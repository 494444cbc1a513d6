"""What the commands do, from Python: a few names for notebooks and scripts (docs/python.md).

from eval.api import load_model, load_translator, probe, read_rows, write_store
"""

import importlib
from pathlib import Path

import pandas as pd

from command_line.dispatch import call_step
from command_line.errors import InputError
from command_line.records import field
from eval.measurements import table_of
from eval.probes import COMMANDS
from eval.probes.line_states import LineStates, write_store
from eval.probes.readers import Reader, load_reader
from eval.probes.store import StateStore
from eval.result_files import read_result
from eval.translation.fairseq_model import FairseqModel
from eval.translation.model_options import load_translator, model_in
from eval.translation.translator import Candidate, Translator, TranslatorOptions

__all__ = [
    "Candidate",
    "FairseqModel",
    "InputError",
    "LineStates",
    "Reader",
    "StateStore",
    "Translator",
    "TranslatorOptions",
    "load_model",
    "load_translator",
    "probe",
    "read_rows",
    "write_store",
]


def load_model(
    path: str | Path | FairseqModel, data: str | Path | None = None, options: TranslatorOptions | None = None
) -> Reader:
    """A model whose states can be read: `model.states(lines, "de", "fr")`.

    Args:
        path: a folder of `fairseq_ext package`, or of an encoder-decoder, an encoder or a causal model of
            `transformers`; or a fairseq checkpoint, or a `FairseqModel`.
        data: the binarized folder of a checkpoint.
        options: how a model that translates does it, and `decoding.cpu`.

    Raises:
        InputError: it is none of these, or the model cannot be loaded.
    """
    return load_reader(model_in(path, data), options or TranslatorOptions())


def probe(name: str, *options, output) -> pd.DataFrame:
    """Run `python -m eval probe NAME OPTIONS --output OUTPUT` in this process.

    Args:
        options: as on the command line, such as "states/pre", "--split", "test".

    Returns:
        The rows of the result, as of `read_rows`.

    Raises:
        InputError: what the command would say.
    """
    if name not in COMMANDS or name == "states":
        expected = ", ".join(name for name in COMMANDS if name != "states")
        raise InputError(f"probe {name!r}: expected one of {expected}")
    module = importlib.import_module(COMMANDS[name][0])
    call_step(f"python -m eval probe {name}", module, [*map(str, options), "--output", str(output)])
    return read_rows(Path(output) / f"{name}.json")


def read_rows(result) -> pd.DataFrame:
    """The numbers of a result file, such as `probes/llr/llr.json` or `scores.json`.

    Returns:
        A row per number; the columns are those of `command_line.measurements`.

    Raises:
        InputError: there is no such file, or the rows beside it are others than it was written with.
    """
    result = Path(result)
    record = read_result(result)
    return table_of(result.with_suffix(".csv"), field(record, "rows_sha256", str, result))
