"""`python -m eval probe correlate` on the numbers of the thesis, whose correlations thesis 5.3.3 states."""

import json

import pytest

from command_line.measurements import Measured, numbers
from tests.eval.probes.conftest import refused
from tests.eval.rows import changed, rows_of, write_measured
from tests.eval.scored import SCORING, write_scores
from tests.eval.scored import direction as scored_direction

OTHERS = ("tr", "ro", "et", "kk", "my")
# mBART FT on 626_en-tr-ro-et-my-kk: BLEU from and into English (Table 5.3) and P@1 (Table C.6).
BLEU = {
    "mBART FT": (17.7, 22.2, 33.8, 37.1, 14.5, 24.3, 1.8, 14.1, 17.8, 23.1),
    "+align": (17.5, 21.9, 33.8, 36.7, 15.2, 24.3, 1.8, 14.0, 16.9, 22.1),
    "+w2w": (17.6, 22.2, 34.2, 37.5, 15.0, 25.0, 1.2, 14.1, 18.3, 23.8),
    "+FA": (17.5, 22.2, 34.3, 37.5, 14.9, 25.1, 1.3, 14.4, 17.9, 23.6),
}
PRECISION = {
    "mBART FT": (98.0, 92.7, 96.0, 92.9, 94.7),
    "+align": (97.4, 92.5, 97.0, 92.1, 93.7),
    "+w2w": (94.3, 95.6, 96.8, 86.0, 96.2),
    "+FA": (94.3, 96.3, 97.3, 87.9, 96.2),
}
THESIS = {"+align": 0.79, "+w2w": 0.93, "+FA": 0.90}


@pytest.fixture
def write(tmp_path):
    """Function that writes the scores and the retrieval of a system, and returns the folder of the scores."""

    def folder(name: str, bleu, precision, seed=1, pairs=OTHERS, retrieval_name=None):
        out = tmp_path / f"{name}-{seed}"
        directions = {
            direction: scored_direction("supervised", bleu[2 * i + back])
            for i, other in enumerate(pairs)
            for back, direction in enumerate((f"en-{other}", f"{other}-en"))
        }  # fmt: skip
        system = {"name": name, "seed": seed}
        scores = {"format": 1, "kind": "scores", "system": system, "data": {"path": "toy"}, "dataset": "626",
                  "split": "test", "directions": directions, "scoring": SCORING}  # fmt: skip
        write_scores(out / "scores.json", scores)
        names = ["-".join(sorted(("en", other))) for other in pairs]
        rows = [
            row
            for pair, value in zip(names, precision, strict=True)
            for row in (
                *numbers({"lines": 9}, kind="supervised", direction=pair),
                *numbers({"sentence": 0.5}, kind="supervised", direction=pair, layer="L0"),
                *numbers(
                    {"sentence": value / 100, "sentence_in_batch": 0.5, "word": value / 200},
                    kind="supervised", direction=pair, layer="output",
                ),
            )
        ]  # fmt: skip
        run = {"system": {"name": retrieval_name or name, "seed": seed}, "dataset": "626", "split": "test",
               "only_words": False, "batch_tokens": 512, "checkpoint": {"sha256": "b" * 64}}  # fmt: skip
        measured = Measured()
        measured.add(run, rows)
        write_measured(out, "retrieval", measured)
        return out

    return folder


@pytest.fixture
def probe(command, tmp_path):
    def run(folders, *options):
        return command(
            "probe", "correlate", *folders, "--retrieval", *folders, *options, "--output", tmp_path / "out"
        )

    return run


@pytest.fixture
def values_of(tmp_path):
    """Function of a measure and what its rows hold: numbers by the system and its baseline."""

    def find(measure: str, **wanted) -> dict[str, float]:
        rows = rows_of(tmp_path / "out/correlation.csv", measure=measure, **wanted)
        names = rows.system.str.removeprefix("'")  # which keeps spreadsheets from computing +align
        return dict(zip(names, rows.value, strict=True))

    return find


@pytest.fixture
def systems(write):
    return [write(name, BLEU[name], PRECISION[name]) for name in BLEU]


def test_the_correlations_of_the_thesis(systems, probe, values_of):
    result = probe(systems)
    assert result.status == 0, result.err
    r = {f"{name} against mBART FT, sentence": value for name, value in THESIS.items()}
    assert {name: round(value, 2) for name, value in values_of("r", kind="all", part="sentence").items()} == r
    assert values_of("pairs", kind="all") == dict.fromkeys(r, 5)
    # Student's t with 3 degrees of freedom: t = r sqrt(3 / (1 - r^2)) = 4.24 for +w2w; the table has 4.177 at
    # p = 0.025 and 4.541 at p = 0.02 (two-sided).
    assert 0.02 < values_of("p_value", kind="all")["+w2w against mBART FT, sentence"] < 0.025
    changes = [values_of(f"{name}_change", direction="en-my") for name in ("bleu", "precision")]
    name = "+align against mBART FT, sentence"
    assert changes[0][name] == pytest.approx(((16.9 - 17.8) + (22.1 - 23.1)) / 2)
    assert changes[1][name] == pytest.approx(93.7 - 94.7)


def test_seeds_are_averaged(write, probe, values_of):
    up, down = ([value + sign for value in BLEU["+FA"]] for sign in (0.5, -0.5))
    names = [
        write("mBART FT", BLEU["mBART FT"], PRECISION["mBART FT"]),
        write("+FA", up, [value - 1 for value in PRECISION["+FA"]], seed=1),
        write("+FA", down, [value + 1 for value in PRECISION["+FA"]], seed=2),
    ]
    assert probe(names).status == 0
    assert list(values_of("r", kind="all").values()) == [pytest.approx(0.9008, abs=1e-4)]


def test_word_retrieval_can_be_asked_for(systems, probe, values_of):
    assert probe(systems, "--measure", "word").status == 0
    changes = values_of("precision_change", direction="en-tr", part="word")
    assert changes["+w2w against mBART FT, word"] == pytest.approx((94.3 - 98.0) / 2)


def test_tables_and_report(systems, probe, report, tmp_path, draws):
    assert probe(systems).status == 0
    assert len(rows_of(tmp_path / "out/correlation.csv", measure="bleu_change")) == 3 * 5
    assert (tmp_path / "out/correlation_626_sentence.png").read_bytes().startswith(b"\x89PNG")
    html = (report(tmp_path / "out/correlation.json") / "report.html").read_text(encoding="utf-8")
    assert html.count("<figure>") == 1 and ">0.93 [" in html
    page = (tmp_path / "report/report.md").read_text(encoding="utf-8")
    assert "| +w2w against mBART FT, sentence | all | 5 | 0.93 \\[" in page


def test_a_system_without_retrieval(write, probe):
    names = [write("A", range(10), range(5)), write("B", range(10), range(5), retrieval_name="C")]
    assert refused(probe(names)).startswith(
        "--retrieval: nothing of system 'B' on 626, only of 'A' on 626, 'C' on 626; give --name"
    )


def test_too_few_pairs(write, probe):
    names = [write(name, range(4), range(2), pairs=("de", "fr")) for name in "AB"]
    assert "2 pairs of languages with BLEU in both directions and P@1, expected at least 3" in refused(
        probe(names)
    )


def test_a_change_that_is_always_the_same(write, probe):
    names = [write("A", range(10), range(5)), write("B", range(10), [2, 1, 4, 5, 3])]
    assert refused(probe(names)).endswith("BLEU changes by 0 for every pair: no correlation")


def test_no_such_measure_in_the_file(systems, probe):
    row = next(
        line
        for line in (systems[0] / "retrieval.csv").read_text().splitlines(keepends=True)
        if "en-tr,output,word" in line
    )
    changed(systems[0] / "retrieval.json", row, "")
    assert refused(probe(systems, "--measure", "word")).startswith(
        "--retrieval: no 'word' P@1 of 'mBART FT' for en-tr"
    )


def test_seeds_have_a_correlation_of_their_own(write, probe, values_of):
    """Two seeds of one system and one of the other: of the common one, as of these two systems alone."""
    names = [
        write("mBART FT", BLEU["mBART FT"], PRECISION["mBART FT"], seed=2),
        write("mBART FT", BLEU["+w2w"], PRECISION["+align"], seed=1),
        write("+FA", BLEU["+FA"], PRECISION["+FA"], seed=2),
    ]
    assert probe(names).status == 0
    assert list(values_of("r_of_seed", repeat=2).values()) == [pytest.approx(THESIS["+FA"], abs=0.005)]
    assert values_of("r_of_seed", repeat=1) == {}
    assert list(values_of("r", kind="all").values()) != [pytest.approx(THESIS["+FA"], abs=0.005)]


def test_a_seed_without_a_change_has_no_correlation_of_any_group(write, probe, values_of):
    names = [
        write("A", BLEU["mBART FT"], PRECISION["mBART FT"], seed=1),
        write("A", BLEU["mBART FT"], PRECISION["mBART FT"], seed=2),
        write("B", BLEU["+FA"], PRECISION["+FA"], seed=1),
        write("B", BLEU["+FA"], PRECISION["mBART FT"], seed=2),
    ]
    assert probe(names).status == 0
    assert values_of("r_of_seed", repeat=2) == {}
    (r,) = values_of("r_of_seed", repeat=1, kind="all").values()
    assert r == pytest.approx(THESIS["+FA"], abs=0.005)


def test_seeds_of_the_scores_and_of_retrieval_are_the_same(write, command, tmp_path):
    names = [
        write(name, BLEU[name], PRECISION[name], seed) for name in ("mBART FT", "+FA") for seed in (1, 2)
    ]
    given = ["probe", "correlate", *names, "--retrieval", *names[:3], "--output", tmp_path / "out"]
    assert refused(command(*given)) == (
        "--retrieval: '+FA' on 626 has seeds 1, but scores of 1, 2; expected the same trainings"
    )


def test_scores_and_retrieval_are_of_the_same_checkpoint(systems, probe):
    path = systems[1] / "scores.json"
    record = json.loads(path.read_text("utf-8")) | {"checkpoint": {"sha256": "a" * 64}}
    path.write_text(json.dumps(record), "utf-8")
    assert refused(probe(systems)).endswith(f"{path}; probe that one again")


@pytest.mark.parametrize(
    ("here", "there", "message"),
    [
        ('"split": "test"', '"split": "valid"', "split is valid, but test in"),
        ('"only_words": false', '"only_words": true', "only_words is True, but False in"),
        ('"batch_tokens": 512', '"batch_tokens": 64', "batch_tokens is 64, but 512 in"),
        ("en-ro,,lines,9", "en-ro,,lines,8", "lines of en-ro is 8.0, but 9.0 in"),
    ],
)
def test_retrieval_that_was_measured_in_another_way_is_no_change(systems, probe, here, there, message):
    """P@1 of two sets, or among more sentences, differs without any change of the system."""
    changed(systems[1] / "retrieval.json", here, there)
    assert refused(probe(systems[:2])).startswith(
        f"{systems[1]}/retrieval.json: {message} {systems[0]}/retrieval.json"
    )
