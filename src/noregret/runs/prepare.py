"""What all runs on one problem share: the optimum, the layout for the kernels, the first states. Each is made when needed.

The two kinds of problems, tables and linear CMDPs with states in R^D, are two implementations of :class:`Prepared`; which one a
problem needs is decided in :func:`prepare`, and nowhere else. :mod:`noregret.runs.choose` makes the learner of a run, and
:mod:`noregret.runs.start` its trial.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np

from noregret import oracle, problems
from noregret._system.arrays import save_npz
from noregret._system.files import ensure_folder
from noregret.errors import InputError, unknown_name
from noregret.kernels.worlds import world as worlds
from noregret.kernels.worlds.simulator import simulator_of
from noregret.oracle.base import Optimum, Solution, Solver
from noregret.oracle.quadrature import GridOracle, LinearOptimum
from noregret.oracle.starts import Starts
from noregret.oracle.tables import TableOptimum, TableOracle
from noregret.problems.base import TabularCMDP
from noregret.problems.kinds import of_kind
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.registry import Problem
from noregret.runs.supplies import held, identity, supplied
from noregret.store import RunKey

#: Which policies are evaluated on problems with states in R^D.
EVALUATE = ("plans", "records")
#: Problems kept ready in a process.
READY = 8

#: A problem, the text that names it, or the path of its file.
Named: TypeAlias = "Problem | str | os.PathLike[str]"

_lock = threading.RLock()


def _cells(key: RunKey) -> int | None:
    """How many cells of the oracle's grid lie along each axis, where the run says it."""
    return cast("int | None", key.told.get("cells"))


class Prepared(ABC):
    """A problem with what its runs share. ``name`` and ``hash`` say which problem it is in a run's key."""

    #: Parameters of a run on such a problem that are not the learner's.
    options: tuple[str, ...] = ()

    def __init__(self, problem: Problem, name: str, hash: str | None) -> None:
        self.problem, self.name, self.hash = problem, name, hash
        self._tightened: dict[tuple[str, float], float] = {}

    @property
    @abstractmethod
    def optimum(self) -> Solution:
        """The exact optimum."""

    @abstractmethod
    def best(self, key: RunKey) -> Optimum:
        """The optimum that a run is measured against, with ``value``, ``dual`` and ``slater_gap``."""

    @abstractmethod
    def truth(self, key: RunKey) -> Solver:
        """What solves the problem of a run with other thresholds: its oracle, or that of its starts."""

    def finite(self, what: str) -> TabularCMDP:
        """The problem as tables, for ``what`` needs them; refused where the states are in R^D."""
        raise InputError(f"{what} needs tables; {self.name} has states in R^D: expected a problem with finitely many states")

    def starts(self, asked: object) -> Starts | None:
        """The first states of a run, with the optimum from each; None where the problem draws each first state."""
        if asked is not None:
            raise InputError(f"starts is {asked!r}; {self.name} has states in R^D and draws its own start: expected None")
        return None

    def tells(self, name: str) -> object:
        """What a learner is told of the problem beyond the spec: "reward", "utilities" or "simulator"."""
        problem = self.finite(name)
        return problem.r if name == "reward" else problem.g

    def settled(self, params: Mapping[str, object]) -> dict[str, object]:
        """The values of :attr:`options` in force."""
        return {}

    def tightened(self, key: RunKey, zeta: float) -> float:
        """V*(b+ζ); nan when ζ is beyond the Slater gap, so that no policy meets the tightened problem."""
        which = (repr(key.starts), float(zeta))
        if which not in self._tightened:
            self._tightened[which] = oracle.tightened_value(self.truth(key), self.best(key), zeta)
        return self._tightened[which]


class PreparedTables(Prepared):
    """A problem on finitely many states."""

    problem: TabularCMDP

    def __init__(self, problem: TabularCMDP, name: str, hash: str | None) -> None:
        super().__init__(problem, name, hash)
        self.oracle: TableOracle = oracle.of(problem)
        self._starts: dict[str, Starts | None] = {}

    @cached_property
    def _optimum(self) -> TableOptimum:
        return self.oracle.solve()

    @property
    def optimum(self) -> TableOptimum:
        """The exact optimum, found when it is first asked for."""
        with _lock:
            return self._optimum

    @cached_property
    def layout(self) -> worlds.CompiledWorld:
        """The problem as the kernels take it."""
        return worlds.compile_world(self.problem)

    def finite(self, what: str) -> TabularCMDP:
        """The problem itself."""
        return self.problem

    def starts(self, asked: object) -> Starts | None:
        """The first states of a run, with the optimum from each."""
        text = repr(asked)
        if text not in self._starts:
            self._starts[text] = self.oracle.starts(asked)
        return self._starts[text]

    def best(self, key: RunKey) -> Optimum:
        """The optimum from mu, or the mean of the optima from the run's starts."""
        starts = self.starts(key.starts)
        return self.optimum if starts is None else starts.optimum

    def tells(self, name: str) -> object:
        """What a learner is told of the problem beyond the spec."""
        return simulator_of(self.layout) if name == "simulator" else super().tells(name)

    def truth(self, key: RunKey) -> Solver:
        """The oracle of the problem, or that of the run's starts."""
        return self.starts(key.starts) or self.oracle


class PreparedVectors(Prepared):
    """A linear CMDP with states in R^D.

    Two parameters of a run are not the learner's: ``cells`` is the size of the quadrature's grid, and ``evaluate`` says which
    policies are evaluated, "plans" (all) or "records".
    """

    problem: LinearCMDP
    options = ("cells", "evaluate")

    def __init__(self, problem: LinearCMDP, name: str, hash: str | None) -> None:
        super().__init__(problem, name, hash)
        self._optima: dict[int | None, LinearOptimum] = {}

    @property
    def optimum(self) -> LinearOptimum:
        """The optimum on the usual grid, found when it is first asked for."""
        return self._solved(None)

    def settled(self, params: Mapping[str, object]) -> dict[str, object]:
        """Which policies are evaluated, and on which grid where one is given."""
        evaluate = params.get("evaluate") or EVALUATE[0]
        if evaluate not in EVALUATE:
            raise unknown_name("evaluate", str(evaluate), EVALUATE)
        cells = params.get("cells")
        return {"evaluate": evaluate} | ({} if cells is None else {"cells": cells})

    def best(self, key: RunKey) -> LinearOptimum:
        """The optimum, computed on the run's own grid of cells."""
        return self._solved(_cells(key))

    def _solved(self, cells: int | None) -> LinearOptimum:
        with _lock:
            if cells not in self._optima:
                self._optima[cells] = self._oracle(cells).solve()
            return self._optima[cells]

    def _oracle(self, cells: int | None) -> GridOracle:
        return oracle.of(self.problem, cells=cells)

    def truth(self, key: RunKey) -> GridOracle:
        """The oracle on the run's own grid of cells."""
        return self._oracle(_cells(key))


# --- which problem ------------------------------------------------------------------------------------------------

#: What makes each kind of problem ready.
KINDS: dict[type, type[Prepared]] = {TabularCMDP: PreparedTables, LinearCMDP: PreparedVectors}

_ready: OrderedDict[tuple[str, str | None], Prepared] = OrderedDict()


def prepare(problem: Named) -> Prepared:
    """A problem made ready: of a text that :func:`noregret.problems.load` knows, or of a problem itself.

    The last few are kept, and the same problem gives the same object. A file that was edited since is another problem.
    """
    with _lock:
        if isinstance(problem, str | os.PathLike):
            made = problems.load(problem)
            name, hash = identity(made, os.fspath(problem))
        else:
            made, (name, hash) = problem, identity(problem)
        if (name, hash) not in _ready:
            _ready[name, hash] = of_kind(made, KINDS)(made, name, hash)
            while len(_ready) > READY:
                _ready.popitem(last=False)
        _ready.move_to_end((name, hash))
        return _ready[name, hash]


def prepared(key: RunKey) -> Prepared:
    """The problem of a run: one that is ready, was supplied, or can be loaded by its name.

    Raises:
        InputError: the problem that the run's text loads is another one than the run was planned for.
    """
    with _lock:
        home = _ready.get((key.problem, key.problem_hash)) or prepare(
            cast("Problem | str", supplied(key.problem_hash, key.problem))
        )
    if key.problem_hash != home.hash:
        raise InputError(f"problem {key.problem!r} is not the one that the run was planned for: its arrays differ")
    return home


def send(key: RunKey, folder: Path) -> None:
    """Write to a folder what other processes need to play a run, and only this process has."""
    problem, features = (folder / f"{hash}.npz" for hash in (key.problem_hash, key.features_hash))
    if held(key.problem_hash) is not None and not problem.exists():
        made = prepared(key).finite("a problem that is no name, with a backend other than 'threads',")
        ensure_folder(folder)
        problems.save(made, problem)
    if (phi := held(key.features_hash)) is not None and not features.exists():
        if not isinstance(phi, np.ndarray):
            raise InputError("features is a feature map; expected an array (S,A,d), or backend 'threads'")
        ensure_folder(folder)
        save_npz(features, {"features": phi})
