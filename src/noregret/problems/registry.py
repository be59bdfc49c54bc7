"""Problems by name: ``load("random:seed=3,S=5")`` builds one, ``register`` adds one.

A factory is a function whose parameters all have defaults and type annotations (int, float, bool, str, a ``Literal``
of strings, or one of these or None). Its name and the parameters that differ from their defaults make the text that
rebuilds the problem, and that text becomes the problem's ``name``. Every problem also takes the options of
:data:`NOISE`, as in ``load("inventory:noise=bernoulli")``. Names that are not known yet are looked for among the
installed packages: those that announce a factory, or a module that registers some, under ``noregret.problems``.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints, overload

from noregret._system.plugins import load_group
from noregret.errors import InputError, shown, unknown_name
from noregret.problems import npz
from noregret.problems.base import TabularCMDP
from noregret.problems.noise import SCALE, Noise, some_pairs

if TYPE_CHECKING:
    from noregret.problems.linear_continuous import LinearCMDP

Problem: TypeAlias = "TabularCMDP | LinearCMDP"

Factory = TypeVar("Factory", bound=Callable[..., Problem])

#: The kind of a problem whose factory does not say.
FINITE = TabularCMDP.kind

#: What every problem takes beside the parameters of its factory: the noise of what a step pays, its σ, and about which share
#: of the pairs of state and action vary (:mod:`noregret.problems.noise`).
NOISE: dict[str, object] = {"noise": Noise | None, "noise_scale": float, "noise_share": float}

_FACTORIES: dict[str, Callable[..., Problem]] = {}


@overload
def register(name: str) -> Callable[[Factory], Factory]: ...
@overload
def register(name: str, factory: Factory) -> Factory: ...
def register(name: str, factory: Factory | None = None) -> Factory | Callable[[Factory], Factory]:
    """Make a factory of problems known by a name: ``@register("name")`` on a function, or ``register("name", function)``.

    Args:
        name: a word without ":", ",", "=" and spaces.
        factory: a function whose parameters all have defaults and annotations.

    Returns:
        A function that builds the same problems and sets the ``name`` of each to the text that rebuilds it.

    Raises:
        InputError: the name is taken or not a word, or a parameter has no default.
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

        @functools.wraps(build)
        def named(*args: object, **kwargs: Any) -> Problem:
            noise = {key: kwargs.pop(key) for key in NOISE if key in kwargs and key not in signature.parameters}
            problem = build(*args, **kwargs)
            bound = signature.bind(*args, **kwargs).arguments.items()
            said = [f"{k}={_show(v)}" for k, v in bound if v != signature.parameters[k].default]
            if noise:
                usual = {"noise": problem.noise, "noise_scale": problem.noise_scale, "noise_share": None}
                problem = _noisy(problem, **noise)
                said += [f"{k}={_show(v)}" for k, v in noise.items() if v != usual[k]]
            changed = ",".join(said)
            problem.name = f"{name}:{changed}" if changed else name
            return problem

        _FACTORIES[name] = named
        return cast(Factory, named)

    return decorate if factory is None else decorate(factory)


def _noisy(
    problem: Problem,
    *,
    noise: Noise | Literal["own"] | None = "own",
    noise_scale: float = SCALE,
    noise_share: float | None = None,
) -> Problem:
    """The same problem with another noise; what is not given stays as it is.

    Raises:
        InputError: a scale or a share is given where nothing varies, or the share of a problem without pairs.
    """
    kind = problem.noise if noise == "own" else noise
    if kind is None and (noise_share is not None or noise_scale != SCALE):
        raise InputError("noise_scale or noise_share is given and noise is none; expected noise=bernoulli, gaussian or clipped")
    if noise_share is None:
        return problem.replace(noise=kind, noise_scale=noise_scale)
    from noregret.problems.kinds import is_finite

    if not is_finite(problem):
        raise InputError(f"noise_share is {noise_share}; expected none where states are in R^D, which have no pairs to count")
    pairs = some_pairs(noise_share, problem.n_states, problem.n_actions)
    return problem.replace(noise=kind, noise_scale=noise_scale, noisy=pairs)


def names(continuous: bool | None = None) -> list[str]:
    """List the names of all problems that :func:`load` knows, those of installed packages too.

    Args:
        continuous: True for problems whose states are vectors, False for problems with finitely many states, None for both.

    >>> "job-scheduling" in names(), "linear-continuous" in names(continuous=False)
    (True, False)
    """
    _announced()
    return sorted(name for name in _FACTORIES if continuous is None or (_kind_of(name) != FINITE) == continuous)


def built_in() -> list[str]:
    """List the names of noregret's own problems."""
    return sorted(filter(is_built_in, _FACTORIES))


def load(text: str | os.PathLike[str]) -> Problem:
    """Build a problem from its name, or read it from a file.

    Args:
        text: "name", "name:key=value,key=value", or a path that ends with .npz.

    Returns:
        A TabularCMDP, or a LinearCMDP where :func:`describe` says "states in R^D".

    Raises:
        InputError: the name or a parameter is not known, or a value cannot be used.
        FileError: the file cannot be read.

    >>> load("job-scheduling:b=3.5")
    <TabularCMDP 'job-scheduling:b=3.5': H=10 S=10 A=2 m=1 b=[3.5]>
    """
    text = os.fspath(text)
    if text.endswith(".npz"):
        return npz.load(text)
    name, colon, tail = text.partition(":")
    name = name.strip()
    factory = _factory(name)
    return factory(**_arguments(name, factory, tail)) if colon else factory()


def is_built_in(text: str) -> bool:
    """Tell whether ``text`` names a problem of noregret's own. If so, the text alone says what is built."""
    module = module_of(text)
    return module is not None and module.startswith("noregret.")


def module_of(text: str) -> str | None:
    """Name the module of the factory that ``text`` names; None for a file or an unknown name."""
    factory = _FACTORIES.get(text.partition(":")[0].strip())
    return None if factory is None else factory.__module__


def factory_of(text: str) -> Callable[..., Problem] | None:
    """The factory of a problem of noregret's own that ``text`` names; None for other problems."""
    return _FACTORIES[text.partition(":")[0].strip()] if is_built_in(text) else None


def _announced() -> None:
    """Register the factories that installed packages announce. An announced module registers its own when it is loaded."""

    def take(name: str, factory: Any) -> None:
        if not inspect.ismodule(factory) and factory not in _FACTORIES.values():
            register(name, factory)

    load_group("noregret.problems", take)


def describe(name: str) -> str:
    """Say in one line what a problem is, with the kind of its states, and its parameters with their defaults.

    >>> describe("frozen-lake-4x4")
    'Cross a frozen lake of 4×4 cells, rarely falling in (limit=0.02, H=20)'
    """
    factory = _factory(name)
    summary = (inspect.getdoc(factory) or name).splitlines()[0].rstrip(".")
    defaults = ", ".join(f"{k}={_show(p.default)}" for k, p in inspect.signature(factory).parameters.items())
    kind = _kind_of(name)
    said = summary if kind == FINITE else f"{summary}; {kind}"
    return f"{said} ({defaults})" if defaults else said


def _kind_of(name: str) -> str:
    """The kind of a problem's states, as the class says that its factory is annotated to return."""
    try:
        return str(getattr(get_type_hints(_FACTORIES[name]).get("return"), "kind", FINITE))
    except NameError:  # annotated with what is not there when it runs
        return FINITE


# --- text to arguments and back -----------------------------------------------------------------------------------


def _factory(name: str) -> Callable[..., Problem]:
    if name not in _FACTORIES:
        _announced()
    if name not in _FACTORIES:
        raise unknown_name("problem", name, _FACTORIES)
    return _FACTORIES[name]


def _arguments(name: str, factory: Callable[..., Problem], tail: str) -> dict[str, object]:
    hints = NOISE | get_type_hints(factory)
    known = [*inspect.signature(factory).parameters, *NOISE]
    arguments: dict[str, object] = {}
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


def _alternatives(hint: object) -> tuple[object, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _parse(value: str, hint: object) -> object:
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


def _kind(hint: object) -> str:
    """How to say a type in an error message."""
    words: dict[object, str] = {int: "a whole number", float: "a finite number", bool: "true or false"}
    words |= {str: "text", types.NoneType: "none"}
    kinds = [
        " or ".join(map(repr, get_args(k))) if get_origin(k) is Literal else words.get(k, str(k)) for k in _alternatives(hint)
    ]
    return " or ".join(kinds)


def _show(value: object) -> str:
    value = value.item() if hasattr(value, "item") else value
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str) else repr(value)
