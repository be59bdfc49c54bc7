"""Unknown K (restarts, anytime schedules) and unknown γ (the estimate that sets ξ), against slow versions and known runs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import InputError
from noregret.learners import make
from noregret.runs.streams import streams
from tests.reference.epochs import ReferenceEpochs
from tests.reference.world import play
from tests.support import chosen

PRINTED = {
    "damping": False, "lam": 0.3, "beta": 0.8, "cap": "H-h+1", "lower_clip": True, "zeta": 0.05, "schedule": "fixed",
    "xi": "2*H/(gamma if known else 1/sqrt(K))", "alpha": "4*sqrt(K)", "eta": "1/sqrt(K)",
}  # fmt: skip
OPTIONS = {
    "kept": {"schedule": "doubling"},
    "estimate": {"xi_rule": "estimate", "alpha": 5.0, "eta": 0.4},
    "both": {"schedule": "doubling", "xi_rule": "estimate", "alpha": 5.0, "eta": 0.4},
    "span": {"schedule": "doubling", "bonus": "span", "span_floor": 0.2, "lam": 1e-4, "utility_bonus": 0.5, "damping": True},
}


@pytest.mark.kernels
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("features", ["one-hot", "table"])
@pytest.mark.parametrize("m", [1, 2])
def test_restarts_and_estimates_match_their_slow_version(options: dict[str, Any], features: str, m: int) -> None:
    problem = nr.problems.load(f"random:seed={m},S=4,A=3,H=3,m={m}")
    problem = problem.replace(b=problem.b + (0.2 if options.get("schedule") != "doubling" else 1.0))  # the dual has to move
    phi = nr.features.one_hot(4, 3) if features == "one-hot" else np.random.default_rng(m).dirichlet(np.ones(3), (4, 3))
    given = PRINTED | options
    learner = make("primal-dual-lsvi", problem.spec, episodes=20, features=phi, preset="paper", **given)

    def numbers(K: int) -> dict[str, float]:
        c = learner.resolved(K)
        return {name: c[name] for name in ("alpha", "eta", "xi", "zeta", "beta")}

    estimated = given.get("xi_rule") == "estimate"
    slow = ReferenceEpochs(
        phi, 3, problem.b, numbers=numbers if given["schedule"] == "doubling" else None,
        start=problem.mu, factor=6.0 if estimated else 0.0,
        **{k: v for k, v in given.items() if k not in ("schedule", "xi_rule", "zeta", "alpha", "eta", "xi", "beta")},
        **numbers(20),
    )  # fmt: skip
    world, own = streams(3, 0)
    highest = 0.0
    for _ in range(40):  # twice as many as were announced
        fast, literal = learner.plan(), slow.plan()
        for key in ("Q_r", "Q_g", "V_r", "V_g", "policy"):
            np.testing.assert_allclose(getattr(fast, key), getattr(literal, key), atol=1e-8, err_msg=key)
        np.testing.assert_allclose(learner.dual, slow.Y, atol=1e-8)
        episode = play(problem, literal.policy, world.random(4), own.random(3))
        learner.observe(*episode)
        slow.observe(*episode)
        highest = max(highest, float(learner.dual.max()))
        if estimated:
            np.testing.assert_allclose(learner.notes()["slater_gap_estimate"], slow.gap, atol=1e-7)
            np.testing.assert_allclose(learner.notes()["xi"], slow.xi, rtol=1e-6)
    assert highest > 0


def test_a_restarted_run_does_not_know_how_long_it_is() -> None:
    problem = nr.problems.load("random:S=4,A=3,H=3")
    options = {"trials": 1, "record_every": 1, "progress": False, "schedule": "doubling"}
    short, long = (nr.run(problem, episodes=K, **options) for K in (100, 300))
    np.testing.assert_array_equal(short.regret[0], long.regret[0, :100])
    assert (short.dual[0, [2**i - 2 for i in range(1, 7)], 0] == 0.0).all()  # the episode before 2^i ends with Y = 0
    assert short.dual.max() > 0.0


#: Hard regret plus hard violation without K over that with it; docs/unknown.md has what was measured, at most 1.7.
KEPT = 3.0


@pytest.mark.parametrize("name", ["random:seed=4", "streaming:seed=21"])
def test_not_knowing_the_number_of_episodes_costs_a_bounded_factor(name: str) -> None:
    problem = nr.problems.load(name)

    def cost(**options: Any) -> float:
        found = nr.run(problem, episodes=4096, trials=4, record_every=4096, progress=False, **options)
        return float((found.hard_regret + found.hard_violation)[:, -1].mean())

    known = cost(schedule="fixed")
    assert cost() <= 2.0 * known  # anytime
    assert cost(schedule="doubling") <= KEPT * known


@pytest.mark.parametrize("name", ["random:seed=4", "streaming:seed=21", "random:seed=5,m=2"])
def test_the_estimated_gap_approaches_the_true_one(name: str) -> None:
    problem = nr.problems.load(name)
    true = nr.solve(problem).slater_gap
    errors = []
    for K in (64, 8192):
        found = nr.run(problem, episodes=K, trials=4, record_every=K, progress=False, xi_rule="estimate")
        estimates = found.notes["slater_gap_estimate"]
        errors.append(np.abs(estimates - true).max())
        expected = np.minimum(2 * problem.horizon / estimates, found.constants["xi"])
        np.testing.assert_allclose(found.notes["xi"], expected)
        assert (found.dual.max(axis=(1, 2)) <= found.notes["xi"] + 1e-12).all()
    assert errors[1] < 0.7 * errors[0] or errors[1] < 1e-9  # on streaming a few episodes tell all of it
    assert errors[1] < 0.3 * true


def test_a_gap_that_is_not_there_falls_back_to_the_safe_cap() -> None:
    problem = nr.problems.load("random:S=3,A=2,H=2")
    learner = make("primal-dual-lsvi", problem.replace(b=[2.5]).spec, episodes=100, xi_rule="estimate")  # H = 2
    for _ in range(7):
        learner.plan()
        learner.observe([0, 1, 1], [0, 1], [0.0, 0.0], [[0.0, 0.0]])
    assert learner.notes()["slater_gap_estimate"] < 0.0
    assert learner.notes()["xi"] == 2 * 2 * np.sqrt(100)


def test_theory_moves_alpha_and_eta_with_the_estimated_cap() -> None:
    problem = nr.problems.load("random:S=3,A=2,H=2")
    learner = make("primal-dual-lsvi", problem.spec, episodes=100, preset="theory", xi_rule="estimate")
    learner.plan()
    learner.observe([0, 1, 1], [0, 1], [0.0, 0.0], [[0.0, 0.0]])
    xi, rule = learner.notes()["xi"], learner._state.rule
    assert xi < learner.constants["xi"]
    assert rule.eta[0] == pytest.approx(nr.theory.eta(xi=xi, K=100, H=2))
    assert rule.alpha[0] == pytest.approx(nr.theory.alpha_alg1(A=2, K=100, H=2, xi=xi))


def test_a_given_cap_is_the_most_that_an_estimate_gives() -> None:
    problem = nr.problems.load("random:S=3,A=2,H=2")
    learner = make("primal-dual-lsvi", problem.spec, episodes=100, xi_rule="estimate", xi=0.5)
    learner.plan()
    learner.observe([0, 1, 1], [0, 1], [0.0, 0.0], [[0.0, 0.0]])
    assert learner.notes()["xi"] == 0.5 < 2 * 2 / learner.notes()["slater_gap_estimate"]


def test_the_tightening_of_theorem_2() -> None:
    sizes: dict[str, Any] = {"H": 4, "A": 2, "d": 6, "m": 1, "K": 1000}
    for preset, more in (("theory", {}), ("paper", {"xi": "4*H/gamma"}), ("practical", {"xi": "4*H/gamma"})):
        full = chosen(preset, 0.5, zeta="theorem_2()", **sizes, **more)
        assert (full.zeta, full.xi) == (0.25, 32.0)  # γ/2 and 4H/γ
        assert full.why["zeta"] == "theorem_2(): given"
        scaled = chosen(preset, 0.5, zeta="theorem_2(1e-4)", **sizes, **more)
        assert scaled.zeta == nr.theory.zeta(K=1000, H=4, d=6, A=2, slater_gap=0.5, scale=1e-4) < 0.25


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"zeta": "theorem_2()"}, "slater_gap is None; theorem_2 needs the Slater gap"),
        ({"zeta": "theorm_2()"}, "names 'theorm_2', which is not known here"),
        ({"zeta": "theorem_2(0)", "slater_gap": 1.0}, "scale is 0.0; expected a finite number above 0"),
        ({"xi": "estimate"}, "formula 'estimate' names 'estimate', which is not known here"),
        ({"xi_rule": "estimated"}, "unknown xi_rule 'estimated'; did you mean 'estimate'"),
        ({"schedule": "double"}, "unknown schedule 'double'; did you mean 'doubling'"),
    ],
)
def test_what_is_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make("primal-dual-lsvi", nr.problems.load("random").spec, episodes=10, **params)
