"""All that noregret uses of Numba beyond what Numba promises to keep, behind one door.

That is: compiled code kept on disk in our own sealed files, loops that count no references to arrays, views that cost nothing,
bodies that LLVM puts in their callers' place, and parts of compiled functions that are not made ready to run by themselves.
With a Numba newer than :data:`TESTED`, or with NOREGRET_PLAIN_NUMBA set,
all of it is off. Then the kernels are made by ``numba.njit`` alone: the same numbers, slower, compiled in each process.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numba
from numba import extending, types

from noregret._system.own_folder import OwnFolder
from noregret.errors import InputError

#: The newest Numba that the private parts were tried with.
TESTED = (0, 68)

_extending: Any = extending


def _plain() -> bool:
    if os.environ.get("NOREGRET_PLAIN_NUMBA"):
        return True
    if tuple(int(part) for part in numba.__version__.split(".")[:2] if part.isdigit()) <= TESTED:
        return False
    newest = ".".join(map(str, TESTED))
    warnings.warn(
        f"Numba {numba.__version__} is newer than {newest}: kernels are slower and compiled in each process", stacklevel=3
    )
    return True


def _core(name: str) -> Any:
    """A private module of Numba, imported when it is used."""
    return import_module(f"numba.core.{name}")


#: Whether only the public part of Numba is used.
PLAIN = _plain()


def options(*, inline: bool, references: bool) -> dict[str, Any]:
    """Options of ``numba.njit`` for a function put in its callers' place, or one that does not count references to arrays."""
    return {} if PLAIN else {"inline": "always" if inline else "never", "_nrt": references}


def body_options() -> dict[str, Any]:
    """Options of a body that ``numba.extending.overload`` chooses: LLVM puts it in the caller's place."""
    return {} if PLAIN else {"forceinline": True, "pipeline_class": import_module("noregret.kernels.numba_parts").PartCompiler}


# --- compiled code on disk ----------------------------------------------------------------------------------------


def keep(compiled: Any, folder: OwnFolder | None, references: bool) -> None:
    """Let a compiled function look for its code in ``folder`` first, and keep it there; both only where it is all ours.

    What other compiled functions call in its place is its part, see :mod:`noregret.kernels.numba_parts`.
    """
    if PLAIN or not hasattr(compiled, "_cache"):  # with the JIT off there is none
        return
    part = import_module("noregret.kernels.numba_parts").part_of(compiled)
    for one, kind in ((compiled, _Kept), (part, _KeptPart)):
        one.compile = _uncollected(one.compile if references else _explained(one))
        if folder is not None and _is_ours(one.py_func):
            one._cache = kind(one.py_func, folder, references)


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


def _uncollected(compile: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``compile`` without a search for garbage: nearly all that Numba makes is alive to the end, and is looked at in vain."""

    def paused(signature: Any) -> Any:
        with uncollected():
            return compile(signature)

    return paused


def _explained(compiled: Any) -> Callable[[Any], Any]:
    """``compile`` of a function without counted references; where counting would help, the error says so in a line."""
    compile = compiled.compile

    def explained(signature: Any) -> Any:
        try:
            return compile(signature)
        except (_core("errors").TypingError, _core("errors").LoweringError):
            numba.jit(**compiled.targetoptions | {"_nrt": True})(compiled.py_func).compile(signature)  # else its own error
            raise InputError(_no_arrays(compiled.py_func, signature)) from None

    return explained


def _no_arrays(function: Callable[..., Any], signature: Any) -> str:
    given = next((cls for kind in signature for cls in _classes(kind)), None)
    what = function.__qualname__ if given is None else f"{given.__module__}.{given.__qualname__}"
    return f"{what}: plan or update makes an array; expected them to write into arrays of the state alone"


class _Kept:
    """What Numba asks for compiled code; the methods are those of its own cache."""

    cache_path = None

    def __init__(self, function: Callable[..., Any], folder: OwnFolder, references: bool) -> None:
        self.function, self.folder, self.references = function, folder, references

    def load_overload(self, signature: Any, target: Any) -> Any:
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

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep code if the disk takes it; what could not be kept is compiled again in the next process."""
        place = self._place(signature, code.codegen)
        if place is None or code.lifted or code.library.has_dynamic_globals:
            return
        try:
            self.folder.write(place[0], _core("serialize").dumps((place[1], code._reduce())))
        except OSError as error:
            warnings.warn(f"compiled code is not kept: {self.folder.path}: {error.strerror or error}", stacklevel=2)

    def _place(self, signature: Any, codegen: Any) -> tuple[str, Any] | None:
        """The name of the file, and the key that it must hold; None for code that is not all ours."""
        classes = [cls for kind in signature for cls in _classes(kind)]
        if not all(map(_is_ours, classes)) or any(isinstance(kind, types.Callable) for kind in signature):
            return None
        f, code = self.function, self.function.__code__
        cells = _core("serialize").dumps(tuple(cell.cell_contents for cell in f.__closure__ or ()))
        text = repr((code.co_names, [c for c in code.co_consts if not hasattr(c, "co_code")]))
        own = (
            type(self).__name__,
            f.__module__,
            f.__qualname__,
            hashlib.sha256(code.co_code + text.encode() + cells).hexdigest(),
        )
        words = (own, self.references, *map(str, signature), *(f"{c.__module__}.{c.__qualname__}" for c in classes))
        name = hashlib.sha256(repr((words, codegen.magic_tuple())).encode()).hexdigest()[:40]
        return f"{name}.code", (own, self.references, tuple(signature), codegen.magic_tuple())

    def _made_of(self, target: Any, parts: Any) -> Any:
        return _core("compiler").CompileResult._rebuild(target, *parts)

    def enable(self) -> None:
        """Always on."""

    def disable(self) -> None:
        """Always on."""

    def flush(self) -> None:
        """Nothing is held back."""


class _KeptPart(_Kept):
    """The same for a part of other compiled functions."""

    def _made_of(self, target: Any, parts: Any) -> Any:
        return import_module("noregret.kernels.numba_parts").rebuild(target, *parts)


def _is_ours(thing: Any) -> bool:
    """Whether a function or class is part of noregret, whose sources name the folder: others' edits would go unseen."""
    return str(thing.__module__).partition(".")[0] == "noregret"


def _classes(kind: Any) -> Iterator[type]:
    """The NamedTuples in a type."""
    if hasattr(kind, "instance_class"):
        yield kind.instance_class
    parts: Any = kind if isinstance(kind, types.BaseTuple) else ()
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


# --- views --------------------------------------------------------------------------------------------------------


def make_view(flat: Callable[[Any], Any]) -> None:
    """Compile ``flat``, the entries of a C-ordered array as one line, as a view that holds no reference to the array."""
    if PLAIN:
        _extending.overload(flat)(lambda array: lambda array: array.reshape(-1))
        return
    arrays, passes = import_module("numba.np.arrayobj"), _core("ir_utils")

    @_extending.type_callable(flat)
    def _(context):  # type: ignore[no-untyped-def]
        def kind(array):  # type: ignore[no-untyped-def]
            return types.Array(array.dtype, 1, "C") if isinstance(array, types.Array) and array.layout == "C" else None

        return kind

    @_extending.lower_builtin(flat, types.Array)
    def _(context, builder, signature, given):  # type: ignore[no-untyped-def]
        table = arrays.make_array(signature.args[0])(context, builder, given[0])
        line = arrays.make_array(signature.return_type)(context, builder)
        size, step = table.nitems, table.itemsize
        arrays.populate_array(line, data=table.data, shape=[size], strides=[step], itemsize=step, meminfo=None)
        return line._getvalue()

    def is_the_same(view, given, aliases, of_arguments):  # type: ignore[no-untyped-def]
        passes._add_alias(view, given[0].name, aliases, of_arguments)

    #: Else Numba, when it puts a function in its caller's place, may take what is written through the view for dead code.
    passes.alias_func_extensions[flat.__name__, flat.__module__] = is_the_same
