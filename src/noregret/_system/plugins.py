"""Code from elsewhere: modules that a user names, and installed packages that announce problems or learners.

A module is known here by the folder in which its top-level package lies and by its dotted name, so that another process can
import the same one. Folders go to the end of ``sys.path``: no file in them takes the place of an installed package.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from noregret.errors import InputError, NoRegretError, one_line

_lock = threading.RLock()
_groups: set[str] = set()
_named: dict[Home, None] = {}


class Home(NamedTuple):
    """Where a module is found: the folder of its top-level package ("": where Python looks), and its dotted name."""

    folder: str
    module: str


def load_group(group: str, take: Callable[[str, Any], object]) -> None:
    """Load what installed packages announce under an entry-point group, and give each name and object to ``take``.

    A group is gone through once in a process. A package that fails is named in a warning, and the others go on.
    """
    from importlib.metadata import entry_points

    with _lock:
        if group in _groups:
            return
        _groups.add(group)
        for point in entry_points(group=group):
            try:
                take(point.name, point.load())
            except (Exception, SystemExit) as error:
                package = f" of the package {point.dist.name!r}" if point.dist else ""
                warnings.warn(f"{point.name!r}{package} is left out: {one_line(error)}", stacklevel=2)


def load_module(text: str, beside: str | os.PathLike[str] | None = None) -> None:
    """Import a module that a user named.

    Args:
        text: a dotted name, or the path of a ``.py`` file or of a package's folder.
        beside: a folder in which ``text`` is looked for too. Without it a path starts in the current folder, and a dotted name
            is looked for where Python looks.

    Raises:
        InputError: there is no such module, importing it fails, or another module has its name.
    """
    path = Path(beside or "", text)
    if text.endswith(".py") or {"/", os.sep} & set(text):
        if not path.exists():
            raise InputError(f"module {text!r} cannot be imported: there is no such file")
        folder: Path | None = path.absolute().parent
        name = path.stem
    else:
        top, name = Path(beside or "", text.partition(".")[0]), text
        local = beside is not None and (top.is_dir() or top.with_suffix(".py").is_file())
        folder = top.absolute().parent if local else None
    if not all(part.isidentifier() for part in name.split(".")):
        raise InputError(f"module {text!r} cannot be imported; expected a dotted name or the path of a .py file")
    module = _import(Home("" if folder is None else str(folder), name), text)
    if folder is not None and folder != Path(home(module.__name__).folder):
        raise InputError(f"module {text!r} cannot be imported: {name!r} is the name of another module; rename the file")
    _named[home(module.__name__)] = None


def library(name: str, purpose: str, extra: str) -> ModuleType:
    """Import a library that not everybody has, or say how to install it.

    Args:
        name: the module.
        purpose: what needs the library.
        extra: the extra of noregret that brings it.

    Raises:
        NoRegretError: the library is not installed.
    """
    try:
        return import_module(name)
    except ImportError:
        raise NoRegretError(f"{purpose} needs {name}, which is not installed: pip install 'noregret[{extra}]'") from None


def load_homes(homes: Iterable[Iterable[str]]) -> None:
    """Import the modules that another process knew."""
    for each in homes:
        _import(Home(*each), list(each)[-1])


def named() -> tuple[Home, ...]:
    """The modules that were imported by :func:`load_module`, for workers to import too."""
    return tuple(_named)


def home(module: str) -> Home:
    """Where an imported module is found by other processes."""
    top = sys.modules[module.partition(".")[0]]
    places = list(getattr(top, "__path__", ())) or [getattr(top, "__file__", None) or ""]
    return Home(str(Path(places[0]).absolute().parent) if places[0] else "", module)


def _import(place: Home, text: str) -> ModuleType:
    if place.folder and place.folder not in sys.path:
        sys.path.append(place.folder)
    try:
        return import_module(place.module)
    except (Exception, SystemExit) as error:
        raise InputError(f"module {text!r} cannot be imported: {one_line(error)}") from error
