r"""Maps whose bound is proven: one-hot, table, tile coding, Fourier.

- :class:`OneHot`: ψ(x) = e_x on states 0..S-1; norm 1.
- :class:`Table`: any table φ (S,A,d) with norms at most 1.
- :class:`TileCoding`: T shifted grids over a box. ψ is 1 at the tile of each grid that holds x: T ones, so the norm is √T.
- :class:`Fourier`: ψ_c(x) = cos(π c·z) for all c in {0..n}^D, with z ∈ [0,1]^D the place of x in its box (Konidaris, Osentoski,
  Thomas, AAAI 2011); each of the p entries is at most 1, so the norm is at most √p.

States outside a box count as the nearest point of it.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError
from noregret.features.base import FeatureMap, show
from noregret.problems.checks import integer
from noregret.problems.validation import Array, check_features, first


class OneHot(FeatureMap):
    """One-hot features of states 0..S-1 and actions. With this map the linear algorithm is the tabular one.

    >>> OneHot(n_states=3, n_actions=2)
    <OneHot, d=6 (e_a ⊗ ψ, ψ in R^3), norms at most 1 before scaling>
    """

    def __init__(self, n_states: int, n_actions: int) -> None:
        super().__init__(n_actions=n_actions, rows=1, width=integer("n_states", n_states, 1), bound=1.0)

    def _raw(self, states: NDArray[np.generic]) -> Array:
        x = _indices(states, self.width)
        out = np.zeros((len(x), 1, self.width))
        out[np.arange(len(x)), 0, x] = 1.0
        return out


class Table(FeatureMap):
    """A feature map that reads φ(x,a) from a table (S,A,d) with norms at most 1."""

    def __init__(self, phi: ArrayLike) -> None:
        shape = np.shape(phi)
        if len(shape) != 3:
            raise InputError(f"features has shape {shape}; expected (S, A, d)")
        self.table = check_features(phi, shape[0], shape[1])
        super().__init__(n_actions=shape[1], rows=shape[1], width=shape[2], bound=1.0)

    def _raw(self, states: NDArray[np.generic]) -> Array:
        return np.asarray(self.table[_indices(states, len(self.table))])


class _Box(FeatureMap):
    """A map of states in a box of R^D."""

    def __init__(self, low: ArrayLike, high: ArrayLike, *, n_actions: int, width: int, bound: float) -> None:
        self.low, self.high = box(low, high)
        super().__init__(n_actions=n_actions, rows=1, width=width, bound=bound)

    def _places(self, states: NDArray[np.generic]) -> Array:
        """Where in the box each state lies, in [0,1]^D."""
        try:
            x = np.asarray(states, dtype=np.float64).reshape(len(states), -1)
        except (TypeError, ValueError):
            raise InputError(f"state {show(states[0])} is not a vector of numbers") from None
        if x.shape[1] != len(self.low):
            raise InputError(f"state {show(states[0])} has {x.shape[1]} numbers; expected {len(self.low)}")
        if not np.isfinite(x).all():
            n, i = first(~np.isfinite(x))
            raise InputError(f"entry {i} of state {show(states[n])} is {x[n, i]}; expected a finite number")
        return np.clip((x - self.low) / (self.high - self.low), 0.0, 1.0)


class TileCoding(_Box):
    """T grids of n tiles a side, each shifted against the others; ψ is 1 in the tile of each grid that holds x.

    Args:
        low: (D,) lower corner of the box.
        high: (D,) upper corner.
        n_actions: A.
        tiles: n, tiles a side of a grid.
        tilings: T, how many grids; grid t is shifted by the share (2i+1)·t/T mod 1 of a tile along axis i.

    >>> TileCoding(low=[0.0], high=[1.0], n_actions=2, tiles=2, tilings=1).encode([[0.1], [0.9]]).tolist()
    [[[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]]
    """

    def __init__(self, low: ArrayLike, high: ArrayLike, *, n_actions: int, tiles: int = 8, tilings: int = 8) -> None:
        self.tiles, self.tilings = integer("tiles", tiles, 1), integer("tilings", tilings, 1)
        D = np.size(low)
        super().__init__(low, high, n_actions=n_actions, width=tilings * (tiles + 1) ** D, bound=math.sqrt(tilings))
        self.shift = np.arange(tilings)[:, None] * (2 * np.arange(D) + 1) / tilings % 1.0  # (T,D)

    def _raw(self, states: NDArray[np.generic]) -> Array:
        z = self._places(states)
        tile = np.minimum((z[:, None] * self.tiles + self.shift).astype(np.int64), self.tiles)  # (n,T,D)
        grids = (self.tilings, *[self.tiles + 1] * tile.shape[2])
        index = np.ravel_multi_index((np.arange(self.tilings), *np.moveaxis(tile, 2, 0)), grids)
        out = np.zeros((len(z), 1, self.width))
        out[np.arange(len(z))[:, None], 0, index] = 1.0
        return out


class Fourier(_Box):
    """Cosine features of the place z of a state in its box: ψ_c(x) = cos(π c·z) for all c in {0..order}^D.

    Args:
        low: (D,) lower corner of the box.
        high: (D,) upper corner.
        n_actions: A.
        order: the highest frequency of each axis; there are (order+1)^D features.

    >>> Fourier(low=[0.0], high=[2.0], n_actions=2, order=1).encode([[0.0], [2.0]]).round(3).tolist()
    [[[0.707, 0.707]], [[0.707, -0.707]]]
    """

    def __init__(self, low: ArrayLike, high: ArrayLike, *, n_actions: int, order: int = 3) -> None:
        self.order = integer("order", order, 0)
        waves = np.array(list(itertools.product(range(self.order + 1), repeat=np.size(low))), dtype=np.float64)
        self.waves = np.pi * waves  # (p,D)
        super().__init__(low, high, n_actions=n_actions, width=len(waves), bound=math.sqrt(len(waves)))

    def _raw(self, states: NDArray[np.generic]) -> Array:
        return np.asarray(np.cos(self._places(states) @ self.waves.T)[:, None])


def box(low: ArrayLike, high: ArrayLike) -> tuple[Array, Array]:
    """Check the corners of a box, and return them as vectors.

    Raises:
        InputError: the corners have different lengths, or ``low`` is not below ``high`` along some axis.
    """
    a, b = (np.atleast_1d(np.asarray(v, dtype=np.float64)).ravel() for v in (low, high))
    if a.shape != b.shape or not len(a):
        raise InputError(f"low and high have {len(a)} and {len(b)} numbers; expected the same, at least 1")
    bad = ~(np.isfinite(a) & np.isfinite(b) & (a < b))
    if bad.any():
        i = int(np.argmax(bad))
        raise InputError(f"axis {i} of the box goes from {a[i]:g} to {b[i]:g}; expected finite numbers, low below high")
    return a, b


def _indices(states: NDArray[np.generic], S: int) -> NDArray[np.int64]:
    table = states.reshape(len(states), -1)
    if table.shape[1] != 1 or not np.issubdtype(table.dtype, np.integer):
        raise InputError(f"state {show(states[0])} of type {states.dtype}; expected an integer 0..{S - 1}")
    x = table[:, 0].astype(np.int64)
    bad = (x < 0) | (x >= S)
    if bad.any():
        raise InputError(f"state {show(states[int(np.argmax(bad))])} is outside the table; expected 0..{S - 1}")
    return x
