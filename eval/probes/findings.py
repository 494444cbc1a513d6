"""What every probe does with its findings: one JSON file, tables and figures of its report section."""

from collections.abc import Callable, Iterable
from pathlib import Path

from command_line import options
from command_line.completion import Stamp
from command_line.outputs import write_json
from command_line.provenance import checksums, command_typed
from eval.reporting.parts import write_parts
from eval.results.files import FORMAT
from eval.results.result_set import ResultSet

UNIMPORTANT = ("force", "debug", "output")  # options that do not change what is found


def add_output_arguments(parser, name: str) -> None:
    parser.add_argument(
        "--output",
        required=True,
        type=options.output_folder,
        metavar="DIR",
        help=f"folder for {name}.json, tables (CSV), figures (PNG)",
    )
    parser.add_argument("--force", action="store_true", help="do again what is done")


def publish(
    args, kind: str, inputs: Iterable[Path], section, measure: Callable[[], dict], version: int = 1
) -> None:
    """Write `KIND.json` and what `section` makes of it, unless that is done already; prints the file's name.

    Args:
        args: the parsed options, with `output` and `force`.
        kind: of the result file, and its name.
        inputs: files that the findings depend on.
        section: the function of `eval.reporting.sections` that shows this kind.
        measure: returns the findings; "format", "kind", "inputs" and "command" are added to them.
        version: of what is measured; findings of another version are not up to date.
    """
    output, inputs = Path(args.output), [Path(path) for path in inputs]
    file = output / f"{kind}.json"
    options = {name: value for name, value in vars(args).items() if name not in UNIMPORTANT}
    settings = options | ({"version": version} if version > 1 else {})
    stamp = Stamp(output / f".{kind}.done", kind, settings, inputs)
    if stamp.is_current(args.force):
        return
    found = measure()
    stamp.begin()
    record = {
        "format": FORMAT,
        "kind": kind,
        **found,
        "inputs": checksums(inputs),
        "command": command_typed("eval"),
    }
    write_json(file, record)
    parts = write_parts([section(ResultSet({kind: [(file, record)]}))], output, output)
    stamp.finish([file, *parts])
    print(file)
