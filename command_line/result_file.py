"""Result files: the rows that were measured, and of which inputs and by which command."""

from collections.abc import Callable, Iterable
from pathlib import Path

from command_line.completion import Stamp
from command_line.measurements import EXAMPLES, Measured, write_arrays, write_examples, write_rows
from command_line.option_classes import by_name
from command_line.outputs import write_json
from command_line.provenance import checksums, command_typed
from command_line.step import Step

FORMAT = 1


def write_result(
    program: str,
    kind: str,
    options,
    inputs: Iterable[Path],
    measure: Callable[[], Measured],
    output,
    force: bool = False,
    beside: Callable[[Path, dict], list[Path]] = lambda file, record: [],
) -> None:
    """Write `KIND.json`, `KIND.csv` and what belongs beside them, unless that is done; prints the file name.

    Args:
        program: "eval" or "embeddings", whose command it is.
        options: a dataclass with everything that changes what is measured.
        measure: returns the rows and what they are of, to which "format", "kind", "inputs" and "command" are
            added.
        beside: makes further files of the record; returns them.
    """
    output, inputs = Path(output), [Path(path) for path in inputs]
    file = output / f"{kind}.json"
    stamp = Stamp(output / f".{kind}.done", kind, by_name(options), inputs)

    def prepare() -> Callable[[], list[Path]]:
        measured = measure()
        about = {"inputs": checksums(inputs), "command": command_typed(program)}
        return lambda: _write(file, measured, about, beside)

    if Step(stamp, force).do(prepare):
        print(file)


def _write(
    file: Path, measured: Measured, about: dict, beside: Callable[[Path, dict], list[Path]]
) -> list[Path]:
    """Write what was measured; returns the files."""
    files = [file, file.with_suffix(".csv")]
    sums = {"rows_sha256": write_rows(files[1], measured.rows)}
    if measured.arrays:
        files.append(file.with_suffix(".npz"))
        sums["arrays_sha256"] = write_arrays(files[-1], measured.arrays)
    examples = file.with_suffix(EXAMPLES)
    if measured.examples:
        files.append(examples)
        write_examples(examples, measured.examples)
    else:
        examples.unlink(missing_ok=True)
    record = {"format": FORMAT, "kind": file.stem, **measured.record, **sums, **about}
    write_json(file, record)
    return [*files, *beside(file, record)]
