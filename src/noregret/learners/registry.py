"""The learners by name: register one, list them, make one.

Names that are not known yet are looked for among the installed packages: those that announce a learner, or a module that
registers some, under the entry-point group ``noregret.learners``.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

import numpy as np

from noregret._system.checks import integer
from noregret._system.plugins import load_group
from noregret.errors import InputError, unknown_name
from noregret.kernels.compiler.guests import is_guest
from noregret.learners.base import GivenFeatures, Learner, SomeSpec
from noregret.learners.guests import guest_made
from noregret.problems.base import Spec
from noregret.problems.continuous import ContinuousSpec
from noregret.problems.kinds import is_finite

#: Letters that stand for sizes of a problem in every learner; they are not to be set.
SIZES = {"K", "H", "S", "A", "d", "m"}
#: More episodes than these are a mistake; what kernels count stays exact far beyond.
MOST_EPISODES = 1_000_000_000_000

_learners: dict[str, type[Learner]] = {}


def register(learner: type[Learner]) -> type[Learner]:
    """Make a learner known by its ``name``; a decorator, open to third parties."""
    if not isinstance(learner, type) or not issubclass(learner, Learner) or not learner.name:
        raise InputError(f"{learner!r} is not a learner; expected a subclass of Learner with a name")
    other = _learners.get(learner.name, learner)
    if (other.__module__, other.__qualname__) != (learner.__module__, learner.__qualname__):
        raise InputError(f"learner name {learner.name!r} is taken by {other.__module__}.{other.__qualname__}")
    _learners[learner.name] = learner
    return learner


def _announced() -> None:
    """Register what the installed packages announce: classes; modules have registered their learners when they are loaded."""
    load_group("noregret.learners", lambda name, thing: None if inspect.ismodule(thing) else register(thing))


def names() -> list[str]:
    """All learners that :func:`make` knows."""
    _announced()
    return sorted(_learners)


def get(name: str) -> type[Learner]:
    """The class of a learner."""
    if not isinstance(name, str) or name not in _learners:
        _announced()
    if not isinstance(name, str) or name not in _learners:
        raise unknown_name("learner", name, _learners)
    return _learners[name]


def abilities(name: str) -> list[str]:
    """What a learner takes beyond a table with one constraint, and what it needs, in words.

    >>> abilities("opdop"), abilities("crpo")
    ([], ['several constraints', 'needs a simulator'])
    """
    cls = get(name)
    able = {"several constraints": cls.several, "features": not cls.tables_only, "vectors": cls.vectors is not None}
    needs = {"simulator": "a simulator", "safe_policy": "a safe policy", "reward": "the rewards", "utilities": "the utilities"}
    wanted = [f"needs {needs.get(each, each)}" for each in cls.told]
    return [*(word for word, true in able.items() if true), *wanted, *(["needs a limit on every step"] if cls.stepwise else [])]


def fitting(ability: str) -> str:
    """Some learners with an ability that need nothing that a problem does not have, for a refusal; the surest sources first."""
    candidates = ((name, abilities(name)) for name in sorted(names(), key=lambda name: get(name).source != "paper"))
    fit = [name for name, able in candidates if ability in able and not any(each.startswith("needs") for each in able)]
    return f"{', '.join(fit[:3])} ('noregret list learners' shows all)"


def get_for(name: str, spec: SomeSpec) -> type[Learner]:
    """The class of a learner that works on a spec: the one registered, or its form for states that are vectors."""
    get(name)
    forms = [(n, cls) for n, learner in _learners.items() for cls in (learner, learner.vectors) if cls is not None]
    fit = {n: cls for n, cls in forms if isinstance(spec, cls.takes)}
    if name not in fit:
        raise unknown_name(f"learner of {'finite' if is_finite(spec) else 'continuous'} states", name, fit)
    return fit[name]


def class_for(name: str, spec: Spec | ContinuousSpec, *, episodes: int, preset: str, slater_gap: float | None) -> type[Learner]:
    """The class of a learner that works on a spec, once what every learner is given is what it should be.

    Args:
        name: one of :func:`names`.
        spec: what the learner may know of the problem.
        episodes: K.
        preset: one of the learner's.
        slater_gap: what is known of γ, or None.

    Raises:
        InputError: no such learner works on the spec, or one of the others cannot be used.
    """
    cls = get_for(name, spec)
    checked_episodes(episodes)
    if preset not in cls.presets:
        raise unknown_name(f"preset of {name}", preset, cls.presets)
    if isinstance(slater_gap, str):
        raise InputError(f"slater_gap is {slater_gap!r}; a learner alone has no oracle: pass a number (run() takes 'oracle')")
    if slater_gap is not None and not (isinstance(slater_gap, int | float | np.number) and 0 < slater_gap <= spec.horizon):
        raise InputError(f"slater_gap is {slater_gap}; expected a positive number, at most the horizon {spec.horizon}, or None")
    return cls


def make(
    name: str,
    spec: Spec | ContinuousSpec,
    *,
    episodes: int,
    preset: str = "practical",
    features: GivenFeatures = None,
    slater_gap: float | None = None,
    **params: object,
) -> Learner:
    """Make a learner.

    Args:
        name: one of :func:`names`.
        spec: what it may know of the problem, ``problem.spec``.
        episodes: K, how many episodes it will play; several constants depend on it.
        preset: where its constants come from, "practical" (default), "theory", for some also "paper".
        features: φ (S,A,d), or a feature map where states are not numbered; None for the problem's own, else one-hot.
        slater_gap: what is known of γ, or None.
        params: constants that override the preset's.
    """
    cls = class_for(name, spec, episodes=episodes, preset=preset, slater_gap=slater_gap)
    for key in params.keys() & SIZES:
        if key not in cls.parameters:
            raise unknown_name(f"parameter of {name}", key, cls.parameters)
    arguments: dict[str, Any] = {"preset": preset, "features": features, "slater_gap": slater_gap, **params}
    arguments["episodes"] = int(episodes)
    return guest_made(name, cls, spec, arguments) if is_guest(cls.__module__) else cls(spec, **arguments)


def check_imported(name: str) -> None:
    """Refuse a learner whose module is still being imported: the threads and processes that play runs would wait for it.

    Raises:
        InputError: the module, which plays runs, is not imported yet.
    """
    cls = _learners.get(name)
    module = sys.modules.get(cls.__module__) if cls is not None else None
    if module is not None and getattr(getattr(module, "__spec__", None), "_initializing", False):
        raise InputError(
            f"learner {name!r} is to play while its module {module.__name__!r} is being imported; expected runs to begin after "
            f"that: put what the file runs under if __name__ == '__main__':"
        )


def checked_episodes(episodes: object) -> int:
    """K as an integer; refused where it is no positive whole number."""
    return integer("episodes", episodes, 1, MOST_EPISODES)
