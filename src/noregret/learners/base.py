"""What every learner is to the outside: ``plan`` a policy, ``observe`` an episode.

A learner sees a :class:`~noregret.problems.base.Spec` and episodes, nothing else. Its numbers live in ``_state``, a
NamedTuple of arrays that the compiled loop works on; this class is the same learner for code that holds it in hand.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret._system.arrays import check_arrays
from noregret.errors import InputError, unknown_name
from noregret.kernels.compiler.dispatch import run_plan, run_update
from noregret.kernels.compiler.guests import is_guest, uniforms_of
from noregret.learners.arrays import Numbers, check_numbers, check_observed, flatten, integers, numbers
from noregret.learners.presets import Constants, Resolved, Word, declared_share
from noregret.problems.base import Array, Spec
from noregret.problems.continuous import ContinuousSpec, Encoder
from noregret.theory import Promise

#: φ as a user gives it: a table (S,A,d), a map where states are vectors, or None for the problem's own.
GivenFeatures = ArrayLike | Encoder | None

#: What a learner may know of a problem, of either kind.
SomeSpec = Spec | ContinuousSpec


@dataclass(frozen=True)
class EpisodePlan:
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
        return f"<EpisodePlan: policy {self.policy.shape}, estimates {', '.join(estimates) or 'none'}>"


class Learner(ABC):
    """Base of the compiled learners. A subclass sets ``name`` and ``table``, and makes its state in ``begin``.

    ``parameters`` are the names of the table's constants and of ``things``; it refuses others. ``constants`` says which numbers
    are in use, ``explain`` where each comes from.

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
    #: Every constant of the learner: a row each, a column for each preset (:mod:`noregret.learners.presets`).
    table: ClassVar[Constants] = Constants()
    presets: ClassVar[tuple[str, ...]] = table.presets
    parameters: ClassVar[tuple[str, ...]] = ()
    several: ClassVar[bool] = True  # whether it takes several constraints; if not, it refuses them
    #: The orders of regret and violation that its theorem promises; None for a policy that does not learn.
    promise: ClassVar[tuple[str, str] | None] = ("-", "-")
    sharing: ClassVar[tuple[str, ...]] = ()  # what its steps may learn together beside "nothing"
    tables_only: ClassVar[bool] = True  # whether it refuses features other than one-hot
    stepwise: ClassVar[bool] = False  # whether it needs a problem with a limit on every step; it refuses others
    things: ClassVar[tuple[str, ...]] = ()  # what it takes beside constants, by name: "safe_policy", "rounding", "simulator"
    told: ClassVar[tuple[str, ...]] = ()  # what it must be given beyond the spec: names in runs/prepare.py, "safe_policy"
    #: Where its formulas are from: "paper" (its own text), "code" (its authors'), "notes" (what others wrote of it), "memory".
    source: ClassVar[str] = ""
    recalled: ClassVar[str] = ""  # the constants that this source does not have, in words: they are from memory
    takes: ClassVar[type] = Spec  # the kind of spec that it works on
    vectors: ClassVar[type[Learner] | None] = None  # the same learner for a ContinuousSpec, where there is one

    spec: Spec
    phi: Array | None = None  # the features (S,A,d) that it works with; None for one-hot and for tables
    features: GivenFeatures  # φ as it was given; None for the problem's own
    handed: dict[str, Any]  # what it was given beside constants, by the names in ``things``
    episodes: int
    preset: str
    constants: dict[str, Any]
    explain: dict[str, str]
    _state: Any
    _arguments: dict[str, Any]  # what :meth:`resolve` was called with, beside the spec and the number of episodes
    _planned: bool = False

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            raise InputError(
                f"learner {cls.__name__} has an __init__ of its own; expected a table of its constants, and begin, which makes "
                "the state before the first episode"
            )
        cls.presets = cls.table.presets
        cls.parameters = (*cls.table.rows, *cls.things)
        cls.sharing = tuple(getattr(cls.table.rows.get("share"), "words", ())[2:])

    def __init__(
        self,
        spec: SomeSpec,
        *,
        episodes: int,
        preset: str = "practical",
        features: GivenFeatures = None,
        slater_gap: float | None = None,
        **params: object,
    ) -> None:
        if spec.n_constraints > 1 and not self.several:
            from noregret.learners.registry import fitting

            raise InputError(
                f"the problem has {spec.n_constraints} constraints; {self.name} is stated for 1, as its paper has it; expected "
                f"one that takes several, such as {fitting('several constraints')}"
            )
        self.spec, self.episodes, self.preset, self.constants, self.explain = cast(Spec, spec), episodes, preset, {}, {}
        self.features, self.handed = features, {name: params.pop(name) for name in self.things if name in params}
        self._arguments = {"preset": preset, "features": features, "slater_gap": slater_gap, "params": params}
        c = self.resolved(episodes)
        self.constants, self.explain = dict(c.values), dict(c.why)
        self._state = self.begin(c)

    def resolved(self, episodes: int, **other: Any) -> Resolved:
        """The constants that this learner would have for another number of episodes.

        Args:
            episodes: K.
            other: arguments of :meth:`resolve` that are other ones too.
        """
        return self.resolve(self.spec, episodes=episodes, **self._arguments | other)

    @abstractmethod
    def begin(self, c: Resolved) -> Any:
        """Make the state before the first episode; ``c`` has the constants in force, ``c.beta`` and so on."""

    @classmethod
    def resolve(
        cls,
        spec: SomeSpec,
        *,
        episodes: int,
        preset: str,
        features: GivenFeatures,
        slater_gap: float | None,
        params: Mapping[str, object],
    ) -> Resolved:
        """The constants that a learner with these arguments works with, and the reason for each; makes no learner.

        Args:
            spec: what is known of the problem.
            episodes: K.
            preset: which column of the table gives constants that are not in ``params``.
            features: φ as given; None for the problem's own.
            slater_gap: γ, or None where it is unknown.
            params: what the user gave, by name, without ``things``.

        Raises:
            InputError: a name is unknown, or a value is not what it must be.
        """
        table, asked = cls.table, dict(params)
        share, why = cls.shared(preset, asked, getattr(spec, "share", "nothing"))
        if "share" in table:
            asked["share"] = share
        column = cls.column(spec, preset, asked, features)
        c = table.resolve(cls.name, preset, asked, cls.sizes(spec, episodes, features), slater_gap, column)
        return Resolved(c.values, c.why | ({"share": why} if "share" in table else {}), c.formulas)

    @classmethod
    def named(cls, c: Resolved) -> dict[str, object]:
        """What names a run with these constants: each constant, or its formula where the run computes it anew on the way."""
        return dict(c.values)

    @classmethod
    def column(cls, spec: SomeSpec, preset: str, params: Mapping[str, object], features: GivenFeatures) -> str:
        """The column of the table that a preset reads; some presets have one more, for problems of another kind.

        Args:
            spec: what is known of the problem.
            preset: as the user named it.
            params: what the user gave; ``share`` says what the steps learn together.
            features: φ as given.
        """
        return preset

    @classmethod
    def sizes(cls, spec: SomeSpec, episodes: int, features: GivenFeatures) -> dict[str, float]:
        """The numbers that formulas of the table may name.

        Args:
            spec: what is known of the problem.
            episodes: K.
            features: φ as given.
        """
        known = cast(Spec, spec)
        H, S, A, m = known.horizon, known.n_states, known.n_actions, known.n_constraints
        return {"H": H, "S": S, "A": A, "d": S * A, "m": m, "K": episodes}

    @classmethod
    def shared(cls, preset: str, params: Mapping[str, object], declared: str) -> tuple[str, str]:
        """What the steps learn together, and why: what was given, else what the preset has, and for "auto" what is declared.

        Args:
            preset: where the constants come from.
            params: what the user gave.
            declared: what the problem says does not change with the step.
        """
        if "share" not in cls.table:
            return "nothing", "every step learns alone"
        if preset not in cls.presets:
            raise unknown_name(f"preset of {cls.name}", preset, cls.presets)
        row = cast(Word, cls.table.rows["share"])
        asked, why = (params["share"], "given") if params.get("share") is not None else row.entry(preset, cls.table.like)
        if row.checked(asked) == "auto":
            return declared_share(row.words, declared)
        return str(asked), why

    def plan(self, uniforms: ArrayLike | None = None) -> EpisodePlan:
        """The policy of the next episode; asking twice changes nothing.

        ``uniforms`` are the random numbers in [0, 1) of a learner that draws, as many as its state's field of that name has.
        """
        self._draw(uniforms)
        self._ensure_planned()
        return EpisodePlan(policy=self._state.policy.copy(), **self._estimates())

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
        mine = flatten(self._state)
        check_arrays(mine, state, lambda key: None, "state")
        if not is_guest(type(self._state).__module__):
            check_numbers(self._state, state, mine)
        for key, array in mine.items():
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
            drawn = numbers("uniforms", [] if uniforms is None else uniforms)
            if drawn.shape != (wanted,) or not ((drawn >= 0.0) & (drawn < 1.0)).all():
                raise InputError(f"uniforms has shape {drawn.shape}; {self.name} plans with {wanted} random numbers in [0, 1)")
            self._state.uniforms[:] = drawn

    def _ensure_planned(self) -> None:
        if not self._planned:
            run_plan(self._state)
            self._planned = True

    def _estimates(self) -> dict[str, Array]:
        """Q_r, Q_g, V_r, V_g for :class:`EpisodePlan`, where the state or its tables have Q (H,J,S,A) and V (H+1,J,S)."""
        tables = getattr(self._state, "tables", self._state)
        if not (hasattr(tables, "Q") and hasattr(tables, "V")):  # a guest may use one of the names for something else
            return {}
        Q, V, last = tables.Q, tables.V, 1 + self.spec.n_constraints
        estimates = {"Q_r": Q[:, 0].copy(), "V_r": V[:, 0].copy()}
        if Q.shape[1] > 1:
            estimates |= {"Q_g": np.moveaxis(Q[:, 1:last], 1, 0).copy(), "V_g": np.moveaxis(V[:, 1:last], 1, 0).copy()}
        return estimates

    def _checked(
        self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
        spec = self.spec
        H, m = spec.horizon, spec.n_constraints
        x, a = integers("states", states, H + 1, spec.n_states), integers("actions", actions, H, spec.n_actions)
        allowed = spec.available[np.arange(H), x[:H], a]
        if not allowed.all():
            h = int(np.argmin(allowed))
            raise InputError(f"actions[{h}] is {a[h]}; it is not available in state {x[h]} at step {h}")
        g, r = numbers("utilities", utilities), numbers("rewards", rewards)
        observed = check_observed(r, g[None] if g.ndim == 1 else g, H, m, spec.bounded)
        return x, a, observed
