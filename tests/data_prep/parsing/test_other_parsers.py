"""Stanza, Enju, GiNZA, KNP and dask behind the steps `phrases` and `bunsetsu`."""

import importlib
import json
import shutil
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from data_prep.formats.structures import BUNSETSU, PHRASES, Structures
from data_prep.parsing import step as parsing_step
from data_prep.parsing.parsers import LOADED, PARSERS, ParserChoice, make_parser
from tests.data_prep.parsing.toy_texts import ENJU, phrases, reordered


def test_stanza_and_dask_that_are_not_installed(step, corpus, tmp_path, model, monkeypatch):
    monkeypatch.setitem(sys.modules, "stanza", None)
    status, error = phrases(step, corpus, tmp_path / "out", "--parser", "stanza")
    assert (status, "Stanza is not installed: pip install stanza" in error) == (2, True)
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    status, error = phrases(step, corpus, tmp_path / "out", "--model", model, "--dask", "tcp://x:1")
    assert (status, "dask.distributed is not installed" in error) == (2, True)


def test_stanza(step, tmp_path, write_corpus, monkeypatch):
    def node(label, *children):
        return SimpleNamespace(label=label, children=children)

    tree = node(
        "S",
        node("NP", node("NNP", node("john"))),
        node("VP", node("VBZ", node("eats")), node("NP", node("NN", node("fish")))),
    )
    words = [SimpleNamespace(text=word) for word in ("john", "eats", "fish")]
    document = SimpleNamespace(sentences=[SimpleNamespace(words=words, constituency=tree)])
    asked = []

    def pipeline(language, **options):
        asked.append((language, options["processors"], options["dir"], options["download_method"]))
        return lambda text: document if text == "john eats fish" else SimpleNamespace(sentences=[])

    monkeypatch.setitem(sys.modules, "stanza", SimpleNamespace(Pipeline=pipeline))
    LOADED.make.cache_clear()
    corpus = write_corpus(tmp_path / "tok", {"train.en": ["john eats fish", "?"]})
    status, error = phrases(step, corpus, tmp_path / "out", "--parser", "stanza", "--model", "m")
    assert status == 0, error
    assert asked == [("en", "tokenize,pos,constituency", "m", None)]
    lines = ["john eats fish", "?"]
    assert reordered(tmp_path / "out/train.en.phrases", PHRASES, lines) == ["john fish eats", None]


class OutOfMemoryError(RuntimeError):
    """torch's of a GPU."""


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), "error: out of memory (CUDA"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "error: out of memory (Def"),
        (OSError(5, "Input/output error"), "error: --parser stanza: the disk cannot be read or written"),
    ],
)
def test_a_failure_of_the_machine_is_none_of_the_sentence(
    step, tmp_path, write_corpus, monkeypatch, failure, message
):
    def parse(text):
        raise failure

    monkeypatch.setitem(sys.modules, "stanza", SimpleNamespace(Pipeline=lambda *_, **__: parse))
    LOADED.make.cache_clear()
    corpus = write_corpus(tmp_path / "tok", {"train.en": ["john eats fish"]})
    status, error = phrases(step, corpus, tmp_path / "out", "--parser", "stanza", "--workers", 1)
    assert (status, error.count("\n")) == (2, 1), error
    assert message in error


def program(folder, name, text):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_program_enju(step, tmp_path, write_corpus):
    answers = ENJU.split("\n")
    enju = program(
        tmp_path / "bin",
        "enju",
        f"import sys\nassert sys.argv[1:] == ['-xml']\nanswers = {answers!r}\n"
        "for line in sys.stdin:\n    print(answers[0] if 'john' in line else answers[2])\n",
    )
    lines = ["he", "", "john eats fish"]
    corpus = write_corpus(tmp_path / "tok", {"train.en": lines})
    status, error = phrases(step, corpus, tmp_path / "out", "--parser", "enju", "--model", enju)
    assert status == 0, error
    assert reordered(tmp_path / "out/train.en.phrases", PHRASES, lines) == [None, None, "john fish eats"]
    broken = program(tmp_path / "bin", "enju2", "import sys; sys.exit('no grammar')")
    status, error = phrases(step, corpus, tmp_path / "out2", "--parser", "enju", "--model", broken)
    assert status == 2
    assert "0 lines of output for 2 lines of text: no grammar" in error


def test_a_dask_cluster(step, corpus, model, tmp_path, cluster, monkeypatch):
    from dask.distributed import Client

    with Client(cluster.scheduler_address) as client:  # the component of the toy pipeline
        client.run(importlib.import_module, "tests.data_prep.parsing.toy_parser")
    monkeypatch.setattr(parsing_step, "LINES_PER_SHARD", 1)
    assert phrases(step, corpus, tmp_path / "a", "--model", model)[0] == 0
    assert (
        phrases(step, corpus, tmp_path / "b", "--model", model, "--dask", cluster.scheduler_address)[0] == 0
    )
    name = "train.en-ja.en.phrases"
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_structures_of_subwords_on_a_cluster(step, corpus, model, tmp_path, cluster, monkeypatch):
    parsed, subwords, data = (tmp_path / name for name in ("parsed", "subwords", "data"))
    assert phrases(step, corpus, parsed, "--model", model)[0] == 0
    assert step("subword", "--input", corpus, "--output", subwords, "--merges", 9, "--workers", 1)[0] == 0
    words = ("--input", subwords, "--text", corpus, "--output", data, "--workers", 1)
    assert step("binarize", *words)[0] == 0
    monkeypatch.setattr("data_prep.blocks.LINES_PER_BLOCK", 2)
    written = []
    for name, where in (("alone", ("--workers", 1)), ("shared", ("--dask", cluster.scheduler_address))):
        folder = shutil.copytree(data, tmp_path / name)
        folders = ("--input", parsed, "--tokenized", corpus, "--subword", subwords, "--data", folder)
        status, error = step("structures", *folders, *where)
        assert status == 0, error
        written.append((folder / "train.en-ja.en.phrases").read_bytes())
    assert written[0] == written[1]


@pytest.mark.slow
def test_bunsetsu_on_a_cluster(step, tmp_path, write_corpus, cluster, monkeypatch):
    pytest.importorskip("ginza")
    LOADED.make.cache_clear()
    monkeypatch.setattr(parsing_step, "LINES_PER_SHARD", 1)
    corpus = write_corpus(tmp_path / "tok", {"train.en-ja.ja": JAPANESE})
    written = []
    for name, where in (("alone", ("--workers", 1)), ("shared", ("--dask", cluster.scheduler_address))):
        status, error = step("bunsetsu", "--input", corpus, "--output", tmp_path / name, *where)
        assert status == 0, error
        written.append((tmp_path / name / "train.en-ja.ja.bunsetsu").read_bytes())
    assert written[0] == written[1]


def test_threads_share_no_parser(monkeypatch):
    """SudachiPy, for one, fails where two threads use its tokenizer at a time."""
    monkeypatch.setitem(PARSERS, "toy", lambda choice: object())
    choice = ParserChoice("toy", "", "en")
    with ThreadPoolExecutor(1) as thread:
        others = [thread.submit(make_parser, choice).result() for _ in range(2)]
    assert others[0] is others[1]
    assert make_parser(choice) is make_parser(choice)
    assert make_parser(choice) is not others[0]


# --- Japanese


JAPANESE = [
    "ラブライブ は 三つ の プロジェクト から 成る 。",
    "",
    "。 。 。",
    "父 が 外国 へ 行く こと を 知っ た 。",
]


@pytest.mark.slow
def test_bunsetsu_by_ginza(step, tmp_path, write_corpus):
    pytest.importorskip("ginza")
    LOADED.make.cache_clear()
    corpus = write_corpus(tmp_path / "tok", {"train.en-ja.ja": JAPANESE})
    status, error = step("bunsetsu", "--input", corpus, "--output", tmp_path / "out", "--workers", 1)
    assert status == 0, error
    path = tmp_path / "out/train.en-ja.ja.bunsetsu"
    assert reordered(path, BUNSETSU, JAPANESE) == [
        "ラブライブ は 成る プロジェクト から 三つ の 。",
        None,
        "。 。 。",
        "知っ た こと を 行く 外国 へ 父 が 。",
    ]
    assert Structures(path, BUNSETSU)[0].boundaries.tolist() == [2, 4, 6]


def test_another_version_of_ginzas_own_model_is_noticed(step, tmp_path, write_corpus, monkeypatch):
    versions = {"ja_ginza": "5.1.0"}
    monkeypatch.setattr("importlib.metadata.version", versions.__getitem__)
    ends = SimpleNamespace(parse=lambda texts: iter([[5, 9]]))
    monkeypatch.setitem(PARSERS, "ginza", lambda choice: ends)
    LOADED.make.cache_clear()
    corpus = write_corpus(tmp_path / "tok", {"train.ja": ["父 が 外国 へ 行く 。"]})
    words = ("bunsetsu", "--input", corpus, "--output", tmp_path / "out", "--workers", 1)
    assert step(*words)[0] == 0
    assert "complete, skipped" in step(*words)[1]
    versions["ja_ginza"] = "5.2.0"
    status, error = step(*words)
    assert (status, "was made with another model_version" in error) == (0, True), error


def test_bunsetsu_by_knp(step, tmp_path, write_corpus, monkeypatch):
    pytest.importorskip("rhoknp")
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    corpus = write_corpus(tmp_path / "tok", {"train.en-ja.ja": JAPANESE[:1]})
    words = ("bunsetsu", "--input", corpus, "--output", tmp_path / "out", "--parser", "knp", "--workers", 1)
    status, error = step(*words)
    assert (status, "no program `knp` on the PATH" in error) == (2, True)
    for name in ("knp", "jumanpp"):
        program(tmp_path / "none", name, "")
    found = [SimpleNamespace(text=text) for text in ["ラブライブは", "三つの", "プロジェクトから", "成る。"]]

    class FakeKnp:
        def __init__(self, jumanpp):
            pass

        def apply_to_sentence(self, text):
            assert text == "ラブライブは三つのプロジェクトから成る。"
            return SimpleNamespace(phrases=found)

    monkeypatch.setattr("rhoknp.KNP", FakeKnp)
    LOADED.make.cache_clear()
    assert step(*words)[0] == 0
    assert reordered(tmp_path / "out/train.en-ja.ja.bunsetsu", BUNSETSU, JAPANESE[:1]) == [
        "ラブライブ は 成る プロジェクト から 三つ の 。"
    ]


@pytest.mark.parametrize(
    ("failure", "lines", "message"),
    [
        (TimeoutError("Operation timed out after 10 seconds."), 1, None),
        (RuntimeError("KNP exited unexpectedly before EOS."), 1, None),
        (RuntimeError("KNP exited unexpectedly before EOS."), 20, "train.en-ja.ja:1: --parser knp fails on"),
        (BrokenPipeError(32, "Broken pipe"), 1, "--parser knp: Broken pipe; run the command again"),
        (RuntimeError("KNP is not available."), 1, "--parser knp: KNP is not available; run"),
    ],
)
def test_knp_fails_on_a_sentence_or_at_all(
    step, tmp_path, write_corpus, monkeypatch, failure, lines, message
):
    pytest.importorskip("rhoknp")
    for name in ("knp", "jumanpp"):
        program(tmp_path / "bin", name, "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    def apply_to_sentence(text):
        raise failure

    monkeypatch.setattr("rhoknp.KNP", lambda jumanpp: SimpleNamespace(apply_to_sentence=apply_to_sentence))
    LOADED.make.cache_clear()
    corpus = write_corpus(tmp_path / "tok", {"train.en-ja.ja": JAPANESE[:1] * lines})
    words = ("--input", corpus, "--output", tmp_path / "out", "--parser", "knp", "--workers", 1)
    status, error = step("bunsetsu", *words)
    if message is None:
        assert status == 0, error
        counts = json.loads((tmp_path / "out/bunsetsu.ja-report.json").read_text())
        assert counts["train.en-ja.ja.bunsetsu"]["unparsed"] == lines
    else:
        assert (status, error.count("\n"), message in error) == (2, 1, True), error
