"""The curves of trainings, as the rows of learning curves hold them."""

from dataclasses import dataclass

ACCURACY = "accuracy"  # of layer-wise language recognition, among the rows of learning curves


@dataclass(frozen=True)
class Training:
    """The curves of one training, over its updates in order; None where there is no number.

    Attributes:
        scores: kind of directions and measure -> curve.
        accuracy: question and layer -> curve of layer-wise language recognition in zero-shot directions.
    """

    system: str
    seed: int | None
    dataset: str
    updates: list[int]
    scores: dict[tuple[str, str], list[float | None]]
    accuracy: dict[tuple[str, str], list[float | None]]


def trainings_in(measured) -> list[Training]:
    """The curves that the rows of learning curves (`Measurements`) hold."""
    return [_training(rows) for _, rows in measured.rows.groupby("run", sort=False)]


def _training(rows) -> Training:
    updates = sorted(rows["update"].unique())

    def by_place(chosen, *columns: str) -> dict:
        return {
            place: [dict(zip(curve["update"], curve.value, strict=True)).get(update) for update in updates]
            for place, curve in chosen.groupby([*columns])
        }

    recognized = rows.measure == ACCURACY
    first = rows.iloc[0]
    return Training(
        system=first.system,
        seed=first.seed if first.seed == first.seed else None,  # not NaN
        dataset=first.dataset,
        updates=[int(update) for update in updates],
        scores=by_place(rows[~recognized], "kind", "measure"),
        accuracy=by_place(rows[recognized], "part", "layer"),
    )
