"""All that noregret uses of Numba beyond what Numba promises to keep, behind one door.

That is: compiled code kept on disk in our own sealed files, loops that count no references to arrays, and parts of compiled
functions that are not made ready to run by themselves. It is all for the sake of compiling, which takes more than twice as long
without it. With a Numba newer than :data:`TESTED`, or with NOREGRET_PLAIN_NUMBA set, all of it is off. Then kernels are made by
:mod:`noregret.kernels.compiler.numba_plain`: the same numbers in the same time.

The code of one function for one signature is one file, which holds its whole key beside the code. There is no index
that could point to other code, and of two processes that write the same file either one's is right.
"""

from __future__ import annotations

import gc
import hashlib
import os
import pickle
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numba
from numba import types

from noregret._system.own_folder import OwnFolder
from noregret.errors import InputError
from noregret.kernels.compiler.source import code_hash

if TYPE_CHECKING:
    from numba.core.types import Type

    Signature = tuple[Type, ...]

#: The newest Numba that the private parts were tried with.
TESTED = (0, 68)

#: Compiled code that was not used for so many days is removed.
DAYS_KEPT = 30


def _plain() -> bool:
    if os.environ.get("NOREGRET_PLAIN_NUMBA"):
        return True
    if tuple(int(part) for part in numba.__version__.split(".")[:2] if part.isdigit()) <= TESTED:
        return False
    newest = ".".join(map(str, TESTED))
    warnings.warn(f"Numba {numba.__version__} is newer than {newest}: kernels take twice as long to compile", stacklevel=3)
    return True


def _core(name: str) -> Any:
    """A private module of Numba, imported when it is used."""
    return import_module(f"numba.core.{name}")


#: Whether only the public part of Numba is used.
PLAIN = _plain()


def options(*, inline: bool, references: bool) -> dict[str, Any]:
    """Options of ``numba.njit`` for a function put in its callers' place, or one that does not count references to arrays."""
    return {"forceinline": inline, "_nrt": references and not inline}


def body_options() -> dict[str, type]:
    """Options of a body that ``numba.extending.overload`` chooses: a part of its caller."""
    return {} if PLAIN else {"pipeline_class": import_module("noregret.kernels.compiler.numba_parts").PartCompiler}


# --- compiled code on disk ----------------------------------------------------------------------------------------


def keep(compiled: Any, folder: OwnFolder | None, references: bool) -> None:
    """Let a compiled function look for its code in ``folder`` first, and keep it there; both only where it is all ours.

    What other compiled functions call in its place is its part, see :mod:`noregret.kernels.compiler.numba_parts`.
    """

    def finish(dispatcher: Any, kind: type[_Kept] = _KeptPart) -> None:
        dispatcher.compile = _uncollected(dispatcher.compile if references else _explained(dispatcher))
        if folder is not None and _is_ours(dispatcher.py_func):
            dispatcher._cache = kind(dispatcher.py_func, folder, (dispatcher.targetoptions["forceinline"], references))

    import_module("noregret.kernels.compiler.numba_parts").give_part(compiled, finish)
    finish(compiled, _Kept)


_collection = threading.Lock()
_compiling = 0
_collected = False


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause Python's search for cycles of garbage in all threads; it goes on when the last of those who paused it is done."""
    global _compiling, _collected
    with _collection:
        if _compiling == 0:
            _collected = gc.isenabled()
            gc.disable()
        _compiling += 1
    try:
        yield
    finally:
        with _collection:
            _compiling -= 1
            if _compiling == 0 and _collected:
                gc.enable()


def _uncollected(compile: Callable[[Signature], Any]) -> Callable[[Signature], Any]:
    """``compile`` without a search for garbage: nearly all that Numba makes is alive to the end, and is looked at in vain."""

    def paused(signature: Signature) -> Any:
        with uncollected():
            return compile(signature)

    return paused


def _explained(compiled: Any) -> Callable[[Signature], Any]:
    """``compile`` of a function without counted references; where counting would help, the error says so in a line."""
    compile = compiled.compile

    def explained(signature: Signature) -> Any:
        try:
            return compile(signature)
        except (_core("errors").TypingError, _core("errors").LoweringError):
            numba.jit(**compiled.targetoptions | {"_nrt": True})(compiled.py_func).compile(signature)  # else its own error
            raise InputError(_no_arrays(compiled.py_func, signature)) from None

    return explained


def _no_arrays(function: Callable[..., object], signature: Signature) -> str:
    state = next((cls for kind in signature for cls in _classes(kind)), None)
    what = function.__qualname__ if state is None else f"{state.__module__}.{state.__qualname__}"
    return f"{what}: plan or update makes an array; expected them to write into arrays of the state alone"


class _Kept:
    """What Numba asks for compiled code; the methods are those of its own cache."""

    cache_path = None

    def __init__(self, function: Callable[..., object], folder: OwnFolder, how: tuple[bool, bool]) -> None:
        self.function, self.folder, self.how = function, folder, how  # put in its callers' place, counts references

    def load_overload(self, signature: Signature, target: Any) -> Any:
        """The code for a signature, or None; whatever is wrong with a file, the code is made again."""
        target.refresh()
        place = self._place(signature, target.codegen())
        content = self.folder.read(place[0]) if place else None
        if content is None or place is None:
            return None
        try:
            key, parts = pickle.loads(content)
            return self._made_of(target, parts) if key == place[1] else None
        except Exception:
            return None

    def save_overload(self, signature: Signature, code: Any) -> None:
        """Keep code if the disk takes it; what could not be kept is compiled again in the next process."""
        place = self._place(signature, code.codegen)
        if place is None or code.lifted or code.library.has_dynamic_globals:
            return
        try:
            self.folder.write(place[0], _core("serialize").dumps((place[1], code._reduce())))
            self.folder.forget_unused(DAYS_KEPT)
        except OSError as error:
            warnings.warn(f"compiled code is not kept: {self.folder.path}: {error.strerror or error}", stacklevel=2)

    def _place(self, signature: Signature, codegen: Any) -> tuple[str, tuple[object, ...]] | None:
        """The name of the file, and the key that it must hold; None for code that is not all ours."""
        classes = [cls for kind in signature for cls in _classes(kind)]
        if not all(map(_is_ours, classes)) or any(isinstance(kind, types.Callable) for kind in signature):
            return None
        f = self.function
        identity = (type(self).__name__, f.__module__, f.__qualname__, code_hash([f, *classes]))
        words = (identity, self.how, *map(str, signature), *(f"{c.__module__}.{c.__qualname__}" for c in classes))
        name = hashlib.sha256(repr((words, codegen.magic_tuple())).encode()).hexdigest()[:40]
        return f"{name}.code", (identity, self.how, tuple(signature), codegen.magic_tuple())

    def _made_of(self, target: Any, parts: tuple[Any, ...]) -> Any:
        return _core("compiler").CompileResult._rebuild(target, *parts)

    def enable(self) -> None:
        """Always on."""

    def disable(self) -> None:
        """Always on."""

    def flush(self) -> None:
        """Nothing is held back."""


class _KeptPart(_Kept):
    """The same for a part of other compiled functions."""

    def _made_of(self, target: Any, parts: tuple[Any, ...]) -> Any:
        return import_module("noregret.kernels.compiler.numba_parts").rebuild(target, *parts)


def _is_ours(thing: object) -> bool:
    """Whether a function or class is part of noregret: only its own code is looked into for what has changed."""
    return str(getattr(thing, "__module__", "")).partition(".")[0] == "noregret"


def _classes(kind: Type) -> Iterator[type]:
    """The NamedTuples in a type."""
    if hasattr(kind, "instance_class"):
        yield kind.instance_class
    parts: Iterable[Type] = kind if isinstance(kind, types.BaseTuple) else ()  # type: ignore[assignment]
    for part in parts:
        yield from _classes(part)


def left_over(work: Callable[[], object]) -> int:
    """How many arrays compiled code has made and not freed in ``work()``; 0 where only the public part of Numba is used."""
    if PLAIN:
        work()
        return 0
    runtime = _core("runtime")
    runtime._nrt_python.memsys_enable_stats()
    try:
        before = runtime.rtsys.get_allocation_stats()
        work()
        after = runtime.rtsys.get_allocation_stats()
    finally:
        runtime._nrt_python.memsys_disable_stats()
    return int((after.alloc - before.alloc) - (after.free - before.free))
