"""What is compared when nothing is said, and a learner with parameters as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from noregret import learners
from noregret._system.text import value
from noregret.errors import InputError, unknown_name
from noregret.results import NO_PROMISE
from noregret.runs.choose import FIXED_POLICIES, TELLS

#: What is compared when nothing is said: Table 1, what came after it, and a floor.
PROBLEMS = ("job-scheduling",)
LEARNERS = (
    "primal-dual-lsvi",
    "opdop",
    "opt-primal-dual",
    "opt-dual",
    "optpess-primal-dual",
    "triple-q",
    "lsvi-bisection",
    "opse-lcmdp:safe_policy=safest",
    "uniform",
)
#: The reason of a cell that Ctrl-C left without a result.
STOPPED = "stopped before its last episode"
#: Recorded points of a curve.
POINTS = 500


@dataclass(frozen=True)
class Entry:
    """A learner with parameters; the label is the text that the user wrote."""

    label: str
    name: str
    params: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name in FIXED_POLICIES:
            for key in self.params:
                raise InputError(f"{self.label}: {self.name} is a fixed policy and takes no parameter {key!r}")
            return
        learner = learners.get(self.name)
        known = {"preset", "slater_gap", *learner.parameters}.difference(TELLS)
        for key in self.params:
            if key not in known:
                raise unknown_name(f"parameter of {self.name}", key, known)
        if self.params.get("preset", learner.presets[0]) not in learner.presets:
            raise unknown_name(f"preset of {self.name}", str(self.params["preset"]), learner.presets)

    @classmethod
    def read(cls, text: str) -> Entry:
        """A learner as "name" or "name:key=value,key=value"."""
        name, _, tail = text.partition(":")
        params: dict[str, Any] = {}
        for pair in (piece for piece in tail.split(",") if piece.strip()):
            key, equals, given = (part.strip() for part in pair.partition("="))
            if not (key and equals and given) or key in params:
                raise InputError(f"learner {text!r}: {pair!r} is no new parameter; expected key=value, each key once")
            params[key] = value(given)
        return cls(text, name.strip(), params)

    @property
    def promise(self) -> tuple[str, str] | None:
        """The orders of regret and violation that its theorem promises."""
        return NO_PROMISE if self.name in FIXED_POLICIES else learners.get(self.name).promise
