"""`eval translate --engine ctranslate2`: the hypotheses of our search, from a folder that is made once."""

import json
from pathlib import Path

import pytest

from eval.translation.engine_options import EngineOptions
from eval.translation.model_options import load_translator
from eval.translation.search_options import DecodingOptions, SearchOptions
from eval.translation.translator import TranslatorOptions
from tests.eval.translation.packages import SENTENCES, package, words_of, write_checkpoint
from tests.fairseq_ext.export.translation_models import write_data, write_model

SEARCH = ("--cpu", "--max-len-b", "12", "--beam", "3")


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("engine")
    data = write_data(folder / "data")
    write_model(folder / "model.pt", data)
    package(folder / "system", data, folder / "model.pt", options=("--sets", "test"))
    (folder / "text.de").write_text("".join(f"{words_of(sentence)}\n" for sentence in SENTENCES["de"]))
    return folder


@pytest.fixture
def translate(root, command):
    def call(*words, engine="ctranslate2", checkpoint=root / "model.pt"):
        where = ("--data", root / "data") if checkpoint.suffix == ".pt" else ()
        return command("translate", "--checkpoint", checkpoint, *where, *SEARCH, "--engine", engine, *words)

    return call


def hypotheses(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.glob("*-*.txt"))}


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--score-without-tag", "--lenpen", "0.5"),
        ("--max-len-a", "0.5", "--max-len-b", "3"),
        ("--pivot", "en"),
    ],
    ids=["defaults", "without tag", "lengths", "pivot"],
)
def test_all_directions_have_the_hypotheses_of_our_search(translate, tmp_path, words):
    assert translate("--output", tmp_path / "ours", *words, engine="pytorch").status == 0
    result = translate("--output", tmp_path / "theirs", *words)
    assert result.status == 0, result.err
    assert len(hypotheses(tmp_path / "ours")) == (2 if words[:1] == ("--pivot",) else 6)
    assert hypotheses(tmp_path / "theirs") == hypotheses(tmp_path / "ours")
    assert len(set(hypotheses(tmp_path / "ours").values())) > 1


def test_the_record_names_engine_and_precision(translate, tmp_path, command):
    for name, words in (("exact", ()), ("bits", ("--precision", "int8"))):
        assert translate("--output", tmp_path / name, *words).status == 0
    records = [json.loads((tmp_path / name / "translate.json").read_text()) for name in ("exact", "bits")]
    assert [record["engine"] for record in records] == ["ctranslate2 float32", "ctranslate2 int8"]
    assert command("score", tmp_path / "exact", "--workers", "1").status == 0


def test_the_folder_is_made_once_beside_the_checkpoint(root, translate, tmp_path):
    made = root / "system/model.ctranslate2"
    first = translate("--output", tmp_path / "a", checkpoint=root / "system")
    assert first.status == 0 and f"{made}: model.pt is written for CTranslate2" in first.err
    before = (made / "model.bin").stat().st_mtime_ns
    second = translate("--output", tmp_path / "b", checkpoint=root / "system")
    assert "is written" not in second.err and (made / "model.bin").stat().st_mtime_ns == before
    assert hypotheses(tmp_path / "a") == hypotheses(tmp_path / "b")


@pytest.mark.parametrize("name", ["model.bin", "config.json", "shared_vocabulary.json"])
def test_a_damaged_folder_is_made_again(root, translate, tmp_path, name):
    words = ("--engine-folder", tmp_path / "made")
    assert translate("--output", tmp_path / "a", *words).status == 0
    whole = (tmp_path / "made" / name).read_bytes()
    (tmp_path / "made" / name).write_bytes(whole[: len(whole) // 2])
    result = translate("--output", tmp_path / "b", *words, "--force")
    assert result.status == 0 and f"{name} has changed since; `export` is done again" in result.err
    assert (tmp_path / "made" / name).read_bytes() == whole
    assert hypotheses(tmp_path / "a") == hypotheses(tmp_path / "b")


def test_another_checkpoint_under_the_name_has_a_folder_of_its_own(root, translate, tmp_path):
    data = root / "data"
    checkpoint = write_model(tmp_path / "model.pt", data)
    assert translate("--output", tmp_path / "a", checkpoint=checkpoint).status == 0
    write_model(tmp_path / "model.pt", data, norm_placement="pre")
    result = translate("--output", tmp_path / "b", checkpoint=checkpoint)
    assert result.status == 0 and "is written for CTranslate2" in result.err
    assert translate("--output", tmp_path / "c", checkpoint=checkpoint, engine="pytorch").status == 0
    assert hypotheses(tmp_path / "b") == hypotheses(tmp_path / "c") != hypotheses(tmp_path / "a")


def test_a_text_and_python(root, translate):
    words = ("--input", root / "text.de", "--direction", "de-fr", "--n-best", "2")
    ours, theirs = translate(*words, engine="pytorch"), translate(*words)
    assert theirs.status == 0, theirs.err
    rows = [[line.split("\t") for line in result.out.splitlines()] for result in (ours, theirs)]
    assert [(row[0], row[2]) for row in rows[0]] == [(row[0], row[2]) for row in rows[1]]
    for row, other in zip(*rows, strict=True):
        assert float(row[1]) == pytest.approx(float(other[1]), abs=2e-4)
    options = TranslatorOptions(
        DecodingOptions(SearchOptions(beam=3, max_len_b=12), cpu=True), engine=EngineOptions("ctranslate2")
    )
    lines = [words_of(sentence) for sentence in SENTENCES["de"]]
    result = load_translator(root / "system", options).translate(lines, "de", "fr")
    assert result == [row[2] for row in rows[0][::2]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--engine pytorch --precision int8", "--precision: needs --engine ctranslate2; give both"),
        ("--engine pytorch --engine-folder {t}", "--engine-folder: needs --engine ctranslate2"),
        ("--no-repeat-ngram 3", "--no-repeat-ngram: not with --engine ctranslate2"),
        ("--length-candidates 2", "--length-candidates: not with --engine ctranslate2"),
        ("--lenpen -1", "--lenpen below 0: not with --engine ctranslate2"),
        ("--bf16", "--bf16: not with --engine ctranslate2; use --precision bfloat16"),
        ("--precision int8_float16", "--precision int8_float16: this processor has float32"),
        ("--engine-folder {r}/model.pt", "--engine-folder: {r}/model.pt is a file, expected a folder"),
        ("--precision int3", "--precision: invalid choice: 'int3'"),
        ("--engine-folder {r}/of-another", "not exported from {r}/model.pt for CTranslate2"),
    ],
)
def test_nonsense_is_one_line(root, translate, tmp_path, words, message):
    if "of-another" in words and not (root / "of-another").exists():
        from tests.eval.translation.packages import fairseq_ext

        other = write_model(root / "other.pt", root / "data", norm_placement="pre")
        to = ("--to", "ctranslate2", "--data", root / "data", "--check-lines", "1")
        assert fairseq_ext("export", other, root / "of-another", *to) == 0
    result = translate("--output", tmp_path / "out", *words.format(r=root, t=tmp_path).split())
    assert result.status == 2 and message.format(r=root, t=tmp_path) in result.err, result.err
    assert result.err.splitlines()[-1].startswith("error:")


def test_a_folder_of_rounded_weights_is_not_called_float32(root, translate, tmp_path):
    """One that the options name is refused, one beside the checkpoint is made again."""
    from tests.eval.translation.packages import fairseq_ext

    checkpoint = write_model(tmp_path / "model.pt", root / "data")
    rounded = tmp_path / "model.ctranslate2"
    to = ("--to", "ctranslate2", "--precision", "int8", "--data", root / "data", "--check-lines", "1")
    assert fairseq_ext("export", checkpoint, rounded, *to) == 0
    before = (rounded / "model.bin").stat().st_size
    named = translate("--output", tmp_path / "out", "--engine-folder", rounded, checkpoint=checkpoint)
    assert (
        named.status == 2
        and f"{rounded}: not exported from {checkpoint} for CTranslate2 in float32" in named.err
    )
    beside = translate("--output", tmp_path / "out", checkpoint=checkpoint)
    assert beside.status == 0 and "is written for CTranslate2" in beside.err
    assert (rounded / "model.bin").stat().st_size > before


def test_what_cannot_be_exported_is_not_translated_either(root, translate, tmp_path):
    checkpoint = write_checkpoint(tmp_path / "swap.pt", root / "data", norm_placement="swap-pre")
    result = translate("--output", tmp_path / "out", checkpoint=checkpoint)
    assert result.status == 2 and "--norm-placement swap-pre" in result.err
    options = ("--combine", "ensemble")
    made = package(tmp_path / "both", root / "data", root / "model.pt", checkpoint, options=options)
    result = translate("--output", tmp_path / "out", "--data", root / "data", checkpoint=made)
    assert result.status == 2 and "an ensemble of 2 models, expected one" in result.err
