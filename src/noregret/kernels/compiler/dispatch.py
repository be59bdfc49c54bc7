"""What a compiled learner is: a state (a NamedTuple of arrays) with a body for ``plan`` and one for ``update``.

The one loop over episodes calls :func:`plan` and :func:`update`; which bodies run is decided by the type of the state when
the loop is compiled. Every state has the fields ``policy`` (H,S,A), the policy to play next, and ``Y`` (m,), the dual. The
state of a learner that draws has the field ``uniforms`` (n,) too: before each plan it holds n new random numbers in [0, 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from numba import types

from noregret.kernels.compiler import guests
from noregret.kernels.compiler.jit import add_body, body_of, by_type, jit
from noregret.kernels.types import Array, Integers, State

F = TypeVar("F", bound=Callable[..., object])

#: The types of an episode.
_EPISODE = (types.int64[::1], types.int64[::1], types.float64[:, ::1])


@by_type
def plan(state: State) -> None:
    """Make ``state.policy`` the policy of the next episode."""


@by_type
def update(state: State, states: Integers, actions: Integers, observed: Array) -> None:
    """Take in an episode: states (H+1,), actions (H,), observed (H,1+m)."""


def register_kernels(state: type, plans: Callable[..., None], updates: Callable[..., None]) -> None:
    """Teach the loop a learner: ``plan(state)`` and ``update(state, states, actions, observed)``, not compiled yet."""
    add_body(plan, state, plans)
    add_body(update, state, updates)


def compiled(function: F, whole: F, state: State) -> F:
    """Compile ``function``, which calls the bodies of ``state``; for a state of ours ``whole`` is the compiled function."""
    kind = type(state)
    if not guests.is_guest(kind.__module__):
        return whole
    kernel: F = guests.compiled(function, kind, tuple(zip(bodies([kind]), ((), _EPISODE), strict=True)))  # type: ignore[assignment]
    return kernel


def bodies(values: Iterable[object]) -> list[Callable[..., object]]:
    """List the plan and update bodies of those among ``values`` that are classes of states."""
    kinds = [value for value in values if isinstance(value, type)]
    return [body for kind in kinds for body in (body_of(plan, kind), body_of(update, kind)) if body is not None]


def _call_plan(state: State) -> None:
    plan(state)


def _call_update(state: State, states: Integers, actions: Integers, observed: Array) -> None:
    update(state, states, actions, observed)


#: Compiled as the loop is, so that in one process the loop and these share the bodies.
_own_plan, _own_update = jit(_call_plan, references=False), jit(_call_update, references=False)


def run_plan(state: State) -> None:
    """``plan``, called from Python."""
    compiled(_call_plan, _own_plan, state)(state)


def run_update(state: State, states: Integers, actions: Integers, observed: Array) -> None:
    """``update``, called from Python."""
    compiled(_call_update, _own_update, state)(state, states, actions, observed)
