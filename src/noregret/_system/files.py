"""Files that are whole or absent: written to a temporary name beside, synced, renamed; refused with one line otherwise."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from noregret.errors import FileError, told

try:
    import fcntl
except ImportError:  # not on this system: see hold
    fcntl = None  # type: ignore[assignment]


#: Names that we give to what is not whole yet.
_DRAFT = re.compile(r"\.(.*\.)?[0-9a-f]{32}\.tmp")
#: A draft of these seconds that nobody holds was left by a process that was killed.
_ABANDONED = 10.0
#: Seconds in which somebody must begin to read a pipe that is written to.
_PATIENCE = 5.0
#: Places that stand for what another program handed over; renaming a file would not reach it.
_HANDED = ("/dev/fd/", "/dev/std", "/proc/")


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> Path:
    """Let ``write`` fill an open binary file that then appears as ``path``, or leave nothing behind.

    A link stays, and the file it points to is written. A device or a pipe is written to, and stays what it is; a pipe that
    nobody reads is given up after some seconds.
    """
    path = Path(path)
    with told(path, "cannot be written"):
        mode = _mode(path)
        if (mode is not None and not stat.S_ISREG(mode)) or os.path.abspath(path).startswith(_HANDED):
            content = io.BytesIO()
            write(content)
            with _handed(path) as file:
                file.write(content.getbuffer())
            return path
        target = Path(os.path.realpath(path))
        partial = _draft(target.parent, f"{target.name}.")
        try:
            with open(partial, "xb") as file:
                _claim(file.fileno())
                write(file)
                file.flush()
                if mode is not None:
                    os.chmod(partial, stat.S_IMODE(mode))
                os.fsync(file.fileno())
            os.replace(partial, target)
            sync_folder(target.parent)
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
    return path


def _handed(path: Path) -> IO[bytes]:
    """A device or a pipe, open for writing; opening a pipe that nobody reads would wait for ever."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            handle = os.open(path, os.O_WRONLY | os.O_TRUNC | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
            break
        except OSError as error:
            if error.errno != errno.ENXIO or time.monotonic() > until:
                raise
            time.sleep(0.02)
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(handle, True)
    return open(handle, "wb")


def _mode(path: Path) -> int | None:
    """The kind and rights of the file behind a name and all links; None where there is none yet."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def all_or_none(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write files that belong together in; at the end they appear in ``folder``, or on any error none of them."""
    draft = _draft(Path(folder))
    handle = None
    try:
        with told(folder, "cannot be written"):
            draft.mkdir()
            if fcntl is not None:
                handle = os.open(draft, os.O_RDONLY)
                _claim(handle)
            yield draft
            for file in sorted(draft.iterdir()):
                os.replace(file, Path(folder) / file.name)
            sync_folder(folder)
    except FileError as error:
        raise FileError(str(error).replace(str(draft), str(folder))) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _draft(folder: Path, name: str = "") -> Path:
    """A name for what is not whole yet; drafts in the same folder that killed processes left are removed."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if _DRAFT.fullmatch(entry.name) and _is_abandoned(entry):
                with contextlib.suppress(OSError):
                    shutil.rmtree(entry) if entry.is_dir(follow_symlinks=False) else os.unlink(entry)
    return folder / f".{name}{uuid.uuid4().hex}.tmp"


def _is_abandoned(entry: os.DirEntry[str]) -> bool:
    status = entry.stat(follow_symlinks=False)
    if fcntl is None or not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        return False
    if time.time() - status.st_mtime < _ABANDONED:
        return False
    handle = os.open(entry, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # held by the one who writes it, or there are no locks here
    finally:
        os.close(handle)
    return True


def _claim(handle: int) -> None:
    """Hold a draft, so that nobody takes it for one that was left."""
    with contextlib.suppress(OSError):
        if fcntl is not None:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sync_folder(path: str | os.PathLike[str]) -> None:
    """Make the names in a folder survive a power cut, where the system can do that."""
    if os.name == "nt":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: str | os.PathLike[str]) -> Path:
    """Make a folder and its parents and see that it can be written to, or say why not."""
    with told(path, "cannot be used as a folder"):
        Path(path).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=path).close()
    return Path(path)


def ensure_folder(path: Path) -> Path:
    """Make a folder inside one that was found writable; quicker than :func:`make_folder`."""
    with told(path, "cannot be made"):
        path.mkdir(parents=True, exist_ok=True)
    return path


@contextlib.contextmanager
def hold(path: Path) -> Iterator[bool]:
    """Hold a lock; False when another process, or thread, holds it. The system lets go of it when its holder dies.

    Where a file system has no locks everybody gets it.
    """
    handle = _acquire(path)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)  # before letting go, so that nobody holds a name that is gone
            os.close(handle)


@contextlib.contextmanager
def wait_and_hold(path: Path) -> Iterator[None]:
    """Hold a lock, after waiting until nobody else holds it: for the moment that reading and writing a file takes."""
    while True:
        with hold(path) as free:
            if free:
                yield
                return
        time.sleep(0.02)


def _acquire(path: Path) -> int | None:
    while True:
        with told(path, "cannot be made"):
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            return handle  # no locks here: see hold
        try:
            if os.fstat(handle).st_ino == os.stat(path).st_ino:
                return handle
        except FileNotFoundError:
            pass
        os.close(handle)  # its name was removed by the one who held it before
