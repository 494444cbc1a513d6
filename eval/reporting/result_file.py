"""A result file beside the tables and figures of its section of the report: what a probe leaves behind."""

from collections.abc import Callable, Iterable
from pathlib import Path

from command_line import result_file
from command_line.measurements import Measured
from command_line.result_file import write_result
from eval.reporting.exhibits import exhibit_files, write_exhibits
from eval.reporting.shown import add_unlike_argument, sections_of
from eval.results.result_set import ResultSet


def add_output_arguments(parser, kind: str) -> None:
    """`--output`, `--force` and `--allow-unlike` of a command that publishes its result."""
    result_file.add_output_arguments(parser, kind, f", {kind}.csv, tables (CSV), figures (PNG)")
    add_unlike_argument(parser)


def publish(kind: str, options, inputs: Iterable[Path], measure: Callable[[], dict | Measured], args) -> None:
    """Write `KIND.json`, `KIND.csv` and what the report shows of them, unless that is done.

    Args:
        kind: of the result file, and its name.
        options: a dataclass with everything that changes what is measured.
        inputs: files that the measurement depends on.
        measure: returns what was measured.
        args: what argparse found of `add_output_arguments`.
    """

    def show(file: Path, record: dict) -> list[Path]:
        sections = sections_of(ResultSet({kind: [(file, record)]}, allow_unlike=args.allow_unlike))
        return write_exhibits(exhibit_files(sections, Path(args.output), Path(args.output)))

    write_result("eval", kind, options, inputs, measure, args.output, args.force, beside=show)
