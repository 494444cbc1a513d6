"""What the operating system refuses, through a step, is one line with file and remedy."""

import errno
import gc
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy
import pytest

from command_line import dispatch
from command_line.option_classes import option
from command_line.os_errors import explain
from command_line.outputs import reserve, write_text
from data_prep.duplicates import duplicate_flags, key
from tests.command_line.steps import step_of


@dataclass(frozen=True)
class Output:
    """Where the errors of the system are expected."""

    output: str | None = option("folder")


@pytest.fixture
def refused(capsys):
    """Run a function as a step; its one line without "error: "."""

    def run(main, *words) -> str:
        assert dispatch.run_step("tool", step_of(main, Output), words) == 2
        gc.collect()  # what is left open would complain now
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith("error: ")
        return line.removeprefix("error: ")

    return run


def test_what_is_there_is_something_else(refused, tmp_path):
    file, link, loop = tmp_path / "file", tmp_path / "link", tmp_path / "loop"
    file.write_text("")
    link.symlink_to("nowhere")
    loop.symlink_to(loop)
    name = tmp_path / ("x" * 256)
    for main, expected in (
        (lambda args: Path(tmp_path / "a").read_text(), f"{tmp_path}/a: no such file or folder"),
        (lambda args: Path(link).read_text(), f"{link}: is a link to nowhere, which is not there; remove"),
        (
            lambda args: Path(link / "a").read_text(),
            f"{link}: is a link to nowhere, which is not there; remove",
        ),
        (
            lambda args: link.mkdir(exist_ok=True),
            f"{link}: is a link to nowhere, which is not there; remove",
        ),
        (lambda args: Path(tmp_path).read_text(), f"{tmp_path}: is a folder, expected a file"),
        (lambda args: write_text(tmp_path, ""), f"{tmp_path}: is a folder, expected a file"),
        (
            lambda args: write_text(file / "a", ""),
            f"{file}: is a file, expected a folder; choose",
        ),
        (lambda args: Path(file / "a/b").read_text(), f"{file}: is a file, expected a folder; choose"),
        (lambda args: Path(name).read_text(), f"{name}: the name is too long; file systems take 255 bytes"),
        (lambda args: Path(loop).read_text(), f"{loop}: is a link that leads back to itself; remove it"),
    ):
        assert refused(main).startswith(expected)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.EACCES, "no permission; see `ls -ld`"),
        (errno.EPERM, "no permission; see `ls -ld`"),
        (errno.EROFS, "its file system is read-only; choose another path"),
        (errno.ESTALE, "the network file system has lost it"),
    ],
)
def test_what_only_some_file_systems_and_users_meet(refused, number, expected):
    def main(args):
        raise OSError(number, os.strerror(number), "a/b")

    assert refused(main).startswith(f"a/b: {expected}")


def test_without_a_file(refused):
    for number, expected in ((errno.EMFILE, "too many open files"), (errno.EAGAIN, "no further process")):

        def main(args, number=number):
            raise OSError(number, os.strerror(number))

        assert refused(main).startswith(expected)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), OSError(errno.EDQUOT, "quota"),
                                   OSError("1000 requested and 16 written")])  # fmt: skip
def test_a_full_disk_names_what_to_free(refused, tmp_path, error):
    def main(args):
        raise error

    line = refused(main, "--output", str(tmp_path / "new/out"))
    assert line.startswith(f"{tmp_path}/new/out: no space left on /")
    assert line.endswith("; free some, and run the command again")


def test_a_full_disk_behind_standard_output(refused):
    """As `command > /dev/full`: no disk of ours is full, and no file was to be written."""

    def main(args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert refused(main).startswith("standard output: no space left where it goes")


def test_memory(refused):
    def main(args):
        numpy.empty(1 << 60, dtype=numpy.uint8)

    assert refused(main).startswith("out of memory (Unable to allocate 1.00 EiB for an array")


def test_faults_of_the_program_keep_their_traceback():
    assert explain(OSError(errno.EBADF, "bad")) is None
    assert explain(OSError("something")) is None
    with pytest.raises(OSError, match="Bad file descriptor"):
        dispatch.run_step("tool", step_of(lambda options: os.close(-1)), [])


def test_debug_shows_the_traceback_of_an_os_error():
    with pytest.raises(FileNotFoundError):
        dispatch.run_step("tool", step_of(lambda options: Path("/no/such").read_text()), ["--debug"])


@pytest.fixture
def small_files():
    """Files cannot grow beyond 64 KiB, as on a disk that has no more room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_has_its_blocks_before_it_is_mapped(tmp_path, small_files):
    reserve(tmp_path / "small", 1 << 16)
    assert (tmp_path / "small").stat().st_blocks * 512 >= 1 << 16
    with pytest.raises(OSError) as error:
        reserve(tmp_path / "large", (1 << 16) + 1)
    assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(tmp_path / "large"))


def test_flags_of_duplicates_that_do_not_fit_are_an_error_not_a_signal(tmp_path, refused, request):
    count = (1 << 16) + 1
    (tmp_path / "keys").write_bytes(key("x") * count)
    request.getfixturevalue("small_files")
    line = refused(lambda args: duplicate_flags(tmp_path / "keys", count, tmp_path))
    assert line.startswith(f"{tmp_path}/flags: is larger than files may be here")


ON_A_SMALL_DISK = """
import sys
from pathlib import Path
from data_prep.duplicates import duplicate_flags
folder = Path(sys.argv[1])
count = (folder / "keys").stat().st_size // 16
duplicate_flags(folder / "keys", count, folder)
"""


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="mounts a file system")
def test_a_nearly_full_disk_does_not_kill_the_process(tmp_path):
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no permission to mount")
    try:
        (tmp_path / "keys").write_bytes(key("x") * 64_000)  # leaves 24 KiB of 1 MiB, the flags need 63 KiB
        command = [sys.executable, "-c", ON_A_SMALL_DISK, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)
    assert done.returncode == 1, done  # below 0: a signal
    assert "OSError: [Errno 28] No space left on device" in done.stderr


SAVES = """
import resource, signal, sys, types
from dataclasses import dataclass
import torch
from safetensors.torch import save_file
from command_line import dispatch
from command_line.option_classes import option, positional

@dataclass
class Options:
    library: str = positional("that writes")
    size: str = positional("bytes for which there is room")
    output: str = option("folder", required=True)

def main(options: Options):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(options.size), int(options.size)))
    weights = {"weights": torch.zeros(50_000)}
    (torch.save if options.library == "torch" else save_file)(weights, f"{options.output}/{options.library}")

step = types.SimpleNamespace(__doc__="", main=main)
sys.exit(dispatch.run_step("tool", step, sys.argv[1:]))
"""


@pytest.mark.parametrize("size", [0, 150_000])
@pytest.mark.parametrize("library", ["torch", "safetensors"])
def test_weights_for_which_there_is_no_room(tmp_path, library, size):
    """As libraries of C++ and Rust say it, of a limit in place of a full disk."""
    command = [sys.executable, "-c", SAVES, library, str(size), "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    expected = {
        "torch": f"error: {tmp_path}: a file in it cannot be written to its end; is its disk full?",
        "safetensors": f"error: {tmp_path}: is larger than files may be here; see `ulimit -f`",
    }
    assert done.returncode == 2 and line.startswith(expected[library])


def test_a_full_disk_as_rust_says_it(tmp_path):
    from command_line.os_errors import explain_unwritten

    error = Exception("Error while serializing: I/O error: No space left on device (os error 28)")
    assert explain_unwritten(error, [tmp_path]).startswith(f"{tmp_path}: no space left on ")
    assert explain_unwritten(RuntimeError("size mismatch"), [tmp_path]) is None
