"""The learners by name: register one, list them, make one.

Names that are not known yet are looked for among the installed packages: those that announce a learner, or a module that
registers some, under the entry-point group ``noregret.learners``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from noregret._system.checks import integer
from noregret._system.plugins import load_group
from noregret.errors import InputError, unknown_name
from noregret.kernels.guests import is_guest
from noregret.learners import sources
from noregret.learners.base import Learner
from noregret.problems.base import Spec
from noregret.problems.continuous import ContinuousSpec
from noregret.problems.kinds import is_finite

#: More episodes than these are a mistake; what kernels count stays exact far beyond.
MOST_EPISODES = 1_000_000_000_000

_learners: dict[str, type[Learner]] = {}
_files: dict[type[Learner], dict[str, str]] = {}  # of learners from elsewhere, as they were when they were registered


def register(learner: type[Learner]) -> type[Learner]:
    """Make a learner known by its ``name``; a decorator, open to third parties."""
    if not isinstance(learner, type) or not issubclass(learner, Learner) or not learner.name:
        raise InputError(f"{learner!r} is not a learner; expected a subclass of Learner with a name")
    other = _learners.get(learner.name, learner)
    if (other.__module__, other.__qualname__) != (learner.__module__, learner.__qualname__):
        raise InputError(f"learner name {learner.name!r} is taken by {other.__module__}.{other.__qualname__}")
    _learners[learner.name] = learner
    if is_guest(learner.__module__):
        _files[learner] = sources.read(learner)
    return learner


def _announced() -> None:
    """Register what the installed packages announce: classes; modules have registered their learners when they are loaded."""
    load_group("noregret.learners", lambda name, found: None if inspect.ismodule(found) else register(found))


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


def meaning(name: str, preset: str, params: Mapping[str, Any]) -> int:
    """:meth:`~noregret.learners.base.Learner.meaning` of a learner by name; 1 for policies that the runner makes.

    Args:
        name: of the learner or policy.
        preset: where the constants come from.
        params: the parameters that the user gave.
    """
    return _learners[name].meaning(preset, params) if name in _learners else 1


def shared_by(name: str, preset: str, params: Mapping[str, Any], declared: str) -> str:
    """What the steps of a learner learn together: "nothing", "transitions" or "all".

    Args:
        name: of the learner or policy.
        preset: where the constants come from.
        params: the parameters that the user gave.
        declared: what the problem says does not change with the step.
    """
    return _learners[name].shared(preset, params, declared)[0] if name in _learners else "nothing"


def get_for(name: str, spec: Any) -> type[Learner]:
    """The class of a learner that works on a spec: the one registered, or its form for states that are vectors."""
    get(name)
    forms = [(n, cls) for n, one in _learners.items() for cls in (one, one.vectors) if cls is not None]
    fit = {n: cls for n, cls in forms if isinstance(spec, cls.takes)}
    if name not in fit:
        raise unknown_name(f"learner of {'finite' if is_finite(spec) else 'continuous'} states", name, fit)
    return fit[name]


def source_hash(name: str) -> str | None:
    """A hash of the source of a learner from elsewhere, for the keys of its runs; None for our own, and for fixed policies.

    Files are read when a learner is registered: an edit after that is not in use, and does not count, until the next process.
    """
    if name not in _learners:
        _announced()
    learner = _learners.get(name)
    if learner is None or learner not in _files:
        return None
    return sources.combine(learner, _files[learner])


def make(
    name: str,
    spec: Spec | ContinuousSpec,
    *,
    episodes: int,
    preset: str = "practical",
    features: Any = None,
    slater_gap: float | None = None,
    **params: Any,
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
    cls = get_for(name, spec)
    check_episodes(episodes)
    if preset not in cls.presets:
        raise unknown_name(f"preset of {name}", preset, cls.presets)
    if isinstance(slater_gap, str):
        raise InputError(f"slater_gap is {slater_gap!r}; a learner alone has no oracle: pass a number (run() takes 'oracle')")
    if slater_gap is not None and not (isinstance(slater_gap, int | float | np.number) and 0 < slater_gap < np.inf):
        raise InputError(f"slater_gap is {slater_gap}; expected a positive number or None")
    signature = inspect.signature(cls)
    if all(each.kind is not each.VAR_KEYWORD for each in signature.parameters.values()):
        for key in params.keys() - signature.parameters.keys():
            raise unknown_name(f"parameter of {name}", key, cls.parameters)
    factory: Callable[..., Learner] = cls
    return factory(spec, episodes=int(episodes), preset=preset, features=features, slater_gap=slater_gap, **params)


def check_episodes(episodes: Any) -> None:
    """Refuse a K that is not a positive whole number."""
    integer("episodes", episodes, 1, MOST_EPISODES)
