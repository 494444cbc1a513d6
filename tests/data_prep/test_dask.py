"""Every step on a dask cluster of two processes writes the bytes that it writes alone, also if one dies."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from dask.distributed import LocalCluster

from command_line.dask_workers import DaskWorkers
from command_line.errors import InputError
from data_prep.formats.structures import BUNSETSU, encode, write_structures
from tests.our_commands import run_command

STEPS = {
    "import": "{m} --valid 10 --test 10 --zero-shot",
    "low-resource": "--input {l} --sizes 30,100 --first 250",
    "clean": "--input {p}/raw --min-language 0.01 --ignore-case",
    "tokenize": "--input {p}/raw",
    "subword": "--input {p}/tok --merges 100",
    "binarize": "--input {p}/sub --text {p}/raw",
    "align": "--input {p}/tok",
    "lexicon": "--input {p}/tok --alignments {a} --min-count 1",
    "corpus-stats": "--input {p}/tok --no-plot",
}
RECORDS = {f"{name}.json" for name in STEPS}  # of times and folders


def contents(folder: Path) -> dict:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in RECORDS
    }


@pytest.fixture(scope="module")
def aligned(prepared, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("aligned") / "words"
    words = f"data_prep align --input {prepared}/tok --output {folder} --workers 1"
    assert run_command(words.split()) == 0
    return folder


@pytest.fixture(scope="module")
def mine(prepared, tmp_path_factory) -> Path:
    """Bitexts as TSV and as JSONL with documents, and one of plain files, with the same English lines."""
    folder = tmp_path_factory.mktemp("mine")
    sides = {
        code: (prepared / f"raw/train.{pair}.{code}").read_text(encoding="utf-8").splitlines()
        for code, pair in (("de", "de-en"), ("en", "de-en"), ("fr", "en-fr"))
    }
    rows = list(zip(*sides.values(), strict=True))
    (folder / "a.tsv").write_text("de\ten\n" + "".join(f"{de}\t{en}\n" for de, en, _ in rows))
    (folder / "b.jsonl").write_text(
        "".join(
            json.dumps({"document": f"d{number // 3}", "en": en, "fr": fr}) + "\n"
            for number, (_, en, fr) in enumerate(rows)
        )
    )
    for code in ("en", "ja"):
        (folder / f"c.en-ja.{code}").write_text("".join(f"{en}\n" for _, en, _ in rows))
    return folder


@pytest.fixture(scope="module")
def low(prepared, tmp_path_factory) -> Path:
    """The text of one pair of languages."""
    folder = tmp_path_factory.mktemp("low")
    for path in prepared.glob("raw/*.de-en.*"):
        shutil.copy(path, folder)
    return folder


@pytest.fixture
def same_bytes(step, tmp_path, cluster, monkeypatch):
    """Run a step alone and on the cluster, and compare what it writes."""
    monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", 40)
    monkeypatch.chdir(tmp_path)  # another folder than that of the cluster's workers

    def compare(name: str, *words) -> None:
        assert step(name, *words, "--output", "alone", "--workers", 1)[0] == 0
        monkeypatch.setattr("command_line.workers.Workers.map", None)  # from here on only the cluster works
        status, error = step(name, *words, "--output", "cluster", "--dask", cluster.scheduler_address)
        assert status == 0, error
        assert contents(tmp_path / "alone") == contents(tmp_path / "cluster") != {}

    return compare


@pytest.mark.parametrize("name", STEPS)
def test_the_same_bytes_as_alone(same_bytes, prepared, aligned, mine, low, name):
    same_bytes(name, *STEPS[name].format(p=prepared, a=aligned, m=mine, l=low).split())


@pytest.mark.parametrize("name", ["position-changes", "alignment-error"])
def test_the_same_numbers_as_alone(aligned, tmp_path, cluster, monkeypatch, capsys, name):
    monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", 40)
    monkeypatch.setattr("data_prep.parsing.position_changes.LINES_PER_BLOCK", 40)
    orders = (encode([1], [1, 2, 0] if line % 3 else [0, 1, 2]) for line in range(100))
    write_structures(tmp_path / "train.ja.bunsetsu", BUNSETSU, orders)
    links = aligned / "train.de-en.align"
    (tmp_path / "gold").write_text("0-0 1-2\n" * len(links.read_text().splitlines()))
    monkeypatch.chdir(tmp_path)
    words = {
        "position-changes": ["--input", "."],
        "alignment-error": ["--gold", "gold", "--alignment", str(links)],
    }
    alone = run_command(["data_prep", name, *words[name], "--workers", "1"]), capsys.readouterr().out
    monkeypatch.setattr("command_line.workers.Workers.map", None)
    scheduler = cluster.scheduler_address
    on_cluster = run_command(["data_prep", name, *words[name], "--dask", scheduler]), capsys.readouterr().out
    assert alone == on_cluster and alone[0] == 0 and "%" in alone[1]


def test_a_step_one_of_whose_workers_dies(same_bytes, prepared, deaths):
    same_bytes("tokenize", "--input", prepared / "raw")
    assert deaths


class DiesOnce:
    """A function whose process is killed the first time that it gets a certain item."""

    def __init__(self, mark: Path):
        self._mark = mark

    def __call__(self, item: int) -> int:
        if item == 5 and not self._mark.exists():
            self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return item * item


class Dies:
    def __call__(self, item: int):
        os.kill(os.getpid(), signal.SIGKILL)


class Fails:
    def __call__(self, item: int):
        raise InputError(f"line {item}: wrong")


def test_a_worker_that_dies_is_replaced(cluster, tmp_path):
    with DaskWorkers(cluster.scheduler_address) as workers:
        assert list(workers.map(DiesOnce(tmp_path / "died"), range(40))) == [item**2 for item in range(40)]
        assert (tmp_path / "died").exists()


def test_an_item_that_kills_every_worker_is_one_line(cluster, monkeypatch):
    monkeypatch.setattr(
        cluster.scheduler, "allowed_failures", 0
    )  # a worker that dies as it starts is not replaced
    with DaskWorkers(cluster.scheduler_address) as workers:
        with pytest.raises(InputError, match=r"--dask: workers of the cluster died again and again"):
            list(workers.map(Dies(), [1]))
        assert list(workers.map(abs, [-1])) == [1]


def test_a_cluster_that_loses_all_its_workers_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr("command_line.dask_workers.SECONDS_BETWEEN_LOOKS", 0.1)
    monkeypatch.setattr("command_line.dask_workers.SECONDS_WITHOUT_WORKERS", 0.2)
    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50, "processes": False}
    with LocalCluster(n_workers=1, **options) as lost, DaskWorkers(lost.scheduler_address) as workers:
        results = workers.map(abs, range(100))
        assert next(results) == 0
        lost.scale(0)
        with pytest.raises(InputError, match=r"^--dask: the cluster has had no workers for 0.2 seconds"):
            list(results)
        lost.scale(1)
        assert list(workers.map(abs, [-1])) == [1]


def test_bad_input_is_what_it_is_elsewhere(cluster):
    with (
        DaskWorkers(cluster.scheduler_address) as workers,
        pytest.raises(InputError, match=r"^line 3: wrong$"),
    ):
        list(workers.map(Fails(), [3, 4]))


def test_nobody_answers(step, prepared, tmp_path, monkeypatch):
    monkeypatch.setattr("command_line.dask_workers.SECONDS_TO_CONNECT", 0.2)
    words = ("--input", prepared / "raw", "--output", tmp_path / "out", "--dask", "tcp://127.0.0.1:9")
    status, error = step("tokenize", *words)
    assert status == 2 and "--dask tcp://127.0.0.1:9: no scheduler answers there" in error


@pytest.mark.parametrize("name", [name for name in STEPS if name != "corpus-stats"])  # which removes nothing
def test_an_address_without_a_scheduler_removes_no_earlier_output(
    step, prepared, aligned, mine, low, tmp_path, monkeypatch, name
):
    monkeypatch.setattr("command_line.dask_workers.SECONDS_TO_CONNECT", 0.2)
    words = [*STEPS[name].format(p=prepared, a=aligned, m=mine, l=low).split(), "--output", tmp_path / "out"]
    assert step(name, *words, "--workers", 1)[0] == 0
    before = contents(tmp_path / "out"), sorted((tmp_path / "out").iterdir())
    status, error = step(name, *words, "--dask", "tcp://127.0.0.1:9", "--force")
    assert status == 2 and "no scheduler answers there" in error
    assert (contents(tmp_path / "out"), sorted((tmp_path / "out").iterdir())) == before
