"""The groups of languages of the thesis give the averages that it prints (Tables 2.1, 2.4, 2.5, 2.14)."""

from pathlib import Path
from statistics import fmean

import pytest

from command_line.errors import InputError
from embeddings.groups import groups_file, pairs_of_group, read_groups

# Table 2.4: P@1 on Tatoeba of three of its systems.
LANGUAGES = """
afr ara ben bul cat ces cmn dan deu ell epo est eus fin fra glg heb hin hrv hun hye ind ita jav jpn kat
kaz kor kur lit lvs mal mar max mkd mon nld nob pes pol por ron rus slk slv spa sqi srp swe swh tam tel
tgl tha tur ukr urd vie
"""
TABLE_2_4 = {
    "LASER": [
        89.5, 92.0, 89.6, 95.0, 95.9, 96.5, 95.4, 96.0, 99.0, 95.0, 97.2, 96.7, 94.6, 96.3, 95.6, 95.5, 92.2,
        94.7, 97.2, 96.0, 36.1, 94.5, 95.3, 22.9, 90.7, 35.9, 18.6, 88.9, 17.2, 96.2, 95.4, 96.9, 91.5, 50.9,
        94.7, 8.2, 96.3, 98.8, 93.4, 97.8, 95.2, 97.4, 94.6, 96.6, 95.9, 98.0, 98.0, 95.3, 96.6, 57.6, 69.4,
        79.7, 50.6, 95.4, 97.5, 94.5, 81.9, 96.8,
    ],
    "SBERT-distill": [
        84.5, 87.7, 77.6, 94.0, 96.4, 96.3, 95.0, 96.2, 98.7, 95.5, 68.8, 95.8, 48.6, 96.4, 94.7, 96.0, 88.4,
        96.4, 97.0, 94.7, 91.3, 94.1, 94.9, 37.3, 94.2, 91.4, 73.7, 90.1, 43.7, 95.8, 96.4, 94.0, 91.0, 58.5,
        92.2, 91.7, 96.0, 98.0, 94.8, 97.0, 94.8, 96.4, 93.5, 96.2, 95.5, 98.0, 97.5, 93.8, 95.7, 27.6, 85.7,
        89.1, 32.4, 96.3, 97.2, 94.3, 92.2, 97.2,
    ],
    "EMS": [
        94.0, 93.9, 83.8, 95.8, 97.0, 97.4, 95.9, 97.0, 99.3, 96.5, 98.9, 97.8, 94.9, 98.0, 96.2, 97.1, 92.5,
        93.4, 97.5, 97.4, 87.8, 95.8, 96.7, 55.6, 95.8, 73.5, 63.8, 92.3, 31.3, 97.3, 96.9, 77.8, 88.2, 69.9,
        97.0, 73.9, 97.7, 97.5, 96.0, 98.2, 95.9, 97.9, 95.2, 97.5, 97.1, 98.6, 98.4, 96.4, 97.0, 53.2, 52.8,
        69.7, 84.8, 97.4, 98.6, 96.0, 86.0, 97.7,
    ],
}  # fmt: skip
TABLE_2_5 = {  # and the averages of Tables 2.4 and 2.14
    "LASER": {"mUSE": 95.1, "XTREME": 84.2, "<LASER": 89.6, ">300k": 94.4, "<300k": 58.3, "58": 84.7},
    "SBERT-distill": {
        "mUSE": 94.9, "XTREME": 85.5, "SBERT-distill": 94.8, ">300k": 92.1, "<300k": 73.3, "58": 87.7
    },
    "EMS": {
        "mUSE": 96.6, "XTREME": 88.2, "SBERT-distill": 95.0, "<LASER": 91.8, ">300k": 95.4, "<300k": 72.0,
        "58": 89.8, ">300k, 43": 95.4, "<300k, 15": 73.7,
    },
}  # fmt: skip
# Some of Table 2.6.
UNSEEN = "amh ang arq arz ast aze ber bos cym fao isl khm lat nds nno uzb wuu yid yue zsm"


@pytest.fixture
def groups():
    return read_groups(groups_file(Path("ems")))


@pytest.mark.parametrize("system", TABLE_2_4)
def test_averages_are_those_of_the_thesis(groups, system):
    scores = dict(zip(LANGUAGES.split(), TABLE_2_4[system], strict=True)) | dict.fromkeys(UNSEEN.split(), 0.0)
    values = {f"{language}-eng": score for language, score in scores.items()}
    for group, printed in TABLE_2_5[system].items():
        pairs = pairs_of_group(values, groups[group])
        assert fmean(values[name] for name in pairs["pairs"]) == pytest.approx(printed, abs=0.06), group
        assert (len(pairs["pairs"]), pairs["missing"]) == (len(groups[group]), []), group


def test_sizes_are_those_of_the_thesis_where_english_does_not_count(groups):
    assert {name: len(groups[name]) for name in ("<LASER", ">300k", "<300k")} == {
        "<LASER": 43,
        ">300k": 42,
        "<300k": 11,
    }
    assert {len(groups[name]) for name in ("58", ">300k, 43", "<300k, 15")} == {58, 43, 15}
    of_flores = {name: len(groups[f"Flores {name}"]) for name in ("mUSE", "<300k")}
    assert {name: size * (size - 1) for name, size in of_flores.items()} == {"mUSE": 182, "<300k": 240}


def test_a_dialect_is_not_its_language():
    names = ["ara-eng", "arq-eng", "arz-eng", "deu-eng", "max-eng", "zsm-eng"]
    assert pairs_of_group(names, ["ar"])["pairs"] == ["ara-eng"]
    assert pairs_of_group(names, ["ms"])["pairs"] == ["zsm-eng"]
    assert pairs_of_group(names, ["deu_Latn"])["pairs"] == ["deu-eng"]
    assert pairs_of_group(names, ["ar", "ja"])["missing"] == ["ja"]


def test_a_language_in_the_script_that_is_meant():
    names = ["zho_Hans-fra_Latn", "zho_Hant-fra_Latn", "eng_Latn-zho_Hant"]
    assert pairs_of_group(names, ["zh_Hans", "fr"])["pairs"] == ["zho_Hans-fra_Latn"]
    assert pairs_of_group(names, ["zh_TW", "fr"])["pairs"] == ["zho_Hant-fra_Latn"]
    pairs = pairs_of_group(names, ["zh_Hans", "zho_Hant", "en"])
    assert pairs == {"pairs": ["eng_Latn-zho_Hant"], "missing": ["zh_Hans"]}


def test_persian_is_not_dari():
    names = ["eng_Latn-pes_Arab", "eng_Latn-prs_Arab"]
    assert pairs_of_group(names, ["fa"])["pairs"] == ["eng_Latn-pes_Arab"]
    assert pairs_of_group(names, ["prs"])["pairs"] == ["eng_Latn-prs_Arab"]


def test_a_file_of_ones_own_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert groups_file(Path("ems")).is_file()
    Path("ems").write_text('mine = ["de"]\n')
    assert read_groups(groups_file(Path("ems"))) == {"mine": ["de"]}
    assert groups_file(Path("folder/ems")) == Path("folder/ems")


def test_a_file_without_groups(tmp_path):
    (tmp_path / "deep.toml").write_text(f"a = {'[' * 3000}{']' * 3000}\n")
    with pytest.raises(InputError, match=r"deep\.toml: no TOML: maximum recursion depth"):
        read_groups(tmp_path / "deep.toml")
    (tmp_path / "own.toml").write_text("# none yet\n")
    with pytest.raises(InputError, match=r"own\.toml: has no group; expected lines like NAME = "):
        read_groups(tmp_path / "own.toml")


def test_a_single_pair_with_english_is_that_of_the_other_language():
    assert pairs_of_group(["eng-deu"], ["de", "fr"])["pairs"] == ["eng-deu"]
    assert pairs_of_group(["eng-deu"], ["fr"])["pairs"] == []
    assert pairs_of_group(["deu-fra"], ["de"])["pairs"] == []
    assert pairs_of_group(["deu-fra"], ["de", "fr"])["pairs"] == ["deu-fra"]
