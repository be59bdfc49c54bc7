"""The network of soft cells, literally: float64, one transition after the other, slopes by differences."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def parts(weights: Array, sizes: tuple[int, int, int]) -> list[Array]:
    """W1, b1, W2, b2, W3, b3 in the order in which they stand."""
    D, n, K = sizes
    out, at = [], 0
    for shape in ((D, n), (n,), (n, n), (n,), (n, K), (K,)):
        size = int(np.prod(shape))
        out.append(weights[at : at + size].reshape(shape))
        at += size
    assert at == len(weights)
    return out


def layer(x: Array, W: Array, b: Array) -> Array:
    """max(0, .) of what has mean 0 and deviation 1 over the units."""
    u = x @ W + b
    return np.maximum((u - u.mean()) / np.sqrt(u.var() + 1e-5), 0.0)


def values(x: Array, weights: Array, sizes: tuple[int, int, int]) -> Array:
    """The values (J·A,) of one state."""
    W1, b1, W2, b2, W3, b3 = parts(np.asarray(weights, dtype=np.float64), sizes)
    return np.asarray(layer(layer(np.asarray(x, dtype=np.float64), W1, b1), W2, b2) @ W3 + b3)


def target(t: int, replay: Any, nets: tuple[Array, Array], sizes: tuple[int, int, int], wish: Any, practice: Any) -> Array:
    """What the values (J,) of the action taken in transition t should be."""
    J, A = replay.signals.shape[1], replay.allowed.shape[1]
    total, factor, s = np.zeros(J), 1.0, t
    while True:
        total += factor * replay.signals[s]
        factor *= practice.discount
        if s == replay.last[t] or s == t + practice.ahead - 1:
            break
        s += 1
    if not replay.ended[s]:
        fast, slow = (values(replay.after[s], net, sizes).reshape(J, A) for net in nets)
        power = np.where(replay.allowed[s], wish.sharpness * (wish.prices @ fast), -np.inf)
        chances = np.exp(power - power.max())
        total += factor * slow @ (chances / chances.sum())
    return np.clip(total, practice.low, practice.high)


def loss(weights: Array, sizes: tuple[int, int, int], replay: Any, batch: Array, wanted: Array) -> float:
    """The Huber loss of the values of the actions taken, summed over signals, mean over the batch."""
    J, A = replay.signals.shape[1], replay.allowed.shape[1]
    total = 0.0
    for t, goal in zip(batch, wanted, strict=True):
        off = values(replay.before[t], weights, sizes).reshape(J, A)[:, replay.actions[t]] - goal
        total += float(np.where(np.abs(off) <= 1.0, 0.5 * off**2, np.abs(off) - 0.5).sum())
    return total / len(batch)


def slopes(weights: Array, sizes: tuple[int, int, int], replay: Any, batch: Array, wanted: Array) -> Array:
    """The gradient of the loss by differences to both sides."""
    out, tiny = np.zeros(len(weights)), 1e-6
    for p in range(len(weights)):
        up, down = weights.astype(np.float64), weights.astype(np.float64)
        up[p] += tiny
        down[p] -= tiny
        out[p] = (loss(up, sizes, replay, batch, wanted) - loss(down, sizes, replay, batch, wanted)) / (2.0 * tiny)
    return out


def train(
    adam: Any, sizes: tuple[int, int, int], replay: Any, drawn: Array, wish: Any, practice: Any, count: int
) -> list[Array]:
    """Weights, slow weights and Adam's means after steps on the drawn batches."""
    weights, slow, mean, square = (np.asarray(array, dtype=np.float64).copy() for array in adam)
    for s, batch in enumerate(drawn):
        wanted = np.array([target(t, replay, (weights, slow), sizes, wish, practice) for t in batch])
        g = slopes(weights, sizes, replay, batch, wanted)
        mean = 0.9 * mean + 0.1 * g
        square = 0.999 * square + 0.001 * g**2
        n = count + s + 1
        weights = weights - practice.rate * (mean / (1.0 - 0.9**n)) / (np.sqrt(square / (1.0 - 0.999**n)) + 1e-8)
        slow = slow + practice.slow * (weights - slow)
    return [weights, slow, mean, square]


def to_go(signals: Array, last: Array, discount: float) -> Array:
    """The discounted sum of signals from each transition to the end of its episode."""
    return np.array([sum(discount ** (s - t) * signals[s] for s in range(t, last[t] + 1)) for t in range(len(signals))])
