"""primal-dual-lsvi against the literal Algorithm 1 on whole runs, and what it reduces to."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret import learners, oracle
from noregret._system.progress import bar
from noregret.errors import InputError
from noregret.features import one_hot
from tests.support import CONSTANTS, slow_curves, slow_twin, small, trial

K = 30

#: Problem and constants of a whole run; everything that Algorithm 1 can be combined with occurs.
RUNS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "one-hot": ({}, {}),
    "one-hot, two actions": ({"A": 2, "m": 2}, {}),
    "one-hot, three constraints, masks": ({"m": 3, "masked": True}, {}),
    "one-hot, noise": ({"m": 2, "noise": "bernoulli", "sparse": True}, {"zeta": 0.1}),
    "one-hot, by next state": ({"by_next": True, "A": 2}, {"cap": "H"}),
    "one-hot, greedy": ({"m": 2}, {"alpha": float("inf")}),
    "one-hot, as printed": ({"mu": 1}, {"cap": "H", "lower_clip": False, "lam": 1.0}),
    "features": ({"d": 3}, {}),
    "features, two constraints, masks": ({"d": 3, "m": 2, "masked": True, "A": 2}, {}),
    "features, three constraints, noise": ({"d": 2, "m": 3, "noise": "bernoulli"}, {"zeta": 0.1}),
    "features, by next state, as printed": ({"d": 3, "by_next": True}, {"cap": "H", "lower_clip": False}),
    "features, greedy": ({"d": 3, "mu": 0}, {"alpha": float("inf")}),
    "features, more than pairs": ({"d": 20, "S": 3}, {"lam": 1.0}),
}


@pytest.mark.kernels
@pytest.mark.parametrize("case", RUNS)
def test_whole_runs_match_the_literal_algorithm(case: str) -> None:
    shape, constants = RUNS[case]
    problem = small(3, b=np.full(shape.get("m", 1), 2.2), **shape)  # H = 3: the dual moves
    fast = trial(problem, episodes=K, seed=4, index=1, **(CONSTANTS | constants))
    slow = slow_twin(problem, CONSTANTS | constants)
    expected = slow_curves(problem, slow, K, seed=4, index=1)
    fast.advance(K)
    np.testing.assert_allclose(fast.curves, expected, rtol=1e-9, atol=1e-9)
    ours, theirs = fast.learner.plan(), slow.plan()
    for name in ("policy", "Q_r", "Q_g", "V_r", "V_g"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-9, err_msg=name)
    moved = expected[:, 2 + 2 * problem.n_constraints :]
    assert (moved.max(axis=0) > 0.0).all(), "the dual never moved: this run tests little"


@pytest.mark.kernels
def test_by_hand_is_the_same_as_by_the_runner() -> None:
    """plan() and observe() in Python give the bits that the compiled loop gives."""
    from noregret.runs.streams import streams
    from tests.reference import world as slow_world

    problem = small(5, m=2, d=3)
    looped = trial(problem, episodes=K, **CONSTANTS)
    looped.advance(K)
    held = learners.make("primal-dual-lsvi", problem.spec, episodes=K, **CONSTANTS)
    world, own = streams(0, 0)
    u, v = world.random((K, slow_world.width(problem))), own.random((K, problem.horizon))
    for k in range(K):
        held.observe(*slow_world.play(problem, held.plan().policy, u[k], v[k]))
    for key, value in looped.learner.state().items():
        np.testing.assert_array_equal(value, held.state()[key], err_msg=key)


@pytest.mark.kernels
@pytest.mark.parametrize("case", ["one-hot, three constraints, masks", "features, two constraints, masks"])
def test_plans_by_hand_match_the_literal_algorithm(case: str) -> None:
    """What whole runs are compiled of, and quicker to compile: plan and update alone."""
    from tests.reference import world as slow_world

    shape, constants = RUNS[case]
    problem = small(3, b=np.full(shape["m"], 2.2), **shape)
    held = learners.make("primal-dual-lsvi", problem.spec, episodes=K, **(CONSTANTS | constants))
    slow, rng = slow_twin(problem, CONSTANTS | constants), np.random.default_rng(4)
    for _ in range(K):
        ours, theirs = held.plan(), slow.plan()
        np.testing.assert_allclose(ours.policy, theirs.policy, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(ours.Q_g, theirs.Q_g, rtol=1e-9, atol=1e-9)
        u, v = rng.random(slow_world.width(problem)), rng.random(problem.horizon)
        episode = slow_world.play(problem, theirs.policy, u, v)
        held.observe(*episode)
        slow.observe(*episode)
        np.testing.assert_allclose(held.dual, slow.Y, rtol=1e-9, atol=1e-9)
    assert held.dual.min() > 0.0, "the dual never moved: this run tests little"


def test_one_hot_features_given_as_a_table_are_recognised_and_any_other_basis_agrees() -> None:
    """One-hot features turned by an orthogonal matrix are no longer counts, but the same regression."""
    problem = small(6, S=3, A=2, m=2)
    plain = trial(problem, episodes=K, **CONSTANTS)
    table = trial(problem, episodes=K, features=one_hot(3, 2), **CONSTANTS)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    turned = trial(problem, episodes=K, features=one_hot(3, 2) @ turn * (1 - 1e-12), **CONSTANTS)
    assert plain.learner.constants["features"] == table.learner.constants["features"] == "one-hot"
    assert turned.learner.constants["features"] == "table, d=6"
    for one in (plain, table, turned):
        one.advance(K)
    np.testing.assert_array_equal(plain.curves, table.curves)
    np.testing.assert_allclose(plain.curves, turned.curves, rtol=1e-7, atol=1e-7)


def test_no_bonus_is_value_iteration_on_the_empirical_model() -> None:
    """β = 0, α = ∞, λ → 0, a vacuous constraint: Q is that of the model of averages, where something was seen."""
    problem = small(7, S=3, A=2, H=3, b=[0.0])
    one = trial(problem, episodes=400, **(CONSTANTS | {"beta": 0.0, "alpha": float("inf"), "lam": 1e-13, "eta": 0.0}))
    one.advance(400)
    plan, gram = one.learner.plan(), one.learner._state.gram
    V = np.zeros(3)
    for h in reversed(range(3)):
        Q = np.zeros((3, 2))
        for s in range(3):
            for a in range(2):
                n = gram.visits[h, s, a]
                if n > 0:
                    seen = gram.successors[h, s, a]
                    led = np.bincount(gram.successor[h, s, a, :seen], gram.times[h, s, a, :seen], minlength=3) / n
                    Q[s, a] = problem.r[h, s, a] + led @ V
        np.testing.assert_allclose(plan.Q_r[h], Q, rtol=1e-9, atol=1e-9)
        V = Q.max(axis=1)


def test_a_vacuous_constraint_keeps_the_dual_at_zero() -> None:
    one = trial(small(8, b=[0.0]), episodes=200, **CONSTANTS)
    one.advance(200)
    assert (one.curves[:, -1] == 0.0).all()


def test_a_constraint_out_of_reach_drives_the_dual_to_its_cap() -> None:
    one = trial(small(8, b=[5.0]), episodes=200, **CONSTANTS)  # H = 3
    one.advance(200)
    assert one.curves[-1, -1] == CONSTANTS["xi"]


def test_infinite_alpha_is_uniform_over_ties() -> None:
    problem = small(9, S=2, A=3, H=2)
    learner = learners.make("primal-dual-lsvi", problem.spec, episodes=10, **(CONSTANTS | {"alpha": float("inf")}))
    np.testing.assert_array_equal(learner.plan().policy, np.full((2, 2, 3), 1 / 3))
    learner.observe([0, 0, 1], [1, 2], [0.0, 0.0], [[0.0, 0.0]])  # action 1 in state 0 was a disappointment
    np.testing.assert_array_equal(learner.plan().policy[0, 0], [0.5, 0.0, 0.5])


def test_it_learns() -> None:
    """With a sound bonus the last policies are near the optimum, and the constraint nearly holds."""
    problem = small(10, S=3, A=2, H=3)
    best = oracle.solve(problem.replace(b=[1.6]))
    problem = problem.replace(b=[1.6])
    one = trial(
        problem, episodes=4000, **(CONSTANTS | {"beta": 0.1, "lam": (0.1 / 3) ** 2, "alpha": 300.0, "eta": 0.05, "xi": 10.0})
    )
    one.advance(4000)
    late = -(one.curves[-1] - one.curves[-1001]) / 1000  # means over the last 1000 episodes
    assert late[0] >= best.value - 0.05
    assert late[2] >= -0.05


@settings(max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    beta=st.floats(0.0, 50.0),
    lam=st.floats(1e-4, 10.0),
    alpha=st.one_of(st.floats(1e-3, 1e6), st.just(float("inf"))),
    eta=st.floats(0.0, 20.0),
    xi=st.floats(0.0, 20.0),
    d=st.sampled_from([None, 3]),
)
def test_what_always_holds(seed: int, beta: float, lam: float, alpha: float, eta: float, xi: float, d: int | None) -> None:
    """Policies on the simplex and off unavailable actions, 0 ≤ Y ≤ ξ, 0 ≤ Q ≤ H − h + 1."""
    problem = small(seed, m=2, masked=True, d=d)
    one = trial(
        problem, episodes=12, preset="paper", cap="H-h+1", lower_clip=True, beta=beta, lam=lam, alpha=alpha, eta=eta, xi=xi
    )
    one.advance(12)
    plan, H = one.learner.plan(), problem.horizon
    assert (plan.policy >= 0.0).all()
    np.testing.assert_allclose(plan.policy.sum(axis=2), 1.0, rtol=1e-13)
    assert (plan.policy[~problem.available] == 0.0).all()
    duals = one.curves[:, -2:]
    assert (duals >= 0.0).all()
    assert (duals <= xi).all()
    for Q in (plan.Q_r, *plan.Q_g):
        assert (Q >= 0.0).all()
        assert (Q <= np.arange(H, 0, -1)[:, None, None]).all()
    assert np.isfinite(one.curves).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"betta": 1.0}, "'betta'; did you mean 'beta'"),
        ({"beta": -1.0}, "beta is -1.0; expected a number of at least 0"),
        ({"lam": 0.0}, "lam is 0.0; expected a number above 0"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"alpha": "alg1"}, "formula 'alg1' names 'alg1', which is not known here"),
        ({"eta": "fa st"}, "'fa st' is no number and no formula"),
        ({"cap": "h"}, "unknown cap 'h'"),
        ({"lower_clip": 1}, "lower_clip is 1; expected True or False"),
        ({"preset": "theory"}, "slater_gap is None; preset 'theory' needs"),
        ({"preset": "practcal"}, "did you mean 'practical'"),
        ({"slater_gap": 0.0}, "slater_gap is 0.0; expected a positive number"),
        ({"slater_gap": "oracle"}, "slater_gap is 'oracle'"),
        ({"features": np.zeros((2, 2))}, "features"),
        ({"episodes": 0}, "episodes is 0; expected a whole number from 1"),
        ({"episodes": 2.5}, "episodes is 2.5"),
    ],
)
def test_what_is_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        learners.make("primal-dual-lsvi", small().spec, **({"episodes": 10} | params))


def test_presets_explain_themselves() -> None:
    spec = small().spec
    theory = learners.make("primal-dual-lsvi", spec, episodes=100, preset="theory", slater_gap=0.5)
    assert theory.constants["lam"] == 1.0
    assert theory.constants["xi"] == 2 * 3 / 0.5
    assert theory.constants["cap"] == "H"
    paper = learners.make("primal-dual-lsvi", spec, episodes=100, preset="paper", beta=0.6)
    assert paper.constants["zeta"] == 0.1
    assert paper.constants["lam"] == pytest.approx(0.2**2)
    assert paper.explain["beta"] == "given"
    for learner in (theory, paper):
        assert set(learner.explain) >= {"lam", "beta", "alpha", "eta", "xi", "zeta"}


def test_reasons_are_true() -> None:
    """Every constant has one; a prior that the pessimistic estimate does not use is not praised; restarts say whose K it is."""
    spec = small().spec
    safe = spec.available / spec.available.sum(axis=2, keepdims=True)
    for options in ({}, {"preset": "paper"}, {"preset": "safe", "safe_policy": safe}, {"schedule": "doubling"}):
        learner = learners.make("primal-dual-lsvi", spec, episodes=1000, **options)
        assert set(learner.explain) == set(learner.constants) - {"features"}
    assert learner.constants["alpha"] == 4 * np.sqrt(512)
    assert learner.explain["schedule"] == "given; each part has its own constants, these are for its K = 512"
    for options in ({"preset": "safe", "safe_policy": safe}, {"dual_estimate": "pessimistic", "pessimism": 0.5}):
        learner = learners.make("primal-dual-lsvi", spec, episodes=1000, **options)
        assert learner.constants["dual_prior"] == 0.0
    assert learners.make("primal-dual-lsvi", spec, episodes=1000).constants["dual_prior"] == 0.5


def test_numpys_numbers_and_booleans_are_as_good_as_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = small().spec
    ours, numpys = (
        learners.make("primal-dual-lsvi", spec, episodes=k, damping=flag, beta=beta)
        for k, flag, beta in ((10, False, 0.5), (np.int64(10), np.False_, np.float64(0.5)))
    )
    assert ours.constants == numpys.constants and ours.constants["damping"] is numpys.constants["damping"] is False
    passes = learners.make("lsvi-bisection", spec, episodes=10, passes=np.int64(5)).constants["passes"]
    assert passes == 5 and type(passes) is int
    for wrong in (np.int64(0), np.True_, np.float64(5.5)):
        with pytest.raises(InputError, match=r"passes is .*; expected a whole number"):
            learners.make("lsvi-bisection", spec, episodes=10, passes=wrong)
    monkeypatch.setattr("rich.progress.Progress", None)  # no bar can be made
    with bar(1, np.False_) as show:  # type: ignore[arg-type]
        show(1)
