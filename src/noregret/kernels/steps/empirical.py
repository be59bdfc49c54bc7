"""The empirical model of the tabular learners: counts, means, and a bonus for every pair. One formula, one place.

The data are those of :class:`~noregret.kernels.gram.OneHotGram`: visits n(x,a), lists of the next states seen and how often,
sums of what was observed. What differs is the bonus: ``fit[..., 1]``, which least squares sets to (n+λ)^-1/2, holds here

    local·(n+λ)^-1/2 + transition·Σ_{x'} ρ(x,a,x'),    ρ(x,a,x') = 2 √(p̂(1−p̂) L/n) + (14/3) L/n,    p̂ = n(x,a,x')/n(x,a)

(:func:`radius`), and ``UNTRIED`` for a pair that was never tried, so that the truncation of
:func:`~noregret.kernels.gram.estimate` makes its Q exactly the most that the remaining steps can give. With λ = 0 the
divisor is n v 1, as in the papers that estimate a model; the zero row they then have at an untried pair is optimistic for
costs but pessimistic for utilities, hence ``UNTRIED``.
"""

from __future__ import annotations

import numpy as np

from noregret.kernels.compiler.flat import row
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import learn
from noregret.kernels.gram.one_hot import OneHotGram, one_hot_gram
from noregret.kernels.types import Array, Integers

#: The bonus of a pair never tried: more than any cap.
UNTRIED = 1e300

#: The least factor of a bonus: with it that of an untried pair is still above any cap, and any other is 0.
NO_BONUS = 1e-200


def empirical_model(H: int, S: int, A: int, J: int, lam: float = 0.0, *, shared: bool = False) -> OneHotGram:
    """Make a model without data, where no pair was tried; with ``shared`` all steps have one model."""
    model = one_hot_gram(H, S, A, J, lam or 1.0, shared=shared)._replace(lam=float(lam))
    model.fit[..., 1] = UNTRIED
    return model


@jit
def radius(p: float, n: float, L: float) -> float:
    """ρ, the empirical Bernstein radius of one transition probability (Maurer and Pontil), for n visits."""
    return 2.0 * float(np.sqrt(p * (1.0 - p) * L / n)) + (14.0 / 3.0) * L / n


@jit
def transition_radius(model: OneHotGram, h: int, s: int, a: int, L: float) -> float:
    """Σ_{x'} ρ(x,a,x') over all next states, seen or not."""
    g = row(model.visits, h)
    n, seen = model.visits[g, s, a], model.successors[g, s, a]
    total: float = (model.successor.shape[3] - seen) * radius(0.0, n, L)
    for place in range(seen):
        total += radius(model.times[g, s, a, place] / n, n, L)
    return total


@jit
def learn_episode(
    model: OneHotGram, states: Integers, actions: Integers, observed: Array, width: tuple[float, float, float]
) -> None:
    """Take in an episode and set the bonus of the pairs it visited; ``width`` is (local, transition, L)."""
    local, transition, L = width
    learn(model, states, actions, observed)
    for h in range(len(actions)):
        s, a, g = states[h], actions[h], row(model.fit, h)
        bonus = local * np.sqrt(model.fit[g, s, a, 0])
        if transition > 0.0:
            bonus += transition * transition_radius(model, h, s, a, L)
        model.fit[g, s, a, 1] = bonus
