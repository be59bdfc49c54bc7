r"""An exactly linear CMDP with infinitely many states: R^D, D = 1 or 2.

At step h component i has its own Gaussian distribution of the next state, its own reward and its own utilities, and the
features are weights on the components:

.. math::  P_h(\cdot|x,a) = \sum_i φ_i(x,a)\,N(m_{h,i}, s_{h,i}^2 I),\quad r_h = φ^\top θ_h,\quad g_{i,h} = φ^\top ω_{i,h},

with φ(x,a) on the simplex of R^d (so ‖φ‖ ≤ 1), θ and ω in [0,1]^d. Our φ are normalised bumps with centres of each action's
own,

.. math::  φ_i(x,a) ∝ \exp(-‖x - c_{a,i}‖² / 2ρ²).

All numbers are drawn from the seed: centres and means uniformly in [-1,1]^D, θ and ω uniformly; the start is the origin. The
threshold lies between what the highest reward gives and the largest utility, as in :mod:`noregret.problems.thresholds`. A value
function needs only the d integrals of the next one against the Gaussians; :mod:`noregret.problems.quadrature` has them.

With the defaults (D = 1): optimum 3.708893, dual 0.62, Slater gap 0.194682.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InputError
from noregret.problems import checks, validation
from noregret.problems import noise as noises
from noregret.problems.base import Array, Noise
from noregret.problems.continuous import ContinuousSpec
from noregret.problems.quadrature import CELLS, Quadrature
from noregret.problems.registry import register


class Bumps:
    """The problem's own feature map (see :mod:`noregret.features.base`): bumps around centres, normalised to sum to one.

    Args:
        centres: (A,d,D) a centre for each action and feature.
        width: ρ, how wide the bumps are.
    """

    bound = 1.0

    def __init__(self, centres: ArrayLike, width: float) -> None:
        c = np.array(centres, dtype=np.float64)
        if c.ndim != 3 or 0 in c.shape or not np.isfinite(c).all():
            raise InputError(f"centres has shape {c.shape}; expected (A, d, D) finite numbers")
        self.centres, self.rho = c, checks.positive("width", width)
        self.n_actions, self.dimension = c.shape[:2]
        self.rows, self.blocks, self.width = self.n_actions, 1, self.dimension
        self._c = c.reshape(-1, c.shape[2]) / self.rho
        self._half = 0.5 * (self._c**2).sum(axis=1)

    def encode(self, states: ArrayLike) -> Array:
        """Compute φ of each of n states in R^D and each action, (n, A, d)."""
        x = np.asarray(states, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != self.centres.shape[2]:
            raise InputError(f"states have shape {x.shape}; expected (n, {self.centres.shape[2]})")
        if not np.isfinite(x).all():
            n, i = validation.first(~np.isfinite(x))
            raise InputError(f"entry {i} of state {x[n].tolist()} is {x[n, i]}; expected a finite number")
        z = (x / self.rho) @ self._c.T - self._half  # up to a number that all components share
        z = z.reshape(len(x), self.n_actions, self.dimension)
        z = np.exp(z - z.max(axis=2, keepdims=True))
        return np.asarray(z / z.sum(axis=2, keepdims=True))

    phi = encode

    def describe(self) -> str:
        """Say in one line what the map is, for tables and saved files."""
        return f"Bumps, d={self.dimension} (joint), on the simplex"


class LinearCMDP:
    """A linear CMDP on R^D with Gaussian components, validated and read-only.

    Args:
        centres: (A,d,D) of the features' bumps.
        width: ρ, their width.
        means: (H,d,D) of the Gaussian of each component.
        scales: (H,d) their standard deviations, or a number for all.
        theta: (H,d) reward of each component.
        omega: (m,H,d) utilities, or (H,d) for one.
        b: (m,) thresholds, or a number for one utility.
        start: (D,) the first state, or a number in R^1.
        noise: None, "bernoulli", "gaussian" or "clipped" (:mod:`noregret.problems.noise`).
        noise_scale: σ of the last two.
        name: how the problem is called in tables.
        constraint_names: one name per constraint.
    """

    kind = "states in R^D"

    def __init__(
        self,
        centres: ArrayLike,
        width: float,
        means: ArrayLike,
        scales: ArrayLike,
        theta: ArrayLike,
        omega: ArrayLike,
        b: ArrayLike,
        start: ArrayLike,
        *,
        noise: Noise | None = None,
        noise_scale: float = noises.SCALE,
        name: str = "linear-cmdp",
        constraint_names: Sequence[str] = (),
    ) -> None:
        self.features = Bumps(centres, width)
        d, D = self.features.dimension, self.features.centres.shape[2]
        if D not in (1, 2):
            raise InputError(f"centres are points of R^{D}; expected R^1 or R^2")
        H = len(np.asarray(means))
        self.means = _numbers("means", means, (H, d, D))
        self.scales = _numbers("scales", np.full((H, d), scales) if np.ndim(scales) == 0 else scales, (H, d), low=1e-12)
        self.theta = _numbers("theta", theta, (H, d), low=0.0, high=1.0)
        omega = np.asarray(omega)[None] if np.ndim(omega) == 2 else omega
        self.omega = _numbers("omega", omega, (len(np.asarray(omega)), H, d), low=0.0, high=1.0)
        self.b = _numbers("b", np.atleast_1d(np.asarray(b, dtype=np.float64)), (len(self.omega),))
        self.start = _numbers("start", np.atleast_1d(np.asarray(start, dtype=np.float64)), (D,))
        self.noise, self.noise_scale = noises.check_noise(noise, noise_scale)
        self.name = name
        self.constraint_names = validation.constraint_names(constraint_names, len(self.b))
        #: (H,1+m,d): what each component is worth, the reward first.
        self.worth = np.concatenate([self.theta[:, None], np.moveaxis(self.omega, 0, 1)], axis=1)
        validation.read_only(self)

    @property
    def horizon(self) -> int:
        """H, the number of steps of an episode."""
        return len(self.means)

    @property
    def n_actions(self) -> int:
        """A, the number of actions."""
        return int(self.features.n_actions)

    @property
    def n_constraints(self) -> int:
        """m, the number of constraints."""
        return len(self.b)

    @property
    def state_dimension(self) -> int:
        """D, the dimension of the states."""
        return int(self.means.shape[2])

    @property
    def spec(self) -> ContinuousSpec:
        """What a learner may see."""
        bounded = self.noise != "gaussian"
        return ContinuousSpec(self.horizon, self.b.copy(), self.features, self.constraint_names, bounded=bounded)

    @property
    def uniforms(self) -> int:
        """How many uniforms a step takes: the component, D for the state, with noise one or two for each objective."""
        return 1 + self.state_dimension + (1 + self.n_constraints) * noises.draws(self.noise)

    def step(self, h: int, phi: Array, u: Array) -> tuple[Array, Array]:
        """Move from a state by an action, given as features.

        Args:
            h: the step, from 0.
            phi: (d,) the features φ(x,a) of state and action.
            u: the step's uniforms, as many as :attr:`uniforms` says.

        Returns:
            The next state (D,), and the reward and utilities that are observed (1+m,).
        """
        from scipy.special import ndtri

        D = self.state_dimension
        i = min(int(np.searchsorted(np.cumsum(phi), u[0], side="right")), len(phi) - 1)
        seen = self.worth[h] @ phi
        seen = np.clip(seen, 0.0, 1.0)
        if self.noise:
            seen = noises.show(self.noise, seen, self.noise_scale, u[1 + D :])
        return self.means[h, i] + self.scales[h, i] * ndtri(np.clip(u[1 : 1 + D], 1e-300, 1 - 1e-16)), seen

    def replace(self, **changes: object) -> LinearCMDP:
        """Make the same problem with some constructor arguments changed."""
        kept = ("means", "scales", "theta", "omega", "b", "start", "noise", "noise_scale", "name", "constraint_names")
        arguments: dict[str, Any] = {key: getattr(self, key) for key in kept}
        arguments |= {"centres": self.features.centres, "width": self.features.rho}
        return LinearCMDP(**(arguments | changes))

    def __repr__(self) -> str:
        """A one-line summary."""
        return (
            f"<LinearCMDP {self.name!r}: states in R^{self.state_dimension}, H={self.horizon} A={self.n_actions} "
            f"d={self.features.dimension} m={self.n_constraints} b={np.round(self.b, 6).tolist()}>"
        )


@register("linear-continuous")
def linear_continuous(
    seed: int = 0,
    dims: int = 1,
    A: int = 3,
    d: int = 8,
    H: int = 5,
    m: int = 1,
    width: float = 0.4,
    scale: float = 0.3,
    fraction: float = 0.5,
) -> LinearCMDP:
    """Random linear CMDPs on R^1 or R^2, Gaussian components, normalised bumps as features.

    Args:
        seed: determines everything.
        dims: D, dimension of the states, 1 or 2.
        A: actions.
        d: dimension of the features.
        H: steps of an episode.
        m: constraints.
        width: of the bumps.
        scale: standard deviation of the Gaussians.
        fraction: where the thresholds lie, 0 (reward alone) to 1 (utility alone).
    """
    D = checks.integer("dims", dims, 1, 2)
    for count in ({"A": A}, {"H": H}, {"m": m}):
        checks.fits(**count, d=d, cells=CELLS[D] ** D)
    checks.number("fraction", fraction, 0.0, 1.0)
    checks.positive("scale", scale)
    rng = np.random.default_rng(checks.integer("seed", seed, 0))
    centres, means = rng.uniform(-1, 1, size=(A, d, D)), rng.uniform(-1, 1, size=(H, d, D))
    theta, omega = rng.uniform(size=(H, d)), rng.uniform(size=(m, H, d))
    scales = np.full((H, d), scale)
    problem = LinearCMDP(centres, width, means, scales, theta, omega, np.zeros(m), np.zeros(D))
    grid = Quadrature(problem)
    prices = np.eye(1 + m)
    tie = 1e-6 * np.concatenate([[1.0], np.ones(m)])
    values = np.stack([grid.greedy(price + tie)[0] for price in prices])  # best for the reward, then for each utility
    low, high = values[0, 1:], values[1:, 1:].mean(axis=0)
    least = np.array([grid.greedy(-price)[0][1 + i] for i, price in enumerate(prices[1:])])
    low = np.where(high > low + 1e-9, low, least)
    return problem.replace(b=np.round(low + fraction * (high - low), 9))


def _numbers(name: str, value: ArrayLike, shape: tuple[int, ...], low: float = -np.inf, high: float = np.inf) -> Array:
    array = validation.floats(name, value)
    if array.shape != shape or 0 in shape:
        raise InputError(f"{name} has shape {array.shape}; expected {shape}")
    expected = f"a number from {low:g} to {high:g}" if np.isfinite(high) else "a number above 0"
    validation.refuse(name, (array < low) | (array > high), array, expected)
    return array
