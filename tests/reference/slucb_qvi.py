"""SLUCB-QVI for drawn actions, literally: projections, both regressions and the program in each state written out.

For state x let e be φ(x,a₀) normalised. A feature f has the part ⟨f,e⟩e along e and the rest f⊥ = f − ⟨f,e⟩e. Costs are
regressed on f⊥ after ⟨f,e⟩/‖φ(x,a₀)‖·τ_h(x), what the part along e costs, is taken off. The program is solved over
all its vertices.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from tests.reference.least_squares import History

Array = NDArray[np.float64]


class ReferenceSLUCB(History):
    """Amani et al. 2021, with ``step`` the limit, the safe actions (H,S) and their costs (H,S)."""

    def __init__(self, phi, H, lam, available, *, step, beta, cost_beta, cost_cap, optimism, cap, lower_clip) -> None:  # type: ignore[no-untyped-def]
        super().__init__(phi, H, lam, available)
        self.step, self.beta, self.cost_beta, self.cost_cap, self.optimism = step, beta, cost_beta, cost_cap, optimism
        self.cap, self.lower_clip = cap, lower_clip

    def costs(self, h: int, s: int) -> Array:
        """The pessimistic costs (A,) of a state."""
        known, tau_0 = self.phi[s, self.step.actions[h, s]], self.step.costs[h, s]
        length = float(np.linalg.norm(known))
        e = known / length
        Lambda = self.lam * (np.eye(len(e)) - np.outer(e, e))
        total = np.zeros(len(e))
        for tau in self.episodes:
            f = self.phi[tau.states[h], tau.actions[h]]
            rest = f - (f @ e) * e
            Lambda = Lambda + np.outer(rest, rest)
            total = total + rest * (1.0 - tau.utilities[0, h] - (f @ e) / length * tau_0)
        inverse = np.linalg.pinv(Lambda, hermitian=True)
        made = np.zeros(self.phi.shape[1])
        for a, f in enumerate(self.phi[s]):
            rest = f - (f @ e) * e
            surely = (f @ e) / length * tau_0
            made[a] = min(
                surely + rest @ inverse @ total + self.cost_beta * np.sqrt(max(rest @ inverse @ rest, 0.0)), self.cost_cap
            )
        return made

    def solve(self, q: Array, c: Array, actions: list[int]) -> tuple[Array, float]:
        """The mean of the best vertices of {θ : ⟨θ,c⟩ ≤ τ}, and the value."""
        limit, found = self.step.limit, []
        for a, b in product(actions, actions):
            theta = np.zeros(len(q))
            if a == b and c[a] <= limit:
                theta[a] = 1.0
            elif c[a] < limit < c[b]:
                theta[b] = (limit - c[a]) / (c[b] - c[a])
                theta[a] = 1.0 - theta[b]
            else:
                continue
            found.append(theta)
        best = max(float(theta @ q) for theta in found)
        return np.mean([theta for theta in found if theta @ q >= best - 1e-12], axis=0), best

    def plan(self) -> tuple[Array, Array]:
        S, A, _ = self.phi.shape
        Q, V, policy = np.zeros((self.H, S, A)), np.zeros((self.H + 1, S)), np.zeros((self.H, S, A))
        for h in reversed(range(self.H)):
            inverse = self.inverse(h)
            w = self.weights(h, [tau.rewards[h] + V[h + 1, tau.states[h + 1]] for tau in self.episodes])
            for s in range(S):
                kappa = 1.0 + self.optimism / (self.step.limit - self.step.costs[h, s])
                for a in range(A):
                    f = self.phi[s, a]
                    q = w @ f + kappa * self.beta * np.sqrt(f @ inverse @ f)
                    q = min(q, self.H if self.cap == "H" else self.H - h)
                    Q[h, s, a] = max(q, 0.0) if self.lower_clip else q
                there = [a for a in range(A) if self.available[h, s, a]]
                policy[h, s], V[h, s] = self.solve(Q[h, s], self.costs(h, s), there)
        return Q, policy
