r"""The world: a finite-horizon constrained Markov decision process on finitely many states.

An episode has H steps. At step h in state x the agent takes an action a that is available there, receives a
reward and m utilities, and moves to x' ~ P_h(.|x,a). It wants

.. math::  \max_\pi V_r^\pi \quad\text{subject to}\quad V_{g_i}^\pi \ge b_i,\; i = 1..m,

with values taken from the start state (or distribution) mu. Rewards and utilities lie in [0,1]. *Thresholds* b are what the
utilities are held to. A *limit* is what a user states about a cost c in [0,1], V_c <= limit: it is the utility g = 1 - c with
threshold H - limit; :class:`Constraint` does that and nothing else does. Steps, states, actions and constraints count from 0.

A problem may have a *step limit* τ too: at every step and in every state, the expected cost of the action drawn,
Σ_a π_h(a|x) (1 − g_h(x,a)), is at most τ. In each state an action is known that costs less. With b ≤ H(1−τ), which is required,
policies that keep the limit meet the threshold. Learners that do not know of such limits hold the total to b alone.

A learner is given :attr:`TabularCMDP.spec`: horizon, sizes, thresholds, start, features, masks, and of a step limit the safe
actions with their costs; never P, r or g.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError
from noregret.problems import noise as noises
from noregret.problems import validation
from noregret.problems.noise import Noise as Noise
from noregret.problems.validation import TOLERANCE as TOLERANCE
from noregret.problems.validation import Array as Array
from noregret.problems.validation import Mask as Mask
from noregret.problems.validation import Sense as Sense
from noregret.problems.validation import Share as Share
from noregret.problems.validation import check_features as check_features

_AT_LEAST: Sense = ">="


@dataclass(frozen=True)
class Constraint:
    """One long-run constraint: the expected total of ``values`` is at least (or at most) ``limit``.

    Args:
        values: (H,S,A), or (H,S,A,S) when they depend on the next state, with entries in [0,1].
        limit: what the expected total over an episode is held to.
        sense: ">=" for utilities, "<=" for costs.
        name: how the constraint is called in tables and messages.

    >>> Constraint(values=[[[0.0, 1.0]]], limit=0.3, sense="<=", name="falls").threshold(horizon=1)
    0.7
    """

    values: ArrayLike
    limit: float
    sense: Sense = ">="
    name: str = "utility"

    def __post_init__(self) -> None:
        if self.sense not in (">=", "<="):
            raise InputError(f"sense of constraint {self.name!r} is {self.sense!r}; expected '>=' or '<='")
        if isinstance(self.limit, bool) or not isinstance(self.limit, int | float | np.number) or not np.isfinite(self.limit):
            raise InputError(f"limit of constraint {self.name!r} is {self.limit!r}; expected a finite number")

    def utility(self) -> Array:
        """Compute the utility g: the values themselves, or 1 - cost for a limit from above."""
        values = validation.floats(f"constraint {self.name!r}", self.values)
        return values if self.sense == ">=" else 1.0 - values

    def threshold(self, horizon: int) -> float:
        """Compute the threshold b of the utility: the limit itself, or H - limit for a limit from above."""
        return to_threshold(self.limit, self.sense, horizon)


def to_threshold(limit: float, sense: Sense, horizon: int) -> float:
    """Turn a limit on an expected total into the threshold b of its utility, or back (the map is its own inverse).

    Args:
        limit: what was stated, or the threshold.
        sense: ">=" for a utility, "<=" for a cost.
        horizon: H.
    """
    return float(limit) if sense == ">=" else float(horizon - limit)


@dataclass(frozen=True)
class StepLimit:
    """A limit on the expected cost 1 - g of every step, and the action known to be safe in each state.

    Args:
        limit: τ, at most which the cost may be.
        actions: (H,S) the safe actions.
        costs: (H,S) what they cost, each below τ.
    """

    limit: float
    actions: NDArray[np.int64]
    costs: Array


@dataclass(frozen=True)
class Spec:
    """What a learner may see of a problem.

    Args:
        horizon: H.
        n_states: S.
        n_actions: A.
        thresholds: (m,) b.
        start: (S,) the distribution of the first state (the paper's x_1 is known to the agent).
        available: (H,S,A) which actions exist.
        features: the table φ (S,A,d), or None for one-hot.
        constraint_names: one name per constraint.
        share: what does not change with the step, so that steps may learn it together: "nothing", "transitions" or "all".
        step: the limit on the cost of every step, with the safe actions; None where there is no such limit.
        bounded: whether rewards and utilities that are seen lie in [0,1]; else only their means do.
    """

    horizon: int
    n_states: int
    n_actions: int
    thresholds: Array
    start: Array
    available: Mask
    features: Array | None = None
    constraint_names: tuple[str, ...] = ()
    share: Share = "nothing"
    step: StepLimit | None = None
    bounded: bool = True

    @property
    def n_constraints(self) -> int:
        """m, the number of constraints."""
        return len(self.thresholds)

    @property
    def dimension(self) -> int:
        """d, the dimension of φ (S·A for one-hot features)."""
        return self.n_states * self.n_actions if self.features is None else int(self.features.shape[2])

    def __repr__(self) -> str:
        """A one-line summary."""
        d = "" if self.features is None else f" d={self.dimension}"
        b, step = np.round(self.thresholds, 6).tolist(), "" if self.step is None else f" step limit={self.step.limit:g}"
        return f"<Spec: H={self.horizon} S={self.n_states} A={self.n_actions}{d} m={self.n_constraints} b={b}{step}>"


class Further(TypedDict, total=False):
    """The arguments of :class:`TabularCMDP` that its constraints do not decide."""

    features: ArrayLike | None
    available: ArrayLike | None
    noise: Noise | None
    noise_scale: float
    noisy: ArrayLike | None
    name: str
    share: Share
    step_limit: float | None
    safe_actions: ArrayLike | None


class TabularCMDP:
    """A constrained Markov decision process on finite states, validated and read-only.

    Args:
        P: (H,S,A,S) transition probabilities.
        r: (H,S,A) rewards, or (H,S,A,S) when they depend on the next state.
        g: (m,H,S,A) utilities, or (H,S,A) for one, or (m,H,S,A,S) when they depend on the next state.
        b: (m,) thresholds, or a number for one utility.
        mu: (S,) start distribution, or the start state.
        features: φ (S,A,d) with norms at most 1; None for one-hot.
        available: (H,S,A) or (S,A) action mask; None when every action is available everywhere.
        noise: None, "bernoulli", "gaussian" or "clipped" (:mod:`noregret.problems.noise`): what the agent sees of rewards and
            utilities is random, with the given means; the oracle uses the means.
        noise_scale: σ of the last two.
        noisy: (H,S,A) or (S,A) which pairs vary; None for all.
        name: how the problem is called in tables.
        constraint_names: one name per constraint.
        senses: how each constraint was stated; a "<=" one was turned into a utility by :class:`Constraint`.
        share: what does not change with the step, so that learners may learn it at all steps together: "nothing", the
            "transitions" P, or "all" of P, r and g. It is checked against the arrays, and never found from them: what a learner
            is told is stated.
        step_limit: the most that the expected cost 1 - g of a step may be, in every state; None for no such limit. It needs one
            utility, ``safe_actions``, and b at most H(1 - step_limit).
        safe_actions: (S,) or (H,S) an action that costs less than ``step_limit`` in each state; it is told to learners.

    All arguments are kept as attributes. After construction ``r`` (H,S,A) and ``g`` (m,H,S,A) are means. The attributes
    ``r_next`` and ``g_next`` keep the tables by next state, or None.

    Raises:
        InputError: an array has a wrong shape or entry; the message names the first.

    One state, two actions and two steps: action 1 pays less and brings the utility.

    >>> import numpy as np
    >>> P, r = np.ones((2, 1, 2, 1)), np.array([[[1.0, 0.5]]] * 2)
    >>> TabularCMDP(P, r, g=[[[0.0, 1.0]]] * 2, b=0.5, mu=0, name="choice")
    <TabularCMDP 'choice': H=2 S=1 A=2 m=1 b=[0.5]>
    """

    kind = "finitely many states"

    def __init__(
        self,
        P: ArrayLike,
        r: ArrayLike,
        g: ArrayLike,
        b: ArrayLike,
        mu: ArrayLike,
        *,
        features: ArrayLike | None = None,
        available: ArrayLike | None = None,
        noise: Noise | None = None,
        noise_scale: float = noises.SCALE,
        noisy: ArrayLike | None = None,
        name: str = "cmdp",
        constraint_names: Sequence[str] = (),
        senses: Sequence[Sense] = (),
        share: Share = "nothing",
        step_limit: float | None = None,
        safe_actions: ArrayLike | None = None,
    ) -> None:
        P_ = validation.kernel(P)
        H, S, A, _ = P_.shape
        self.available = mask = validation.action_mask(available, (H, S, A))
        self.P = validation.transitions(P_, mask)
        self.r, self.r_next = validation.values("r", r, P_, mask)
        self.g, self.g_next = validation.utilities(g, P_, mask, senses)
        m = len(self.g)
        self.b = np.atleast_1d(validation.floats("b", b))
        if self.b.shape != (m,):
            raise InputError(f"b has shape {self.b.shape}; expected ({m},), one threshold for each utility")
        self.noise, self.noise_scale = noises.check_noise(noise, noise_scale)
        self.noisy, self.name = noises.check_noisy(noisy, (H, S, A)), name
        self.constraint_names = validation.constraint_names(constraint_names, m)
        self.senses = tuple(senses or [_AT_LEAST] * m)
        if len(self.senses) != m:
            raise InputError(f"senses has {len(self.senses)} entries; expected {m}, one for each utility")
        for sense in self.senses:
            if sense not in (">=", "<="):
                raise InputError(f"senses contains {sense!r}; expected '>=' or '<='")
        self.mu = validation.distribution(mu, S)
        self.features = None if features is None else check_features(features, S, A)
        self.share: Share = share
        self.step_limit, self.safe_actions = validation.step_limit(step_limit, safe_actions, self)
        validation.same_steps(self)
        validation.read_only(self)

    @classmethod
    def with_constraints(
        cls, P: ArrayLike, r: ArrayLike, constraints: Sequence[Constraint], mu: ArrayLike, **options: Unpack[Further]
    ) -> TabularCMDP:
        """Build a problem from :class:`Constraint` objects of either sense.

        Args:
            P: (H,S,A,S) transition probabilities.
            r: (H,S,A) rewards, or (H,S,A,S) when they depend on the next state.
            constraints: at least one.
            mu: (S,) start distribution, or the start state.
            options: the further arguments of the class.

        Raises:
            InputError: there is no constraint, or an array has a wrong shape or entry.
        """
        if not constraints:
            raise InputError("constraints is empty; expected at least one Constraint")
        for i, c in enumerate(constraints):
            if not isinstance(c, Constraint):
                raise InputError(f"constraints[{i}] is a {type(c).__name__}; expected a Constraint")
        P = validation.kernel(P)
        H, S = P.shape[:2]
        tables = [c.utility() for c in constraints]
        if len({t.ndim for t in tables}) > 1:  # some depend on the next state: then all are given by next state
            tables = [np.repeat(t[..., None], S, axis=-1) if t.ndim == 3 else t for t in tables]
        shapes = {t.shape for t in tables}
        if len(shapes) > 1:
            raise InputError(f"constraints have values of shapes {sorted(shapes)}; expected one shape")
        return cls(
            P,
            r,
            np.stack(tables),
            [c.threshold(H) for c in constraints],
            mu,
            constraint_names=[c.name for c in constraints],
            senses=[c.sense for c in constraints],
            **options,
        )

    @property
    def horizon(self) -> int:
        """H, the number of steps of an episode."""
        return int(self.P.shape[0])

    @property
    def n_states(self) -> int:
        """S, the number of states."""
        return int(self.P.shape[1])

    @property
    def n_actions(self) -> int:
        """A, the number of actions."""
        return int(self.P.shape[2])

    @property
    def n_constraints(self) -> int:
        """m, the number of constraints."""
        return int(self.g.shape[0])

    @property
    def spec(self) -> Spec:
        """What a learner may see."""
        return Spec(
            horizon=self.horizon,
            n_states=self.n_states,
            n_actions=self.n_actions,
            thresholds=self.b,
            start=self.mu,
            available=self.available,
            features=self.features,
            constraint_names=self.constraint_names,
            share=self.share,
            step=self._step(),
            bounded=self.noise != "gaussian",
        )

    def _step(self) -> StepLimit | None:
        if self.step_limit is None or self.safe_actions is None:
            return None
        costs = 1.0 - np.take_along_axis(self.g[0], self.safe_actions[..., None], axis=2)[..., 0]
        costs.setflags(write=False)
        return StepLimit(self.step_limit, self.safe_actions, costs)

    def limits(self) -> Array:
        """Give the thresholds as they were stated: limits on costs for constraints of sense "<="."""
        return np.array([to_threshold(b, s, self.horizon) for b, s in zip(self.b, self.senses, strict=True)])

    def replace(self, **changes: object) -> TabularCMDP:
        """Make the same problem with some constructor arguments changed."""
        kept = ("P", "b", "mu", "features", "available", "name", "constraint_names", "senses", "share", "step_limit")
        arguments: dict[str, Any] = {
            key: getattr(self, key) for key in (*kept, "safe_actions", "noise", "noise_scale", "noisy")
        }
        arguments["r"] = self.r if self.r_next is None else self.r_next
        arguments["g"] = self.g if self.g_next is None else self.g_next
        return TabularCMDP(**(arguments | changes))

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<TabularCMDP {self.name!r}:{repr(self.spec).removeprefix('<Spec:')}"
