"""What sentence encoders can do: cases like that of 2.4.8."""

from collections.abc import Callable

from eval.reporting.exhibits import Section, Table, cells, mean_cell, slug
from eval.results.result_set import ResultSet
from eval.results.systems import MeanStd, System, by_dataset


def _tables(results: ResultSet, kind: str, table: Callable[[str, list[System]], Table]) -> list[Table]:
    return [table(dataset, systems) for dataset, systems in by_dataset(results.probed(kind)).items()]


def neighbours(results: ResultSet) -> Section:
    """Encoders by pairs of sentences: the case of thesis 2.4.8, and whatever else was looked at."""

    def table(dataset: str, systems: list[System]) -> Table:
        rows = []
        for one in systems:
            cosines: dict[tuple[str, str], list[float]] = {}
            for run in one.runs:
                for found in run.record["sentences"]:
                    for near in found["neighbours"]:
                        pair = found["sentence"], near["sentence"]
                        cosines.setdefault(pair, []).append(near["cosine"])
            rows += [
                [*cells(one.name, f"{len(found)} of {len(one.runs)}", *pair), mean_cell(MeanStd.of(found), 4)]
                for pair, found in cosines.items()
            ]
        caption = f"Nearest sentences in {dataset}; cosine: mean over the seeds that find them."
        titles = ["Encoder", "Seeds", "Sentence", "Found", "Cosine"]
        return Table(slug("neighbours", dataset), caption, [cells(*titles)], rows)

    return Section("Nearest sentences", _tables(results, "neighbours", table))
