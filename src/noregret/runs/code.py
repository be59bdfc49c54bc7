"""The code that a run's numbers come from, as a hash: an edited algorithm plays other runs.

The hash covers the modules of the learner's class, of the classes it derives from and of the bodies of its state; what their
functions call, in noregret and in the folder that the modules lie in; the loop over episodes; and the function that builds the
problem. It is taken of the code that this process runs (:mod:`noregret.kernels.compiler.source`), so docstrings, comments and
edits that are not in use do not count. Nor does the table of presets: a run's key has the constants themselves. Other versions
of Python compile the same source to other code; their runs have other names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType

from noregret._system.plugins import home
from noregret.kernels.compiler.dispatch import bodies
from noregret.kernels.compiler.guests import is_guest
from noregret.kernels.compiler.source import code_hash
from noregret.learners.base import Learner
from noregret.problems.registry import factory_of
from noregret.runs.loop import _block
from noregret.runs.streams import streams
from noregret.runs.trial import LinearTrial, TableTrial

#: Packages of noregret whose functions decide numbers, and modules in them that say what a learner is and decide none.
_NUMBERS = tuple(
    f"noregret.{name}" for name in ("features", "learners", "problems", "kernels.gram", "kernels.steps", "kernels.worlds")
)
_MACHINERY = {f"noregret.learners.{name}" for name in ("base", "presets", "registry")}

#: What plays every run.
_LOOP = (_block, streams, TableTrial._play, LinearTrial._play, LinearTrial._episode, LinearTrial._add)

#: What a class says of itself that changes no number, or only numbers that a run's key has.
_SAID = {"name", "parameters", "presets", "promise", "source", "space", "summary", "table", "things", "told"}

#: Digits of a hash.
DIGITS = 16


def code_of(learner: type[Learner], problem: str) -> str:
    """The hash of the code that plays a learner on a problem.

    Args:
        learner: its class.
        problem: the text that loads the problem; its factory counts where it has one in noregret.
    """
    return _code_of(learner.__mro__, factory_of(problem))


@cache
def _code_of(ancestry: tuple[type, ...], factory: Callable[..., object] | None) -> str:
    classes = [each for each in ancestry if each is not object and each.__module__ not in _MACHINERY]
    names = dict.fromkeys(each.__module__ for each in classes)
    values = [value for name in names for value in vars(sys.modules[name]).values()]
    names |= dict.fromkeys(body.__module__ for body in bodies(values))
    roots: list[object] = [*_LOOP, *([] if factory is None else [factory])]
    for name in sorted(names):
        roots += _parts(sys.modules[name])
    return code_hash(roots, (*_NUMBERS, *_beside(names)))[:DIGITS]


def _beside(names: dict[str, None]) -> list[str]:
    """The top-level packages of modules from elsewhere, and those that lie in the folder of one that is not installed."""
    guests = {name.partition(".")[0]: name for name in names if is_guest(name)}
    folders = {home(name).folder for name in guests.values() if getattr(sys.modules[name], "__file__", None)}
    local = {folder for folder in folders if folder and not {"site-packages", "dist-packages"} & set(Path(folder).parts)}
    modules = {name: sys.modules[name] for name in list(sys.modules) if "." not in name and name != "noregret"} if local else {}
    beside = [name for name, module in modules.items() if getattr(module, "__file__", None) and home(name).folder in local]
    return sorted({*guests, *beside})


def _parts(module: ModuleType) -> Iterator[object]:
    """The functions and plain values of a module and of its classes."""
    for name, value in sorted(vars(module).items()):
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                for attribute, part in sorted(vars(value).items()):
                    if attribute not in _SAID:
                        yield from _part(module.__name__, f"{name}.{attribute}", part)
        else:
            yield from _part(module.__name__, name, value)


def _part(module: str, name: str, value: object) -> Iterator[object]:
    inner = getattr(value, "__func__", None) or getattr(value, "fget", None) or getattr(value, "func", None) or value
    inner = getattr(inner, "py_func", inner)
    if isinstance(inner, FunctionType):
        if inner.__module__ == module:
            yield inner
    elif _plain(value) and not name.rpartition(".")[2].startswith("__"):
        yield (name, repr(value))


def _plain(value: object) -> bool:
    """Whether a value is made of numbers and texts."""
    if isinstance(value, dict):
        return all(map(_plain, value)) and all(map(_plain, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    return value is None or isinstance(value, bool | int | float | str)
