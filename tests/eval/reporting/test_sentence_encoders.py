"""Sections of what `python -m embeddings` measures, from records of the commands' own."""

import pytest

from command_line.errors import InputError
from command_line.measurements import Measured, numbers
from embeddings.finetuning.settings import setting
from eval.derived.fine_tuned import fine_tuned
from eval.measurements import Measurements
from eval.report import write_report
from eval.result_files import read_result
from eval.result_set import ResultSet
from tests.eval.rows import write_measured


def record(kind, dataset="set", name="ems", seed=1, rows=(), examples=(), about=None, **run) -> tuple:
    """A kind of result, and what was measured of one encoder."""
    measured = Measured(about={"encoder": {"name": name}} | (about or {}))
    measured.add({"system": {"name": name, "seed": seed}, "dataset": dataset, **run}, rows, examples)
    return kind, measured


def mining(f1, **which):
    scores = {"pairs": 12, "precision": 0.9, "recall": 0.8, "f1": f1, "threshold": 1.05}
    return record("mining", rows=numbers(scores), **which)


@pytest.fixture
def report(tmp_path):
    def write(*records):
        paths = []
        for number, (kind, measured) in enumerate(records):
            paths.append(write_measured(tmp_path / str(number), kind, measured))
        write_report(paths, "Encoders", tmp_path / "report")
        return (tmp_path / "report/report.md").read_text(), tmp_path / "report"

    return write


def test_a_folder_stands_for_the_result_files_in_it(tmp_path):
    results = tmp_path / "results"
    results.mkdir()
    with pytest.raises(InputError, match=r"results: no result file in it, expected one of: scores\.json"):
        write_report([results], "Encoders", tmp_path / "report")
    for kind, measured in (classification({"de-en": [80.0]}), sts()):
        write_measured(results, kind, measured)
    (results / "preparation.json").write_text("{}")
    write_report([results], "Encoders", tmp_path / "report")
    text = (tmp_path / "report/report.md").read_text()
    assert "## Zero-shot classification" in text and "## Semantic similarity" in text


def test_baselines_end_the_table_of_accuracies(report):
    """Of each language, whatever encoders were tested in it."""
    values = {"accuracy": 46.7, "majority": 46.7, "chance": 100 / 3}
    languages = {"en": values, "de": values | {"accuracy": 60.0, "majority": 50.0}}
    pairs = {"task": "pairs", "measure": "accuracy"}
    text, _ = report(finetuned(languages, **pairs), finetuned({"en": values}, name="other", **pairs))
    assert rows_above(text, "Accuracy (%) of fine-tuned encoders on set, pairs") == [
        "| System | Seeds | de | en | Avg. |",
        "| ems, zero-shot from en | 1 | 60.0 | 46.7 | 53.4 |",
        "| other, on en | 1 | – | 46.7 | – |",
        "| majority class | 1 | 50.0 | 46.7 | 48.4 |",
        "| chance | 1 | 33.3 | 33.3 | 33.3 |",
    ]


def sts(de=60.0, **which):
    rows = numbers({"spearman": de, "pearson": 50.0}, direction="de")
    about = {"arrays_sha256": "not read by reports"}
    return record("sts", rows=rows, about=about, texts={"de": "a"}, **which)


def classification(accuracies, **which):
    """Accuracies of the initializations of every direction."""
    rows = [
        row
        for direction, runs in accuracies.items()
        for seed, accuracy in enumerate(runs, start=1)
        for row in numbers({"accuracy": accuracy}, direction=direction, repeat=seed)
    ]
    return record("classification", rows=rows, **which)


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
    learned |= {"texts": {}, **others}
    learned["variant"] = f", {setting(train, list(languages), learned['code_switching'])}"
    rows = [
        row
        for language, values in languages.items()
        for row in numbers(values, direction=language, part=learned["task"])
    ]
    return record("finetuning", rows=rows, **learned)


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
    assert rows_above(text, "F1 (%) of fine-tuned encoders on set, questions") == [
        "| System | Seeds | de | en | Avg. |",
        "| ems, zero-shot from en | 2 | 71.0 ± 1.4 | 81.0 ± 1.4 | 76.0 ± 1.4 |",
        "| ems, translate-train-all, 2 languages | 2 | 75.0 ± 1.4 | 84.0 ± 0.0 | 79.5 ± 0.7 |",
        "| ems, code-switched, en, de | 1 | 75.0 | 83.0 | 79.0 |",
        "| other, on de | 1 | 69.0 | – | – |",
        "| other, on en, fr | 1 | 69.0 | 68.0 | 68.5 |",
    ]
    assert "Exact match (%) of fine-tuned encoders on set, questions" in text
    assert {path.stem for path in folder.glob("tables/finetuning*")} == {
        "finetuning_f1_set_questions",
        "finetuning_exact_match_set_questions",
        "finetuning_accuracy_set_pairs",
    }
    assert "| ems, on en | 1 | 90.0 | 90.0 |" in text


def rows_above(text: str, caption: str) -> list[str]:
    """The lines of the Markdown table with this caption, without the rule."""
    table = text[: text.index(caption)].rpartition("\n\n")[0].rpartition("\n\n")[2].splitlines()
    return [line for line in table if not line.startswith("|---")]


def test_trainings_on_one_language_each_are_a_row(report):
    """As translate-train in Tables 2, 4 and 5 of post-pretraining alignment, whose English is that of
    zero-shot transfer.
    """
    text, _ = report(
        finetuned({"en": {"f1": 80.0}, "de": {"f1": 60.0}, "fr": {"f1": 61.0}}),
        *(finetuned({"de": {"f1": f1}}, ["de"], code_switching=True, seed=f1) for f1 in (70, 72)),
        finetuned({"fr": {"f1": 74.0}}, ["fr"], code_switching=True),
        *(finetuned({"de": {"f1": 64.0 + seed}}, ["de"], name="no-cs", seed=seed) for seed in (1, 3)),
        *(finetuned({"fr": {"f1": 65.0 + seed}}, ["fr"], name="no-cs", seed=seed) for seed in (1, 3)),
        finetuned({"de": {"f1": 65.0}}, ["de"], name="alone", code_switching=True),
        finetuned({"en": {"f1": 80.0}, "de": {"f1": 60.0}}, name="both", dataset="other"),
        finetuned({"en": {"f1": 78.0}, "de": {"f1": 62.0}}, ["de"], name="both", dataset="other"),
    )
    assert rows_above(text, "F1 (%) of fine-tuned encoders on set, questions") == [
        "| System | Seeds | de | en | fr | Avg. |",
        "| ems, zero-shot from en | 1 | 60.0 | 80.0 | 61.0 | 67.0 |",
        "| alone, code-switched, de | 1 | 65.0 | – | – | – |",
        "| ems, translate-train of each language, code-switched | 1 | 71.0 | 80.0 | 74.0 | 75.0 |",
        "| no-cs, translate-train of each language | 2 | 66.0 ± 1.4 | – | 67.0 ± 1.4 | – |",
    ]
    assert text.count("translate-train of each") == 2
    assert text.count("Avg. is empty where a number is missing.") == 1  # not on `other`


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
        about = {"encoder": {"name": name, "weights": {"model.safetensors": weights}}}
        return finetuned(languages, train, name=name, seed=seed, hyperparameters=how, about=about)

    text, _ = report(
        of({"en": {"f1": 80.0}, "de": {"f1": 60.0}, "fr": {"f1": 61.0}}, ["en"], "ppa", **change),
        of({"de": {"f1": 66.0}}, ["de"], "no-cs"),
        of({"fr": {"f1": 67.0}}, ["fr"], "no-cs"),
    )
    row = f"| no-cs, translate-train of each language | 1 | 66.0 | {english} | 67.0 | {mean} |"
    assert row in text.splitlines()


def test_fine_tunings_that_differ_in_more_than_their_seed_are_refused(tmp_path):
    """In their languages of the test, or in how they were learned."""

    def load(*records):
        paths = [write_measured(tmp_path / f"{n}", *measured) for n, measured in enumerate(records)]
        systems = ResultSet.load(paths, ["finetuning"]).probed("finetuning")
        return fine_tuned(Measurements.of(systems, allow_unlike=True))

    german = {"de": {"f1": 70.0}}
    assert len(load(finetuned(german), finetuned(german, seed=2), finetuned(german, dataset="other"))) == 2
    with pytest.raises(InputError, match=r"1/.*: lines of en is none, but some in .*0/"):
        load(finetuned(german | {"en": {"f1": 80.0}}), finetuned(german, seed=2))
    rates = [{"hyperparameters": {"epochs": 2, "learning_rate": rate}} for rate in (1e-5, 2e-5)]
    with pytest.raises(InputError, match=r"hyperparameters\.learning_rate is 2e-05, but 1e-05 in"):
        load(finetuned(german, **rates[0]), finetuned(german, seed=2, **rates[1]))
    parts = [{"train_examples": {"en": count}} for count in (392_702, 1_000)]
    with pytest.raises(InputError, match=r"train_examples\.en is 1000, but 392702 in"):
        load(finetuned(german, **parts[0]), finetuned(german, seed=2, **parts[1]))


def test_neighbours_are_listed_with_how_many_seeds_find_them(report):

    def neighbours(seed, cosines):
        examples = [{"sentence": "a b", "neighbour": name, "cosine": of} for name, of in cosines.items()]
        rows = [numbers({"cosine": of}, part=name)[0] for name, of in cosines.items()]
        return record("neighbours", seed=seed, rows=rows, examples=examples)

    text, _ = report(neighbours(1, {"b a": 0.96, "c": 0.5}), neighbours(2, {"b a": 0.98, "d": 0.4}))
    assert "| ems | 2 of 2 | a b | b a | 0.9700 ± 0.0141 |" in text
    assert "| ems | 1 of 2 | a b | c | 0.5000 |" in text


@pytest.mark.parametrize(
    ("kind", "about", "run", "message"),
    [
        ("finetuning", {}, {"task": "pairs"}, "measure' is missing"),
        (
            "sentence-retrieval",
            {"arrays_sha256": "not read", "neighbours": 4},
            {"texts": {"de-en": "a"}, "groups": {"high": {}}},
            "groups.high.pairs' is missing",
        ),
        (
            "comparison",
            {
                "test": "randomization",
                "correction": "holm",
                "samples": 9,
                "seed": 1,
                "level": 0.05,
                "inputs": [],
            },
            {"baseline": "A", "compared": "B", "measures": {}, "family": {"directions": 1}},
            "family.overall' is missing",
        ),
    ],
)
def test_a_record_that_lacks_a_field_is_one_line(tmp_path, kind, about, run, message):
    with pytest.raises(InputError, match=message):
        read_result(write_measured(tmp_path, *record(kind, about=about, **run)))
