"""The source of a learner from elsewhere as a hash, so that a run of an edited learner is another run.

It covers the package (or file) of the class, of the classes it derives from and of the bodies of its state, and what these
import from the folder they lie in; of installed packages only the package itself. A class without a file, as in a notebook,
is hashed by its compiled functions, those they call and the numbers they name.
"""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import threading
from pathlib import Path
from types import CodeType

from noregret._system.plugins import home
from noregret.kernels.dispatch import bodies
from noregret.kernels.guests import is_guest, references
from noregret.learners.base import Learner


def read(learner: type[Learner]) -> dict[str, str]:
    """The files of a class and of those it derives from, each with a hash; read when the class is registered."""
    return {name: code for each in _classes(learner) for name, code in _files(each.__module__).items()}


def combine(learner: type[Learner], files: dict[str, str]) -> str:
    """The hash of a learner, whose files were read before; those of bodies from other packages are read now."""
    classes = _classes(learner)
    names = [value for each in classes for value in vars(sys.modules[each.__module__]).values()]
    own = [body for body in bodies(names) if is_guest(body.__module__)]
    there = {_top(each.__module__) for each in classes}
    others = {body.__module__ for body in own if _top(body.__module__) not in there}
    parts = {name: code for module in sorted(others) for name, code in _files(module).items()} | files
    if not parts:
        functions = [*own, *(value for each in classes for value in vars(each).values())]
        for value in [*functions, *(reference.value for reference in references(*functions))]:
            code = getattr(getattr(value, "py_func", value), "__code__", None)
            parts |= {str(value.__name__): _text(code)} if code else {}
            parts |= {repr(value): ""} if isinstance(value, int | float | str) else {}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _classes(learner: type[Learner]) -> list[type]:
    return [each for each in learner.__mro__ if each is not object and is_guest(each.__module__)]


def _top(module: str) -> str:
    return module.partition(".")[0]


def _files(module: str) -> dict[str, str]:
    """The files of a module's package, and those beside it that they import, by their place in the folder."""
    file = getattr(sys.modules[module], "__file__", None)
    folder = Path(home(module).folder)
    todo, found = [Path(file).stem if module == "__main__" else _top(module)] if file else [], dict[str, str]()
    installed = {"site-packages", "dist-packages"} & set(folder.parts)
    seen = set[str]()
    while todo:
        if (top := todo.pop()) in seen:
            continue
        seen.add(top)
        for path in [folder / f"{top}.py", *(folder / top).rglob("*.py")]:
            name = path.relative_to(folder).as_posix()
            if name not in found and path.is_file():
                text = path.read_bytes()
                found[name] = hashlib.sha256(text).hexdigest()
                todo += [] if installed else _imported(found[name], text)
    return found


#: Python 3.11 mixes up its count of nested nodes when two threads parse at once.
_parsing = threading.Lock()
_parsed: dict[str, list[str]] = {}


def _imported(digest: str, text: bytes) -> list[str]:
    """The top-level modules that a source imports; one that was seen before, by its hash, is not parsed again."""
    if digest not in _parsed:
        with _parsing:
            _parsed[digest] = _parse(text)
    return _parsed[digest]


def _parse(text: bytes) -> list[str]:
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return []
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level]
    return [top for name in names if (top := _top(name)) != "noregret"]


def _text(code: CodeType) -> str:
    """What a function does, without its file and its lines."""
    constants = [_text(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return f"{code.co_code.hex()}{code.co_names}{constants}"
