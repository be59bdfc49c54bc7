r"""Reward-free learning (Miryoosefi, Jin 2022): explore once without a look at rewards, then plan for any constraint.

Phase 1 explores for K₀ episodes. Let φ be the features (one-hot for tables), Λ_h = λI + Σ_τ φ_τφ_τᵀ. From W_{H+1} = 0 on,

    W_h(x,a) = min{ ⟨Λ_h⁻¹ Σ_τ φ_τ max_a W_{h+1}(x'_τ,a), φ⟩ + β‖φ‖_{Λ_h⁻¹}, cap }

with the ``cap`` of the table (H in ``theory``, as printed), and the policy is greedy on W: the bonus is all the reward there
is, so it goes where least is known (VI-Zero for tables, the explorer of Wang et al. for features). What is observed of reward
and utilities is kept, and nobody looks.

Phase 2 plans on these data, without a bonus, and plays its policy to the end. By ``planner``:

- "game": T rounds of π^t = best policy for Y^t in the estimated model, Y^{t+1} = clip(Y^t + η(b − V̂_g), 0, ξ) with
  its V̂_g, ξ = 2H/γ, η = ξ/(H√T). The output is the uniform mixture of the π^t, as the one policy that has their mean
  occupancies in the estimated model (:mod:`noregret.kernels.steps.commitment`). This is a Lagrangian form, not the printed
  one. The paper's game moves a direction θ of the unit ball by η_t = 1/(H√t), to push the vector of values into a set; it
  learns that vector by one real episode a round, and halves the interval of the best reward, a game for each.
- "simplex": the same program, solved exactly (:mod:`noregret.kernels.steps.programs`).

:meth:`RewardFree.plan_for` plans for other thresholds, rewards and utilities, any number of them, on the same data.

The paper is PAC: with K₀ episodes all plans are ε-good, ε² = C/K₀, where to order C = min(m,S) SAH⁴ι for tables, d³H⁶ι for
features, ι = log(SAHK/p) or log(dHK/p). Committed after K₀ of K episodes it loses at most HK₀ + Kε, least for
K₀ = (K√C/(2H))^(2/3): regret and violation T^(2/3) in place of √T.

``explore-then-commit`` is the same learner with a uniform policy in phase 1. It is another system: what a bonus finds in H
steps may take a random walk A^H episodes, so the table shows what exploring on purpose is worth.

Deviations: λ in phase 2 too, so a pair never tried is worth nothing there. For tables the paper has min(1+m, S) in
place of S in β², a second bonus H²Sι/n, no λ, and plans on the model of the episode whose W_1 was least; here it is the last
model. For features the paper adds bonus/H to the bonus, and plans with a bonus too. Source: the paper, line by line.

References:
    Miryoosefi, Jin. A Simple Reward-Free Approach to Constrained Reinforcement Learning. ICML 2022, arXiv 2107.05216.
    Liu, Yu, Bai, Jin. A Sharp Analysis of Model-based Reinforcement Learning with Self-Play. ICML 2021 (VI-Zero).
    Wang, Du, Yang, Salakhutdinov. On Reward-Free Reinforcement Learning with Linear Function Approximation. NeurIPS 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError
from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.compiler.flat import fill
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import Tables, learn
from noregret.kernels.steps.commitment import fill_moves, fill_worth, play_game
from noregret.kernels.steps.programs import Basis, Rows, mixture, solve
from noregret.kernels.steps.programs import basis as new_basis
from noregret.kernels.steps.programs import rows as new_rows
from noregret.kernels.types import COUNTS, GramOfStates, Integers
from noregret.learners.arrays import numbers
from noregret.learners.lsvi.least_squares import RIDGE, LeastSquaresLearner
from noregret.learners.lsvi.primal_dual import backward
from noregret.learners.lsvi.rule import Rule
from noregret.learners.lsvi.sharing import empty_gram, empty_tables
from noregret.learners.presets import FOUND, PROBABILITY, Constants, Count, Number, Resolved, Word, sharing
from noregret.learners.registry import register
from noregret.learners.tabular import known_of
from noregret.problems.base import Array

#: Planners of phase 2, and explorers of phase 1, in the order of their numbers in the state.
PLANNERS, EXPLORERS = ("game", "simplex"), ("bonus", "uniform")

#: Entries of ``tally``: episodes played, whether the plan is made.
PLAYED, COMMITTED = range(2)


#: C, so that plans are √(C/K₀)-good after K₀ episodes: for tables, and for features.
ORDER = "(min(m, S)*S*A*H**4*log(S*A*H*K/p) if one_hot else d**3*H**6*log(d*H*K/p))"

#: β of the explorer, for tables and for features.
WIDTH = "H*sqrt(S*log(S*A*H*K/p)) if one_hot else d*H*sqrt(log(2*d*K*H/p))"


def _whole(formula: str) -> str:
    """A number of episodes from 1 to K."""
    return f"min(max(round({formula}), 1), K)"


#: K₀, which loses least.
EXPLORE = _whole(f"(K*sqrt({ORDER})/(2*H))**(2/3)")


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

    gram: GramOfStates  # OneHotGram or TableGram
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

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that count, and the least and largest number each may hold."""
        return {"tally": COUNTS}


@partial(jit, inline=True)
def commit(
    rows: Rows, world: tuple[Array, Array, NDArray[np.bool_]], Y: Array, basis: Basis, policy: Array, phase: PhaseRule
) -> None:
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


def plan(state: RewardFreeState) -> None:
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


def update(state: RewardFreeState, states: Integers, actions: Integers, observed: Array) -> None:
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
    table = Constants(
        Number(
            "beta",
            theory=(WIDTH, "what exploring needs, for tables and for features"),
            tuned=("0.133*(H*sqrt(S*log(S*A*H*K/p)) if one_hot else d*H*sqrt(log(2*d*K*H/p)))", FOUND),
            practical=("1.09*(0.668*0.3)", FOUND),
        ),
        *(row for row in RIDGE if row.name != "share"),
        sharing("all"),
        Count(
            "explore",
            theory=(EXPLORE, "K₀, which loses least"),
            tuned=(f"max(1, round(0.22*({EXPLORE})))", FOUND),
            practical=("max(1, round(1.24*(min(max(round(0.89*(0.5*K**(2/3))), 1), K))))", FOUND),
        ),
        Word("planner", PLANNERS, theory=("game", "a game as in the paper, Lagrangian here"), practical=("simplex", "exact")),
        Count("rounds", most=10**7, every=("ceil(K**(2/3))", "T, as many as there are errors to be had")),
        Number("eta", every=("xi/(H*sqrt(rounds))", "by the width of the set; the paper's game has another step")),
        Number("xi", every=("2*H/gamma", "twice a bound on the dual; an unknown γ is taken as 1, but not by theory")),
        PROBABILITY,
    )
    explorer = "bonus"
    source = "paper"

    def begin(self, c: Resolved) -> RewardFreeState:
        """No data."""
        spec, start = self.spec, self.regression(c, 1)
        H, S, A, m, shared = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints, c.share == "all"
        return RewardFreeState(
            gram=empty_gram(spec, self.phi, 2 + m, c.lam, shared=shared),
            explorer=start.tables,
            means=empty_tables(spec, 2 + m),
            rule=start.rule,
            rows=new_rows(H, S, A, 1 + m, shared=shared),
            phase=PhaseRule(c.explore, EXPLORERS.index(self.explorer), PLANNERS.index(c.planner), c.rounds, c.eta, c.xi),
            basis=new_basis(H, S, A, m),
            policy=start.tables.policy,
            Y=np.zeros(m),
            nobody=np.zeros(0),
            episode=np.zeros((H, 2 + m)),
            tally=np.zeros(2, dtype=np.int64),
            b=spec.thresholds.copy(),
            **known_of(spec),
        )

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
    source = ""  # nobody's paper
    promise = ("-", "-")
    table = RewardFree.table.with_rows(
        Number(
            "beta", theory=(WIDTH, "not used"), tuned=(f"0.000304*({WIDTH})", FOUND), practical=("2.94*(0.0733*0.3)", FOUND)
        ),
        Count(
            "explore",
            theory=(EXPLORE, "as in reward-free"),
            tuned=(_whole(f"0.141*(K*sqrt({ORDER})/(2*H))**(2/3)"), FOUND),
            practical=("max(1, round(5.97*(min(max(round(0.785*(0.5*K**(2/3))), 1), K))))", FOUND),
        ),
    )
    explorer = "uniform"


def _table(name: str, value: ArrayLike, shape: tuple[int, int, int]) -> Array:
    """(n,H,S,A) finite numbers; a table alone is the first of one."""
    array = numbers(name, value)
    array = array[None] if array.ndim == 3 else array
    if array.ndim != 4 or array.shape[1:] != shape or len(array) == 0:
        raise InputError(f"{name} has shape {np.shape(value)}; expected {shape}, the steps, states and actions")
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise InputError(f"{name} has {array.flat[int(np.argmin((array >= 0.0) & (array <= 1.0)))]}; expected values in [0, 1]")
    return array


def _thresholds(value: ArrayLike) -> Array:
    b = np.atleast_1d(numbers("thresholds", value))
    if b.ndim != 1 or not np.isfinite(b).all():
        raise InputError(f"thresholds is {value!r}; expected a finite number for each utility")
    return b


register_kernels(RewardFreeState, plan, update)
