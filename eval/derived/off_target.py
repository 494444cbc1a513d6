"""In which languages the lines are that are off target."""

from data_prep.language_identification import NO_LETTERS
from eval.measurements import Measurements
from eval.result_files import split_direction
from eval.scoring.off_target import names_of_labels

MEASURE = "off_target_as"
PLACE = ["run", "direction"]


def languages(scored: Measurements) -> Measurements:
    """For every direction that has an off-target rate, and every identified language (`part`, as the test set
    calls it), the share of the lines that are off target and in it.

    Lines without letters are as many as the rate has beside those of other languages: the others are right,
    since their references have none either.
    """
    rows = scored.where(measure="identified").rows
    rates = scored.where(measure="off_target").rows.set_index(PLACE).value.rename("rate")
    rows = rows.assign(total=rows.groupby(PLACE).value.transform("sum")).join(rates, on=PLACE, how="inner")
    directions = {direction: split_direction(direction) for direction in rows.direction.unique()}
    labels = labels_of(scored)
    targets = rows.direction.map({name: labels[target] for name, (_, target) in directions.items()})
    rows = rows[rows.part != targets]
    has_letters = rows.part != NO_LETTERS
    others = rows.value.where(has_letters, 0).groupby([rows[name] for name in PLACE]).transform("sum")
    without = (rows.rate * rows.total).round() - others
    lines = rows.value.where(has_letters, rows.value.clip(upper=without))
    names = names_of_labels(labels)
    rows = rows.assign(
        measure=MEASURE, value=lines / rows.total, part=rows.part.map(lambda label: names.get(label, label))
    )
    return Measurements(scored.systems, rows[rows.value > 0].drop(columns=["total", "rate"]))


def labels_of(scored: Measurements) -> dict[str, str | None]:
    """The identifier's label of every language that was scored; all runs have one identifier."""
    runs = [run for system in scored.systems for run in system.runs]
    return {
        language: label
        for run in runs
        for language, label in run.record["scoring"]["identifier_labels"].items()
    }
