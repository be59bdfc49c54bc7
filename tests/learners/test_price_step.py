"""Prices that move together and a soft-max as sharp as pays: the slow version, what is refused, and what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.kernels.steps.balance import even
from noregret.kernels.steps.primal_dual import dual_step, settle
from noregret.learners import make
from noregret.runs.streams import streams
from tests.reference.balanced import ReferenceBalanced
from tests.reference.world import play, width

PLAIN = {"dual_estimate": "plain", "dual_prior": 0.5, "damping": True}
OPTIONS = {
    "printed estimate": {},
    "plain": PLAIN,
    "anytime, no wind-up": PLAIN | {"schedule": "anytime", "anti_windup": True, "zeta": 0.0, "alpha": 10.0, "eta": 3.0},
    "observed": {"dual_estimate": "observed"},
    "corrected": PLAIN | {"dual_estimate": "corrected"},
    "one regression": PLAIN | {"share": "all", "eta": 5.0},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(("m", "features"), [(1, "one-hot"), (2, "table"), (3, "one-hot")])
def test_balanced_steps_match_their_slow_version(options: dict[str, Any], m: int, features: str) -> None:
    problem = nr.problems.load(f"random:seed={m},S=4,A=3,H=3,m={m},noise=bernoulli")
    problem = problem.replace(b=problem.b + np.linspace(0.9, 0.2, m))  # some out of reach
    phi = nr.features.one_hot(4, 3) if features == "one-hot" else np.random.default_rng(m).dirichlet(np.ones(3), (4, 3))
    constants = {
        "lam": 0.3,
        "beta": 0.8,
        "alpha": 40.0,
        "eta": 1.0,
        "xi": 8.0,
        "zeta": 0.05,
        "cap": "H-h+1",
        "lower_clip": True,
    }
    constants |= {"price_step": "balanced", "noise_bonus": 0.3} | options
    learner = make("primal-dual-lsvi", problem.spec, episodes=60, features=phi, preset="paper", **constants)
    slow = ReferenceBalanced(phi, 3, problem.b, **constants)
    world, own = streams(3, 0)
    factors, prices = set(), []
    for _ in range(60):
        fast, literal = learner.plan(), slow.plan()
        for key in ("Q_r", "Q_g", "policy"):
            np.testing.assert_allclose(getattr(fast, key), getattr(literal, key), atol=1e-9, err_msg=key)
        np.testing.assert_allclose(learner.dual, slow.Y, atol=1e-9)
        factors.add(slow.sharp)
        prices.append(slow.Y.max())
        episode = play(problem, literal.policy, world.random(width(problem)), own.random(3))
        learner.observe(*episode)
        slow.observe(*episode)
    assert max(prices) > 0 and len(factors) > 1


def test_what_cannot_be_balanced_is_refused() -> None:
    problem = nr.problems.load("random:seed=1,S=4,A=3,H=3")
    with pytest.raises(nr.NoRegretError, match="price_step is 'balanced'; expected with it an alpha below infinity"):
        make("primal-dual-lsvi", problem.spec, episodes=10, price_step="balanced", alpha=np.inf)
    with pytest.raises(nr.NoRegretError, match="price_step"):
        nr.run("linear-continuous", "primal-dual-lsvi", episodes=2, price_step="balanced")


def test_restarts_forget_what_was_measured() -> None:
    problem = nr.problems.load("random:seed=1,S=4,A=3,H=3,m=2")
    learner = make("primal-dual-lsvi", problem.spec, episodes=100, schedule="doubling", share="nothing", price_step="balanced")
    world, own = streams(3, 0)
    for episode in range(1, 64):
        learner.observe(*play(problem, learner.plan().policy, world.random(4), own.random(3)))
        balance, gain = learner._state.dual.balance, learner._state.dual.gain
        begun = (episode & (episode + 1)) == 0
        assert (not balance.means.any()) == begun and (balance.sharp[0] == 1.0 or not begun)
        assert not begun or (gain == 1.0).all()


def test_one_constraint_and_nothing_that_varies_is_the_printed_step_but_for_the_target() -> None:
    given = {"episodes": 300, "trials": 1, "progress": False, "zeta": 0.0, "dual_estimate": "optimistic"}  # the target is b
    steps = ("printed", "balanced")
    for problem, same in (("random:seed=4", True), ("random:seed=4,noise=bernoulli", False), ("random:seed=4,m=2", False)):
        runs = [nr.run(problem, **given, price_step=step) for step in steps]
        assert np.array_equal(runs[0].hard_regret, runs[1].hard_regret) == same


def test_the_windy_grid_does_not_swing() -> None:
    given = {"episodes": 2000, "trials": 2, "seed": 7, "progress": False}
    runs = {step: nr.run("windy-grid", **given, price_step=step) for step in ("printed", "balanced")}
    sums = {step: float((run.hard_regret + run.hard_violation)[:, -1].mean()) for step, run in runs.items()}
    assert sums["balanced"] < 0.75 * sums["printed"], sums


@pytest.mark.parametrize(("step", "down", "up"), [("balanced", -0.3, 0.075), ("printed", -0.05, 0.05)])
def test_prices_come_down_faster_than_they_go_up(step: str, down: float, up: float) -> None:
    problem, moves = nr.problems.load("random:seed=1,S=4,A=3,H=3"), []
    given = {"eta": 0.1, "zeta": 0.0, "schedule": "fixed", "alpha": 10.0, "price_step": step}
    for room in (0.5, -0.5):
        state = make("primal-dual-lsvi", problem.spec, episodes=10, **given)._state
        state.dual.Y[0] = 3.0
        if state.dual.balance is not None:
            state.dual.balance.begun[0] = True
        V = np.full_like(state.tables.V, problem.b[0] + room)
        dual_step(state.dual, state.rule, V, 0, np.zeros((3, 2)), 1.0)
        moves.append(state.dual.Y[0] - 3.0)
    assert moves == pytest.approx([down, up])  # the gain of a sign that stays is 1.5


@pytest.mark.parametrize(("step", "Y", "want"), [("balanced", 0.25, 0.3), ("balanced", 3.0, 0.0), ("printed", 3.0, 0.4)])
def test_a_price_of_one_or_more_ends_the_tightening(step: str, Y: float, want: float) -> None:
    problem = nr.problems.load("random:seed=1,S=4,A=3,H=3")
    given = {"eta": 0.1, "zeta": 0.4, "schedule": "fixed", "alpha": 10.0, "price_step": step}
    state = make("primal-dual-lsvi", problem.spec, episodes=10, **given)._state
    state.dual.Y[0] = Y
    V = np.full_like(state.tables.V, problem.b[0])
    dual_step(state.dual, state.rule, V, 0, np.zeros((3, 2)), 1.0)
    assert state.dual.Y[0] - Y == pytest.approx(0.1 * want)


@pytest.mark.parametrize(("Y", "want"), [(0.5, 0.0), (1.0, 0.0), (3.0, -0.3 * np.log(3.0))])
def test_a_large_price_lowers_the_target_by_what_the_bonus_adds(Y: float, want: float) -> None:
    problem = nr.problems.load("random:seed=1,S=4,A=3,H=3")
    given = {"eta": 0.1, "zeta": 0.0, "schedule": "fixed", "alpha": 10.0, "price_step": "balanced"}
    state = make("primal-dual-lsvi", problem.spec, episodes=10, **given)._state
    state.dual.Y[0] = Y
    V = np.full_like(state.tables.V, problem.b[0])
    V[:, 1] += 0.3
    dual_step(state.dual, state.rule, V, 0, np.zeros((3, 2)), 1.0)
    assert state.dual.lack[0] == pytest.approx(want)


def test_prices_move_together_to_where_each_step_fits_the_lack_after_it() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        balance, Y, root = even(np.ones(3)), rng.uniform(0, 2, 3), rng.normal(size=(3, 3))
        J, lacks, lengths = root @ root.T, rng.normal(size=3), rng.uniform(0.01, 0.2, 3)
        balance.slope[:], balance.move[:] = J, (Y, lacks, lengths)
        before = Y.copy()
        settle(balance, Y, 5.0)
        miss = Y - before - lengths * (lacks - J @ (Y - before))
        assert (np.abs(miss[Y > 0]) < 1e-3).all() and (miss[Y == 0] > -1e-9).all() and (Y >= 0).all()


@pytest.mark.parametrize(("world", "most"), [("bandit:seed=5,m=2,fraction=0.9", 20), ("bandit:seed=6,m=3,fraction=0.8", 55)])
def test_prices_neither_crawl_nor_swing(world: str, most: float) -> None:
    """A price of 12 was climbed to in 5 000 episodes, and three prices swung from the 7 000th on: 145 and 106."""
    run = nr.run(f"{world},noise=none", episodes=10_000, trials=2, seed=3, progress=False)
    assert (run.hard_regret + run.hard_violation)[:, -1].max() < most


@pytest.mark.parametrize(("estimate", "most"), [("plain", 0.1), ("corrected", 0.12), ("observed", 0.2)])
def test_every_estimate_learns_a_noisy_bandit_whose_limit_binds(estimate: str, most: float) -> None:
    given = {"episodes": 4000, "trials": 4, "seed": 3, "dual_estimate": estimate, "price_step": "balanced", "progress": False}
    run = nr.run("bandit", **given)
    total = (run.hard_regret + run.hard_violation).mean(axis=0)
    at = np.searchsorted(run.episodes, 3600)
    late = (total[-1] - total[at]) / (run.episodes[-1] - run.episodes[at])
    assert late < most < 0.2 * run.uniform_loss, late
