"""Bodies of learners from elsewhere: what they refer to, what they may not, and where a mistake in them is.

The compiled code of such a learner is never kept on disk, as edits of its source would not be seen. Numba tells two classes of
states with the same name and the same fields apart only when it compiles, so each class has compiled functions of its own.
"""

from __future__ import annotations

import dis
import re
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np

from noregret.errors import InputError, NoRegretError, one_line
from noregret.kernels.compiler.jit import jit

#: What :func:`explain` compiles: a body and the types of its arguments after the state.
Body = tuple[FunctionType, tuple[object, ...]]

_OURS = (Path(__file__).parents[2], Path(numba.__file__).parent)


def is_guest(module: str) -> bool:
    """Tell whether a module is not noregret's own."""
    return not module.startswith("noregret.")


class Reference(NamedTuple):
    """An object that a function refers to by name, and the function's file and line."""

    value: object
    file: str
    line: int | None


def references(*functions: object) -> Iterator[Reference]:
    """List every object that functions refer to, also through functions they refer to; noregret's own are not looked into."""
    todo, seen = list(functions), set[FunctionType]()
    while todo:
        function = todo.pop()
        function = getattr(function, "py_func", function)
        if not isinstance(function, FunctionType) or function in seen or not is_guest(function.__module__):
            continue
        seen.add(function)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        names = function.__globals__ | {name: cell.cell_contents for name, cell in cells}
        for op, value in _named(function.__code__, names):
            todo.append(value)
            yield Reference(value, function.__code__.co_filename, op.positions.lineno if op.positions else None)


def _named(code: CodeType, names: dict[str, object]) -> Iterator[tuple[dis.Instruction, object]]:
    """The values of ``name`` and ``module.name`` in a code, and in the codes within it."""
    value: object = None
    for op in dis.get_instructions(code):
        if op.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
            value = names.get(op.argval)
        else:
            value = getattr(value, str(op.argval), None) if isinstance(value, ModuleType) else None
        if value is not None:
            yield op, value
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _named(inner, names)


@cache
def compiled(function: Callable[..., object], state: type, bodies: tuple[Body, ...]) -> Callable[..., object]:
    """Compile a function, whose first argument is a state, for one class of states from elsewhere.

    Raises:
        InputError: a body draws random numbers of its own, or, when it is called, has a mistake.
    """
    for value, file, line in references(*(body for body, _ in bodies)):
        module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        for name in (module, type(value).__module__, type(getattr(value, "__self__", None)).__module__):
            if name == "random" or str(name).startswith("numpy.random"):
                raise InputError(
                    f"{file}:{line}: a learner draws from the run's own stream, not from {name}: "
                    "give its state a field 'uniforms' (n,), which is filled with new numbers in [0, 1) before each plan"
                )
    kernel = jit(function, cached=False)

    def call(*arguments: object) -> object:
        try:
            return kernel(*arguments)
        except NoRegretError:
            raise
        except Exception as error:
            raise InputError(explain(error, arguments[0], bodies)) from error

    call.kernel = kernel  # type: ignore[attr-defined]
    return call


def explain(error: Exception, state: object, bodies: tuple[Body, ...]) -> str:
    """File, line and one sentence for an error that calling, or compiling, the bodies of a state raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    if not any(Path(last.filename).is_relative_to(folder) for folder in _OURS):
        return f"{last.filename}:{last.lineno}: {one_line(error)}"  # compiled code raised it
    compiler: Any = numba
    kind = compiler.typeof(state)
    for body, types in bodies:
        try:
            compiler.njit(body).compile((kind, *types))
        except Exception as found:
            return _sentence(found, body).replace(str(kind), type(state).__name__)
    return f"{type(state).__module__}: {one_line(error)}"


def _sentence(error: Exception, body: FunctionType) -> str:
    """The place where compiling a body failed, by the innermost line that is not Numba's, and Numba's innermost reason."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # Numba writes in colours where colorama is installed
    places = [(file, int(line)) for file, line in re.findall(r"(/\S+\.py) \((\d+)\)", text)]
    loc = getattr(error, "loc", None)
    places += [(loc.filename, loc.line)] if loc is not None else []
    places += [(body.__code__.co_filename, body.__code__.co_firstlineno)]
    file, line = next(each for each in places if not any(Path(each[0]).is_relative_to(folder) for folder in _OURS))
    said = [part.strip() for part in text.splitlines() if part.strip() and not part.strip().startswith("Failed in")]
    reasons = re.findall(r"^\s*\w+Error: (?!Failed in)(.+)$", text, flags=re.MULTILINE)
    why = said[0] if said else one_line(error)
    if why.startswith("No implementation of function"):
        call = re.search(r">>> (.+)", text)
        why = f"Numba cannot compile {call[1] if call else body.__name__}" + (f": {reasons[-1]}" if reasons else "")
    return f"{file}:{line}: {why}"


def uniforms_of(state: object) -> int:
    """How many random numbers a learner's state asks for before each plan; most ask for none."""
    wanted = getattr(state, "uniforms", None)
    if wanted is None:
        return 0
    if not isinstance(wanted, np.ndarray) or wanted.ndim != 1 or wanted.dtype != np.float64:
        raise InputError(f"the field 'uniforms' of {type(state).__name__} is {wanted!r}; expected an array (n,) of float64")
    return len(wanted)
