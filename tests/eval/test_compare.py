"""`python -m eval compare` against sacreBLEU's paired bootstrap on the texts themselves."""

import json
import random

import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest


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
    result = command("compare", *argv, "--samples", "100", "--output", tmp_path / "comparison.json")
    assert result.status == 0, result.err
    return json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))


def test_equals_sacrebleu(scored, command, tmp_path, long_texts, monkeypatch):
    a, b = hypotheses(long_texts, 0.2, 1), hypotheses(long_texts, 0.22, 2)
    record = compared(command, tmp_path, scored("A", a), scored("B", b), "--seed", "7")
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    for direction, found in record["comparisons"][0]["directions"].items():
        systems = [("A", a[direction]), ("B", b[direction])]
        test = PairedTest(
            systems, {"BLEU": BLEU()}, [long_texts[direction[-2:]]], test_type="bs", n_samples=100
        )
        first, second = test()[1]["BLEU"]
        assert (found["baseline"], found["system"]) == (first.score, second.score)
        assert found["p_value"] == second.p_value
        assert found["significant"] == (second.p_value < 0.05)


def test_overall_is_bleu_of_the_concatenation(scored, command, tmp_path, long_texts):
    a, b = hypotheses(long_texts, 0.1, 1), hypotheses(long_texts, 0.3, 2)
    comparison = compared(command, tmp_path, scored("A", a), scored("B", b))["comparisons"][0]
    overall = comparison["overall"]
    references = long_texts["fr"] + long_texts["de"]
    expected = BLEU().corpus_score(a["de-fr"] + a["fr-de"], [references]).score
    assert overall["zero-shot"]["baseline"] == pytest.approx(expected)
    assert overall["zero-shot"]["directions"] == 2
    assert overall["zero-shot"]["units"] == 160  # lines of a test set, not of all directions
    assert overall["zero-shot"]["significant"] and overall["zero-shot"]["difference"] < 0
    assert overall["supervised"]["baseline"] == comparison["directions"]["en-de"]["baseline"]


def test_seeds_are_drawn_together(scored, command, tmp_path, long_texts):
    """The same outputs under three seeds are no more evidence than under one."""
    a, b = hypotheses(long_texts, 0.2, 1), hypotheses(long_texts, 0.21, 2)
    one = compared(command, tmp_path, scored("A", a), scored("B", b))
    more = [scored(name, texts, seed=seed) for name, texts in (("A", a), ("B", b)) for seed in (1, 2, 3)]
    three = compared(command, tmp_path, *more)
    assert three["comparisons"][0]["directions"] == one["comparisons"][0]["directions"]
    assert three["comparisons"][0]["seeds"] == {"baseline": [1, 2, 3], "system": [1, 2, 3]}


def test_same_system_output_is_not_significant(scored, command, tmp_path, long_texts):
    a = hypotheses(long_texts, 0.2, 1)
    record = compared(command, tmp_path, scored("A", a), scored("B", a))
    for one in record["comparisons"][0]["directions"].values():
        assert (one["difference"], one["p_value"], one["significant"]) == (0.0, 1.0, False)


def test_pairs(scored, command, tmp_path, texts):
    outs = [scored(name, {"en-de": texts["de"]}) for name in "ABC"]
    pairs = [(one["baseline"], one["system"]) for one in compared(command, tmp_path, *outs)["comparisons"]]
    assert pairs == [("A", "B"), ("A", "C")]
    record = compared(command, tmp_path, *outs, "--all-pairs")
    assert [(one["baseline"], one["system"]) for one in record["comparisons"]] == [*pairs, ("B", "C")]


def test_deterministic(scored, command, tmp_path, long_texts):
    outs = [scored(name, hypotheses(long_texts, 0.2, seed)) for seed, name in enumerate("AB")]
    assert compared(command, tmp_path, *outs) == compared(command, tmp_path, *outs)


def test_table_on_the_terminal(scored, command, texts):
    outs = [scored("A", {"en-de": texts["de"]}), scored("B", {"en-de": texts["en"]})]
    lines = command("compare", *outs).out.splitlines()
    assert lines[0].startswith("toy: B against A")
    assert lines[-1].split()[:2] == ["en-de", "100.0"]


def test_errors(scored, command, texts):
    a, b = scored("A", {"en-de": texts["de"]}), scored("B", {"en-de": texts["en"]})
    assert "'A' is the only system on toy" in command("compare", a).err
    assert "--seed: found '0', expected a whole" in command("compare", a, b, "--seed", "0").err
    assert (
        "--level: found '2', expected a number above 0 below 1"
        in command("compare", a, b, "--level", "2").err
    )
    assert "given twice" in command("compare", a, a).err
    other = scored("C", {"de-en": texts["en"]})
    assert "no direction in common" in command("compare", a, other).err
    (b / "bleu_statistics.npz").write_bytes(b"")
    assert "bleu_statistics.npz: is not the file" in command("compare", a, b).err
    (b / "bleu_statistics.npz").unlink()
    assert "bleu_statistics.npz: no such file" in command("compare", a, b).err


def test_other_references_are_not_comparable(scored, command, data, texts):
    a = scored("A", {"en-de": texts["de"]})
    reference = data / "text" / "test.de-en.de"
    reference.write_text(reference.read_text(encoding="utf-8").upper(), encoding="utf-8")
    b = scored("B", {"en-de": texts["de"]})
    assert f"{b / 'scores.json'}: direction en-de: reference_sha256 is" in command("compare", a, b).err
