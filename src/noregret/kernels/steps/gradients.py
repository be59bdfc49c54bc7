r"""Policy-gradient and saddle-point steps on a model, for learners with a simulator and for solvers that know the truth.

The model is a :class:`~noregret.kernels.gram.one_hot.OneHotGram`: of draws for a learner, of the true probabilities for a
solver (:func:`exact_model`). So the step of a learner and the exact step are one function.

Finite-horizon forms: at step h a natural gradient step on soft-max policies is π_h(a|x) ← ∝ π_h(a|x) exp(α Q_h(x,a)), since the
visitation of each step sums to 1 (in the discounted papers it carries a factor 1/(1−γ)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import States, estimate, everyone
from noregret.kernels.gram.one_hot import OneHotGram, one_hot_gram
from noregret.kernels.steps.mirror import mirror_step, policy_value
from noregret.kernels.steps.primal_dual import dual_move, start_value
from noregret.kernels.types import COUNTS, Array, Flags, Integers, Stream
from noregret.kernels.worlds.draws import uniform
from noregret.kernels.worlds.simulator import Simulator, rollouts, sample_model, simulate_next
from noregret.kernels.worlds.world import CompiledWorld
from noregret.problems.base import Spec


class Iterate(NamedTuple):
    """A policy and its prices on a model; J = 1 + m objectives."""

    model: OneHotGram
    where: States  # all states
    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S), zero at H
    policy: Array  # (H,S,A)
    logits: Array  # (H,S,A) weights as logarithms
    Y: Array  # (m,)
    b: Array  # (m,)
    start: Array  # (S,)
    available: Flags  # (H,S,A)


class Flow(NamedTuple):
    """An occupancy x on the simplex of each step, which need not flow yet, and the gradients at it."""

    x: Array  # (H,S,A)
    mean: Array  # (H,S,A) the average of x so far
    slope: Array  # (H,S,A) the gradient in x
    lack: Array  # (H+1,S) what flows into a state less what x has there: the gradient in v
    reached: Array  # (m,) ⟨x,g_i⟩
    top: Array  # (H,) the most that v may be
    steps: Integers  # (1,) how many were made

    def limits(self) -> dict[str, tuple[int, int]]:
        """Fields that count, and the least and largest number each may hold."""
        return {"steps": COUNTS}


class FlowRule(NamedTuple):
    """The constants of :func:`flow_step`."""

    alpha: float
    eta: float
    eta_v: float
    xi: float
    kappa: float  # what is added to the thresholds


def iterate_on(model: OneHotGram, spec: Spec) -> Iterate:
    """The uniform policy and no prices, on a model."""
    H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
    return Iterate(
        model=model,
        where=everyone(S),
        Q=np.zeros((H, 1 + m, S, A)),
        V=np.zeros((H + 1, 1 + m, S)),
        policy=spec.available / spec.available.sum(axis=2, keepdims=True),
        logits=np.zeros((H, S, A)),
        Y=np.zeros(m),
        b=spec.thresholds.copy(),
        start=spec.start.copy(),
        available=spec.available.copy(),
    )


def flow_on(iterate: Iterate, xi: float) -> Flow:
    """X uniform over the available pairs of each step; v may be as large as a value of the Lagrangian with prices up to ξ."""
    H, S, A = iterate.available.shape
    m = len(iterate.b)
    x = iterate.available / iterate.available.sum(axis=(1, 2), keepdims=True)
    top = np.arange(H, 0.0, -1.0) * (1.0 + m * xi)
    shape = (H, S, A)
    return Flow(
        x,
        x.copy(),
        np.zeros(shape),
        np.zeros((H + 1, S)),
        np.zeros(m),
        top,
        np.zeros(1, dtype=np.int64),
    )


def exact_model(world: CompiledWorld) -> OneHotGram:
    """The true probabilities and means as a model: every pair visited once, next states seen as often as they are likely."""
    H, S, A, J = world.mean.shape
    model = one_hot_gram(H, S, A, J, 1.0)
    model.visits[:] = 1.0
    model.fit[..., 0], model.fit[..., 1], model.fit[..., 2:] = 1.0, 0.0, world.mean
    counts = np.diff(world.first)
    place = np.concatenate([np.arange(n) for n in counts])
    where = np.repeat(np.arange(H * S * A), counts)
    model.successors[:] = counts.reshape(H, S, A)
    model.successor.reshape(H * S * A, S)[where, place] = world.successor
    model.times.reshape(H * S * A, S)[where, place] = world.chance
    model.known[:], model.actives[:], model.active[:] = True, S, np.arange(S)
    return model


@jit
def evaluate_on_model(iterate: Iterate) -> None:
    """Q_j,h ← mean + P̂ V_j,h+1 and V_j,h ← ⟨π_h, Q_j,h⟩ for the policy at hand."""
    for h in range(len(iterate.Q) - 1, -1, -1):
        estimate(iterate.model, h, iterate, 0.0, (-np.inf, np.inf))
        policy_value(iterate.where, h, iterate)


@jit
def evaluate_by_draws(simulator: Simulator, iterate: Iterate, rolled: bool, draws: int, stream: Stream) -> None:
    """Q and V of the policy at hand: by rollouts, or on the model, which first takes in new draws from every pair.

    Args:
        simulator: what is drawn from.
        iterate: the policy, its model, and the tables that are filled.
        rolled: whether rollouts are averaged; the model then has no part.
        draws: rollouts, or draws, from each (h,x,a).
        stream: where random numbers come from.
    """
    if rolled:
        rollouts(simulator, iterate, draws, stream)
        for h in range(len(iterate.Q)):
            policy_value(iterate.where, h, iterate)
    else:
        sample_model(simulator, iterate.model, iterate.available, draws, stream)
        evaluate_on_model(iterate)


@jit
def npg_pd_step(iterate: Iterate, alpha: float, eta: float, xi: float) -> None:
    """NPG-PD: π_h ← ∝ π_h exp(α (Q_r + Σ_i Y_i Q_gi)), then Y_i ← clip(Y_i + η (b_i − V_gi), 0, ξ)."""
    for h in range(len(iterate.Q)):
        mirror_step(iterate.where, h, iterate, iterate.Y, alpha, 0.0, 1.0, 1.0)
    for i in range(len(iterate.Y)):
        iterate.Y[i] = dual_move(iterate.Y[i], iterate.b[i] - start_value(iterate.V, 1 + i, iterate.start), eta, xi)


@jit
def crpo_choose(iterate: Iterate, prices: Array, tol: float, u: float) -> int:
    """CRPO's choice: 0, the reward, if every V_gi ≥ b_i − tol, else i, from 1, a violated constraint by the uniform u.

    ``prices`` (m,) is filled with 1 for the constraint that was chosen, and 0 for all others.
    """
    m, violated = len(iterate.b), 0
    for i in range(m):
        prices[i] = 1.0 if start_value(iterate.V, 1 + i, iterate.start) < iterate.b[i] - tol else 0.0
        violated += int(prices[i])
    skip, chosen = int(u * violated), 0
    for i in range(m):
        if prices[i] > 0.0:
            if skip == 0:
                chosen = 1 + i
            else:
                prices[i] = 0.0
            skip -= 1
    return chosen


@jit
def crpo_move(iterate: Iterate, tally: Integers, prices: Array, chosen: int, alpha: float) -> None:
    """CRPO's step: π_h ← ∝ π_h exp(α Q_h) for what was chosen.

    ``tally`` (1+m,) counts the steps; Y_i is the price that they amount to: steps for constraint i over steps for the reward.
    """
    reward = 0.0 if chosen > 0 else 1.0
    for h in range(len(iterate.Q)):
        mirror_step(iterate.where, h, iterate, prices, alpha, 0.0, 1.0, reward)
    tally[chosen] += 1
    for i in range(len(iterate.Y)):
        iterate.Y[i] = tally[1 + i] / max(tally[0], 1)


@jit
def flow_gradient(iterate: Iterate, flow: Flow) -> None:
    """The gradients at x, v and Y on the model: slope, lack and reached. Here V_0 is v, and all other V are 0.

    slope_h(s,a) = r + Σ_i Y_i g_i + P v_h+1 − v_h(s),    lack_h(s) = inflow of s at h − Σ_a x_h(s,a),    reached_i = ⟨x,g_i⟩
    """
    H, J, S, A = iterate.Q.shape
    model, x = iterate.model, flow.x
    begin_gradient(iterate, flow)
    for h in range(H):
        estimate(model, h, iterate, 0.0, (-np.inf, np.inf))
        for s in range(S):
            for a in range(A):
                flow.slope[h, s, a] = iterate.Q[h, 0, s, a] - iterate.V[h, 0, s]
                for j in range(1, J):
                    flow.slope[h, s, a] += iterate.Y[j - 1] * iterate.Q[h, j, s, a]
                    flow.reached[j - 1] += x[h, s, a] * iterate.Q[h, j, s, a]
                weight = x[h, s, a] * model.fit[h, s, a, 0]
                for place in range(model.successors[h, s, a]):
                    flow.lack[h + 1, model.successor[h, s, a, place]] += weight * model.times[h, s, a, place]


@jit
def begin_gradient(iterate: Iterate, flow: Flow) -> None:
    """No slope, nothing reached, and of the lack what needs no model: the start, and Σ_a x."""
    H, S, A = flow.x.shape
    flow.slope[:] = 0.0
    flow.reached[:] = 0.0
    for s in range(S):
        for h in range(H + 1):
            flow.lack[h, s] = iterate.start[s] if h == 0 else 0.0
            for a in range(A if h < H else 0):
                flow.lack[h, s] -= flow.x[h, s, a]


@jit
def sample_gradient(simulator: Simulator, iterate: Iterate, flow: Flow, spread: float, draws: int, stream: Stream) -> None:
    """The same gradients, unbiased, from ``draws`` pairs a step, each from (1−spread)·x_h + spread/N, N available pairs.

    Args:
        simulator: what is drawn from.
        iterate: has v and Y.
        flow: has x; its gradients are filled.
        spread: the share of the draws that is even over the available pairs.
        draws: how many pairs are drawn at each step.
        stream: where random numbers come from.
    """
    H, J, S, A = iterate.Q.shape
    begin_gradient(iterate, flow)
    for h in range(H):
        pairs = 0
        for s in range(S):
            for a in range(A):
                pairs += iterate.available[h, s, a]
        for _ in range(draws):
            u, total, s, a, chance = uniform(stream), 0.0, 0, 0, 1.0
            for pair in range(S * A):
                if iterate.available[h, pair // A, pair % A]:
                    s, a = pair // A, pair % A
                    chance = (1.0 - spread) * flow.x[h, s, a] + spread / pairs
                    total += chance
                    if total > u:
                        break
            y = np.int64(simulate_next(simulator, h, (s, a), stream))
            worth, weight = simulator.outcome[0, 0] - iterate.V[h, 0, s], flow.x[h, s, a] / (chance * draws)
            if h + 1 < H:
                worth += iterate.V[h + 1, 0, y]
            for j in range(1, J):
                worth += iterate.Y[j - 1] * simulator.outcome[0, j]
                flow.reached[j - 1] += weight * simulator.outcome[0, j]
            flow.slope[h, s, a] += worth / (chance * draws)
            flow.lack[h + 1, y] += weight


@jit
def flow_step(iterate: Iterate, flow: Flow, rule: FlowRule) -> None:
    """X ← ∝ x exp(α slope) on the simplex of each step, v ← clip(v − η_v lack), Y_i ← clip(Y_i + η (b_i + κ − ⟨x,g_i⟩), 0, ξ).

    The policy is that of the average of all x so far, this one included.
    """
    H, S, A = flow.x.shape
    x, logits = flow.x, iterate.logits
    flow.steps[0] += 1
    for h in range(H):
        best, total = -np.inf, 0.0
        for s in range(S):
            for a in range(A):
                if iterate.available[h, s, a]:
                    logits[h, s, a] += rule.alpha * flow.slope[h, s, a]
                    best = max(best, logits[h, s, a])
        for s in range(S):
            iterate.V[h, 0, s] = dual_move(iterate.V[h, 0, s], -flow.lack[h, s], rule.eta_v, flow.top[h])
            for a in range(A):
                if iterate.available[h, s, a]:
                    logits[h, s, a] -= best
                    x[h, s, a] = np.exp(logits[h, s, a])
                    total += x[h, s, a]
        for s in range(S):
            mass = 0.0
            for a in range(A):
                x[h, s, a] /= total
                flow.mean[h, s, a] += (x[h, s, a] - flow.mean[h, s, a]) / (flow.steps[0] + 1.0)
                mass += flow.mean[h, s, a]
            for a in range(A):
                iterate.policy[h, s, a] = flow.mean[h, s, a] / mass
    for i in range(len(iterate.Y)):
        iterate.Y[i] = dual_move(iterate.Y[i], iterate.b[i] + rule.kappa - flow.reached[i], rule.eta, rule.xi)
