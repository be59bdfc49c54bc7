r"""Reward-free learning (Miryoosefi, Jin 2022): explore once without a look at rewards, then plan for any constraint.

Phase 1 explores for K₀ episodes. Let φ be the features (one-hot for tables), Λ_h = λI + Σ_τ φ_τφ_τᵀ. From W_{H+1} = 0 on,

    W_h(x,a) = min{ ⟨Λ_h⁻¹ Σ_τ φ_τ max_a W_{h+1}(x'_τ,a), φ⟩ + β‖φ‖_{Λ_h⁻¹}, H−h+1 }

and the policy is greedy on W: the bonus is all the reward there is, so it goes where least is known (VI-Zero for tables, the
explorer of Wang et al. for features). What is observed of reward and utilities is kept, and nobody looks.

Phase 2 plans on these data, without a bonus, and plays its policy to the end. By ``planner``:

- "game", as printed: T rounds of π^t = best policy for Y^t in the estimated model, Y^{t+1} = clip(Y^t + η(b − V̂_g), 0, ξ) with
  its V̂_g, ξ = 2H/γ, η = ξ/(H√T). The output is the uniform mixture of the π^t, as the one policy that has their mean
  occupancies in the estimated model (:mod:`noregret.kernels.commitment`). This is the paper's game in its Lagrangian form.
- "simplex": the same program, solved exactly (:mod:`noregret.kernels.programs`).

:meth:`RewardFree.plan_for` plans for other thresholds, rewards and utilities, any number of them, on the same data.

The paper is PAC: with K₀ episodes all plans are ε-good, ε² = C/K₀, where to order C = min(m,S) SAH⁴ι for tables, d³H⁶ι for
features, ι = log(SAHK/p) or log(dHK/p). Committed after K₀ of K episodes it loses at most HK₀ + Kε, least for
K₀ = (K√C/(2H))^(2/3): regret and violation T^(2/3) in place of √T.

Constants of ``theory``: that K₀, T = K^(2/3), λ = 1, β = H√(Sι) for tables and dH√log(2dHK/p) for features, "game".
``practical``: K₀ = K^(2/3)/2, β = 0.3, λ = (β/H)², "simplex".

``explore-then-commit`` is the same learner with a uniform policy in phase 1. It is another system: what a bonus finds in H
steps may take a random walk A^H episodes, so the table shows what exploring on purpose is worth.

Deviations: λ in phase 2 too, so a pair never tried is worth nothing there; VI-Zero's two bonuses are one. Source: memory.

References:
    Miryoosefi, Jin. A Simple Reward-Free Approach to Constrained Reinforcement Learning. ICML 2022, arXiv 2107.05216.
    Liu, Yu, Bai, Jin. A Sharp Analysis of Model-based Reinforcement Learning with Self-Play. ICML 2021 (VI-Zero).
    Wang, Du, Yang, Salakhutdinov. On Reward-Free Reinforcement Learning with Linear Function Approximation. NeurIPS 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError
from noregret.kernels.commitment import fill_moves, fill_worth, play_game
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.flat import fill
from noregret.kernels.gram.base import Tables, learn
from noregret.kernels.jit import jit
from noregret.kernels.programs import Basis, Rows, mixture, solve
from noregret.kernels.programs import basis as new_basis
from noregret.kernels.programs import rows as new_rows
from noregret.learners.choices import Choices, searched
from noregret.learners.least_squares import REGRESSION, LeastSquaresLearner, empty_gram, empty_tables
from noregret.learners.lsvi_ucb import theory_beta
from noregret.learners.parts.rule import Rule
from noregret.learners.primal_dual_lsvi import backward
from noregret.learners.registry import register
from noregret.problems.base import Array, Spec

#: Planners of phase 2, and explorers of phase 1, in the order of their numbers in the state.
PLANNERS, EXPLORERS = ("game", "simplex"), ("bonus", "uniform")

#: Entries of ``tally``: episodes played, whether the plan is made.
PLAYED, COMMITTED = range(2)


class PhaseRule(NamedTuple):
    """The numbers of the two phases."""

    explore: int  # K₀
    explorer: int
    planner: int
    rounds: int
    eta: float
    xi: float


class RewardFreeState(NamedTuple):
    """What the next episode needs. The Gram has 2 + m objectives: nothing, the reward, the utilities."""

    gram: Any  # OneHotGram or TableGram
    explorer: Tables  # (H,1,S,A) W
    means: Tables  # (H,2+m,S,A) room to estimate means in
    rule: Rule
    phase: PhaseRule
    rows: Rows
    basis: Basis
    policy: Array  # (H,S,A) of the explorer's tables
    Y: Array  # (m,) the prices of the plan
    nobody: Array  # (0,) no utility has a say in phase 1
    episode: Array  # (H,2+m) an episode as the Gram takes it
    tally: NDArray[np.int64]  # (2,)
    b: Array  # (m,)
    start: Array  # (S,)
    available: NDArray[np.bool_]  # (H,S,A)


@partial(jit, inline=True)
def commit(rows: Any, world: Any, Y: Any, basis: Any, policy: Any, phase: Any) -> None:
    """Plan on the rows, by the planner of ``phase``.

    Args:
        rows: the program's.
        world: start, thresholds and available actions.
        Y: (m,) the prices of the plan, changed in place.
        basis: room to work in, with what was found.
        policy: (H,S,A) the plan, changed in place.
        phase: the numbers of the two phases.
    """
    if phase.planner == 0:
        play_game(rows, world, Y, basis, policy, (phase.rounds, phase.eta, phase.xi))
    else:
        start, b, available = world
        fill(Y, 0.0)
        solve(rows, start, b, available, Y, basis)
        mixture(basis, policy)
        for i in range(len(Y)):
            Y[i] = min(Y[i], phase.xi)  # a program that cannot be met has the prices of a penalty


def plan(state: Any) -> None:
    """Explore while there are episodes for it, then plan once; after that the policy stands."""
    tally, phase = state.tally, state.phase
    if tally[PLAYED] < phase.explore:
        if phase.explorer == 0:
            backward(state.gram, state.explorer, state.rule, state.nobody, np.inf)
    elif tally[COMMITTED] == 0:
        fill_moves(state.gram, state.explorer, state.rows)
        fill_worth(state.gram, state.means, state.rows)
        commit(state.rows, (state.start, state.b, state.available), state.Y, state.basis, state.policy, phase)
        tally[COMMITTED] = 1


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Take in an episode of phase 1; those of phase 2 change nothing.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    if state.tally[PLAYED] < state.phase.explore:
        for h in range(len(actions)):
            for j in range(observed.shape[1]):
                state.episode[h, 1 + j] = observed[h, j]
        learn(state.gram, states, actions, state.episode)
    state.tally[PLAYED] += 1


@dataclass(frozen=True)
class FoundPlan:
    """A policy for given constraints, and what it is worth in the estimated model."""

    policy: Array  # (H,S,A)
    reward: float
    utilities: Array  # (m,)
    prices: Array  # (m,)
    lacking: float  # what the constraints lack together; 0 where they can be met

    def __repr__(self) -> str:
        """A one-line summary."""
        values = ", ".join(f"{value:.4g}" for value in self.utilities)
        return f"<FoundPlan: reward {self.reward:.4g}, utilities {values}, lacking {self.lacking:.2g}>"


@register
class RewardFree(LeastSquaresLearner):
    """``reward-free``: exploration by the bonus alone, then one plan on the data, and for any other constraint another."""

    name = "reward-free"
    summary = "reward-free (Miryoosefi & Jin 2022): explore by bonus alone, then plan for any constraint; commits"
    promise = ("T^(2/3)", "T^(2/3)")
    parameters = (*REGRESSION, "explore", "explorer", "planner", "rounds", "eta", "xi")
    sharing = ("all",)
    source = "memory"
    explorer = "bonus"
    space = searched(
        theory=("explore_scale=0.001:1:log", "bonus_scale=1e-4:1:log"),
        practical=("explore_scale=0.1:10:log", "beta_scale=0.03:30:log"),
    )

    def _start(self, choices: Choices) -> RewardFreeState:
        spec, H, K, m = self.spec, self.spec.horizon, self.episodes, self.spec.n_constraints
        p = choices.probability()
        error, width, written = order(spec, self.dimension if self.phi is not None else 0, K, p)
        begin = self._regression(choices, 1, theory=(width, written), practical=0.3)
        explorer = choices.word("explorer", self.explorer, EXPLORERS, "what the learner is")
        best = (K * math.sqrt(error) / (2 * H)) ** (2 / 3)
        explore = choices.number("explore", (best, "(K√C/(2H))^(2/3)"), (0.5 * K ** (2 / 3), "K^(2/3)/2"), above=0.0)
        choices.values["explore"] = explore = min(max(round(explore), 1), K)
        planner = choices.word(
            "planner", "game" if choices.theory else "simplex", PLANNERS, "as printed" if choices.theory else "exact"
        )
        rounds = choices.count("rounds", (math.ceil(K ** (2 / 3)), "K^(2/3)"), most=10**7)
        xi = choices.number("xi", (2 * H / choices.gap(), "2H/γ" + ("" if choices.slater_gap else ", γ unknown taken as 1")))
        eta = choices.number("eta", (xi / (H * math.sqrt(rounds)), "ξ/(H√T)"))
        shared, S, A = choices.values["share"] == "all", spec.n_states, spec.n_actions
        return RewardFreeState(
            gram=empty_gram(spec, self.phi, 2 + m, choices.values["lam"], shared=shared), explorer=begin.tables,
            means=empty_tables(spec, 2 + m), rule=begin.rule, rows=new_rows(H, S, A, 1 + m, shared=shared),
            phase=PhaseRule(explore, EXPLORERS.index(explorer), PLANNERS.index(planner), rounds, eta, xi),
            basis=new_basis(H, S, A, m), policy=begin.tables.policy, Y=np.zeros(m), nobody=np.zeros(0),
            episode=np.zeros((H, 2 + m)), tally=np.zeros(2, dtype=np.int64), b=spec.thresholds.copy(), start=spec.start.copy(),
            available=spec.available.copy(),
        )  # fmt: skip

    def plan_for(
        self,
        thresholds: ArrayLike | None = None,
        *,
        reward: ArrayLike | None = None,
        utilities: ArrayLike | None = None,
        planner: str | None = None,
    ) -> FoundPlan:
        """Plan for any constraints on what was explored, without new data; the learner itself stays as it is.

        Args:
            thresholds: b (m,), or a number for one constraint; None for the problem's own.
            reward: (H,S,A) what to maximise; None for what was estimated.
            utilities: (m,H,S,A), or (H,S,A) for one, in [0,1]; None for what was estimated. Their number may be another.
            planner: "game" or "simplex"; None for the learner's own.

        Raises:
            InputError: nothing was explored yet, or a shape or a number is none that can be planned for.
        """
        state, spec = self._state, self.spec
        if state.tally[PLAYED] == 0:
            raise InputError("no episode was explored yet; plan_for needs the data of at least 1")
        H, S, A = spec.horizon, spec.n_states, spec.n_actions
        given = None if utilities is None else _table("utilities", utilities, (H, S, A))
        m = spec.n_constraints if given is None else len(given)
        b = state.b if thresholds is None else _thresholds(thresholds)
        if len(b) != m:
            raise InputError(f"thresholds has {len(b)} numbers; there are {m} utilities")
        name = PLANNERS[state.phase.planner] if planner is None else planner
        if name not in PLANNERS:
            raise InputError(f"planner is {name!r}; expected {' or '.join(map(repr, PLANNERS))}")
        own = new_rows(H, S, A, 1 + spec.n_constraints, shared=len(state.rows.rest) == 1)
        fill_moves(state.gram, empty_tables(spec, 1), own)
        fill_worth(state.gram, empty_tables(spec, 2 + spec.n_constraints), own)
        worth = np.zeros((H, S, A, 1 + m))
        worth[..., 0] = own.worth[..., 0] if reward is None else _table("reward", reward, (H, S, A))[0]
        worth[..., 1:] = own.worth[..., 1:] if given is None else np.moveaxis(given, 0, -1)
        basis, policy, Y = new_basis(H, S, A, m), np.zeros((H, S, A)), np.zeros(m)
        phase = state.phase._replace(planner=PLANNERS.index(name))
        commit(own._replace(worth=worth), (state.start, b, state.available), Y, basis, policy, phase)
        found = basis.found
        return FoundPlan(policy, float(found[0]), found[1 : 1 + m].copy(), Y, max(float(found[1 + m]), 0.0))

    def notes(self) -> dict[str, float]:
        """How many episodes explored, and what the constraints lack in the plan (0 before there is one)."""
        tally, found = self._state.tally, self._state.basis.found
        return {"explored": float(min(tally[PLAYED], self._state.phase.explore)), "planned lack": float(max(found[-1], 0.0))}


@register
class ExploreThenCommit(RewardFree):
    """``explore-then-commit``: a uniform policy at first, then one plan on its data."""

    name = "explore-then-commit"
    summary = "explore-then-commit: uniform actions at first, then the plan of reward-free on these data"
    promise = ("-", "-")
    explorer = "uniform"


def order(spec: Spec, d: int, K: int, p: float) -> tuple[float, float, str]:
    """C, so that plans are √(C/K₀)-good after K₀ episodes; β of the explorer; and how β is written.

    Args:
        spec: has the sizes.
        d: the dimension of φ; 0 for tables.
        K: the number of episodes.
        p: the probability that the guarantees fail.
    """
    H, S, A = spec.horizon, spec.n_states, spec.n_actions
    if d > 0:
        return d**3 * H**6 * math.log(d * H * K / p), theory_beta(d, H, K, p), "d·H·√log(2dT/p)"
    iota = math.log(S * A * H * K / p)
    return min(spec.n_constraints, S) * S * A * H**4 * iota, H * math.sqrt(S * iota), "H√(S log(SAHK/p))"


def _table(name: str, value: ArrayLike, shape: tuple[int, int, int]) -> Array:
    """(n,H,S,A) finite numbers; a table alone is the first of one."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers: {error}") from None
    array = array[None] if array.ndim == 3 else array
    if array.ndim != 4 or array.shape[1:] != shape or len(array) == 0:
        raise InputError(f"{name} has shape {np.shape(value)}; expected {shape}, the steps, states and actions")
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise InputError(f"{name} has {array.flat[int(np.argmin((array >= 0.0) & (array <= 1.0)))]}; expected values in [0, 1]")
    return array


def _thresholds(value: ArrayLike) -> Array:
    try:
        b = np.atleast_1d(np.array(value, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"thresholds is not an array of numbers: {error}") from None
    if b.ndim != 1 or not np.isfinite(b).all():
        raise InputError(f"thresholds is {value!r}; expected a finite number for each utility")
    return b


register_kernels(RewardFreeState, plan, update)
