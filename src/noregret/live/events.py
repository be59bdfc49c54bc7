"""Events of episodes as the log keeps them, and the episodes in flight that they add up to.

| kind | step | body |
|---|---|---|
| decision | h | ``x`` what was seen, ``m`` the mask, ``a`` the action, ``P`` all chances, ``v`` the plan, ``f`` who decided |
| report | h | ``r`` the reward, ``c`` costs or utilities, ``t`` the action that was done, if another |
| held | h | a report in quarantine: the same, and ``why`` |
| end | -1 | ``x`` what was seen last, ``z`` whether the world ended it |
| cut | -1 | ``n`` how many steps are learned of an episode that was abandoned, ``fill`` for reports that are missing |
| complete | -1 | totals and shares: it can be learned from now |
| drop | -1 | ``why`` nothing is learned from it |
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noregret.agent.flight import Flight, FlightStep
from noregret.agent.flights import Flights
from noregret.gym.spaces import Mask
from noregret.problems.base import Array

#: Events that belong to the whole episode have this step.
WHOLE = -1
#: Made once: a new encoder for each event would cost more than its work.
_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
#: Events after which an episode is over.
CLOSING = ("complete", "drop")


class Event(NamedTuple):
    """One entry of the log."""

    kind: str
    episode: str
    step: int
    at: float
    body: dict[str, Any]
    written: str | None = None  # the body as JSON, where whoever made it had it at hand

    @property
    def json(self) -> str:
        """The body as JSON."""
        return _ENCODE(self.body) if self.written is None else self.written

    def text(self, seq: int) -> str:
        """The event as JSON, with its place in the log."""
        return f'[{seq},"{self.kind}",{_ENCODE(self.episode)},{self.step},{self.at!r},{self.json}]'


class Answer(NamedTuple):
    """The probabilities of all actions, in every form that a decision needs."""

    each: list[float]  # nobody changes it
    most: float  # the largest
    json: str

    @classmethod
    def of(cls, chances: Array) -> Answer:
        """An answer of probabilities (A,)."""
        each = chances.tolist()
        return cls(each, max(each), _ENCODE(each))

    def draw(self, uniform: float) -> int:
        """The action that :func:`noregret.agent.episodes.draw` gives; compiled code would let go of the interpreter for it."""
        total, last = 0.0, 0
        for action, chance in enumerate(self.each):
            if chance > 0.0:
                last = action
                total += chance
                if total > uniform:
                    break
        return last


def plain(array: NDArray[Any]) -> Any:
    """An observation as JSON takes it: a number, or a list of numbers."""
    return array.tolist()


def seen(value: Any) -> NDArray[Any]:
    """The observation that :func:`plain` gave."""
    return np.asarray(value, dtype=np.float64 if isinstance(value, list) else np.int64)


def mask_of(value: list[int] | None) -> Mask | None:
    """A mask from its zeros and ones."""
    return None if value is None else np.array(value, dtype=np.bool_)


def apply(flights: Flights, event: Event) -> None:
    """Let an event of the log happen to the episodes in flight, as it happened when it was written."""
    name, body = event.episode, event.body
    if event.kind == "decision":
        note = {key: value for key, value in body.items() if key not in ("x", "m", "a")}
        flights.decide(name, seen(body["x"]), mask_of(body.get("m")), body["a"], note)
    elif event.kind == "held":
        flights[name].steps[event.step].note["held"] = body
    elif event.kind == "report":
        flights[name].steps[event.step].note.pop("held", None)
        flights.report(name, body["r"], [body["c"]], step=event.step, taken=body.get("t"))
    elif event.kind == "end":
        flights.end(name, seen(body["x"]), body["z"])
    elif event.kind == "cut":
        cut(flights[name], body["n"], body.get("fill"))


def cut(flight: Flight, steps: int, fill: dict[str, Any] | None) -> None:
    """Close an abandoned episode after some of its steps; what was seen next, or last, is its last observation.

    Args:
        flight: the episode.
        steps: how many are kept.
        fill: ``r`` and ``c`` for reports that are missing; None if none of the steps that are kept is.
    """
    rest = flight.steps[steps:]
    if rest:
        flight.last, flight.terminated = rest[0].observation, False
    elif flight.last is None:
        flight.last, flight.terminated = flight.steps[-1].observation, False
    del flight.steps[steps:]
    for each in flight.steps:
        if each.reward is None and fill is not None:
            each.reward, each.values = float(fill["r"]), np.asarray(fill["c"], dtype=np.float64)
            each.note.pop("held", None)


def reported(flight: Flight) -> int:
    """How many of the first steps were reported without a gap, and have something seen after them."""
    steps = flight.steps
    n = next((h for h, each in enumerate(steps) if each.reward is None), len(steps))
    return n if flight.last is not None or n < len(steps) else max(n - 1, 0)


def totals(flight: Flight) -> dict[str, Any]:
    """What a completed episode is told of: totals, length, who decided, and whether it counts for the price of its limits."""
    played = flight.played()
    n, by = len(flight.steps), [step.note.get("f") for step in flight.steps]
    reward = 0.0
    for each in played.rewards.tolist():
        reward += each
    return {
        "r": reward, "c": played.values.sum(axis=0).tolist(), "n": n,
        "explored": sum(step.note.get("e", 0) for step in flight.steps) / n, "fallback": sum(b is not None for b in by) / n,
        "taken": sum(step.taken is not None and step.taken != step.action for step in flight.steps) / n,
        "counts": all(b is None for b in by),
    }  # fmt: skip


def body_of(decision: FlightStep) -> dict[str, Any]:
    """The body of a decision's event."""
    body: dict[str, Any] = {"x": plain(decision.observation)}
    if decision.mask is not None:
        body["m"] = decision.mask.astype(int).tolist()
    body["a"] = decision.action
    body.update(decision.note)
    return body


def written(body: dict[str, Any], answer: Answer) -> str:
    """The body of a decision's event as JSON: what many decisions share, the answer's, is made once."""
    x = body["x"]
    text = f'{{"x":{x if type(x) is int else _ENCODE(x)},"a":{body["a"]},"v":{body["v"]},"P":{answer.json}'
    if len(body) > 4:
        text += "".join(f',"{key}":{_ENCODE(body[key])}' for key in body if key not in ("x", "a", "v", "P"))
    return text + "}"
