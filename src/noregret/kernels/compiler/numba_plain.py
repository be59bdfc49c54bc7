"""Kernels made with nothing but what Numba promises to keep, for a Numba that its private parts were not tried with.

They are as fast as the others, but take more than twice as long to compile: Numba makes machine code for each callee by itself.
Numba's own cache keeps the code of what Python calls. That cache does not notice an edit in a callee, so its folder is named
after a hash of what the function and the bodies for its arguments do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any

import numba

from noregret.kernels.compiler.source import code_hash
from noregret.kernels.compiler.views import unowned

_lock = threading.RLock()
_numba: Any = numba


def compiled(
    function: FunctionType, options: dict[str, object], place: Callable[[str], Path | None] | None, *, counted: bool
) -> Callable[..., object]:
    """Compile ``function`` for callers from Python; compiled callers choose its body by an overload.

    Args:
        function: what is compiled.
        options: of ``numba.njit``.
        place: gives the folder for code with a hash, or None; no code is kept where it is None itself.
        counted: whether references to the arrays that Python hands over are counted.
    """
    kernels: dict[tuple[type, ...], Any] = {}

    @wraps(function)
    def call(*arguments: object) -> object:
        classes = tuple(cls for value in arguments if isinstance(value, tuple) for cls in _classes(value))
        kernel = kernels.get(classes)
        if kernel is None:
            with _lock:
                kernel = kernels[classes] = _kernel(function, options, counted, _folder(function, classes, place))
        return kernel(*arguments)

    extended: Any = _numba.extending.overload(call, jit_options=options, strict=False)
    extended(lambda *kinds, **named: function)
    call.py_func = function  # type: ignore[attr-defined]
    call.kernels = kernels  # type: ignore[attr-defined]
    return call


def _classes(value: tuple[object, ...]) -> Iterator[type]:
    """The NamedTuples in a tuple."""
    if type(value) is not tuple:
        yield type(value)
    for part in value:
        if isinstance(part, tuple):
            yield from _classes(part)


def _folder(function: FunctionType, classes: tuple[type, ...], place: Callable[[str], Path | None] | None) -> Path | None:
    """Where the code for arguments of these classes is kept; None for classes from elsewhere, whose edits would go unseen."""
    ours = all(str(thing.__module__).partition(".")[0] == "noregret" for thing in (function, *classes))
    return place(code_hash([function, *classes])) if ours and place is not None else None


def _kernel(function: FunctionType, options: dict[str, object], counted: bool, folder: Path | None) -> Any:
    whole = function if counted else _uncounted(function, options)
    if folder is None:
        return _numba.njit(**options)(whole)
    before, _numba.config.CACHE_DIR = _numba.config.CACHE_DIR, str(folder)
    try:
        return _numba.njit(cache=True, **options)(whole)
    except RuntimeError:  # a function that is in no file
        return _numba.njit(**options)(whole)
    finally:
        _numba.config.CACHE_DIR = before


def _whole(*arguments):  # type: ignore[no-untyped-def]
    return inner(*unowned(arguments))  # type: ignore[arg-type, call-arg, name-defined]  # noqa: F821


def _uncounted(function: FunctionType, options: dict[str, object]) -> Any:
    """A function that does the same with arrays that are not counted; its name and place are those of the other one."""
    code, shown = _whole.__code__, function.__code__
    code = code.replace(co_filename=shown.co_filename, co_firstlineno=shown.co_firstlineno, co_name=shown.co_name)
    inner = _numba.njit(**options | {"forceinline": True})(function)
    named = FunctionType(code, {"inner": inner, "unowned": unowned}, function.__name__)
    named.__module__, named.__qualname__ = function.__module__, function.__qualname__
    return named
