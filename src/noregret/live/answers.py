"""What a live learner answers: decisions, receipts, reports in quarantine, episodes that were closed."""

from __future__ import annotations

from typing import Any, NamedTuple


class Decision(NamedTuple):
    """What is to be done at a step, and how it was found."""

    id: str  # for report
    episode: str
    step: int
    action: Any
    probability: float  # of the action
    probabilities: tuple[float, ...]  # of all actions
    plan: int  # the version of the plan; 0 before anything was learned
    explored: bool  # whether another action was likelier
    fallback: bool  # whether the fallback decided
    advised: Any = None  # what the plan would have done, where the old system decided
    recorded: bool = True  # False while the database takes nothing: it may be forgotten, and then a report of it is refused


class Receipt(NamedTuple):
    """What became of a report or an end."""

    status: str  # counted, repeated, quarantined
    complete: bool  # whether the episode can be learned from now
    reason: str | None = None  # of the quarantine


class Held(NamedTuple):
    """A report in quarantine."""

    id: str  # of the decision
    reason: str
    reward: float
    costs: dict[str, float]
    at: float  # when it came


class Expired(NamedTuple):
    """Episodes that were closed because nothing came any more."""

    learned: tuple[str, ...]  # up to the last step of which all is known
    dropped: tuple[str, ...]  # of which nothing is known
