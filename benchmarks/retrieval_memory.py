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
from pathlib import Path

import numpy as np

from command_line import options
from command_line.dispatch import run_script
from data_prep.formats.vector_numbers import Numbers
from data_prep.formats.vectors import VectorsFile, create_vectors
from embeddings.search.neighbours import INDEXES, MEMORY, Search, nearest

NOISE = 0.5  # of a copy, per number, where those of the vectors have deviation 1
BLOCK = 50_000


def add_arguments(parser) -> None:
    parser.add_argument("--lines", type=options.positive, default=1_000_000, help="of both sides")
    parser.add_argument("--width", type=options.positive, default=256)
    parser.add_argument("--memory", type=options.number(0, 1000, above=True), default=MEMORY, help="GiB")
    parser.add_argument("--probes", type=options.positive, default=32)
    parser.add_argument("--index", nargs="+", choices=INDEXES, default=INDEXES)
    parser.add_argument("--vectors", type=options.path, help="folder with the vectors; measures one index")


def main(args) -> None:
    if args.vectors:
        measure(args)
        return
    with tempfile.TemporaryDirectory() as folder:
        write_sides(Path(folder), args.lines, args.width)
        for index in args.index:
            given = {"vectors": folder, "index": index, "memory": args.memory, "probes": args.probes}
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


def measure(args) -> None:
    import faiss  # noqa: F401  (its own memory is not the search's)

    first, second = (VectorsFile.open(args.vectors / f"{name}.npy") for name in ("first", "second"))
    before, start = memory_of_ours(), time.monotonic()
    with Peak() as peak:
        found = nearest(first, second, 4, Search(args.index[0], None, args.probes, args.memory))
    print(
        f"{args.index[0]}: {len(first):,} x {len(second):,} of {first.width}, {args.memory} GiB of blocks:"
        f" {time.monotonic() - start:.1f} s, at most {(peak.most - before) / 2**30:.2f} GiB more,"
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
