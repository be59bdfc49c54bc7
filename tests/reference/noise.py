"""The bonus for what a step pays, literally: every payment kept, every mean and sum formed anew."""

from __future__ import annotations

from typing import Any

import numpy as np

#: A visit: state, action, and what was observed (J,).
Visit = tuple[int, int, Any]


def of_pairs(phi: Any, lam: float, steps: list[list[Visit]], g: int) -> np.ndarray:
    """D (S,A,J) of step g, from the visits of every step in order; σ² by regression on φ of what each payment adds."""
    surprises = [list(_surprises(visits)) for visits in steps]
    J = next((len(seen) for visits in steps for *_, seen in visits), 1)
    apart = np.max([far for step in surprises for _, _, far in step], axis=0, initial=0.0) if any(steps) else np.zeros(J)
    inverse = _inverse(phi, lam, steps[g])
    power = sum((np.outer(phi[s, a], added) for (s, a), added, _ in surprises[g]), np.zeros((phi.shape[2], J)))
    variance = np.maximum(phi @ inverse @ power, 0.0)
    return _doubt(phi, inverse, np.sqrt(variance), apart * _share(steps, J))


def of_vectors(phi: Any, lam: float, steps: list[list[Visit]], g: int) -> np.ndarray:
    """D (S,A,J) of step g, by what the regression of each objective alone leaves over; R is the range of all payments."""
    seen, d = np.array([o for visits in steps for *_, o in visits]), phi.shape[2]
    n = len(steps[g])
    if n <= d:
        return np.zeros((*phi.shape[:2], len(steps[0][0][2]) if steps[0] else 1))
    inverse, rows = _inverse(phi, lam, steps[g]), np.array([phi[s, a] for s, a, _ in steps[g]])
    paid = np.array([o for *_, o in steps[g]])
    w = inverse @ rows.T @ paid
    left = ((paid - rows @ w) ** 2).sum(axis=0)
    apart = np.where(left > 1e-5 * n, np.ptp(seen, axis=0), 0.0)
    return _doubt(phi, inverse, np.minimum(np.sqrt(left / (n - d)), apart / 2), apart)


def _surprises(visits: list[Visit]) -> Any:
    """Of every payment its pair, (j − m)(j − m') and |j − m|, with the pair's means before and after it."""
    for t, (s, a, seen) in enumerate(visits):
        before = [o for x, b, o in visits[:t] if (x, b) == (s, a)]
        m = np.mean(before, axis=0) if before else seen
        yield (s, a), (seen - m) * (seen - np.mean([*before, seen], axis=0)), np.abs(seen - m)


def _share(steps: list[list[Visit]], J: int) -> np.ndarray:
    """(J,) the share of pairs that paid two different numbers, among these and those that paid the same ten times or more."""
    paid: dict[tuple[int, int, int], list[Any]] = {}
    for g, visits in enumerate(steps):
        for s, a, seen in visits:
            paid.setdefault((g, s, a), []).append(seen)
    varied = np.array([np.ptp(np.array(seen), axis=0) > 0.0 for seen in paid.values()]).reshape(-1, J)
    enough = np.array([len(seen) >= 10 for seen in paid.values()], dtype=bool)[:, None]
    return np.asarray(varied.sum(axis=0) / np.maximum((varied | enough).sum(axis=0), 1))


def _inverse(phi: Any, lam: float, visits: list[Visit]) -> np.ndarray:
    d = phi.shape[2]
    return np.linalg.inv(lam * np.eye(d) + sum((np.outer(phi[s, a], phi[s, a]) for s, a, _ in visits), np.zeros((d, d))))


def _doubt(phi: Any, inverse: np.ndarray, deviation: Any, apart: Any) -> np.ndarray:
    square = np.einsum("sai,ij,saj->sa", phi, inverse, phi)[..., None]
    L = np.log(np.maximum((1 / square).sum(axis=1, keepdims=True) * square, 1.0))
    return np.asarray(deviation * np.sqrt(square) * np.sqrt(2 * L) + apart * square * L)
