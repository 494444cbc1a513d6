"""A result file beside the tables and figures of its section of the report: what a probe leaves behind."""

from collections.abc import Callable, Iterable
from pathlib import Path

from command_line import options as types
from command_line.completion import Stamp
from command_line.option_classes import by_name
from command_line.outputs import write_json
from command_line.provenance import checksums, command_typed
from eval.reporting.parts import Section, write_exhibits
from eval.results.files import FORMAT
from eval.results.result_set import ResultSet


def add_output_arguments(parser, kind: str) -> None:
    parser.add_argument(
        "--output",
        required=True,
        type=types.output_folder,
        metavar="DIR",
        help=f"folder for {kind}.json, tables (CSV), figures (PNG)",
    )
    parser.add_argument("--force", action="store_true", help="do again what is done")


def publish(
    kind: str,
    options,
    inputs: Iterable[Path],
    measure: Callable[[], dict],
    section: Callable[[ResultSet], Section],
    output,
    force: bool = False,
    version: int = 1,
) -> None:
    """Write `KIND.json` and what its section makes of it, unless that is done; prints the file's name.

    Args:
        kind: of the result file, and its name.
        options: a dataclass with everything that changes what is measured.
        inputs: files that the measurement depends on.
        measure: returns the record, to which "format", "kind", "inputs" and "command" are added.
        section: of the report, for this kind of result files.
        output: folder for all files.
        force: measure again what is done.
        version: of what is measured; a record of another version is not up to date.
    """
    output, inputs = Path(output), [Path(path) for path in inputs]
    file = output / f"{kind}.json"
    settings = by_name(options) | ({"version": version} if version > 1 else {})
    stamp = Stamp(output / f".{kind}.done", kind, settings, inputs)
    if stamp.is_current(force):
        return
    measured = measure()
    stamp.begin()
    record = {
        "format": FORMAT,
        "kind": kind,
        **measured,
        "inputs": checksums(inputs),
        "command": command_typed("eval"),
    }
    write_json(file, record)
    parts = write_exhibits([section(ResultSet({kind: [(file, record)]}))], output, output)
    stamp.finish([file, *parts])
    print(file)
