"""A typed ``jit`` whose compiled code is kept on disk, and functions with one body for each type of state.

Numba's own disk cache does not notice an edit in a callee that lives in another file and would serve stale code. So the key
of compiled code has a hash of what the function and all that it calls do (:mod:`noregret.kernels.compiler.source`), and only
this package's own functions and states are kept. The folder is named after what compiles them. Where there is no folder that
this user alone can write to, the kernels still run; they are compiled again in each process.
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
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np

from noregret._system.own_folder import OwnFolder, forget_old
from noregret.kernels.compiler import numba_plain, numba_private

F = TypeVar("F", bound=Callable[..., object])

#: Options of every compiled function: no GIL, IEEE arithmetic in the order written, no division traps.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}

#: The files that decide how code is compiled and kept.
_COMPILER = ("jit.py", "source.py", "views.py", "numba_private.py", "numba_parts.py", "numba_plain.py")
_NAME = re.compile(r"compiled-[0-9a-f]{16}")


@cache
def compiler_hash() -> str:
    """A hash of what compiles: Python, Numba, its options, and our part of it."""
    checked = bool(getattr(numba.config, "BOUNDSCHECK", False))  # compiled in, and not part of Numba's own key
    level = int(getattr(numba.config, "OPT", 3))  # nor is this
    versions = f"{sys.version}|{numba.__version__}|{version('llvmlite')}|{np.__version__}|{checked}|{level}"
    digest = hashlib.sha256(versions.encode())
    for name in _COMPILER:
        digest.update((Path(__file__).parent / name).read_bytes())
    return digest.hexdigest()[:16]


@cache
def code_folder() -> OwnFolder | None:
    """The folder for compiled code, or None where there is none that is ours alone."""
    return _folder(compiler_hash())


def _folder(name: str) -> OwnFolder | None:
    """The first folder of this name that is ours alone: in NOREGRET_CACHE_DIR, the user's cache, the temporary folder."""
    temporary = Path(tempfile.gettempdir()) / f"noregret-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    chosen = os.environ.get("NOREGRET_CACHE_DIR")
    for root in [*([Path(chosen)] if chosen else []), Path(home) / "noregret", temporary]:
        try:
            if root == temporary:
                OwnFolder(root)  # a name that others can guess, in a place where they can write
            folder = OwnFolder(root / f"compiled-{name}")
        except OSError:
            continue
        forget_old(root, _NAME, numba_private.DAYS_KEPT)
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
    if _off():
        compiled: Any = function
    elif numba_private.PLAIN:
        compiled = numba_plain.compiled(
            cast(FunctionType, function),
            OPTIONS | {"forceinline": inline},
            _plain_folder if cached else None,
            counted=references,
        )
    else:
        compiled = numba.njit(**OPTIONS, **numba_private.options(inline=inline, references=references))(function)
        numba_private.keep(compiled, code_folder() if cached else None, references)
    compiled.how = (inline, references)
    kernel: F = compiled
    return kernel


def _off() -> bool:
    """Whether nothing is compiled: NUMBA_DISABLE_JIT."""
    return bool(getattr(numba.config, "DISABLE_JIT", False))


def _plain_folder(code: str) -> Path | None:
    """Where Numba's own cache keeps code with such a hash."""
    folder = _folder(hashlib.sha256(f"{compiler_hash()}{code}".encode()).hexdigest()[:16])
    return None if folder is None else folder.path


def overload(function: Callable[..., object]) -> Callable[[F], F]:
    """Numba's ``overload``, typed; LLVM puts the body in the caller's place, as handing over a tuple of arrays costs 40 ns."""
    extending: Any = numba.extending
    decorated: Callable[[F], F] = extending.overload(
        function, jit_options=OPTIONS | {"forceinline": True} | numba_private.body_options(), strict=False
    )

    def remember(chooser: F) -> F:
        function.__dict__.setdefault("compiled_as", []).append(chooser)  # for the hash of what the function does
        return decorated(chooser)

    return remember


def by_type(function: F, place: int = 0) -> F:
    """A function that has one body for each type of an argument, a NamedTuple: the body that :func:`add_body` gave it.

    Numba finds the body by the type of the argument when it compiles the caller, so that one loop serves every learner and
    every kind of Gram matrix without a call through a pointer. With the JIT off, Python finds it.

    Args:
        function: its name, arguments and docstring; its own body is never run.
        place: of the argument.
    """
    bodies: dict[type, Callable[..., object]] = {}

    @wraps(function)
    def call(*arguments: object) -> object:
        body = bodies.get(type(arguments[place]))
        if body is None:
            raise TypeError(f"no {function.__name__} for {type(arguments[place]).__name__}")
        return body(*arguments)

    call.bodies = bodies  # type: ignore[attr-defined]
    overload(call)(lambda *kinds: bodies.get(getattr(kinds[place], "instance_class", None)))  # type: ignore[arg-type]
    chosen: Any = call
    return chosen  # type: ignore[no-any-return]


def add_body(function: Callable[..., object], kind: type, body: Callable[..., object]) -> None:
    """Use ``body``, which is not compiled yet, where the argument of a function :func:`by_type` is a ``kind``."""
    function.bodies[kind] = body  # type: ignore[attr-defined]


def body_of(function: Callable[..., object], kind: type) -> Callable[..., object] | None:
    """The body of a function :func:`by_type` for a class, or None."""
    body: Callable[..., object] | None = function.bodies.get(kind)  # type: ignore[attr-defined]
    return body
