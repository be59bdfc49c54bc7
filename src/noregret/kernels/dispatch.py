"""What a compiled learner is: a state (a NamedTuple of arrays) with a body for ``plan`` and one for ``update``.

The one loop over episodes calls :func:`plan` and :func:`update`; which bodies run is decided by the type of the state when
the loop is compiled. Every state has the fields ``policy`` (H,S,A), the policy to play next, and ``Y`` (m,), the dual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noregret.kernels.jit import Bodies, jit, overload

_plan, _update = Bodies("plan"), Bodies("update")


def register(state: type, plan: Callable[[Any], None], update: Callable[[Any, Any, Any, Any], None]) -> None:
    """Teach the loop a learner: ``plan(state)`` and ``update(state, states, actions, observed)``, not compiled yet."""
    _plan.add(state, plan)
    _update.add(state, update)


def plan(state: Any) -> None:
    """Make ``state.policy`` the policy of the next episode."""
    _plan(state)(state)  # type: ignore[misc]


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Take in an episode: states (H+1,), actions (H,), observed (H,1+m)."""
    _update(state)(state, states, actions, observed)  # type: ignore[misc]


@overload(plan)
def _(state):  # type: ignore[no-untyped-def]
    return _plan(state)


@overload(update)
def _(state, states, actions, observed):  # type: ignore[no-untyped-def]
    return _update(state)


@jit
def run_plan(state: Any) -> None:
    """``plan``, called from Python."""
    plan(state)


@jit
def run_update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """``update``, called from Python."""
    update(state, states, actions, observed)
