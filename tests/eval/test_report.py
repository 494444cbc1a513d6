"""`python -m eval report`: layout of Tables 8.2 and E.3-E.8, escaping, determinism."""

import base64
import contextlib
import csv
import hashlib
import html.parser
import os
import re
from itertools import pairwise
from pathlib import Path

import pytest

from tests.eval.compared import read_comparison, set_number
from tests.eval.scored import read_scores

NAME = "<script>alert('x')</script> | a&b"


@pytest.fixture
def folders(scored, texts) -> list:
    """PreNorm and PostNorm, seeds 1 and 2: PreNorm's zero-shot output is English, PostNorm's right."""
    made = []
    for placement, name in (("pre", "PreNorm"), ("post", "PostNorm")):
        for seed in (2, 1):
            de_fr = texts["fr"] if placement == "post" else texts["en"][: seed + 2] + texts["fr"][seed + 2 :]
            made.append(
                scored(
                    name,
                    {"de-fr": de_fr, "de-en": texts["en"], "en-de": texts["de"]},
                    seed=seed,
                    system={"norm_placement": placement},
                )
            )
    return made


def markdown_rows(output, caption: str) -> list[list[str]]:
    """Cells of the Markdown table above a caption."""
    blocks = (output / "report.md").read_text(encoding="utf-8").split("\n\n")
    table = next(block for block, below in pairwise(blocks) if below.startswith(f"*{caption}"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def csv_rows(path) -> list[dict]:
    with open(path, encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_summary_has_the_layout_of_table_8_2(folders, report):
    rows = markdown_rows(report(*folders), "BLEU and off-target rates")
    assert rows[0] == ["#", "Layer Norm", "Language Tag", "Res.", "Zero-shot BLEU toy", "Supervised BLEU toy"]
    assert [row[:4] for row in rows[2:]] == [
        ["1", "PreNorm", "S-ENC-T-DEC", "w/"],
        ["2", "PostNorm", "S-ENC-T-DEC", "w/"],
    ]
    # Three and four of four lines are English: 75% and 100%. Untested BLEU is not bold.
    assert re.fullmatch(r"\d+\.\d ± \d+\.\d \(87\.50%\)", rows[2][4])
    assert rows[3][4:] == ["100.0 ± 0.0 (0.00%)", "100.0 ± 0.0"]


def test_significantly_higher_scores_are_bold(folders, report, command, tmp_path):
    comparison = tmp_path / "comparison.json"
    assert command("compare", *folders, "--output", comparison).status == 0
    assert read_comparison(comparison)["comparisons"][0]["axis"] == "placement of normalization"
    for significant, expected in ((1, "**100.0 ± 0.0** (0.00%)"), (0, "100.0 ± 0.0 (0.00%)")):
        set_number(comparison, significant, part="overall", direction="zero-shot", measure="significant")
        output = report(*folders, comparison)
        assert markdown_rows(output, "BLEU and off-target rates")[3][4] == expected
    text = (output / "report.md").read_text()
    assert "## Significance" in text and "conditional on these trainings" in text
    assert "From and to: the 95% interval" in text


def test_the_result_stands_first_in_a_sentence(folders, report, command, tmp_path):
    """Best is PostNorm, which translates into French; PreNorm's output is English."""
    begins = "Zero-shot translation on toy: PostNorm is best, with BLEU 100.0 ± 0.0, 0.00% off target"
    (sentence,) = re.findall(
        "^Zero-shot translation on toy: .*", (report(*folders) / "report.md").read_text(), re.M
    )
    assert re.fullmatch(rf"{begins}: \d+\.\d more than PreNorm\. The difference was not tested\.", sentence)
    comparison = tmp_path / "comparison.json"
    comparison_of(command, folders, comparison)
    for significant, verdict in ((1, "significant"), (0, "not significant")):
        set_number(comparison, significant, part="overall", direction="zero-shot", measure="significant")
        text = (report(*folders, comparison) / "report.md").read_text()
        (sentence,) = re.findall("^Zero-shot translation on toy: .*", text, re.M)
        test = read_comparison(comparison)["comparisons"][0]["overall"]["zero-shot"]
        numbers = f"{test['difference_low']:+.1f} to {test['difference_high']:+.1f}, p = "
        assert sentence.startswith(
            f"{begins}. That is {test['difference']:.1f} more than PreNorm (95% interval {numbers}"
        )
        assert sentence.endswith(f": the difference is {verdict}.")


def comparison_of(command, folders, path) -> dict:
    assert command("compare", *folders, "--output", path).status == 0
    return read_comparison(path)


def test_bold_is_of_one_family(scored, data, texts, report, command, tmp_path):
    """PreNorm is better with either placement of tags; that tags differ, too, takes no mark away."""
    for path in (data / "text").iterdir():
        path.write_text(path.read_text(encoding="utf-8") * 30, encoding="utf-8")
    empty = {"pre t-enc": 1, "post t-enc": 5, "pre t-dec": 3, "post t-dec": 9}  # of ten lines
    folders = []
    for name, count in empty.items():
        norm, tags = name.split()
        lines = ["" if i % 10 < count else line for i, line in enumerate(texts["fr"] * 30)]
        settings = {"norm_placement": norm, "language_tags": tags}
        folders.append(scored(name, {"de-fr": lines}, system=settings))
    comparison = tmp_path / "comparison.json"
    assert len(comparison_of(command, folders, comparison)["comparisons"]) == 4
    output = report(*folders, comparison)
    rows = markdown_rows(output, "BLEU and off-target rates")[2:]
    bold = {tuple(row[1:3]) for row in rows if row[4].startswith("**")}
    assert bold == {("PreNorm", "T-ENC"), ("PreNorm", "T-DEC")}
    text = (output / "report.md").read_text()
    assert "the other one of PreNorm and PostNorm that differ in nothing else (one family of 2 tests" in text
    assert (output / "tables" / "significance_overall_toy_bleu_language-tags.csv").is_file()


POST = {"norm_placement": "post"}
SIMPLE = POST | {"norm_affine": False}
MARKED = {  # name -> empty lines of ten, and what the system is; pairs that are compared besides; who is bold
    "Swap-PreNorm is on the same axis, and takes no mark from PostNorm": (
        {"pre": (6, {}), "post": (3, POST), "swap-pre": (1, {"norm_placement": "swap-pre"}),
         "no-enc-last": (0, {"encoder_final_norm": False})},
        [], {"PostNorm"},
    ),
    "who is in pairs that are named, too, is marked if it is better in both": (
        {"t-enc": (6, POST | {"language_tags": "t-enc"}), "t-dec": (3, POST | {"language_tags": "t-dec"}),
         "simple": (0, SIMPLE | {"language_tags": "t-enc"}),
         "other": (4, SIMPLE | {"language_tags": "t-dec"})},
        ["t-enc:other"], {"PostNorm", "PostNorm-simple"},
    ),
    "pairs that are named count where no placement differs, as in Table 7.2": (
        {"mnmt": (6, POST | {"language_tags": "t-enc"}), "mnmt-tags": (9, POST | {"language_tags": "t-dec"}),
         "variable": (2, SIMPLE | {"language_tags": "t-dec"})},
        ["mnmt:variable"], {"PostNorm-simple"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MARKED)
def test_which_comparisons_count_for_bold(scored, data, texts, report, command, tmp_path, case):
    systems, pairs, expected = MARKED[case]
    for path in (data / "text").iterdir():
        path.write_text(path.read_text(encoding="utf-8") * 30, encoding="utf-8")
    folders = []
    for name, (count, settings) in systems.items():
        lines = ["" if i % 10 < count else line for i, line in enumerate(texts["fr"] * 30)]
        folders.append(scored(name, {"de-fr": lines}, system=settings))
    comparison = tmp_path / "comparison.json"
    options = ["--pairs", *pairs] if pairs else []
    assert command("compare", *folders, *options, "--output", comparison).status == 0
    rows = markdown_rows(report(*folders, comparison), "BLEU and off-target rates")
    assert {row[1] for row in rows[2:] if "**" in row[-2].partition("(")[0]} == expected


def test_what_was_not_tested_is_not_bold(scored, data, texts, report, command, tmp_path):
    """PostNorm has one more zero-shot direction: the mean that is shown is not the one that was tested."""
    for path in (data / "text").iterdir():
        path.write_text(path.read_text(encoding="utf-8") * 30, encoding="utf-8")
    wrong, right = ["nothing"] * 120, {"de-fr": texts["fr"] * 30}
    directions = {"pre": {"de-fr": wrong}, "post": right | {"fr-de": wrong}}
    for name, bold in (("one", False), ("two", True)):
        folders = [
            scored(
                norm,
                right if bold and norm == "post" else of_norm,
                folder=name + norm,
                system={"norm_placement": norm},
            )
            for norm, of_norm in directions.items()
        ]
        comparison = tmp_path / f"{name}.json"
        (compared,) = comparison_of(command, folders, comparison)["comparisons"]
        assert compared["overall"]["zero-shot"]["significant"]
        rows = markdown_rows(report(*folders, comparison, folder=name), "BLEU and off-target rates")
        assert rows[3][4].startswith("**100.0**" if bold else "50.0 (")


def test_comparisons_of_other_scores_are_refused(folders, command, tmp_path):
    path = tmp_path / "comparison.json"
    comparison_of(command, folders, path)
    scores = folders[0] / "scores.json"
    scores.write_text(scores.read_text() + " ")
    result = command("report", *folders, path, "--output", tmp_path / "report")
    assert result.status == 2 and f"{path}: was not made from {scores}, a run of 'PreNorm'" in result.err


def test_marks_of_two_families_are_refused(folders, command, tmp_path):
    paths = [tmp_path / "one.json", tmp_path / "two.json"]
    for path in paths:
        comparison_of(command, folders, path)
    result = command("report", *folders, *paths, "--output", tmp_path / "report")
    assert result.status == 2
    assert f"{paths[1]} and {paths[0]}: both compare on toy by bleu" in result.err


def test_systems_that_differ_in_the_norm_alone_stand_beside_each_other(folders, scored, texts, report):
    other = scored("Other", {"de-fr": texts["en"], "en-de": texts["de"]}, system={"language_tags": "t-enc"})
    output = report(*folders, other)
    rows = markdown_rows(output, "BLEU in supervised directions")
    group = "S-ENC-T-DEC w/ Res."
    assert rows[0] == ["Direction", f"{group} PreNorm", f"{group} PostNorm", "T-ENC w/ Res. PreNorm"]
    assert rows[2:] == [
        ["en-de", "100.0 ± 0.0", "100.0 ± 0.0", "100.0"],
        ["de-en", "100.0 ± 0.0", "100.0 ± 0.0", "–"],
        ["Average", "100.0 ± 0.0", "100.0 ± 0.0", "100.0"],
    ]
    numbers = csv_rows(output / "tables" / "bleu_zero-shot_toy.csv")
    assert [(row["system"], row["seed"]) for row in numbers] == [
        ("PreNorm", "1"), ("PreNorm", "2"), ("PostNorm", "1"), ("PostNorm", "2"), ("Other", "1"),
    ]  # fmt: skip
    assert float(numbers[2]["value"]) == pytest.approx(100.0)


def test_summary_numbers_with_deviation(folders, report):
    rows = csv_rows(report(*folders) / "tables" / "summary.csv")
    pre = next(row for row in rows if (row["system"], row["group"]) == ("PreNorm", "zero-shot"))
    assert float(pre["off_target_mean"]) == 0.875
    assert float(pre["off_target_std"]) == pytest.approx(0.125 * 2**0.5, rel=1e-3)
    assert pre["comet_mean"] == "" and pre["seeds"] == "2"


def test_zero_shot_and_supervised_bleu_of_every_training(folders, report):
    rows = csv_rows(report(*folders) / "tables" / "zero-shot-supervised_toy.csv")
    assert [(row["System"], row["Seed"]) for row in rows] == [
        ("PreNorm", "1"), ("PreNorm", "2"), ("PostNorm", "1"), ("PostNorm", "2"),
    ]  # fmt: skip
    pre_2, pre_1, post_2, post_1 = folders
    made = [pre_1, pre_2, post_1, post_2]
    scores = [read_scores(Path(folder) / "scores.json")["averages"] for folder in made]
    for row, averages in zip(rows, scores, strict=True):
        assert float(row["Zero-shot BLEU"]) == pytest.approx(averages["zero-shot"]["bleu"], rel=1e-3)
        assert float(row["Supervised BLEU"]) == pytest.approx(averages["supervised"]["bleu"], rel=1e-3)
    alone = report(*folders[:2], folder="alone")  # of one system there is nothing to see
    assert not (alone / "plots/zero-shot-supervised_toy.png").exists()


def test_datasets_are_column_groups(scored, texts, report):
    outs = [
        scored("A", {"de-fr": texts["fr"], "en-de": texts["de"]}, folder=name, dataset=name)
        for name in ("OPUS", "IWSLT")
    ]
    header, _, row = markdown_rows(report(*outs), "BLEU and off-target rates")
    assert header[4:] == [
        "Zero-shot BLEU OPUS",
        "Zero-shot BLEU IWSLT",
        "Supervised BLEU OPUS",
        "Supervised BLEU IWSLT",
    ]
    assert row[4:] == ["100.0 (0.00%)", "100.0 (0.00%)", "100.0", "100.0"]


def test_unknown_system_shows_its_name(scored, texts, report):
    unknown = dict.fromkeys(("norm_placement", "language_tags", "drop_residual_layers"))
    rows = markdown_rows(
        report(scored("stock", {"en-de": texts["de"]}, seed=None, system=unknown)), "BLEU and off-target"
    )
    assert rows[0][1] == "System" and rows[2][1:5] == ["stock", "–", "–", "–"]


def test_pivot_is_row_0(scored, texts, report):
    direct = scored("A", {"de-fr": texts["fr"], "en-de": texts["de"]})
    pivot = scored("A", {"de-fr": texts["fr"]}, folder="pivot", pivot="en")
    rows = markdown_rows(report(direct, pivot), "BLEU and off-target rates")
    assert [row[:2] for row in rows[2:]] == [["0", "Pivot (en), PreNorm"], ["1", "PreNorm"]]
    assert rows[2][5] == "–"


def test_html_is_escaped_well_formed_and_self_contained(scored, texts, report):
    output = report(scored(NAME, {"de-fr": texts["en"]}, folder="evil", dataset='"><img src=x>'))
    text = (output / "report.html").read_text(encoding="utf-8")
    assert "<script" not in text and "<img src=x" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(
        r"(src|href)=\"(?!data:image/png;base64,|data:text/csv;charset=utf-8;base64,|#)", text
    )
    assert "<script" not in (output / "report.md").read_text(encoding="utf-8")
    open_tags = []

    class Checker(html.parser.HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag not in ("img", "meta"):
                open_tags.append(tag)

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    Checker().feed(text)
    assert not open_tags
    assert text.count("<details><summary>Numbers") == text.count("<img ")


def test_the_numbers_behind_every_figure_are_one_click_away(folders, report):
    output = report(*folders)
    text = (output / "report.html").read_text(encoding="utf-8")
    figures = re.findall(r"<figure>.*?</figure>", text, flags=re.S)
    link = r'<details>.*download="([^"]+)" href="data:text/csv;charset=utf-8;base64,([^"]+)"'
    assert len(figures) == len(list((output / "plots").glob("*.png"))) > 2
    for figure in figures:
        ((name, content),) = re.findall(link, figure, flags=re.S)
        assert base64.b64decode(content) == (output / "tables" / name).read_bytes()
        assert "<table>" in figure.split("<details>")[1]


def test_languages_of_off_target_lines_are_of_no_others(scored, data, texts, report):
    """A year is right in any language; where languages cannot be told apart, no line is known to be wrong."""
    for language in ("de", "fr"):
        path = data / "text" / f"test.de-fr.{language}"
        path.write_text("".join(f"{line}\n" for line in [*texts[language][:3], "2015"]), encoding="utf-8")
    for language in ("zh_Hans", "zh_Hant"):
        (data / "text" / f"test.zh_Hans-zh_Hant.{language}").write_text(
            "今天天气非常好。\n", encoding="utf-8"
        )
    right, wrong = [*texts["fr"][:3], "2015"], ["2015", texts["en"][1], texts["fr"][2], "2015"]
    kinds = {"zh_Hans-zh_Hant": ["今天天气非常好。"]}
    output = report(
        scored("A", {"de-fr": right} | kinds), scored("B", {"de-fr": wrong} | kinds),
        scored("B", {"de-fr": right} | kinds, seed=2),
    )  # fmt: skip
    rows = markdown_rows(output, "Languages of off-target lines")[2:]
    assert rows == [["de-fr", "(no letters) 12.5%, en 12.5%"]]


def test_signatures_commands_and_checksums_are_shown(folders, report):
    text = (report(*folders) / "report.html").read_text(encoding="utf-8")
    for expected in ("tok:13a", "python -m eval translate", "cd" * 32, "checkpoint_best.pt", "lid.176.ftz"):
        assert expected in text


def test_same_files_give_the_same_bytes(folders, report):
    first, second = (report(*folders, folder=name) for name in ("one", "two"))
    names = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert {"plots/bleu_toy.png", "plots/off_target_toy.png", "report.html"} <= set(map(str, names))
    assert names == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())
    for name in names:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name


def test_tables_of_an_earlier_report_go_also_of_a_killed_one(folders, report, command, tmp_path, monkeypatch):
    """Nobody takes those of results that this one has not for its numbers. Files of one's own stay."""
    comparison = tmp_path / "comparison.json"
    assert command("compare", *folders, "--output", comparison).status == 0

    def killed(title, sections):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("eval.report.markdown", killed)
        with contextlib.suppress(BaseException):
            report(*folders, comparison)
    output = tmp_path / "report"
    assert list(output.glob("tables/significance*.csv"))
    own = {"tables/mine.csv", "plots/mine.png", "notes.txt"}
    for name in own:
        (output / name).touch()
    output, alone = report(*folders), report(*folders, folder="other")
    written, expected = (
        {str(path.relative_to(folder)) for path in folder.rglob("*.*")} for folder in (output, alone)
    )
    assert written == expected | own


def test_a_list_of_files_leads_nowhere_else(folders, report, tmp_path):
    output = report(*folders)
    other = tmp_path / "tables.csv"
    other.touch()
    with open(output / "files.txt", "a") as stream:
        stream.write("../tables.csv\ntables/../../tables.csv\n/etc/none.csv\n\n")
    report(*folders)
    assert other.exists()


def test_scores_of_a_model_that_was_trained_anew_are_named(scored, texts, command, tmp_path, monkeypatch):
    """Also where they were scored again since, of the old translations."""
    monkeypatch.chdir(tmp_path)
    checkpoint = tmp_path / "checkpoint_best.pt"
    checkpoint.write_bytes(b"first")
    sha256 = hashlib.sha256(b"first").hexdigest()
    described = {"path": checkpoint.name, "sha256": sha256, "epoch": 3, "updates": 300}
    out = scored("A", {"de-en": texts["en"]}, checkpoint=described)
    assert command("report", out, "--output", "report") == (0, "report/report.html\n", "")
    later = (out / "translate.json").stat().st_mtime_ns + 1
    os.utime(checkpoint, ns=(later, later))  # a copy of the same
    assert command("report", out, "--output", "report").err == ""
    checkpoint.write_bytes(b"second")
    os.utime(checkpoint, ns=(later, later))
    result = command("report", out, "--output", "report")
    assert result.status == 0
    assert result.err == (
        f"warning: {out}/scores.json: is of an earlier checkpoint_best.pt, which was trained anew or further"
        " since; translate and score again to report on that one\n"
    )


def test_what_a_probe_was_made_from_and_has_changed_since_is_named(
    scored, texts, command, tmp_path, monkeypatch
):
    """Scores, and the checkpoints that they are of."""
    monkeypatch.chdir(tmp_path)
    folders = []
    for updates in (100, 200):
        Path(f"{updates}.pt").write_bytes(b"first")
        sha256 = hashlib.sha256(f"{updates}".encode()).hexdigest()
        described = {"path": f"{updates}.pt", "sha256": sha256, "epoch": 1, "updates": updates}
        hypotheses = {"de-en": texts["en"], "de-fr": texts["fr"]}
        folders.append(scored("A", hypotheses, folder=f"A-{updates}", checkpoint=described))
        os.utime(f"{updates}.pt", ns=(0, 0))
    assert command("probe", "learning-curves", *folders, "--output", "curves").status == 0
    given = ("report", "curves/learning-curves.json", "--output", "report")
    assert command(*given).err == ""
    later = (Path("curves/learning-curves.json").stat().st_mtime_ns + 1,) * 2
    os.utime("200.pt", ns=later)
    scores = folders[0] / "scores.json"
    scores.write_text(scores.read_text() + " ")
    os.utime(scores, ns=later)
    result = command(*given)
    assert result.status == 0
    assert result.err == "".join(
        f"warning: curves/learning-curves.json: was made from an earlier {file}; make it again to report on"
        " that one\n"
        for file in (scores, "200.pt")
    )


def test_unknown_kind_and_missing_file(tmp_path, command):
    (tmp_path / "x.json").write_text('{"format": 1, "kind": "x"}')
    assert (
        "kind is 'x', expected one of: scores, "
        in command("report", tmp_path / "x.json", "--output", tmp_path).err
    )
    assert "no such file" in command("report", tmp_path / "y.json", "--output", tmp_path).err
