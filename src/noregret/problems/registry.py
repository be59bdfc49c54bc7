"""Problems by name: ``load("random:seed=3,S=5")`` builds one, ``register`` adds one.

A factory is a function whose parameters all have defaults and type annotations (int, float, bool, str, a ``Literal``
of strings, or one of these or None). Its name and the parameters that differ from their defaults make the text that
rebuilds the problem, and that text becomes the problem's ``name``. Names that are not known yet are looked for among the
installed packages: those that announce a factory, or a module that registers some, under ``noregret.problems``.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import types
from collections.abc import Callable
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, overload

from noregret._system.plugins import load_group
from noregret.errors import InputError, shown, unknown_name
from noregret.problems import npz
from noregret.problems.base import TabularCMDP

Factory = TypeVar("Factory", bound=Callable[..., Any])

#: The kind of a problem whose factory does not say.
FINITE = TabularCMDP.kind

_FACTORIES: dict[str, Callable[..., Any]] = {}


@overload
def register(name: str) -> Callable[[Factory], Factory]: ...
@overload
def register(name: str, factory: Factory) -> Factory: ...
def register(name: str, factory: Factory | None = None) -> Factory | Callable[[Factory], Factory]:
    """Make ``factory`` known as ``name``: ``@register("name")`` on a function, or ``register("name", function)``.

    The function that comes back builds the same problem and sets its ``name`` to the text that rebuilds it.
    """
    if not name or set(name) & set(":,= ") or name.endswith(".npz"):
        raise InputError(f"problem name {name!r}; expected a word without ':', ',', '=', spaces or '.npz'")
    if name in _FACTORIES:
        raise InputError(f"problem name {name!r} is already registered")

    def decorate(build: Factory) -> Factory:
        signature = inspect.signature(build)
        for key, parameter in signature.parameters.items():
            if parameter.default is parameter.empty:
                raise InputError(f"parameter {key!r} of problem {name!r} has no default; expected one for each")

        named: Factory = _named(name, build)
        _FACTORIES[name] = named
        return named

    return decorate if factory is None else decorate(factory)


def _named(name: str, build: Factory) -> Factory:
    """The same factory; what it builds is called by the text that rebuilds it."""
    signature = inspect.signature(build)

    @functools.wraps(build)
    def named(*args: Any, **kwargs: Any) -> Any:
        problem = build(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        changed = {
            key: bound.arguments[key]
            for key, parameter in signature.parameters.items()
            if key in bound.arguments and bound.arguments[key] != parameter.default
        }
        problem.name = _text(name, changed)
        return problem

    return cast(Factory, named)


def names(continuous: bool | None = None) -> list[str]:
    """The names that :func:`load` knows, sorted; those that installed packages announce too.

    Args:
        continuous: True for those whose states are vectors only, False for those on finitely many states only.
    """
    _announced()
    return sorted(name for name in _FACTORIES if continuous is None or (_kind_of(name) != FINITE) == continuous)


def built_in() -> list[str]:
    """The names of noregret's own problems."""
    return sorted(filter(is_built_in, _FACTORIES))


def load(text: str | os.PathLike[str]) -> Any:
    """Build the problem that ``text`` names: "name", "name:key=value,key=value", or a path that ends with .npz.

    That is a TabularCMDP, or a LinearCMDP where :func:`describe` says "states in R^D".
    """
    text = os.fspath(text)
    if text.endswith(".npz"):
        return npz.load(text)
    name, colon, tail = text.partition(":")
    name = name.strip()
    factory = _factory(name)
    return factory(**_arguments(name, factory, tail)) if colon else factory()


def is_built_in(text: str) -> bool:
    """Whether ``text`` names a problem of noregret's own, so that the text alone says what is built."""
    module = module_of(text)
    return module is not None and module.startswith("noregret.")


def module_of(text: str) -> str | None:
    """The module of the factory that ``text`` names; None for a file or an unknown name."""
    factory = _FACTORIES.get(text.partition(":")[0].strip())
    return None if factory is None else factory.__module__


def _announced() -> None:
    """Register what the installed packages announce: factories; modules have registered theirs when they are loaded."""

    def take(name: str, found: Any) -> None:
        if not inspect.ismodule(found) and found not in _FACTORIES.values():
            register(name, found)

    load_group("noregret.problems", take)


def describe(name: str) -> str:
    """One line about a problem: what it is, the kind of its states, and its parameters with their defaults."""
    factory = _factory(name)
    summary = (inspect.getdoc(factory) or name).splitlines()[0].rstrip(".")
    defaults = ", ".join(f"{k}={_show(p.default)}" for k, p in inspect.signature(factory).parameters.items())
    kind = _kind_of(name)
    said = summary if kind == FINITE else f"{summary}; {kind}"
    return f"{said} ({defaults})" if defaults else said


def _kind_of(name: str) -> str:
    """The kind that the class of a problem says it is, by what its factory says that it returns."""
    try:
        return str(getattr(get_type_hints(_FACTORIES[name]).get("return"), "kind", FINITE))
    except NameError:  # annotated with what is not there when it runs
        return FINITE


# --- text to arguments and back -----------------------------------------------------------------------------------


def _factory(name: str) -> Callable[..., Any]:
    if name not in _FACTORIES:
        _announced()
    if name not in _FACTORIES:
        raise unknown_name("problem", name, _FACTORIES)
    return _FACTORIES[name]


def _arguments(name: str, factory: Callable[..., Any], tail: str) -> dict[str, Any]:
    hints = get_type_hints(factory)
    known = list(inspect.signature(factory).parameters)
    arguments: dict[str, Any] = {}
    for part in tail.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not (key and equals and value):
            raise InputError(f"problem {name!r}: {part!r} is not a parameter; expected key=value")
        if key not in known:
            raise unknown_name(f"parameter of problem {name!r}:", key, known)
        if key in arguments:
            raise InputError(f"problem {name!r}: parameter {key!r} is given twice")
        try:
            arguments[key] = _parse(value, hints[key])
        except ValueError:
            raise InputError(f"problem {name!r}: {key} is {shown(value)}; expected {_kind(hints[key])}") from None
    return arguments


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _parse(value: str, hint: Any) -> Any:
    """The value of a parameter annotated with ``hint``; ValueError when the text is not of that type."""
    kinds = _alternatives(hint)
    if types.NoneType in kinds and value.lower() == "none":
        return None
    kind = next(k for k in kinds if k is not types.NoneType)
    if kind is bool:
        if value.lower() not in ("true", "false"):
            raise ValueError(value)
        return value.lower() == "true"
    if kind is int:
        return int(value)
    if kind is float:
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(value)
        return number
    if get_origin(kind) is Literal and value not in get_args(kind):
        raise ValueError(value)
    return value


def _kind(hint: Any) -> str:
    """How to say a type in an error message."""
    words = {
        int: "a whole number", float: "a finite number", bool: "true or false", str: "text", types.NoneType: "none",
    }  # fmt: skip
    kinds = [
        " or ".join(map(repr, get_args(k))) if get_origin(k) is Literal else words.get(k, str(k)) for k in _alternatives(hint)
    ]
    return " or ".join(kinds)


def _show(value: Any) -> str:
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str) else repr(value)


def _text(name: str, arguments: dict[str, Any]) -> str:
    tail = ",".join(f"{key}={_show(value)}" for key, value in arguments.items())
    return f"{name}:{tail}" if tail else name
