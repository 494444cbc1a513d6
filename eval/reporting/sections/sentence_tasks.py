"""What sentence encoders can do: cases like that of 2.4.8, and tasks that they are fine-tuned for."""

from statistics import fmean

from eval.reporting.exhibits import Cell, Section, Table, cells, mean_cell, slug
from eval.results.fine_tuned import FineTuned, TranslateTrain, fine_tuned, title_of, translate_train
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System


def _columns(systems: list[System], keys: tuple[str, ...]) -> list[str]:
    return list(dict.fromkeys(column for one in systems for column in one.runs[0].value(keys[0])))


def _number_cells(one: System, columns: list[str], keys: tuple[str, ...], digits: int = 1) -> list[Cell]:
    """A row of the numbers of all columns, and of their mean."""
    means = [one.mean(keys[0], column, *keys[1:]) for column in columns]
    runs = [[run.value(keys[0], column, *keys[1:]) for column in columns] for run in one.runs]
    average = MeanStd.of(None if None in run else sum(run) / len(run) for run in runs)
    return [mean_cell(mean, digits) for mean in [*means, average]]


def finetuning(results: ResultSet) -> Section:
    """Encoders and what they learned from, by the language of the test; a table for every measure."""
    groups: dict[tuple[str, str, str], list[FineTuned]] = {}
    for one in fine_tuned(results):
        for measure in one.measures:
            groups.setdefault((one.dataset, one.task, measure), []).append(one)
    tables = [_fine_tuned(*key, members) for key, members in groups.items()]
    return Section("Fine-tuned encoders", tables)


def _fine_tuned(dataset: str, task: str, measure: str, members: list[FineTuned]) -> Table:
    keys = ("languages", measure)
    columns = _columns([one.system for one in members], keys)
    joined = translate_train(members)
    shown = [one for one in members if not any(_is_part(one, row) for row in joined)]
    rows = [
        [
            *cells(one.encoder, one.setting, len(one.system.runs)),
            *_number_cells(one.system, columns, keys),
        ]
        for one in shown
    ]
    rows += [_joined_row(one, columns, keys) for one in joined]
    caption = (
        f"{title_of(measure).capitalize()} (%) on {dataset} by the language of the test, after fine-tuning"
        " (Training) on one language, on all (translate-train-all), on each by itself, or on others. Avg.: of"
        " all languages."
    )
    titles = ["Encoder", "Training", "Seeds", *columns, "Avg."]
    return Table(slug("finetuning", task, dataset, measure), caption, [cells(*titles)], rows)


def _is_part(one: FineTuned, row: TranslateTrain) -> bool:
    """Whether a row says all of a training."""
    return one.is_of_one_language and one.encoder == row.encoder and one in row.each.values()


def _joined_row(one: TranslateTrain, columns: list[str], keys: tuple[str, str]) -> list[Cell]:
    """Such trainings have no common deviation. Seeds: the fewest of a language."""
    key, measure = keys
    means = [
        one.each[column].system.mean(key, column, measure) if column in one.each else None
        for column in columns
    ]
    average = None if None in means else MeanStd(fmean(each.mean for each in means), None)
    seeds = min(len(each.system.runs) for each in one.each.values())
    return [
        *cells(one.encoder, one.setting, seeds),
        *(mean_cell(mean, 1) for mean in [*means, average]),
    ]
