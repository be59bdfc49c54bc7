"""Section 5 of the paper, run again: two figures, a table, the curves and a page that says what agrees and what does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

from noregret import oracle, problems
from noregret._system.files import all_or_none
from noregret.experiments.paper import page, settings
from noregret.experiments.paper.page import Neighbour, Paper
from noregret.metrics import length
from noregret.problems.base import TabularCMDP
from noregret.report import figures, tables
from noregret.runs import Ask, How, play
from noregret.runs.runner import Sitting


def run(episodes: int, trials: int, seed: int, how: How, say: Callable[[str], None]) -> tuple[Sitting, list[Neighbour]]:
    """Play the main run and its neighbours.

    Args:
        episodes: of every run.
        trials: of the main run; a neighbour has at most :data:`settings.NEIGHBOUR_TRIALS`.
        seed: of every run.
        how: where the runs are played and kept.
        say: is told in a line what is going to be run.

    Returns:
        How the call ended, and the results that are finished, the main one first.
    """
    planned, every = [], max(1, episodes // settings.POINTS)
    for setting in (settings.MAIN, *settings.NEIGHBOURS):
        count = trials if setting is settings.MAIN else min(trials, settings.NEIGHBOUR_TRIALS)
        main = (settings.PROBLEM, settings.LEARNER, episodes, count, seed, every, settings.PRESET)
        planned.append((setting, Ask(*main, params=setting.params).keys()))
    say(f"running {len(planned)} settings on {settings.PROBLEM}: {length(trials, episodes)} of the main one")
    sitting = play([key for _, keys in planned for key in keys], how)
    finished = [(setting, keys) for setting, keys in planned if sitting.finished(keys)]
    return sitting, [Neighbour(setting.label, setting.row, sitting.result(keys)) for setting, keys in finished]


def facts(done: list[Neighbour], as_published: bool) -> Paper:
    """Put beside the results what the page says of the problem itself; the oracle computes it."""
    problem, shifted = (cast(TabularCMDP, problems.load(name)) for name in (settings.PROBLEM, settings.COUNTED_FROM_0))
    main, best = done[0].result, oracle.solve(problem)
    after = (best.occupancy[-1][:, :, None] * problem.P[-1]).sum(axis=(0, 1))  # how many jobs are left at the end
    return Paper(
        main=main,
        neighbours=done,
        threshold=float(problem.b[0]),
        horizon=problem.horizon,
        states=problem.n_states,
        actions=problem.n_actions,
        tightened_dual=float(oracle.solve(problem, tighten=main.constants["zeta"]).dual[0]),
        jobs_left=float(after[2:].sum()),
        counted_from_0=oracle.solve(shifted).value,
        as_published=as_published,
    )


def write(made: Paper, out: Path) -> list[Path]:
    """Write the figures, the table, the curves and the page, all or none of them; the page is the last file."""
    first, second = page.figure(made), page.neighbours_figure(made)
    with all_or_none(out) as draft:
        drawn = [*figures.write_all(first, draft / "figure1"), *figures.write_all(second, draft / "neighbours")]
        written = [
            tables.write_text(draft / "table.csv", tables.without_speed(page.table(made)).csv()),
            tables.write_text(draft / "curves.csv", tables.curves(made.labelled())),
            tables.write_text(draft / "page.md", page.page(made)),
        ]
    return [out / file.name for file in (*drawn, *written)]
