"""What every learner is to the outside: ``plan`` a policy, ``observe`` an episode.

A learner sees a :class:`~noregret.problems.base.Spec` and episodes, nothing else. Its numbers live in ``_state``, a
NamedTuple of arrays that the compiled loop works on; this class is the same learner for code that holds it in hand.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError
from noregret.kernels.dispatch import run_plan, run_update
from noregret.kernels.guests import is_guest, uniforms_of
from noregret.problems.base import Array, Spec

Numbers = NDArray[Any]


#: What the constructor of every learner takes.
COMMON = ("spec", "episodes", "preset", "features", "slater_gap")


@dataclass(frozen=True)
class Plan:
    """The policy of the next episode and the estimates it comes from (None where a learner has none)."""

    policy: Array
    Q_r: Array | None = None
    Q_g: Array | None = None
    V_r: Array | None = None
    V_g: Array | None = None

    def probabilities(self, step: int, states: ArrayLike) -> Array:
        """π_step(·|x) for each of ``states``, shape (..., A)."""
        return np.asarray(self.policy[step][np.asarray(states)])

    def __repr__(self) -> str:
        """A one-line summary."""
        estimates = [name for name in ("Q_r", "Q_g", "V_r", "V_g") if getattr(self, name) is not None]
        return f"<Plan: policy {self.policy.shape}, estimates {', '.join(estimates) or 'none'}>"


class Learner:
    """Base of the compiled learners. A subclass sets ``name`` and makes ``_state`` in its constructor.

    The constructor takes (spec, episodes, preset, slater_gap, features, **params) and refuses what it does not know.
    ``parameters`` are the names it takes (by default those of the constructor's signature), ``constants`` says which numbers
    are in use, ``explain`` where each comes from.
    """

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    presets: ClassVar[tuple[str, ...]] = ("theory", "practical")
    parameters: ClassVar[tuple[str, ...]] = ()
    several: ClassVar[bool] = True  # whether it takes several constraints; if not, it refuses them
    #: The orders of regret and violation that its theorem promises; None for a policy that does not learn.
    promise: ClassVar[tuple[str, str] | None] = ("-", "-")
    told: ClassVar[tuple[str, ...]] = ()  # what it must be given beyond the spec: "reward", "utilities", "safe_policy"

    spec: Spec
    episodes: int
    preset: str
    constants: dict[str, Any]
    explain: dict[str, str]
    _state: Any
    _planned: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls) and "parameters" not in vars(cls):
            given = inspect.signature(cls).parameters
            inherited = cls.parameters if any(each.kind is each.VAR_KEYWORD for each in given.values()) else ()
            named = (name for name, each in given.items() if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL))
            cls.parameters = (*inherited, *(name for name in named if name not in (*COMMON, *inherited)))

    def plan(self, uniforms: ArrayLike | None = None) -> Plan:
        """The policy of the next episode; asking twice changes nothing.

        ``uniforms`` are the random numbers in [0, 1) of a learner that draws, as many as its state's field of that name has.
        """
        self._draw(uniforms)
        self._ensure_planned()
        return Plan(policy=self._state.policy.copy(), **self._estimates())

    def observe(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike) -> None:
        """Learn from one episode played with the current plan.

        Args:
            states: (H+1,) states visited, the last one after the last action.
            actions: (H,) actions taken.
            rewards: (H,) rewards received.
            utilities: (m,H) utilities received, or (H,) when there is one.
        """
        x, a, observed = self._checked(states, actions, rewards, utilities)
        self._draw(None)
        self._ensure_planned()
        run_update(self._state, x, a, observed)
        self._planned = False

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<{type(self).__name__} {self.name!r}: preset {self.preset}, {self.episodes} episodes, {self.spec!r}>"

    @property
    def dual(self) -> Array:
        """Y, the price of each constraint, (m,)."""
        return np.array(self._state.Y)

    def notes(self) -> dict[str, float]:
        """Numbers that the learner found out itself and used, by name; a result reports them for each trial."""
        return {}

    def state(self) -> dict[str, Numbers]:
        """Everything that changes while learning, as plain arrays; :meth:`restore` takes it back."""
        return {key: value.copy() for key, value in flatten(self._state).items()}

    def restore(self, state: dict[str, Numbers]) -> None:
        """Continue from what :meth:`state` gave for a learner made with the same arguments."""
        own = flatten(self._state)
        if own.keys() != state.keys():
            odd = sorted(own.keys() ^ state.keys())[0]
            raise InputError(f"state of {self.name!r} disagrees on entry {odd!r}; expected {sorted(own)}")
        for key, array in own.items():
            given = np.asarray(state[key])
            if given.shape != array.shape or given.dtype != array.dtype:
                raise InputError(
                    f"state[{key!r}] has shape {given.shape} and type {given.dtype}; expected {array.shape}, {array.dtype}"
                )
            if not is_guest(type(self._state).__module__):
                self._check_indices(key, given)
        for key, array in own.items():
            array[...] = state[key]
        self._planned = False

    def _check_indices(self, key: str, given: Numbers) -> None:
        """Refuse numbers of states, and lengths of lists of them, that would send the kernels out of their tables."""
        field, S = key.rpartition(".")[2], self.spec.n_states
        most = {"active": S - 1, "successor": S - 1, "seen_state": S - 1, "actives": S, "successors": S, "seen": S}.get(field)
        if most is not None and given.size and not 0 <= given.min() <= given.max() <= most:
            raise InputError(f"state[{key!r}] has {given.max()}; expected whole numbers from 0 to {most}")

    def append_only(self) -> dict[str, tuple[int, int]]:
        """Entries of :meth:`state` that only grow: the axis along which, and how far along it nothing changes any more.

        Checkpoints append to them in place of writing them again.
        """
        return {}

    def _draw(self, uniforms: ArrayLike | None) -> None:
        """Hand a learner that draws its random numbers, unless the next episode is planned already."""
        if not self._planned and (wanted := uniforms_of(self._state)):
            given = _numbers("uniforms", [] if uniforms is None else uniforms)
            if given.shape != (wanted,) or not ((given >= 0.0) & (given < 1.0)).all():
                raise InputError(f"uniforms has shape {given.shape}; {self.name} plans with {wanted} random numbers in [0, 1)")
            self._state.uniforms[:] = given

    def _ensure_planned(self) -> None:
        if not self._planned:
            run_plan(self._state)
            self._planned = True

    def _estimates(self) -> dict[str, Array]:
        """Q_r, Q_g, V_r, V_g for :class:`Plan`, of learners whose state has Q (H,J,S,A) and V (H+1,J,S), J ≥ 1+m."""
        if not hasattr(self._state, "Q"):
            return {}
        Q, V, last = self._state.Q, self._state.V, 1 + self.spec.n_constraints
        return {
            "Q_r": Q[:, 0].copy(), "Q_g": np.moveaxis(Q[:, 1:last], 1, 0).copy(),
            "V_r": V[:, 0].copy(), "V_g": np.moveaxis(V[:, 1:last], 1, 0).copy(),
        } if Q.shape[1] > 1 else {"Q_r": Q[:, 0].copy(), "V_r": V[:, 0].copy()}  # fmt: skip

    def _checked(
        self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        spec = self.spec
        H, m = spec.horizon, spec.n_constraints
        x, a = _integers("states", states, H + 1, spec.n_states), _integers("actions", actions, H, spec.n_actions)
        allowed = spec.available[np.arange(H), x[:H], a]
        if not allowed.all():
            h = int(np.argmin(allowed))
            raise InputError(f"actions[{h}] is {a[h]}; it is not available in state {x[h]} at step {h}")
        g, r = _numbers("utilities", utilities), _numbers("rewards", rewards)
        g = g[None] if g.ndim == 1 else g
        observed = np.empty((H, 1 + m))
        for name, value, shape in (("rewards", r, (H,)), ("utilities", g, (m, H))):
            if value.shape != shape:
                raise InputError(f"{name} has shape {value.shape}; expected {shape}")
            if not (np.isfinite(value) & (value >= -1e-6) & (value <= 1 + 1e-6)).all():
                index = tuple(np.argwhere(~((value >= -1e-6) & (value <= 1 + 1e-6)))[0])
                raise InputError(f"{name}{list(map(int, index))} is {value[index]}; expected a value in [0, 1]")
        observed[:, 0], observed[:, 1:] = r, g.T
        return x, a, observed


def _numbers(name: str, value: ArrayLike) -> Array:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None


def _integers(name: str, value: ArrayLike, length: int, bound: int) -> NDArray[np.int64]:
    array = np.asarray(value)
    if array.shape != (length,) or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{name} has shape {array.shape} and type {array.dtype}; expected {length} integers")
    bad = (array < 0) | (array >= bound)
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(f"{name}[{i}] is {array[i]}; expected 0..{bound - 1}")
    return array.astype(np.int64)


def flatten(state: Any, prefix: str = "") -> dict[str, Numbers]:
    """The arrays of a (nested) NamedTuple by dotted name; numbers fixed at construction are left out."""
    found: dict[str, Numbers] = {}
    for key, value in state._asdict().items():
        if hasattr(value, "_asdict"):
            found |= flatten(value, f"{prefix}{key}.")
        elif isinstance(value, np.ndarray):
            found[prefix + key] = value
    return found
