"""A result file beside the tables and figures of its section of the report: what a probe leaves behind."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from command_line.measurements import Measured
from command_line.option_classes import force_switch, output_folder, switch
from command_line.result_file import write_result
from eval.reporting.exhibits import exhibit_files, write_exhibits
from eval.reporting.shown import UNLIKE, sections_of
from eval.result_set import ResultSet


@dataclass(frozen=True, kw_only=True)
class Written:
    """Where a probe writes, and what it shows together."""

    output: Path = output_folder("the result: rows (CSV), where they are from (JSON), tables and figures")
    force: bool = force_switch()
    allow_unlike: bool = switch(UNLIKE, compare=False)


def publish(kind: str, options, inputs: Iterable[Path], measure: Callable[[], Measured], to: Written) -> None:
    """Write `KIND.json`, `KIND.csv` and what the report shows of them, unless that is done.

    Args:
        kind: of the result file, and its name.
        options: a dataclass with everything that changes what is measured.
        inputs: files that the measurement depends on.
        measure: returns what was measured.
    """

    def show(file: Path, record: dict) -> list[Path]:
        sections = sections_of(ResultSet({kind: [(file, record)]}, allow_unlike=to.allow_unlike))
        return write_exhibits(exhibit_files(sections, to.output, to.output))

    write_result("eval", kind, options, inputs, measure, to.output, to.force, beside=show)
