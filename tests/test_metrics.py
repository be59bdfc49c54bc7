"""Means, intervals and slopes of curves."""

from __future__ import annotations

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


def test_regret_of_algorithm_1_grows_like_a_root() -> None:
    """The paper's order is √K; with a sound bonus the late slope stays well below 1 and above flat, for every trial."""
    result = nr.run(
        nr.problems.load("job-scheduling"), "primal-dual-lsvi", episodes=20_000, trials=4, seed=5, record_every=50,
        lam=1e-4, beta=0.1, alpha=500.0, eta=5 / np.sqrt(20_000), xi=40.0, zeta=0.0, cap="H-h+1", lower_clip=True,
    )  # fmt: skip
    slopes = [metrics.slope(result.episodes, curve) for curve in result.hard_regret]
    assert all(0.2 < p < 0.75 for p in slopes), slopes
    uniform = nr.run(nr.problems.load("job-scheduling"), "uniform", episodes=2_000, trials=1, record_every=50)
    assert metrics.slope(uniform.episodes, uniform.regret[0]) == pytest.approx(1.0, abs=1e-6)
    assert result.hard_regret[:, -1].max() < 0.2 * uniform.regret[0, -1] * 10
