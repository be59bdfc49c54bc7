"""Means, intervals and slopes of curves."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import noregret as nr
from noregret import metrics


def test_student_interval_by_hand() -> None:
    interval = metrics.mean_interval([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    np.testing.assert_allclose(interval.mean, [2.0, 5.0])
    half = 4.302652729696 / np.sqrt(3)  # the 97.5% point of t with 2 degrees of freedom; standard deviation 1
    np.testing.assert_allclose(interval.high, [2.0 + half, 5.0], rtol=1e-9)
    np.testing.assert_allclose(interval.low, [2.0 - half, 5.0], rtol=1e-9)


def test_one_trial_has_no_width() -> None:
    interval = metrics.mean_interval([[3.0, 4.0]])
    np.testing.assert_array_equal(interval.low, interval.high)


def test_the_interval_covers_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(2000):
        interval = metrics.mean_interval(rng.normal(1.0, 2.0, size=5), level=0.9)
        covered += int(interval.low <= 1.0 <= interval.high)
    assert abs(covered - 1800) < 4 * np.sqrt(2000 * 0.9 * 0.1)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 2 / 3, 1.0])
def test_the_slope_of_a_power_is_its_exponent(exponent: float) -> None:
    k = np.arange(100, 200_001, 100)
    assert metrics.slope(k, 7.0 * k**exponent) == pytest.approx(exponent, abs=1e-9)


def test_the_slope_looks_at_the_late_part() -> None:
    k = np.arange(1, 10_001)
    early = np.where(k < 900, k * 30.0, 900 * np.sqrt(900) * np.sqrt(k / 900))
    assert metrics.slope(k, early) == pytest.approx(0.5, abs=0.01)
    assert metrics.slope(k, early, start=0.0) > 0.5 + 0.01


def test_a_curve_that_is_not_positive_has_no_slope() -> None:
    k = np.arange(1, 1001)
    assert np.isnan(metrics.slope(k, -1.0 * k))
    assert np.isnan(metrics.slope([5], [1.0]))


@pytest.mark.parametrize("name", ["job-scheduling", "random:seed=0"])
def test_what_algorithm_1_loses_grows_like_the_root_of_k(name: str) -> None:
    """The paper's order: with η ~ 1/√K and α ~ K the loss after K episodes, regret and violation together, is ~ √K.

    Four horizons, four trials each, all with a sound bonus: the exponent lies in a band around 1/2 for every trial.
    """
    problem = nr.problems.load(name)
    horizons, losses = [2000, 4000, 8000, 16_000], []
    for K in horizons:
        result = nr.run(
            problem, "primal-dual-lsvi", episodes=K, trials=4, seed=5, record_every=K, preset="paper", beta=1.0,
            lam=problem.horizon**-2.0, alpha=K / 40, eta=5 / np.sqrt(K), xi=40.0, zeta=0.0, cap="H-h+1", lower_clip=True,
        )  # fmt: skip
        losses.append(result.hard_regret[:, -1] + result.hard_violation[:, -1])
    exponents = np.polyfit(np.log(horizons), np.log(losses), 1)[0]
    assert ((exponents > 0.4) & (exponents < 0.65)).all(), exponents


def test_a_policy_that_does_not_learn_loses_linearly() -> None:
    result = nr.run(nr.problems.load("job-scheduling"), "uniform", episodes=2000, trials=1, record_every=50)
    assert metrics.slope(result.episodes, result.regret[0]) == pytest.approx(1.0, abs=1e-9)
    assert metrics.slope(result.episodes, result.violation[0]) == pytest.approx(1.0, abs=1e-9)


# --- several problems ---------------------------------------------------------------------------------------------


def test_a_profile_by_hand() -> None:
    """Within 1: 1 of 4 and 2 of 4 runs; within 2: 2 and 2; within 4: 3 and 4; a third problem without runs counts as none."""
    ratios = [[1.0, 2.0, 4.0, 8.0], [3.0, 1.0, 3.0, 1.0]]
    np.testing.assert_allclose(metrics.profile(ratios, [1.0, 2.0, 4.0]).mean, [3 / 8, 4 / 8, 7 / 8])
    np.testing.assert_allclose(metrics.profile([*ratios, []], [1.0, 2.0, 4.0]).mean, [3 / 12, 4 / 12, 7 / 12])


def test_the_band_of_a_profile_by_hand() -> None:
    """Two runs of two problems, one of each within 1: the sum is binomial (4, ½), with chances 1, 4, 6, 4, 1 of 16."""
    ratios = [[1.0, 3.0], [1.0, 3.0]]
    for level, low, high in ((0.95, 0.0, 1.0), (0.8, 0.25, 0.75), (0.3, 0.5, 0.5)):
        band = metrics.profile(ratios, [1.0, 3.0], level=level, resamples=20_000)
        np.testing.assert_allclose([band.low, band.high], [[low, 1.0], [high, 1.0]])


def test_a_profile_is_stratified() -> None:
    """One problem is within 1 in all its runs, the other in none: no resampling within the problems changes that."""
    band = metrics.profile([[1.0] * 5, [9.0] * 5], [1.0])
    assert band.mean == band.low == band.high == [0.5]


def test_mean_ranks_by_hand() -> None:
    """Means 2, 4, 4 on the first problem give ranks 1, 2½, 2½; on the second 5, none, 2 give 2, none, 1."""
    scores = [[[1.0, 3.0], [5.0]], [[4.0, 4.0], []], [[4.0], [2.0]]]
    np.testing.assert_allclose(metrics.ranks(scores).mean, [1.5, 2.5, 1.75])


def test_those_without_runs_have_no_rank() -> None:
    np.testing.assert_array_equal(metrics.ranks([[[1.0]], [[]], [[]]]).mean, [1.0, np.nan, np.nan])


def test_the_interval_of_a_rank_contains_it_where_draws_lie_on_one_side() -> None:
    """The first of forty alike: drawn anew it is hardly ever first, so plain quantiles of its rank lie above it."""
    rng = np.random.default_rng(0)
    scores = [[rng.normal(size=4) - (i == 0) * 0.01] for i in range(40)]
    best = int(np.argmin([one[0].mean() for one in scores]))
    found = metrics.ranks(scores)
    assert found.mean[best] == 1.0 == found.low[best] < found.high[best]


def test_the_interval_of_a_rank_by_hand() -> None:
    """Runs 0 and 4 against a sure 1: the mean of two draws is 0, 2 or 4 with chances ¼, ½, ¼, so it is first in ¼."""
    scores = [[[0.0, 4.0]], [[1.0, 1.0]]]
    wide = metrics.ranks(scores, level=0.95)
    np.testing.assert_allclose([wide.mean, wide.low, wide.high], [[2, 1], [1, 1], [2, 2]])
    narrow = metrics.ranks(scores, level=0.4)  # quantiles 0.3 and 0.7: beyond the quarter
    np.testing.assert_allclose([narrow.low, narrow.high], [[2, 1], [2, 1]])


# --- intervals contain their estimates; trials that are stuck ------------------------------------------------------


def test_every_interval_contains_its_estimate():
    """Bias correction and resampled ranks can put both ends on one side."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 8, 30):
        for _ in range(40):
            x = np.exp(rng.normal(size=n) * 3.0)
            found = metrics.bootstrap_interval(x, metrics.iqm, resamples=60, seed=int(rng.integers(99)))
            assert found.low <= found.mean <= found.high
    scores = [[rng.random(2) for _ in range(3)] for _ in range(5)]
    found = metrics.ranks(scores, resamples=5)
    assert (found.low <= found.mean).all() and (found.mean <= found.high).all()
    forced = metrics.Interval(np.array([1.0, 5.0]), np.array([2.0, 3.0]), np.array([3.0, 4.0]))
    assert forced.low.tolist() == [1.0, 3.0] and forced.high.tolist() == [3.0, 5.0]
    assert forced.above(2.5).low.tolist() == [1.0, 3.0]


def test_a_bootstrap_over_many_trials_takes_little_memory():
    """10,000 runs in one group took 1.9 GB: all that was left out, and all that was drawn, at once."""
    x = np.random.default_rng(0).random(4000)
    tracemalloc.start()
    found = metrics.bootstrap_interval(x, metrics.iqm, resamples=500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
    assert found.low < found.mean < found.high


@pytest.mark.parametrize(
    ("late", "uniform", "stuck"),
    [(0.11, None, True), (0.09, None, False), (0.09, 0.4, False), (0.09, 0.8, True), (0.07, 0.8, False), (0.2, 3.0, True)],
)
def test_a_trial_is_stuck_by_its_late_loss(late, uniform, stuck):
    episodes = np.arange(10, 1001, 10)
    losses = np.where(episodes <= 900, 50.0, 50.0 + late * (episodes - 900))
    assert metrics.stuck(episodes, losses[None], uniform).tolist() == [stuck]
