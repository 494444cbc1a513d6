"""What trainings will take: updates, words, arithmetic and hours, of each system and in all.

Reads the notes of `pilot`. Words are subwords of targets. Arithmetic is 6 floating-point operations per
parameter and word (Kaplan et al., 2020, 2.1: two forward, four backward), as if sources were as long as
targets; losses that run the encoder twice take more. Hours are those of one training after the other, as
fast as the pilot was; validation and saving are not in them.
"""

from pathlib import Path

from command_line import options

OPERATIONS = 6  # floating-point operations per parameter and word


def add_arguments(parser) -> None:
    parser.add_argument("pilots", type=options.path, metavar="DIR", help="folder of the notes of `pilot`")


def main(args) -> None:
    from command_line.errors import InputError
    from command_line.records import read_record
    from fairseq_ext.commands.pilot import RECORD

    paths = sorted(Path(args.pilots).glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    if not paths:
        raise InputError(f"{args.pilots}: no notes of `pilot` in this folder")
    print("\n".join(table([read_record(path, RECORD) for path in paths])))


def table(records: list[dict]) -> list[str]:
    """The lines: a system with all its seeds in each, then all."""
    width = max(len("in all"), *(len(record["name"]) for record in records))
    head = f"{'':<{width}}{'trainings':>11}{'updates':>12}{'words':>10}{'operations':>12}{'hours':>10}"
    lines, total = [head], [0, 0, 0.0, 0.0, 0.0]
    for record in records:
        name, trainings = f"{record['name']:<{width}}", record["trainings"]
        if record["missing"]:
            lines.append(
                f"{name}{trainings:>11}  {record['missing']}: not prepared yet; run --stages prepare"
            )
            continue
        row = [trainings, *_amounts(record["rate"], trainings)]
        if row[1] is None:
            lines.append(f"{name}{trainings:>11}  no end: give --max-update or --max-epoch")
            continue
        total = [sum(pair) for pair in zip(total, row, strict=True)]
        early = "  at most: it stops early" if record["rate"]["stops_early"] else ""
        lines.append(name + _shown(row) + early)
    return [*lines, f"{'in all':<{width}}" + _shown(total)]


def _amounts(rate: dict, trainings: int) -> tuple:
    """Updates, words, floating-point operations, hours of all trainings of a system."""
    if rate["updates"] is None:
        return None, None, None, None
    updates = rate["updates"] * trainings
    words = updates * rate["words_per_update"]
    operations = OPERATIONS * rate["parameters"] * words
    return updates, words, operations, updates * rate["seconds_per_update"] / 3600


def _shown(row: list) -> str:
    trainings, updates, words, operations, hours = row
    return f"{trainings:>11}{updates:>12,}{words:>10.2g}{operations:>12.2g}{hours:>10,.2f}"
