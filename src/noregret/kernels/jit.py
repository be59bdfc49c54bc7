"""A typed ``jit`` whose compiled code is kept on disk, and functions with one body for each type of state.

Numba's own disk cache does not notice an edit in a callee that lives in another file and would serve stale code. So code is
kept in a folder that is named after a hash of every source that ends up in a compiled block, and only of this package's own
functions and states. Where there is no folder that this user alone can write to, the kernels still run; they are compiled
again in each process.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable
from functools import cache, wraps
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

from noregret._system.own_folder import OwnFolder, forget_old
from noregret.kernels import numba_private

F = TypeVar("F", bound=Callable[..., Any])

#: Options of every compiled function: no GIL, IEEE arithmetic in the order written, no division traps.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

_PACKAGE = Path(__file__).resolve().parent.parent
_NAME = re.compile(r"compiled-[0-9a-f]{16}")
_DAYS_KEPT = 30


@cache
def source_hash() -> str:
    """A hash of the sources that compiled blocks are made of, and of what compiles them."""
    checked = bool(getattr(numba.config, "BOUNDSCHECK", False))  # compiled in, and not part of Numba's own key
    level = int(getattr(numba.config, "OPT", 3))  # nor is this
    versions = f"{sys.version}|{numba.__version__}|{version('llvmlite')}|{np.__version__}|{checked}|{level}"
    digest = hashlib.sha256(versions.encode())
    for path in sorted(
        [*(_PACKAGE / "kernels").rglob("*.py"), *(_PACKAGE / "learners").rglob("*.py"), _PACKAGE / "runs" / "loop.py"]
    ):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def code_folder() -> OwnFolder | None:
    """The first folder for compiled code that is ours alone: in NOREGRET_CACHE_DIR, the user's cache, the temporary folder."""
    temporary = Path(tempfile.gettempdir()) / f"noregret-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    given = os.environ.get("NOREGRET_CACHE_DIR")
    for root in [*([Path(given)] if given else []), Path(home) / "noregret", temporary]:
        try:
            if root == temporary:
                OwnFolder(root)  # a name that others can guess, in a place where they can write
            folder = OwnFolder(root / f"compiled-{source_hash()}")
        except OSError:
            continue
        forget_old(root, _NAME, _DAYS_KEPT)
        return folder
    return None


def cache_folder() -> Path | None:
    """Where compiled code is kept, or None."""
    folder = code_folder()
    return None if folder is None else folder.path


def jit(function: F, *, cached: bool = True, inline: bool = False, references: bool = True) -> F:
    """Compile ``function`` without the GIL and keep the result on disk; ``inline`` copies its body into each caller.

    With ``references=False`` the compiled code does not count references to arrays, which saves 5 ns a count. Such a function
    may not make an array, and neither may anything that is copied into it; the compiler refuses that. Nor may it take over an
    array that another function made, for nothing would ever free it.
    """
    compiled: Any = numba.njit(**OPTIONS, **numba_private.options(inline=inline, references=references))(function)
    numba_private.keep(compiled, code_folder() if cached else None, references)
    kernel: F = compiled
    return kernel


def overload(function: Callable[..., Any]) -> Callable[[F], F]:
    """Numba's ``overload``, typed; LLVM puts the body in the caller's place, as handing over a tuple of arrays costs 40 ns."""
    extending: Any = numba.extending
    decorated: Callable[[F], F] = extending.overload(function, jit_options=OPTIONS | numba_private.body_options(), strict=False)
    return decorated


def by_type(function: F, place: int = 0) -> F:
    """A function that has one body for each type of an argument, a NamedTuple: the body that :func:`add_body` gave it.

    Numba finds the body by the type of the argument when it compiles the caller, so that one loop serves every learner and
    every kind of Gram matrix without a call through a pointer. With the JIT off, Python finds it.

    Args:
        function: its name, arguments and docstring; its own body is never run.
        place: of the argument.
    """
    bodies: dict[type, Callable[..., Any]] = {}

    @wraps(function)
    def call(*arguments: Any) -> Any:
        body = bodies.get(type(arguments[place]))
        if body is None:
            raise TypeError(f"no {function.__name__} for {type(arguments[place]).__name__}")
        return body(*arguments)

    call.bodies = bodies  # type: ignore[attr-defined]
    overload(call)(lambda *kinds: bodies.get(getattr(kinds[place], "instance_class", None)))  # type: ignore[arg-type]
    chosen: Any = call
    return chosen  # type: ignore[no-any-return]


def add_body(function: Callable[..., Any], kind: type, body: Callable[..., Any]) -> None:
    """Use ``body``, which is not compiled yet, where the argument of a function :func:`by_type` is a ``kind``."""
    function.bodies[kind] = body  # type: ignore[attr-defined]


def body_of(function: Callable[..., Any], kind: type) -> Callable[..., Any] | None:
    """The body of a function :func:`by_type` for a class, or None."""
    found: Callable[..., Any] | None = function.bodies.get(kind)  # type: ignore[attr-defined]
    return found
