"""What a learner of states that are vectors is to the outside, whatever its algorithm: encode, plan, observe, grow."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError
from noregret.features import OneHot
from noregret.kernels.gram.stream import Fit, act
from noregret.learners.arrays import check_observed
from noregret.learners.base import GivenFeatures, Learner, SomeSpec
from noregret.problems.base import Array
from noregret.problems.continuous import ContinuousSpec, Encoder


@dataclass(frozen=True)
class ContinuousPlan:
    """A policy on all states: l. 14 with w, Λ⁻¹ and Y held fixed. Steps may share Λ⁻¹, which then begins with an axis of 1."""

    features: Encoder
    w: Array  # (H,J,B,p)
    inverse: Array  # (H,B,p,p)
    Y: Array
    bonus: Array  # (H,J)
    noise: Array  # (H,2,J) of the bonus for what a step pays
    alpha: float
    floor: float
    cap: Array

    def probabilities(self, step: int, states: ArrayLike) -> Array:
        """π_step(·|x) for each of n states, (n,A)."""
        return self.at(step, self.features.encode(states))[0]

    def values(self, step: int, states: ArrayLike) -> tuple[Array, Array]:
        """Q_j (J,n,A) and V_j (J,n) at n states, the reward first."""
        return self.at(step, self.features.encode(states))[1:]

    def inverse_of(self, step: int) -> Array:
        """Λ⁻¹ of a step, (B,p,p)."""
        return np.asarray(self.inverse[min(step, len(self.inverse) - 1)])

    def chances(self, step: int, rows: Array) -> Array:
        """π_step (n,A) at states whose features are encoded already."""
        return self.at(step, rows)[0]

    def at(self, step: int, rows: Array) -> tuple[Array, Array, Array]:
        """π (n,A), Q (J,n,A) and V (J,n) of states whose features are encoded already, (n,R,p)."""
        bounds = self.floor, float(self.cap[step])
        fit = Fit(self.inverse_of(step), self.w[step], self.bonus[step], self.noise[step], *bounds, self.features.n_actions)
        policy, Q, V = act(rows, fit, self.Y, self.alpha)
        return policy, Q, V


def with_features(spec: ContinuousSpec, features: GivenFeatures) -> ContinuousSpec:
    """The spec with other features; None for its own."""
    return spec if features is None else replace(spec, features=cast(Encoder, features))  # the spec checks it


class ContinuousLearner(Learner):
    """Base of learners whose states are vectors. A subclass makes plans in ``current`` and learns in ``observe_rows``.

    ``map`` is the feature map in use, ``lam`` the ridge λ.
    """

    takes: ClassVar[type] = ContinuousSpec

    spec: ContinuousSpec  # type: ignore[assignment]
    map: Any  # an Encoder, mostly a FeatureMap
    lam: float
    cap: Array  # (H,) the most that Q can be
    shares: bool = False  # whether all steps have one regression

    @classmethod
    def sizes(cls, spec: SomeSpec, episodes: int, features: GivenFeatures) -> dict[str, float]:
        """The numbers that formulas may name; states have no number, so there is no S.

        Args:
            spec: what is known of the problem.
            episodes: K.
            features: φ as given.
        """
        known = with_features(cast(ContinuousSpec, spec), features)
        H, A, d, m = known.horizon, known.n_actions, known.dimension, known.n_constraints
        return {"H": H, "A": A, "d": d, "m": m, "K": episodes, "one_hot": type(known.features) is OneHot}

    @property
    @abstractmethod
    def replans(self) -> int:
        """How many plans were made."""

    @property
    @abstractmethod
    def kept(self) -> NDArray[np.int64]:
        """How many distinct states are kept at each step."""

    @property
    def gram(self) -> Any:
        """The data, as it is: not a copy, not to be written to."""
        return self._state.gram

    @abstractmethod
    def current(self) -> ContinuousPlan:
        """The policy of the next episode, without copies: what it says changes with the next episode."""

    @abstractmethod
    def observe_rows(self, rows: Array, actions: NDArray[np.int64], observed: Array, terminated: bool | None = None) -> None:
        """:meth:`observe` with features encoded and observed (L,1+m) checked.

        Args:
            rows: (L+1,R,p) the encoded states of L steps and the one after them, which may be left out where it is not needed:
                after an end, and where steps share nothing. L = H, or less after an early end.
            actions: (L,) the actions taken.
            observed: (L,1+m) the reward and the utilities of each step.
            terminated: whether the world ended the episode; None: where L is less than H.
        """

    @abstractmethod
    def retune(self, K: int) -> None:
        """Use the constants of K episodes from now on, for a schedule without an end; the data stay."""

    @abstractmethod
    def memory_bound(self, states: int | None = None) -> int:
        """Bytes that a run of K episodes needs at most, or with at most ``states`` kept at each step."""

    def observe(
        self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike, terminated: bool | None = None
    ) -> None:
        """Learn from one episode played with the current plan.

        Args:
            states: (L+1, ...) states visited, the last one after the last action; L = H, or less after an early end.
            actions: (L,) actions taken.
            rewards: (L,) rewards received.
            utilities: (m,L) utilities received, or (L,) when there is one.
            terminated: whether the world ended the episode; None: where L is less than H.
        """
        a = self._checked_actions(actions)
        g = np.asarray(utilities, dtype=np.float64)
        r, g = np.asarray(rewards, dtype=np.float64), g[None] if g.ndim == 1 else g
        observed = check_observed(r, g, len(a), self.spec.n_constraints, self.spec.bounded)
        x = np.asarray(states)
        if len(x) != len(a) + 1:
            raise InputError(f"states has {len(x)} entries; expected {len(a) + 1}, one more than actions")
        after = self.shares and len(a) == self.spec.horizon and not terminated
        rows = np.stack([self.encode(h, x[h]) for h in range(len(a) + after)])
        self.observe_rows(rows, a, observed, terminated)

    def encode(self, step: int, state: ArrayLike) -> Array:
        """The features (R,p) of one state, or an error that names the step."""
        try:
            return np.asarray(self.map.encode(np.asarray(state)[None])[0])
        except InputError as error:
            raise InputError(f"step {step}: {error}") from None

    def _checked_actions(self, actions: ArrayLike) -> NDArray[np.int64]:
        spec, H = self.spec, self.spec.horizon
        a = np.asarray(actions)
        if a.ndim != 1 or not len(a) or not np.issubdtype(a.dtype, np.integer):
            raise InputError(f"actions has shape {a.shape} and type {a.dtype}; expected {H} integers")
        if len(a) > H:
            raise InputError(f"the episode has {len(a)} steps; expected at most the horizon {H}")
        if len(a) < H and spec.absorbing is None:
            raise InputError(f"the episode has {len(a)} steps; expected {H} (an early end needs the spec's absorbing values)")
        bad = (a < 0) | (a >= spec.n_actions)
        if bad.any():
            h = int(np.argmax(bad))
            raise InputError(f"actions[{h}] is {a[h]}; expected 0..{spec.n_actions - 1}")
        return a.astype(np.int64)
