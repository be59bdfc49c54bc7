"""The leaderboard: every learner on every problem under one protocol, through the store.

Trial t of every learner meets the same world. A learner that refuses a problem, and a cell whose runs would take too long, are
cells with their reason; nothing else is left out. The page and the pictures are made by :mod:`noregret.report.leaderboard`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from noregret._system.arrays import LARGEST
from noregret._system.files import make_folder
from noregret._system.progress import Progress
from noregret.errors import InputError, shown
from noregret.experiments.compare import Grid, run_grid
from noregret.experiments.compare.settings import STOPPED, Entry
from noregret.experiments.leaderboard import settings
from noregret.experiments.leaderboard.pilots import Pilots
from noregret.report.leaderboard import Leaderboard, Protocol
from noregret.results import Comparison, Outcome
from noregret.runs import How
from noregret.runs.prepare import Named
from noregret.runs.provenance import provenance
from noregret.runs.runner import kept_in
from noregret.store import MemoryStore, Store


def leaderboard(
    problems: Sequence[Named] | None = None,
    learners: Sequence[str | Entry] | None = None,
    *,
    episodes: int = settings.EPISODES,
    trials: int = settings.TRIALS,
    seed: int = 0,
    preset: str = "practical",
    most: float = settings.MOST,
    out: str | Path | None = None,
    fresh: bool = False,
    backend: str = "threads",
    address: str | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> Leaderboard:
    """Run every learner on every problem and rank them by hard regret plus hard violation.

    Args:
        problems: names, paths or problems; all finite ones by default.
        learners: names, such as "opdop"; all by default.
        episodes: K of every run.
        trials: runs of every cell.
        seed: the number that all randomness is drawn from; the same for every cell.
        preset: which rule gives the learners their constants.
        most: the seconds that a run may take; cells with longer ones are left out, with the reason.
        out: a folder that keeps the runs, so that the same call goes on after a stop or a crash.
        fresh: whether ``out`` forgets these runs first.
        backend: "threads", "processes", "ray" or "dask".
        address: the Ray or Dask cluster; one on this machine by default.
        threads: runs at once; all cores by default.
        progress: whether a bar is shown; by default on a terminal.

    Returns:
        The leaderboard: it can be drawn, made a frame, and saved. After Ctrl-C cells that are not finished are left out.

    Raises:
        InputError: a list is empty or has a name twice; a name, a length or a preset is unknown; ``most`` is no
            number of seconds.

    Example:
        >>> import noregret as nr
        >>> nr.leaderboard(["random:S=3,A=2,H=2"], ["uniform", "lsvi-ucb"], episodes=10, trials=2, progress=False)
        <Leaderboard: 2 learners on 1 problem, 2 of 2 cells ran>
    """
    entries = (
        [learner if isinstance(learner, Entry) else Entry.read(learner) for learner in learners]
        if learners is not None
        else None
    )
    contest = Contest(problems, entries, episodes, trials, seed, preset, most)
    how = How(kept_in(out), fresh, backend, address, threads, progress=progress)
    return contest.board(contest.play(how))


class Contest:
    """The cells of a leaderboard, before they are played.

    Args:
        problems: names, paths or problems; None for all finite ones.
        entries: learners with their parameters; None for all.
        episodes: K of every run.
        trials: runs of every cell.
        seed: the number that all randomness is drawn from.
        preset: which rule gives the learners their constants.
        most: the seconds that a run may take.

    Raises:
        InputError: a list, a name or a number cannot be used.
    """

    def __init__(
        self,
        problems: Sequence[Named] | None,
        entries: Sequence[Entry] | None,
        episodes: int,
        trials: int,
        seed: int,
        preset: str,
        most: float = settings.MOST,
    ) -> None:
        self.entries = list(settings.entries() if entries is None else entries)
        if isinstance(most, bool) or not isinstance(most, int | float) or not 0.0 <= most <= LARGEST:
            raise InputError(f"most is {shown(most)}; expected a number of seconds, at least 0")
        self.everything, self.most = problems is None, float(most)
        self.grid = Grid(
            settings.problem_names() if problems is None else problems, self.entries, episodes, trials, seed, preset
        )
        self.protocol = (*self.grid.length[:3], preset, self.most)
        self.pilots = Pilots(None)

    def play(
        self, how: How, tell: Callable[[Outcome], None] = lambda outcome: None, say: Callable[[str], None] = lambda line: None
    ) -> Comparison:
        """Leave out the cells that would take too long, and play the others.

        A cell of which a run is finished is not left out, so what was begun is ended. Pilots are kept beside the runs.

        Args:
            how: where the runs are played and kept.
            tell: a function that is called with each cell that is finished, failed or left out.
            say: a function that is called with a line before each cell whose time is estimated.
        """
        store = MemoryStore() if how.out is None else Store(how.out)
        self.pilots = Pilots(None if how.out is None else make_folder(how.out.parent))
        for i, cell in enumerate(self.grid.cells, 1):
            if cell.reason or any(store.has(key.id) for key in cell.keys):
                continue
            if not self.pilots.enough(cell.keys[0], self.most):
                say(f"[{i}/{len(self.grid.cells)}] a short pilot of {cell.entry.label} on {cell.problem}")
                self.pilots.play(cell.keys[0], self.most)
            seconds = self.pilots.known(cell.keys[0]) or 0.0
            if seconds > self.most:
                cell.reason = f"a run takes more than {self.most:g} s"
        return run_grid(self.grid, how, tell)

    def board(self, played: Comparison) -> Leaderboard:
        """The leaderboard of what was played."""
        cells = {(cell.problem, cell.entry.label): cell for cell in self.grid.cells}
        lines = {place: settings.line(cell.problem, cell.entry, *self.protocol[:4]) for place, cell in cells.items()}
        seconds = {place: self.pilots.known(cell.keys[0]) for place, cell in cells.items()}
        where = provenance()
        machine = {name: where["machine"][name] for name in ("cpu", "cores", "system")}
        told = settings.remarks(self.protocol[3], self.entries)
        told += settings.left_out() if self.everything else []
        protocol = Protocol(*self.protocol, {k: str(v) for k, v in where["versions"].items()}, machine, told)
        return Leaderboard.of(
            protocol, [settings.row(entry, self.protocol[3]) for entry in self.entries], played, lines, seconds
        )


__all__ = ["STOPPED", "Contest", "leaderboard"]
