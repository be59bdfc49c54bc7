"""Problems made ready for runs: with what all runs on one share, on finite states and on R^D."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from noregret import oracle, problems
from noregret.errors import InputError
from noregret.kernels import world as worlds
from noregret.oracle import quadrature as linear_oracle
from noregret.oracle.starts import Starts, resolve, tightened_value
from noregret.problems.linear_continuous import LinearCMDP
from noregret.problems.registry import is_built_in
from noregret.runs import linear as linear_runner
from noregret.runs.linear import LinearTrial, Trace
from noregret.runs.runner import Trial, make_learner
from noregret.store import RunKey, content_hash

#: Problems kept ready in a process.
READY = 8


class World:
    """A problem with what its runs share: its optimum, its layout for the kernels, the optima of tightened thresholds."""

    optimum: Any
    layout: Any

    def __init__(self, text: str, problem: Any) -> None:
        self.problem = problem
        self.name: str = problem.name
        self.hash = None if is_built_in(text) else problem_hash(problem)
        self._tightened: dict[float, float] = {}
        self._starts: dict[str, Starts | None] = {}
        self._prepare()

    def _prepare(self) -> None:
        self.optimum = oracle.solve(self.problem)
        self.layout = worlds.compile_world(self.problem)

    def start(self, key: RunKey) -> Trial | LinearTrial:
        """The trial of a run, before its first episode."""
        if key.problem_hash != self.hash:
            raise InputError(f"problem {key.problem!r} is not the one that the run was planned for: its arrays differ")
        for name in RunKey.__dataclass_fields__.keys() & key.params.keys():
            raise InputError(f"{name!r} is among the parameters; expected constants of the learner, and this is not one")
        return self._start(key)

    def _start(self, key: RunKey) -> Trial | LinearTrial:
        begins = self.starts(key.starts)
        problem, optimum = (self.problem, self.optimum) if begins is None else (begins.problem, begins.optimum)
        options = {"preset": key.preset, "slater_gap": key.slater_gap, **key.params}
        made = make_learner(problem, key.learner, optimum, episodes=key.episodes, **options)
        return Trial(
            problem, self.layout, made, key.seed, key.trial, key.episodes, key.record_every, optimum.value, starts=begins
        )

    def starts(self, given: Any) -> Starts | None:
        """The starts of a run, with the optimum from each."""
        text = repr(given)
        if text not in self._starts:
            self._starts[text] = resolve(self.problem, given)
        return self._starts[text]

    def tightened(self, zeta: float) -> float:
        """V*(b+ζ); nan when ζ is beyond the Slater gap."""
        if zeta not in self._tightened:
            self._tightened[zeta] = self._solve_tightened(zeta)
        return self._tightened[zeta]

    def _solve_tightened(self, zeta: float) -> float:
        return tightened_value(self.problem, self.optimum, zeta)


class LinearWorld(World):
    """The same for a linear CMDP with states in R^D."""

    def _prepare(self) -> None:
        self.optimum = linear_oracle.solve(self.problem)

    def _start(self, key: RunKey) -> Trial | LinearTrial:
        self.starts(key.starts)
        options = {"preset": key.preset, "slater_gap": key.slater_gap, **key.params}
        made = linear_runner.make_learner(self.problem, key.learner, self.optimum, episodes=key.episodes, **options)
        return LinearTrial(Trace(self.problem, key.episodes, key.record_every, self.optimum.value), made, key.seed, key.trial)

    def starts(self, given: Any) -> None:
        """None can be given."""
        if given is not None:
            raise InputError(f"starts is {given!r}; {self.name} has states in R^D and draws its own start: expected None")

    def _solve_tightened(self, zeta: float) -> float:
        return linear_runner.tightened_value(self.problem, self.optimum, zeta)


_worlds: OrderedDict[str, World] = OrderedDict()
_worlds_lock = threading.Lock()


def world(text: str) -> World:
    """The world that ``text`` names; the last few are kept."""
    with _worlds_lock:
        if text not in _worlds:
            problem = problems.load(text)
            _worlds[text] = (LinearWorld if isinstance(problem, LinearCMDP) else World)(text, problem)
            while len(_worlds) > READY:
                _worlds.popitem(last=False)
        _worlds.move_to_end(text)
        return _worlds[text]


def problem_hash(problem: Any) -> str:
    """A hash of everything that a problem is, its names aside."""
    labels = ("name", "constraint_names", "senses")
    return content_hash({name: value for name, value in vars(problem).items() if name not in labels})
