"""The regressions of soft-cells against ridge regressions solved one by one, with fewer rows than features and with more."""

from __future__ import annotations

import numpy as np
import pytest

from noregret.agent.minds.soft_cells.dynamics import fit, regression_waves

D, STRENGTHS, BLOCK = 2, 10.0 ** np.arange(-5, 5), 50


def solved(F: np.ndarray, y: np.ndarray, strength: float) -> np.ndarray:
    return np.linalg.solve(F.T @ F + strength * np.eye(F.shape[1]), F.T @ y)


def literal(F: np.ndarray, y: np.ndarray, displacement: bool) -> tuple[np.ndarray, float]:
    """Predictions at F, and the error of the strength that predicts best."""
    n, mean = len(F), y.mean()
    y = y - mean
    halves = np.arange(n) // max(1, min(BLOCK, n // 4)) % 2
    errors = []
    for strength in STRENGTHS:
        if displacement:  # generalised cross-validation
            hat = F @ np.linalg.solve(F.T @ F + strength * np.eye(F.shape[1]), F.T)
            errors.append(((y - hat @ y) ** 2).sum() / n / (1.0 - min(np.trace(hat) / n, 0.95)) ** 2)
        else:  # blocks of neighbours left out
            left = [
                (np.clip(F[halves == g] @ solved(F[halves != g], y[halves != g], strength), y.min(), y.max()) - y[halves == g])
                ** 2
                for g in (0, 1)
            ]
            errors.append(np.concatenate(left).sum() / n)
    return F @ solved(F, y, STRENGTHS[int(np.argmin(errors))]) + mean, float(min(errors))


@pytest.mark.parametrize("n", [5, 60, 150, 400])
def test_a_regression_is_the_ridge_that_predicts_best(n: int) -> None:
    rng = np.random.default_rng(n)
    basis, Z, actions = regression_waves(rng, D), rng.uniform(-1, 1, (n, D)), np.zeros(n, np.int64)
    smooth = np.stack([np.sin(2 * Z[:, 0]), Z[:, 1] * Z[:, 0]], axis=1)
    jumps = (Z[:, :1] > 0.2).astype(float)
    targets = np.concatenate([smooth, jumps], axis=1) + 0.1 * rng.standard_normal((n, 3))
    regression = fit(rng, basis, Z, actions, targets, 2)
    F = regression.features(Z)
    want = [literal(F, column, e < D) for e, column in enumerate(targets.T)]
    np.testing.assert_allclose(regression.taken(Z, actions).T, [line for line, _ in want], atol=1e-4)
    np.testing.assert_allclose(regression.error, [error for _, error in want], rtol=1e-4)
    np.testing.assert_allclose(regression.B[1, 0], targets.mean(axis=0))  # never taken
