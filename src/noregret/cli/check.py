"""``noregret check``: what is true of a problem, and what a learner would make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from noregret.cli import arguments as arg
from noregret.cli.app import app, console, print_table
from noregret.errors import InputError

if TYPE_CHECKING:
    from noregret.learners.base import Learner
    from noregret.oracle import TableOptimum
    from noregret.problems.base import Array, TabularCMDP


@app.command()
def check(
    problem: arg.Problem,
    learner: arg.LearnerName = arg.DEFAULT_LEARNER,
    episodes: arg.Episodes = arg.DEFAULT_EPISODES,
    preset: arg.Preset = "practical",
    slater_gap: arg.SlaterGap = None,
    settings: arg.Settings = None,
) -> None:
    """Show a problem's sizes, what its constraints allow, its exact optimum, and the constants and bounds of a learner.

    Nothing is run. With preset theory and no Slater gap given, the exact one is used.
    """
    from noregret import oracle, problems
    from noregret.features import is_linear
    from noregret.problems.kinds import is_finite
    from noregret.runs import Ask
    from noregret.runs.prepare import prepared
    from noregret.runs.start import check as checked

    params, gap = arg.settings(settings or []), arg.gap(slater_gap)
    if gap is None and preset == "theory":
        gap = "oracle"
    world = problems.load(problem)
    if not is_finite(world):
        raise InputError(f"{problem} has states in R^D; expected finitely many (noregret.solve gives its optimum in Python)")
    _print_problem(world)
    _print_constraints(world, oracle.reachable(world))
    key = Ask(problem, learner, episodes, preset=preset, slater_gap=gap, params=params).keys()[0]
    optimum = cast("TableOptimum", prepared(key).optimum)
    _print_optimum(optimum)
    made = checked(key)
    _print_constants(made, optimum, gap)
    _print_bounds(made, optimum, is_linear(world, made.phi))


def _print_problem(world: TabularCMDP) -> None:
    features = "one-hot" if world.features is None else "a table"
    starts = int((world.mu > 0).sum())
    masked = int((~world.available).sum())
    print_table(
        f"Problem {world.name}",
        [
            ("horizon", f"{world.horizon} steps"),
            ("states", f"{world.n_states:,}"),
            ("actions", f"{world.n_actions}" + (f" ({masked:,} step-state-action triples are masked)" if masked else "")),
            ("features", f"{features}, dimension {world.spec.dimension:,}"),
            ("start", f"state {int(world.mu.argmax())}" if starts == 1 else f"drawn from {starts:,} states"),
            (
                "the same at every step",
                {"nothing": "not declared", "all": "all: transitions, rewards, utilities"}.get(world.share, world.share),
            ),
            ("rewards", "the learner sees 0 or 1 with the given means" if world.noise else "seen as they are"),
            *([] if world.step_limit is None else [("every step", f"costs at most {world.step_limit:g} in expectation")]),
        ],
    )


def _print_constraints(world: TabularCMDP, reachable: Array) -> None:
    from noregret.problems.base import to_threshold

    rows = []
    for name, sense, limit, ends in zip(world.constraint_names, world.senses, world.limits(), reachable, strict=True):
        low, high = sorted(to_threshold(float(end), sense, world.horizon) for end in ends)
        words = "at least" if sense == ">=" else "at most"
        rows.append((name, f"{words} {limit:.6g}", f"{low:.6f} to {high:.6f}"))
    print_table("Constraints", rows, ("total over an episode", "wanted, in expectation", "reachable"))


def _print_optimum(optimum: TableOptimum) -> None:
    duals = ", ".join(f"{value:.6f}" for value in optimum.dual)
    print_table(
        "Exact optimum",
        [
            ("value", f"{optimum.value:.6f}"),
            ("dual", duals + ("" if optimum.dual.any() else " (no constraint binds)")),
            ("Slater gap", f"{optimum.slater_gap:.6f}, the largest margin by which one policy meets all constraints"),
        ],
    )


def _print_constants(made: Learner, optimum: TableOptimum, gap: float | str | None) -> None:
    if not made.constants:
        console().print(f"{made.name} has no constants.")
        return
    from noregret.metrics import constant

    told: dict[object, str] = {
        None: "told nothing of the Slater gap",
        "oracle": f"told the exact Slater gap, {optimum.slater_gap:.6f}",
    }
    text = told.get(gap, f"told a Slater gap of {gap}")
    rows = [(key, constant(value), made.explain.get(key, "")) for key, value in made.constants.items()]
    title = f"{made.name}, preset {made.preset}, {made.episodes:,} episodes, {text}"
    print_table(title, rows, ("constant", "value", "reason"))


def _print_bounds(made: Learner, optimum: TableOptimum, linear: bool) -> None:
    """What a theorem promises of the learner with these constants, or why none does."""
    from noregret.metrics import constant

    trivial = float(made.episodes * made.spec.horizon)
    promise = made.promised(optimum.slater_gap, linear)
    if isinstance(promise, str):
        console().print(f"No bound: {promise}.")
        return
    rows = []
    for what, C, bound in (("regret", "C", promise.regret), ("violation", "C'", promise.violation)):
        words = "less than anything can cost" if bound < trivial else "says nothing: no policy can cost more than K·H"
        rows.append((what, f"{promise.theorem}, with {C} = 1", constant(bound), f"{words} ({trivial:,.0f})"))
    print_table("Bounds on the sums over all episodes", rows, ("sum", "by", "bound", "meaning"))
