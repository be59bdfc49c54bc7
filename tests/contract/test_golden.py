"""Numbers that must not move: short runs, to 1e-9. ``pytest --regenerate-golden`` writes them anew, on purpose only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from tests.support import CONSTANTS

FILE = Path(__file__).parent / "golden.json"

#: Runs of other learners than Algorithm 1.
OTHERS = {"machine-load, a limit on every step": "slucb-qvi"} | {
    name: name for name in ("regularized-primal-dual", "uopt-rpgpd", "reward-free", "explore-then-commit")
}
OTHERS |= {"npg-pd": "npg-pd", "npg-pd, rollouts": "npg-pd", "crpo": "crpo", "cspda": "cspda", "cspda, pairs": "cspda"}

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "job-scheduling, one-hot": (
        "job-scheduling",
        CONSTANTS | {"beta": 0.1, "lam": 1e-4, "alpha": 500.0, "eta": 0.1, "xi": 40.0},
    ),
    "job-scheduling, as section 5 has it": ("job-scheduling", {"preset": "paper"}),
    "job-scheduling, Theorem 1": ("job-scheduling", {"preset": "theory", "slater_gap": "oracle"}),
    "three constraints, noise": ("random:seed=2,m=3,noise=bernoulli", CONSTANTS),
    "machine-load, a limit on every step": ("machine-load", {"beta": 0.3, "cost_beta": 2.0, "optimism": 0.1}),
    "features": ("linear:seed=1,S=30", CONSTANTS | {"alpha": 50.0}),
    "npg-pd": ("job-scheduling", {}),
    "npg-pd, rollouts": ("random:seed=2,m=2,noise=bernoulli", {"estimate": "rollouts"}),
    "crpo": ("random:seed=2,m=2,noise=bernoulli", {"alpha": 0.1}),
    "cspda": ("job-scheduling", {}),
    "cspda, pairs": ("random:seed=2,m=2,noise=bernoulli", {"estimate": "pairs"}),
    "features, two constraints, greedy": ("linear:seed=2,S=12,A=2,m=2", CONSTANTS | {"alpha": float("inf"), "cap": "H"}),
    "regularized-primal-dual": ("random:seed=2,m=2,noise=bernoulli", {"tau": 0.05}),
    "uopt-rpgpd": ("random:seed=2,m=2,noise=bernoulli", {}),
    "reward-free": ("random:seed=2,m=2,noise=bernoulli", {}),
    "explore-then-commit": ("random:seed=2,m=2,noise=bernoulli", {}),
}


@pytest.fixture(scope="session")
def golden(request: pytest.FixtureRequest) -> Any:
    renewed: dict[str, Any] = {}
    stored = json.loads(FILE.read_text()) if FILE.exists() else {}
    yield renewed, stored, request.config.getoption("--regenerate-golden")
    if request.config.getoption("--regenerate-golden"):
        FILE.write_text(json.dumps(stored | renewed, indent=1, sort_keys=True) + "\n")


@pytest.mark.parametrize("case", RUNS)
def test_numbers_have_not_moved(case: str, golden: Any) -> None:
    problem, params = RUNS[case]
    learner = OTHERS.get(case, "primal-dual-lsvi")
    result = nr.run(nr.problems.load(problem), learner, episodes=400, trials=2, seed=11, record_every=133, **params)
    numbers = {
        name: getattr(result, name).tolist() for name in ("regret", "hard_regret", "violations", "hard_violations", "dual")
    } | {"optimal_value": result.optimal_value}
    numbers |= {} if result.unsafe_steps is None else {"unsafe_steps": result.unsafe_steps.tolist()}
    renewed, stored, renew = golden
    renewed[case] = numbers
    if renew:
        return
    assert stored[case].keys() == numbers.keys()
    for name, value in numbers.items():
        np.testing.assert_allclose(value, stored[case][name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_the_file_holds_these_runs_and_no_others(golden: Any) -> None:
    assert golden[2] or set(golden[1]) == set(RUNS)
