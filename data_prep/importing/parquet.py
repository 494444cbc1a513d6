"""Parquet: a column of text per language, alone or within `translation`, as on the Hugging Face hub."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from command_line.errors import InputError
from data_prep.blocks import LINES_PER_BLOCK
from data_prep.importing.tables import DOCUMENT, Choice, Columns, Table, columns_by_name, in_order, one_line


def open_parquet(path: Path, choice: Choice) -> Table:
    columns = columns_by_name(path, _names(path), choice)
    languages, order = in_order(columns)
    said = ", ".join(f"{name} is {key}" for key, name in columns.items())
    return Table(languages, partial(_blocks, path, order), list, DOCUMENT in columns, f"{path}: {said}")


def _open(path: Path):
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        return ParquetFile(path)
    except (ArrowException, OSError) as error:
        raise InputError(f"{path}: not Parquet: {str(error).splitlines()[0]}") from None


def _names(path: Path) -> list[str]:
    from pyarrow.types import is_struct

    with _open(path) as file:
        names = []
        for field in file.schema_arrow:
            inner = field.type if is_struct(field.type) else ()
            names += [f"{field.name}.{each.name}" for each in inner] if inner else [field.name]
        return names


def _blocks(path: Path, columns: list[str]) -> Iterator[Columns]:
    from pyarrow import ArrowException, compute

    with _open(path) as file:
        try:
            for batch in file.iter_batches(batch_size=LINES_PER_BLOCK, columns=columns):
                sides = []
                for column in columns:
                    first, *inner = column.split(".") if column not in batch.schema.names else [column]
                    values = batch.column(first)
                    for name in inner:
                        values = compute.struct_field(values, name)
                    sides.append([_text(path, column, value) for value in values.to_pylist()])
                yield sides
        except (ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: cannot read on: {str(error).splitlines()[0]}") from None


def _text(path: Path, column: str, value) -> str | None:
    if value is None or isinstance(value, str):
        return value if value is None else one_line(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InputError(f"{path}: column {column} has {type(value).__name__}, expected text")
