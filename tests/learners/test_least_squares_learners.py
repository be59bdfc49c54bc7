"""lsvi-ucb, rounding, lsvi-bisection and opse-lcmdp: against the literal ones, in their limits, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import learners
from noregret.errors import InputError
from noregret.features import one_hot
from noregret.problems.base import TabularCMDP
from noregret.runs.streams import streams as streams_of
from noregret.runs.trial import TableTrial
from tests.reference import world
from tests.reference.least_squares import ReferenceBisection, ReferenceLSVIUCB, ReferenceOPSE, ReferenceRounded
from tests.support import begin


def problem(seed: int, *, kind: str = "one-hot", m: int = 1, H: int = 3, S: int = 3, tight: float = 0.7) -> TabularCMDP:
    """A small world: one-hot, with masks (three actions), or with a table of features and Bernoulli noise.

    The thresholds are what uniform play gives and the share ``tight`` of what can be had beyond that.
    """
    rng = np.random.default_rng(seed)
    A = 3 if kind == "masked" else 2
    available = np.ones((H, S, A), bool)
    if kind == "masked":
        available[:, 1, 2] = available[0, 2, 0] = False
    features = rng.dirichlet(np.ones(4), size=(S, A)) if kind == "table" else None
    made = TabularCMDP(
        rng.dirichlet(np.ones(S), size=(H, S, A)), rng.random((H, S, A)), rng.random((m, H, S, A)), np.zeros(m),
        rng.dirichlet(np.ones(S)), available=available, features=features, noise="bernoulli" if kind == "table" else None,
    )  # fmt: skip
    made = made.replace(b=nr.evaluate(made, available / available.sum(axis=2, keepdims=True))[1])
    return made.replace(b=made.b + tight * nr.oracle.slater_gap(made))


def phi_of(p: TabularCMDP) -> np.ndarray:
    return one_hot(p.n_states, p.n_actions) if p.features is None else p.features


def start(p: TabularCMDP, name: str, episodes: int, seed: int = 3, **params: Any) -> TableTrial:
    return begin(p, name, episodes=episodes, seed=seed, **params)


def side_by_side(trial: TableTrial, reference: Any, compare: Any) -> None:
    """Both play their own plans with the same uniforms, the learner in the runner's loop; they agree in every episode."""
    p, streams = trial.problem, streams_of(trial.key.seed, 0)
    for k in range(trial.episodes):
        u, v = streams[0].random((1, world.width(p)))[0], streams[1].random((1, p.horizon))[0]
        slow = reference.plan()
        policy = slow[1] if isinstance(slow, tuple) and not hasattr(slow, "policy") else slow.policy
        trial.advance(1)  # what it was planned with is still there
        mine = trial.learner._state
        compare(getattr(mine, "tables", mine), slow, k)
        close("policy", mine.policy, policy, k)
        episode = world.play(p, np.asarray(policy), u, v)
        np.testing.assert_array_equal(trial.scratch.states, episode[0])
        np.testing.assert_array_equal(trial.scratch.actions, episode[1])
        reference.observe(*episode)


KINDS = ("one-hot", "masked", "table")


def close(name: str, a: Any, b: Any, k: int) -> None:
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-9, err_msg=f"{name} of episode {k}")


# --- lsvi-ucb ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("preset", ["practical", "theory"])
def test_lsvi_ucb_is_the_literal_one(kind: str, preset: str) -> None:
    p = problem(1, kind=kind, m=2)
    trial = start(p, "lsvi-ucb", 40, preset=preset, beta="0.3*usual" if preset == "practical" else "0.002*usual")
    c = trial.learner.constants
    slow = ReferenceLSVIUCB(
        phi_of(p), p.horizon, c["lam"], p.available, beta=c["beta"], cap=c["cap"], lower_clip=c["lower_clip"]
    )
    side_by_side(trial, slow, lambda a, b, k: close("Q_r", a.Q[:, 0], b[0], k))
    assert not trial.learner.dual.any()


@pytest.mark.parametrize("kind", KINDS)
def test_lsvi_ucb_is_algorithm_1_without_price_and_temperature(kind: str) -> None:
    """Y = 0 (ξ = 0), α = ∞, the same β, λ, cap and tie rule: not one bit differs in 300 episodes."""
    p = problem(2, kind=kind, m=2)
    shared: dict[str, Any] = {"beta": 0.2, "lam": 0.01, "cap": "H-h+1", "lower_clip": True}
    one = start(p, "lsvi-ucb", 300, **shared)
    other = start(p, "primal-dual-lsvi", 300, preset="paper", alpha=np.inf, xi=0.0, zeta=0.0, **shared)
    for _ in range(300):
        one.advance(1)
        other.advance(1)
        a, b = one.learner._state.tables, other.learner._state.tables
        for x, y in ((a.policy, b.policy), (a.Q[:, 0], b.Q[:, 0]), (a.V[:, 0], b.V[:, 0])):
            np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(one.curves, other.curves)


# --- ε-net rounding ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("eps", "m"), [(0.137, 2), (1.03, 1)])  # two equal prices on a coarse net would tie but for rounding
def test_rounding_is_the_literal_one(kind: str, eps: float, m: int) -> None:
    p = problem(3, kind=kind, m=m)
    trial = start(
        p, "primal-dual-lsvi", 40, preset="paper", rounding=eps, cap="H-h+1", lower_clip=True, beta=0.11, eta=0.07, zeta=0.9
    )
    c = trial.learner.constants
    slow = ReferenceRounded(
        phi_of(p), p.horizon, p.b, lam=c["lam"], beta=c["beta"], alpha=np.inf, eta=c["eta"], xi=c["xi"], cap=c["cap"],
        zeta=0.9, lower_clip=True, available=p.available,
    )  # fmt: skip
    slow.eps = eps

    def compare(a: Any, b: Any, k: int) -> None:
        close("Q_r", a.Q[:, 0], b.Q_r, k)
        close("Q_g", np.moveaxis(a.Q[:, 1:], 1, 0), b.Q_g, k)

    side_by_side(trial, slow, compare)
    close("Y", trial.learner.dual, slow.Y, 40)
    assert slow.Y.any()
    assert c["rounding"] == eps


@pytest.mark.parametrize("kind", ["one-hot", "table"])
@pytest.mark.parametrize("dual_estimate", ["optimistic", "plain"])
def test_a_fine_net_is_greedy_algorithm_1(kind: str, dual_estimate: str) -> None:
    """With radius ε = 10⁻⁵ the estimates after 60 episodes are the unrounded ones within Hε, and not the same."""
    p = problem(4, kind=kind)
    given = {
        "preset": "paper",
        "cap": "H-h+1",
        "eta": 0.0,
        "beta": 0.3,
        "lower_clip": True,
        "bonus": "span",
        "span_floor": 0.5,
        "lam": 1e-3,
    } | {
        "dual_estimate": dual_estimate,
    }
    one = start(p, "primal-dual-lsvi", 60, rounding=1e-5, **given)
    other = start(p, "primal-dual-lsvi", 60, alpha=np.inf, **given)
    one.advance(60)
    other.advance(60)
    assert 0.0 < np.abs(one.learner._state.tables.Q - other.learner._state.tables.Q).max() <= p.horizon * 1e-5


def test_rounding_refuses_a_temperature_and_a_radius_of_nothing() -> None:
    p = problem(0)
    with pytest.raises(InputError, match=r"alpha is 3; with rounding the policy is greedy"):
        learners.make("primal-dual-lsvi", p.spec, episodes=5, rounding=0.1, alpha=3.0)
    with pytest.raises(InputError, match=r"rounding is -0\.1; expected a number of at least 0"):
        learners.make("primal-dual-lsvi", p.spec, episodes=5, rounding=-0.1)
    with pytest.raises(InputError, match="unknown parameter of primal-dual-lsvi 'roundin'"):
        learners.make("primal-dual-lsvi", p.spec, episodes=5, roundin=0.1)


# --- bisection -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [5, 6])
def test_bisection_is_the_literal_one(kind: str, seed: int) -> None:
    p = problem(seed, kind=kind, tight=0.98)
    trial = start(p, "lsvi-bisection", 40, alpha=7.0, beta=0.02, lam=(0.02 / p.horizon) ** 2, max_price=20.0, passes=12)
    c = trial.learner.constants
    slow = ReferenceBisection(
        phi_of(p), p.horizon, p.b, lam=c["lam"], beta=c["beta"], alpha=7.0, eta=0.0, xi=0.0, cap=c["cap"], lower_clip=True,
        available=p.available,
    )  # fmt: skip
    slow.start, slow.top, slow.passes = p.mu, 20.0, 12
    prices = []

    def compare(a: Any, b: Any, k: int) -> None:
        close("Q_r", a.Q[:, 0], b.Q_r, k)
        close("Q_g", a.Q[:, 1], b.Q_g[0], k)
        close("Y", trial.learner.dual, slow.Y, k)
        prices.append(trial.learner.dual[0])

    side_by_side(trial, slow, compare)
    assert any(0.0 < price < 20.0 for price in prices), "the search itself must be exercised"


def test_bisection_with_a_vacuous_constraint_plays_price_0_as_algorithm_1() -> None:
    p = problem(8).replace(b=[0.0])
    with pytest.warns(UserWarning, match="cannot bind"):
        own = {"alpha": 5.0, "beta": 0.3, "lam": (0.3 / p.horizon) ** 2}
        res = nr.run(p, "lsvi-bisection", episodes=300, trials=2, record_every=10, **own)
    assert not res.dual.any()
    options = {"preset": "paper", "zeta": 0.0, "cap": "H-h+1", "lower_clip": True, "alpha": 5.0, "beta": 0.3, "eta": 0.0}
    other = nr.run(p, "primal-dual-lsvi", episodes=300, trials=2, record_every=10, **options)
    np.testing.assert_array_equal(res.regret, other.regret)


def test_bisection_with_a_hopeless_constraint_plays_the_largest_price() -> None:
    p = problem(9)
    trial = start(p, "lsvi-bisection", 1, max_price=17.0)
    trial.learner._state.rule.b[:] = 3.5  # more than H; the oracle would refuse such a problem
    trial.advance(1)
    assert trial.learner.dual == [17.0]


def test_bisection_theory_constants() -> None:
    p = nr.problems.load("job-scheduling")
    c = learners.make("lsvi-bisection", p.spec, episodes=10_000, preset="theory").constants
    assert c["alpha"] == pytest.approx(np.log(2) * 100 / 40)
    assert c["max_price"] == pytest.approx(100.0)
    assert c["beta"] == pytest.approx(nr.theory.beta(d=20, H=10, K=10_000, A=2))
    assert (c["lam"], c["cap"], c["lower_clip"], c["passes"]) == (1.0, "H", False, 20)


# --- opse-lcmdp ----------------------------------------------------------------------------------------------------


def opse(p: TabularCMDP, **params: Any) -> Any:
    given = {"safe_policy": nr.oracle.safest(p), "reward": p.r, "utilities": p.g, "episodes": 40}
    return learners.make("opse-lcmdp", p.spec, **(given | params))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [5, 11])
def test_opse_is_the_literal_one(kind: str, seed: int) -> None:
    p = problem(seed, kind=kind)
    given: dict[str, Any] = {"kappa": 0.05, "C_r": 0.3, "C_plus": 0.2, "C_g": 0.02, "B": 0.25, "passes": 12}
    trial = start(p, "opse-lcmdp", 40, safe_policy="safest", lam=0.05, max_price=20.0, **given)
    slow = ReferenceOPSE(
        phi_of(p), p.horizon, 0.05, p.available, r=p.r, g=p.g[0], safe_policy=nr.oracle.safest(p), b=p.b[0], start=p.mu,
        top=20.0, **given,
    )  # fmt: skip
    seen = set()

    def compare(a: Any, b: Any, k: int) -> None:
        for j, table in enumerate((b.Q_r, b.Q_plus, b.Q_g)):
            close("Q^r Q^+ Q^g".split()[j], a.Q[:, j], table, k)
        close("price", a.Y[0], b.price, k)
        seen.add("safe" if b.safe else "free" if b.price == 0.0 else "priced")

    side_by_side(trial, slow, compare)
    assert "safe" in seen and len(seen) > 1, "both the safe policy and a learned one must be exercised"


def test_opse_plays_the_safe_policy_while_uncertain_and_then_no_more() -> None:
    p = nr.problems.load("job-scheduling")
    safe = nr.oracle.safest(p)
    wary = {"C_r": 0.3, "C_g": 0.3, "B": 0.3, "C_plus": 0.3, "kappa": 0.01, "max_price": 100.0}  # as before the search
    quick = start(p, "opse-lcmdp", 2000, safe_policy="safest", **wary)  # shares transitions, as declared
    quick.advance(2000)
    trial = start(p, "opse-lcmdp", 2000, safe_policy="safest", share="nothing", **wary)
    for _ in range(10):
        trial.advance(1)
        np.testing.assert_array_equal(trial.learner._state.policy, safe)
    trial.advance(1990)
    assert 10 < trial.learner.safe_plays < 1000
    assert np.abs(trial.learner._state.policy - safe).max() > 0.5
    assert trial.sums[3] == quick.sums[3] == 0.0, "no episode violates"
    assert quick.learner.safe_plays < trial.learner.safe_plays


def test_opse_refuses_to_run_without_what_it_must_be_told() -> None:
    p = problem(1)
    with pytest.raises(InputError, match=r"safe_policy is None; opse-lcmdp needs a policy"):
        nr.run(p, "opse-lcmdp", episodes=5, trials=1)
    with pytest.raises(InputError, match=r"safe_policy is 'safe'; expected an array"):
        nr.run(p, "opse-lcmdp", episodes=5, trials=1, safe_policy="safe")
    for key in ("reward", "utilities"):
        with pytest.raises(InputError, match=f"{key} is given; opse-lcmdp is told the problem's own: leave it out"):
            nr.run(p, "opse-lcmdp", episodes=5, trials=1, safe_policy="safest", **{key: 1.0})
    with pytest.raises(InputError, match=r"reward is None; opse-lcmdp is told"):
        opse(p, reward=None)
    with pytest.raises(InputError, match=r"utilities has shape \(2, 3, 2\); expected \(3, 3, 2\)"):
        opse(p, utilities=p.g[0, 1:])
    with pytest.raises(InputError, match=r"safe_policy\[0, 0\] sums to 2; expected 1"):
        opse(p, safe_policy=np.ones((3, 3, 2)))
    with pytest.raises(InputError, match="slater_gap is None; preset 'theory' needs"):
        opse(p, preset="theory")
    assert "is told r, g and a safe policy" in learners.get("opse-lcmdp").summary
    assert nr.run(p, "opse-lcmdp", episodes=5, trials=1, safe_policy="safest").constants["told"] == "r, g and a safe policy"


def test_opse_theory_constants_meet_the_sufficient_conditions() -> None:
    p = nr.problems.load("job-scheduling")
    c = opse(p, preset="theory", slater_gap=0.4998, episodes=10_000).constants
    H_kappa = 10 * (1 + c["kappa"] * np.log(2))
    assert c["max_price"] >= 8 * H_kappa**2 * (c["B"] + 1) / 0.4998
    assert c["kappa"] <= 0.4998**2 / (32 * H_kappa**2 * (c["B"] + 1))
    assert c["B"] == pytest.approx(c["C_g"] * 10 / 0.4998)


# --- all of them ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lsvi-bisection", "opse-lcmdp"])
def test_one_constraint_only(name: str) -> None:
    p = problem(1, m=2)
    with pytest.raises(InputError, match=f"the problem has 2 constraints; {name} is stated for 1"):
        nr.run(p, name, episodes=5, trials=1, safe_policy="safest") if name[0] == "o" else nr.run(p, name, episodes=5, trials=1)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("lsvi-ucb", {"alpha": 3.0}, "unknown parameter of lsvi-ucb 'alpha'"),
        ("lsvi-ucb", {"beta": -1.0}, "beta is -1.0; expected a number of at least 0"),
        ("lsvi-ucb", {"cap": "h"}, "unknown cap 'h'"),
        ("lsvi-ucb", {"lower_clip": 1}, "lower_clip is 1; expected True or False"),
        ("lsvi-bisection", {"passes": 0}, "passes is 0; expected a whole number from 1 to 2,000"),
        ("lsvi-bisection", {"max_price": np.inf}, "max_price is inf; expected a number above 0"),
    ],
)
def test_parameters_are_checked(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        learners.make(name, problem(1).spec, episodes=5, **params)


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("lsvi-ucb", {}),
        ("primal-dual-lsvi", {"rounding": 0.1}),
        ("primal-dual-lsvi", {"alpha": np.inf}),
        ("lsvi-bisection", {}),
        ("opse-lcmdp", {"safe_policy": "safest"}),
    ],
)
def test_stop_and_resume_changes_no_bit(name: str, params: dict[str, Any]) -> None:
    p = problem(1)
    whole, half = start(p, name, 60, **params), start(p, name, 60, **params)
    whole.advance(60)
    half.advance(25)
    saved, half.learner = half.learner.state(), start(p, name, 60, **params).learner
    half.learner.restore(saved)
    half.advance(35)
    np.testing.assert_array_equal(whole.curves, half.curves)
    for key, value in whole.learner.state().items():
        np.testing.assert_array_equal(value, half.learner.state()[key])
    assert np.isfinite(whole.curves).all()


def test_in_hand_as_in_the_loop() -> None:
    """``plan`` and ``observe`` from Python are what the loop does; asking for a plan twice changes nothing."""
    p = problem(1)
    trial = start(p, "opse-lcmdp", 20, safe_policy="safest")
    held = start(p, "opse-lcmdp", 20, safe_policy="safest").learner
    for _ in range(20):
        trial.advance(1)
        held.plan()
        plan = held.plan()
        np.testing.assert_array_equal(plan.policy, trial.learner._state.policy)
        np.testing.assert_array_equal(plan.Q_g[0], trial.learner._state.Q[:, 2])
        held.observe(trial.scratch.states, trial.scratch.actions, trial.scratch.observed[:, 0], trial.scratch.observed[:, 1:].T)
    assert held.safe_plays == trial.learner.safe_plays
