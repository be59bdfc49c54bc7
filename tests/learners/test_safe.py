"""Preset ``safe``: its bounds against the truth, its confidence on generated problems, and what it says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import noregret as nr
from noregret.errors import InputError
from noregret.kernels.steps.certificate import certified, counted_values, coupled_share, weigh
from noregret.learners import make
from noregret.problems.base import TabularCMDP
from noregret.runs.streams import streams
from tests.reference.world import play, width
from tests.support import small


def generated(i: int) -> TabularCMDP:
    """Small random and streaming problems, with and without noise, with thresholds from loose to tight."""
    family = "random:S=3,A=2,H=3" if i % 4 < 2 else "streaming:buffer=3,H=3"
    world = nr.problems.load(f"{family},seed={500 + i},fraction={(0.5, 0.7, 0.9)[i % 3]}")
    return world.replace(noise="bernoulli") if i % 2 else world


def violates(world: TabularCMDP, episodes: int, trials: int = 1, seed: int = 0, **given: Any) -> np.ndarray:
    """Whether any episode of each trial violates, by the exact value of the policy played."""
    result = nr.run(
        world,
        episodes=episodes,
        trials=trials,
        seed=seed,
        preset="safe",
        safe_policy="safest",
        progress=False,
        threads=1,
        **given,
    )
    return np.asarray(result.hard_violations[..., -1].reshape(trials, -1).max(axis=1) > 1e-9)


@pytest.mark.parametrize("p", [0.01, 0.3])
def test_no_more_trials_violate_than_the_stated_probability(p: float) -> None:
    """On 40 problems; more than the binomial count at p, by a margin of one in 10⁴, would refute the certificate."""
    found = [bool(violates(generated(i), 600, seed=i, p=p)[0]) for i in range(40)]
    assert sum(found) <= binom.ppf(1 - 1e-4, len(found), p)


@pytest.mark.parametrize("text", ["streaming:seed=301", "streaming:seed=302", "random:seed=304,noise=bernoulli"])
def test_problems_on_which_the_tuned_estimate_violates(text: str) -> None:
    assert not violates(nr.problems.load(text), 4000, trials=8).any()


def test_what_is_played_grows_with_what_is_known() -> None:
    """First the safe policy alone, then a share, and where the counts suffice nearly all of the plan."""
    problem = nr.problems.load("streaming:seed=3,buffer=2,H=2,fraction=0.5")
    given: dict[str, Any] = {"trials": 1, "preset": "safe", "safe_policy": "safest", "progress": False}
    shares = [float(nr.run(problem, episodes=K, **given).notes["certified_share"][0]) for K in (1, 2000, 50_000)]
    assert shares[0] == 0.0 and 0.0 < shares[1] < 0.9 < shares[2]


@pytest.mark.parametrize("m", [1, 2])
def test_the_bounds_are_below_the_truth_all_along(m: int) -> None:
    """The bound of the safe policy and that of any mixture, by the counts, before every tenth episode; both become close."""
    problem = small(3, m=m, S=3, A=2, noise="bernoulli")
    H, S, A = problem.r.shape
    safe = nr.oracle.safest(problem)
    other = np.random.default_rng(1).dirichlet(np.ones(A), (H, S))
    V_safe = nr.evaluate(problem, safe)[1]
    learner = make("primal-dual-lsvi", problem.spec, episodes=3000, preset="safe", safe_policy=safe, p=0.1)
    one, gram, (world, own) = learner._state.safety, learner._state.gram, streams(5, 0)
    cap = learner._state.rule.cap
    for k in range(3000):
        policy = learner.plan().policy
        if k % 10 == 0:
            assert (one.least <= V_safe + 1e-12).all()
            for share in (0.0, 0.4, 1.0):
                counted_values(one, gram, other, share, cap)
                truth = nr.evaluate(problem, (1 - share) * safe + share * other)[1]
                assert (problem.mu @ one.V[0, 1:].T <= truth + 1e-12).all()
        learner.observe(*play(problem, policy, world.random(width(problem)), own.random(H)))
    assert (one.least > 0.8 * V_safe).all()
    counted_values(one, gram, safe, 0.0, cap)
    assert (problem.mu @ one.V[0, 1:].T > 0.0).any()


def test_the_constants_of_the_certificate_are_those_of_its_formulas() -> None:
    """H=4, S=5, A=3, m=1, K=1000, p=0.01: L = ln(2·2·60·1000/0.01) = ln(24 000 000) = 16.993564."""
    one = certified(np.ones((4, 5, 3)), small(H=4, S=5, A=3).spec, 1000, 0.01, (0.0, True))
    assert one.log == pytest.approx(5.29831736655)  # ln 200
    assert one.noise == pytest.approx(2.914924046, rel=1e-9)  # √(16.993564/2)
    assert one.width == pytest.approx(3.198382426, rel=1e-9)  # √((3.465736 + 16.993564)/2)


def test_coupling_by_hand() -> None:
    """(1−q)³·2 = 1 at q = 1 − 2^(−1/3); nothing below the threshold; anything when nothing is asked."""
    assert coupled_share(np.array([2.0]), np.array([1.0]), 3) == pytest.approx(1 - 0.5 ** (1 / 3))
    assert coupled_share(np.array([1.0]), np.array([1.0]), 3) == 0.0
    assert coupled_share(np.array([0.0]), np.array([0.0]), 3) == 1.0
    assert coupled_share(np.array([2.0, 4.0]), np.array([1.0, 1.0]), 3) == pytest.approx(1 - 0.5 ** (1 / 3))


def test_the_bound_of_the_safe_policy_by_hand() -> None:
    """One episode, H=1, utility 1, played with the safe policy: X = ½, λ = ½, so μ ≥ (½·½ − log − 0)/½ < 0: nothing known.

    After a thousand of them the variance term is 0 as μ̂ = ½ = X, so that μ ≥ ½ − log/(½·1000), times 2H.
    """
    safe = np.ones((1, 1, 1))
    one = certified(safe, small(H=1, S=1, A=1).spec, 1000, 0.2, (0.0, True))
    one.share[0] = 0.0
    args = safe, np.zeros(2, dtype=np.int64), np.zeros(1, dtype=np.int64), np.ones((1, 2))
    weigh(one, *args)
    assert one.least[0] == 0.0
    for _ in range(999):
        weigh(one, *args)
    assert one.least[0] == pytest.approx(2 * (0.5 - np.log(10.0) / one.sums[0, 0])) and one.sums[0, 0] <= 500.0
    before = one.sums.copy()
    one.share[0] = 0.6
    weigh(one, *args)  # too much of another policy: the episode does not count
    np.testing.assert_array_equal(one.sums, before)


def test_results_say_where_the_safe_policy_comes_from_and_with_what_probability() -> None:
    problem = nr.problems.load("random:S=3,A=2,H=3")
    given: dict[str, Any] = {"episodes": 5, "trials": 1, "progress": False}
    told = nr.run(problem, preset="safe", safe_policy="safest", **given)
    assert told.constants["safe_policy"] == "safest, from the oracle" and told.constants["p"] == 0.01
    own = nr.run(problem, preset="safe", safe_policy=nr.oracle.safest(problem), **given)
    assert own.constants["safe_policy"] == "given"
    assert nr.run(problem, "opse-lcmdp", safe_policy="safest", **given).constants["safe_policy"] == "safest, from the oracle"
    assert "safe_policy" not in nr.run(problem, **given).constants


def test_what_cannot_be_certified_is_refused() -> None:
    problem = small()
    safe = problem.available / 3.0
    for given, said in (
        (
            {"schedule": "doubling"},
            "dual_estimate is 'pessimistic'; expected with it share 'nothing', neither schedule 'doubling'",
        ),
        ({"share": "all"}, "dual_estimate is 'pessimistic'; expected with it share 'nothing'"),
        ({"dual_estimate": "plain"}, "dual_estimate is 'plain'; with a safe_policy expected 'pessimistic'"),
    ):
        with pytest.raises(InputError, match=said):
            make("primal-dual-lsvi", problem.spec, episodes=10, preset="safe", safe_policy=safe, **given)


def test_with_features_only_the_safe_policys_own_returns_count() -> None:
    problem = small(4, d=3, b=[0.5])
    learner = make("primal-dual-lsvi", problem.spec, episodes=10, preset="safe", safe_policy=nr.oracle.safest(problem))
    assert not learner._state.safety.counted
