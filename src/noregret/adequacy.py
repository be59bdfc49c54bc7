r"""Are the features good enough? What the linear-MDP assumption would give, against what fresh episodes show.

At step h the fit predicts y_j = j_h + V_{j,h+1}(x') by ⟨w_j, φ(x,a)⟩. On episodes that were not learned from, the residuals e
= y - ⟨w,φ⟩ have mean zero at every (x,a) if features are adequate and data suffice, whatever the noise. So for each visit we
take the nearest other visit (in the raw observations, scaled) with the same step and action, and

    unexplained = Σ e e_near / Σ e²

is the share of the residuals that the state explains and the features do not: about 0 if all is well. A share that is large
where bonuses are still large only means that there is little data yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.episodes import Episode
from noregret.learners.continuous import DensePrimalDualLSVI
from noregret.problems.base import Array

#: A bonus above this share of the cap is large; more than this share of such visits is too little data.
LARGE, MANY = 0.1, 0.3
#: More of the residuals than this explained by the state: the features are too poor.
POOR = 0.15


@dataclass(frozen=True)
class Adequacy:
    """How well features fit, over fresh episodes."""

    residual: Array  # (1+m,) root mean square of e, reward then utilities
    unexplained: Array  # (1+m,) share of e² that nearby states share
    rank: Array  # (H,) of the features seen
    dimension: int
    smallest: Array  # (H,) smallest eigenvalue of Σφφᵀ/n
    large_bonus: float  # share of visits with a large bonus
    pairs: int

    @property
    def verdict(self) -> str:
        """One plain sentence."""
        worst = float(self.unexplained.max())
        if self.large_bonus > MANY:
            return (
                f"Too little data to judge: {self.large_bonus:.0%} of the visits still have a large bonus "
                f"(unexplained share so far {worst:.2f})."
            )
        if worst > POOR:
            return (
                f"The features are too poor for the linear-MDP assumption: nearby states explain {worst:.0%} of the residuals "
                f"that the features leave. Use richer features."
            )
        return f"The features are adequate: nearby states explain {max(worst, 0.0):.0%} of the residuals that they leave."

    def __str__(self) -> str:
        """The numbers and the verdict."""
        return "\n".join(
            [
                f"Bellman residual (rms): {', '.join(f'{v:.3g}' for v in self.residual)} (reward, then utilities)",
                f"unexplained share:      {', '.join(f'{v:.3f}' for v in self.unexplained)} ({self.pairs} pairs of visits)",
                f"rank of the features:   {int(self.rank.min())} to {int(self.rank.max())} of {self.dimension}",
                f"smallest eigenvalue:    {self.smallest.min():.3g} to {self.smallest.max():.3g}",
                f"large bonus:            {self.large_bonus:.0%} of the visits",
                self.verdict,
            ]
        )


def assess(learner: DensePrimalDualLSVI, episodes: list[Episode]) -> Adequacy:
    """Judge the fit of a learner by episodes it has not learned from."""
    spec, view = learner.spec, learner.current()
    H, J = spec.horizon, 1 + spec.n_constraints
    squares, shared, total, pairs = np.zeros(J), np.zeros(J), 0, 0
    large = visits = 0
    for h in range(H):
        there = [e for e in episodes if len(e.actions) > h]
        if not there:
            break
        errors = np.array([_residual(learner, e, h) for e in there])  # (n,J)
        actions = np.array([e.actions[h] for e in there])
        x = np.array([np.ravel(e.observations[h]) for e in there], dtype=np.float64)
        x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
        bonus = view.bonus[h, 0] * np.array([_norm(view.inverse[h], e, h, learner) for e in there])
        large, visits = large + int((bonus > LARGE * learner.cap[h]).sum()), visits + len(there)
        squares, total = squares + (errors**2).sum(axis=0), total + len(there)
        for a in np.unique(actions):
            group = np.flatnonzero(actions == a)
            if len(group) < 10:
                continue
            gaps = ((x[group, None] - x[None, group]) ** 2).sum(axis=2)
            np.fill_diagonal(gaps, np.inf)
            near = group[gaps.argmin(axis=1)]
            shared += (errors[group] * errors[near]).sum(axis=0)
            pairs += len(group)
    gram = learner._state.gram
    seen = gram.Lambda - learner.lam * np.eye(gram.Lambda.shape[2])
    eigenvalues = np.linalg.eigvalsh(seen) / np.maximum(gram.visits, 1)[:, None, None]
    rank = (eigenvalues > 1e-9).sum(axis=(1, 2))
    return Adequacy(
        residual=np.sqrt(squares / max(total, 1)), unexplained=shared / np.maximum(squares, 1e-300), rank=rank,
        dimension=spec.dimension, smallest=np.maximum(eigenvalues.min(axis=(1, 2)), 0.0),
        large_bonus=large / max(visits, 1), pairs=pairs,
    )  # fmt: skip


def _place(learner: DensePrimalDualLSVI, episode: Episode, h: int) -> tuple[Array, int]:
    a = int(episode.actions[h])
    return episode.rows[h, min(a, learner.map.rows - 1)], min(a, learner.map.blocks - 1)


def _residual(learner: DensePrimalDualLSVI, episode: Episode, h: int) -> Array:
    view, spec = learner.current(), learner.spec
    phi, block = _place(learner, episode, h)
    y = episode.observed[h].copy()
    if h + 1 < len(episode.actions):
        y += view.at(h + 1, episode.rows[h + 1 : h + 2])[2][: len(y), 0]
    elif episode.terminated:
        y += (spec.horizon - len(episode.actions)) * spec.absorbing  # type: ignore[attr-defined]
    return np.asarray(y - view.w[h, : len(y), block] @ phi)


def _norm(inverse: Array, episode: Episode, h: int, learner: DensePrimalDualLSVI) -> float:
    phi, block = _place(learner, episode, h)
    return float(np.sqrt(max(phi @ inverse[block] @ phi, 0.0)))
