"""A folder that nobody else can write to, held open: what is read from it was written by this user."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
import time
import uuid
from pathlib import Path

#: The file that says whose a folder is, and what it says.
MARK, MARKED = ".noregret", b"noregret made this folder and may remove it\n"
#: Whether files can be named relative to a folder that is open, so that renaming a parent changes nothing.
_RELATIVE = os.open in os.supports_dir_fd and hasattr(os, "getuid")
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
_DRAFT = re.compile(r".*\.[0-9a-f]{32}\.tmp")


class OwnFolder:
    """A folder of sealed files, made with mode 0700; one of another user, a link, or one that others can write to is refused.

    A file starts with the SHA-256 of what follows, and one that does not match counts as absent.

    Raises:
        OSError: the folder cannot be made, cannot be written to, or is not ours alone.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.path, 0o700)
        self._handle: int | None = None
        if _RELATIVE:
            handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            status = os.fstat(handle)
            if status.st_uid != os.getuid() or status.st_mode & 0o022:
                os.close(handle)
                raise PermissionError(f"{self.path}: is not this user's alone")
            self._handle = handle
        self._put(MARK, MARKED)
        for name in os.listdir(self.path if self._handle is None else self._handle):
            if _DRAFT.fullmatch(name):
                self._forget(name, older=3600.0)

    def read(self, name: str) -> bytes | None:
        """What :meth:`write` wrote; None where that is absent or damaged. The file counts as used today."""
        try:
            handle = os.open(self._name(name), _READ, dir_fd=self._handle)
            with open(handle, "rb") as file:
                status = os.fstat(handle)
                data = file.read() if stat.S_ISREG(status.st_mode) else b""
                if time.time() - status.st_mtime > 86400 and os.utime in os.supports_fd:
                    os.utime(handle)
        except OSError:
            return None
        return data[32:] if hashlib.sha256(data[32:]).digest() == data[:32] else None

    def write(self, name: str, content: bytes) -> None:
        """Keep a file, whole or not at all."""
        self._put(name, hashlib.sha256(content).digest() + content)

    def forget_unused(self, days: float) -> None:
        """Remove the files that were neither written nor read for so many days; what cannot be removed is left."""
        for name in os.listdir(self.path if self._handle is None else self._handle):
            self._forget(name, older=days * 86400)

    def _put(self, name: str, data: bytes) -> None:
        draft = f"{name}.{uuid.uuid4().hex}.tmp"
        try:
            with open(os.open(self._name(draft), _WRITE, 0o600, dir_fd=self._handle), "wb") as file:
                file.write(data)
            os.replace(self._name(draft), self._name(name), src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except BaseException:
            self._forget(draft)
            raise

    def _forget(self, name: str, older: float = 0.0) -> None:
        with contextlib.suppress(OSError):
            if time.time() - os.stat(self._name(name), dir_fd=self._handle).st_mtime >= older:
                os.unlink(self._name(name), dir_fd=self._handle)

    def _name(self, name: str) -> str:
        return str(self.path / name) if self._handle is None else name


def forget_old(folder: Path, names: re.Pattern[str], days: float) -> None:
    """Remove the folders in ``folder`` with such a name, with our mark, of this user, and not used for so many days.

    Args:
        folder: where the folders are; what cannot be read or removed is left.
        names: the pattern that the whole name of a folder must fit.
        days: how long a folder must have been unused.
    """
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if names.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False) and _ours(Path(entry), days):
                shutil.rmtree(entry, ignore_errors=True)


def _ours(path: Path, days: float) -> bool:
    try:
        status, mark = path.stat(follow_symlinks=False), path / MARK
        same = not hasattr(os, "getuid") or status.st_uid == os.getuid()
        marked = not mark.is_symlink() and mark.is_file() and mark.read_bytes() == MARKED
        return same and marked and time.time() - status.st_mtime > days * 86400
    except OSError:
        return False
