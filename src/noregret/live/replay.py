r"""What another policy would have earned and cost, from logged probabilities.

With logged probabilities μ and those of the other policy π, let ρ_h = Π_{i≤h} π(a_i|x_i)/μ(a_i|x_i); y is the reward or a cost.

- importance-weighted, by decision (Precup, Sutton, Singh 2000): the mean over episodes of Σ_h ρ_h y_h;
- doubly robust (Jiang, Li 2016): V_h = V̂_h(x_h) + π/μ (y_h + V_{h+1} - Q̂_h(x_h, a_h)), where Q̂ is fitted on the other
  half of the episodes, backward, by a ridge regression for each step and action. It is right if the probabilities are, and its
  spread is small if Q̂ is good.

Both have Student's 95% interval over episodes. The effective sample size (Σ ρ)²/Σ ρ², with ρ of whole episodes, says by how
many episodes the other policy is really judged; where it is too small nothing is said. It shrinks exponentially with the length
of episodes unless the two policies are close.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from noregret.agent.flight import Flight, FlightStep
from noregret.errors import InputError, shown
from noregret.gym.spaces import Mask
from noregret.live import schema
from noregret.live.events import Event, apply
from noregret.live.figures import interval
from noregret.live.guards import fallback_of
from noregret.live.plans import Plans
from noregret.live.spec import LiveSpec
from noregret.problems.base import Array

#: Effective episodes that are needed, and the ridge of the fitted values.
LEAST, RIDGE = 30.0, 1.0

#: Probabilities (A,) of all actions, from observation, step and mask.
Policy = Callable[[NDArray[Any], int, Mask | None], Array]


@dataclass(frozen=True)
class Logged:
    """An episode with what the log knows and what the other policy would have done."""

    seen: list[NDArray[Any]]  # L+1
    actions: NDArray[np.int64]  # (L,)
    y: Array  # (L,1+m) the reward, then costs or utilities
    ratio: Array  # (L,) π/μ of what was done
    chances: Array  # (L,A) of the other policy


@dataclass(frozen=True)
class Estimate:
    """What a policy would have brought; intervals are [low, mean, high], None where it is refused."""

    policy: str
    episodes: int  # that were used
    left_out: int  # whose probabilities are not known, or that were pruned
    effective: float
    logged: list[list[float | None]]  # of the reward and each constraint, as it was
    weighted: list[list[float | None]] | None
    robust: list[list[float | None]] | None
    refused: str | None = None


def policy_of(spec: LiveSpec, engine: sa.Engine, text: str | Callable[..., Any]) -> Policy:
    """A policy by its name: ``uniform``, ``action:NAME``, ``plan:VERSION``; or a function as a fallback is.

    Args:
        spec: of the learner.
        engine: of its database.
        text: the name, or the function.

    Raises:
        InputError: there is no such policy.
    """
    if callable(text):
        made = fallback_of(spec, text)
        assert made is not None
        return made
    kind, _, rest = text.partition(":")
    if kind == "uniform" and not rest:
        everything = np.ones(spec.n_actions, dtype=np.bool_)
        return lambda x, h, mask: np.asarray((could := everything if mask is None else mask) / could.sum(), dtype=np.float64)
    if kind == "action" and rest:
        made = fallback_of(spec, int(rest) if rest.isdecimal() and not spec.actions else rest)
        assert made is not None
        return made
    if kind == "plan" and rest.isdecimal():
        plan = Plans(engine, spec).get(int(rest))
        return lambda x, h, mask: plan.policy.chances(h, x, mask)
    raise InputError(f"policy is {shown(text)}; expected uniform, action:NAME, plan:VERSION or a function")


def flights(spec: LiveSpec, engine: sa.Engine) -> Iterator[Flight]:
    """All complete episodes of the log, in the order in which they were completed."""
    e, c = schema.episodes.c, schema.events.c
    asked = (
        sa.select(c.kind, c.episode, c.step, c.at, c.body).join(schema.episodes, e.name == c.episode)
        .where(e.status == "complete").order_by(e.done, c.seq)
    )  # fmt: skip
    with schema.reading(engine) as tx:
        rows = tx.execute(asked).all()
    now, name = spec.flights(), None
    for row in rows:
        if name is not None and row.episode != name:
            yield now.remove(name)
        name = row.episode
        apply(now, Event(row.kind, row.episode, row.step, row.at, json.loads(row.body)))
    if name is not None:
        yield now.remove(name)


def _chance(step: FlightStep) -> float | None:
    """The probability with which the action was done; None where nobody knows it."""
    note = step.note
    if note.get("f") == "apprentice" or step.done != step.action:
        return None
    return note["P"][step.action] if note.get("P") else note.get("p")


def logged(spec: LiveSpec, engine: sa.Engine, policy: Policy) -> tuple[list[Logged], int]:
    """The episodes that a policy can be judged by, and how many cannot be used.

    An episode is left out if it was pruned, or if an action's probability is not known: a guard rail or an old system chose it,
    a log did not tell it, or its observations were of another shape. So estimates are of the episodes that are left: where
    overrides are many and not by chance, these are other ones than all.

    Args:
        spec: of the learner.
        engine: of its database.
        policy: the other one.
    """
    e = schema.episodes.c
    with schema.reading(engine) as tx:
        left = tx.execute(sa.select(sa.func.count()).select_from(schema.episodes).where(e.status == "pruned")).scalar_one()
    out = []
    for flight in flights(spec, engine):
        known = all(_chance(step) is not None for step in flight.steps)
        if not known or flight.steps[0].observation.size != max(len(spec.fields), 1):
            left += 1
            continue
        played, steps = flight.played(), flight.steps
        chances = np.array([policy(step.observation, h, step.mask) for h, step in enumerate(steps)])
        before = np.array([_chance(step) for step in steps])
        ratio = chances[np.arange(len(steps)), played.actions] / before
        y = np.column_stack([played.rewards, played.values])
        out.append(Logged(list(played.observations), played.actions, y, ratio, chances))
    return out, left


def estimate(name: str, episodes: list[Logged], left_out: int, spec: LiveSpec, least: float = LEAST) -> Estimate:
    """Judge a policy by logged episodes.

    Args:
        name: of the policy.
        episodes: what :func:`logged` gave.
        left_out: how many could not be used.
        spec: of the learner.
        least: effective episodes that are needed.
    """
    if not episodes:
        return Estimate(name, 0, left_out, 0.0, [], None, None, "no episode of the log has known probabilities")
    whole = np.array([each.ratio.prod() for each in episodes])
    effective = float(whole.sum() ** 2 / max((whole**2).sum(), 1e-300))
    J = episodes[0].y.shape[1]
    before = [interval([float(each.y[:, j].sum()) for each in episodes]) for j in range(J)]
    if effective < least:
        why = f"effective sample size {effective:.1f} of {len(episodes)} episodes; expected at least {least:g}"
        return Estimate(name, len(episodes), left_out, effective, before, None, None, why)
    weighted = np.array([np.cumprod(each.ratio) @ each.y for each in episodes])
    robust = np.zeros((len(episodes), J))
    for half in (0, 1):
        fitted = Values(spec, episodes[1 - half :: 2])
        for i in range(half, len(episodes), 2):
            robust[i] = fitted.robust(episodes[i])
    first, second = ([interval(found[:, j].tolist()) for j in range(J)] for found in (weighted, robust))
    return Estimate(name, len(episodes), left_out, effective, before, first, second)


class Values:
    """Q̂ of the other policy, fitted backward on some episodes.

    Args:
        spec: of the learner.
        episodes: that it is fitted on.
    """

    def __init__(self, spec: LiveSpec, episodes: list[Logged]) -> None:
        self.spec = spec
        every = np.array([x for each in episodes for x in each.seen], dtype=np.float64)
        self.middle, self.scale = every.mean(axis=0), every.std(axis=0) + 1e-9
        J, H = 1 + len(spec.limits), max(len(each.actions) for each in episodes)
        self.weights = np.zeros((H, spec.n_actions, self._features(episodes[0].seen[0]).size, J))
        for h in range(H - 1, -1, -1):
            there = [each for each in episodes if len(each.actions) > h]
            X = np.array([self._features(each.seen[h]) for each in there])
            target = np.array([each.y[h] + self.state(each, h + 1) for each in there])
            for a in range(spec.n_actions):
                rows = np.array([each.actions[h] == a for each in there])
                Z = X[rows]
                gram = Z.T @ Z + RIDGE * np.eye(Z.shape[1])
                self.weights[h, a] = np.linalg.solve(gram, Z.T @ target[rows])

    def _features(self, x: NDArray[Any]) -> Array:
        if not self.spec.fields:
            return np.asarray(np.eye(1, self.spec.n_states, int(x))[0], dtype=np.float64)
        z = (np.asarray(x, dtype=np.float64) - self.middle) / self.scale
        return np.concatenate([[1.0], z, z * z])

    def actions(self, each: Logged, h: int) -> Array:
        """(A,J) Q̂_h at what was seen."""
        return np.asarray(np.einsum("apj,p->aj", self.weights[h], self._features(each.seen[h])))

    def state(self, each: Logged, h: int) -> Array:
        """(J,) V̂_h at what was seen; 0 after the end."""
        if h >= len(each.actions) or h >= len(self.weights):
            return np.zeros(self.weights.shape[3])
        return np.asarray(each.chances[h] @ self.actions(each, h))

    def robust(self, each: Logged) -> Array:
        """(J,) the doubly robust value of an episode that was not fitted on."""
        value = np.zeros(self.weights.shape[3])
        for h in range(len(each.actions) - 1, -1, -1):
            Q = self.actions(each, h) if h < len(self.weights) else np.zeros(self.weights.shape[1::2])
            value = each.chances[h] @ Q + each.ratio[h] * (each.y[h] + value - Q[each.actions[h]])
        return np.asarray(value)
