"""Sections of what `python -m embeddings` measures, from records of the commands' own."""

import csv
import json

import pytest

from command_line.errors import InputError
from command_line.measurements import Measured, numbers, write_rows
from eval.report import write_report
from eval.reporting.sections import thesis_encoders
from eval.results.files import read_result
from eval.results.result_set import ResultSet
from fairseq_ext.models.lealla_architectures import ROWS
from tests.eval import retrieved


def record(kind, dataset="set", name="ems", seed=1, **measured):
    return {
        "format": 1,
        "kind": kind,
        "encoder": {"name": name},
        "runs": [{"system": {"name": name, "seed": seed}, "dataset": dataset, **measured}],
    }


def with_rows(given, rows):
    """A record whose file of rows is written beside it; all runs have the same."""
    return given | {"rows": list(rows)}


def mining(f1, **which):
    scores = {"pairs": 12, "precision": 0.9, "recall": 0.8, "f1": f1, "threshold": 1.05}
    return with_rows(record("mining", **which), numbers(scores))


def retrieval(values, groups=None, **which):
    """P@1 by cosine of directions; the error of the margin is twice what P@1 lacks."""
    directions = {
        name: retrieved.direction(
            {
                "cosine": retrieved.first_hits(value, p_at_1_by_text=value + 0.1),
                "ratio": retrieved.first_hits(value, error=2 * (1 - value)),
            }
        )
        for name, value in values.items()
    }
    average = sum(values.values()) / len(values)
    found = record(
        "sentence-retrieval",
        directions=directions,
        average={"cosine": average, "ratio": average},
        groups={
            group: {name: {"mean": mean, "pairs": 1, "names": ["de-en"]} for name in ("cosine", "ratio")}
            for group, mean in (groups or {}).items()
        },
        **which,
    )
    (run,) = found["runs"]
    return retrieved.record(run, encoder=found["encoder"])


def write_record(path, given):
    measured = Measured()
    for run in given["runs"]:
        measured.add(run, given.get("rows", []))
    if "rows" in given:
        write_rows(path.with_suffix(".csv"), measured.rows)
    path.write_text(json.dumps({name: value for name, value in given.items() if name != "rows"}))


@pytest.fixture
def report(tmp_path):
    def write(*records):
        paths = []
        for number, one in enumerate(records):
            paths.append(tmp_path / f"{number}.json")
            write_record(paths[-1], one)
        write_report(paths, "Encoders", tmp_path / "report")
        return (tmp_path / "report/report.md").read_text(), tmp_path / "report"

    return write


def test_seeds_of_an_encoder_are_averaged_and_groups_have_bars(report):
    text, folder = report(
        retrieval({"de-en": 0.8, "en-de": 0.6}, {"high": 0.7}),
        retrieval({"de-en": 0.9, "en-de": 0.7}, {"high": 0.8}, seed=2),
        retrieval({"de-en": 0.5, "en-de": 0.5}, {"high": 0.5}, name="mean"),
    )
    lines = text.splitlines()
    both, mean = (
        next(line for line in lines if line.startswith(f"| {name} |")).strip("| ").split(" | ")[1:]
        for name in ("ems", "mean")
    )
    assert [both[place] for place in (0, 1, 4, 5, 8, 9)] == [
        "2", "75.0 ± 7.1", "85.0 ± 7.1", "75.0 ± 7.1", "75.0 ± 7.1", "50.00 ± 14.14"
    ]  # fmt: skip
    assert both[2:4] == both[6:8] and float(both[2]) < 75 < float(both[3])
    assert [mean[place] for place in (0, 1, 4, 5, 8, 9)] == ["1", "50.0", "60.0", "50.0", "50.0", "100.00"]
    assert (folder / "tables/retrieval_groups_set.csv").read_text() == "Group,ems,mean\nhigh (1),75.0,50.0\n"
    assert (folder / "plots/retrieval_groups_set.png").is_file()
    assert (folder / "plots/retrieval_directions_set.png").is_file()


def test_pairs_and_plots_are_of_the_similarity_that_is_asked_for(tmp_path):
    """Where all encoders of a set were measured by it; elsewhere of cosine."""
    values, scores = {"de-en": 0.8, "en-de": 0.6}, {"de-en": 0.3, "en-de": 0.5}
    one = retrieval(values, {"high": 0.7})
    for direction, value in scores.items():
        one["runs"][0]["directions"][direction]["bert-score-normalized"] = retrieved.first_hits(value)
    one["runs"][0]["average"]["bert-score-normalized"] = 0.4
    one["runs"][0]["groups"]["high"]["bert-score-normalized"] = {"mean": 0.4, "pairs": 1, "names": ["de-en"]}
    other = retrieval(values, dataset="other")
    for number, each in enumerate((one, other)):
        (tmp_path / f"{number}.json").write_text(json.dumps(each))
    write_report(
        sorted(tmp_path.glob("*.json")), "Encoders", tmp_path / "report", similarity="bert-score-normalized"
    )
    text = (tmp_path / "report/report.md").read_text()
    assert "P@1 (bert-score-normalized) by pair of languages, mean of both directions, set." in text
    assert "| de-en | 40.0 |" in text and "P@1 (bert-score-normalized) by direction, set." in text
    assert "high (1),40.0" in (tmp_path / "report/tables/retrieval_groups_set.csv").read_text()
    assert "P@1 (cosine) by pair of languages, mean of both directions, other." in text


def test_encoders_of_one_layer_each_are_a_curve(report):
    """Untrained ones and trained ones, by any group that was measured; a single layer is no curve."""
    found = {"xlmr layer 0": 0.1, "xlmr layer 12": 0.4, "paired-layer-0": 0.5, "paired-layer-8": 0.7,
             "paired-de-en": 0.9, "mbert (layer 8)": 0.2}  # fmt: skip
    values = [
        retrieval({"de-en": p, "en-de": p}, {"Tatoeba-36": p / 2}, name=name) for name, p in found.items()
    ]
    text, folder = report(*values)
    tables = {path.stem: path.read_text().split("\n") for path in folder.glob("tables/retrieval_layers*.csv")}
    assert tables.keys() == {"retrieval_layers_set_all", "retrieval_layers_set_Tatoeba-36"}
    titles = 'Layer,"xlmr, cosine","paired, cosine","xlmr, ratio","paired, ratio"'
    assert tables["retrieval_layers_set_all"][:3] == [titles, "0,10.0,50.0,10.0,50.0", "8,,70.0,,70.0"]
    assert tables["retrieval_layers_set_Tatoeba-36"][3] == "12,20.0,,20.0,"
    assert (folder / "plots/retrieval_layers_set_all.png").is_file()
    assert "P@1 of encoders that read one layer, set, Tatoeba-36, mean of both directions." in text


def test_a_grid_of_layers_and_similarities_marks_the_best_layer(report):
    """As Table 1 of OneAligner; the average of all layers is a row, and no point of a curve."""
    found = {"xlmr layer 0": (0.1, 0.3), "xlmr layer 10": (0.4, 0.2), "xlmr layer average": (0.4, 0.1)}
    records = []
    for name, (cosine, ratio) in found.items():
        records.append(retrieval({"de-en": cosine, "en-de": cosine}, name=name))
        records[-1]["runs"][0]["average"]["ratio"] = ratio
    text, folder = report(*records)
    table = text[text.index("| Encoder | Layer | cosine | ratio |") :].splitlines()
    assert table[2:5] == [
        "| xlmr | 0 | 10.0 | **30.0** |",
        "| xlmr | 10 | **40.0** | 20.0 |",
        "| xlmr | average | **40.0** | 10.0 |",
    ]
    assert "average" not in (folder / "tables/retrieval_layers_set_all.csv").read_text()


@pytest.mark.parametrize(
    ("direction", "of_pair", "of_all", "of_group"),
    [("from", 90.0, 80.0, 40.0), ("to", 50.0, 25.0, 12.5), (None, 70.0, 55.0, 75.0)],
)
def test_one_direction_is_shown_where_it_is_asked_for(tmp_path, direction, of_pair, of_all, of_group):
    """From or to the language of all pairs; a set without one has the mean of both."""

    def averages(value: float) -> dict:
        groups = {
            "high": {
                name: {"mean": value / 2, "pairs": 1, "names": ["de-en"]} for name in ("cosine", "ratio")
            }
        }
        return {"average": {"cosine": value, "ratio": value}, "groups": groups}

    values = {"en-de": 0.9, "de-en": 0.5, "en-fr": 0.7, "fr-en": 0.1}
    given = {"pivot": "en", "from": averages(0.8), "to": averages(0.25)}
    for layer in (0, 1):
        one = retrieval(values, {"high": 0.75}, name=f"xlmr layer {layer}", by_direction=given)
        (tmp_path / f"{layer}.json").write_text(json.dumps(one))
    (tmp_path / "other.json").write_text(json.dumps(retrieval({"de-fr": 0.6, "fr-de": 0.2}, dataset="other")))
    write_report(sorted(tmp_path.glob("*.json")), "Encoders", tmp_path / "report", direction=direction)
    text = (tmp_path / "report/report.md").read_text()
    said = f"{direction} en" if direction else "mean of both directions"
    assert f"P@1 (cosine) by pair of languages, {said}, set." in text
    assert f"| de-en | {of_pair} | {of_pair} |" in text and f"| Avg. | {of_all} | {of_all} |" in text
    assert f"{of_group},{of_group}" in (tmp_path / "report/tables/retrieval_groups_set.csv").read_text()
    assert f"| xlmr | 0 | **{of_all}** |" in text and f"| xlmr | 0 | **{of_group}** |" in text
    assert "P@1 (cosine) by pair of languages, mean of both directions, other." in text
    assert "| de-fr | 40.0 |" in text


def test_parts_and_pairs_of_dual_pivot_transfer_are_tables(report):
    """As Tables 4 and 5: the module of one pair is in both."""
    found = {
        "paired-de-en": 0.8, "paired-ar-en": 0.1, "unpaired-de-en": 0.7, "cycle-map": 0.6, "cycle-both": 0.65,
        "paired-mixture": 0.5, "paired-16-pairs": 0.9, "paired-2-pairs": 0.85, "unpaired-2-pairs": 0.75,
    }  # fmt: skip
    text, _ = report(*(retrieval({"de-en": p, "en-de": p}, name=name) for name, p in found.items()))
    table = text[text.index("| Losses | mixture | map | both |") :].splitlines()
    assert table[2:5] == [
        "| cycle | – | 60.0 | 65.0 |", "| unpaired | – | – | 70.0 |", "| paired | 50.0 | – | 80.0 |",
    ]  # fmt: skip
    table = text[text.index("| Trained | 1 | 2 | 16 |") :].splitlines()
    assert table[2:4] == ["| paired | 80.0 | 85.0 | 90.0 |", "| unpaired | 70.0 | 75.0 | – |"]
    records = [retrieval({"de-en": p, "en-de": p}, name=name) for name, p in reversed(found.items())]
    for one in records:  # as they say whose translations they have seen
        name = one["encoder"]["name"]
        one["encoder"]["pairs"] = ["ar-en"] if "ar-en" in name else ["de-en"]
    text, _ = report(records[-2], *records[:-2], records[-1])
    assert "| paired | 50.0 | – | 80.0 |" in text and "| paired | 80.0 | 85.0 | 90.0 |" in text
    assert "Parts of dual-pivot" not in report(retrieval({"de-en": 1, "en-de": 1}, name="paired-de-en"))[0]


def test_losses_of_distillation_stand_beside_the_thesis(report):
    """Tables 3.3 and 3.4, of students by their names; others have no numbers of the thesis."""
    found = {"small-ams": 0.8, "small-all": 0.9, "small-ams-fd": 0.85, "thin-half-fd": 0.5, "teacher": 1.0}
    text, _ = report(
        *(retrieval({"deu-eng": p, "eng-deu": p}, dataset="Tatoeba", name=name) for name, p in found.items())
    )
    table = text[text.index("| Losses | small | thin-half | small, thesis |") :].splitlines()
    assert table[2:6] == [
        "| ams | 80.0 | – | 80.3 |", "| fd | – | 50.0 | 78.2 |", "| ams-fd | 85.0 | – | 80.6 |",
        "| all | 90.0 | – | 80.7 |",
    ]  # fmt: skip
    assert "Losses of distillation" not in report(retrieval({"a-b": 1, "b-a": 1}, name="small-ams"))[0]


def test_numbers_of_a_vector_are_curves(report):
    """Figure 3.1: a layer for each size, and the first numbers of one vector."""
    records = [
        retrieval({"de-en": p, "en-de": p}, name=name)
        for name, p in (("reduced-16", 0.5), ("reduced-64", 0.75), ("reduced-nested", 0.8))
    ]
    records[-1]["runs"][0]["smaller"] = {
        f"{kind}, {width} numbers": {"bytes": 1, "p_at_1": p}
        for kind, width, p in (("float32", 16, 0.25), ("float32", 128, 0.5), ("int8", 32, 0.1))
    }
    _, folder = report(*records)
    assert (folder / "tables/numbers_of_a_vector_set.csv").read_text() == (
        'Numbers,a layer for each,"reduced-nested, first numbers"\n16,50.0,25.0\n64,75.0,\n128,,50.0\n'
    )
    assert (folder / "plots/numbers_of_a_vector_set.png").is_file()


def test_speed_stands_beside_the_sizes(report):
    """Names of what was timed have the seed; of several seeds the mean."""
    one = retrieval({"de-en": 0.9, "en-de": 0.7}, name="small-all")
    one["runs"][0]["size"] = {
        "width": 128, "parameters": 69_000_000, "layer_parameters": 4_800_000, "layers": 24, "heads": 8,
        "state_width": 96, "ffn_width": 384,
    }  # fmt: skip
    speed = [
        with_rows(
            record("encoding-speed", name=f"small-all-seed{seed}", seed=None),
            numbers({"lines_per_second": rate, "ratio": 1.0}),
        )
        for seed, rate in ((1, 100.0), (2, 300.0))
    ]
    text, _ = report(one, *speed)
    assert "| 128 | 200 ± 141 | 80.0 |" in text


def test_averages_of_either_direction_stand_beside_those_of_both(report):
    """By every similarity, of all languages and of groups; seeds are averaged."""

    def by_direction(value: float) -> dict:
        def averages(cosine: float) -> dict:
            groups = {
                "high": {
                    "cosine": {"mean": cosine, "pairs": 1, "names": ["de-en"]},
                    "ratio": {"mean": 0.25, "pairs": 1, "names": ["de-en"]},
                }
            }
            return {"average": {"cosine": cosine, "ratio": 0.5}, "groups": groups}

        return {"pivot": "en", "from": averages(value), "to": averages(0.4)}

    values = {"de-en": 0.8, "en-de": 0.6, "fr-en": 0.8, "en-fr": 0.6}
    records = [
        retrieval(values, {"high": 0.75}, seed=seed, by_direction=by_direction(value))
        for seed, value in ((1, 0.6), (2, 0.7))
    ]
    text, folder = report(*records, retrieval({"de-fr": 0.5, "fr-de": 0.5}, dataset="without"))
    assert "| Encoder | Seeds | Similarity | Languages | From en | To en | Both |" in text
    assert "| ems | 2 | cosine | all (2) | 65.0 ± 7.1 | 40.0 ± 0.0 | 70.0 ± 0.0 |" in text
    assert "| ems | 2 | cosine | high (1) | 65.0 ± 7.1 | 40.0 ± 0.0 | 75.0 ± 0.0 |" in text
    assert "| ems | 2 | ratio | high (1) | 25.0 ± 0.0 | 25.0 ± 0.0 | 75.0 ± 0.0 |" in text
    assert [path.name for path in folder.glob("tables/retrieval_averages*")] == ["retrieval_averages_set.csv"]


def test_pairs_of_languages_have_the_mean_of_both_directions(report):
    """As Table 2.4, with the average of all; numbers by text are beside those by line."""
    values = {"deu-eng": 0.8, "eng-deu": 0.6, "eng-fra": 0.5, "fra-eng": 0.25}
    text, folder = report(
        retrieval(values),
        retrieval({name: value + 0.1 for name, value in values.items()}, seed=2),
        retrieval(dict.fromkeys(values, 0.5), name="mean"),
    )
    table = text[text.index("| Pair | ems | mean |") :].splitlines()
    assert table[2:5] == [
        "| deu-eng | 75.0 ± 7.1 | 50.0 |",
        "| eng-fra | 42.5 ± 7.1 | 50.0 |",
        "| Avg. | 58.8 ± 7.1 | 50.0 |",
    ]
    numbers = list(csv.DictReader((folder / "tables/retrieval_pairs_set.csv").open()))
    assert len(numbers) == 3 * 2 * 2
    (one,) = [
        row
        for row in numbers
        if (row["encoder"], row["seed"], row["pair"], row["similarity"]) == ("ems", "2", "deu-eng", "cosine")
    ]
    assert [float(one[count]) for count in ("p_at_1", "p_at_1_by_text")] == pytest.approx([80, 90])


@pytest.mark.parametrize(("count", "bars"), [(8, [8]), (9, [4, 5])])
def test_bars_of_many_encoders_are_split(report, count, bars):
    """All are in one table, some at a time in bars that their colours tell apart."""
    records = [retrieval({"de-en": 0.5, "en-de": 0.5}, {"high": 0.5}, name=f"e{n}") for n in range(count)]
    _, folder = report(*records)

    def encoders(part):
        return (folder / f"tables/retrieval_groups_set{part}.csv").read_text().split("\n")[0].split(",")[1:]

    assert encoders("") == [f"e{number}" for number in range(count)]
    parts = [f"_{number}" for number in range(1, len(bars) + 1)] if len(bars) > 1 else [""]
    assert sorted(path.stem for path in folder.glob("plots/retrieval_groups*")) == [
        f"retrieval_groups_set{part}" for part in parts
    ]
    assert [len(encoders(part)) for part in parts] == bars
    assert [name for part in parts for name in encoders(part)] == encoders("")


def test_all_pairs_are_a_grid_of_languages(report):
    values = {f"{a}-{b}": 0.5 for a in ("de", "en", "fr") for b in ("de", "en", "fr") if a != b}
    text, folder = report(retrieval(values))
    assert (folder / "plots/retrieval_set_ems.png").is_file()
    assert "rows are queries, columns candidates" in text


def test_a_folder_stands_for_the_result_files_in_it(tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    with pytest.raises(InputError, match=r"results: no result file in it, expected one of: scores\.json"):
        write_report([results], "Encoders", tmp_path / "report")
    for one in (retrieval({"de-en": 0.8, "en-de": 0.6}), sts()):
        write_record(results / f"{one['kind']}.json", one)
    (results / "preparation.json").write_text("{}")
    write_report([results], "Encoders", tmp_path / "report")
    text = (tmp_path / "report/report.md").read_text()
    assert "## Sentence retrieval" in text and "## Semantic similarity" in text


def sts(de=60.0, **which):
    return with_rows(record("sts", **which), numbers({"spearman": de, "pearson": 50.0}, direction="de"))


def classification(accuracies, **which):
    """Accuracies of the initializations of every direction."""
    rows = [
        row
        for direction, runs in accuracies.items()
        for seed, accuracy in enumerate(runs, start=1)
        for row in numbers({"accuracy": accuracy}, direction=direction, repeat=seed)
    ]
    return with_rows(record("classification", **which), rows)


def test_tasks_have_a_table_each(report):
    """The deviation is that over encoders, each the mean of its initializations; the mean is over columns."""
    text, _ = report(
        classification({"de-en": [78.0, 82.0], "en-de": [70.0, 70.0]}),
        classification({"de-en": [84.0, 84.0], "en-de": [60.0, 70.0]}, seed=2),
        sts(),
        mining(0.847),
    )
    assert "| System | Seeds | de-en | en-de | Avg. |" in text
    assert "| ems | 2 | 82.0 ± 2.8 | 67.5 ± 3.5 | 74.8 ± 0.4 |" in text
    assert "| ems | 1 | 60.0 | 60.0 |" in text
    assert "| ems | 1 | 12.0 | 90.0 | 80.0 | 84.7 | 1.0500 |" in text


def finetuned(languages, train=("en",), **others):
    """What was found of an encoder that learned from some languages."""
    learned = {"task": "questions", "measure": "f1", "train_languages": list(train), "code_switching": False}
    return record("finetuning", languages=languages, **learned | others)


def test_fine_tuned_encoders_by_what_they_learned_from(report):
    """A table for every measure; trainings on the same languages, in whatever order, are seeds."""
    text, folder = report(
        finetuned({"en": {"f1": 80.0, "exact_match": 60.0}, "de": {"f1": 70.0, "exact_match": 50.0}}),
        finetuned({"en": {"f1": 82.0, "exact_match": 62.0}, "de": {"f1": 72.0, "exact_match": 52.0}}, seed=2),
        finetuned({"en": {"f1": 84.0}, "de": {"f1": 74.0}}, ["de", "en"]),
        finetuned({"en": {"f1": 84.0}, "de": {"f1": 76.0}}, ["en", "de"], seed=2),
        finetuned({"en": {"f1": 83.0}, "de": {"f1": 75.0}}, ["en", "de"], code_switching=True),
        finetuned({"de": {"f1": 69.0}}, ["de"], name="other"),
        finetuned({"en": {"f1": 68.0}, "de": {"f1": 69.0}}, ["en", "fr"], name="other"),
        finetuned({"en": {"accuracy": 90.0}}, task="pairs", measure="accuracy"),
    )
    table = text[text.index("| Encoder | Training | Seeds | en | de | Avg. |") :].splitlines()
    assert table[2:7] == [
        "| ems | zero-shot from en | 2 | 81.0 ± 1.4 | 71.0 ± 1.4 | 76.0 ± 1.4 |",
        "| ems | translate-train-all | 2 | 84.0 ± 0.0 | 75.0 ± 1.4 | 79.5 ± 0.7 |",
        "| ems | code-switched, en, de | 1 | 83.0 | 75.0 | 79.0 |",
        "| other | on de | 1 | – | 69.0 | – |",
        "| other | on en, fr | 1 | 68.0 | 69.0 | 68.5 |",
    ]
    assert "F1 (%) on set by the language of the test" in text and "Exact match (%) on set" in text
    names = {path.stem for path in folder.glob("tables/finetuning*")}
    assert {name.rpartition("-")[0] for name in names if "match" in name} == {
        "finetuning_questions_set_exact_match"
    }
    assert {"finetuning_questions_set_f1", "finetuning_pairs_set_accuracy"} < names
    assert "| ems | on en | 1 | 90.0 | 90.0 |" in text


def test_trainings_on_one_language_each_are_a_row(report):
    """As translate-train in Tables 2, 4 and 5 of post-pretraining alignment, whose English is that of
    zero-shot transfer.
    """
    text, _ = report(
        finetuned({"en": {"f1": 80.0}, "de": {"f1": 60.0}, "fr": {"f1": 61.0}}),
        *(finetuned({"de": {"f1": f1}}, ["de"], code_switching=True, seed=f1) for f1 in (70, 72)),
        finetuned({"fr": {"f1": 74.0}}, ["fr"], code_switching=True),
        finetuned({"de": {"f1": 66.0}}, ["de"], name="no-cs"),
        finetuned({"fr": {"f1": 67.0}}, ["fr"], name="no-cs"),
        finetuned({"de": {"f1": 65.0}}, ["de"], name="alone", code_switching=True),
        finetuned({"en": {"f1": 80.0}, "de": {"f1": 60.0}}, name="both", dataset="other"),
        finetuned({"en": {"f1": 78.0}, "de": {"f1": 62.0}}, ["de"], name="both", dataset="other"),
    )
    table = text[text.index("| Encoder | Training | Seeds | en | de | fr | Avg. |") :].splitlines()
    assert table[2:7] == [
        "| ems | zero-shot from en | 1 | 80.0 | 60.0 | 61.0 | 67.0 |",
        "| alone | code-switched, de | 1 | – | 65.0 | – | – |",
        "| ems | translate-train of each language, code-switched | 1 | 80.0 | 71.0 ± 1.4 | 74.0 | 75.0 |",
        "| no-cs | translate-train of each language | 1 | – | 66.0 | 67.0 | – |",
        "",
    ]
    assert text.count("translate-train of each") == 2


@pytest.mark.parametrize(
    ("change", "english", "mean"),
    [
        ({}, "80.0", "71.0"),
        ({"weights": "other"}, "–", "–"),
        ({"seed": 2}, "–", "–"),
        ({"learning_rate": 3e-5}, "–", "–"),
    ],
)
def test_english_is_that_of_the_same_encoder_under_another_name(report, change, english, mean):
    """As of a system without code-switching, which changes nothing in English."""

    def of(languages, train, name, weights="aligned", seed=1, learning_rate=5e-5):
        how = {"learning_rate": learning_rate, "validation": train}
        one = finetuned(languages, train, name=name, seed=seed, hyperparameters=how)
        return one | {"encoder": {"name": name, "weights": {"model.safetensors": weights}}}

    text, _ = report(
        of({"en": {"f1": 80.0}, "de": {"f1": 60.0}, "fr": {"f1": 61.0}}, ["en"], "ppa", **change),
        of({"de": {"f1": 66.0}}, ["de"], "no-cs"),
        of({"fr": {"f1": 67.0}}, ["fr"], "no-cs"),
    )
    row = f"| no-cs | translate-train of each language | 1 | {english} | 66.0 | 67.0 | {mean} |"
    assert row in text.splitlines()


def test_fine_tunings_that_differ_in_more_than_their_seed_are_refused(tmp_path):
    """In their languages of the test, or in how they were learned."""
    from eval.results.fine_tuned import fine_tuned

    def load(*records):
        for number, one in enumerate(records):
            (tmp_path / f"{number}.json").write_text(json.dumps(one))
        paths = [tmp_path / f"{number}.json" for number in range(len(records))]
        return fine_tuned(ResultSet.load(paths, ["finetuning"]))

    german = {"de": {"f1": 70.0}}
    assert len(load(finetuned(german), finetuned(german, seed=2), finetuned(german, dataset="other"))) == 2
    with pytest.raises(InputError, match=r"1\.json: no language en, which .*0\.json has"):
        load(finetuned(german | {"en": {"f1": 80.0}}), finetuned(german, seed=2))
    rates = [{"hyperparameters": {"epochs": 2, "learning_rate": rate}} for rate in (1e-5, 2e-5)]
    with pytest.raises(InputError, match=r"hyperparameters\.learning_rate is 2e-05, but 1e-05 in"):
        load(finetuned(german, **rates[0]), finetuned(german, seed=2, **rates[1]))
    parts = [{"train_examples": {"en": count}} for count in (392_702, 1_000)]
    with pytest.raises(InputError, match=r"train_examples\.en is 1000, but 392702 in"):
        load(finetuned(german, **parts[0]), finetuned(german, seed=2, **parts[1]))


def test_neighbours_are_listed_with_how_many_seeds_find_them(report):
    def near(sentence, cosine):
        return {"line": 2, "sentence": sentence, "cosine": cosine}

    def found(*neighbours):
        return [{"sentence": "a b", "neighbours": list(neighbours)}]

    text, _ = report(
        record("neighbours", sentences=found(near("b a", 0.96), near("c", 0.5))),
        record("neighbours", seed=2, sentences=found(near("b a", 0.98), near("d", 0.4))),
    )
    assert "| ems | 2 of 2 | a b | b a | 0.9700 ± 0.0141 |" in text
    assert "| ems | 1 of 2 | a b | c | 0.5000 |" in text


@pytest.mark.parametrize(
    ("kind", "measured"),
    [
        ("neighbours", {"sentences": [{"sentence": "a b"}]}),
        ("sentence-retrieval", {"directions": {"de-en": {"cosine": {"p_at_1": "high"}}}, "average": {}}),
        ("finetuning", {"languages": {"de": {"accuracy": 3}}}),
        ("mining", {"system": {"seed": 1}}),
    ],
)
def test_a_record_that_lacks_numbers_is_one_line(tmp_path, kind, measured):
    path = tmp_path / "result.json"
    path.write_text(json.dumps(record(kind, **measured)))
    with pytest.raises(InputError, match=r"result\.json"):
        read_result(path)


def test_one_seed_twice_is_refused(tmp_path):
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(retrieval({"de-en": 0.5, "en-de": 0.5})))
    results = ResultSet.load([tmp_path / "a.json", tmp_path / "b.json"], ["sentence-retrieval"])
    with pytest.raises(InputError, match="both are seed 1"):
        results.probed("sentence-retrieval")


def test_encoders_of_one_table_are_of_the_same_texts(report):
    one, other = retrieval({"de-en": 0.9, "en-de": 0.7}), retrieval({"de-en": 0.8, "en-de": 0.6}, name="b")
    for record, texts in ((one, "a"), (other, "b")):
        record["runs"][0]["directions"]["de-en"]["texts_sha256"] = texts
    with pytest.raises(
        InputError, match=r"1\.json: de-en of 'set' is of other texts than in .*0\.json; give"
    ):
        report(one, other)
    other["runs"][0]["directions"]["de-en"]["texts_sha256"] = "a"
    report(one, other)


def test_measures_that_are_not_the_same_are_said(report):
    """xsim is of 4 neighbours."""
    one, other = retrieval({"de-en": 0.9, "en-de": 0.7}), retrieval({"de-en": 0.8, "en-de": 0.6}, name="b")
    one["neighbours"], other["neighbours"] = 4, 2
    text, _ = report(one, other)
    assert "Encoders are not measured alike: neighbours 4 (ems), 2 (b)." in text
    rows = [
        line.rsplit(" | ", 1)[1] for line in text.splitlines() if line.startswith(("| ems | 1", "| b | 1"))
    ]
    assert rows == ["40.00 |", "– |"]
    other["neighbours"] = 4
    assert "measured alike" not in report(one, other)[0]


def test_what_inverted_lists_miss_is_said(report):
    one = retrieval({"de-en": 0.9, "en-de": 0.7})
    assert "inverted lists" not in report(one)[0]
    for direction, recall in (("de-en", 0.99), ("en-de", 0.975)):
        one["runs"][0]["directions"][direction]["recall"] = recall
    said = "some of the inverted lists, which of a sample of queries give the nearest to 97.5% or more"
    assert said in report(one)[0]


def test_smaller_vectors_have_a_table_and_a_plot(report):
    one = retrieval({"de-en": 0.9, "en-de": 0.7})
    one["runs"][0]["smaller"] = {
        "float32, 64 numbers": {"bytes": 256, "p_at_1": 0.75},
        "binary, 64 numbers": {"bytes": 8, "p_at_1": 0.5},
    }
    text, folder = report(one, retrieval({"de-en": 0.9, "en-de": 0.7}, name="other"))
    assert "| ems | binary, 64 numbers | 8 | 50.0 | 30.0 |" in text
    assert "| ems | float32, 64 numbers | 256 | 75.0 | 5.0 |" in text
    assert any(path.name.startswith("p_at_1_by_size") for path in folder.rglob("*.png"))


def test_encoders_by_size_on_all_benchmarks(report):
    """As Table 3.3: sizes, pairs of a small benchmark and their mean, F1 of mining."""
    records = []
    for name, parameters, width, first in (
        ("small", 69_000_000, 128, 0.5), ("large", 147_000_000, 256, 0.75),
    ):  # fmt: skip
        un = {"en-es": first, "es-en": first, "en-ru": 1.0, "ru-en": 0.5}
        for one in (retrieval({"de-en": first, "en-de": first}, dataset="Tatoeba", name=name),
                    retrieval(un, dataset="UN", name=name)):  # fmt: skip
            one["runs"][0]["size"] = {
                "width": width, "parameters": parameters, "layer_parameters": 4_800_000, "layers": 24,
                "heads": 8, "state_width": 96, "ffn_width": 384,
            }  # fmt: skip
            records.append(one)
        for pair, value in (("de-en", first), ("fr-en", 1.0)):
            records.append(mining(value, dataset=f"BUCC {pair}, training", name=name))
    text, folder = report(*records)
    table = text[text.index("## Encoders by size") :]
    benchmarks = (
        "Tatoeba | UN en-es | UN en-ru | UN | BUCC de-en, training | BUCC fr-en, training | BUCC, training |"
    )
    sizes = "L | d\\_h | d\\_ff | H | P (M) | P\\_E (M) | d |"
    assert f"| Encoder | {sizes} {benchmarks}" in table  # ours
    assert f"| Encoder | La. | {sizes} {benchmarks}" in table  # the thesis's, Table 3.3
    assert "\n| LASER | 93 | " in table and "\n| #1 6 layers | – | " in table
    small, large = (
        (0.5 + 0.75) / 2 * 100,
        (0.75 + 0.75) / 2 * 100,
    )  # of UN, as the fixture averages directions
    for name, parameters, width, results in (
        ("small", "69.0", 128, f"50.0 | 50.0 | 75.0 | {small:.1f} | 50.0 | 100.0 | 75.0"),
        ("large", "147.0", 256, f"75.0 | 75.0 | 75.0 | {large:.1f} | 75.0 | 100.0 | 87.5"),
    ):
        assert f"| {name} | 24 | 96 | 384 | 8 | {parameters} | 4.8 | {width} | {results} |" in table
    thesis = "80.7 | 89.4 | 88.7 | 87.3 | 94.0 | 90.6 | 91.5"  # Table 3.3, of the benchmarks that are ours
    assert f"| LEALLA-small all | 109 | 24 | 128 | 512 | 8 | 69 | 5 | 128 | {thesis} |" in table
    plots = {path.stem for path in folder.rglob("*.png")}
    names = {f"p_at_1_by_{size}_{test}" for size in ("parameters", "width") for test in ("tatoeba", "un")}
    assert names <= {name.lower() for name in plots}


def test_encoders_of_one_width_have_no_plot_against_it(report):
    records = [
        retrieval({"de-en": first, "en-de": first}, name=name) for name, first in (("a", 0.5), ("b", 0.7))
    ]
    for parameters, one in enumerate(records, start=3):
        one["runs"][0]["size"] = {"width": 128, "parameters": parameters}
    _, folder = report(*records)
    plots = {path.stem for path in folder.rglob("*.png")}
    assert any(name.startswith("p_at_1_by_parameters") for name in plots)
    assert not any(name.startswith("p_at_1_by_width") for name in plots)


def test_without_a_benchmark_of_the_thesis_there_is_no_row_of_it(report):
    one = retrieval({"de-en": 0.5, "en-de": 0.5}, dataset="own")
    one["runs"][0]["size"] = {"width": 128, "parameters": 3}
    text, _ = report(one)
    assert "## Encoders by size" in text and "LEALLA" not in text


def test_numbers_of_the_thesis_agree_with_its_means_and_shapes():
    """A digit that was copied wrongly is not the mean of its row, nor the size of its architecture."""
    found = thesis_encoders.rows()
    assert len(found) == 4 + 13 + 7 + 3 * 7
    for name, values in found.items():
        for benchmark, parts in (("UN", ("en-es", "en-fr", "en-ru", "en-zh")),
                                 ("BUCC", ("de-en", "fr-en", "ru-en", "zh-en"))):  # fmt: skip
            if values[benchmark] is not None:
                mean = sum(values[f"{benchmark} {part}"] for part in parts) / 4
                assert abs(mean - values[benchmark]) <= 0.11, (name, benchmark)
    for row, (_, shape) in ROWS.items():
        (values,) = [values for name, values in found.items() if name.startswith(f"#{row} ")]
        assert (values["L"], values["d_h"], values["d_ff"], values["H"], values["d"]) == (
            shape.layers, shape.width, shape.ffn_width, shape.heads, shape.width,
        )  # fmt: skip
        layer = 4 * (shape.width**2 + shape.width) + 2 * shape.width * shape.ffn_width + shape.ffn_width
        millions = shape.layers * (layer + 5 * shape.width) / 1e6
        assert abs(millions - values["P_E (M)"]) < 1
