"""A small network with two hidden layers: its values, the gradient of its error, and steps of Adam on kept transitions.

Each hidden layer holds max(0, u), where u is x W + b with mean 0 and deviation 1 over its units (layer normalisation).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.kernels.sweep import Wish, soft_max
from noregret.agent.minds.soft_cells.types import Array, Flags, Integers, Singles
from noregret.kernels.compiler.jit import jit

#: Adam: how fast the means of gradients and of their squares are forgotten, and what keeps it from dividing by 0.
FORGET, FORGET_SQUARES, TINY = np.float32(0.9), np.float32(0.999), np.float32(1e-8)
#: What keeps a layer whose units are all the same from dividing by 0.
_FLAT = np.float32(1e-5)


class Layers(NamedTuple):
    """The weights, as views of one array."""

    W1: Singles  # (D,n)
    b1: Singles  # (n,)
    W2: Singles  # (n,n)
    b2: Singles  # (n,)
    W3: Singles  # (n,J·A)
    b3: Singles  # (J·A,)


class Hidden(NamedTuple):
    """What the hidden layers hold for a batch."""

    u1: Singles  # (B,n) normalised
    h1: Singles  # (B,n) max(0, u1)
    d1: Singles  # (B,) the deviation that it was divided by
    u2: Singles
    h2: Singles
    d2: Singles


class Adam(NamedTuple):
    """All that steps of learning change."""

    weights: Singles  # (P,)
    slow: Singles  # (P,) weights that follow slowly
    mean: Singles  # (P,) of gradients
    square: Singles  # (P,) the mean of their squares


class Replay(NamedTuple):
    """Kept transitions, one after the other, in units of the network."""

    before: Singles  # (N,D)
    after: Singles  # (N,D)
    actions: Integers  # (N,)
    signals: Singles  # (N,J)
    ended: Flags  # (N,) whether the world ended the episode with this step
    allowed: Flags  # (N,A) what could be done after
    last: Integers  # (N,) the last transition of the same episode


class Practice(NamedTuple):
    """How a network learns."""

    discount: float
    ahead: int  # steps whose signals are summed before a value stands for the rest
    rate: float  # of Adam
    slow: float  # how far the slow weights follow in each step
    low: Array  # (J,) the least that a value can be
    high: Array  # (J,) the largest


@jit
def layers(weights: Singles, sizes: tuple[int, int, int]) -> Layers:
    """Views of flat weights, for sizes D, n and J·A."""
    D, n, K = sizes
    a = D * n
    b = a + n
    c = b + n * n
    d = c + n
    e = d + n * K
    W1, W2, W3 = weights[:a].reshape((D, n)), weights[b:c].reshape((n, n)), weights[d:e].reshape((n, K))
    return Layers(W1, weights[a:b], W2, weights[c:d], W3, weights[e : e + K])


@jit
def nothing_held(B: int, n: int) -> Hidden:
    """Room for what the layers hold."""
    return Hidden(
        np.zeros((B, n), np.float32),
        np.zeros((B, n), np.float32),
        np.zeros(B, np.float32),
        np.zeros((B, n), np.float32),
        np.zeros((B, n), np.float32),
        np.zeros(B, np.float32),
    )


@jit
def multiply(X: Singles, W: Singles, out: Singles) -> None:
    """Add X W to ``out``, four rows of W at a time: the compiler works on several numbers at once, in a fixed order."""
    B, n = X.shape
    K = W.shape[1]
    whole = n - n % 4
    for i in range(B):
        row = out[i]
        for k in range(0, whole, 4):
            x0, x1, x2, x3 = X[i, k], X[i, k + 1], X[i, k + 2], X[i, k + 3]
            if x0 == 0 and x1 == 0 and x2 == 0 and x3 == 0:
                continue
            w0, w1, w2, w3 = W[k], W[k + 1], W[k + 2], W[k + 3]
            for j in range(K):
                row[j] += (x0 * w0[j] + x1 * w1[j]) + (x2 * w2[j] + x3 * w3[j])
        for k in range(whole, n):
            x0, w0 = X[i, k], W[k]
            for j in range(K):
                row[j] += x0 * w0[j]


@jit
def activate(u: Singles, h: Singles, deviation: Singles) -> None:
    """Normalise the rows of ``u`` in place, and keep max(0, u) in ``h`` and what was divided by in ``deviation``."""
    n = u.shape[1]
    share = np.float32(1.0) / np.float32(n)
    for i in range(len(u)):
        mean, square = np.float32(0.0), np.float32(0.0)
        for j in range(n):
            mean += u[i, j]
        mean *= share
        for j in range(n):
            square += (u[i, j] - mean) ** 2
        deviation[i] = np.sqrt(square * share + _FLAT)
        factor = np.float32(1.0) / deviation[i]
        for j in range(n):
            u[i, j] = (u[i, j] - mean) * factor
            h[i, j] = max(u[i, j], np.float32(0.0))


@jit
def forward(X: Singles, net: Layers, held: Hidden, out: Singles) -> None:
    """Values (B,J·A) of states (B,D) into ``out``, and what the hidden layers hold into ``held``."""
    held.u1[:] = net.b1
    multiply(X, net.W1, held.u1)
    activate(held.u1, held.h1, held.d1)
    held.u2[:] = net.b2
    multiply(held.h1, net.W2, held.u2)
    activate(held.u2, held.h2, held.d2)
    out[:] = net.b3
    multiply(held.h2, net.W3, out)


@jit
def deactivate(slope: Singles, u: Singles, deviation: Singles) -> None:
    """The gradient by what ``activate`` was given, from the one by what it made, in place."""
    n = u.shape[1]
    share = np.float32(1.0) / np.float32(n)
    for i in range(len(u)):
        mean, along = np.float32(0.0), np.float32(0.0)
        for j in range(n):
            slope[i, j] = slope[i, j] if u[i, j] > 0 else np.float32(0.0)
            mean += slope[i, j]
            along += slope[i, j] * u[i, j]
        mean, along, factor = mean * share, along * share, np.float32(1.0) / deviation[i]
        for j in range(n):
            slope[i, j] = (slope[i, j] - mean - u[i, j] * along) * factor


@jit
def gradient(X: Singles, net: Layers, held: Hidden, error: Singles, out: Layers) -> None:
    """The gradient of a loss by all weights into ``out``; ``error`` (B,J·A) is its gradient by the values."""
    n = net.W2.shape[0]
    for part in (out.W1, out.W2, out.W3):
        part[:] = 0.0
    for bias in (out.b1, out.b2, out.b3):
        bias[:] = 0.0
    slope = np.zeros((len(X), n), np.float32)
    multiply(held.h2.T.copy(), error, out.W3)
    add_rows(error, out.b3)
    multiply(error, net.W3.T.copy(), slope)
    deactivate(slope, held.u2, held.d2)
    multiply(held.h1.T.copy(), slope, out.W2)
    add_rows(slope, out.b2)
    first = np.zeros((len(X), n), np.float32)
    multiply(slope, net.W2.T.copy(), first)
    deactivate(first, held.u1, held.d1)
    multiply(X.T.copy(), first, out.W1)
    add_rows(first, out.b1)


@jit
def add_rows(rows: Singles, out: Singles) -> None:
    """Add the sum of rows to ``out``."""
    for i in range(len(rows)):
        for j in range(len(out)):
            out[j] += rows[i, j]


@jit
def targets(drawn: Integers, replay: Replay, nets: tuple[Layers, Layers], wish: Wish, practice: Practice, out: Array) -> None:
    """What values of drawn transitions should be, (B,J): the signals of the next steps, and what the state after them is worth.

    That is the mean of the slow network's values over the soft-max policy of the fast network's composite; nothing where the
    world ended the episode. Where the episode was cut off, the last state kept stands for the rest.
    """
    (B, J), A, n = out.shape, replay.allowed.shape[1], nets[0].W2.shape[0]
    states, end, weight = np.zeros((B, replay.after.shape[1]), np.float32), np.zeros(B, np.int64), np.zeros(B)
    for i in range(B):
        t = drawn[i]
        end[i] = min(t + practice.ahead - 1, replay.last[t])
        factor = 1.0
        out[i] = 0.0
        for s in range(t, end[i] + 1):
            for j in range(J):
                out[i, j] += factor * replay.signals[s, j]
            factor *= practice.discount
        weight[i] = 0.0 if replay.ended[end[i]] else factor
        states[i] = replay.after[end[i]]
    held, chosen, worth = nothing_held(B, n), np.zeros((B, J * A), np.float32), np.zeros((B, J * A), np.float32)
    forward(states, nets[0], held, chosen)
    forward(states, nets[1], held, worth)
    chances = np.zeros((1, A))
    for i in range(B):
        soft_max(chosen[i].reshape((J, A)), replay.allowed[end[i] : end[i] + 1], wish, chances)
        for j in range(J):
            value = 0.0
            for a in range(A):
                value += chances[0, a] * worth[i, j * A + a]
            out[i, j] = min(max(out[i, j] + weight[i] * value, practice.low[j]), practice.high[j])


@jit
def step(adam: Adam, slopes: Singles, count: int, practice: Practice) -> None:
    """Step number ``count`` of Adam along a gradient (P,); the slow weights follow."""
    one, slow = np.float32(1.0), np.float32(practice.slow)
    unbias = np.float32(1.0 / (1.0 - np.float64(FORGET_SQUARES) ** count))
    rate = np.float32(practice.rate / (1.0 - np.float64(FORGET) ** count))
    weights, mean, square = adam.weights, adam.mean, adam.square
    for p in range(len(weights)):
        mean[p] = FORGET * mean[p] + (one - FORGET) * slopes[p]
        square[p] = FORGET_SQUARES * square[p] + (one - FORGET_SQUARES) * slopes[p] * slopes[p]
        weights[p] -= rate * mean[p] / (np.sqrt(square[p] * unbias) + TINY)
        adam.slow[p] += slow * (weights[p] - adam.slow[p])


@jit
def train(
    adam: Adam, sizes: tuple[int, int, int], replay: Replay, drawn: Integers, wish: Wish, practice: Practice, count: int
) -> float:
    """Steps of Adam on the Huber loss of the values of the actions that were taken; returns the loss of the last batch.

    Args:
        adam: is changed.
        sizes: D, n and J·A.
        replay: what is learned from.
        drawn: (steps,B) the numbers of transitions.
        wish: prices and sharpness of the policy that is judged.
        practice: how.
        count: steps made before.
    """
    D, n, K = sizes
    B, J, A = drawn.shape[1], replay.signals.shape[1], replay.allowed.shape[1]
    fast, slow = layers(adam.weights, sizes), layers(adam.slow, sizes)
    slopes = np.zeros_like(adam.weights)
    X, held = np.zeros((B, D), np.float32), nothing_held(B, n)
    Q, error, wanted = np.zeros((B, K), np.float32), np.zeros((B, K), np.float32), np.zeros((B, J))
    loss = 0.0
    for s in range(len(drawn)):
        targets(drawn[s], replay, (fast, slow), wish, practice, wanted)
        for i in range(B):
            X[i] = replay.before[drawn[s, i]]
        forward(X, fast, held, Q)
        error[:] = 0.0
        loss = 0.0
        for i in range(B):
            for j in range(J):
                place = j * A + replay.actions[drawn[s, i]]
                off = Q[i, place] - wanted[i, j]
                near = min(max(off, -1.0), 1.0)
                loss += near * (off - 0.5 * near) / B
                error[i, place] = near / B
        gradient(X, fast, held, error, layers(slopes, sizes))
        step(adam, slopes, count + s + 1, practice)
    return loss


@jit
def network_values(x: Singles, weights: Singles, sizes: tuple[int, int, int], J: int) -> Singles:
    """Q (J,A) at a state (D,)."""
    out = np.zeros((1, sizes[2]), np.float32)
    forward(x.reshape((1, len(x))), layers(weights, sizes), nothing_held(1, sizes[1]), out)
    return out.reshape((J, sizes[2] // J))


@jit
def to_go(signals: Array, last: Integers, discount: float) -> Array:
    """(N,J) the discounted sum of signals from each transition to the end of its episode."""
    out = signals.copy()
    for t in range(len(out) - 2, -1, -1):
        if last[t] != t:
            for j in range(out.shape[1]):
                out[t, j] += discount * out[t + 1, j]
    return out
