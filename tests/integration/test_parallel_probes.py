"""Probes of parallel sentences and outputs, from checkpoints of stock fairseq and of ours to the report."""

import json
from itertools import combinations

import pytest

import eval.__main__ as commands
from command_line.dispatch import run
from data_prep.formats.alignments import AlignedSpansWriter
from eval.probes.retrieval import words_of
from eval.probes.store import StateStore
from tests.eval.rows import rows_of, values_of

pytestmark = pytest.mark.slow

LANGUAGES = ("de", "en", "fr")
DIRECTIONS = [f"{a}-{b}" for a in LANGUAGES for b in LANGUAGES if a != b]
SEARCH = ("--cpu", "--beam", 1, "--max-len-b", 12, "--directions", ",".join(DIRECTIONS))


def command(*words) -> None:
    assert run("eval", "", commands.COMMANDS, [str(word) for word in words]) == 0, words


@pytest.fixture(scope="module")
def checkpoints(stock, trained):
    return {"stock": stock, "ours": trained / "checkpoint_best.pt"}


@pytest.fixture(scope="module")
def stores(tmp_path_factory, data, checkpoints):
    """States of both checkpoints, of a few lines."""
    folder = tmp_path_factory.mktemp("states")
    for name, checkpoint in checkpoints.items():
        command(
            "probe", "states", "--checkpoint", checkpoint, "--data", data, "--name", name, "--max-lines", 30,
            "--splits", "test", *SEARCH, "--output", folder / name,
        )  # fmt: skip
    return [folder / name for name in checkpoints]


@pytest.fixture(scope="module")
def translations(tmp_path_factory, data, checkpoints):
    """Scored translations of both."""
    folder = tmp_path_factory.mktemp("translations")
    for name, checkpoint in checkpoints.items():
        command(
            "translate", "--checkpoint", checkpoint, "--data", data, "--name", name, *SEARCH,
            "--output", folder / name,
        )  # fmt: skip
        command("score", folder / name, "--workers", 1)
    return [folder / name for name in checkpoints]


@pytest.fixture(scope="module")
def alignments(tmp_path_factory, stores):
    """Position i with position i, as far as both sentences go."""
    folder, store = tmp_path_factory.mktemp("aligned"), StateStore.open(stores[0])
    for pair in combinations(LANGUAGES, 2):
        sizes = [words_of(store.encoder("test", direction)) for direction in (pair, pair[::-1])]
        with AlignedSpansWriter(folder, "test", pair, "fast_align") as writer:
            for first, second in zip(*sizes, strict=True):
                writer.append([(i, i + 1, i, i + 1) for i in range(min(first, second))])
    return folder


def result(path, kind: str) -> dict:
    record = json.loads((path / f"{kind}.json").read_text(encoding="utf-8"))
    assert (record["format"], record["kind"]) == (1, kind)
    return record


def test_stock_checkpoints_go_through_every_probe(stores, translations, alignments, tmp_path):
    out = tmp_path / "probes"
    command("probe", "similarity", *stores, "--output", out)
    command("probe", "retrieval", *stores, "--words", alignments, "--output", out)
    command("probe", "cosine", *stores, "--output", out)
    command("probe", "off-target", *translations, "--output", out)
    command("probe", "correlate", *translations, "--retrieval", out, "--measure", "word", "--output", out)
    per_layer = ("similarity", "retrieval", "cosine")
    kinds = (*per_layer, "off-target", "correlation")
    found = {kind: result(out, kind) for kind in kinds}
    for kind in per_layer:
        assert [one["system"]["name"] for one in found[kind]["runs"]] == ["stock", "ours"]
        rows = rows_of(out / f"{kind}.csv")
        assert set(rows.layer) - {""} == {"L0", "L1", "output"}
        assert dict(zip(rows.direction, rows.kind, strict=True)) == {
            "de-en": "supervised", "de-fr": "zero-shot", "en-fr": "supervised",
        }  # fmt: skip
        assert set(rows[rows.measure == "lines"].value) == {30}
    retrieved = rows_of(out / "retrieval.csv", kind="zero-shot", layer="output")
    for measure, least in (("sentence", 3 / 30), ("word", 0.1)):  # chance of sentences is 1/30
        values = retrieved[retrieved.measure == measure].value
        assert len(values) == 2 and values.min() > least
    assert values_of(out / "correlation.csv", kind="all", measure="pairs") == [3]
    assert set(rows_of(out / "off-target.csv").direction) == set(DIRECTIONS)

    files = [*translations, *(out / f"{kind}.json" for kind in kinds)]
    command("report", *files, "--output", tmp_path / "report")
    html = (tmp_path / "report/report.html").read_text(encoding="utf-8")
    for title in (
        "Similarity of languages in the encoder", "Retrieval in the encoder",
        "Retrieval and translation quality",
        "Parallel sentences in the encoder", "Languages of the output",
    ):  # fmt: skip
        assert f"<h2>{title}</h2>" in html
    assert html.count("<figure>") == html.count("<details><summary>Numbers</summary>")


def test_words_without_alignments_say_what_makes_them(stores, data, tmp_path, capsys):
    arguments = ["probe", "retrieval", stores[0], "--words", data, "--output", tmp_path]
    assert run("eval", "", commands.COMMANDS, [str(word) for word in arguments]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"error: {data}: no word alignments; `python -m data_prep align` writes them"
    )
