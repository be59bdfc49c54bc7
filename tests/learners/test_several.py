"""Several constraints, and random rewards and utilities: what the learner sees, what is measured, and that it learns."""

from __future__ import annotations

import numpy as np
import pytest

import noregret as nr
from noregret import oracle
from noregret.runs.streams import streams
from tests.reference.world import play, width
from tests.support import chosen


@pytest.mark.parametrize(("m", "worst"), [(2, 800.0), (5, 1200.0)])
def test_several_constraints(m: int, worst: float) -> None:
    """Playing at random costs more than 4000 in regret alone at K = 8000."""
    problem = nr.problems.load(f"random:seed=3,m={m}")
    best = nr.solve(problem)
    assert best.dual.shape == (m,)
    assert (best.dual >= 0).all()
    _, V_r, V_g = oracle.greedy(problem, best.dual)
    assert V_r + best.dual @ (V_g - problem.b) == pytest.approx(best.value, abs=1e-7)  # strong duality with m duals
    assert best.dual.sum() <= nr.theory.dual_bound(H=problem.horizon, slater_gap=best.slater_gap)
    found = nr.run(problem, episodes=8000, trials=2, record_every=10, slater_gap="oracle", progress=False)
    assert found.dual.shape[2] == m
    assert found.dual.min() >= 0.0
    assert found.dual.max() <= found.constants["xi"] == 2 * problem.horizon / best.slater_gap
    assert (found.hard_regret[:, -1] <= worst).all()
    assert (found.hard_violation[:, -1] <= worst).all()
    late = slice(len(found.episodes) // 2, None)
    steady = found.hard_violations[:, late][:, -1] - found.hard_violations[:, late][:, 0]
    assert steady.max() / 4000 < 0.08  # of each constraint, an episode, in the second half


@pytest.mark.parametrize("m", [1, 2, 5])
def test_alpha_for_several_constraints(m: int) -> None:
    constants = chosen("theory", 0.5, H=4, A=3, d=15, m=m, K=1000)
    assert constants.alpha == pytest.approx(np.log(3) * 1000 / (2 * (1 + m * (16.0 + 4))))


def test_the_learner_sees_draws_and_the_measures_are_means() -> None:
    plain = nr.problems.load("random:seed=4")
    noisy = plain.replace(noise="bernoulli")
    assert nr.solve(noisy).value == nr.solve(plain).value
    learner = nr.learners.make("primal-dual-lsvi", noisy.spec, episodes=200)
    world, own = streams(1, 0)
    totals = []
    for _ in range(200):
        policy = learner.plan().policy
        episode = play(noisy, policy, world.random(width(noisy)), own.random(noisy.horizon))
        assert set(np.unique(episode[2])) <= {0.0, 1.0}
        totals.append(episode[2].sum() - nr.evaluate(noisy, policy)[0])
        learner.observe(*episode)
    assert set(np.unique(learner._state.gram.fit[..., 2:] % 1.0)) == {0.0}  # sums of zeros and ones
    assert abs(np.mean(totals)) < 4 * np.std(totals) / np.sqrt(200)  # right on average
    found = nr.run(noisy, episodes=1, trials=1, progress=False)
    V_r, _ = nr.evaluate(noisy, noisy.available / noisy.available.sum(axis=2, keepdims=True))
    assert found.regret[0, 0] == pytest.approx(nr.solve(noisy).value - V_r)  # the first policy is uniform


@pytest.mark.parametrize("kind", ["bernoulli", "by next state", "both"])
def test_it_learns_from_random_rewards_and_utilities(kind: str) -> None:
    problem = nr.problems.load("random:seed=4")
    if kind != "bernoulli":  # r(x,a,x') with the same means: r ± what the next state adds on average 0
        rng = np.random.default_rng(0)

        def spread_out(mean: np.ndarray) -> np.ndarray:
            tilt = rng.uniform(-1, 1, size=problem.P.shape)
            tilt -= (problem.P * tilt).sum(axis=-1, keepdims=True)
            room = np.minimum(mean, 1 - mean)[..., None] / np.abs(tilt).max(axis=-1, keepdims=True)
            return mean[..., None] + room * tilt

        problem = problem.replace(r=spread_out(problem.r), g=spread_out(problem.g[0])[None])
    if kind != "by next state":
        problem = problem.replace(noise="bernoulli")
    assert nr.solve(problem).value == pytest.approx(nr.solve(nr.problems.load("random:seed=4")).value)
    found = nr.run(problem, episodes=8000, trials=2, record_every=2000, progress=False)
    cost = found.hard_regret + found.hard_violation
    uniform = nr.run(problem, "uniform", episodes=8000, trials=1, record_every=2000, progress=False)
    assert cost[:, -1].max() < 0.35 * (uniform.hard_regret + uniform.hard_violation)[0, -1]
    late, early = cost[:, -1] - cost[:, 1], cost[:, 1]
    assert (late < early).all()  # less in the second half
