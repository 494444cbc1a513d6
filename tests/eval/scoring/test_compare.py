"""`python -m eval compare`: the scores it tests are those of tables; its families, options and errors."""

import json
import random
import subprocess
import sys

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from tests.eval.compared import read_comparison
from tests.eval.scored import read_scores, write_scores


@pytest.fixture
def long_texts(data, texts) -> dict[str, list[str]]:
    """The test set forty times, so that a bootstrap has something to draw from."""
    for path in (data / "text").iterdir():
        path.write_text(path.read_text(encoding="utf-8") * 40, encoding="utf-8")
    return {language: lines * 40 for language, lines in texts.items()}


def damaged(lines: list[str], share: float, seed: int) -> list[str]:
    rng = random.Random(seed)
    return [" ".join(word for word in line.split() if rng.random() > share) for line in lines]


def hypotheses(long_texts, share: float, seed: int) -> dict[str, list[str]]:
    return {d: damaged(long_texts[d[-2:]], share, seed) for d in ("de-fr", "fr-de", "en-de")}


def compared(command, tmp_path, *argv) -> dict:
    result = command("compare", *argv, "--output", tmp_path / "comparison.json")
    assert result.status == 0, result.err
    return read_comparison(tmp_path / "comparison.json")


@pytest.mark.parametrize("module", ["eval.report", "eval.scoring.compare"])
def test_help_waits_for_no_tokenizers_and_no_encoders(module):
    code = f"import sys, {module}; print({{'data_prep.tokenizers', 'embeddings.sts'}} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_sacrebleus_bootstrap_is_an_option(scored, command, tmp_path, long_texts, monkeypatch):
    a, b = hypotheses(long_texts, 0.2, 1), hypotheses(long_texts, 0.22, 2)
    options = ("--seed", "7", "--samples", "100", "--test", "sacrebleu-bootstrap", "--correction", "none")
    record = compared(command, tmp_path, scored("A", a), scored("B", b), "--against-first", *options)
    assert (record["test"], record["correction"], record["samples"]) == ("sacrebleu-bootstrap", "none", 100)
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    for direction, result in record["comparisons"][0]["directions"].items():
        systems = [("A", a[direction]), ("B", b[direction])]
        test = PairedTest(
            systems, {"BLEU": BLEU()}, [long_texts[direction[-2:]]], test_type="bs", n_samples=100
        )
        first, second = test()[1]["BLEU"]
        assert (result["baseline"], result["system"]) == pytest.approx((first.score, second.score))
        assert result["p_value"] == result["adjusted_p_value"] == pytest.approx(second.p_value)
        assert result["significant"] == (second.p_value <= 0.05)


def test_groups_are_the_means_that_tables_show(scored, command, tmp_path, long_texts, scores_of):
    """Two seeds; directions whose lines differ in length, so that concatenated BLEU is another number."""
    long_texts["fr"] = [f"{line} {line}" for line in long_texts["fr"]]
    path = tmp_path / "toy" / "text" / "test.de-fr.fr"
    path.write_text("".join(f"{line}\n" for line in long_texts["fr"]), encoding="utf-8")
    texts = {
        (name, seed): {
            d: damaged(long_texts[d[-2:]], share * (1 + (d == "de-fr")), seed)
            for d in ("de-fr", "fr-de", "en-de")
        }
        for name, share in (("A", 0.1), ("B", 0.2))
        for seed in (1, 2)
    }
    outs = {key: scored(key[0], text, seed=key[1]) for key, text in texts.items()}
    (comparison,) = compared(command, tmp_path, *outs.values(), "--against-first")["comparisons"]
    for side, name in (("baseline", "A"), ("system", "B")):
        records = [scores_of(outs[name, seed]) for seed in (1, 2)]
        for group, result in comparison["overall"].items():
            shown = np.mean([record["averages"][group]["bleu"] for record in records])
            assert result[side] == pytest.approx(shown)
        for direction, result in comparison["directions"].items():
            shown = np.mean([record["directions"][direction]["bleu"] for record in records])
            assert result[side] == pytest.approx(shown)
    zero_shot = comparison["overall"]["zero-shot"]
    concatenated = np.mean(
        [
            BLEU()
            .corpus_score(
                texts["A", seed]["de-fr"] + texts["A", seed]["fr-de"], [long_texts["fr"] + long_texts["de"]]
            )
            .score
            for seed in (1, 2)
        ]
    )
    assert abs(zero_shot["baseline"] - concatenated) > 1
    assert (zero_shot["directions"], zero_shot["units"]) == (
        2,
        160,
    )  # lines of a test set, not of all directions
    assert (
        zero_shot["significant"]
        and zero_shot["difference_low"] < zero_shot["difference"] < zero_shot["difference_high"] < 0
    )
    # Here from-en is supervised and nothing goes into English; groups with the same directions are one test.
    assert list(comparison["overall"]) == ["supervised", "zero-shot", "all"]


def test_families_are_the_pairs_of_an_axis_times_directions(scored, command, tmp_path, long_texts):
    outs = [
        scored(
            f"{norm} {tags}",
            hypotheses(long_texts, 0.2, seed),
            system={"norm_placement": norm, "language_tags": tags},
        )
        for seed, (norm, tags) in enumerate(
            [("pre", "t-enc"), ("post", "t-enc"), ("pre", "t-dec"), ("post", "t-dec")]
        )
    ]
    record = compared(command, tmp_path, *outs)
    assert record["samples"] == 9999
    assert [
        (comparison["axis"], comparison["baseline"], comparison["compared"])
        for comparison in record["comparisons"]
    ] == [
        ("placement of normalization", "pre t-enc", "post t-enc"),
        ("placement of normalization", "pre t-dec", "post t-dec"),
        ("language tags", "pre t-enc", "pre t-dec"),
        ("language tags", "post t-enc", "post t-dec"),
    ]
    for axis in (record["comparisons"][:2], record["comparisons"][2:]):
        results = [result for comparison in axis for result in comparison["directions"].values()]
        assert {comparison["family"]["directions"] for comparison in axis} == {6} and len(results) == 6
        smallest = min(results, key=lambda result: result["p_value"])
        assert smallest["adjusted_p_value"] == pytest.approx(min(1, 6 * smallest["p_value"]))
        assert [result["significant"] for result in results] == [
            result["adjusted_p_value"] <= 0.05 for result in results
        ]


def test_every_dataset_has_a_family_of_its_own(scored, command, tmp_path, long_texts):
    """One table shows one dataset: p-values of a second one do not change those of the first."""
    outs = {
        dataset: [
            scored(name, hypotheses(long_texts, share, 1), f"{name}-{dataset}", dataset=dataset)
            for name, share in (("A", 0.2), ("B", 0.21))
        ]
        for dataset in ("one", "other")
    }
    alone = compared(command, tmp_path, *outs["one"], "--all-pairs")["comparisons"]
    both = compared(command, tmp_path, *outs["one"], *outs["other"], "--all-pairs")["comparisons"]
    assert [comparison["dataset"] for comparison in both] == ["one", "other"]
    assert both[0] == alone[0] and both[0]["family"]["directions"] == 3


def test_samples_follow_the_largest_family(scored, command, tmp_path, long_texts, monkeypatch):
    """Here of two directions, which are in one group."""
    monkeypatch.setattr("eval.scoring.comparison.FEWEST_SAMPLES", 20)
    outs = [
        scored(
            name,
            {direction: damaged(long_texts[direction[-2:]], share, 1) for direction in ("de-fr", "fr-de")},
        )
        for name, share in (("A", 0.1), ("B", 0.4))
    ]
    record = compared(command, tmp_path, *outs, "--all-pairs")
    assert record["samples"] == 39  # 1 / 40 is 0.05 / 2
    assert record["comparisons"][0]["family"] == {"overall": 1, "directions": 2}
    assert all(result["significant"] for result in record["comparisons"][0]["directions"].values())
    error = command("compare", *outs, "--all-pairs", "--samples", "38").err
    assert "--samples 38: the smallest possible p-value is 1/39; Holm's correction for 2 tests" in error
    assert "at level 0.05 needs at least 39 samples" in error
    assert command("compare", *outs, "--all-pairs", "--samples", "38", "--correction", "none").status == 0


def test_chrf_too(scored, command, tmp_path, long_texts, scores_of):
    outs = [scored(name, hypotheses(long_texts, share, 1)) for name, share in (("A", 0.1), ("B", 0.3))]
    record = compared(command, tmp_path, *outs, "--all-pairs", "--metric", "bleu,chrf")
    bleu, chrf = record["comparisons"]
    assert (bleu["measure"], chrf["measure"]) == ("bleu", "chrf")
    assert chrf["overall"]["all"]["system"] == pytest.approx(scores_of(outs[1])["averages"]["all"]["chrf"])
    assert chrf["overall"]["all"]["significant"]


def with_comet(out, scores: dict, model: str = "Unbabel/wmt22-comet-da"):
    """A scored folder as COMET would leave it."""
    from command_line.outputs import checksum
    from eval.scoring.line_statistics import segments

    path, record = out / "line_statistics.npz", read_scores(out / "scores.json")
    with np.load(path) as stored:
        arrays = dict(stored)
    for direction, values in scores.items():
        arrays[f"comet/{direction}"] = segments(values)
        record["directions"][direction]["comet"] = float(np.mean(values))
    np.savez_compressed(path, **arrays)
    record["scoring"] |= {"comet_model": model, "statistics": {"file": path.name, "sha256": checksum(path)}}
    write_scores(out / "scores.json", record)
    return out


def test_comet_too(scored, command, tmp_path, long_texts):
    rng = np.random.default_rng(1)
    values = [{"en-de": rng.normal(mean, 0.1, 160)} for mean in (0.7, 0.8)]
    outs = [scored(name, {"en-de": long_texts["de"]}) for name in "AB"]
    options = ("--all-pairs", "--metric", "comet")
    assert "no comet per line of en-de" in command("compare", *outs, *options).err
    outs = [with_comet(out, scores) for out, scores in zip(outs, values, strict=True)]
    result = compared(command, tmp_path, *outs, *options)["comparisons"][0]["directions"]["en-de"]
    assert result["difference"] == pytest.approx(values[1]["en-de"].mean() - values[0]["en-de"].mean())
    assert result["significant"] and result["agreement"] > 0.9
    row = command("compare", *outs, *options).out.splitlines()[-6]
    assert row.split()[:2] == ["en-de", f"{100 * values[0]['en-de'].mean():.2f}"]  # x 100, as in tables
    with_comet(outs[1], values[1], "other")
    error = command("compare", *outs, *options).err
    assert "COMET's model is other, but Unbabel/wmt22-comet-da in" in error


def test_neither_of_two_systems_that_translate_nothing_is_better(scored, command, tmp_path, long_texts):
    """However sure the difference is: one writes a right word per line, the other none. A third one is a
    system that translates, with which both are compared as usual.
    """
    words = [f"{line.split()[0]} 1 2 3" for line in long_texts["de"]]
    texts = {"A": words, "B": ["0 1 2 3"] * len(words), "C": damaged(long_texts["de"], 0.2, 1)}
    outs = [scored(name, {"en-de": lines}) for name, lines in texts.items()]
    record = compared(command, tmp_path, *outs, "--all-pairs", "--metric", "bleu,chrf")
    for comparison in record["comparisons"]:
        nothing = (comparison["baseline"], comparison["compared"]) == ("A", "B")
        for result in (comparison["directions"]["en-de"], comparison["overall"]["supervised"]):
            assert result["adjusted_p_value"] < 0.01
            assert (result["neither_translates"], result["significant"]) == (nothing, not nothing)
    rows = command("compare", *outs[:2], "--all-pairs").out.splitlines()
    (row,) = [row for row in rows if row.startswith("en-de")]
    assert row.endswith(" neither translates") and "*" not in row
    assert any(row.startswith('"neither translates": both systems have a BLEU of at most 1,') for row in rows)


def test_how_often_people_agree(scored, command, tmp_path, long_texts):
    """Kocmi et al. (2024): one BLEU point is preferred in 64% of cases; below a guess it is a guess."""
    from eval.scoring.human_agreement import agreement

    assert agreement("bleu", 1.0) == agreement("bleu", -1.0) == pytest.approx(0.63989, abs=1e-5)
    assert agreement("bleu", 0.0) == 0.5
    assert agreement("comet", 0.5, "/x/models--Unbabel--wmt22-comet-da/snapshots/y/model.ckpt") > 0.7
    assert agreement("comet", 0.5, "my/model") is None
    spbleu = agreement("bleu", 1.0, signature="nrefs:1|tok:flores200")  # of a curve from 0.455 to 0.91
    assert spbleu == pytest.approx(0.91 / (1 + np.exp(-0.8079)), abs=1e-4)
    outs = [scored(name, hypotheses(long_texts, share, 1)) for name, share in (("A", 0.1), ("B", 0.15))]
    result = compared(command, tmp_path, *outs, "--all-pairs")["comparisons"][0]["directions"]["en-de"]
    assert result["agreement"] == agreement("bleu", result["difference"])


def test_three_seeds_have_a_second_p_value(scored, command, tmp_path, long_texts):
    outs = [
        scored(name, hypotheses(long_texts, share, seed), seed=seed)
        for name, share in (("A", 0.1), ("B", 0.3))
        for seed in (1, 2, 3)
    ]
    comparison = compared(command, tmp_path, *outs, "--all-pairs")["comparisons"][0]
    assert comparison["seeds"] == {"baseline": [1, 2, 3], "system": [1, 2, 3]}
    assert all(0 < result["p_value_with_seeds"] < 0.01 for result in comparison["directions"].values())
    for part in ("directions", "overall"):  # corrected like the first one, each in its family of three
        first, second, third = sorted(
            comparison[part].values(), key=lambda result: result["p_value_with_seeds"]
        )
        adjusted = [3 * first["p_value_with_seeds"]]
        adjusted.append(max(adjusted[-1], 2 * second["p_value_with_seeds"]))
        adjusted.append(max(adjusted[-1], third["p_value_with_seeds"]))
        adjusted_p_values = [result["adjusted_p_value_with_seeds"] for result in (first, second, third)]
        assert adjusted_p_values == pytest.approx(adjusted)
    two = compared(command, tmp_path, *outs[:2], *outs[3:5], "--all-pairs")["comparisons"][0]
    assert all(result["p_value_with_seeds"] is None for result in two["directions"].values())


def test_pairs(scored, command, tmp_path, texts):
    outs = [scored(name, {"en-de": texts["de"]}) for name in "ABC"]
    pairs_of_all = [("A", "B"), ("A", "C"), ("B", "C")]

    def pairs(*options):
        comparisons = compared(command, tmp_path, *outs, *options)["comparisons"]
        return [(comparison["baseline"], comparison["compared"]) for comparison in comparisons]

    assert pairs("--against-first") == [("A", "B"), ("A", "C")]
    assert pairs("--baseline", "B") == [("B", "A"), ("B", "C")]
    assert pairs("--all-pairs") == pairs_of_all
    assert pairs() == pairs_of_all  # nothing is known to tell them apart


def test_pairs_of_names_are_refused_where_there_are_none(scored, command, texts):
    outs = [scored(name, {"en-de": texts["de"]}) for name in "AB"]
    assert "BLEU: A against B" in command("compare", *outs, "--pairs", "B:A").out
    for wrong in ("A", ":B", "A:", "A:B:C"):
        result = command("compare", *outs, "--pairs", wrong)
        assert result.status == 2 and "expected A:B, two systems" in result.err


def test_errors(scored, command, texts):
    a, b = scored("A", {"en-de": texts["de"]}), scored("B", {"en-de": texts["en"]})
    assert "'A' is the only system on toy" in command("compare", a).err
    alone = scored("A", {"en-de": texts["de"]}, "alone", dataset="lonely")
    result = command("compare", a, b, alone)  # a dataset with one system, of which others are not finished
    assert result.status == 0 and "lonely" not in result.out
    assert "--seed: found '0', expected a whole" in command("compare", a, b, "--seed", "0").err
    assert (
        "--level: found '2', expected a number above 0 below 1"
        in command("compare", a, b, "--level", "2").err
    )
    assert "--metric: found 'ter', expected one of" in command("compare", a, b, "--metric", "bleu,ter").err
    assert "not allowed with argument" in command("compare", a, b, "--all-pairs", "--against-first").err
    assert "given twice" in command("compare", a, a).err
    other = scored("C", {"de-en": texts["en"]})
    assert "no direction in common" in command("compare", a, other, "--all-pairs").err
    (b / "line_statistics.npz").write_bytes(b"")
    assert "line_statistics.npz: is not the file" in command("compare", a, b, "--all-pairs").err
    (b / "line_statistics.npz").unlink()
    assert "line_statistics.npz: no such file" in command("compare", a, b, "--all-pairs").err


@pytest.mark.parametrize("name", ["../statistics.npz", "/etc/passwd"])
def test_statistics_outside_of_their_folder(scored, command, texts, name):
    runs = [scored(system, {"en-de": texts["de"]}) for system in "AB"]
    path = runs[0] / "scores.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["scoring"]["statistics"]["file"] = name
    path.write_text(json.dumps(record), encoding="utf-8")
    result = command("compare", *runs, "--all-pairs")
    assert result.status == 2
    assert result.err.startswith(
        f"error: {path}: field scoring.statistics.file is '{name}'; expected a plain"
    )
