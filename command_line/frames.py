"""Files of xz and zstd, read to their very end, however many frames they were joined from.

`lzma.open` ends, without a word, where what follows a stream cannot be read. The reader of `zstandard` does
not say that a file is cut off within a frame.
"""

import io
import lzma
from collections.abc import Callable
from pathlib import Path

_CHUNK = 1 << 12  # compressed bytes at a time: few, as they may become thousands of times as many
_PADDING = 4  # of xz: zeros in fours between streams


def open_xz(path: Path) -> io.BufferedReader:
    """A stream of the uncompressed bytes, of one stream of xz or several with padding between them.

    Reading raises:
        EOFError: the file ends within a stream.
        OSError: a stream is damaged, or what follows one is none.
    """
    return io.BufferedReader(_Frames(path, lzma.LZMADecompressor, lzma.LZMAError, b"\0"))


def open_zstd(path: Path) -> io.BufferedReader:
    """As `open_xz`, of frames of zstd, which have no padding."""
    import zstandard

    return io.BufferedReader(_Frames(path, zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError))


class _Frames(io.RawIOBase):
    """The frames of a file.

    Args:
        begin: makes what decompresses the next frame.
        error: that it raises.
        padding: what may stand between frames.
    """

    def __init__(self, path: Path, begin: Callable, error: type[Exception], padding: bytes = b""):
        self._file = open(path, "rb")  # noqa: SIM115  # closed by `close`
        self._begin, self._error, self._padding = begin, error, padding
        self._frame = begin()  # is being read
        self._padded = 0  # bytes between frames
        self._compressed = b""  # has been read, and not been decompressed
        self._text = memoryview(b"")  # has been decompressed, and not been asked for

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer) -> int:
        while not self._text:
            chunk, self._compressed = self._compressed or self._file.read(_CHUNK), b""
            if not chunk:
                return self._end()
            if self._frame is None:
                begun = chunk.lstrip(self._padding)
                self._padded += len(chunk) - len(begun)
                if not (chunk := begun):
                    continue
                self._end()
                self._frame = self._begin()
            self._text = memoryview(self._decompressed(chunk))
        count = min(len(buffer), len(self._text))
        buffer[:count], self._text = self._text[:count], self._text[count:]
        return count

    def _end(self) -> int:
        """No bytes; refuses the end of a file within a frame, and of padding within its fours."""
        if self._frame is not None:
            raise EOFError("Compressed file ended before the end of a frame")
        if self._padded % _PADDING:
            raise OSError("Padding that is no multiple of four bytes")
        return 0

    def _decompressed(self, chunk: bytes) -> bytes:
        try:
            text = self._frame.decompress(chunk)
        except self._error as error:
            raise OSError(str(error)) from None
        if self._frame.eof:
            self._compressed, self._frame = self._frame.unused_data, None
        return text
