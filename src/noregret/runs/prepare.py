"""Problems made ready for runs: the optimum, the layout for the kernels, the starts; and the learner and the trial of a run.

All that runs on one problem share is made once. The two kinds of problems, tables and linear CMDPs with states in R^D, are two
implementations of :class:`Prepared`; which one a problem needs is decided in :func:`prepare`, and nowhere else.
"""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from noregret import learners, oracle, problems
from noregret._system.arrays import save_npz
from noregret._system.files import ensure_folder
from noregret.errors import InputError, unknown_name
from noregret.kernels import world as worlds
from noregret.kernels.simulator import simulator_of
from noregret.learners.base import Learner
from noregret.learners.fixed import FixedPolicy
from noregret.learners.registry import source_hash
from noregret.oracle.starts import Starts
from noregret.problems.base import TabularCMDP
from noregret.problems.checks import policy_table
from noregret.problems.kinds import of_kind
from noregret.problems.linear_continuous import LinearCMDP
from noregret.runs.supplies import held, identity, supplied
from noregret.runs.trial import LinearTrial, TableTrial, Trial
from noregret.store import RunKey

#: Policies that are built from the oracle; not learners.
FIXED_POLICIES = ("optimal", "safest")
#: What learners that must be told more than the spec are told here.
TELLS = ("reward", "utilities", "simulator")
#: Which policies are evaluated on problems with states in R^D.
EVALUATE = ("plans", "records")
#: Problems kept ready in a process.
READY = 8


class Prepared:
    """A problem with what its runs share. ``name`` and ``hash`` say which problem it is in a run's key."""

    optimum: Any

    def __init__(self, problem: Any, name: str, hash: str | None) -> None:
        self.problem, self.name, self.hash = problem, name, hash
        self._tightened: dict[tuple[str, float], float] = {}

    def start(self, key: RunKey) -> Trial:
        """The trial of a run, before its first episode.

        Raises:
            InputError: the key is of another problem, or the learner refuses the problem or a parameter.
        """
        if key.problem_hash != self.hash:
            raise InputError(f"problem {key.problem!r} is not the one that the run was planned for: its arrays differ")
        if key.learner_hash not in (None, source_hash(key.learner)):
            raise InputError(f"learner {key.learner!r} is not the one that the run was planned for: its source differs")
        for name in RunKey.__dataclass_fields__.keys() & key.params.keys():
            raise InputError(f"{name!r} is among the parameters; expected constants of the learner, and this is not one")
        if key.meaning != (now := self.meaning(key.learner, key.preset, key.params)):
            said = ", ".join([f"preset {key.preset!r}", *sorted(key.params)])
            raise InputError(f"meaning is {key.meaning}; {said} has meaning {now} in this version: such a run can only be read")
        return self._trial(key)

    def meaning(self, learner: str, preset: str, params: Mapping[str, Any]) -> int:
        """Which meaning the numbers of a run have: that of the learner's preset and parameters, 1 as in version 0.1.

        Args:
            learner: its name.
            preset: where its constants come from.
            params: the parameters of the run.
        """
        return learners.meaning(learner, preset, params)

    def learner(self, key: RunKey) -> Learner:
        """Make the learner of a run. The run's key says what the learner is told of the truth; it is told nothing else."""
        options = {"preset": key.preset, "slater_gap": self._gap(key), **key.params}
        if key.features_hash is not None:
            options["features"] = supplied(key.features_hash)
        if key.learner in FIXED_POLICIES:
            return self._fixed(key)
        for name in filter(learners.get(key.learner).told.__contains__, TELLS):
            if name in options:
                raise InputError(f"{name} is given; {key.learner} is told the problem's own: leave it out")
            options[name] = self._tell(name)
        if options.get("safe_policy") is not None:
            options["safe_policy"] = self._safe_policy(options["safe_policy"], key)
        made = learners.make(key.learner, self.problem.spec, episodes=key.episodes, **self._options(options))
        if isinstance(key.params.get("safe_policy"), str):
            made.constants["safe_policy"] = "safest, from the oracle"
        return made

    def finite(self, what: str) -> TabularCMDP:
        """The problem as tables, for ``what`` needs them; refused where the states are in R^D."""
        raise InputError(f"{what} needs tables; {self.name} has states in R^D: expected a problem with finitely many states")

    def starts(self, given: Any) -> Starts | None:
        """The first states of a run, with the optimum from each; None where the problem draws each first state."""
        if given is not None:
            raise InputError(f"starts is {given!r}; {self.name} has states in R^D and draws its own start: expected None")
        return None

    def best(self, key: RunKey) -> Any:
        """The optimum that a run is measured against, with ``value``, ``dual`` and ``slater_gap``."""
        return self.optimum

    def tightened(self, key: RunKey, zeta: float) -> float:
        """V*(b+ζ); nan when ζ is beyond the Slater gap, so that no policy meets the tightened problem."""
        which = (repr(key.starts), float(zeta))
        if which not in self._tightened:
            self._tightened[which] = oracle.tightened_value(self._truth(key), self.best(key), zeta)
        return self._tightened[which]

    def _gap(self, key: RunKey) -> float | None:
        if isinstance(key.slater_gap, str) and key.slater_gap != "oracle":
            raise InputError(f"slater_gap is {key.slater_gap!r}; expected a number, 'oracle' or None")
        return self.best(key).slater_gap if key.slater_gap == "oracle" else key.slater_gap  # type: ignore[return-value]

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        return options

    def _trial(self, key: RunKey) -> Trial:
        raise TypeError(f"{type(self).__name__} has no trials")

    def _truth(self, key: RunKey) -> Any:
        """What solves the problem of a run with other thresholds: its oracle, or that of its starts."""
        raise TypeError(f"{type(self).__name__} has no oracle")

    def _fixed(self, key: RunKey) -> Learner:
        if key.starts is not None:
            raise InputError(f"learner is {key.learner!r}; with starts the best policy depends on the start")
        problem = self.finite(f"learner {key.learner!r}")
        policy = self.optimum.policy if key.learner == "optimal" else oracle.safest(problem)
        return FixedPolicy(problem.spec, episodes=key.episodes, policy=policy, called=key.learner)

    def _tell(self, name: str) -> Any:
        problem = self.finite(name)
        return problem.r if name == "reward" else problem.g

    def _safe_policy(self, given: Any, key: RunKey) -> Any:
        begins, problem = self.starts(key.starts), self.finite("safe_policy")
        problem = problem if begins is None else begins.problem
        if begins is not None and (problem.mu > 0.0).sum() > 1:
            raise InputError(
                "starts has several states; with a safe_policy expected one: only the mean over starts is certified"
            )
        if isinstance(given, str):
            if given != "safest":
                raise InputError(f"safe_policy is {given!r}; expected an array (H,S,A), 'safest' or None")
            return oracle.safest(problem)
        policy = policy_table(given, problem.available, "safe_policy")
        utilities = oracle.evaluate(problem, policy)[1]
        for i in np.flatnonzero(utilities < problem.b - 1e-9):
            told = f"its utility {problem.constraint_names[i]!r} is {utilities[i]:.6g}, below {problem.b[i]:.6g}"
            warnings.warn(f"safe_policy is not safe: {told}", stacklevel=3)
        return policy


class Tables(Prepared):
    """A problem on finitely many states."""

    def __init__(self, problem: TabularCMDP, name: str, hash: str | None) -> None:
        super().__init__(problem, name, hash)
        self.oracle = oracle.of(problem)
        self.optimum = self.oracle.solve()
        self.layout = worlds.compile_world(problem)
        self._starts: dict[str, Starts | None] = {}

    def finite(self, what: str) -> TabularCMDP:
        """The problem itself."""
        problem: TabularCMDP = self.problem
        return problem

    def meaning(self, learner: str, preset: str, params: Mapping[str, Any]) -> int:
        """2 more where steps share what they learn because the problem declares it, which version 0.1 did not do.

        Args:
            learner: its name.
            preset: where its constants come from.
            params: the parameters of the run.
        """
        usual = params.get("share") in (None, "auto")  # version 0.1 had no such option
        shares = usual and learners.shared_by(learner, preset, params, self.problem.share) != "nothing"
        return super().meaning(learner, preset, params) + 2 * shares

    def starts(self, given: Any) -> Starts | None:
        """The starts of a run, with the optimum from each."""
        text = repr(given)
        if text not in self._starts:
            self._starts[text] = self.oracle.starts(given)
        return self._starts[text]

    def best(self, key: RunKey) -> oracle.Optimum:
        """The optimum from mu, or the mean of the optima from the run's starts."""
        begins = self.starts(key.starts)
        return self.optimum if begins is None else begins.optimum

    def _tell(self, name: str) -> Any:
        return simulator_of(self.layout) if name == "simulator" else super()._tell(name)

    def _trial(self, key: RunKey) -> Trial:
        begins = self.starts(key.starts)
        problem = self.problem if begins is None else begins.problem
        layout = self.layout if begins is None else worlds.compile_world(problem)
        trial = TableTrial(problem, self.learner(key), key, self.best(key).value, layout)
        return trial if begins is None else trial.from_starts(begins)

    def _truth(self, key: RunKey) -> Any:
        return self.starts(key.starts) or self.oracle


class Continuous(Prepared):
    """A linear CMDP with states in R^D.

    Two parameters of a run are not the learner's: ``cells`` is the size of the quadrature's grid, and ``evaluate`` says which
    policies are evaluated, "plans" (all) or "records".
    """

    def __init__(self, problem: Any, name: str, hash: str | None) -> None:
        super().__init__(problem, name, hash)
        self._optima: dict[Any, Any] = {}
        self.optimum = self._solve(None)

    def meaning(self, learner: str, preset: str, params: Mapping[str, Any]) -> int:
        """2 more where every plan is evaluated, which version 0.1 did not do.

        Args:
            learner: its name.
            preset: where its constants come from.
            params: the parameters of the run.
        """
        return super().meaning(learner, preset, params) + 2 * (params.get("evaluate") != "records")

    def best(self, key: RunKey) -> Any:
        """The optimum, computed on the run's own grid of cells."""
        return self._solve(key.params.get("cells"))

    def _solve(self, cells: Any) -> Any:
        if cells not in self._optima:
            self._optima[cells] = oracle.of(self.problem, cells=cells).solve()
        return self._optima[cells]

    def _trial(self, key: RunKey) -> Trial:
        self.starts(key.starts)
        return LinearTrial(self.problem, self.learner(key), key, self.best(key).value, self._truth(key))

    def _options(self, options: dict[str, Any]) -> dict[str, Any]:
        if options.get("evaluate", "plans") not in EVALUATE:
            raise unknown_name("evaluate", str(options["evaluate"]), EVALUATE)
        return {name: value for name, value in options.items() if name not in ("cells", "evaluate")}

    def _truth(self, key: RunKey) -> Any:
        return oracle.of(self.problem, cells=key.params.get("cells"))


# --- which problem ------------------------------------------------------------------------------------------------

#: What makes each kind of problem ready.
KINDS: dict[type, type[Prepared]] = {TabularCMDP: Tables, LinearCMDP: Continuous}

_ready: OrderedDict[tuple[str, str | None], Prepared] = OrderedDict()
_lock = threading.RLock()


def prepare(problem: Any) -> Prepared:
    """A problem made ready: of a text that :func:`noregret.problems.load` knows, or of a problem itself.

    The last few are kept. Returns the same object for the same problem, also after its file was edited: then another one.
    """
    with _lock:
        made = problems.load(problem) if isinstance(problem, str | Path) else problem
        name, hash = identity(made, str(problem) if isinstance(problem, str | Path) else None)
        if (name, hash) not in _ready:
            _ready[name, hash] = of_kind(made, KINDS)(made, name, hash)
            while len(_ready) > READY:
                _ready.popitem(last=False)
        _ready.move_to_end((name, hash))
        return _ready[name, hash]


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


def prepared(key: RunKey) -> Prepared:
    """The problem of a run: one that is ready, was supplied, or can be loaded by its name."""
    with _lock:
        found = _ready.get((key.problem, key.problem_hash))
        return found or prepare(supplied(key.problem_hash, key.problem))
