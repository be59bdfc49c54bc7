"""The runs whose numbers ``golden.json`` keeps: how one is played, and how its constants are written out as parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding

import noregret as nr
from noregret.learners.registry import get_for
from noregret.runs.prepare import prepare
from tests.support import CONSTANTS, OURS

FILE = Path(__file__).parent / "golden.json"

#: Small problems: two for every preset, and one whose steps may share all, for the presets that share.
TABLES = ("random:seed=2,noise=bernoulli", "job-scheduling")
SEVERAL = ("random:seed=2,m=2,noise=bernoulli", "job-scheduling")
SHARED = "streaming"
STEPWISE = ("machine-load", "machine-load:limit=0.4,H=4,levels=5")
FEATURES, VECTORS = "linear:seed=1,S=12,A=2", "linear-continuous"

#: Learners that work with the features of a problem.
LINEAR = ("primal-dual-lsvi", "lsvi-ucb", "lsvi-bisection", "opse-lcmdp", "reward-free", "explore-then-commit")

#: Presets whose steps learn together what the problem declares.
SHARING = ("practical",)

#: Presets that need the Slater gap, and those of Algorithm 1 that need a safe policy.
GAP, SAFE = ("theory", "tuned"), ("safe",)


class Case(NamedTuple):
    """A run. ``written`` says whether its constants determine it; a rule that computes constants on the way is not written."""

    problem: str
    learner: str
    preset: str = "practical"
    slater_gap: str | None = None
    params: Mapping[str, Any] = {}
    written: bool = True

    @property
    def name(self) -> str:
        """What the file calls it."""
        given = [f"{name}={value}" for name, value in self.params.items() if value != "safest"]
        known = ["γ known"] if self.slater_gap and self.preset not in GAP else []
        return ", ".join([self.learner, self.preset, self.problem, *known, *given])

    @property
    def episodes(self) -> int:
        """K. Episodes with states in R^D take longer."""
        return 64 if self.problem.startswith(VECTORS) else 400

    def play(self) -> dict[str, Any]:
        """Its constants and its curves, as JSON has them."""
        result = nr.run(
            self.problem, self.learner, episodes=self.episodes, trials=1, seed=11, record_every=self.episodes // 8,
            preset=self.preset, slater_gap=self.slater_gap, progress=False, **self.params,
        )  # fmt: skip
        curves = {name: getattr(result, name)[0].tolist() for name in ("regret", "violations", "dual")}
        curves |= {name: getattr(result, name)[0, -1].tolist() for name in ("hard_regret", "hard_violations")}
        curves |= {} if result.unsafe_steps is None else {"unsafe_steps": result.unsafe_steps[0].tolist()}
        return {"constants": plain(result.constants), "optimum": result.optimal_value, "curves": curves}

    def form(self) -> type[nr.Learner]:
        """The class of its learner that works on its problem."""
        return get_for(self.learner, prepare(self.problem).problem.spec)

    def gone(self) -> bool:
        """Whether its learner has its preset no more: then its constants, where they determine it, still give its numbers."""
        return self.preset not in self.form().presets

    def beside(self) -> list[str]:
        """The presets that its constants can be written beside, where they determine the run."""
        able = [preset for preset in self.form().presets if preset not in SAFE or "safe_policy" in self.params]
        return able if self.written else []


def cases() -> dict[str, Case]:
    """Every learner with every preset on the problems that fit, and :data:`OPTIONS`; by name."""
    made = []
    for learner in OURS:
        cls = nr.learners.get(learner)
        tables = STEPWISE if cls.stepwise else SEVERAL if cls.several else TABLES
        fit = dict.fromkeys((*tables, *[FEATURES] * (learner in LINEAR)), cls.presets)
        fit |= {} if cls.stepwise else {SHARED: tuple(preset for preset in cls.presets if preset in SHARING)}
        fit |= {} if cls.vectors is None else {VECTORS: cls.vectors.presets}
        for problem, presets in fit.items():
            for preset in presets:
                safe = "safe_policy" in cls.told or preset in SAFE
                gap = "oracle" if preset in GAP else None
                made.append(Case(problem, learner, preset, gap, {"safe_policy": "safest"} if safe else {}))
    return {case.name: case for case in (*made, *OPTIONS)}


def _algorithm_1(problem: str, **given: Any) -> Case:
    params = CONSTANTS | given
    return Case(problem, "primal-dual-lsvi", params.pop("preset"), None, params)


#: Options that no preset has.
OPTIONS = (
    _algorithm_1("job-scheduling", beta=0.1, lam=1e-4, alpha=500.0, eta=0.1, xi=40.0),
    _algorithm_1("random:seed=2,m=3,noise=bernoulli"),
    _algorithm_1("linear:seed=1,S=30", alpha=50.0),
    _algorithm_1("linear:seed=2,S=12,A=2,m=2", alpha=float("inf"), cap="H"),
    Case("job-scheduling", "primal-dual-lsvi", "practical", "oracle"),
    Case("job-scheduling", "primal-dual-lsvi", "theory", "oracle", {"zeta": "theorem_2()"}),
    Case("job-scheduling", "primal-dual-lsvi", "paper", None, {"xi_rule": "estimate"}, written=False),
    Case("job-scheduling", "primal-dual-lsvi", "practical", None, {"schedule": "doubling"}, written=False),
    Case(SEVERAL[0], "primal-dual-lsvi", params={"price_step": "printed"}),
    Case("job-scheduling", "primal-dual-lsvi", params={"price_step": "printed"}),
    Case("job-scheduling", "primal-dual-lsvi", "paper", None, {"beta": 0.1, "xi": 0.1}),
    Case("machine-load", "slucb-qvi", params={"beta": 0.3, "cost_beta": 2.0, "optimism": 0.1}),
    Case(SEVERAL[0], "npg-pd", params={"estimate": "rollouts"}),
    Case(SEVERAL[0], "crpo", params={"alpha": 0.1}),
    Case(SEVERAL[0], "cspda", params={"estimate": "pairs"}),
    Case(SEVERAL[0], "regularized-primal-dual", params={"tau": 0.05}),
    Case(SEVERAL[0], "regularized-primal-dual", params={"xi": 0.1}),
    Case(SEVERAL[0], "reward-free", params={"planner": "game", "beta": 0.2}),
    Case("job-scheduling", "explore-then-commit", params={"planner": "game", "explore": 50, "eta": 0.3, "xi": 0.5}),
)


# --- from the constants in the file to parameters ------------------------------------------------------------------

#: What constants say beside numbers and options: what a learner works with, and how it was asked for.
LABELS = ("told", "features", "safe_policy", "xi_rule")


def unlabelled(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """The same without what constants say beside numbers and options."""
    return {**numbers, "constants": {name: value for name, value in numbers["constants"].items() if name not in LABELS}}


def written(case: Case, numbers: Mapping[str, Any], preset: str) -> Case:
    """The same run with all its constants given as parameters, beside any preset, which then decides nothing.

    Args:
        case: the run as it was recorded.
        numbers: what the file has of it.
        preset: the one beside the constants.
    """
    takes = case.form().parameters
    params = {name: value for name, value in unlabelled(numbers)["constants"].items() if name in takes}
    told = {name: value for name, value in case.params.items() if value == "safest"}
    return case._replace(preset=preset, slater_gap="oracle", params=params | told)


# --- the file ------------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """A value as it comes back from JSON. Python writes numbers so that they are read with the same bits."""
    return json.loads(json.dumps(value))


def machine() -> dict[str, str]:
    """What decides the last bits: the processor that kernels are compiled for, and the packages that compute."""
    return {"processor": llvmlite.binding.get_host_cpu_name()} | {name: version(name) for name in ("numba", "numpy", "scipy")}


def read() -> tuple[dict[str, str], dict[str, tuple[Case, dict[str, Any]]]]:
    """The machine that recorded the file; and by name each run with its numbers."""
    stored = json.loads(FILE.read_text("utf-8"))
    runs = [(Case(**entry.pop("run")), entry) for entry in stored["runs"]]
    return stored["machine"], {case.name: (case, numbers) for case, numbers in runs}


def write(runs: Mapping[str, tuple[Case, dict[str, Any]]]) -> None:
    """Write the file, one run a line."""

    def text(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    def line(case: Case, numbers: dict[str, Any]) -> str:
        given = {key: value for key, value in case._asdict().items() if value != Case._field_defaults.get(key)}
        return text({"run": given} | numbers)

    lines = ",\n".join(line(*runs[name]) for name in sorted(runs))
    FILE.write_text(f'{{"machine": {text(machine())}, "runs": [\n{lines}\n]}}\n', "utf-8")
