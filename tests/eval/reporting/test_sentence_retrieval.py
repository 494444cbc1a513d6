"""Sections of what `python -m embeddings retrieve` measures, beside mining and speed, from rows."""

import csv
from pathlib import Path
from statistics import fmean

import pytest

from command_line.errors import InputError
from command_line.measurements import Measured, numbers, read_rows
from eval.derived.benchmarks import published, reached_in
from eval.report import write_report
from eval.result_set import ResultSet
from fairseq_ext.models.lealla_architectures import ROWS
from tests.eval.retrieved import first_hits, write_retrieval
from tests.eval.rows import write_measured

REFERENCE = Path(__file__).parents[3] / "recipes/distillation/reference.csv"


@pytest.fixture
def write(tmp_path):
    """Function that writes a result; P@1 of directions is by cosine and by margin, or by each its own."""
    count = iter(range(1000))

    def retrieval(values, groups=None, **others):
        outcomes = {
            direction: {
                similarity: first_hits(p_at_1, queries=100)
                for similarity, p_at_1 in (
                    value if isinstance(value, dict) else {"cosine": value, "ratio": value}
                ).items()
            }
            for direction, value in values.items()
        }
        return write_retrieval(tmp_path / str(next(count)), outcomes, groups=groups, **others)

    return retrieval


@pytest.fixture
def result(tmp_path):
    """Function that writes the result of one encoder, of any other kind."""
    count = iter(range(1000))

    def write_one(kind, values, name="ems", seed=1, dataset="set"):
        run = {"system": {"name": name, "seed": seed}, "dataset": dataset}
        measured = Measured()
        measured.add(run, numbers(values))
        return write_measured(tmp_path / f"{kind}{next(count)}", kind, measured)

    return write_one


@pytest.fixture
def report(tmp_path):
    def write_it(*paths, **shown):
        write_report(paths, "Encoders", tmp_path / "report", **shown)
        return (tmp_path / "report/report.md").read_text(), tmp_path / "report"

    return write_it


def row_of(text, start):
    """The cells of the first row that begins so, after these."""
    line = next(line for line in text.splitlines() if line.startswith(f"| {start} |"))
    return line.strip("| ").split(" | ")[start.count("|") + 1 :]


def table_of(text, header, rows):
    """The first rows below a header."""
    return text[text.index(header) :].splitlines()[2 : 2 + rows]


BY_TEXT = [
    *numbers({"p_at_1_by_text": 0.9, "error": 0.1}, direction="de-en", part="cosine"),
    *numbers({"error": 0.4}, direction="de-en", part="ratio"),
    *numbers({"error": 0.2}, direction="en-de", part="ratio"),
]


def test_seeds_of_an_encoder_are_averaged_and_groups_have_bars(write, report):
    """By every similarity: P@1, its interval, P@1 by text; and the error of the margin."""
    groups = {"high": ["de-en"], "none": []}
    text, folder = report(
        write({"de-en": 0.8, "en-de": 0.6}, groups, rows=BY_TEXT),
        write({"de-en": 0.9, "en-de": 0.7}, groups, seed=2),
        write({"de-en": {"cosine": 0.5, "ratio": 0.25}, "en-de": 0.5}, groups, name="mean"),
    )
    assert "| System | Seeds | Similarity | P@1 | from | to | by text | xsim |" in text
    both, margin = (row_of(text, f"ems | 2 | {similarity}") for similarity in ("cosine", "ratio"))
    assert both[::3] == ["75.0 ± 7.1", "77.5 ± 3.5"] and margin[::4] == ["75.0 ± 7.1", "25.00 ± 7.07"]
    assert both[1:3] == margin[1:3] and float(both[1]) < 75 < float(both[2])
    mean = row_of(text, "mean | 1 | ratio")
    assert [mean[place] for place in (0, 3, 4)] == ["37.5", "37.5", "62.50"]
    assert "| ems | 75.00 | 7.07 | 1, 2 |" in text and "| mean | 50.00 | – | 1 |" in text
    assert (folder / "plots/retrieval_groups_set_cosine.png").is_file()
    assert (folder / "plots/retrieval_directions_set_cosine.png").is_file()


def test_pairs_and_plots_are_of_the_similarity_that_is_asked_for(write, report):
    """Where all encoders of a set were measured by it; elsewhere of cosine."""
    scores = {
        "de-en": {"cosine": 0.8, "bert-score-normalized": 0.3},
        "en-de": {"cosine": 0.6, "bert-score-normalized": 0.5},
    }
    first = write(scores, {"high": ["de-en"]})
    other = write({"de-en": 0.8, "en-de": 0.6}, dataset="other")
    text, folder = report(first, other, similarity="bert-score-normalized")
    assert "P@1 (%) by pair of languages on set, bert-score-normalized; mean" in text
    assert "| de-en | 40.0 |" in text and "P@1 by direction on set, bert-score-normalized in percent" in text
    assert ",40.0," in (folder / "tables/retrieval_groups_set_bert-score-normalized.csv").read_text()
    assert "P@1 (%) by pair of languages on other, cosine; mean" in text


def test_encoders_of_one_layer_each_are_a_curve(write, report):
    """Untrained ones and trained ones, by any group that was measured; a single layer is no curve."""
    of_layers = {"xlmr layer 0": 0.1, "xlmr layer 12": 0.4, "paired-layer-0": 0.5, "paired-layer-8": 0.7,
                 "paired-de-en": 0.9, "mbert (layer 8)": 0.2}  # fmt: skip
    text, folder = report(
        *(
            write(
                {"de-en": p, "en-de": p, "en-fr": p / 2, "fr-en": p / 2}, {"Tatoeba-36": ["en-fr"]}, name=name
            )
            for name, p in of_layers.items()
        )
    )
    tables = {path.stem for path in folder.glob("tables/retrieval_layers*.csv")}
    assert tables == {"retrieval_layers_set_all", "retrieval_layers_set_Tatoeba-36"}
    assert table_of(text, "|  | System | Seeds | 0 | 8 | 12 |", 4) == [
        f"| P@1 (%), {similarity} | {curve} |"
        for similarity in ("cosine", "ratio margin")
        for curve in ("xlmr | 1 | 7.5 | – | 30.0", "paired | 1 | 37.5 | 52.5 | –")
    ]
    assert "| P@1 (%), cosine | xlmr | 1 | 5.0 | – | 20.0 |" in text
    assert (folder / "plots/retrieval_layers_set_all.png").is_file()


def test_a_grid_of_layers_and_similarities_marks_the_best_layer(write, report):
    """As Table 1 of OneAligner; the average of all layers is a column, and no point of a curve."""
    layers = {
        "xlmr layer 0": {"cosine": 0.1, "ratio": 0.3},
        "xlmr layer 10": {"cosine": 0.4, "ratio": 0.2},
        "xlmr layer average": {"cosine": 0.4, "ratio": 0.1},
    }
    text, folder = report(
        *(write({"de-en": values, "en-de": values}, name=name) for name, values in layers.items())
    )
    assert table_of(text, "| Languages | Similarity | System | Seeds |  | 0 | 10 | average |", 2) == [
        "| all | cosine | xlmr | 1 | P@1 (%) | 10.0 | 40.0\\* | 40.0\\* |",
        "| all | ratio | xlmr | 1 | P@1 (%) | 30.0\\* | 20.0 | 10.0 |",
    ]
    assert "average" not in (folder / "tables/retrieval_layers_set_all.csv").read_text()


def test_layers_with_other_numbers_of_seeds_stand_apart(write, report):
    """A mean over fewer seeds is not in the row of more."""
    first = [
        write({"de-en": p, "en-de": p}, name="xlmr layer 0", seed=seed) for seed, p in ((1, 0.1), (2, 0.3))
    ]
    text, _ = report(*first, write({"de-en": 0.4, "en-de": 0.4}, name="xlmr layer 10"))
    assert "20.0 ± 14.1\\*" in row_of(text, "all | cosine | xlmr, 2 seeds | 2")
    assert "40.0\\*" in row_of(text, "all | cosine | xlmr, 1 seeds | 1")


@pytest.mark.parametrize(
    ("side", "of_pair", "of_all", "of_group"),
    [("from", 90.0, 80.0, 70.0), ("to", 50.0, 30.0, 10.0), (None, 70.0, 55.0, 40.0)],
)
def test_one_direction_is_shown_where_it_is_asked_for(write, report, side, of_pair, of_all, of_group):
    """From or to the language of all pairs; a set without one has the mean of both."""
    values = {"en-de": 0.9, "de-en": 0.5, "en-fr": 0.7, "fr-en": 0.1}
    layers = [write(values, {"high": ["en-fr"]}, name=f"xlmr layer {layer}") for layer in (0, 1)]
    others = {"de-fr": 0.6, "fr-de": 0.2, "de-es": 0.3, "es-de": 0.3, "es-fr": 0.3, "fr-es": 0.3}
    text, _ = report(*layers, write(others, dataset="other"), direction=side)
    said = f"cosine, {side} en" if side else "cosine"
    assert f"P@1 (%) by pair of languages on set, {said}; mean" in text
    assert f"| de-en | {of_pair} | {of_pair} |" in text and f"| Average | {of_all} | {of_all} |" in text
    assert f"| xlmr layer 0 | {of_group:.2f} | – | 1 |" in text
    assert f"| all | cosine | xlmr | 1 | P@1 (%) | {of_all}\\* | {of_all}\\* |" in text
    assert f"| high | cosine | xlmr | 1 | P@1 (%) | {of_group}\\* | {of_group}\\* |" in text
    assert "P@1 (%) by pair of languages on other, cosine; mean" in text
    assert "| de-fr | 40.0 |" in text


def test_averages_of_either_direction_stand_beside_those_of_both(write, report):
    """By every similarity, of all languages and of groups, each set of pairs once; seeds are averaged."""
    groups = {"high": ["de-en"], "rich": ["de-en"], "ours": ["de-en", "en-fr"]}
    seeds = [
        write(
            {"de-en": 0.8, "en-de": {"cosine": p, "ratio": 0.25}, "en-fr": 0.5, "fr-en": 0.4},
            groups,
            seed=seed,
        )
        for seed, p in ((1, 0.6), (2, 0.7))
    ]
    without = dict.fromkeys(["de-fr", "fr-de", "de-es", "es-de", "es-fr", "fr-es"], 0.5)
    text, folder = report(*seeds, write(without, dataset="without"))
    assert "| System | Seeds | Similarity | Languages | From the common language | To it | Both |" in text
    assert "| ems | 2 | cosine | all (2) | 57.5 ± 3.5 | 60.0 ± 0.0 | 58.8 ± 1.8 |" in text
    assert "| ems | 2 | cosine | high (1) | 65.0 ± 7.1 | 80.0 ± 0.0 | 72.5 ± 3.5 |" in text
    assert "| ems | 2 | ratio | high (1) | 25.0 ± 0.0 | 80.0 ± 0.0 | 52.5 ± 0.0 |" in text
    assert "| cosine | ours" not in text and "rich" not in text
    assert [path.name for path in folder.glob("tables/retrieval_averages*")] == [
        "retrieval_averages_set_common-language-en.csv"
    ]


def test_pairs_of_languages_have_the_mean_of_both_directions(write, report):
    """As Table 2.4, with the average of all; the CSV file has the numbers of every seed."""
    values = {"deu-eng": 0.8, "eng-deu": 0.6, "eng-fra": 0.5, "fra-eng": 0.25}
    text, folder = report(
        write(values),
        write({direction: value + 0.1 for direction, value in values.items()}, seed=2),
        write(dict.fromkeys(values, 0.5), name="mean"),
    )
    assert table_of(text, "| Direction | ems | mean |", 3) == [
        "| deu-eng | 75.0 ± 7.1 | 50.0 |",
        "| eng-fra | 42.5 ± 7.1 | 50.0 |",
        "| Average | 58.8 ± 7.1 | 50.0 |",
    ]
    with open(folder / "tables/retrieval_pairs_set_cosine.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 3 * 4  # runs, directions
    chosen = [
        row["value"]
        for row in rows
        if (row["system"], row["seed"], row["direction"]) == ("ems", "2", "deu-eng")
    ]
    assert sorted(map(float, chosen)) == [0.7, 0.9]


def test_all_pairs_are_a_grid_of_languages(write, report):
    values = {f"{a}-{b}": 0.5 for a in ("de", "en", "fr") for b in ("de", "en", "fr") if a != b}
    text, folder = report(write(values))
    assert (folder / "plots/retrieval_set_cosine_ems.png").is_file()
    assert table_of(text, "| similarity | queries | de | en | fr |", 1) == [
        "| cosine | de | – | 50.0 | 50.0 |"
    ]


def test_encoders_of_one_table_are_of_the_same_texts(write, report):
    values = {"de-en": 0.9, "en-de": 0.7}
    first, other = write(values), write(values, name="b", texts="other")
    with pytest.raises(InputError, match=rf"{other}: texts of de-en is otherde-en, but ade-en in {first}"):
        report(first, other)
    report(first, write(values, name="b"))


def test_measures_that_are_not_the_same_are_said(write, report):
    """xsim is of 4 neighbours."""
    values = {"de-en": 0.9, "en-de": 0.7}
    first = write(values)
    text, _ = report(first, write(values, name="b", neighbours=2))
    similarities = {"ems": "ratio, neighbours 4", "b": "ratio, neighbours 2"}
    shown = [row_of(text, f"{name} | 1 | {similarity}")[-1] for name, similarity in similarities.items()]
    assert shown == ["20.00", "–"]
    assert "neighbours 4 |" not in report(first, write(values, name="b"))[0]


def test_what_inverted_lists_miss_is_said(write, report):
    values = {"de-en": 0.9, "en-de": 0.7}
    assert "| nearest found |" not in report(write(values))[0]
    recalls = [
        row
        for direction, recall in (("de-en", 0.99), ("en-de", 0.975))
        for row in numbers({"recall": recall}, direction=direction)
    ]
    assert row_of(report(write(values, rows=recalls))[0], "ems | 1 | cosine")[-1] == "98.2"


def smaller(of_vectors):
    """Rows of smaller vectors, from their names -> bytes and P@1."""
    return [
        row
        for name, (size, p_at_1) in of_vectors.items()
        for row in numbers({"bytes": size, "smaller_p_at_1": p_at_1}, part=name)
    ]


def test_smaller_vectors_have_a_table_and_a_plot(write, report):
    rows = smaller({"float32, 64 numbers": (256, 0.75), "binary, 64 numbers": (8, 0.5)})
    values = {"de-en": 0.9, "en-de": 0.7}
    text, folder = report(write(values, rows=rows), write(values, name="other"))
    assert "| ems | 1 | binary, 64 numbers | 8 | 50.0 | 30.0 |" in text
    assert "| ems | 1 | float32, 64 numbers | 256 | 75.0 | 5.0 |" in text
    assert any(path.name.startswith("p_at_1_by_size") for path in folder.rglob("*.png"))


# --- dual-pivot transfer and distillation: systems with the names that recipes give them


def of_one_pair(write, values, **others):
    """Results of encoders that are as good in both directions of de-en."""
    return [write({"de-en": p, "en-de": p}, name=name, **others) for name, p in values.items()]


def test_parts_and_pairs_of_dual_pivot_transfer_are_tables(write, report):
    """As Tables 4 and 5: the module of one pair is in both."""
    values = {
        "paired-de-en": 0.8, "paired-ar-en": 0.1, "unpaired-de-en": 0.7, "cycle-map": 0.6, "cycle-both": 0.65,
        "paired-mixture": 0.5, "paired-16-pairs": 0.9, "paired-2-pairs": 0.85, "unpaired-2-pairs": 0.75,
    }  # fmt: skip
    text, _ = report(*of_one_pair(write, values))
    parts = table_of(text, "| System | Seeds | both | map | mixture |", 3)
    assert sorted(parts) == [
        "| cycle | 1 | 65.0 | 60.0 | – |",
        "| paired | 1 | 80.0 | – | 50.0 |",
        "| unpaired | 1 | 70.0 | – | – |",
    ]
    assert table_of(text, "| System | Seeds | 1 | 2 | 16 |", 2) == [
        "| paired | 1 | 80.0 | 85.0 | 90.0 |", "| unpaired | 1 | 70.0 | 75.0 | – |",
    ]  # fmt: skip
    trained = {name: {"pairs": ["ar-en"] if "ar-en" in name else ["de-en"]} for name in reversed(values)}
    theirs = {
        name: of_one_pair(write, {name: values[name]}, encoder={"name": name} | encoder)[0]
        for name, encoder in trained.items()
    }  # as they say whose translations they have seen
    first = theirs.pop("paired-ar-en")
    text, _ = report(first, *theirs.values())
    assert "| paired | 1 | 80.0 | – | 50.0 |" in text and "| paired | 1 | 80.0 | 85.0 | 90.0 |" in text
    alone = of_one_pair(write, {"paired-de-en": 1.0})
    assert "Parts of dual-pivot" not in report(*alone)[0]


def test_losses_of_distillation_stand_beside_the_published(write, report):
    """Tables 3.3 and 3.4, and Figure 3.3, of students by their names; others have no published numbers."""
    values = {"small-ams": 0.8, "small-all": 0.9, "small-ams-fd": 0.85, "thin-half-fd": 0.5, "teacher": 1.0}
    results = of_one_pair(write, values, dataset="Tatoeba")
    text, folder = report(*results, reference=REFERENCE)
    assert (folder / "plots/losses_of_distillation_bars_Tatoeba.png").is_file()
    rows = {name: row_of(text, f"{name} | 1") for name in ("small", "small, published", "thin-half")}
    assert rows == {  # all, ams, ams-fd, fd
        "small": ["90.0", "80.0", "85.0", "–"],
        "small, published": ["80.7", "80.3", "80.6", "78.2"],
        "thin-half": ["–", "–", "–", "50.0"],
    }
    assert "published" not in report(*results)[0]
    assert "Losses of distillation" not in report(results[0])[0]


def test_numbers_of_a_vector_are_curves(write, result, report):
    """Figure 3.1: a layer for each size, and the first numbers of one vector; and F1 of mining."""
    cut = {"float32, 16 numbers": 0.25, "float32, 128 numbers": 0.5, "int8, 32 numbers": 0.1}
    rows = smaller({name: (1, p_at_1) for name, p_at_1 in cut.items()})
    text, folder = report(
        *of_one_pair(write, {"reduced-16": 0.5, "reduced-64": 0.75}),
        *of_one_pair(write, {"reduced-nested": 0.8}, rows=rows),
        *(result("mining", {"f1": f1}, f"reduced-{width}", dataset=f"BUCC {pair}, test")
          for width, f1 in ((64, 0.75), (16, 0.5)) for pair in ("de-en", "fr-en")),
    )  # fmt: skip
    assert table_of(text, "|  | System | Seeds | 16 | 64 | 128 |", 2) == [
        "| P@1 (%) | a layer for each | 1 | 50.0 | 75.0 | – |",
        "| P@1 (%) | reduced-nested, first numbers | 1 | 25.0 | – | 50.0 |",
    ]
    assert "| F1 (%) | a layer for each | 1 | 50.0 | 75.0 |" in text.splitlines()
    names = {path.name for path in folder.glob("plots/numbers_of_a_vector*.png")}
    assert names == {"numbers_of_a_vector_set.png", "numbers_of_a_vector_BUCC_test.png"}


# --- sizes


def sizes(parameters, width):
    shape = {"layers": 24, "heads": 8, "state_width": 96, "ffn_width": 384, "layer_parameters": 4_800_000}
    return numbers(shape | {"parameters": parameters, "width": width})


def test_speed_stands_beside_the_sizes(write, result, report):
    """Names of what was timed have the seed; of several seeds the mean."""
    (first,) = of_one_pair(write, {"small-all": 0.8}, rows=sizes(69_000_000, 128))
    speeds = [
        result("encoding-speed", {"lines_per_second": rate, "ratio": 1.0}, f"small-all-seed{seed}", None)
        for seed, rate in ((1, 100.0), (2, 300.0))
    ]
    text, _ = report(first, *speeds)
    assert "| 128 | 200 ± 141 | 80.0 |" in text
    assert "| System | Seeds | lines/s | ratio |" in text


def test_encoders_by_size_on_all_benchmarks(write, result, report):
    """As Table 3.3: sizes, pairs of a small benchmark and their mean, F1 of mining."""
    results = []
    for name, parameters, width, p in (("small", 69_000_000, 128, 0.5), ("large", 147_000_000, 256, 0.75)):
        rows = sizes(parameters, width)
        results += of_one_pair(write, {name: p}, rows=rows, dataset="Tatoeba")
        un = {"en-es": p, "es-en": p, "en-ru": 1.0, "ru-en": 0.5}
        results.append(write(un, name=name, rows=rows, dataset="UN"))
        for pair, f1 in (("de-en", p), ("fr-en", 1.0)):
            results.append(result("mining", {"f1": f1}, name, dataset=f"BUCC {pair}, training"))
    text, folder = report(*results, reference=REFERENCE)
    table = text[text.index("## Encoders by size") :]
    benchmarks = (
        "Tatoeba | UN en-es | UN en-ru | UN | BUCC de-en, training | BUCC fr-en, training | BUCC, training |"
    )
    shape = "L | d\\_h | d\\_ff | H | P (M) | P\\_E (M) | d |"
    assert f"| Encoder | {shape} {benchmarks}" in table  # ours
    assert f"| Encoder | La. | {shape} {benchmarks}" in table  # published, Table 3.3
    assert "\n| LASER | 93 | " in table and "\n| labse\\_6\\_layers-ams | – | " in table
    for name, parameters, width, reached in (
        ("small", "69.0", 128, "50.0 | 50.0 | 75.0 | 62.5 | 50.0 | 100.0 | 75.0"),
        ("large", "147.0", 256, "75.0 | 75.0 | 75.0 | 75.0 | 75.0 | 100.0 | 87.5"),
    ):
        assert f"| {name} | 24 | 96 | 384 | 8 | {parameters} | 4.8 | {width} | {reached} |" in table
    published = "80.7 | 89.4 | 88.7 | 87.3 | 94.0 | 90.6 | 91.5"  # of the benchmarks that are ours
    assert f"| small-all | 109 | 24 | 128 | 512 | 8 | 69 | 5 | 128 | {published} |" in table
    plots = {path.stem.lower() for path in folder.rglob("*.png")}
    assert {f"p_at_1_by_{size}_{test}" for size in ("parameters", "width") for test in ("tatoeba", "un")} <= (
        plots
    )


def test_encoders_of_one_width_have_no_plot_against_it(write, report):
    results = [
        of_one_pair(write, {name: p}, rows=sizes(parameters, 128))[0]
        for name, p, parameters in (("a", 0.5, 3), ("b", 0.7, 4))
    ]
    _, folder = report(*results)
    plots = {path.stem for path in folder.rglob("*.png")}
    assert any(name.startswith("p_at_1_by_parameters") for name in plots)
    assert not any(name.startswith("p_at_1_by_width") for name in plots)


def test_without_a_published_benchmark_there_is_no_table_of_it(write, report):
    text, _ = report(*of_one_pair(write, {"a": 0.5}, rows=sizes(3, 128)), reference=REFERENCE)
    assert "## Encoders by size" in text and "LASER" not in text


def test_published_results_without_sizes_are_a_table(write, report, tmp_path):
    head = REFERENCE.read_text(encoding="utf-8").splitlines()[0].split(",")
    row = {"run": "0", "dataset": "Tatoeba", "system": "LaBSE", "measure": "p_at_1", "value": "0.9"}
    lines = [",".join(head), ",".join(row.get(column, "") for column in head)]
    (tmp_path / "reference.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    encoders = of_one_pair(write, {"a": 0.5}, rows=sizes(3, 128), dataset="Tatoeba")
    text, _ = report(*encoders, reference=tmp_path / "reference.csv")
    assert "| Encoder | Tatoeba |\n|---|---|\n| LaBSE | 90.0 |" in text


def test_published_numbers_agree_with_their_means_and_shapes():
    """A digit that was copied wrongly is not the mean of its row, nor the size of its architecture."""
    theirs = published(ResultSet({}, reference=REFERENCE)).by_dataset()
    reached = {dataset: reached_in(measured) for dataset, measured in theirs.items()}
    rows = theirs["encoder"].rows
    sizes_of = {name: dict(zip(of.measure, of.value, strict=True)) for name, of in rows.groupby("system")}
    assert len(sizes_of) == 4 + 13 + 7 + 3 * 7
    compared = 0
    for benchmark, parts in (
        ("UN", ("en-es", "en-fr", "en-ru", "en-zh")),
        ("BUCC", ("de-en", "fr-en", "ru-en", "zh-en")),
    ):
        for name, printed in reached[benchmark].items():
            mean = fmean(reached[f"{benchmark} {part}"][name].mean for part in parts)
            assert mean == pytest.approx(printed.mean, abs=0.11), (name, benchmark)
            compared += 1
    assert compared == 2 * 45 - 3  # three of the others were not tested on UN
    names = {0: "teacher", 6: "large-ams", 7: "base-ams", 8: "small-ams"}
    for row, (name, shape) in ROWS.items():
        printed = sizes_of[names.get(row, f"{name}-ams")]
        assert [printed[measure] for measure in ("layers", "state_width", "ffn_width", "heads", "width")] == [
            shape.layers, shape.width, shape.ffn_width, shape.heads, shape.width,
        ]  # fmt: skip
        layer = 4 * (shape.width**2 + shape.width) + 2 * shape.width * shape.ffn_width + shape.ffn_width
        parameters = shape.layers * (layer + 5 * shape.width)
        assert parameters == pytest.approx(printed["layer_parameters"], abs=1e6)


def test_published_numbers_are_of_systems_of_the_recipe():
    """Rows of one system stand together, and no number twice."""
    rows = read_rows(REFERENCE)
    assert len({tuple(row[name] for name in row if name != "value") for row in rows}) == len(rows)
    assert [row["run"] for row in rows] == sorted(row["run"] for row in rows)
