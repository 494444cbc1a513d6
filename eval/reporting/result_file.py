"""A result file beside the tables and figures of its section of the report: what a probe leaves behind."""

from collections.abc import Callable, Iterable
from pathlib import Path

from command_line import result_file
from command_line.result_file import write_result
from eval.reporting.exhibits import Section, exhibit_files, write_exhibits
from eval.results.result_set import ResultSet


def add_output_arguments(parser, kind: str) -> None:
    """`--output` and `--force` of a command that publishes its result."""
    result_file.add_output_arguments(parser, kind, ", tables (CSV), figures (PNG)")


def publish(
    kind: str,
    options,
    inputs: Iterable[Path],
    measure: Callable[[], dict],
    section: Callable[[ResultSet], Section],
    output,
    force: bool = False,
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
    """

    def show(file: Path, record: dict) -> list[Path]:
        sections = [section(ResultSet({kind: [(file, record)]}))]
        return write_exhibits(exhibit_files(sections, Path(output), Path(output)))

    write_result("eval", kind, options, inputs, measure, output, force, beside=show)
