"""What code does, as a hash: of functions, of all that they call and of every constant that they read.

Docstrings, comments, types, line numbers and names of files are no part of it. A function is followed through the names that
it reads: other functions in whatever file they are, the bodies that :func:`~noregret.kernels.compiler.jit.by_type` chooses
from, NamedTuples by their fields, numbers and arrays by value. What is not noregret's own counts by its name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

#: Flags of code objects: a function's own code, and one whose first constant is a docstring (Python 3.13 and later).
_OF_A_FUNCTION, _HAS_DOCSTRING = 0x1, 0x4000000


def code_hash(roots: Iterable[object], within: tuple[str, ...] = ("noregret",)) -> str:
    """Hash what functions do, with all that they reach; of a class among the roots, what its methods do.

    Args:
        roots: functions, compiled or not, and classes. Their order counts.
        within: packages whose functions are looked into.

    Returns:
        64 hexadecimal digits.
    """
    walk = _Walk(within)
    said = [walk.root(root) for root in roots]
    return hashlib.sha256(repr((said, walk.all_reached())).encode()).hexdigest()


#: The package, and where it has what a run's numbers come from.
_PACKAGE = Path(__file__).resolve().parents[2]
_SOURCES = ("kernels", "learners", "agent/minds", "runs/loop.py")


@cache
def source_hash() -> str:
    """A hash of the text of every file that compiled code comes from."""
    digest = hashlib.sha256()
    for place in _SOURCES:
        path = _PACKAGE / place
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            digest.update(str(file.relative_to(_PACKAGE)).encode() + file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _text(code: CodeType) -> str:
    """What a code object does, without docstring and place."""
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    constants = [_constant(value) for value in code.co_consts]
    of_a_function = code.co_flags & _OF_A_FUNCTION and code.co_name != "<lambda>"
    if constants and isinstance(code.co_consts[0], str) and (of_a_function or code.co_flags & _HAS_DOCSTRING):
        constants[0] = _constant(None)
    return repr((shape, names, constants, code.co_code, code.co_exceptiontable))


def _constant(value: object) -> str:
    if isinstance(value, CodeType):
        return _text(value)
    if isinstance(value, frozenset):  # its order changes from process to process
        return f"frozenset {sorted(map(_constant, value))}"
    return f"{type(value).__name__} {value!r}"


@cache
def _names(code: CodeType) -> tuple[str, ...]:
    """The names that a code object and those within it read, of variables and of attributes, in order."""
    inner = [name for value in code.co_consts if isinstance(value, CodeType) for name in _names(value)]
    return tuple(sorted({*code.co_names, *inner}))


class _Walk:
    """Functions and classes that were reached, in the order in which they were: a function is known by its number."""

    def __init__(self, within: tuple[str, ...]) -> None:
        self.within = within
        self.functions: dict[FunctionType, int] = {}
        self.classes: dict[type, None] = {}

    def root(self, value: object) -> str:
        """What a root is; all methods of a class count."""
        said = self.reach(value)
        if isinstance(value, type):
            for base in value.__mro__:
                if self.inside(base.__module__):
                    methods = [(name, self.method(attribute)) for name, attribute in sorted(vars(base).items())]
                    said += f" {base.__qualname__} {methods}"
        return said

    def method(self, value: object) -> str:
        """What an attribute of a class is, if it is a function in some form."""
        inner = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        return self.reach(inner) if isinstance(inner, FunctionType) else ""

    def inside(self, module: str) -> bool:
        """Whether code of a module is looked into."""
        return any(module == package or str(module).startswith(package + ".") for package in self.within)

    def reach(self, value: Any, names: tuple[str, ...] = (), above: tuple[ModuleType, ...] = ()) -> str:
        """What an object is to code that reads it, which also reads ``names``; functions and classes are followed later."""
        function = getattr(value, "py_func", value)
        if isinstance(function, FunctionType):
            if not self.inside(function.__module__):
                return f"{function.__module__}.{function.__qualname__}"
            how = getattr(value, "how", "")  # it is compiled
            return f"function {self.functions.setdefault(function, len(self.functions))} {how}"
        if isinstance(value, type):
            self.classes.setdefault(value)
            return f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
        if isinstance(value, ModuleType):
            if not self.inside(value.__name__) or value in above:
                return value.__name__
            parts = [name for name in names if name in vars(value)]
            return f"{value.__name__} {[(name, self.reach(vars(value)[name], names, (*above, value))) for name in parts]}"
        if hasattr(value, "cache_info"):
            return self.reach(value.__wrapped__)
        if isinstance(value, np.ndarray):
            return f"array {value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
        if isinstance(value, tuple):
            return f"{self.reach(type(value))} {[self.reach(part) for part in value]}"
        if value is None or isinstance(value, bool | int | float | complex | str | bytes | np.generic):
            return f"{type(value).__name__} {value!r}"
        return f"{type(value).__module__}.{type(value).__qualname__}"  # Numba compiles no other object in by value

    def all_reached(self) -> list[str]:
        """What each function is, and which bodies are chosen for the classes, until no more are reached."""
        said: list[str] = []
        chosen: dict[tuple[FunctionType, type], None] = {}
        followed = 0
        while followed < len(self.functions):
            for function in list(self.functions)[followed:]:
                followed += 1
                said.append(self.follow(function))
            for function in list(self.functions):
                bodies = getattr(function, "bodies", {})
                for kind in [kind for kind in self.classes if kind in bodies and (function, kind) not in chosen]:
                    chosen[function, kind] = None
                    said.append(f"{self.reach(function)} of {self.reach(kind)} is {self.reach(bodies[kind])}")
        return said

    def follow(self, function: FunctionType) -> str:
        """What a function does; what it names is reached."""
        names = _names(function.__code__)
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        inner = {name: _content(cell) for name, cell in cells}
        outer = {name: function.__globals__[name] for name in names if name in function.__globals__}
        read = [(name, self.reach(value, names)) for name, value in [*sorted(outer.items()), *inner.items()]]
        defaults = [self.reach(value) for value in function.__defaults__ or ()]
        named = [(name, self.reach(value)) for name, value in sorted((function.__kwdefaults__ or {}).items())]
        compiled = [self.reach(other) for other in getattr(function, "compiled_as", ())]
        return f"{_text(function.__code__)} {read} {defaults} {named} {compiled}"


def _content(cell: CellType) -> object:
    """What a variable of an enclosing function holds; None where it holds nothing yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
