"""`python -m eval score` against direct calls of sacreBLEU and values counted by hand."""

import hashlib
import json
import re

import pytest
from sacrebleu.metrics import BLEU, CHRF

from data_prep.bleu import tokenizer_of
from data_prep.language_identification import NO_LETTERS
from tests.data_prep.fasttext_models import write_identifier
from tests.documented_commands import ROOT
from tests.eval.scored import read_scores


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
    assert averages["all"]["bleu"] == pytest.approx(sum(entry["bleu"] for entry in directions.values()) / 3)
    assert averages["zero-shot"]["off_target"] == 0.75
    assert averages["zero-shot"]["comet"] is None


def test_translations_made_elsewhere_need_the_record_of_the_guide_alone(data, command, tmp_path, hypotheses):
    guide = (ROOT / "docs/evaluation.md").read_text(encoding="utf-8")
    (record,) = re.findall(r'```json\n(\{"format": 1, "system".*?)```', guide, flags=re.S)
    out = tmp_path / "OUT"
    out.mkdir()
    for direction in ("de-fr", "en-de"):
        text = "".join(f"{line}\n" for line in hypotheses[direction])
        (out / f"{direction}.txt").write_text(text, encoding="utf-8")
    (out / "translate.json").write_text(record, encoding="utf-8")
    data.rename(tmp_path / "DATA")
    result = command("score", out, "--data", tmp_path / "DATA", "--workers", "1")
    assert result.status == 0, result.err
    directions = read_scores(out / "scores.json")["directions"]
    assert directions["en-de"]["bleu"] == pytest.approx(100.0)
    assert directions["de-fr"]["kind"] == "zero-shot"


@pytest.fixture
def scored_as(scored, scores_of, data):
    """Function that scores hypotheses of a direction against references, under any language codes."""

    def score(direction: str, hypotheses: list[str], references: list[str], *others: str) -> dict:
        source, target = direction.split("-")
        for language, lines in (
            (source, [f"Line {i}." for i in range(len(references))]),
            (target, references),
        ):
            path = data / "text" / f"test.{'-'.join(sorted((source, target)))}.{language}"
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return scores_of(scored("toy", {direction: hypotheses}))

    return score


def test_the_identifiers_error_is_its_off_target_rate_on_the_references(scored_as, texts):
    """One reference is English; one has no letters, and with it any line is on target."""
    references = [*texts["de"][:2], texts["en"][2], "1:0"]
    output = [texts["fr"][0], texts["de"][1], texts["en"][2], texts["de"][3]]
    entry = scored_as("en-de", output, references)["directions"]["en-de"]
    assert (entry["off_target"], entry["identifier_error"]) == (0.5, 0.25)
    assert entry["identified_reference_languages"] == {"de": 2, NO_LETTERS: 1, "en": 1}


CHINESE = ["他每天早上都喝一杯热咖啡。", "我们明天去北京旅游。"]
CHINESE_OUTPUT = ["他每天早上喝一杯热咖啡。", "我们明天去北京旅行。"]


@pytest.mark.parametrize("direction", ["eng_Latn-zho_Hans", "en_XX-zh_CN", "eng-zh_Hans", "en_GB-zho"])
def test_long_codes_are_scored_as_their_language(scored_as, direction):
    record = scored_as(direction, CHINESE_OUTPUT, CHINESE)
    entry = record["directions"][direction]
    assert entry["bleu"] == BLEU(tokenize="zh").corpus_score(CHINESE_OUTPUT, [CHINESE]).score > 50
    assert (entry["off_target"], entry["off_target_note"], entry["identifier_error"]) == (0, None, 0)
    assert record["averages"]["from-en"]["directions"] == 1 and "to-en" not in record["averages"]


def test_scripts_without_spaces_are_scored_by_character(scored_as):
    references, output = ["แมวนั่งอยู่บนโต๊ะ", "วันนี้อากาศดีมาก"], ["แมวนอนอยู่บนโต๊ะ", "วันนี้อากาศดี"]
    entry = scored_as("eng_Latn-tha_Thai", output, references)["directions"]["eng_Latn-tha_Thai"]
    assert entry["bleu"] == BLEU(tokenize="char").corpus_score(output, [references]).score > 50
    assert entry["chrf"] == CHRF(word_order=2).corpus_score(output, [references]).score


def test_an_unknown_code_is_scored_with_a_warning(translated, command, scores_of, data, tmp_path):
    for language in ("en", "klingon"):
        (data / "text" / f"test.en-klingon.{language}").write_text("nuqneH Qapla'\n" * 4)
    out = translated("toy", {"en-klingon": ["nuqneH Qapla'"] * 4})
    result = command("score", out, "--workers", "1")
    (line,) = [line for line in result.err.splitlines() if line.startswith("warning")]
    assert result.status == 0 and "translate.json: klingon: not a known language code" in line
    entry = scores_of(out)["directions"]["en-klingon"]
    assert entry["off_target"] is None and entry["off_target_note"] == "the identifier does not know klingon"
    assert "tok:13a" in entry["bleu_signature"]


def test_tokenizers_are_chosen_and_scored_again(translated, command, scores_of, hypotheses, texts):
    out = translated("toy", hypotheses)
    for name in ("char", "intl", "none", "auto"):
        assert command("score", out, "--workers", "1", "--tokenize", name).status == 0
        entry = scores_of(out)["directions"]["de-fr"]
        bleu = BLEU(tokenize="13a" if name == "auto" else name)
        assert entry["bleu"] == bleu.corpus_score(hypotheses["de-fr"], [texts["fr"]]).score
        assert entry["bleu_signature"] == str(bleu.get_signature())
    assert "skipped" in command("score", out, "--workers", "1").err


def test_a_tokenizer_of_some_languages(translated, command, scores_of, hypotheses):
    out = translated("toy", hypotheses)
    assert command("score", out, "--workers", "1", "--tokenize", "fr=char, intl").status == 0
    entries = scores_of(out)["directions"]
    names = {name: tokenizer_of(entry["bleu_signature"]) for name, entry in entries.items()}
    assert names == {name: "char" if name.endswith("-fr") else "intl" for name in hypotheses}
    assert {"char", "intl"} == set(names.values())
    result = command("score", out, "--tokenize", "ja=char")
    assert (
        result.status == 2 and "--tokenize ja=char: no direction into ja; there are those into" in result.err
    )
    for wrong in ("fr=moses", "char,intl", "fr=char,fr=intl"):
        result = command("score", out, "--tokenize", wrong)
        assert result.status == 2 and f"--tokenize: found '{wrong}', expected one of auto, 13a," in result.err
    result = command("score", out, "--tokenize", "de=flores200,flores101")
    assert "--tokenize: flores200 and flores101 are given, expected one of them" in result.err


def test_scores_of_different_tokenizers_share_no_table_and_no_mean(translated, command, hypotheses, tmp_path):
    folders = [translated("A", hypotheses), translated("A", hypotheses, seed=2), translated("B", hypotheses)]
    for folder, name in zip(folders, ("auto", "char", "char"), strict=True):
        assert command("score", folder, "--workers", "1", "--tokenize", name).status == 0
    for other in folders[1:]:
        for arguments in (
            ["compare", folders[0], other],
            ["report", folders[0], other, "--output", tmp_path / "r"],
        ):
            result = command(*arguments)
            assert result.status == 2 and result.err.count("\n") == 1
            assert "BLEU's tokenizer is char, but 13a" in result.err
            assert result.err.rstrip().endswith("; score both with the same --tokenize")


@pytest.mark.parametrize("name", ["flores200", "flores101"])
def test_spbleu_without_its_model(translated, command, hypotheses, monkeypatch, tmp_path, name):
    from sacrebleu.tokenizers import tokenizer_spm

    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path / "sacrebleu"))
    out = translated("toy", hypotheses)
    result = command("score", out, "--tokenize", name)
    assert result.status == 2 and result.err.count("\n") == 1
    assert f"no such file; --tokenize {name} needs it: download https://" in result.err
    assert f"error: {tmp_path / 'sacrebleu' / 'models'}" in result.err
    missing = command("score", out, "--tokenize", name, "--tokenizer-model", tmp_path / "x.model")
    assert missing.status == 2 and "x.model: no such file, expected the model of" in missing.err


def test_a_model_of_spbleu_needs_its_tokenizer(translated, command, hypotheses):
    result = command("score", translated("toy", hypotheses), "--tokenizer-model", "x.model")
    assert (
        result.status == 2 and "--tokenizer-model: only with --tokenize flores200 or flores101" in result.err
    )


def test_spbleu_is_sacrebleus(translated, command, scores_of, hypotheses, texts, monkeypatch, tmp_path):
    from sacrebleu.tokenizers import tokenizer_spm

    path = tmp_path / "sacrebleu" / "models" / "flores200sacrebleuspm"
    train_sentencepiece(path, [line for lines in texts.values() for line in lines])
    monkeypatch.setattr(tokenizer_spm, "SACREBLEU_DIR", str(tmp_path / "sacrebleu"))
    bleu = BLEU(tokenize="flores200")  # reads the file there
    expected = bleu.corpus_score(hypotheses["de-fr"], [texts["fr"]]).score
    out = translated("toy", hypotheses)
    assert command("score", out, "--workers", "1", "--tokenize", "flores200").status == 0
    entry = scores_of(out)["directions"]["de-fr"]
    assert (entry["bleu"], entry["bleu_signature"]) == (expected, str(bleu.get_signature()))
    own = tmp_path / "own.model"
    path.rename(own)
    options = ("--workers", "1", "--tokenize", "flores200", "--tokenizer-model", own)
    assert command("score", out, *options).status == 0
    entry = scores_of(out)["directions"]["de-fr"]
    digest = hashlib.sha256(own.read_bytes()).hexdigest()
    assert entry["bleu"] == expected and f"tok:flores200-{digest[:8]}|" in entry["bleu_signature"]
    own.write_bytes(b"damaged")
    result = command("score", out, *options)
    assert result.status == 2 and "own.model: not a sentencepiece model" in result.err


def test_another_identifier(translated, texts, command, scores_of, tmp_path):
    """Scores are made again, and are not shown beside those by the packaged one."""
    words = {f"{code}_Latn": " ".join(texts[short]).split() for code, short in (("deu", "de"), ("eng", "en"))}
    model = write_identifier(tmp_path / "lid.bin", words)
    outs = [translated(name, {"en-de": [*texts["de"][:3], texts["en"][3]]}) for name in "AB"]
    assert command("score", *outs, "--workers", "1").status == 0
    result = command("score", outs[0], "--workers", "1", "--identifier", model)
    assert result.status == 0 and "skipped" not in result.err
    entry = scores_of(outs[0])["directions"]["en-de"]
    assert (entry["off_target"], entry["identified_languages"]) == (0.25, {"deu_Latn": 3, "eng_Latn": 1})
    result = command("report", *outs, "--output", tmp_path / "report")
    assert result.status == 2 and "scores.json: the identifier of languages is" in result.err
    assert command("report", outs[0], "--output", tmp_path / "report").status == 0
    report = (tmp_path / "report/report.html").read_text(encoding="utf-8")
    assert "en 25.0%" in report and "eng_Latn" not in report


def train_sentencepiece(path, sentences) -> None:
    import sentencepiece

    path.parent.mkdir(parents=True)
    with open(path, "wb") as stream:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences), model_writer=stream, vocab_size=60, model_type="bpe",
            minloglevel=2,
        )  # fmt: skip


def test_scored_twice_is_skipped_and_same_bytes_when_forced(scored, command, hypotheses):
    out = scored("toy", hypotheses)
    first = {name: (out / name).read_bytes() for name in ("line_statistics.npz",)}
    before = (out / "scores.json").stat().st_mtime_ns
    assert "skipped" in command("score", out).err
    assert (out / "scores.json").stat().st_mtime_ns == before
    assert command("score", out, "--force").status == 0
    assert (out / "scores.json").stat().st_mtime_ns != before
    assert {name: (out / name).read_bytes() for name in first} == first


@pytest.mark.parametrize("name", ["scores.json", "scores.csv", "line_statistics.npz"])
def test_damaged_results_are_made_again(scored, scores_of, command, hypotheses, name):
    out = scored("toy", hypotheses)
    expected = scores_of(out)["directions"]
    (out / name).write_text("{}", encoding="utf-8")
    result = command("score", out, "--workers", "1")
    assert result.status == 0 and f"{name} has changed since; `score` is done again" in result.err
    assert scores_of(out)["directions"] == expected and (out / name).read_bytes() != b"{}"


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


def test_data_is_found_relative_to_the_record(translated, command, hypotheses, monkeypatch):
    out = translated("toy", hypotheses, data={"path": "../toy"})
    monkeypatch.chdir("/")
    assert command("score", out, "--workers", "1").status == 0


@pytest.mark.parametrize(("file", "lines"), [("hypothesis", 3), ("reference", 4), ("source", 4)])
def test_unequal_lines_name_file_and_counts(translated, command, hypotheses, data, file, lines):
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
    expected = f"{out / 'de-fr.txt'}: {lines} lines, expected {7 - lines} as in {other} (direction de-fr)"
    assert result.err.strip().splitlines()[-1] == f"error: {expected}"
    assert not (out / "scores.json").exists()


@pytest.mark.parametrize("name", ["de-fr.txt", "translate.json"])
def test_missing_file_is_named(translated, command, hypotheses, name):
    out = translated("toy", hypotheses)
    (out / name).unlink()
    result = command("score", out)
    assert result.status == 2 and f"{out / name}: no such file" in result.err


def test_a_folder_may_be_given_by_its_file(translated, command, scores_of, hypotheses):
    out = translated("toy", hypotheses)
    assert command("score", out / "translate.json").status == 0
    assert scores_of(out)["directions"]["de-fr"]["bleu"] > 0


def test_hypotheses_that_do_not_match_their_checksum(translated, command, hypotheses):
    out = translated("toy", hypotheses)
    record = json.loads((out / "translate.json").read_text())
    record["directions"]["de-fr"]["sha256"] = "0" * 64
    (out / "translate.json").write_text(json.dumps(record))
    assert "de-fr.txt: changed since translate.json was written" in command("score", out).err
