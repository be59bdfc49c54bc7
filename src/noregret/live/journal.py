"""Events between the moment they are acknowledged and the moment the database has them.

A line goes to the kernel with one ``write``, so it outlives the process at once, and a power cut once the database has
committed it. Two files take turns: while the writer commits what is in one, lines go to the other. A line is ``CRC LENGTH
TEXT``; what follows a broken one was never acknowledged.
"""

from __future__ import annotations

import os
import zlib

from noregret.errors import FileError, told


class Journal:
    """Two files beside the database.

    Args:
        path: of the database.
    """

    def __init__(self, path: str) -> None:
        self.paths = (f"{path}-journal-a", f"{path}-journal-b")
        self._files: list[int] = []
        self._size = [0, 0]
        self._now = 0

    def begin(self) -> None:
        """Open both files; what they held was read before, and is forgotten."""
        with told(self.paths[0], "cannot be written"):
            for path in self.paths:
                self._files.append(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_TRUNC | os.O_CLOEXEC, 0o600))
                os.fsync(self._files[-1])  # what was forgotten does not come back after a power cut

    def read(self) -> list[str]:
        """All whole lines that were written and not forgotten, in any order."""
        found: list[str] = []
        for path in self.paths:
            try:
                with open(path, "rb") as file:
                    data = file.read()
            except FileNotFoundError:
                continue
            place = 0
            while (end := data.find(b" ", place + 9)) > 0:
                head, size = data[place : place + 8], data[place + 9 : end]
                text = data[end + 1 : end + 1 + int(size)] if size.isdigit() else b""
                if not size.isdigit() or len(text) < int(size) or b"%08x" % zlib.crc32(text) != head:
                    break
                found.append(text.decode())
                place = end + 2 + int(size)
        return found

    def write(self, text: str) -> None:
        """Add a line to the file whose turn it is.

        Raises:
            FileError: it could not be written whole, and nothing of it stays.
        """
        data = text.encode()
        line = b"%08x %d %s\n" % (zlib.crc32(data), len(data), data)
        now = self._now
        try:
            if os.write(self._files[now], line) != len(line):
                raise OSError("no space left")
            self._size[now] += len(line)
        except OSError as error:
            os.ftruncate(self._files[now], self._size[now])
            raise FileError(f"{self.paths[now]}: cannot be written: {error.strerror or error}") from None

    def turn(self) -> int:
        """Let lines go to the other file from now on; returns which one was written to before."""
        before, self._now = self._now, 1 - self._now
        return before

    def forget(self, which: int) -> None:
        """Empty a file: the database has what is in it."""
        os.ftruncate(self._files[which], 0)
        self._size[which] = 0

    def close(self) -> None:
        """Close both files."""
        for file in self._files:
            os.close(file)
        self._files = []
