"""A typed ``jit`` whose compiled code is kept on disk, and functions with one body for each type of state.

Numba's disk cache does not notice an edit in a callee that lives in another file and would serve stale code. So the
cache folder is named after a hash of every source that ends up in a compiled block. Where no folder can be written,
the kernels still run; they are compiled again in each process.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

#: Options of every compiled function: no GIL, IEEE arithmetic in the order written, no division traps.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

_PACKAGE = Path(__file__).resolve().parent.parent
_DAYS_KEPT = 30


@cache
def source_hash() -> str:
    """A hash of the sources that compiled blocks are made of, and of what compiles them."""
    checked = bool(getattr(numba.config, "BOUNDSCHECK", False))  # compiled in, and not part of Numba's own key
    digest = hashlib.sha256(f"{sys.version}|{numba.__version__}|{np.__version__}|{checked}".encode())
    for path in sorted(
        [*(_PACKAGE / "kernels").rglob("*.py"), *(_PACKAGE / "learners").rglob("*.py"), _PACKAGE / "runs" / "loop.py"]
    ):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def cache_folder() -> Path | None:
    """The first writable folder for compiled code: NOREGRET_CACHE_DIR, the user's cache, the temporary folder."""
    roots = [
        os.environ.get("NOREGRET_CACHE_DIR"),
        os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "noregret"),
        os.path.join(tempfile.gettempdir(), f"noregret-{os.getuid() if hasattr(os, 'getuid') else 'user'}"),
    ]
    for root in filter(None, roots):
        folder = Path(root) / source_hash()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        _forget_old(folder)
        return folder
    return None


def _forget_old(folder: Path) -> None:
    """Remove the code of sources that were edited away more than a month ago."""
    try:
        os.utime(folder)
        for other in folder.parent.iterdir():
            if other != folder and other.is_dir() and time.time() - other.stat().st_mtime > _DAYS_KEPT * 86400:
                shutil.rmtree(other, ignore_errors=True)
    except OSError:
        pass


def jit(function: F, *, cached: bool = True, inline: bool = False, references: bool = True) -> F:
    """Compile ``function`` without the GIL and keep the result on disk; ``inline`` puts it in its callers' place.

    Without ``references``, those to arrays are not counted, which costs 5 ns a time. Then neither ``function`` nor what is put
    in its place may make an array (it would not compile) or be given a new one by another function (it would never be freed).
    """
    folder = cache_folder() if cached else None
    config: Any = numba.config  # where the folder is read when a function is decorated
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder or "")
    try:
        options: dict[str, Any] = {"cache": folder is not None, "inline": "always" if inline else "never", "_nrt": references}
        compiled: Any = numba.njit(**OPTIONS, **options)(function)
    finally:
        config.CACHE_DIR = before
    if folder is not None and hasattr(compiled, "_cache"):  # not with the JIT off
        compiled._cache.save_overload = _where_there_is_room(compiled._cache.save_overload)
    kernel: F = compiled
    return kernel


def _where_there_is_room(save: Callable[..., None]) -> Callable[..., None]:
    """Keep compiled code if the disk takes it; code that could not be kept is compiled again in the next process."""

    def save_or_not(signature: Any, code: Any) -> None:
        try:
            save(signature, code)
        except OSError as error:
            warnings.warn(f"compiled code is not kept: {cache_folder()}: {error.strerror or error}", stacklevel=2)

    return save_or_not


class Bodies:
    """The bodies of a function that has one for each type of its first argument, a NamedTuple.

    Numba finds the body by the type of the argument when it compiles the caller, so that one loop serves every
    learner and every kind of Gram matrix without a call through a pointer. With the JIT off, Python finds it.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._bodies: dict[type, Callable[..., Any]] = {}

    def add(self, kind: type, body: Callable[..., Any]) -> None:
        """Use ``body`` for first arguments of type ``kind``; it must have the arguments' names of the function."""
        self._bodies[kind] = body

    def of(self, kind: type) -> Callable[..., Any] | None:
        """The body for a class, or None."""
        return self._bodies.get(kind)

    def __call__(self, kind: object) -> Callable[..., Any] | None:
        """The body for a Python object, or for a Numba type."""
        key = getattr(kind, "instance_class", None) if isinstance(kind, numba.types.Type) else type(kind)
        body = self._bodies.get(key)  # type: ignore[arg-type]
        if body is None and not isinstance(kind, numba.types.Type):
            raise TypeError(f"no {self.what} for {type(kind).__name__}")
        return body


def overload(function: Callable[..., Any]) -> Callable[[F], F]:
    """Numba's ``overload``, typed; LLVM puts the body in the caller's place, as handing over a tuple of arrays costs 40 ns."""
    extending: Any = numba.extending
    decorated: Callable[[F], F] = extending.overload(function, jit_options=OPTIONS | {"forceinline": True}, strict=False)
    return decorated
