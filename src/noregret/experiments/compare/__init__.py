"""Comparisons: every learner on every problem under one protocol.

A comparison is a grid of problems and entries, each a learner with its parameters. All cells have the same seed, so that trial
t of every learner meets the same world. A learner that refuses a problem is a row with its reason, and the rest goes on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from noregret import learners as registry
from noregret._system.checks import each_once
from noregret._system.progress import Progress
from noregret.errors import NoRegretError, unknown_name
from noregret.experiments.compare.settings import LEARNERS, POINTS, PROBLEMS, STOPPED, Entry
from noregret.learners.registry import checked_episodes
from noregret.results import Comparison, Outcome, RunResult
from noregret.runs import Ask, How, play
from noregret.runs.execute import Ending
from noregret.runs.keys import checked_length
from noregret.runs.prepare import Named, prepare
from noregret.runs.runner import kept_in
from noregret.runs.start import check
from noregret.store import RunKey


def compare(
    problems: Sequence[Named] = PROBLEMS,
    learners: Sequence[str | Entry] = LEARNERS,
    *,
    episodes: int = 10_000,
    trials: int = 5,
    seed: int = 0,
    preset: str = "practical",
    slater_gap: float | str | None = None,
    out: str | Path | None = None,
    fresh: bool = False,
    backend: str = "threads",
    address: str | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Comparison:
    """Run every learner on every problem under one protocol.

    Args:
        problems: names, paths or problems.
        learners: names, such as "opdop" or "primal-dual-lsvi:alpha=inf".
        episodes: K of every run.
        trials: trials of every run.
        seed: the number that all randomness is drawn from; the same for every run.
        preset: which rule gives the learners their constants, such as "practical" or "theory".
        slater_gap: what the learners are told of γ: a number, "oracle", or None.
        out: a folder that keeps the runs, so that the same call goes on after a stop or a crash.
        fresh: whether ``out`` forgets these runs first.
        backend: "threads", "processes", "ray" or "dask".
        address: the Ray or Dask cluster; one on this machine by default.
        threads: runs at once; all cores by default.
        progress: whether a bar is shown; by default on a terminal.

    Returns:
        An outcome for each problem and learner, problem by problem: a result, or the reason why there is none. The comparison
        can be saved, drawn, and made a frame.

    Raises:
        InputError: a list is empty or has a name twice; a name, a length or a preset is unknown.

    Example:
        >>> import noregret as nr
        >>> nr.compare(["random:S=3,A=2,H=2"], ["uniform", "optimal"], episodes=10, trials=2, progress=False)
        <Comparison: 2 learners on 1 problem, 2 of 2 ran>
    """
    problems = [problems] if isinstance(problems, str) else problems
    learners = [learners] if isinstance(learners, str) else learners
    entries = [learner if isinstance(learner, Entry) else Entry.read(learner) for learner in learners]
    how = How(kept_in(out), fresh, backend, address, threads, progress=progress)
    return run_grid(Grid(problems, entries, episodes, trials, seed, preset, slater_gap), how)


@dataclass
class GridCell:
    """A learner on a problem: its runs, and the reason why they are not played or did not end, if there is one."""

    problem: str
    entry: Entry
    keys: list[RunKey]
    reason: str

    def outcome(self, result: RunResult | None = None, reason: str = "") -> Outcome:
        """What became of the cell."""
        return Outcome(self.problem, self.entry.label, self.entry.promise, result, self.reason or reason)


class Grid:
    """The cells of a comparison, checked; a cell whose learner refuses has the reason."""

    def __init__(
        self,
        problems: Sequence[Named],
        entries: Sequence[Entry],
        episodes: int,
        trials: int,
        seed: int,
        preset: str,
        slater_gap: float | str | None = None,
    ) -> None:
        every = max(1, checked_episodes(episodes) // POINTS)
        self.length = checked_length(episodes, trials=trials, seed=seed, record_every=every)
        homes = [prepare(problem) for problem in problems]
        for what, labels in (("learners", [e.label for e in entries]), ("problems", [home.name for home in homes])):
            each_once(what, labels)
        presets = {name for learner in registry.names() for name in registry.get(learner).presets}
        if preset not in presets:
            raise unknown_name("preset", str(preset), presets)
        self.cells: list[GridCell] = []
        for home, entry in itertools.product(homes, entries):
            params = dict(entry.params)
            asked, gap = params.pop("preset", preset), params.pop("slater_gap", slater_gap)
            ask = Ask(home.problem, entry.name, *self.length, asked, gap, params=params)
            keys, reason = list[RunKey](), ""
            try:
                keys = ask.keys()
                check(keys[0])
            except NoRegretError as error:  # a preset that the learner does not have, a Slater gap that it needs
                reason = " ".join(str(error).split())
            self.cells.append(GridCell(home.name, entry, keys, reason))


def run_grid(grid: Grid, how: How, tell: Callable[[Outcome], None] = lambda one: None) -> Comparison:
    """Play the cells of a comparison.

    Args:
        grid: the cells.
        how: where the runs are played and kept.
        tell: a function that is called with each cell that is finished, failed or refused. The outcome has no result yet.

    Returns:
        An outcome for each cell. After Ctrl-C a cell that is not finished has the reason ``STOPPED``.
    """
    cells = [replace(cell) for cell in grid.cells]
    waiting = [(cell, {key.id for key in cell.keys}) for cell in cells if not cell.reason]

    def through(key: RunKey, ending: Ending) -> None:
        for cell, ids in waiting:
            if key.id in ids:
                ids.discard(key.id)
                if ending.status == "failed":
                    cell.reason = cell.reason or " ".join(ending.error.split())
                if not ids:
                    tell(cell.outcome())

    for cell in cells:
        if cell.reason:
            tell(cell.outcome())
    sitting = play([key for cell, _ in waiting for key in cell.keys], how, tell=through)
    ended = [not cell.reason and sitting.finished(cell.keys) for cell in cells]
    return Comparison(
        cell.outcome(sitting.result(cell.keys)) if done else cell.outcome(reason=STOPPED)
        for cell, done in zip(cells, ended, strict=True)
    )
