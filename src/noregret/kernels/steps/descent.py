"""Exact-gradient methods run to the end on a known problem: the steps of the learners, on a model of the true probabilities.

Row t of a trace (T,1+2m) has V_r, V_g and Y of the policy before step t. ``kept`` sums up the occupancies of the policies that
the method's output is the mixture of (:mod:`noregret.kernels.worlds.played`).
"""

from __future__ import annotations

from noregret.kernels.compiler.jit import jit
from noregret.kernels.steps.gradients import (
    Flow,
    FlowRule,
    Iterate,
    crpo_choose,
    crpo_move,
    evaluate_on_model,
    flow_gradient,
    flow_step,
    npg_pd_step,
)
from noregret.kernels.steps.primal_dual import start_value
from noregret.kernels.types import Array, Integers
from noregret.kernels.worlds.played import keep
from noregret.kernels.worlds.world import CompiledWorld, Scratch, evaluate


@jit
def note(iterate: Iterate, row: Array) -> None:
    """Write the values of the evaluated policy and its prices to a row of the trace."""
    m = len(iterate.Y)
    for j in range(1 + m):
        row[j] = start_value(iterate.V, j, iterate.start)
    for i in range(m):
        row[1 + m + i] = iterate.Y[i]


@jit
def run_npg_pd(
    iterate: Iterate, world: CompiledWorld, scratch: Scratch, kept: Array, rule: tuple[float, ...], trace: Array
) -> None:
    """NPG-PD with exact gradients; ``rule`` is (α, η, ξ), and all policies are kept."""
    alpha, eta, xi = rule
    for t in range(len(trace)):
        evaluate_on_model(iterate)
        note(iterate, trace[t])
        keep(world, iterate.policy, iterate.start, False, scratch, kept)
        npg_pd_step(iterate, alpha, eta, xi)


@jit
def run_crpo(
    iterate: Iterate,
    world: CompiledWorld,
    scratch: Scratch,
    kept: Array,
    rule: tuple[float, ...],
    trace: Array,
    tally: Integers,
    prices: Array,
) -> None:
    """CRPO with exact gradients; ``rule`` is (α, tol), the first violated constraint is chosen, those for the reward kept."""
    alpha, tol = rule
    for t in range(len(trace)):
        evaluate_on_model(iterate)
        note(iterate, trace[t])
        chosen = crpo_choose(iterate, prices, tol, 0.0)
        if chosen == 0:
            keep(world, iterate.policy, iterate.start, False, scratch, kept)
        crpo_move(iterate, tally, prices, chosen, alpha)


@jit
def run_cspda(iterate: Iterate, world: CompiledWorld, scratch: Scratch, flow: Flow, rule: FlowRule, trace: Array) -> None:
    """CSPDA with exact gradients; a row of the trace is of the policy of the average so far."""
    m = len(iterate.Y)
    for t in range(len(trace)):
        evaluate(world, iterate.policy, iterate.start, scratch)
        for j in range(1 + m):
            trace[t, j] = scratch.values[j]
        for i in range(m):
            trace[t, 1 + m + i] = iterate.Y[i]
        flow_gradient(iterate, flow)
        flow_step(iterate, flow, rule)
