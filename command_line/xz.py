"""Files of xz, read to their very end: `lzma.open` ends, without a word, where what follows a stream cannot
be read, be it garbage or a damaged stream of a file that was joined from several.
"""

import io
import lzma
from pathlib import Path

_CHUNK = 1 << 16  # compressed bytes at a time


def open_xz(path: Path) -> io.BufferedReader:
    """A stream of the uncompressed bytes, of one stream of xz or several with padding between them.

    Reading raises:
        EOFError: the file ends within a stream.
        LZMAError: a stream is damaged, or what follows one is none.
    """
    return io.BufferedReader(_Streams(path), _CHUNK)


class _Streams(io.RawIOBase):
    def __init__(self, path: Path):
        self._file = open(path, "rb")  # noqa: SIM115  # closed by `close`
        self._rest = b""  # has been read, and not been decompressed
        self._stream: lzma.LZMADecompressor | None = lzma.LZMADecompressor()

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer) -> int:
        while self._stream is not None or self._begin_next():
            content = self._decompress(len(buffer))
            if content:
                buffer[: len(content)] = content
                return len(content)
        return 0

    def _begin_next(self) -> bool:
        """Whether there is another stream behind the padding, zeros in fours."""
        padding = 0
        while chunk := self._rest or self._file.read(_CHUNK):
            self._rest = chunk.lstrip(b"\0")
            padding += len(chunk) - len(self._rest)
            if self._rest:
                break
        if padding % 4:
            raise lzma.LZMAError("Padding that is no multiple of four bytes")
        if self._rest:
            self._stream = lzma.LZMADecompressor()
        return bool(self._rest)

    def _decompress(self, most: int) -> bytes:
        given = b""
        if self._stream.needs_input:
            given, self._rest = self._rest or self._file.read(_CHUNK), b""
            if not given:
                raise EOFError("Compressed file ended before the end-of-stream marker was reached")
        content = self._stream.decompress(given, most)
        if self._stream.eof:
            self._rest, self._stream = self._stream.unused_data, None
        return content
