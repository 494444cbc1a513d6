"""`python -m eval probe cost` on logs as fairseq writes them, and the sizes of the thesis."""

from pathlib import Path

import pytest
import torch

from eval.probes.training_logs import updates_and_seconds
from tests.eval.rows import rows_of

REFERENCE = Path(__file__).parents[3] / "recipes/zero_shot/reference.csv"
SIZES = {"IWSLT (base)": (40_100, 512, 2048), "Europarl (big)": (50_363, 1024, 4096)}

TRAIN = "2026-01-01 | INFO | fairseq_cli.train | "
MODEL = f"{TRAIN}num. shared model params: 1,200 (num. trained: 1,200)\n"
LINE = "2026-01-01 | INFO | train_inner | epoch 001:  {0} / 900 loss=9, wps=7, wpb={1}, num_updates={0}\n"
CONFIG = TRAIN + "{{'criterion': {{'_name': 'weighted_losses', 'losses': '{}'}}}}\n"


@pytest.fixture
def probe(command, tmp_path):
    def run(folders: dict, names: dict | None = None, reference=None) -> list[dict]:
        words = []
        for folder, text in folders.items():
            (tmp_path / folder).mkdir(exist_ok=True)
            (tmp_path / folder / "train.log").write_text(text)
            words.append(f"{(names or {}).get(folder, folder)}={tmp_path / folder / 'train.log'}")
        words += ["--reference", reference] if reference else []
        result = command("probe", "cost", *words, "--dataset", "toy", "--output", tmp_path / "out")
        assert result.status == 0, result.err
        rows = rows_of(tmp_path / "out/cost.csv")
        return [dict(zip(each.measure, each.value, strict=True)) for _, each in rows.groupby("run")]

    return run


def log(*reports, losses: str = "") -> str:
    text = CONFIG.format(losses) if losses else ""
    return text + MODEL + "".join(LINE.format(*report) for report in reports)


def test_words_updates_and_operations(probe, tmp_path):
    (taken,) = probe({"a": log((100, 50), (200, 60.5), (250, 40))})
    words = 100 * 50 + 100 * 60.5 + 50 * 40
    assert taken["words"] == words and taken["updates"] == 250 and taken["parameters"] == 1200
    assert taken["operations"] == 6 * 1200 * words
    assert taken["encoder_passes"] == 1 and "cpu_seconds" not in taken


def test_what_was_repeated_after_a_restart_counts_once(probe):
    (taken,) = probe({"a": log((100, 50), (200, 60)) + log((150, 55), (200, 65), (300, 50))})
    assert taken["updates"] == 300
    assert taken["words"] == 100 * 50 + 50 * 55 + 50 * 65 + 100 * 50


def test_a_training_that_is_shorter_than_its_log_interval(probe):
    """fairseq reports its epochs."""
    line = "2026-01-01 | INFO | train | epoch 00{0} | loss 9 | wpb {1} | num_updates {2} | wall 3\n"
    (taken,) = probe({"a": MODEL + line.format(1, 1137, 12) + line.format(2, 900, 20)})
    assert (taken["updates"], taken["words"]) == (20, 12 * 1137 + 8 * 900)


def test_updates_after_the_last_report_are_in_that_of_the_epoch(probe):
    line = "2026-01-01 | INFO | train | epoch 001 | loss 9 | wpb {1} | num_updates {0} | wall 3\n"
    text = log((100, 50)) + line.format(150, 50) + log((200, 60)) + line.format(230, 58)
    (taken,) = probe({"a": text})
    assert (taken["updates"], taken["words"]) == (230, 100 * 50 + 100 * 60 + 30 * 58)


def test_both_formats_of_logs_as_fairseq_writes_them(probe, caplog, tmp_path):
    """JSON has names with the prefix `train_` of an epoch, and `train_wall` without it of updates."""
    from fairseq.logging.progress_bar import progress_bar

    texts = {}
    for kind in ("simple", "json"):
        caplog.clear()
        bar = progress_bar(range(150), log_format=kind, log_interval=100, epoch=1)
        with caplog.at_level("INFO"):
            for number, _ in enumerate(bar, 1):
                bar.log(
                    {"loss": 9, "wpb": 10, "num_updates": number, "train_wall": 5},
                    tag="train_inner",
                    step=number,
                )
            bar.print({"loss": 8, "wpb": 10, "num_updates": 150, "train_wall": 7}, tag="train", step=150)
        rows = [
            f"2026-01-01 | {each.levelname} | {each.name} | {each.getMessage()}\n" for each in caplog.records
        ]
        texts[kind] = MODEL + "".join(rows)
        assert len(rows) == 2
    for taken in probe(texts):
        assert (taken["updates"], taken["words"]) == (150, 1500)
    assert updates_and_seconds(tmp_path / "json/train.log") == [(100, 5.0)]


def test_losses_with_a_second_pass_are_named(probe):
    plain, mirrored = probe(
        {
            "a": log((1, 1), losses="translation,attention_alignment"),
            "b": log((1, 1), losses="translation,word_contrastive"),
        }
    )
    assert (plain["encoder_passes"], mirrored["encoder_passes"]) == (1, 2)


def test_arithmetic_is_not_known_where_parameters_are_frozen(probe, report, tmp_path):
    frozen = log((10, 5)).replace("num. trained: 1,200", "num. trained: 200")
    (taken,) = probe({"a": frozen})
    assert taken["parameters"] == 1200 and "operations" not in taken
    page = (report(tmp_path / "out/cost.json") / "report.md").read_text(encoding="utf-8")
    assert "| a | 1 | 10 | 50 | 1.2e+03 | 1 |" in page


def test_processor_seconds_of_all_starts(probe, command, tmp_path, report):
    folders = {"a": log((1, 1)), "b": log((1, 1))}
    for folder, seconds in (("a", "3600.0\n1800.0\n"), ("b", "1800\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "cpu_seconds.txt").write_text(seconds)
    assert [each["cpu_seconds"] for each in probe(folders, {"a": "x", "b": "x"})] == [5400, 1800]
    page = (report(tmp_path / "out/cost.json") / "report.md").read_text(encoding="utf-8")
    assert "| x | 2 | 1 | 1 | 1.2e+03 | 1 | 7.2e+03 | 0.00 | 1.00 ± 0.71 |" in page
    (tmp_path / "b/cpu_seconds.txt").write_text("many\n")
    words = [f"x={tmp_path}/b/train.log", "--dataset", "toy", "--output", tmp_path / "out", "--force"]
    assert "b/cpu_seconds.txt: could not convert" in command("probe", "cost", *words).err


def test_processor_seconds_that_are_noted_later_are_measured(probe, tmp_path):
    """A training that was continued, and one that had none when it was measured first."""
    names = {"a": "x", "b": "x"}
    folders = dict.fromkeys(names, log((1, 1)))
    (tmp_path / "a").mkdir()
    (tmp_path / "a/cpu_seconds.txt").write_text("3600.0\n")
    assert [each.get("cpu_seconds") for each in probe(folders, names)] == [3600, None]
    for folder in names:
        with open(tmp_path / folder / "cpu_seconds.txt", "a") as file:
            file.write("1800.0\n")
    assert [each["cpu_seconds"] for each in probe(folders, names)] == [5400, 1800]


@pytest.mark.parametrize(
    ("text", "missing"), [(MODEL, "report of updates"), (LINE.format(1, 1), "parameters")]
)
def test_what_is_no_log(command, tmp_path, text, missing):
    (tmp_path / "train.log").write_text(text)
    words = [f"x={tmp_path}/train.log", "--dataset", "toy", "--output", tmp_path / "out"]
    result = command("probe", "cost", *words)
    assert result.status == 2 and missing in result.err and "train.log" in result.err


def transformer_parameters(vocabulary: int, width: int, inner: int) -> int:
    """Of six and six layers of PyTorch with one matrix of embeddings for source, target and output."""
    with torch.device("meta"):
        layers = torch.nn.Transformer(width, 8, 6, 6, inner)
    counted = sum(each.numel() for each in layers.parameters()) - 2 * 2 * width  # without norms on top
    return counted + vocabulary * width


def test_the_trainings_of_the_thesis_are_shown_beside(probe, report, tmp_path):
    """Of Table 8.1 and 8.2.1: twelve directions of a million pairs each, 200 times, with 17 subwords."""
    probe({"a": log((1, 1))}, reference=REFERENCE)
    opus = rows_of(tmp_path / "out/cost.csv", system="OPUS (base), chapter 8").set_index("measure").value
    words, parameters = 12e6 * 200 * 17, transformer_parameters(66_158, 512, 2048)
    assert dict(opus) == {
        "updates": words / (4 * 4096), "words": words, "parameters": parameters,
        "operations": 6 * parameters * words, "encoder_passes": 1,
    }  # fmt: skip
    page = (report(tmp_path / "out/cost.json") / "report.md").read_text(encoding="utf-8")
    assert "| OPUS (base), chapter 8 | 1 | 2,490,234 | 4.1e+10 | 7.8e+07 | 1 | 1.9e+19 | 530.48 |" in page


@pytest.mark.parametrize("system", ["IWSLT (base)", "Europarl (big)"])
def test_operations_of_the_reference_follow_from_words_and_parameters(system):
    for chapter in (7, 8):
        rows = rows_of(REFERENCE, system=f"{system}, chapter {chapter}").set_index("measure").value
        assert rows.operations == pytest.approx(6 * rows.parameters * rows.words, rel=1e-12)
    assert rows.parameters == transformer_parameters(*SIZES[system])
