"""Files that are whole or absent: written to a temporary name beside, synced, renamed; refused with one line otherwise."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from noregret.errors import FileError

try:
    import fcntl
except ImportError:  # not on this system: see hold
    fcntl = None  # type: ignore[assignment]


def write_whole(path: str | os.PathLike[str], write: Callable[[IO[bytes]], object]) -> Path:
    """Let ``write`` fill an open binary file that then appears as ``path``, or leave nothing behind."""
    path = Path(path)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(partial, "xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    except OSError as error:
        raise FileError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
    return path


@contextlib.contextmanager
def all_or_none(folder: str | os.PathLike[str]) -> Iterator[Path]:
    """A folder to write files that belong together in; at the end they appear in ``folder``, or on any error none of them."""
    draft = Path(folder) / f".{uuid.uuid4().hex}.tmp"
    try:
        draft.mkdir()
        yield draft
        for file in sorted(draft.iterdir()):
            os.replace(file, Path(folder) / file.name)
        sync_folder(folder)
    except FileError as error:
        raise FileError(str(error).replace(str(draft), str(folder))) from None
    except OSError as error:
        raise FileError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


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
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except OSError as error:
        raise FileError(f"{path}: cannot be used as a folder: {error.strerror or error}") from None
    return Path(path)


def ensure_folder(path: Path) -> Path:
    """Make a folder inside one that was found writable; quicker than :func:`make_folder`."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{path}: cannot be made: {error.strerror or error}") from None
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


def _acquire(path: Path) -> int | None:
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise FileError(f"{path}: cannot be made: {error.strerror or error}") from error
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
