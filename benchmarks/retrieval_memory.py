"""Seconds and peak memory of retrieval among vectors on disk, exact and with inverted lists.

    python -m benchmarks.retrieval_memory [--lines 1000000] [--width 256] [--memory 1] [--index exact ivf]

Random vectors and noisy copies of them, float16, in files below TMPDIR. Every index has a process of its own.
The peak is what the search adds to its memory; pages of files do not count (the system may drop them).
"""

import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from command_line import options as types
from command_line.dispatch import run_script
from command_line.option_classes import option
from data_prep.formats.vector_numbers import Numbers
from data_prep.formats.vectors import VectorsFile, create_vectors
from embeddings.search.neighbours import INDEXES, MEMORY, Search, nearest

NOISE = 0.5  # of a copy, per number, where those of the vectors have deviation 1
BLOCK = 50_000


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is searched, and how."""

    lines: int = option("of both sides", 1_000_000)
    width: int = option("of the model", 256)
    memory: float = option("GiB", MEMORY, type=types.number(0, 1000, above=True))
    probes: int = option("lists that are searched", 32)
    index: list[str] = option("those that are measured", INDEXES, nargs="+", choices=INDEXES)
    vectors: Path | None = option("folder with the vectors; measures one index")


def main(options: Options) -> None:
    if options.vectors:
        measure(options)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_sides(Path(folder), options.lines, options.width)
        for index in options.index:
            given = {"vectors": folder, "index": index, "memory": options.memory, "probes": options.probes}
            words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
            subprocess.run([sys.executable, "-m", "benchmarks.retrieval_memory", *words], check=True)


def write_sides(folder: Path, lines: int, width: int) -> None:
    """`first.npy` and `second.npy`, lines x width."""
    random = np.random.default_rng(1)
    first, second = (
        create_vectors(folder / f"{name}.npy", lines, Numbers("float16", width))
        for name in ("first", "second")
    )
    for start in range(0, lines, BLOCK):
        block = random.standard_normal((min(BLOCK, lines - start), width), dtype=np.float32)
        first[start : start + BLOCK] = block
        second[start : start + BLOCK] = block + NOISE * random.standard_normal(block.shape, dtype=np.float32)
    first.flush()
    second.flush()


def measure(options: Options) -> None:
    import faiss  # noqa: F401  (its own memory is not the search's)

    first, second = (VectorsFile.open(options.vectors / f"{name}.npy") for name in ("first", "second"))
    before, start = memory_of_ours(), time.monotonic()
    with Peak() as peak:
        found = nearest(first, second, 4, Search(options.index[0], None, options.probes, options.memory))
    print(
        f"{options.index[0]}: {len(first):,} x {len(second):,} of {first.width}, {options.memory} GiB of"
        f" blocks: {time.monotonic() - start:.1f} s, at most {(peak.most - before) / 2**30:.2f} GiB more,"
        f" P@1 {(found.rows[:, 0] == np.arange(len(first))).mean():.4f}"
    )


class Peak:
    """The most memory of this process within a block, looked at ten times a second."""

    def __enter__(self):
        self.most, self._end = memory_of_ours(), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._end.wait(0.1):
            self.most = max(self.most, memory_of_ours())

    def __exit__(self, *error) -> None:
        self._end.set()
        self._thread.join()


def memory_of_ours() -> int:
    """Bytes of resident memory that is no file's (RssAnon of Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


if __name__ == "__main__":
    sys.exit(run_script())
