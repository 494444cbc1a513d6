"""Archives of a local folder that are broken, or hold something else: one line that names them."""

import gzip
import io
import tarfile
import zipfile

import pytest

ZIP, TAR = "DeEnItNlRo-DeEnItNlRo.zip", "de-en.tgz"
SIDES = [f"europarl-v7.de-en.{code}" for code in ("de", "en")]


def zipped() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("D/train.tags.en-it.en", "a line that is long enough to be damaged\n")
    return stream.getvalue()


def damaged(archive: bytes) -> bytes:
    return archive[:45] + bytes([archive[45] ^ 255]) + archive[46:]


def tarred(kind: bytes = tarfile.REGTYPE) -> bytes:
    """Both sides as members of a kind; regular ones have a line."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name in SIDES:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/hostname"
            member.size = 2 if kind == tarfile.REGTYPE else 0
            archive.addfile(member, io.BytesIO(b"a\n"))
    return stream.getvalue()


ARCHIVES = {
    "zip cut off": (ZIP, zipped()[:40]),
    "zip that is text": (ZIP, b"hello\n"),
    "zip that is empty": (ZIP, b""),
    "zip with a damaged member": (ZIP, damaged(zipped())),
    "zip without the members": (ZIP, zipped()),
    "tar cut off": (TAR, tarred()[:60]),
    "tar that is text": (TAR, b"hello\n"),
    "tar that is empty": (TAR, b""),
    "tar of a gzip that ends early": (TAR, gzip.compress(gzip.decompress(tarred())[:700])),
    "tar of symbolic links": (TAR, tarred(tarfile.SYMTYPE)),
    "tar of hard links": (TAR, tarred(tarfile.LNKTYPE)),
    "tar of devices": (TAR, tarred(tarfile.CHRTYPE)),
    "tar of folders": (TAR, tarred(tarfile.DIRTYPE)),
}


@pytest.mark.parametrize("case", ARCHIVES)
def test_a_broken_archive_is_one_line(case, run, tmp_path):
    name, content = ARCHIVES[case]
    folder, output = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / name).write_bytes(content)
    corpus, languages = ("iwslt17", "en,it") if name == ZIP else ("europarl", "de,en")
    words = ["data_prep", "download", corpus, "--langs", languages]
    refusal = run([*words, "--from-folder", folder, "--output", output])
    assert refusal.status == 2
    assert name in refusal.line
    assert not output.exists() or not [path for path in output.rglob("*") if path.is_file()]
