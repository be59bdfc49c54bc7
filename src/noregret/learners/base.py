"""What every learner is to the outside: ``plan`` a policy, ``observe`` an episode.

A learner sees a :class:`~noregret.problems.base.Spec` and episodes, nothing else. Its numbers live in ``_state``, a
NamedTuple of arrays that the compiled loop works on; this class is the same learner for code that holds it in hand.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret._system.arrays import LARGEST, check_arrays, check_range
from noregret.errors import InputError
from noregret.kernels.dispatch import run_plan, run_update
from noregret.kernels.guests import is_guest, uniforms_of
from noregret.learners import choices, tuned
from noregret.problems.base import Array, Spec
from noregret.theory import Promise

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


class Asked(NamedTuple):
    """What a learner was asked for, beside the spec, the number of episodes and the preset."""

    features: Any
    slater_gap: float | None
    params: dict[str, Any]


class Learner:
    """Base of the compiled learners. A subclass sets ``name`` and makes its state in ``_begin``.

    ``parameters`` are the names of constants that it takes (by default those of a constructor of its own); it refuses others.
    ``constants`` says which numbers are in use, ``explain`` where each comes from.

    Args:
        spec: what it may know of the problem.
        episodes: K, how many episodes it will play.
        preset: where its constants come from, one of ``presets``.
        features: φ (S,A,d), or a feature map where states are vectors; None for the problem's own, else one-hot.
        slater_gap: what is known of γ.
        params: constants that override the preset's.
    """

    name: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    presets: ClassVar[tuple[str, ...]] = ("theory", "practical")
    parameters: ClassVar[tuple[str, ...]] = ()
    several: ClassVar[bool] = True  # whether it takes several constraints; if not, it refuses them
    #: The orders of regret and violation that its theorem promises; None for a policy that does not learn.
    promise: ClassVar[tuple[str, str] | None] = ("-", "-")
    sharing: ClassVar[tuple[str, ...]] = ()  # what its steps may learn together beside "nothing"; see ``choices.shared``
    stepwise: ClassVar[bool] = False  # whether it needs a problem with a limit on every step; it refuses others
    told: ClassVar[tuple[str, ...]] = ()  # what it must be given beyond the spec: names in runs/prepare.py, "safe_policy"
    #: What ``noregret tune-all`` may try: ranges as ``noregret tune --param`` reads them, by form. "theory" is the printed
    #: algorithm, whose winners become the preset "tuned"; "practical" is the preset of that name. A name is that of a
    #: parameter, or ``<number>_scale``, which multiplies a number of the preset. Lists begin with what the preset has.
    #: ``choices.searched`` makes one.
    space: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    source: ClassVar[str] = ""  # where its formulas are from: "paper", "code", "notes" or "memory", the least sure of them
    takes: ClassVar[type] = Spec  # the kind of spec that it works on
    vectors: ClassVar[type[Learner] | None] = None  # the same learner for a ContinuousSpec, where there is one

    spec: Spec
    phi: Array | None = None  # the features (S,A,d) that it works with; None for one-hot and for tables
    episodes: int
    preset: str
    constants: dict[str, Any]
    explain: dict[str, str]
    _state: Any
    _planned: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "theory" in cls.space and "tuned" not in cls.presets:
            cls.presets = (*cls.presets, "tuned")
        if "__init__" in vars(cls) and "parameters" not in vars(cls):
            given = inspect.signature(cls).parameters
            inherited = cls.parameters if any(each.kind is each.VAR_KEYWORD for each in given.values()) else ()
            named = (name for name, each in given.items() if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL))
            cls.parameters = (*inherited, *(name for name in named if name not in (*COMMON, *inherited)))

    def __init__(
        self,
        spec: Any,
        *,
        episodes: int,
        preset: str = "practical",
        features: Any = None,
        slater_gap: float | None = None,
        **params: Any,
    ) -> None:
        if spec.n_constraints > 1 and not self.several:
            raise InputError(
                f"the problem has {spec.n_constraints} constraints; {self.name} is stated for 1, as its paper has it"
            )
        self.spec, self.episodes, self.preset, self.constants, self.explain = spec, episodes, preset, {}, {}
        self._state = self._begin(Asked(features, slater_gap, params))

    def _begin(self, asked: Asked) -> Any:
        """The state before the first episode; sets ``constants`` and ``explain``."""
        raise TypeError(f"{type(self).__name__} has no _begin")

    @classmethod
    def meaning(cls, preset: str, params: Mapping[str, Any]) -> int:
        """Which meaning the preset with these parameters has: 1 as in version 0.1, 2 where it is another one now.

        It is part of what a stored run is: numbers of two meanings never share a name. What a search found for a preset adds a
        multiple of 4 (:func:`noregret.learners.tuned.meaning`).
        """
        return 1 + tuned.meaning(cls.name, preset, {name for name, value in params.items() if value is not None})

    @classmethod
    def knows(cls, name: str) -> bool:
        """Whether it takes a parameter of this name: one of ``parameters``, or the ``_scale`` of one where it has a space."""
        return name in cls.parameters or (bool(cls.space) and name.removesuffix(choices.SCALE) in cls.parameters)

    @classmethod
    def shared(cls, preset: str, params: Mapping[str, Any], declared: str) -> tuple[str, str]:
        """What the steps learn together, and why (:func:`noregret.learners.choices.shared`).

        Args:
            preset: where the constants come from.
            params: what the user gave.
            declared: what the problem says does not change with the step.
        """
        return choices.shared(cls.sharing, preset, params.get("share"), declared)

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

    def promised(self, slater_gap: float, linear: bool = True) -> Promise | str:
        """What a theorem promises of the run with these constants, or in one sentence why none does.

        Args:
            slater_gap: the exact one of the problem.
            linear: whether the problem is linear in the learner's features.
        """
        return f"no theorem with all its constants is known for {self.name}"

    def notes(self) -> dict[str, float]:
        """Numbers that the learner found out itself and used, by name; a result reports them for each trial."""
        return {}

    def state(self) -> dict[str, Numbers]:
        """Everything that changes while learning, as plain arrays; :meth:`restore` takes it back."""
        return {key: value.copy() for key, value in flatten(self._state).items()}

    def restore(self, state: dict[str, Numbers]) -> None:
        """Continue from what :meth:`state` gave for a learner made with the same arguments."""
        own = flatten(self._state)
        state = {key: array for key, array in own.items() if not array.size} | state  # older versions have fewer empty ones
        check_arrays(own, state, lambda key: None, "state")
        if not is_guest(type(self._state).__module__):
            check_numbers(self._state, state, begun=own)
        for key, array in own.items():
            array[...] = state[key]
        self._planned = False

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
        """Q_r, Q_g, V_r, V_g for :class:`Plan`, where the state or its tables have Q (H,J,S,A) and V (H+1,J,S)."""
        tables = getattr(self._state, "tables", self._state)
        if not (hasattr(tables, "Q") and hasattr(tables, "V")):  # a guest may use one of the names for something else
            return {}
        Q, V, last = tables.Q, tables.V, 1 + self.spec.n_constraints
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
        observed = check_observed(r, g[None] if g.ndim == 1 else g, H, m)
        return x, a, observed


def check_observed(rewards: Array, utilities: Array, L: int, m: int) -> Array:
    """(L,1+m): rewards and utilities side by side, each finite and in [0,1].

    Args:
        rewards: (L,) rewards received.
        utilities: (m,L) utilities received.
        L: how many steps the episode has.
        m: the number of constraints.

    Raises:
        InputError: a shape differs, or a value is outside [0,1].
    """
    observed = np.empty((L, 1 + m))
    for name, value, shape in (("rewards", rewards, (L,)), ("utilities", utilities, (m, L))):
        if value.shape != shape:
            raise InputError(f"{name} has shape {value.shape}; expected {shape}")
        good = (value >= -1e-6) & (value <= 1 + 1e-6)
        if not good.all():
            index = tuple(int(i) for i in np.argwhere(~good)[0])
            raise InputError(f"{name}{list(index)} is {value[index]}; expected a value in [0, 1]")
    observed[:, 0], observed[:, 1:] = rewards, utilities.T
    return observed


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


def flatten(state: Any) -> dict[str, Numbers]:
    """The arrays of a (nested) NamedTuple by dotted name; numbers fixed at construction are left out.

    An array that stands in several places has the shortest of its names. What the learner was only given, such as the world of
    a simulator, says so by a method ``given``, and is left out too.
    """
    found: dict[str, Numbers] = {}
    level = [("", state)]
    while level:
        entries = [(prefix + key, value) for prefix, one in level for key, value in one._asdict().items()]
        for name, value in entries:
            if isinstance(value, np.ndarray) and all(value is not other for other in found.values()):
                found[name] = value
        level = [(f"{name}.", value) for name, value in entries if hasattr(value, "_asdict") and not hasattr(value, "given")]
    return found


def check_numbers(state: Any, given: dict[str, Numbers], prefix: str = "", begun: Mapping[str, Numbers] | None = None) -> None:
    """Refuse entries of a state that would send the kernels out of their tables, or poison all that follows.

    A NamedTuple within the state may have a method ``limits``: for fields that are used as indices, the least and the largest
    number that may stand there.

    Args:
        state: the learner's own, which says what is allowed.
        given: entries by dotted name, of the right shapes.
        prefix: where ``state`` is within the learner's state.
        begun: entries of a learner that begins. Some hold a number that stands for infinity, which may stay.
    """
    limits = state.limits() if hasattr(state, "limits") else {}
    for key, value in state._asdict().items():
        name = prefix + key
        if hasattr(value, "given"):
            continue
        if hasattr(value, "_asdict"):
            check_numbers(value, given, f"{name}.", begun)
        elif name in given and given[name].size:
            array = np.asarray(given[name])
            if key in limits or array.dtype.kind == "f":
                most = max(LARGEST, float(np.abs(begun[name]).max())) if begun and name in begun else LARGEST
                check_range(f"state[{name!r}]", array, limits.get(key, (-most, most)))
