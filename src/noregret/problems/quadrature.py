r"""Values in a linear CMDP on R^D by quadrature on one grid for all Gaussians.

With V_{H} = 0, and steps counted from 0, the values of a policy π obey

.. math::  Q_{j,h}(x,a) = φ(x,a)^\top\Big(θ_{j,h} + \big[\textstyle∫ V_{j,h+1}\,dμ_{h,i}\big]_i\Big),\qquad
           V_{j,h}(x) = \sum_a π_h(a|x)\,Q_{j,h}(x,a),

so all that passes from one step to the next are d integrals an objective. They are taken on a grid of cells shared by all
components: the weight of a cell is its exact probability under μ_{h,i} (the outermost cells reach to infinity), the value
that at its centre. So the weights of a component sum to 1, and the grid is itself a finite linear CMDP. Where V is smooth the
error falls as the square of a cell's width; a policy that switches actions at a point gives V_r and V_g a jump there, and
then it falls as the width itself. (Gauss–Hermite rules, made for polynomials, do not converge there.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noregret.problems.base import Array
from noregret.problems.checks import integer

if TYPE_CHECKING:
    from noregret.problems.linear_continuous import LinearCMDP

#: Cells along each axis by dimension, unless told.
CELLS = {1: 2000, 2: 96}
#: The grid reaches this many standard deviations beyond the outermost means.
REACH = 5.0

#: A policy: (step, encoded features (n,A,d)) ↦ probabilities (n,A).
Policy = Callable[[int, Array], Array]


class Quadrature:
    """The grid of a problem: ``points`` (N,D), their features ``phi`` (N,A,d), and ``weights`` (H,d,N)."""

    def __init__(self, problem: LinearCMDP, cells: int | None = None) -> None:
        self.problem = problem
        D = problem.state_dimension
        self.cells = integer("cells", cells or CELLS[D], 2)
        low = (problem.means - REACH * problem.scales[..., None]).min(axis=(0, 1))
        high = (problem.means + REACH * problem.scales[..., None]).max(axis=(0, 1))
        self.edges = [np.linspace(low[i], high[i], self.cells + 1) for i in range(D)]
        middles = [0.5 * (e[1:] + e[:-1]) for e in self.edges]
        self.points = np.stack([g.ravel() for g in np.meshgrid(*middles, indexing="ij")], axis=1)
        self.phi = problem.features.encode(self.points)
        self.phi_start = problem.features.encode(problem.start[None])

    @cached_property
    def weights(self) -> Array:
        """(H,d,N): the probability of each cell under each component."""
        from scipy.special import ndtr

        p = self.problem
        parts = []
        for i, edges in enumerate(self.edges):
            z = (edges[None, None] - p.means[..., i, None]) / p.scales[..., None]
            z[..., 0], z[..., -1] = -np.inf, np.inf
            parts.append(np.diff(ndtr(z), axis=-1))
        if len(parts) == 1:
            return np.asarray(parts[0])
        return np.asarray(np.einsum("hdn,hdm->hdnm", *parts).reshape(*parts[0].shape[:2], -1))

    def values(self, policy: Policy) -> Array:
        """Compute V_r and V_g of a policy from the start, (1+m,)."""
        return self._back(lambda h, phi, Q: policy(h, phi))[0]

    def greedy(self, prices: Array) -> tuple[Array, Array]:
        """Find the deterministic policy that maximises Σ_j prices_j V_j: its V (1+m,) and its coefficients (H,1+m,d).

        At step h the policy takes the action of largest Σ_j prices_j φ(x,a)·coefficients[h,j].
        """
        return self._back(lambda h, phi, Q: np.eye(Q.shape[1])[(Q @ prices).argmax(axis=1)])

    def _back(self, choose: Callable[[int, Array, Array], Array]) -> tuple[Array, Array]:
        p = self.problem
        coefficients = np.empty_like(p.worth)
        integrals = np.zeros(p.worth.shape[1:])  # (1+m,d)
        for h in reversed(range(p.horizon)):
            coefficients[h] = p.worth[h] + integrals
            phi = self.phi if h > 0 else self.phi_start
            Q = phi @ coefficients[h].T  # (n,A,1+m)
            V = np.einsum("na,naj->jn", choose(h, phi, Q), Q)
            if h == 0:
                return V[:, 0], coefficients
            integrals = V @ self.weights[h - 1].T
        raise AssertionError("a problem has at least one step")
