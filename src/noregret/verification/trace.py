"""A run of Algorithm 1, watched episode by episode, and what the lemmas speak of beside it.

The numbers of the algorithm (Q, V, Y, Λ, w) are those of the compiled learner; the truth (values of π_k, of the best policy for
each price, of π*) is the oracle's. It is trial 0 of the same call of ``noregret.run``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from noregret import oracle
from noregret.errors import InputError
from noregret.kernels.gram.net import NumberedGram
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.learners.lsvi.primal_dual import PrimalDualLSVI
from noregret.oracle import TableOptimum
from noregret.problems.base import Array, TabularCMDP
from noregret.runs import Ask, How, play
from noregret.runs.prepare import prepare
from noregret.runs.trial import TableTrial, Trial

#: Differences below this are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Trace:
    """What was measured in K episodes. A value from the start is that of the state the episode started in."""

    problem: TabularCMDP
    learner: PrimalDualLSVI
    optimum: oracle.TableOptimum
    best: oracle.TableOptimum | None  # π* of the thresholds b + ζ; None where no policy meets them
    alpha: Array  # (K,) α of each episode
    Y: Array  # (K,m) price of each episode
    squares: Array  # (K,H) ‖φ‖² in Λ⁻¹ of the pairs visited, before they were learned
    growth: Array  # (H,) log det Λ^{K+1} − log det Λ^1
    norms: Array  # (K,) largest ‖w_j,h‖ of the episode
    greedy_gap: Array  # (K,) largest max_a C − V_C over steps and states, C the composite Q
    optimism: Array  # (K,) least C + (H−h)log|A|/α − C^π over steps, states, actions and policies π
    optimistic: float  # share of all (k,h,x,a) in which that is not negative
    one_step: float  # share of all (k,h,x,a) in which the one-step form of the lemma holds
    V_k: Array  # (K,1+m) the algorithm's V_j,1(x_1)
    V_pi: Array  # (K,1+m) the exact values of π_k

    @property
    def K(self) -> int:  # noqa: N802
        """Episodes."""
        return len(self.Y)

    @property
    def d(self) -> int:
        """The dimension of the features that the learner used."""
        return self.learner.dimension

    @property
    def fixed_start(self) -> bool:
        """Whether every episode starts in the same state, as the paper has it."""
        return int((self.problem.mu > 0).sum()) == 1


def trace(problem: TabularCMDP | str, *, episodes: int, seed: int = 0, preset: str = "theory", **options: Any) -> Trace:
    """Run ``primal-dual-lsvi`` and measure; takes the options of :func:`noregret.run`.

    Args:
        problem: tables, whose exact values are known, or the name of such a problem.
        episodes: K, how many are played.
        seed: of the run.
        preset: where the constants come from, as in :func:`noregret.run`.
        **options: ``slater_gap`` and the parameters of the learner.

    Raises:
        InputError: the problem has no tables, or ``rounding`` is given.
    """
    home = prepare(problem)
    world = home.finite("verification")
    if options.get("rounding") is not None:
        raise InputError(
            f"rounding is {options['rounding']!r}; expected None: the lemmas are about the soft-max, not about a net"
        )
    gap = options.pop("slater_gap", None)
    ask = Ask(world, PrimalDualLSVI.name, episodes, 1, seed, episodes, preset, gap, params={"share": "nothing"} | options)
    watcher = _Watcher(world, episodes)
    play(ask.keys(), How(progress=False), block_size=1, raises=True, watch=watcher)
    return watcher.trace(cast(TableOptimum, home.optimum))


class _Watcher:
    """Looks at a trial before each of its episodes and after it."""

    def __init__(self, problem: TabularCMDP, K: int) -> None:
        H, m = problem.horizon, problem.n_constraints
        self.problem, self.K = problem, K
        self.Y, self.squares = np.zeros((K, m)), np.zeros((K, H))
        self.V_k, self.V_pi = np.zeros((K, 1 + m)), np.zeros((K, 1 + m))
        self.alpha, self.norms, self.greedy_gap, self.optimism = np.zeros((4, K))
        self.held = self.stepwise = 0
        self._before = np.zeros(0)  # φᵀΛ⁻¹φ of every pair before the episode

    def __call__(self, trial: Trial) -> None:
        """Before episode k (from 0), and after episode k − 1."""
        self.learner = cast(PrimalDualLSVI, trial.learner)
        if trial.k > 0:
            self._after(trial, trial.k - 1)
        if trial.k < self.K:
            self._plan(trial.k)

    def _plan(self, k: int) -> None:
        problem, learner = self.problem, self.learner
        H, m, A = problem.horizon, problem.n_constraints, problem.n_actions
        learner.plan()
        gram, tables = cast(NumberedGram, learner.gram), learner.tables
        self.alpha[k] = learner.alpha  # restarts and the estimate of γ move it
        self.Y[k] = learner.dual
        prices = np.concatenate([[1.0], self.Y[k]])
        C = np.where(problem.available, np.einsum("j,hjsa->hsa", prices, tables.Q[:, : 1 + m]), -np.inf)
        V_C = np.einsum("j,hjs->hs", prices, tables.V[:, : 1 + m])
        self.greedy_gap[k] = (C.max(axis=2) - V_C[:H]).max()
        self.norms[k] = _largest_weight(gram, tables.V, 1 + m)
        true_Q, true_V = _best_composite(problem, prices)
        to_go = np.arange(H - 1.0, -1.0, -1.0)[:, None, None] * np.log(A)
        slack = C + to_go / self.alpha[k] - true_Q
        next_step = np.einsum("hsax,hx->hsa", problem.P, true_V[1:] - V_C[1:])
        self.optimism[k] = slack[problem.available].min()
        self.held += int((slack[problem.available] >= -ROUNDING).sum())
        self.stepwise += int((C + next_step - true_Q >= -ROUNDING)[problem.available].sum())
        self._before = _squares(gram, problem.r.shape)

    def _after(self, trial: Trial, k: int) -> None:
        H, m = self.problem.horizon, self.problem.n_constraints
        played = cast(TableTrial, trial).scratch
        self.V_pi[k] = played.values
        self.V_k[k] = self.learner.tables.V[0, : 1 + m, played.states[0]]
        self.squares[k] = self._before[np.arange(H), played.states[:H], played.actions]

    def trace(self, optimum: oracle.TableOptimum) -> Trace:
        """What was measured."""
        problem, zeta = self.problem, float(self.learner.constants["zeta"])
        best = optimum if zeta == 0.0 else oracle.solve(problem, tighten=zeta) if zeta <= optimum.slater_gap else None
        entries = self.K * int(problem.available.sum())
        return Trace(
            problem=problem,
            learner=self.learner,
            optimum=optimum,
            best=best,
            alpha=self.alpha,
            Y=self.Y,
            squares=self.squares,
            growth=_growth(cast(NumberedGram, self.learner.gram)),
            norms=self.norms,
            greedy_gap=self.greedy_gap,
            optimism=self.optimism,
            optimistic=self.held / entries,
            one_step=self.stepwise / entries,
            V_k=self.V_k,
            V_pi=self.V_pi,
        )


def _best_composite(problem: TabularCMDP, prices: Array) -> tuple[Array, Array]:
    """max_π of Q_r^π + Y·Q_g^π (H,S,A) and of its V (H+1,S): what no policy exceeds in any state."""
    H, S, _ = problem.r.shape
    value = prices[0] * problem.r + np.tensordot(prices[1:], problem.g, axes=1)
    Q, V = np.empty_like(value), np.zeros((H + 1, S))
    for h in reversed(range(H)):
        Q[h] = value[h] + problem.P[h] @ V[h + 1]
        V[h] = np.where(problem.available[h], Q[h], -np.inf).max(axis=1)
    return Q, V


def _largest_weight(gram: NumberedGram, V: Array, J: int) -> float:
    """Max over steps and objectives of ‖w_j,h‖."""
    if not isinstance(gram, OneHotGram):
        target = gram.total[:, :J] + np.einsum("hsd,hjs->hjd", gram.moment, V[1:, :J])
        return float(np.linalg.norm(np.einsum("hde,hje->hjd", gram.Lambda_inv, target), axis=2).max())
    H = len(gram.visits)
    largest = 0.0
    for h in range(H):
        for j in range(J):
            target = gram.fit[h, :, :, 2 + j] + (gram.times[h] * V[h + 1, j][gram.successor[h]]).sum(axis=2)
            largest = max(largest, float(np.linalg.norm(target * gram.fit[h, :, :, 0])))
    return largest


def _squares(gram: NumberedGram, shape: tuple[int, ...]) -> Array:
    """φᵀΛ_h⁻¹φ of every step, state and action, (H,S,A)."""
    return np.array(gram.fit[..., 0] if isinstance(gram, OneHotGram) else gram.square.reshape(shape))


def _growth(gram: NumberedGram) -> Array:
    """Log det Λ_h − log det λI."""
    if isinstance(gram, OneHotGram):
        return np.asarray(np.log1p(gram.visits / gram.lam).sum(axis=(1, 2)))
    return np.asarray(np.linalg.slogdet(gram.Lambda)[1] - gram.Lambda.shape[1] * np.log(gram.lam))
