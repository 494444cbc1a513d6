"""`python -m eval score` against direct calls of sacreBLEU and values counted by hand."""

import json

import pytest
from sacrebleu.metrics import BLEU, CHRF


@pytest.fixture
def hypotheses(texts) -> dict[str, list[str]]:
    """de-fr: right, a copy (spaces apart), empty, English. en-de: all right."""
    de_fr = [texts["fr"][0], "Zwei Kinder  spielen zusammen Fußball. ", "", texts["en"][3]]
    return {"de-fr": de_fr, "en-de": texts["de"], "de-en": texts["en"]}


def test_scores_are_sacrebleus(scored, scores_of, hypotheses, texts):
    entry = scores_of(scored("toy", hypotheses))["directions"]["de-fr"]
    bleu, chrf = BLEU(tokenize="13a"), CHRF(word_order=2)
    assert entry["bleu"] == bleu.corpus_score(hypotheses["de-fr"], [texts["fr"]]).score
    assert entry["chrf"] == chrf.corpus_score(hypotheses["de-fr"], [texts["fr"]]).score
    assert entry["bleu_signature"] == str(bleu.get_signature())
    assert entry["chrf_signature"] == str(chrf.get_signature())
    assert "tok:13a" in entry["bleu_signature"] and "nw:2" in entry["chrf_signature"]


def test_shares_and_languages_counted_by_hand(scored, scores_of, hypotheses):
    entry = scores_of(scored("toy", hypotheses))["directions"]["de-fr"]
    assert entry["identified_languages"] == {"(empty)": 1, "de": 1, "en": 1, "fr": 1}
    assert entry["off_target"] == 0.75
    assert entry["identifier_error"] == 0.0
    assert entry["copied"] == 0.25
    assert entry["empty"] == 0.25
    assert entry["comet"] is None


def test_averages_are_means_over_directions(scored, scores_of, hypotheses):
    record = scores_of(scored("toy", hypotheses))
    averages, directions = record["averages"], record["directions"]
    assert {group: means["directions"] for group, means in averages.items()} == {
        "supervised": 2, "zero-shot": 1, "from-en": 1, "to-en": 1, "all": 3,
    }  # fmt: skip
    assert averages["supervised"]["bleu"] == pytest.approx(100.0)
    assert averages["all"]["bleu"] == pytest.approx(sum(one["bleu"] for one in directions.values()) / 3)
    assert averages["zero-shot"]["off_target"] == 0.75
    assert averages["zero-shot"]["comet"] is None


def test_scores_repeat_the_translation(scored, scores_of, hypotheses):
    out = scored("toy", hypotheses)
    translation, record = json.loads((out / "translate.json").read_text()), scores_of(out)
    for name in ("system", "checkpoint", "data", "split", "beam", "command", "versions"):
        assert record[name] == translation[name]
    assert (record["kind"], record["dataset"]) == ("scores", "toy")
    assert record["directions"]["de-fr"]["kind"] == "zero-shot"


def test_scored_twice_is_skipped_and_same_bytes_when_forced(scored, command, hypotheses):
    out = scored("toy", hypotheses)
    first = {name: (out / name).read_bytes() for name in ("bleu_statistics.npz",)}
    before = (out / "scores.json").stat().st_mtime_ns
    assert "skipped" in command("score", out).err
    assert (out / "scores.json").stat().st_mtime_ns == before
    assert command("score", out, "--force").status == 0
    assert (out / "scores.json").stat().st_mtime_ns != before
    assert {name: (out / name).read_bytes() for name in first} == first


def test_changed_hypotheses_are_scored_again(scored, scores_of, command, hypotheses, texts):
    out = scored("toy", hypotheses)
    (out / "de-fr.txt").write_text("".join(f"{line}\n" for line in texts["fr"]), encoding="utf-8")
    assert command("score", out, "--workers", "1").status == 0
    assert scores_of(out)["directions"]["de-fr"]["bleu"] == pytest.approx(100.0)


def test_moved_data(translated, scores_of, command, hypotheses, data, tmp_path):
    out = translated("toy", hypotheses)
    data.rename(tmp_path / "moved")
    assert "--data DATA if the data has moved" in command("score", out).err
    assert command("score", out, "--data", tmp_path / "moved", "--workers", "1").status == 0
    assert scores_of(out)["dataset"] == "toy"


@pytest.mark.parametrize(("file", "found"), [("hypothesis", 3), ("reference", 4), ("source", 4)])
def test_unequal_lines_name_file_and_counts(translated, command, hypotheses, data, file, found):
    out = translated("toy", hypotheses)
    path = {
        "hypothesis": out / "de-fr.txt",
        "reference": data / "text" / "test.de-fr.fr",
        "source": data / "text" / "test.de-fr.de",
    }[file]
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:3]), encoding="utf-8")
    result = command("score", out, "--workers", "1")
    assert result.status == 2
    other = data / "text" / "test.de-fr.de" if file == "hypothesis" else path
    expected = f"{out / 'de-fr.txt'}: {found} lines, expected {7 - found} as in {other} (direction de-fr)"
    assert result.err.strip().splitlines()[-1] == f"error: {expected}"
    assert not (out / "scores.json").exists()


@pytest.mark.parametrize("name", ["de-fr.txt", "translate.json"])
def test_missing_file_is_named(translated, command, hypotheses, name):
    out = translated("toy", hypotheses)
    (out / name).unlink()
    result = command("score", out)
    assert result.status == 2 and f"{out / name}: no such file" in result.err


def test_hypotheses_that_do_not_match_their_checksum(translated, command, hypotheses):
    out = translated("toy", hypotheses)
    record = json.loads((out / "translate.json").read_text())
    record["directions"]["de-fr"]["sha256"] = "0" * 64
    (out / "translate.json").write_text(json.dumps(record))
    assert "de-fr.txt: changed since translate.json was written" in command("score", out).err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workers", "0"], "--workers: found '0'"),
        (["--comet-python", "x"], "together with --comet-model"),
    ],
)
def test_bad_options(translated, command, hypotheses, options, message):
    result = command("score", translated("toy", hypotheses), *options)
    assert result.status == 2 and message in result.err
