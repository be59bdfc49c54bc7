"""Solvers by exact gradients: NPG-PD, CRPO and CSPDA on a known problem, each against the optimum by linear programming.

They are the learners of these names (:mod:`noregret.learners.simulator.npg_pd`, :mod:`~noregret.learners.simulator.crpo`,
:mod:`~noregret.learners.simulator.cspda`) with the true probabilities in place of draws; the steps are the same compiled
functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret import theory
from noregret._system.checks import integer
from noregret.errors import InputError, OracleError, unknown_name
from noregret.kernels.steps import descent
from noregret.kernels.steps.gradients import FlowRule, Iterate, exact_model, flow_on, iterate_on
from noregret.kernels.worlds import world as worlds
from noregret.kernels.worlds.played import ALL, room
from noregret.metrics import Cell, constant, count
from noregret.oracle.tables import TableOptimum, TableOracle, occupancy
from noregret.problems.base import Array, TabularCMDP
from noregret.problems.kinds import is_finite
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.policies import markov_policy
from noregret.results import drawing
from noregret.results.base import Columns, NumberTable, Shown
from noregret.theory import gradients as rates

#: The methods and the constants that each takes.
METHODS = {"npg-pd": ("alpha", "eta", "xi"), "crpo": ("alpha", "tol"), "cspda": ("alpha", "eta", "eta_v", "xi", "kappa")}
#: Iterations unless told.
ITERATIONS = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Descent(Shown, TableOptimum):
    """What a method by exact gradients found, with its trace and the optimum that it is measured against.

    ``policy`` is the method's output: the mixture of the policies of all iterations (CRPO: of those that stepped for the
    reward; CSPDA: the policy of the average occupancy) as one Markov policy, and ``value`` and ``V_g`` are its exact values.
    ``dual`` is the average price over the last half of the iterations; for CRPO the price that its steps amount to.

    Row t of ``values`` (T,), ``utilities`` (T,m) and ``duals`` (T,m) is of the policy before step t. ``bound`` is how far the
    output can be from the optimum's value and from the thresholds, where a theorem says so with these constants.
    """

    method: str
    optimum: TableOptimum
    values: Array
    utilities: Array
    duals: Array
    constants: dict[str, float] = field(default_factory=dict)
    bound: tuple[float, float] | None = None

    @property
    def iterations(self) -> int:
        """How many steps were made."""
        return len(self.values)

    @property
    def violations(self) -> Array:
        """How much the policy of each iteration lacks, [b − V_g]₊, (T,m)."""
        return np.maximum(self.thresholds - self.utilities, 0.0)

    def __repr__(self) -> str:
        """A one-line summary."""
        lack = max(float((self.thresholds - self.V_g).max()), 0.0)
        off = self.value - self.optimum.value
        side = f"{abs(off):.3g} {'above' if off > 0.0 else 'below'} the optimum, lacks {lack:.3g}"
        return f"<Descent {self.method}: {count(self.iterations, 'iteration')}, value {self.value:.6g}, {side}>"

    def _grid(self) -> tuple[int, int]:
        return 1, 3

    def _columns(self) -> Columns:
        made: dict[str, NDArray[np.generic]] = {"iteration": np.arange(self.iterations), "value": self.values}
        for name, curves in (("utility", self.utilities), ("dual", self.duals)):
            made |= {f"{name}_{i}": curves[:, i] for i in range(curves.shape[1])}
        return made

    def _summary(self) -> NumberTable:
        bounds = self.bound or (None, None)
        lack, best = max(float((self.thresholds - self.V_g).max()), 0.0), self.optimum
        rows: list[tuple[Cell, ...]] = [
            ("value", self.value, best.value, bounds[0]),
            ("utility lacking", lack, 0.0, bounds[1]),
            *((f"dual {i}", float(self.dual[i]), float(best.dual[i]), None) for i in range(len(self.dual))),
        ]
        used = ", ".join(f"{name} {constant(value)}" for name, value in self.constants.items())
        title = f"{self.method}, exact gradients, {count(self.iterations, 'iteration')} ({used})"
        return NumberTable(title, ("of the output", "found", "by linear programming", "at most apart"), rows)

    def _draw(self, axes: drawing.Grid) -> None:
        colour, t = drawing.colour(self.method), np.arange(1, self.iterations + 1)
        drawn: tuple[tuple[str, str, Array, Array], ...] = (
            ("Reward", "V_r", self.values[:, None], np.array([self.optimum.value])),
            ("Utility", "V_g", self.utilities, self.thresholds),
            ("Dual variable", "dual (reward per unit of utility)", self.duals, self.optimum.dual),
        )
        for ax, (title, y, curves, wanted) in zip(axes[0], drawn, strict=True):
            ax.set_xscale("log")
            for i in range(curves.shape[1]):
                line = drawing.LINES[i % len(drawing.LINES)]
                name = self.method if len(self.thresholds) == 1 or not i else f"{self.method}, constraint {i + 1}"
                ax.plot(t, curves[:, i], color=colour, linestyle=line, label=name)
                ax.axhline(wanted[i], color=drawing.GREY, linewidth=1.0, linestyle="--", label="by linear programming")
            drawing.label(ax, title, y, "iteration")
        drawing.shared_legend(axes)


def descend(
    problem: TabularCMDP | LinearCMDP,
    tighten: float | ArrayLike = 0.0,
    *,
    method: str,
    iterations: int | None = None,
    **given: float,
) -> Descent:
    """Solve a known problem by exact gradients, and by linear programming for comparison.

    Args:
        problem: the world.
        tighten: how much is added to the thresholds.
        method: "npg-pd", "crpo" or "cspda".
        iterations: how many steps; 10 000 unless given.
        given: constants of the method in place of its own, as ``alpha``.

    Raises:
        InputError: the method or a constant is unknown, or the problem is not one of finitely many states with a Slater gap.
        OracleError: CRPO found no policy that meets the constraints.
    """
    if method not in METHODS:
        raise unknown_name("method", str(method), ("lp", *METHODS))
    if not is_finite(problem):
        raise InputError(f"method is {method!r}; {problem.name} has states in R^D: expected 'lp'")
    if problem.step_limit is not None:
        raise InputError(f"method is {method!r}; {problem.name} limits every single step, which it cannot keep: expected 'lp'")
    T = integer("iterations", ITERATIONS if iterations is None else iterations, 1, 10**9)
    best = TableOracle(problem).solve(tighten)
    chosen = _constants(problem, best, method, T, given)
    iterate, m = iterate_on(exact_model(world := worlds.compile_world(problem)), problem.spec), problem.n_constraints
    iterate.b[:] = best.thresholds
    trace = np.zeros((T, 1 + 2 * m))
    policy = _run(iterate, world, method, chosen, trace)
    V_r, V_g = TableOracle(problem).evaluate(policy)
    duals = trace[:, 1 + m :].copy()
    dual = iterate.Y.copy() if method == "crpo" else duals[T // 2 :].mean(axis=0)
    return Descent(
        V_r,
        dual,
        best.slater_gap,
        V_g,
        best.thresholds,
        best.tighten,
        policy,
        occupancy(problem, policy),
        method,
        best,
        trace[:, 0].copy(),
        trace[:, 1 : 1 + m].copy(),
        duals,
        chosen,
        _bound(problem, best, chosen, T, own=not given),
    )


def _constants(problem: TabularCMDP, best: TableOptimum, method: str, T: int, given: dict[str, float]) -> dict[str, float]:
    """What was given, else the constants of the bounds; CSPDA has tuned ones."""
    H, A, gap = problem.horizon, problem.n_actions, best.slater_gap - float(best.tighten.max())
    for key, value in given.items():
        if key not in METHODS[method]:
            raise unknown_name(f"constant of {method}", key, METHODS[method])
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 <= value < math.inf:
            raise InputError(f"{key} is {value!r}; expected a number, at least 0")
    if "xi" in METHODS[method] and "xi" not in given and gap <= 0.0:
        raise InputError(f"the Slater gap is {gap:.3g}; {method} needs one above 0, or xi, the most that prices may be")
    step = 1.0 / math.sqrt(T)
    usual: dict[str, float] = {"alpha": 10.0 * step, "eta": step, "eta_v": step, "kappa": 0.0}
    if method == "npg-pd":
        usual["alpha"], usual["eta"] = rates.npg_pd_steps(H=H, A=A, T=T)
    if method == "crpo":
        usual["alpha"], usual["tol"] = rates.crpo_steps(H=H, A=A, T=T)
    if gap > 0.0:
        usual["xi"] = theory.xi(H=H, slater_gap=gap)
    return {key: float(given.get(key, usual.get(key, 0.0))) for key in METHODS[method]}


def _run(iterate: Iterate, world: worlds.CompiledWorld, method: str, chosen: dict[str, float], trace: Array) -> Array:
    """Run a method: fills the trace, and gives the policy (H,S,A) that is its output."""
    scratch, kept, m = worlds.scratch_for(world), room(iterate.policy.shape), len(iterate.b)
    if method == "cspda":
        flow = flow_on(iterate, chosen["xi"])
        descent.run_cspda(iterate, world, scratch, flow, FlowRule(**chosen), trace)
        return iterate.policy.copy()
    rule = tuple(chosen.values())
    if method == "npg-pd":
        descent.run_npg_pd(iterate, world, scratch, kept, rule, trace)
    else:
        tally = np.zeros(1 + m, dtype=np.int64)
        descent.run_crpo(iterate, world, scratch, kept, rule, trace, tally, np.zeros(m))
        if not tally[0]:
            raise OracleError(f"crpo met the constraints in none of {len(trace)} iterations; it needs more, or a larger tol")
    return markov_policy(kept[ALL], iterate.available)


def _bound(problem: TabularCMDP, best: TableOptimum, chosen: dict[str, float], T: int, own: bool) -> tuple[float, float] | None:
    """The bounds that hold with these constants; None where none is known."""
    H, A, m = problem.horizon, problem.n_actions, problem.n_constraints
    if "tol" in chosen:
        return (chosen["tol"], chosen["tol"]) if own else None
    if "eta_v" in chosen or min(chosen["alpha"], chosen["eta"]) == 0.0 or chosen["xi"] < 2.0 * best.dual.sum():
        return None
    return rates.npg_pd_bounds(H=H, A=A, T=T, m=m, **chosen) if chosen["xi"] > 0.0 else None
