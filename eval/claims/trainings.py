"""The numbers of trainings, and what these took: from the folders of experiments, or from a file in which
they are kept, so that a table of many trainings can grow over weeks and machines, and be made again without
any of them.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from command_line.errors import InputError
from command_line.outputs import write_json
from command_line.records import Objects, OneOf, Optional, check, read_json
from command_line.result_file import FORMAT
from eval.claims.costs import Cost, Known, cost_of_training
from eval.claims.declared import Value
from eval.claims.measured import measured, model_of

KIND = "numbers-of-trainings"
SCHEMA = {
    "format": OneOf(FORMAT),
    "kind": OneOf(KIND),
    "values": Objects({"file": str}),  # where the numbers stand: as the claims declare it
    # experiment -> value -> system -> seed -> the number; null: the training has none, and never will
    "numbers": Objects(Objects(Objects(Objects(Optional(float))))),
    # experiment -> system -> seed -> what the training took
    "costs": Objects(
        Objects(
            Objects(
                {
                    "updates": float,
                    "words": float,
                    "operations": Optional(float),
                    "cpu_seconds": Optional(float),
                }
            )
        )
    ),
}


class Trainings:
    """One number, or the cost, of one training at a time.

    Args:
        folders: experiment -> its folder.
        kept: file with the numbers of trainings, also of those that are in no folder; it need not be there
            yet. None for the folders alone.

    Raises:
        InputError: the file is something else.
    """

    def __init__(self, folders: Mapping[str, Path], kept: Path | None = None):
        self.folders, self.kept = folders, kept
        self.record: dict = {"format": FORMAT, "kind": KIND, "values": {}, "numbers": {}}
        self._costs: dict[str, dict[str, dict[str, Cost]]] = {}
        self._looked_at: set[Path] = set()
        if kept is not None and kept.exists():
            self.record = read_json(kept)
            check(self.record, SCHEMA, kept)
            for experiment, systems in self.record["costs"].items():
                self._costs[experiment] = {
                    system: {seed: Cost.of(one) for seed, one in seeds.items()}
                    for system, seeds in systems.items()
                }

    def number(self, experiment: str, value: Value, system: str, seed: int) -> float | None:
        """None if there is none yet, NaN if the training says that it has none.

        Raises:
            InputError: it is kept, and was another one, or of another definition of the value.
        """
        folder = self.folders.get(experiment)
        found = None if folder is None else measured(value, folder, system, seed)
        if self.kept is None:
            return found
        own = _definition(value)
        if self.record["values"].get(value.name, own) != own:
            raise InputError(
                f"{self.kept}: values.{value.name} is of another definition than in the claims; keep anew"
            )
        trainings = self.record["numbers"].setdefault(experiment, {}).setdefault(value.name, {})
        numbers = trainings.setdefault(system, {})
        known = _from_json(numbers[str(seed)]) if str(seed) in numbers else None
        if found is None:
            return known
        if known is not None and not (known == found or (math.isnan(known) and math.isnan(found))):
            raise InputError(
                f"{self.kept}: {value.name} of {system}, seed {seed}, is {known:g}, but {found:g} in"
                f" {folder}; a training counts once: leave the folder out, or remove the number"
            )
        numbers[str(seed)] = None if math.isnan(found) else found
        self.record["values"][value.name] = own  # once it has a number, and not before
        return found

    def measure_cost(self, experiment: str, system: str, seed: int) -> None:
        """Read what a training took, if its folder says it; once, however many claims it serves."""
        folder = self.folders.get(experiment)
        training = folder and folder / "models" / model_of(system, seed)
        if not training or training in self._looked_at:
            return
        self._looked_at.add(training)
        found = cost_of_training(training)
        if found:
            self._costs.setdefault(experiment, {}).setdefault(system, {})[str(seed)] = found

    def costs(self, experiment: str) -> Known:
        """Of the trainings whose cost has been measured, or was kept."""
        return self._costs.get(experiment, {})

    def keep(self) -> None:
        """Write what is kept, with what the folders have, in an order that does not depend on these."""
        if self.kept is None:
            return
        numbers = {
            experiment: {
                value: {system: dict(sorted(seeds.items(), key=_seed)) for system, seeds in _full(systems)}
                for value, systems in sorted(values.items())
                if _full(systems)
            }
            for experiment, values in sorted(self.record["numbers"].items())
        }
        values = dict(sorted(self.record["values"].items()))
        costs = {
            experiment: {
                system: {seed: asdict(one) for seed, one in sorted(seeds.items(), key=_seed)}
                for system, seeds in sorted(systems.items())
            }
            for experiment, systems in sorted(self._costs.items())
        }
        write_json(self.kept, {**self.record, "values": values, "numbers": numbers, "costs": costs})


def _definition(value: Value) -> dict:
    """Where a value is read: a number of the same name that was read elsewhere is another number."""
    found: dict = {"file": value.file, "key": list(value.key), "log": value.log, "scale": value.scale}
    if value.course:
        found |= {"course": list(value.course), "along": list(value.along), "level": value.level}
    return found


def _from_json(number: float | None) -> float:
    return math.nan if number is None else float(number)


def _full(systems: Mapping[str, Mapping]) -> list[tuple[str, Mapping]]:
    return sorted((system, seeds) for system, seeds in systems.items() if seeds)


def _seed(item: tuple[str, object]) -> tuple[int, str]:
    """Orders 2 before 10, and anything else, too."""
    return len(item[0]), item[0]
