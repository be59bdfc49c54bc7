r"""What a feature map is: φ(x,a) ∈ R^d of any state x, in one of two shapes.

- *joint*: φ(x,a) is any function of state and action. A state is kept as A rows of d numbers.
- *lifted*: φ(x,a) = e_a ⊗ ψ(x), a copy of ψ(x) ∈ R^p in the block of action a. A state is kept as one row of p numbers, and
  Λ falls into A blocks of p × p, so everything costs A times less than with a joint map of the same d = A·p.

Both are R rows of p numbers a state and B blocks: action a reads row min(a, R-1) and owns block min(a, B-1), with (R,B) =
(A,1) or (1,A). The regret bounds need ‖φ‖ ≤ 1, so features are divided by one number, a bound on their norm that is proven for
the map or given by the user; never row by row, which would bend them. What a map returns is checked each time: shape, finite
numbers, and the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError, shown
from noregret.problems.base import TOLERANCE, Array
from noregret.problems.checks import integer


class FeatureMap:
    """Base of all feature maps. A subclass gives ``_raw(states)`` (n, rows, width), before the division by ``bound``.

    Args:
        n_actions: A.
        rows: 1 for a lifted map, A for a joint one.
        width: p, how many numbers in a row.
        bound: an upper bound on the norm of every row that ``_raw`` can return.
    """

    def __init__(self, *, n_actions: int, rows: int, width: int, bound: float) -> None:
        self.n_actions, self.width = integer("n_actions", n_actions, 1), integer("width", width, 1)
        self.rows, self.blocks = (1, self.n_actions) if rows == 1 else (self.n_actions, 1)
        self.bound = check_bound(bound)

    @property
    def dimension(self) -> int:
        """d, the dimension of φ."""
        return self.blocks * self.width

    def _raw(self, states: NDArray[Any]) -> Array:
        raise TypeError(f"{type(self).__name__} does not say what its features are: _raw(states) is missing")

    def encode(self, states: ArrayLike) -> Array:
        """The rows that are kept of each of n states, (n, rows, width), scaled; refused if they break the map's promise."""
        batch = np.asarray(states)
        raw = np.asarray(self._raw(batch), dtype=np.float64)
        if raw.shape != (len(batch), self.rows, self.width):
            raise InputError(f"features have shape {raw.shape}; expected {(len(batch), self.rows, self.width)}")
        scaled: Array = raw / self.bound
        squares = np.einsum("nrp,nrp->nr", scaled, scaled)
        if not (squares <= (1.0 + TOLERANCE) ** 2).all():  # also refuses what is not a number
            finite = np.isfinite(raw)
            if not finite.all():
                n, r, i = (int(j) for j in np.argwhere(~finite)[0])
                raise InputError(f"feature {i} of state {show(batch[n])} is {raw[n, r, i]}; expected a finite number")
            n, r = (int(j) for j in np.argwhere(squares > (1.0 + TOLERANCE) ** 2)[0])
            raise InputError(
                f"features of state {show(batch[n])} have norm {self.bound * math.sqrt(squares[n, r]):.6g}; "
                f"expected at most the bound {self.bound:.6g}"
            )
        return scaled

    def phi(self, states: ArrayLike) -> Array:
        """φ(x,a) of each of n states and all actions, (n, A, d)."""
        kept = self.encode(states)
        if self.rows > 1 or self.n_actions == 1:
            return kept
        out = np.zeros((len(kept), self.n_actions, self.n_actions, self.width))
        for a in range(self.n_actions):
            out[:, a, a] = kept[:, 0]
        return out.reshape(len(kept), self.n_actions, self.dimension)

    def describe(self) -> str:
        """One line for tables and saved files."""
        kind = "joint" if self.blocks == 1 else f"e_a ⊗ ψ, ψ in R^{self.width}"
        return f"{type(self).__name__}, d={self.dimension} ({kind}), norms at most {self.bound:.6g} before scaling"

    def __repr__(self) -> str:
        """The line of :meth:`describe`."""
        return f"<{self.describe()}>"


class Joint(FeatureMap):
    """φ(x,a) from a function of a batch of states, (n, ...) ↦ (n, A, d), whose rows have norms at most ``bound``."""

    def __init__(self, function: Callable[[Any], ArrayLike], *, n_actions: int, dimension: int, bound: float | None = None):
        super().__init__(n_actions=n_actions, rows=n_actions, width=dimension, bound=given_bound("Joint", bound))
        self.function = function

    def _raw(self, states: NDArray[Any]) -> Array:
        return np.asarray(self.function(states), dtype=np.float64)


class Lifted(FeatureMap):
    """φ(x,a) = e_a ⊗ ψ(x) from a function of a batch of states, (n, ...) ↦ (n, p), with ‖ψ‖ at most ``bound``."""

    def __init__(self, function: Callable[[Any], ArrayLike], *, n_actions: int, width: int, bound: float | None = None):
        super().__init__(n_actions=n_actions, rows=1, width=width, bound=given_bound("Lifted", bound))
        self.function = function

    def _raw(self, states: NDArray[Any]) -> Array:
        psi = np.asarray(self.function(states), dtype=np.float64)
        if psi.ndim != 2:
            raise InputError(f"features have shape {psi.shape}; expected {(len(states), self.width)}")
        return psi[:, None]


def check_bound(bound: Any) -> float:
    """A bound on norms: a positive finite number."""
    try:
        value = float(bound)
    except (TypeError, ValueError):
        raise InputError(f"bound is {bound!r}; expected a positive number") from None
    if not (math.isfinite(value) and value > 0.0):
        raise InputError(f"bound is {bound!r}; expected a positive number")
    return value


def given_bound(what: str, bound: float | None) -> float:
    """The user's bound; there is no other for a function nobody has looked into."""
    if bound is None:
        raise InputError(
            f"{what} features need bound=: no bound on their norm is proven, and ‖φ‖ ≤ 1 is needed; expected a number"
        )
    return check_bound(bound)


def show(state: Any) -> str:
    """A state in an error message, in one short line."""
    return shown(np.asarray(state).tolist())
