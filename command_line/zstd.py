"""Files of zstd, read to their very end: one that is cut off within a frame is an error."""

import io
from pathlib import Path

_CHUNK = 1 << 12  # compressed bytes at a time: few, as they may become thousands of times as many


def open_zstd(path: Path) -> io.BufferedReader:
    """A stream of the uncompressed bytes, of one frame or several.

    Reading raises:
        EOFError: the file ends within a frame.
        OSError: a frame is damaged, or what follows one is none.
    """
    import zstandard

    return io.BufferedReader(_Frames(path, zstandard))


class _Frames(io.RawIOBase):
    def __init__(self, path: Path, zstandard):
        self._file = open(path, "rb")  # noqa: SIM115  # closed by `close`
        self._library = zstandard
        self._frame = None  # is being read
        self._compressed = b""  # has been read, and not been decompressed
        self._text = memoryview(b"")  # has been decompressed, and not been asked for

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer) -> int:
        while not self._text:
            chunk = self._compressed or self._file.read(_CHUNK)
            if not chunk:
                if self._frame is not None:
                    raise EOFError("Compressed file ended before the end of a frame")
                return 0
            self._text = memoryview(self._decompressed(chunk))
        count = min(len(buffer), len(self._text))
        buffer[:count], self._text = self._text[:count], self._text[count:]
        return count

    def _decompressed(self, chunk: bytes) -> bytes:
        if self._frame is None:
            self._frame = self._library.ZstdDecompressor().decompressobj()
        try:
            text = self._frame.decompress(chunk)
        except self._library.ZstdError as error:
            raise OSError(str(error)) from None
        self._compressed = b""
        if self._frame.eof:
            self._compressed, self._frame = self._frame.unused_data, None
        return text
