"""How far a model is from the world: its predictions on fresh episodes, and what plans were expected to bring.

Before an episode is learned from, the model in use predicts the reward of some of its steps. What it misses is kept by the step
of the episode: a reward that depends on the step shows there, as no model here knows the step. And the reward that a plan was
expected to bring is kept beside what came.
"""

from __future__ import annotations

import math

import numpy as np

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.agent.minds.soft_cells.planner import Planner
from noregret.agent.minds.soft_cells.types import Arrays

#: Parts of an episode that misses are kept by, steps of an episode that are predicted, and what remains of the sums each time.
BINS, _STEPS, _KEPT = 8, 16, 0.97
#: Plans' episodes that are remembered, and the fewest that a warning needs.
PAIRS, _FEWEST = 40, 20
#: Steps that a warning needs; the share of the misses' variance that the step must explain, where misses are at least the
#: second share of the variance of rewards.
_SEEN, _BY_STEP, _MISSED = 100.0, 0.3, 0.2
#: Expected and observed rewards are far apart from so many standard errors and this share of the range of returns on.
_ERRORS, _APART = 4.0, 0.15


class Doubts:
    """What speaks against the model."""

    def __init__(self) -> None:
        self.bins = np.zeros((BINS, 3))  # of what was missed: how many, sum, sum of squares
        self.rewards = np.zeros(2)  # of the same steps' rewards: sum, sum of squares
        self.pairs = np.zeros((0, 2))  # expected and observed reward of plans' episodes

    def look(self, played: PlayedEpisode, planner: Planner, planned: bool) -> None:
        """Compare an episode with what the plan's model says of it.

        Args:
            played: the episode.
            planner: whose model predicts.
            planned: whether its plan played the episode.
        """
        model, H, L = planner.model, planner.H, len(played.actions)
        low, width = float(model.units.low[0]), float(model.units.width[0])
        self.bins *= _KEPT
        self.rewards *= _KEPT
        for h in np.unique(np.linspace(0, L - 1, min(L, _STEPS)).astype(np.int64)).tolist():
            Q = model.values(played.observations[h], H - 1, planner.wish, planner.values)  # one step to go: its signals alone
            if Q is not None:
                reward = float(played.rewards[h])
                missed = reward - (low + width * float(Q[0, played.actions[h]]))
                self.bins[h * BINS // H] += (1.0, missed, missed**2)
                self.rewards += (reward, reward**2)
        if planned:
            pair = [planner.expected, float(np.sum(played.rewards))]
            self.pairs = np.concatenate([self.pairs, [pair]])[-PAIRS:]

    @property
    def missed(self) -> float:
        """The share of the variance of fresh rewards that models missed; 0 before enough was seen."""
        n, _, squares = self.bins.sum(axis=0)
        variance = self.rewards[1] - self.rewards[0] ** 2 / n if n >= _SEEN else 0.0
        return float(squares / variance) if variance > 1e-9 * self.rewards[1] else 0.0

    @property
    def by_step(self) -> float:
        """The share of the variance of what was missed that the step explains."""
        used = self.bins[self.bins[:, 0] > 0.0]
        n, total, squares = used.sum(axis=0)
        variance = squares - total**2 / n if n >= _SEEN else 0.0
        between = (used[:, 1] ** 2 / used[:, 0]).sum() - total**2 / n if variance > 0.0 else 0.0
        return float(between / variance) if variance > 0.0 else 0.0

    def off(self, apart: float) -> bool:
        """Whether plans brought another reward than expected for long.

        Args:
            apart: the range of returns.
        """
        if len(self.pairs) < _FEWEST:
            return False
        gap = self.pairs[:, 1] - self.pairs[:, 0]
        return bool(abs(gap.mean()) > max(_ERRORS * gap.std(ddof=1) / math.sqrt(len(gap)), _APART * apart))

    def describe(self, apart: float) -> list[str]:
        """What was found, and warnings, one line each.

        Args:
            apart: the range of returns.
        """
        lines = []
        missed = self.missed
        if self.bins[:, 0].sum() >= _SEEN:
            known = max(1.0 - missed, 0.0)
            lines.append(f"prediction: models explained {known:.0%} of the variance of rewards in fresh episodes")
        if missed > _MISSED and self.by_step > _BY_STEP:
            lines.append(
                f"warning: the reward depends on the step of the episode, which models do not know: it explains "
                f"{self.by_step:.0%} of what they miss; expected the step to be part of the observation"
            )
        if self.off(apart):
            expected, came = self.pairs.mean(axis=0)
            lines.append(
                f"warning: the model is wrong about the reward: over the last {len(self.pairs)} episodes of plans it expected "
                f"{expected:.4g} on average, with what was hoped for, and {came:.4g} came; simple rules lead on less evidence"
            )
        return lines

    def arrays(self) -> Arrays:
        """All sums, by name."""
        return {"bins": self.bins.copy(), "rewards": self.rewards.copy(), "pairs": self.pairs.copy()}

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        self.bins, self.rewards, self.pairs = (arrays[name].copy() for name in ("bins", "rewards", "pairs"))
