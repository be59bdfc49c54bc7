r"""What the learners share that plan by a linear program on the model they estimate: state, plan, update, when to plan anew.

Let n count visits before the episode, p̂ and ĵ be the empirical transitions and means, ρ(x,a,x') the radius of a transition
probability by the learner's ``interval``. Every learner of this kind plays a solution of the program of
:mod:`noregret.kernels.steps.programs` with

    f_j = ĵ + local_j/√n + spread_j Σ_x' ρ(x,a,x')     for the reward and each utility (minus signs are pessimism)
    lower, upper = p̂ ∓ scale·ρ, clipped to [0,1]       (scale 0: the one model p̂)

Its numbers local, spread, scale and L (the logarithm in ρ) are what a paper is. A pair never tried counts as n = 1 with ĵ = 0,
as the papers have it (n v 1), but an optimistic f_j has ``top`` on top: what the pair could be worth. Where the model is a
box, ``top`` is 1 and the pair may lead anywhere. Where it is p̂ alone, ``top`` is H−h+1 and the episode ends there. Without
this an untried pair would be believed to be worth nothing as soon as a bonus is scaled down. For the same reason a pair may
count as untried until it was tried ``tries`` times: one unlucky visit and a small bonus would rule it out.

The papers have a model for each step. With ``share`` "transitions" all steps have one p̂, with "all" also one r̂ and ĝ: for
worlds whose laws do not change with the step, and H times the data.

``replan`` says when the program is solved: before every episode ("always"), when some n(h,x,a) has doubled since the last plan
("doubling"), then and also after 1, 4, 9, 16, ... episodes ("squares"), or by the paper's own schedule ("epochs" of fixed
length, "rounds" that begin with a safe episode). Between two plans the policy stands. A plan that shuns a pair by bad luck
keeps the count of that pair from doubling; with "squares" it stands for 2√k episodes and not for k. A program that cannot be
met is answered by the policy that lacks least, or by the safe policy of a learner that is told one.

By ``benchmarks/learners.py`` a plan takes 0.10 to 0.14 ms on job scheduling (S = 10, A = 2, H = 10; posterior sampling 0.2),
0.03 on streaming, 0.4 to 0.6 on a random problem with S = 20, A = 4, H = 10 (1.4), and HiGHS takes 90 ms and 6 ms for the first
two as printed, from nothing. An episode without a plan takes 1 µs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.compiler.flat import put, row
from noregret.kernels.compiler.jit import add_body, by_type, jit
from noregret.kernels.gram.base import learn
from noregret.kernels.gram.one_hot import OneHotGram
from noregret.kernels.steps.empirical import empirical_model
from noregret.kernels.steps.primal_dual import start_value
from noregret.kernels.steps.programs import Basis, Rows, mixture, solve, utilities_of
from noregret.kernels.steps.programs import basis as new_basis
from noregret.kernels.steps.programs import rows as new_rows
from noregret.kernels.types import COUNTS, Array, Flags, Integers
from noregret.learners.presets import Resolved, told_safe_policy
from noregret.learners.programs.plan_rule import ALWAYS, DOUBLING, EPOCHS, REPLAN, SQUARES, PlanRule, Program, interval
from noregret.learners.tabular import TabularLearner, known_of, steps_left

#: Entries of ``tally``: episodes played, whether a plan is wanted, plans, plans that could not be met, whether the safe
#: policy is to be played, episodes that played it, the round and the episode in it.
PLAYED, WANTED, PLANS, UNMET, SAFE, SAFE_PLAYS, ROUND, WITHIN = range(8)


class ModelBelief(Protocol):
    """What a plan believes of the transitions: :class:`Means`, or what a model is drawn from."""

    @property
    def prior(self) -> float:
        """κ, what is believed of every next state before any data."""


class Means(NamedTuple):
    """The model of a plan is what was found."""

    prior: float = 0.0  # κ: nothing is believed beside the data


class PlanState(NamedTuple):
    """What the next episode needs. J = 1 + m objectives; ``model`` is of transitions only."""

    model: OneHotGram
    rows: Rows
    basis: Basis
    policy: Array  # (H,S,A)
    Y: Array  # (m,) the prices of the last program that was met
    prices: Array  # (m,)
    sums: Array  # (F,S,A,1+J) visits, and sums of reward and utilities; F = H, or 1 when steps share these too
    counted: Array  # (F,S,A) visits at the last plan
    tally: Integers  # (8,)
    safe: Array  # (H,S,A), or (0,0,0)
    b: Array  # (m,)
    start: Array  # (S,)
    available: Flags  # (H,S,A)
    rule: PlanRule
    belief: ModelBelief
    uniforms: Array  # (n,) what a belief draws with

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that count, and the least and largest number each may hold."""
        return {"tally": COUNTS}


@jit
def set_row(model: OneHotGram, rows: Rows, rule: PlanRule, pair: tuple[int, int, int]) -> float:
    """Set where a pair may lead.

    Args:
        model: the data.
        rows: the program's, changed in place.
        rule: the learner's numbers.
        pair: (row, state, action).

    Returns:
        Σ ρ over the next states.
    """
    g, s, a = pair
    lower, room, S, n, seen = rows.lower[g, s, a], rows.room[g, s, a], len(rows.value), model.visits[g, s, a], 0
    if n >= rule.tries:
        seen = model.successors[g, s, a]
    else:
        n = 0.0
    rho = interval(rule.interval, 0.0, max(n, 1.0), rule.L)
    lower[:] = 0.0
    room[:] = 1.0 if rule.boxed and n == 0.0 else min(rule.scale * rho, 1.0)
    rest, total = 1.0, (S - seen) * rho
    for place in range(seen):
        x, p = model.successor[g, s, a, place], model.times[g, s, a, place] / n
        rho = interval(rule.interval, p, n, rule.L)
        total += rho
        lower[x] = max(p - rule.scale * rho, 0.0)
        room[x] = min(p + rule.scale * rho, 1.0) - lower[x]
        rest -= lower[x]
    rows.rest[g, s, a] = max(rest, 0.0) if rule.boxed else 0.0
    return total


@jit
def refresh(model: OneHotGram, sums: Array, rows: Rows, rule: PlanRule) -> None:
    """Make the rows of the program from the data.

    Args:
        model: the transitions.
        sums: visits and sums of reward and utilities.
        rows: the program's, changed in place.
        rule: the learner's numbers.
    """
    H, S, A, J = rows.worth.shape
    for h in range(H):
        g, f = row(model.visits, h), row(sums, h)
        for s in range(S):
            for a in range(A):
                n, total = sums[f, s, a, 0], set_row(model, rows, rule, (g, s, a))
                more, known = 0.0, 1.0
                if n < rule.tries:
                    n, more, known = 1.0, 1.0 if rule.boxed or model.visits[g, s, a] >= rule.tries else rule.top[h], 0.0
                for j in range(J):
                    rows.worth[h, s, a, j] = (
                        known * sums[f, s, a, 1 + j] / n
                        + rule.local[j] / np.sqrt(n)
                        + rule.spread[j] * total
                        + rule.hope[j] * more
                    )


@by_type
def believe(belief: ModelBelief, state: PlanState) -> None:
    """Put what is believed in the place of the estimated model."""


def means(belief: Means, state: PlanState) -> None:
    """The estimated model stands."""


add_body(believe, Means, means)


@jit
def safe_is_certain(state: PlanState) -> bool:
    """Whether the safe policy has V_g > b + margin in the program's model, or there is no such test."""
    margin = state.rule.margin
    if margin == -np.inf:
        return True
    utilities_of(state.rows, state.safe, state.basis)
    for i in range(len(state.b)):
        if start_value(state.basis.V, 1 + i, state.start) <= state.b[i] + margin:
            return False
    return True


@jit
def solve_program(state: PlanState) -> None:
    """Play the solution of the program; the safe policy, or else the policy that lacks least, where there is none."""
    tally, policy, safe, Y, prices = state.tally, state.policy, state.safe, state.Y, state.prices
    tally[WANTED], tally[SAFE] = 0, 0
    tally[PLANS] += 1
    met = safe_is_certain(state)
    if met:
        put(prices, Y)
        met = solve(state.rows, state.start, state.b, state.available, prices, state.basis)
        if met:
            put(Y, prices)
        if met or len(safe) == 0:
            mixture(state.basis, policy)
    if not met:
        tally[UNMET] += 1
        if len(safe) > 0:
            put(policy, safe)
            tally[SAFE] = 1


def plan(state: PlanState) -> None:
    """Solve the program if a plan is wanted; else play the safe policy if that is, else the policy stands."""
    if state.tally[WANTED] == 1:
        refresh(state.model, state.sums, state.rows, state.rule)
        believe(state.belief, state)
        solve_program(state)
        note_counts(state.counted, state.sums)
    elif state.tally[SAFE] == 1:
        put(state.policy, state.safe)


@jit
def note_counts(counted: Array, sums: Array) -> None:
    """Keep the visits of a plan."""
    F, S, A = counted.shape
    for f in range(F):
        for s in range(S):
            for a in range(A):
                counted[f, s, a] = sums[f, s, a, 0]


@jit
def take_in(sums: Array, states: Integers, actions: Integers, observed: Array) -> None:
    """Count visits, and sum up reward and utilities.

    Args:
        sums: (F,S,A,1+J) changed in place.
        states: (H+1,) the states visited.
        actions: (H,) the actions taken.
        observed: (H,J) the reward and the utilities of each step.
    """
    for h in range(len(actions)):
        at = sums[row(sums, h), states[h], actions[h]]
        at[0] += 1.0
        for j in range(observed.shape[1]):
            at[1 + j] += observed[h, j]


@jit
def schedule(tally: Integers, rule: PlanRule, sums: Array, counted: Array, states: Integers, actions: Integers) -> None:
    """Count the episode, and say whether a plan is wanted before the next one, or the safe policy.

    Args:
        tally: (8,) the learner's, changed in place.
        rule: its numbers.
        sums: (F,S,A,1+J), with how often each pair was tried.
        counted: (F,S,A) the same at the last plan.
        states: (H+1,) the states visited.
        actions: (H,) the actions taken.
    """
    tally[PLAYED] += 1
    tally[SAFE_PLAYS] += tally[SAFE]
    if tally[PLAYED] <= rule.first:
        tally[WANTED] = 1 if tally[PLAYED] == rule.first else 0
    elif rule.replan == ALWAYS:
        tally[WANTED] = 1
    elif rule.replan == DOUBLING or rule.replan == SQUARES:
        if rule.replan == SQUARES and round(np.sqrt(tally[PLAYED])) ** 2 == tally[PLAYED]:
            tally[WANTED] = 1
        for h in range(len(actions)):
            f, s, a = row(sums, h), states[h], actions[h]
            if sums[f, s, a, 0] >= max(2.0 * counted[f, s, a], 1.0):
                tally[WANTED] = 1
    elif rule.replan == EPOCHS:
        tally[WANTED] = 1 if tally[PLAYED] % rule.length == 0 else 0
    else:
        tally[WITHIN] += 1
        if tally[WITHIN] > tally[ROUND]:  # round i, from 0: one safe episode, then i of the plan
            tally[ROUND] += 1
            tally[WITHIN] = 0
        tally[SAFE] = 1 if tally[WITHIN] == 0 else tally[SAFE]
        tally[WANTED] = 1 if tally[WITHIN] == 1 else 0


def update(state: PlanState, states: Integers, actions: Integers, observed: Array) -> None:
    """Take in the episode.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    learn(state.model, states, actions, observed)
    take_in(state.sums, states, actions, observed)
    schedule(state.tally, state.rule, state.sums, state.counted, states, actions)


class PlanningLearner(TabularLearner, ABC):
    """A learner that plans by a linear program. A subclass says its numbers."""

    @abstractmethod
    def numbers(self, c: Resolved) -> Program:
        """What the program of this learner is made of."""

    def belief(self, c: Resolved) -> tuple[ModelBelief, int]:
        """What a plan believes, and how many random numbers it takes: the estimated model, and none."""
        return Means(), 0

    def begin(self, c: Resolved) -> PlanState:
        """No data; the uniform policy, or the safe one of a learner that begins with it."""
        spec = self.spec
        H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
        safe = np.zeros((0, 0, 0))
        if "safe_policy" in self.told:
            safe = told_safe_policy(self.name, self.handed.get("safe_policy"), spec.available)
            self.constants["told"], self.explain["told"] = "a safe policy", "the paper's algorithm begins with one"
        numbers: Program = {"spread": np.zeros(1 + m), "hope": np.ones(1 + m), **self.numbers(c)}
        top = np.ones(H) if numbers.get("boxed") else steps_left(spec)
        rule = PlanRule(**numbers, top=top, replan=REPLAN.index(c.replan), tries=float(c.tries))
        tally = np.zeros(8, dtype=np.int64)
        begins_safe = rule.first > 0 or c.replan == "rounds"
        tally[SAFE if begins_safe else WANTED] = 1
        shared, F = c.share != "nothing", 1 if c.share == "all" else H
        belief, uniforms = self.belief(c)
        return PlanState(
            model=empirical_model(H, S, A, 1 + m, shared=shared),
            rows=new_rows(H, S, A, 1 + m, shared=shared),
            basis=new_basis(H, S, A, m),
            policy=safe.copy() if begins_safe else spec.available / spec.available.sum(axis=2, keepdims=True),
            Y=np.zeros(m),
            prices=np.zeros(m),
            sums=np.zeros((F, S, A, 2 + m)),
            counted=np.zeros((F, S, A)),
            tally=tally,
            safe=safe,
            b=spec.thresholds.copy(),
            **known_of(spec),
            rule=rule,
            belief=belief,
            uniforms=np.zeros(uniforms),
        )

    def notes(self) -> dict[str, float]:
        """How many plans were made, how many of them could not be met, and how many episodes played the safe policy."""
        tally = self._state.tally
        return {"plans": float(tally[PLANS]), "unmet plans": float(tally[UNMET]), "safe plays": float(tally[SAFE_PLAYS])}


register_kernels(PlanState, plan, update)
