"""Gets files from the network or from a local folder, and single files out of archives.

Downloads resume where they broke off and appear under their name when complete. `SHA256SUMS` beside them
records the checksum of everything downloaded, and what it records is verified from then on; put the sums that
you trust there beforehand. Archives are never unpacked as they are: chosen regular files are copied out under
names of ours, so that paths, links and devices in an archive cannot touch anything.
"""

import contextlib
import fnmatch
import hashlib
import http.client
import lzma
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from command_line.completion import check_finished
from command_line.errors import InputError
from command_line.lines import find_text, read_lines, uncompressed_name
from command_line.outputs import atomic_path, checksum, scratch_folder, write_text
from command_line.progress import progress

SUMS = "SHA256SUMS"
TIMEOUT = 60  # seconds without a byte
ATTEMPTS = 5
PAUSE = 2  # seconds before the third attempt, twice as many before the next one, and so on
FOR_NOW = (408, 425, 429, 500, 502, 503, 504)  # answers of servers that are busy
BLOCK = 1 << 20
ARCHIVE_ERRORS = (
    tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error, lzma.LZMAError,
    RuntimeError,  # zipfile's, of what is encrypted or compressed in a way that it does not know
)  # fmt: skip


def fetch(url: str, path: Path, open_url=urllib.request.urlopen) -> Path:
    """Download `url` to `path`, unless it is there; verify or record its checksum.

    Raises:
        InputError: no connection after several attempts, or a checksum that differs from the recorded one.
    """
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".partial-{path.name}")
        for attempt in range(ATTEMPTS):
            try:
                _download(url, partial, open_url)
                break
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, urllib.error.HTTPError) and error.code not in FOR_NOW:
                    raise InputError(f"{url}: {error}; --from-folder takes a copy from elsewhere") from None
                if attempt == ATTEMPTS - 1:
                    raise InputError(
                        f"{url}: {error}; what has arrived is kept, run again to go on"
                    ) from None
                time.sleep(attempt * PAUSE)
        verify(partial, path.name, path.parent)
        partial.replace(path)
        partial.with_name(f"{partial.name}.version").unlink(missing_ok=True)
    else:
        verify(path, path.name, path.parent)
    return path


def _download(url: str, partial: Path, open_url) -> None:
    """Append to `partial` what it lacks; it begins anew where the server does not say that the file is still
    the same one.
    """
    version = partial.with_name(f"{partial.name}.version")
    start = partial.stat().st_size if partial.exists() and version.exists() else 0
    headers = {"Range": f"bytes={start}-", "If-Range": version.read_text(encoding="utf-8")} if start else {}
    try:
        response = open_url(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416 or not start:
            raise
        if (error.headers or {}).get("Content-Range") == f"bytes */{start}":  # nothing is missing
            return
        partial.unlink()
        raise ConnectionError("the file on the server is another one than has arrived") from None
    with response:
        _note_version(response, version)
        resumed = response.status == 206
        length = response.headers.get("Content-Length")
        expected = None if length is None else int(length) + (start if resumed else 0)
        with open(partial, "ab" if resumed else "wb") as stream:
            blocks = iter(lambda: response.read(BLOCK), b"")
            for block in progress(blocks, expected, f"download {url.rpartition('/')[2]}", "byte", size=len):
                stream.write(block)
    if expected is not None and partial.stat().st_size != expected:
        raise ConnectionError(f"{partial.stat().st_size} of {expected} bytes arrived")


def _note_version(response, path: Path) -> None:
    """What tells the file on the server from a later one of the same address."""
    tag = response.headers.get("ETag") or "W/"
    version = response.headers.get("Last-Modified") if tag.startswith("W/") else tag  # which W/ does not
    if version:
        write_text(path, version)
    else:
        path.unlink(missing_ok=True)


def read_sums(folder: Path) -> dict[str, str]:
    """File name -> SHA-256, as `sha256sum` writes them."""
    path = folder / SUMS
    if not path.exists():
        return {}
    sums = {}
    for number, line in enumerate(read_lines(path), start=1):
        row = line.split(maxsplit=1)
        if row and (len(row) != 2 or len(row[0]) != 64):
            raise InputError(f"{path}:{number}: expected a SHA-256 and a file name, as sha256sum writes them")
        if row:
            sums[row[1].strip().removeprefix("*")] = row[0].lower()
    return sums


def verify(path: Path, name: str, folder: Path) -> None:
    """Compare with the recorded checksum of `name`, or record it."""
    sums, sha256 = read_sums(folder), checksum(path)
    if sums.setdefault(name, sha256) != sha256:
        if path.name != name:
            path.unlink()
        raise InputError(f"{folder / name}: SHA-256 {sha256}, but {folder / SUMS} has {sums[name]}")
    write_text(folder / SUMS, "".join(f"{digest}  {file}\n" for file, digest in sorted(sums.items())))


def _tar_members(archive: Path) -> Iterator[tuple[str, object]]:
    with tarfile.open(archive, "r|*") as tar:  # one pass, nothing but the current member in memory
        for member in tar:
            if member.isreg():
                yield member.name, tar.extractfile(member)


def _zip_members(archive: Path) -> Iterator[tuple[str, object]]:
    with zipfile.ZipFile(archive) as file:
        for member in file.infolist():
            is_link = (member.external_attr >> 16) & 0o170000 == 0o120000
            if not member.is_dir() and not is_link:
                with file.open(member) as stream:
                    yield member.filename, stream


@contextlib.contextmanager
def _reading(archive: Path) -> Iterator[None]:
    try:
        yield
    except ARCHIVE_ERRORS as error:
        raise InputError(f"{archive}: not a complete tar or zip archive: {error}") from None


def _members(archive: Path) -> Iterator[tuple[str, object]]:
    """Name and content of every regular file."""
    with _reading(archive):
        yield from _zip_members(archive) if zipfile.is_zipfile(archive) else _tar_members(archive)


def _copy(stream, archive: Path, target: Path) -> None:
    """Errors of writing are no errors of the archive: a full disk, for instance."""
    with atomic_path(target) as temporary, open(temporary, "wb") as output:
        while True:
            with _reading(archive):
                block = stream.read(BLOCK)
            if not block:
                break
            output.write(block)


def take_out(archive: Path, wanted: Iterable[str], folder: Path) -> dict[str, Path]:
    """Copy files out of a tar or zip archive into `folder`.

    Args:
        wanted: paths in the archive (or their ends), or patterns with `*`.

    Returns:
        For each wanted path the file, named after the archive and the place in the list.
    """
    wanted = list(dict.fromkeys(wanted))
    targets = {name: folder / f"{archive.name}--{_short_name(name)}" for name in wanted}
    missing = [name for name in wanted if not targets[name].exists()]  # in order: a member is the first's
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.closing(_members(archive)) as members:
            for name, stream in members:
                member = next((want for want in missing if _matches(name, want)), None)
                if member is not None:
                    _copy(stream, archive, targets[member])
                    missing.remove(member)
                if not missing:
                    break
    if missing:
        raise InputError(f"{archive}: has no file {missing[0]}")
    return targets


def _short_name(wanted: str) -> str:
    """The end of a path in an archive, which other paths may have, too, behind what tells it from these."""
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:12]
    return f"{digest}--{Path(wanted.replace('*', 'any')).name}"


def _matches(name: str, wanted: str) -> bool:
    if "*" in wanted:
        return fnmatch.fnmatchcase(name, wanted)
    return name == wanted or name.endswith("/" + wanted)


class Source:
    """Where a corpus comes from: a local folder that stands in for the download, or the network.

    Files taken out of archives last as long as the `with` block, so that they are those of the archive.

    Args:
        folder: holds the archives under their own names, or the files inside them, with or without the
            folders of the archive, plain, `.gz` or `.xz`. None: the network.
        fetch: function (url, path) -> path.

    Attributes:
        asked: the names of all files and archives that were asked for.
    """

    def __init__(self, folder: Path | None, downloads: Path, fetch=fetch):
        if folder is not None and not folder.is_dir():
            raise InputError(f"--from-folder {folder}: no such folder")
        if folder is not None:
            check_finished(folder)
        self._folder, self._downloads, self._fetch = folder, downloads, fetch
        self._files = contextlib.ExitStack()
        self._taken_out: Path | None = None
        self._stands_for: dict[Path, str] = {}
        self.asked: set[str] = set()

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *error) -> None:
        self._files.close()
        if self._taken_out and not any(self._downloads.iterdir()):
            self._downloads.rmdir()  # made for that alone
        self._taken_out = None

    def identities(self, names: Iterable[str], earlier: dict | None = None) -> dict[str, dict | None]:
        """What stands behind names that were asked for: path and checksum, or None where there is no file.

        Args:
            earlier: these of an earlier run; they hold for downloads that have been removed since.
        """
        return {name: self._identity(name) or (earlier or {}).get(name) for name in sorted(names)}

    def _identity(self, name: str) -> dict | None:
        if self._folder is not None:
            path, root = self._find(name), self._folder
        else:
            path, root = self._downloads / name, self._downloads
        if path is None or not path.is_file():
            return None
        return {"path": str(path.relative_to(root)), "sha256": checksum(path)}

    @property
    def is_local(self) -> bool:
        return self._folder is not None

    def file(self, url: str, name: str, also: str = "") -> Path:
        """One file that is not in an archive.

        Args:
            name: in downloads, where no other file may have it.
            also: another name, that it may have in a folder that stands in for the download.
        """
        self.asked.add(name)
        if self._folder is None:
            return self._fetch(url, self._downloads / name)
        path = self._find(name)
        if path is None and also:
            self.asked.add(also)
            path = self._find(also)
        if path is None:
            raise InputError(f"{self._folder}: no file {also or name}")
        return self._only_for(path, url or name, name)

    def members(self, url: str, archive: str, wanted: list[str], also: str = "") -> dict[str, Path]:
        """Files of an archive: wanted path -> local file; names as of `file`."""
        if self._folder is not None:
            self.asked.update(wanted)
            paths = {name: self._find(name) for name in wanted}
            if all(paths.values()):
                return {
                    name: self._only_for(path, f"{url} ({name})", archive) for name, path in paths.items()
                }
            there = next((name for name in (archive, also) if (self._folder / name).is_file()), "")
            if not there:
                lacks = next(name for name, path in paths.items() if path is None)
                raise InputError(
                    f"{self._folder}: neither the archive {also or archive} nor the file {lacks}"
                )
            self.asked.update((archive, there))
            path = self._only_for(self._folder / there, url, archive)
            return take_out(path, wanted, self._room())
        self.asked.add(archive)
        return take_out(self._fetch(url, self._downloads / archive), wanted, self._room())

    def _only_for(self, path: Path, what: str, name: str) -> Path:
        """A file of the folder, which stands for one file of the network only."""
        if (other := self._stands_for.setdefault(path, what)) != what:
            raise InputError(f"{path}: would stand for {other} and for {what}; call the latter one's {name}")
        return path

    def _room(self) -> Path:
        """Where files out of archives are put."""
        if self._taken_out is None:
            self._downloads.mkdir(parents=True, exist_ok=True)
            self._taken_out = self._files.enter_context(scratch_folder(self._downloads))
        return self._taken_out

    def _find(self, name: str) -> Path | None:
        """A file under the last parts of its name; what is published compressed may be plain."""
        parts = Path(name).parts
        for last in (parts[-1], uncompressed_name(name)):
            for start in range(len(parts)):
                if path := find_text(self._folder.joinpath(*parts[start:-1], last)):
                    return path
        return None
