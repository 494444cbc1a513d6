"""Downloads: resumed, verified, unpacked safely; corpora laid out as the papers split them.

No network: a server of the test's own on this machine, and local folders.
"""

import contextlib
import gzip
import hashlib
import http.server
import io
import itertools
import json
import lzma
import re
import sys
import tarfile
import threading
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from command_line.errors import InputError
from data_prep.corpora import europarl, fetching, flores200, multiway, opus100
from data_prep.corpora.fetching import SUMS, Source, fetch, read_sums, take_out
from data_prep.corpora.multiway import choose_multiway
from data_prep.download import compare_with_paper

CONTENT = bytes(range(256)) * 400


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves CONTENT, with ranges of the version `version`; breaks off after `limit` bytes while there are
    `breaks` left, and is busy `busy` times before.
    """

    breaks, limit, ranges, version, busy = 0, 30_000, True, '"first"', 0

    def do_GET(self):
        if self.path == "/missing":
            self.send_error(404)
            return
        if Handler.busy:
            Handler.busy -= 1
            self.send_error(503)
            return
        start, wanted = 0, self.headers.get("Range")
        if self.ranges and wanted and self.headers.get("If-Range") == self.version:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        self.server.starts.append(start)
        if start >= len(CONTENT):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(CONTENT)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body = CONTENT[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", self.version)
        self.end_headers()
        if Handler.breaks:
            Handler.breaks -= 1
            body = body[: self.limit]
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setattr(Handler, "breaks", 0)
    monkeypatch.setattr(Handler, "ranges", True)
    monkeypatch.setattr(Handler, "version", '"first"')
    monkeypatch.setattr(Handler, "busy", 0)
    monkeypatch.setattr(fetching, "PAUSE", 0)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.starts = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        server.url = f"http://127.0.0.1:{server.server_port}"
        yield server
        server.shutdown()


def test_a_broken_download_goes_on_where_it_stopped(server, tmp_path):
    Handler.breaks = 2
    assert fetch(f"{server.url}/f", tmp_path / "f").read_bytes() == CONTENT
    assert server.starts == [0, 30_000, 60_000]
    assert (tmp_path / SUMS).read_text() == f"{hashlib.sha256(CONTENT).hexdigest()}  f\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [SUMS, "f"]


def leave(path: Path, content: bytes) -> None:
    """What a download that was killed leaves."""
    path.with_name(f".partial-{path.name}").write_bytes(content)
    path.with_name(f".partial-{path.name}.version").write_text('"first"')


def test_what_a_killed_download_left_is_used(server, tmp_path):
    leave(tmp_path / "f", CONTENT[:5000])
    assert fetch(f"{server.url}/f", tmp_path / "f").read_bytes() == CONTENT
    leave(tmp_path / "g", CONTENT)  # all there, not renamed yet
    assert fetch(f"{server.url}/g", tmp_path / "g").read_bytes() == CONTENT
    assert server.starts == [5000, len(CONTENT)]
    assert sorted(path.name for path in tmp_path.iterdir()) == [SUMS, "f", "g"]


@pytest.mark.parametrize("content", [b"x" * 5000, b"x" * (len(CONTENT) + 1)], ids=["a part", "too much"])
@pytest.mark.parametrize("version", ['"first"', '"second"', 'W/"first"'])
def test_of_another_version_nothing_is_kept(server, tmp_path, monkeypatch, version, content):
    """What is there is of the first version; more than the server has cannot be of any."""
    monkeypatch.setattr(Handler, "version", version)
    leave(tmp_path / "f", content)
    if version == '"first"' and len(content) < len(CONTENT):
        assert fetch(f"{server.url}/f", tmp_path / "f").read_bytes() == content + CONTENT[5000:]
    else:
        assert fetch(f"{server.url}/f", tmp_path / "f").read_bytes() == CONTENT


def test_a_busy_server_is_asked_again(server, tmp_path):
    Handler.busy = 3
    assert fetch(f"{server.url}/f", tmp_path / "f").read_bytes() == CONTENT
    Handler.busy = 9
    with pytest.raises(InputError, match=r"503.*what has arrived is kept"):
        fetch(f"{server.url}/g", tmp_path / "g")


def test_a_server_without_ranges_starts_again(server, tmp_path, monkeypatch):
    monkeypatch.setattr(Handler, "ranges", False)
    (tmp_path / ".partial-f").write_bytes(b"x" * 5000)
    assert fetch(f"{server.url}/f", tmp_path / "f").read_bytes() == CONTENT


def test_a_download_that_never_completes_is_an_error_and_keeps_what_came(server, tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "ATTEMPTS", 2)
    Handler.breaks = 9
    with pytest.raises(InputError, match="what has arrived is kept"):
        fetch(f"{server.url}/f", tmp_path / "f")
    assert not (tmp_path / "f").exists() and (tmp_path / ".partial-f").stat().st_size == 60_000
    with pytest.raises(InputError, match=r"404.*--from-folder"):
        fetch(f"{server.url}/missing", tmp_path / "m")


def test_checksums_are_verified(server, tmp_path):
    (tmp_path / SUMS).write_text(f"{'0' * 64}  f\n")
    with pytest.raises(InputError, match=f"{SUMS} has 0000"):
        fetch(f"{server.url}/f", tmp_path / "f")
    assert not (tmp_path / "f").exists() and not (tmp_path / ".partial-f").exists()
    (tmp_path / SUMS).unlink()
    fetch(f"{server.url}/f", tmp_path / "f")
    (tmp_path / "f").write_bytes(b"changed")
    with pytest.raises(InputError, match="f: SHA-256"):
        fetch(f"{server.url}/f", tmp_path / "f")
    (tmp_path / SUMS).write_text("nonsense\n")
    with pytest.raises(InputError, match=f"{SUMS}:1: expected a SHA-256"):
        fetch(f"{server.url}/f", tmp_path / "f")


def tar_of(path: Path, files: dict[str, bytes], others=()) -> Path:
    """Of the same files the same bytes: the second in which it is written is not in it."""
    with gzip.GzipFile(path, "wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for member in others:
            tar.addfile(member)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def zip_of(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
    return path


def test_an_archive_cannot_write_elsewhere(tmp_path):
    link, device = tarfile.TarInfo("good/a.txt"), tarfile.TarInfo("good/b.txt")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    device.type = tarfile.CHRTYPE
    files = {"../../escaped.txt": b"evil", "/tmp/absolute.txt": b"evil", "good/a.txt": b"fine"}
    archive = tar_of(tmp_path / "x.tgz", files, others=(link, device))
    taken = take_out(archive, ["good/a.txt"], tmp_path / "out")
    assert taken["good/a.txt"].read_bytes() == b"fine"  # not what the link of the same name points to
    assert take_out(archive, ["escaped.txt"], tmp_path / "out")["escaped.txt"].parent == tmp_path / "out"
    with pytest.raises(InputError, match=r"x\.tgz: has no file good/b\.txt"):
        take_out(archive, ["good/b.txt"], tmp_path / "out")
    assert {path.name for path in tmp_path.iterdir()} == {"x.tgz", "out"}


def test_zip_patterns_equal_names_and_links(tmp_path):
    archive = zip_of(
        tmp_path / "x.zip", {"d/Corpus.de": b"1", "d/Corpus.en": b"2", "one/n": b"3", "two/n": b"4"}
    )
    with zipfile.ZipFile(archive, "a") as file:
        link = zipfile.ZipInfo("d/link.fr")
        link.external_attr = 0o120777 << 16
        file.writestr(link, "/etc/passwd")
    taken = take_out(archive, ["*.de", "*.en", "one/n", "two/n"], tmp_path / "out")
    assert [path.read_bytes() for path in taken.values()] == [b"1", b"2", b"3", b"4"]
    with pytest.raises(InputError, match=r"has no file \*\.fr"):
        take_out(archive, ["*.fr"], tmp_path / "out")


@pytest.mark.parametrize("names", list(itertools.permutations(["*.de", "d/*", "*"])))
def test_a_file_that_several_patterns_match_is_the_first_ones(tmp_path, names):
    archive = zip_of(tmp_path / "x.zip", {"d/1.de": b"1", "d/2.de": b"2", "d/3.de": b"3"})
    taken = take_out(archive, names, tmp_path / "out")
    assert [taken[name].read_bytes() for name in names] == [b"1", b"2", b"3"]


def test_truncated_and_foreign_archives(tmp_path):
    whole = tar_of(tmp_path / "w.tgz", {"a": b"x" * 100_000}).read_bytes()
    for name, content in (("cut.tgz", whole[: len(whole) // 2]), ("text.zip", b"no archive")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=f"{name}: not a complete tar or zip archive"):
            take_out(tmp_path / name, ["b"], tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [(6, 1, "is encrypted, password required"), (8, 99, "compression method is not supported")],
)
def test_a_zip_that_python_cannot_read_is_one_line(tmp_path, place, value, message):
    content = bytearray(zip_of(tmp_path / "x.zip", {"a": b"x" * 100}).read_bytes())
    content[place] = content[content.index(b"PK\x01\x02") + place + 2] = value  # in both of its headers
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(InputError, match=rf"x\.zip: not a complete tar or zip archive: .*{message}"):
        take_out(tmp_path / "x.zip", ["a"], tmp_path / "out")


def test_a_full_disk_is_none_of_the_archive(tmp_path, monkeypatch):
    monkeypatch.setattr(fetching, "atomic_path", lambda path: contextlib.nullcontext(Path("/dev/full")))
    with pytest.raises(OSError, match="No space left on device"):
        take_out(zip_of(tmp_path / "x.zip", {"a": b"x" * 100}), ["a"], tmp_path / "out")


def lines(*texts: str) -> bytes:
    return "".join(text + "\n" for text in texts).encode()


@pytest.fixture
def download(step, tmp_path):
    """Run the step, into the folder `out` unless the words name another; returns what it says."""

    def run(*words, status: int = 0) -> str:
        found, said = step("download", "--output", tmp_path / "out", *words)
        assert found == status, said
        return said

    return run


def test_opus100_from_its_archive_and_from_its_files(download, tmp_path, read):
    base, files = "opus-100-corpus/v1.0", {}
    for pair in ("de-en", "en-fr"):
        for word, count in (("train", 3), ("dev", 2), ("test", 1)):
            for code in pair.split("-"):
                rows = [f"{word} {pair} {code} {number}" for number in range(count)]
                files[f"{base}/supervised/{pair}/opus.{pair}-{word}.{code}"] = lines(*rows)
    for code in ("de", "fr"):
        files[f"{base}/zero-shot/de-fr/opus.de-fr-test.{code}"] = lines(f"zero {code}")
    (tmp_path / "archive").mkdir()
    tar_of(tmp_path / "archive/opus-100-corpus-v1.0.tar.gz", files)
    for name, content in files.items():
        path = tmp_path / "files" / Path(name).name
        path.parent.mkdir(exist_ok=True)
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(content))
    for kind in ("archive", "files"):
        out = tmp_path / f"out-{kind}"
        arguments = ["opus100", "--langs", "de,en,fr", "--from-folder", tmp_path / kind, "--output", out]
        assert "train.de-en: 3 lines, the published corpus has 1000000" in download(*arguments)
        assert read(out / "train.en-fr.fr") == [f"train en-fr fr {number}" for number in range(3)]
        assert read(out / "valid.de-en.de") == ["dev de-en de 0", "dev de-en de 1"]
        assert read(out / "test.de-fr.fr") == ["zero fr"]
        assert not (out / "valid.de-fr.de").exists() and not (out / "train.de-fr.de").exists()
        report = json.loads((out / "download-report.json").read_text())
        assert report["lines"]["test.de-fr"] == 1
        assert "skipped" in download(*arguments)


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["", "forced"])
@pytest.mark.parametrize("kind", ["archive", "file"])
def test_what_was_replaced_in_the_local_folder_is_read_again(download, tmp_path, read, kind, force):
    folder = tmp_path / "local"
    folder.mkdir()
    base = "opus-100-corpus/v1.0/supervised/de-en"

    def put(word: str) -> None:
        files = {
            f"opus.de-en-{split}.{code}": lines(f"{word} {code}")
            for split in ("train", "dev", "test")
            for code in ("de", "en")
        }
        if kind == "archive":
            tar_of(
                folder / "opus-100-corpus-v1.0.tar.gz",
                {f"{base}/{name}": content for name, content in files.items()},
            )
        for name, content in files.items() if kind == "file" else ():
            (folder / name).write_bytes(content)

    command = ["opus100", "--langs", "de,en", "--from-folder", folder]
    for word in ("first", "other"):  # as long as one another
        put(word)
        assert "skipped" not in download(*command, *force)
        assert read(tmp_path / "out/train.de-en.de") == [f"{word} de"]
    put("other")  # another file with the same contents
    assert "complete, skipped" in download(*command)


def test_opus100_over_the_network_is_one_archive(tmp_path):
    base = "opus-100-corpus/v1.0/supervised/de-en"
    names = [f"{base}/opus.de-en-{word}.{code}" for word in ("train", "dev", "test") for code in ("de", "en")]
    asked = []

    def pretend(url, path):
        asked.append(url)
        path.parent.mkdir(parents=True)
        return tar_of(path, {name: lines("x") for name in names})

    source = Source(None, tmp_path / "downloads", fetch=pretend)
    splits = list(opus100.read(source, ["de", "en"], "en"))
    assert [(split.split, list(split.rows)) for split in splits] == [
        ("train", [("x", "x")]), ("valid", [("x", "x")]), ("test", [("x", "x")]),
    ]  # fmt: skip
    assert asked == [opus100.URL]


def test_iwslt17(download, tmp_path, read):
    files = {}
    for pair in ("en-it", "en-nl"):
        for code in pair.split("-"):
            speech = lines(
                "<url>http://x</url>", "<title>T</title>", f" {pair} {code} one ", f"{code} two &amp; <i>"
            )
            files[f"D/train.tags.{pair}.{code}"] = speech
            for year in ("dev2010", "tst2010"):
                end = "&#10;" if code == "nl" else " "  # of a line, once it is decoded
                xml = lines("<doc>", f'<seg id="1"> {year} {code}{end}&amp; co </seg>', "</doc>")
                files[f"D/IWSLT17.TED.{year}.{pair}.{code}.xml"] = xml
    folder = tmp_path / "in"
    folder.mkdir()
    zip_of(folder / "DeEnItNlRo-DeEnItNlRo.zip", files)
    for first, second in (("en", "it"), ("en", "nl"), ("it", "nl")):
        for a, b in ((first, second), (second, first)):
            name = f"IWSLT17.TED.tst2017.mltlng.{a}-{b}.{a}.xml"
            content = lines(f'<seg id="1">test {a}-{b} {a}</seg>', '<seg id="2">second</seg>')
            tar_of(folder / f"{a}-{b}.tgz", {f"{a}-{b}/{name}": content})
    download("iwslt17", "--langs", "en,it,nl", "--from-folder", folder)
    assert read(tmp_path / "out/train.en-it.it") == ["en-it it one", "it two &amp; <i>"]
    assert read(tmp_path / "out/valid.en-nl.nl") == ["dev2010 nl & co", "tst2010 nl & co"]
    assert read(tmp_path / "out/test.it-nl.it") == ["test it-nl it", "second"]
    assert read(tmp_path / "out/test.it-nl.nl") == ["test nl-it nl", "second"]
    assert len(list((tmp_path / "out").glob("train.*"))) == 4
    files["D/train.tags.en-it.it"] = lines("one")
    zip_of(folder / "DeEnItNlRo-DeEnItNlRo.zip", files)
    error = download("iwslt17", "--langs", "en,it,nl", "--from-folder", folder, status=2)
    assert re.search(r"tags\.en-it\.en: not as many lines of text as \S*tags\.en-it\.it; expected", error)


def test_europarl_multiway_sets_are_cut_out_of_training(download, tmp_path, read, monkeypatch):
    monkeypatch.setattr(europarl, "HELD_OUT_LINES", 5)
    folder = tmp_path / "in"
    folder.mkdir()
    numbers = {"de": range(60), "fr": range(20, 80)}
    for code, numbered in numbers.items():
        english = [f"sentence {number}" for number in numbered] + ["sentence 30", "", "tail"]
        other = [f"{code} {name}" for name in (*numbered, "again", "empty", "tail")]
        members = {
            f"europarl-v7.{code}-en.{code}": lines(*other),
            f"europarl-v7.{code}-en.en": lines(*english),
        }
        tar_of(folder / f"{code}-en.tgz", members)
    download("europarl", "--langs", "de,en,fr", "--from-folder", folder)
    out = tmp_path / "out"
    once_in_both = [f"sentence {number}" for number in range(20, 60) if number != 30] + ["tail"]
    ordered = sorted(once_in_both, key=lambda line: hashlib.sha256(line.encode()).digest())
    assert read(out / "test.de-en.en") == read(out / "test.en-fr.en") == ordered[:5]
    assert read(out / "valid.de-en.en") == read(out / "valid.en-fr.en") == ordered[5:10]
    numbers_of = [line.split()[-1] for line in ordered[:5]]
    assert read(out / "test.de-fr.de") == [f"de {number}" for number in numbers_of]
    assert read(out / "test.de-fr.fr") == [f"fr {number}" for number in numbers_of]
    english, german = read(out / "train.de-en.en"), read(out / "train.de-en.de")
    assert len(english) == len(german) == 63 - 10
    assert not set(english) & set(ordered[:10])
    assert all(
        d.split()[1] == e.split()[1]
        for d, e in zip(german, english, strict=True)
        if e.startswith("s") and "a" not in d
    )


def test_multiway_choice_with_bounded_memory_equals_the_unbounded_choice(monkeypatch):
    rows = {
        code: [(f"{code}{n}", f"line {n % 900}") for n in range(size)]
        for code, size in (("a", 1000), ("b", 850))
    }
    found = {}
    for factor in (10, 10_000):
        monkeypatch.setattr(multiway, "CANDIDATES_PER_LINE", factor)
        found[factor] = choose_multiway(rows, 20)
    assert found[10] == found[10_000]
    assert all(int(row["a"][1:]) >= 100 for row in found[10][0])  # lines 0 to 99 occur twice in a
    with pytest.raises(InputError, match="expected at least 2000"):
        choose_multiway(rows, 1000)


def test_rows_without_one_of_their_lines_are_no_evaluation_set():
    empty = [("", "line 8"), (" ", "line 9"), ("a", ""), ("b", "\t")]
    rows = {code: [(f"{code} {n}", f"line {n}") for n in range(8)] + empty for code in ("de", "fr")}
    test, valid = choose_multiway(rows, 4)
    assert sorted(row[""] for row in test + valid) == [f"line {n}" for n in range(8)]
    with pytest.raises(InputError, match="8 lines occur once in each of de, fr; expected at least 10"):
        choose_multiway(rows, 5)


def test_multi30k_under_both_names_of_its_splits(download, tmp_path, read):
    for folder, names in (
        ("published", ("train", "val", "test_2016_flickr")),
        ("ours", ("train", "valid", "test")),
    ):
        (tmp_path / folder).mkdir()
        for name in names:
            for code in ("de", "en", "fr"):
                (tmp_path / folder / f"{name}.{code}.gz").write_bytes(
                    gzip.compress(lines(f"{name} {code}\r", "b"))
                )
        download("multi30k", "--langs", "de,en,fr", "--from-folder", tmp_path / folder)
        assert read(tmp_path / "out/test.de-fr.fr") == [f"{names[2]} fr", "b"]
        assert not (tmp_path / "out/train.de-fr.fr").exists()


def test_files_that_are_published_compressed_may_be_plain(download, tmp_path, read):
    (tmp_path / "plain").mkdir()
    for name in ("train", "val", "test_2016_flickr"):
        for code in ("de", "en"):
            (tmp_path / f"plain/{name}.{code}").write_bytes(lines(f"{name} {code}", "b"))
    arguments = ["multi30k", "--langs", "de,en", "--from-folder", tmp_path / "plain"]
    download(*arguments)
    assert read(tmp_path / "out/valid.de-en.de") == ["val de", "b"]
    (tmp_path / "plain/val.de").write_bytes(lines("changed", "b"))
    download(*arguments)
    assert read(tmp_path / "out/valid.de-en.de") == ["changed", "b"]


def test_a_nul_is_handed_on_to_clean(step, download, tmp_path, read):
    for name in (f"{split}.{code}" for split in ("train", "valid", "test") for code in ("de", "en")):
        (tmp_path / name).write_bytes(f"a\0 {name}\n".encode())
    download("multi30k", "--langs", "de,en", "--from-folder", tmp_path)
    assert step("clean", "--input", tmp_path / "out", "--output", tmp_path / "clean", "--workers", 1)[0] == 0
    found = [read(tmp_path / folder / "train.de-en.de") for folder in ("out", "clean")]
    assert found == [["a\0 train.de"], ["a train.de"]]


def test_l10n_takes_the_rows_of_its_table_that_both_languages_have(download, tmp_path, read):
    folder = tmp_path / "l10n"
    (folder / "multiway").mkdir(parents=True)
    table = {
        "en": ("one", "two", "three", "four"),
        "de": ("eins\0", "", "drei", " "),  # programs have NUL in some texts, which `clean` removes
        "fr": ("", "deux", "trois", ""),
        "fi": ("yksi", "", "", "neljä"),
    }
    for code, column in table.items():
        (folder / f"train.{code}.xz").write_bytes(lzma.compress(lines(*column)))
    for split in ("valid", "test"):
        for code in ("en", "de", "fr"):
            (folder / f"multiway/{split}.{code}.gz").write_bytes(gzip.compress(lines(f"{split} {code}")))
        for code in ("en", "fi"):
            (folder / f"{split}.en-fi.{code}.gz").write_bytes(gzip.compress(lines(f"own {code}")))
    out = tmp_path / "out"
    command = ["l10n", "--langs", "de,en,fi,fr", "--from-folder", folder]
    download(*command)
    assert read(out / "train.de-en.de") == ["eins\0", "drei"]
    assert read(out / "train.de-en.en") == ["one", "three"]
    assert read(out / "train.en-fr.en") == ["two", "three"]
    assert read(out / "train.en-fr.fr") == ["deux", "trois"]
    assert read(out / "train.en-fi.fi") == ["yksi", "neljä"]
    assert read(out / "test.de-fr.fr") == ["test fr"]  # zero-shot, multi-way
    assert read(out / "test.en-fi.en") == ["own en"]
    assert sorted(path.name for path in out.glob("valid.*.en")) == [
        "valid.de-en.en", "valid.en-fi.en", "valid.en-fr.en",
    ]  # fmt: skip
    assert not list(out.glob("*.fi-fr.*")) and not list(out.glob("train.de-fr.*"))
    further = tmp_path / "further"
    download(*command, "--output", further, "--further-pairs", "fr-de,fi-de")
    assert [read(further / f"train.de-fr.{code}") for code in ("de", "fr")] == [["drei"], ["trois"]]
    assert read(further / "train.de-fi.fi") == ["yksi"]
    assert read(further / "train.de-en.de") == ["eins\0", "drei"]
    download(*command, "--train-pairs", 1)  # evaluation sets are whole
    assert [read(out / name) for name in ("train.de-en.de", "train.en-fr.en", "test.en-fi.en")] == [
        ["eins\0"], ["two"], ["own en"],
    ]  # fmt: skip


def test_the_tatoeba_challenge_has_three_letters_and_sides_in_their_order(download, tmp_path, read):
    """`sh` is `hbs` there, after `eng`; Flores has Croatian for it."""
    folder = tmp_path / "challenge"
    for pair, (source, target) in {"eng-hbs": ("one", "jedan"), "deu-fra": ("eins", "un")}.items():
        (folder / pair).mkdir(parents=True)
        (folder / pair / "train.src.gz").write_bytes(gzip.compress(lines(source)))
        (folder / pair / "train.trg.gz").write_bytes(gzip.compress(lines(target)))
    for code in ("eng_Latn", "hrv_Latn", "deu_Latn", "fra_Latn"):
        (folder / f"{code}.dev").write_bytes(lines(f"dev {code}"))
    with tarfile.open(folder / "deu-eng.tar", "w") as archive:
        for side, text in (("src", "zwei"), ("trg", "two")):
            (folder / "member").write_bytes(gzip.compress(lines(text)))
            archive.add(folder / "member", f"data/release/v2021-08-07/deu-eng/train.{side}.gz")
    (folder / "eng-fra").mkdir()
    for side, text in (("src", "three"), ("trg", "trois")):
        (folder / f"eng-fra/train.{side}").write_bytes(lines(text))
    options = ("--langs", "de,en,fr,sh", "--further-pairs", "de-fr", "--from-folder", folder)
    download("challenge", *options)
    text = {path.name: read(path) for path in (tmp_path / "out").glob("*.*-*.*")}
    assert text == {
        "train.de-en.de": ["zwei"], "train.de-en.en": ["two"],
        "train.en-fr.en": ["three"], "train.en-fr.fr": ["trois"],
        "train.en-sh.en": ["one"], "train.en-sh.sh": ["jedan"],
        "train.de-fr.de": ["eins"], "train.de-fr.fr": ["un"],
        "valid.de-en.de": ["dev deu_Latn"], "valid.de-en.en": ["dev eng_Latn"],
        "valid.en-fr.en": ["dev eng_Latn"], "valid.en-fr.fr": ["dev fra_Latn"],
        "valid.en-sh.en": ["dev eng_Latn"], "valid.en-sh.sh": ["dev hrv_Latn"],
        "valid.de-fr.de": ["dev deu_Latn"], "valid.de-fr.fr": ["dev fra_Latn"],
    }  # fmt: skip


@pytest.mark.parametrize("with_test", [True, False])
def test_enja_has_no_spaces_in_japanese_and_always_a_test_set(download, tmp_path, read, with_test):
    (tmp_path / "enja").mkdir()
    sizes = {"train": 1200, "valid": 3, **({"test": 2} if with_test else {})}
    for name, size in sizes.items():
        for code, words in (("en", "it {0} ."), ("ja", "それ {0} 。")):
            text = "".join(words.format(f"{name}{number}") + "\n" for number in range(size))
            (tmp_path / f"enja/{name}.{code}.gz").write_bytes(gzip.compress(text.encode()))
    download("enja", "--from-folder", tmp_path / "enja")
    found = {name: read(tmp_path / f"out/{name}.en-ja.ja") for name in ("train", "valid", "test")}
    assert {name: len(lines) for name, lines in found.items()} == (
        {"train": 1200, "valid": 3, "test": 2} if with_test else {"train": 200, "valid": 3, "test": 1000}
    )
    assert found["valid"][2] == "それvalid2。"
    assert found["test"][0] == ("それtest0。" if with_test else "それtrain200。")
    assert read(tmp_path / "out/train.en-ja.en")[7] == "it train7 ."


@pytest.fixture
def mtdata_index(monkeypatch):
    """A few entries in place of mtdata's index of some 300,000, which takes long to load."""
    entry = pytest.importorskip("mtdata.entry")
    entries = [
        entry.Entry(
            "Statmt-plain-1-deu-eng", url="http://host/plain.tgz", in_paths=["t/a.de", "t/a.en"], in_ext="txt"
        ),
        entry.Entry("Statmt-table-1-eng-deu", url="http://host/table.tsv.gz"),
        entry.Entry("Statmt-table-2-eng-deu", url="http://host/v2/table.tsv.gz"),
        entry.Entry(
            "Statmt-plain-2-deu-eng", url="http://host/plain.tgz", in_paths=["u/a.de", "u/a.en"], in_ext="txt"
        ),
        entry.Entry("Statmt-two-1-deu-eng", url=("http://host/b.de.gz", "http://host/b.en.gz"), ext="txt.gz"),
        entry.Entry("Statmt-memory-1-deu-eng", url="http://host/memory.tmx.gz"),
        entry.Entry("Statmt-mono-1-deu", url="http://host/mono.txt.gz"),
    ]
    known = {entry.did: entry for entry in entries}
    index = SimpleNamespace(Index=SimpleNamespace(get_instance=lambda: known))
    monkeypatch.setitem(sys.modules, "mtdata.index", index)


def test_mtdata_ids(download, tmp_path, read, mtdata_index):
    folder = tmp_path / "in"
    folder.mkdir()
    tar_of(
        folder / "plain.tgz", {"t/a.de": lines("eins", "", "drei"), "t/a.en": lines("one", "two", "three")}
    )
    (folder / "table.tsv.gz").write_bytes(gzip.compress(lines("four\tvier", "five\tfünf")))
    command = ["mtdata", "--langs", "de,en", "--from-folder", folder]
    ids = ["--train", "Statmt-plain-1-deu-eng", "Statmt-table-1-eng-deu", "--test", "Statmt-table-1-eng-deu"]
    download(*command, *ids)
    assert read(tmp_path / "out/train.de-en.de") == ["eins", "drei", "vier", "fünf"]
    assert read(tmp_path / "out/train.de-en.en") == ["one", "three", "four", "five"]
    assert read(tmp_path / "out/test.de-en.de") == ["vier", "fünf"]
    ids[1] += "@1"  # the caps of Table 2.1 are of one corpus each
    download(*command, *ids)
    assert read(tmp_path / "out/train.de-en.en") == ["one", "four", "five"]
    for identifier, message in (
        ("Statmt-plain-1-deu-eng@0", "found '0' after @, expected a number of pairs above 0"),
        ("Statmt-other-1-deu-eng", "unknown"),
        ("nonsense", "Dataset ID expected"),
        ("Statmt-mono-1-deu", "is not a bitext"),
    ):
        error = download(*command, "--train", identifier, "--force", status=2)
        assert f"mtdata id {identifier}" in error and message in error and error.count("\n") == 1
    (folder / "plain.tgz").write_bytes(b"damaged")
    error = download(*command, "--train", "Statmt-plain-1-deu-eng", "--force", status=2)
    assert "plain.tgz: not a complete tar or zip archive" in error


TMX = """<?xml version="1.0" encoding="UTF-8"?>
<tmx version="1.4"><body><tu>
<tuv xml:lang="de"><seg>fünf</seg></tuv><tuv xml:lang="en"><seg>five</seg></tuv>
</tu></body></tmx>"""


def test_lines_of_mtdata_end_where_ours_end(download, tmp_path, read, mtdata_index):
    folder = tmp_path / "in"
    folder.mkdir()
    sides = {"de": ["eins\r1", "zwei", "drei"], "en": ["one", "two", "three\r3"]}
    for code, texts in sides.items():
        (folder / f"b.{code}.gz").write_bytes(gzip.compress(lines(*texts)))
    (folder / "table.tsv.gz").write_bytes(gzip.compress(lines("fo\rur\tvier")))
    (folder / "memory.tmx.gz").write_bytes(gzip.compress(TMX.encode()))
    ids = ("Statmt-two-1-deu-eng", "Statmt-table-1-eng-deu", "Statmt-memory-1-deu-eng")
    command = ["mtdata", "--langs", "de,en", "--from-folder", folder, "--train", *ids]
    error = download(*command, "--centric", "de", status=2)
    assert "--centric de: mtdata has the pairs of its ids; leave the option out" in error
    download(*command)
    assert read(tmp_path / "out/train.de-en.de") == ["eins 1", "zwei", "drei", "vier", "fünf"]
    assert read(tmp_path / "out/train.de-en.en") == ["one", "two", "three 3", "fo ur", "five"]


@pytest.mark.parametrize(
    ("identifier", "files", "line"),
    [
        ("Statmt-two-1-deu-eng", {"b.de.gz": b"eins\nf\xfcnf\n", "b.en.gz": b"one\nfive\n"}, "b.de.gz:2"),
        ("Statmt-table-1-eng-deu", {"table.tsv.gz": b"one\teins\nfive\tf\xfcnf\n"}, "table.tsv.gz:2"),
        ("Statmt-memory-1-deu-eng", {"memory.tmx.gz": TMX.encode("latin-1")}, "memory.tmx.gz:3"),
        ("Statmt-two-1-deu-eng", {"b.de.gz": b"eins\n", "b.en.gz": b"one\nfive\n"}, "b.de.gz: ends after 1"),
    ],
)
def test_what_mtdata_reads_must_be_utf8(download, tmp_path, mtdata_index, identifier, files, line):
    folder = tmp_path / "in"
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(gzip.compress(content))
    words = ["mtdata", "--langs", "de,en", "--from-folder", folder, "--train", identifier]
    error = download(*words, status=2)
    assert error.count("\n") == 1 and f"{folder}/{line}" in error


def test_files_of_one_name_are_told_apart(download, tmp_path, read, mtdata_index, monkeypatch):
    """Two versions of a file, and two folders of an archive; in a local folder the id tells them apart."""
    table = {"http://host/table.tsv.gz": "four\tvier", "http://host/v2/table.tsv.gz": "six\tsechs"}
    archive = {f"{place}/a.{code}": lines(f"{place} {code}") for place in "tu" for code in ("de", "en")}
    asked = []

    def fetched(url, path):
        asked.append(path.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if url in table:
            path.write_bytes(gzip.compress(lines(table[url])))
            return path
        return tar_of(path, archive)

    ids = [
        f"Statmt-{name}"
        for name in ("table-1-eng-deu", "table-2-eng-deu", "plain-1-deu-eng", "plain-2-deu-eng")
    ]
    command = ["mtdata", "--langs", "de,en", "--train", *ids]
    monkeypatch.setattr(fetching, "fetch", fetched)
    monkeypatch.setattr(Source.__init__, "__defaults__", (fetched,))
    download(*command)
    assert read(tmp_path / "out/train.de-en.de") == ["vier", "sechs", "t de", "u de"]
    assert len(set(asked)) == 4

    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "table.tsv.gz").write_bytes(gzip.compress(lines(table["http://host/table.tsv.gz"])))
    tar_of(folder / "plain.tgz", archive)
    local = [*command, "--output", tmp_path / "local", "--from-folder", folder]
    error = download(*local, status=2)
    assert "table.tsv.gz: would stand for http://host/table.tsv.gz and for" in error
    name = error.rstrip().rpartition(" ")[2]
    (folder / name).write_bytes(gzip.compress(lines(table["http://host/v2/table.tsv.gz"])))
    download(*local)
    assert read(tmp_path / "local/train.de-en.de") == ["vier", "sechs", "t de", "u de"]


@pytest.mark.parametrize(
    ("langs", "pair"),
    [("deu,eng", "deu-eng"), ("deu_Latn,eng_Latn", "deu_Latn-eng_Latn"), ("de,en_XX", "de-en_XX")],
)
def test_mtdata_ids_under_our_own_codes(download, tmp_path, read, mtdata_index, langs, pair):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "table.tsv.gz").write_bytes(gzip.compress(lines("four\tvier", "five\tfünf")))
    download("mtdata", "--langs", langs, "--from-folder", folder, "--train", "Statmt-table-1-eng-deu")
    assert read(tmp_path / f"out/train.{pair}.{pair.split('-')[0]}") == ["vier", "fünf"]


def test_two_languages_of_ours_are_never_one_of_mtdata():
    from data_prep.corpora.mtdata_index import mtdata_tag, own_code

    tags = {code: mtdata_tag(code) for code in ("zho_Hans", "zho_Hant", "en_XX")}
    assert own_code(mtdata_tag("zh_Hant"), tags) == "zho_Hant"
    assert own_code(mtdata_tag("eng"), tags) == "en_XX"
    assert own_code(mtdata_tag("deu"), tags) is None
    arabic = {code: mtdata_tag(code) for code in ("ar", "en")}
    assert own_code(mtdata_tag("arb"), arabic) == "ar"  # Flores has codes of single languages
    with pytest.raises(InputError, match="--langs: zho_Hans and zho_Hant are both zho of mtdata"):
        own_code(mtdata_tag("zho"), tags)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("mtdata --langs en,xx_Foo", "--langs: 'xx_Foo' is not a language that mtdata knows"),
        ("opus100 --langs de,en,xx", "opus100 has no 'xx'; it has af, am, an"),
        ("opus100 --langs de,en --centric de", "with English only"),
        ("opus100 --langs de,fr", "--centric: 'en' is not one of"),
        ("opus100 --from-folder nowhere", "nowhere: no such folder"),
        ("opus100 --from-folder .", "neither the archive opus-100-corpus-v1.0.tar.gz nor the file"),
        ("multi30k --from-folder .", "no file train.cs"),
        ("l10n --langs de,en", "l10n has no address to download from; give the folder"),
        ("opus100 --langs de,en,fr --further-pairs de-fr", "--further-pairs: opus100 has none"),
        ("l10n --langs de,en --further-pairs de-fr", "--further-pairs de-fr: expected two of --langs de,en"),
        ("l10n --langs de,en --further-pairs de-en", "--further-pairs de-en: is trained on already"),
        ("l10n --langs de,en,fr --further-pairs de-fr,fr-de", "--further-pairs fr-de: is trained on already"),
        (
            "flores200 --langs en,qqq --from-folder .",
            "--langs: 'qqq' is no language that Flores-200 can have",
        ),
        ("mtdata", "--langs is needed"),
        ("mtdata --langs de,en", "no --train ids"),
    ],
)
def test_bad_requests(download, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    error = download(*arguments.split(), status=2)
    assert message in error and error.count("\n") == 1, error


@pytest.mark.parametrize(("content", "line"), [(f"\n{'0' * 64}  f\n\nx  g\n".encode(), 4), (b"\xff\n", 1)])
def test_a_broken_list_of_checksums_is_named_with_its_line(tmp_path, content, line):
    (tmp_path / SUMS).write_bytes(content)
    with pytest.raises(InputError, match=f"{SUMS}:{line}: ") as caught:
        read_sums(tmp_path)
    assert "\n" not in str(caught.value)


# --- Flores-200, and the languages of OPUS-100 that the thesis adds in chapter 6

FLORES = {  # how Flores-200 calls the languages of Table 6.1
    "af": "afr_Latn", "am": "amh_Ethi", "be": "bel_Cyrl", "cy": "cym_Latn", "ga": "gle_Latn",
    "gd": "gla_Latn", "gl": "glg_Latn", "ha": "hau_Latn", "ka": "kat_Geor", "kk": "kaz_Cyrl",
    "km": "khm_Khmr", "ky": "kir_Cyrl", "li": "lim_Latn", "my": "mya_Mymr", "nb": "nob_Latn",
    "nn": "nno_Latn", "oc": "oci_Latn", "si": "sin_Sinh", "tg": "tgk_Cyrl", "tk": "tuk_Latn",
    "tt": "tat_Cyrl", "ug": "uig_Arab", "uz": "uzn_Latn", "yi": "ydd_Hebr",
}  # fmt: skip


def test_flores_calls_languages_by_three_letters_and_a_script():
    assert {code: flores200.flores_code(code) for code in FLORES} == FLORES
    others = {
        "ar": "arb_Arab",
        "zh": "zho_Hans",
        "zh_Hant": "zho_Hant",
        "deu_Latn": "deu_Latn",
        "sw": "swh_Latn",
        "fa": "pes_Arab",
        "prs": "prs_Arab",
        "ko": "kor_Hang",
        "tl": "tgl_Latn",
    }
    assert {code: flores200.flores_code(code) for code in others} == others


@pytest.mark.parametrize("code", ["prs_Arab", "tgl_Latn", "arb_Latn", "azb_Arab", "crh_Latn", "sat_Beng"])
def test_a_name_of_flores_is_taken_as_it_is(code):
    assert flores200.flores_code(code) == code


def test_flores_has_sets_for_evaluation_of_every_language_with_english(download, tmp_path, read):
    for split in ("dev", "devtest"):
        (tmp_path / "flores200_dataset" / split).mkdir(parents=True)
        for code in ("afr_Latn", "eng_Latn", "uzn_Latn"):
            (tmp_path / f"flores200_dataset/{split}/{code}.{split}").write_bytes(lines(f"{split} {code}"))
    for folder in ("flores200_dataset", "."):  # itself, or where it was unpacked
        out = tmp_path / "out" / folder
        download("flores200", "--langs", "af,en,uz", "--from-folder", tmp_path / folder, "--output", out)
        assert read(out / "valid.af-en.af") == ["dev afr_Latn"]
        assert read(out / "test.en-uz.uz") == ["devtest uzn_Latn"]
        assert sorted(path.name for path in out.glob("t*")) == [
            "test.af-en.af", "test.af-en.en", "test.en-uz.en", "test.en-uz.uz"
        ]  # fmt: skip


def test_opus100_has_test_sets_without_english_between_six_languages_only():
    asked = []

    class Asked:
        def members(self, url, archive, names):
            asked.extend(name.split("/")[-1] for name in names)
            return dict.fromkeys(names, "file")

    found = [
        (bitext.split, bitext.pair) for bitext in opus100.read(Asked(), ["af", "de", "en", "fr", "hy"], "en")
    ]
    assert [pair for split, pair in found if split == "test"] == ["af-en", "de-en", "de-fr", "en-fr"]
    assert [pair for split, pair in found if split == "train"] == ["af-en", "de-en", "en-fr", "en-hy"]
    assert "opus.en-hy-dev.hy" not in asked and "opus.de-fr-test.fr" in asked


def test_small_languages_are_not_compared_with_the_million_lines_of_the_papers():
    counts = {"train.af-en": 275_512, "train.de-en": 5}
    published = ["train.de-en: 5 lines, the published corpus has 1000000"]
    assert compare_with_paper("opus100", counts, None) == published
    assert compare_with_paper("opus100", counts, 5) == []
    assert compare_with_paper("opus100", counts, 6) == ["train.de-en: 5 lines, the published corpus has 6"]
