r"""Are the features good enough? What the linear-MDP assumption would give, against what fresh episodes show.

At step h the fit predicts y_j = j_h + V_{j,h+1}(x') by ⟨w_j, φ(x,a)⟩. On episodes that were not learned from, the residuals e
= y - ⟨w,φ⟩ have mean zero at every (x,a) if features are adequate and data suffice, whatever the noise. So for each visit we
take the nearest other visit (in the raw observations, scaled) with the same step and action, and

    shared = Σ e e_near / n ,        unexplained = shared / (Σ e² / n)

is the part of the residuals that the state explains and the features do not, and its share: about 0 if all is well.

Three things look like poor features and are not. Where bonuses are still large there is little data: such visits are counted
and left out of the sums. The ridge λ shrinks the fit, E[w] = (I - λΛ⁻¹)θ, which leaves residuals at every visit: as θ =
Σ_i (λΛ⁻¹)^i E[w], the first terms of φᵀΣ_i (λΛ⁻¹)^i w stand for ⟨w,φ⟩. And where nothing is random the residuals are as small
as rounding, and nearby states share all of it: features are called poor only if √shared is more than a small part of 1, the
most that a step can be worth (residuals add up over the H steps, so √shared is to 1 as their sum is to H). Where y itself
varies by no more than that (a reward that was never found), nothing can be said. One-hot features are exact whatever the
numbers say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.features import OneHot, Table, is_one_hot
from noregret.learners.arrays import Numbers
from noregret.learners.lsvi.vectors import ContinuousLearner
from noregret.problems.base import Array

#: A bonus above this share of the cap is large; more than this share of such visits is too little data.
LARGE, MANY = 0.1, 0.3
#: Where steps share, bonuses are small against H: there a norm above this is large, that of features seen fewer than 4 times.
NEW = 0.5
#: More of the residuals than this explained by the state, and more of a step's worth: the features are too poor.
POOR, SMALL = 0.15, 0.01
#: Terms of the series that undoes the ridge; what is left of it after n visits to a one-hot state is (λ/(n+λ))^(1+TERMS).
TERMS = 3


class Encoded(NamedTuple):
    """An episode of L steps, L at most H, with features and with numbers in [0,1]."""

    observations: Numbers  # (L+1,...)
    rows: Array  # (L,R,p)
    actions: NDArray[np.int64]  # (L,)
    observed: Array  # (L,1+m) in [0,1]
    terminated: bool


@dataclass(frozen=True)
class Adequacy:
    """How well features fit, over fresh episodes."""

    residual: Array  # (1+m,) root mean square of e, reward then utilities
    unexplained: Array  # (1+m,) share of e² that nearby states share
    shared: Array  # (1+m,) root of the part of e² that nearby states share
    rank: Array  # (H,) of the features seen; (1,) where steps share
    dimension: int
    smallest: Array  # (H,) or (1,) smallest eigenvalue of Σφφᵀ/n
    spread: Array  # (1+m,) root mean square of y less its mean at the step
    large_bonus: float  # share of visits with a large bonus
    pairs: int
    one_hot: bool  # features are exact then
    ended: float = 0.0  # share of episodes that ended early, after which each step has its absorbing worth

    @property
    def verdict(self) -> str:
        """Whether the features are adequate, in one plain sentence."""
        i = int(np.where(self.shared > SMALL, self.unexplained, -np.inf).argmax())  # the worst of those that matter
        worst = max(float(self.unexplained[i]), 0.0)
        if self.large_bonus > MANY:
            return (
                f"Too little data to judge: {self.large_bonus:.0%} of the visits still have a large bonus "
                f"(unexplained share so far {worst:.2f})."
            )
        if self.one_hot:
            return "The features are adequate: one-hot features are exact."
        if self.spread.max() <= SMALL:
            return f"Nothing to judge by: what follows a visit varies by {self.spread.max():.2g} at most."
        if self.shared[i] <= SMALL:
            return f"The features are adequate: what nearby states share of the residuals is at most {self.shared.max():.2g}."
        if worst > POOR:
            return (
                f"The features are too poor for the linear-MDP assumption: nearby states explain {worst:.0%} of the residuals "
                f"that the features leave. Use richer features."
            )
        return f"The features are adequate: nearby states explain {worst:.0%} of the residuals that they leave."

    def __str__(self) -> str:
        """The numbers and the verdict."""
        return "\n".join(
            [
                f"Bellman residual (rms): {', '.join(f'{v:.3g}' for v in self.residual)} (reward, then utilities)",
                f"unexplained share:      {', '.join(f'{v:.3f}' for v in self.unexplained)} ({self.pairs} pairs of visits)",
                f"shared by neighbours:   {', '.join(f'{v:.3g}' for v in self.shared)} (rms); "
                f"all that varies: {', '.join(f'{v:.3g}' for v in self.spread)}",
                f"rank of the features:   {int(self.rank.min())} to {int(self.rank.max())} of {self.dimension}",
                f"smallest eigenvalue:    {self.smallest.min():.3g} to {self.smallest.max():.3g}",
                f"large bonus:            {self.large_bonus:.0%} of the visits",
                f"early ends:             {self.ended:.0%} of the episodes; what follows is known and part of the target",
                self.verdict,
            ]
        )


def assess(learner: ContinuousLearner, episodes: list[Encoded]) -> Adequacy:
    """Judge how well a learner's features fit, by episodes that the learner has not learned from."""
    spec, view = learner.spec, learner.current()
    H, J = spec.horizon, 1 + spec.n_constraints
    squares, total, large, pairs = np.zeros(J), 0, 0, 0
    own, shared, varied = np.zeros((3, J))  # of the pairs: Σ e², Σ e e_near, Σ (y - mean)²
    for h in range(H):
        there = [e for e in episodes if len(e.actions) > h]
        if not there:
            break
        both = np.array([_target_and_fit(learner, e, h) for e in there])  # (n,2,J)
        targets, errors = both[:, 0], both[:, 0] - both[:, 1]
        actions = np.array([e.actions[h] for e in there])
        x = np.array([np.ravel(e.observations[h]) for e in there], dtype=np.float64)
        x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-12)
        norms = np.array([_norm(view.inverse_of(h), e, h, learner) for e in there])
        known = norms <= NEW if learner.shares else view.bonus[h, 0] * norms <= LARGE * learner.cap[h]
        large, squares, total = large + int((~known).sum()), squares + (errors**2).sum(axis=0), total + len(there)
        for a in np.unique(actions):
            group = np.flatnonzero(known & (actions == a))
            if len(group) < 10:
                continue
            gaps = ((x[group, None] - x[None, group]) ** 2).sum(axis=2)
            np.fill_diagonal(gaps, np.inf)
            near = group[gaps.argmin(axis=1)]
            own += (errors[group] ** 2).sum(axis=0)
            shared += (errors[group] * errors[near]).sum(axis=0)
            varied += ((targets[group] - targets.mean(axis=0)) ** 2).sum(axis=0)
            pairs += len(group)
    gram = learner.gram
    seen = gram.Lambda - learner.lam * np.eye(gram.Lambda.shape[2])
    eigenvalues = np.linalg.eigvalsh(seen) / np.maximum(gram.visits, 1)[:, None, None]
    rank = (eigenvalues > 1e-9).sum(axis=(1, 2))
    return Adequacy(
        residual=np.sqrt(squares / max(total, 1)), unexplained=shared / np.maximum(own, 1e-300),
        shared=np.sqrt(np.maximum(shared, 0.0) / max(pairs, 1)), spread=np.sqrt(varied / max(pairs, 1)), rank=rank,
        dimension=spec.dimension, smallest=np.maximum(eigenvalues.min(axis=(1, 2)), 0.0),
        large_bonus=large / max(total, 1), pairs=pairs, one_hot=_one_hot(learner.map),
        ended=float(np.mean([e.terminated and len(e.actions) < H for e in episodes])),
    )  # fmt: skip


def _place(learner: ContinuousLearner, episode: Encoded, h: int) -> tuple[Array, int]:
    a = int(episode.actions[h])
    return episode.rows[h, min(a, learner.map.rows - 1)], min(a, learner.map.blocks - 1)


def _one_hot(features: Any) -> bool:
    return isinstance(features, OneHot) or (isinstance(features, Table) and is_one_hot(features.table))


def _target_and_fit(learner: ContinuousLearner, episode: Encoded, h: int) -> tuple[Array, Array]:
    """The target y of one visit and its fit ⟨w,φ⟩. What the ridge is known to take off the fit is put back."""
    view, spec = learner.current(), learner.spec
    phi, block = _place(learner, episode, h)
    y = episode.observed[h].copy()
    if h + 1 < len(episode.actions):
        y += view.at(h + 1, episode.rows[h + 1 : h + 2])[2][: len(y), 0]
    elif episode.terminated:
        y += (spec.horizon - len(episode.actions)) * np.asarray(spec.absorbing)
    whole, term = phi.copy(), phi
    for _ in range(TERMS):
        term = learner.lam * (view.inverse_of(h)[block] @ term)
        whole += term
    return y, np.asarray(view.w[h, : len(y), block] @ whole)


def _norm(inverse: Array, episode: Encoded, h: int, learner: ContinuousLearner) -> float:
    phi, block = _place(learner, episode, h)
    return float(np.sqrt(max(phi @ inverse[block] @ phi, 0.0)))
