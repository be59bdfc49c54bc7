r"""What a feature map is: φ(x,a) ∈ R^d of any state x, in one of two shapes.

- *joint*: φ(x,a) is any function of state and action. A state is kept as A rows of d numbers.
- *lifted*: φ(x,a) = e_a ⊗ ψ(x), a copy of ψ(x) ∈ R^p in the block of action a. A state is kept as one row of p numbers. The
  Gram matrix Λ falls into A blocks of p × p, so everything costs A times less than with a joint map of the same d = A·p.

Both shapes have R rows of p numbers for each state, and B blocks. Action a reads row min(a, R-1) and owns block min(a, B-1).
A joint map has (R,B) = (A,1), a lifted one (1,A). The regret bounds need ‖φ‖ ≤ 1. So all features are divided by one number, a
bound on their norm: proven for the map, or given by the user. Dividing each row by its own norm would make other functions of
them. Each answer of a map is checked: its shape, that its numbers are finite, and the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError, shown
from noregret.problems.checks import integer
from noregret.problems.validation import TOLERANCE, Array, first


class FeatureMap:
    """Base of all feature maps. A subclass defines ``_raw(states)`` (n, rows, width), before the division by ``bound``.

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

    def _raw(self, states: NDArray[np.generic]) -> Array:
        raise TypeError(f"{type(self).__name__} does not say what its features are: _raw(states) is missing")

    def encode(self, states: ArrayLike) -> Array:
        """Compute the rows that are kept of each of n states, divided by the bound.

        Args:
            states: n states, along the first axis.

        Returns:
            (n, rows, width).

        Raises:
            InputError: the map gave another shape, a number that is not finite, or a norm above its bound.
        """
        batch = np.asarray(states)
        raw = np.asarray(self._raw(batch), dtype=np.float64)
        if raw.shape != (len(batch), self.rows, self.width):
            raise InputError(f"features have shape {raw.shape}; expected {(len(batch), self.rows, self.width)}")
        scaled: Array = raw / self.bound
        squares = np.einsum("nrp,nrp->nr", scaled, scaled)
        if not (squares <= (1.0 + TOLERANCE) ** 2).all():  # also refuses what is not a number
            if not np.isfinite(raw).all():
                n, r, i = first(~np.isfinite(raw))
                raise InputError(f"feature {i} of state {show(batch[n])} is {raw[n, r, i]}; expected a finite number")
            n, r = first(squares > (1.0 + TOLERANCE) ** 2)
            raise InputError(
                f"features of state {show(batch[n])} have norm {self.bound * math.sqrt(squares[n, r]):.6g}; "
                f"expected at most the bound {self.bound:.6g}"
            )
        return scaled

    def phi(self, states: ArrayLike) -> Array:
        """Compute φ(x,a) of each of n states and all actions, (n, A, d).

        >>> import noregret as nr
        >>> nr.features.Fourier(low=[0.0], high=[1.0], n_actions=2, order=1).phi([[0.0]]).round(3).tolist()
        [[[0.707, 0.707, 0.0, 0.0], [0.0, 0.0, 0.707, 0.707]]]
        """
        kept = self.encode(states)
        if self.rows > 1:
            return kept
        out = np.zeros((len(kept), self.n_actions, self.n_actions, self.width))
        out[:, range(self.n_actions), range(self.n_actions)] = kept
        return out.reshape(len(kept), self.n_actions, self.dimension)

    def describe(self) -> str:
        """Say in one line what the map is, for tables and saved files."""
        kind = "joint" if self.blocks == 1 else f"e_a ⊗ ψ, ψ in R^{self.width}"
        return f"{type(self).__name__}, d={self.dimension} ({kind}), norms at most {self.bound:.6g} before scaling"

    def __repr__(self) -> str:
        """The line of :meth:`describe`."""
        return f"<{self.describe()}>"


class Joint(FeatureMap):
    """A feature map from a function of states that the user gives: φ(x,a) for all actions at once.

    Args:
        function: from a batch of states (n, ...) to features (n, A, d).
        n_actions: A.
        dimension: d.
        bound: an upper bound on ‖φ(x,a)‖.
    """

    def __init__(self, function: Callable[[object], ArrayLike], *, n_actions: int, dimension: int, bound: float | None = None):
        super().__init__(n_actions=n_actions, rows=n_actions, width=dimension, bound=given_bound("Joint", bound))
        self.function = function

    def _raw(self, states: NDArray[np.generic]) -> Array:
        return np.asarray(self.function(states), dtype=np.float64)


class Lifted(FeatureMap):
    """A feature map from a function ψ that the user gives, copied into the block of each action: φ(x,a) = e_a ⊗ ψ(x).

    Args:
        function: ψ, from a batch of states (n, ...) to (n, p).
        n_actions: A.
        width: p.
        bound: an upper bound on ‖ψ(x)‖.
    """

    def __init__(self, function: Callable[[object], ArrayLike], *, n_actions: int, width: int, bound: float | None = None):
        super().__init__(n_actions=n_actions, rows=1, width=width, bound=given_bound("Lifted", bound))
        self.function = function

    def _raw(self, states: NDArray[np.generic]) -> Array:
        psi = np.asarray(self.function(states), dtype=np.float64)
        if psi.ndim != 2:
            raise InputError(f"features have shape {psi.shape}; expected {(len(states), self.width)}")
        return psi[:, None]


def check_bound(bound: float) -> float:
    """Check that a bound on norms is a positive finite number, and return it."""
    try:
        if 0.0 < (value := float(bound)) < math.inf:
            return value
    except (TypeError, ValueError):
        pass
    raise InputError(f"bound is {bound!r}; expected a positive number")


def given_bound(what: str, bound: float | None) -> float:
    """Check the user's bound, which is needed: no bound is proven for a function of the user's."""
    if bound is None:
        raise InputError(
            f"{what} features need bound=: no bound on their norm is proven, and ‖φ‖ ≤ 1 is needed; expected a number"
        )
    return check_bound(bound)


def show(state: object) -> str:
    """Write a state for an error message, in one short line."""
    return shown(np.asarray(state).tolist())
