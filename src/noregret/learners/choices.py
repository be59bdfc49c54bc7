"""How a learner gets its numbers: what the user gave, else what the preset says, each checked and with its reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from noregret import theory
from noregret._system.checks import integer
from noregret.errors import InputError, unknown_name
from noregret.learners import tuned
from noregret.problems.checks import policy_table
from noregret.problems.validation import Array, Mask

#: What a number's multiplier is called: ``eta_scale`` multiplies the preset's η.
SCALE = "_scale"

#: What steps may learn together; "auto" is what the problem declares.
SHARE = ("all", "auto", "nothing", "transitions")

#: Presets that use what a problem declares. The others share nothing, as printed; so does ``safe``, whose counts are of a step.
SHARING = ("practical", "cautious")

#: Presets that are the printed algorithm: with the paper's constants, or with these times scales that a search found.
PRINTED = ("theory", "tuned")

#: Why a number is what ``noregret tune-all`` found.
TUNED = "tuned, see docs/practical.md"


def shared(takes: tuple[str, ...], preset: str, given: Any, declared: str) -> tuple[str, str]:
    """What steps learn together, and why.

    Args:
        takes: what the learner can share; empty where it has no such option.
        preset: where its constants come from.
        given: what the user asked for, or None.
        declared: what the problem says does not change with the step.

    Raises:
        InputError: the learner cannot share what was asked for.
    """
    if given is not None and given not in SHARE:
        raise unknown_name("share", str(given), SHARE)
    if given not in (None, "auto"):
        if given != "nothing" and given not in takes:
            words = " or ".join(map(repr, ("auto", "nothing", *takes)))
            raise InputError(f"share is {given!r}; expected {words} for this learner")
        return given, "given"
    if given is None and preset not in SHARING:
        return "nothing", "as printed: every step learns alone"
    if declared in takes:
        return declared, f"the problem declares {declared!r}"
    if declared == "all" and "transitions" in takes:
        return "transitions", f"the problem declares {declared!r}"
    return "nothing", f"the problem declares {declared!r}; this learner cannot share that"


def searched(*both: str, theory: tuple[str, ...] = (), practical: tuple[str, ...] = ()) -> Mapping[str, tuple[str, ...]]:
    """The ``space`` of a learner: what ``noregret tune-all`` may try (:class:`noregret.learners.base.Learner`).

    Args:
        both: the ranges of both forms, where these have the same.
        theory: the ranges of the printed algorithm.
        practical: the ranges of the practical form.
    """
    return {"theory": theory or both, "practical": practical or both}


#: Constants beyond this have squares that are no numbers any more.
LARGEST = 1e100


def number(name: str, value: Any, above: float | None = None, infinite: bool = False) -> float:
    """A finite number that is at least 0, or more than ``above``; ``infinite`` allows ∞ too. Errors call it ``name``.

    Args:
        name: for errors.
        value: what was given.
        above: the number must be larger; None for at least 0.
        infinite: ∞ is allowed too.
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {str(value)[:60]!r}; expected a number") from None
    low = number > above if above is not None else number >= 0.0
    if not low or not (number <= LARGEST or (infinite and number == math.inf)):
        raise InputError(
            f"{name} is {value!r}; expected a {'positive' if above is not None else 'non-negative'} number, at most {LARGEST:g}"
        )
    return number


def probability(value: Any) -> float:
    """``p``, above 0 and below 1."""
    p = number("p", value, above=0.0)
    if p >= 1.0:
        raise InputError(f"p is {p}; expected a number between 0 and 1")
    return p


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} is {value!r}; expected True or False")
    return bool(value)


class Choices:
    """The numbers of a learner: what the user gave, else what the preset says; ``values`` and, for each, ``why``.

    For each number that a learner asks for with :meth:`number` or :meth:`offer` the user may give a ``<name>_scale`` in its
    place, which multiplies what the preset says. The presets "tuned" and "practical" have scales and options of their own,
    found by ``noregret tune-all`` (:mod:`noregret.learners.tuned`); what the user gives comes first.
    """

    def __init__(
        self, learner: str, preset: str, slater_gap: float | None, given: dict[str, Any], known: tuple[str, ...]
    ) -> None:
        for key, value in given.items():
            stem = key.removesuffix(SCALE)
            if key not in known and (stem == key or stem not in known):
                raise unknown_name(f"parameter of {learner}", key, known)
            if key not in known and value is not None and given.get(stem) is not None:
                raise InputError(f"{key} is {value!r} and {stem} is {given[stem]!r}; expected one of them")
        self.learner, self.preset, self.slater_gap = learner, preset, slater_gap
        self.given = {key: value for key, value in given.items() if value is not None}
        self.scales = {key: number(key, self.given.pop(key), above=0.0) for key in list(self.given) if key not in known}
        self.tuned = tuned.winners(learner, preset, {*self.given, *self.scales})
        self.values: dict[str, Any] = {}
        self.why: dict[str, str] = {}
        self.tightened = False  # by Theorem 2: then ξ = 4H/γ
        self._scaled: set[str] = set()  # scales that were used

    def gave(self, key: str) -> bool:
        """Whether the user gave this one."""
        return key in self.given

    def offer(self, key: str, value: Any, reason: str) -> Any:
        """What the user gave for ``key``, else what was offered first.

        Args:
            key: the name of the number.
            value: what it is unless the user gave it.
            reason: where ``value`` comes from.
        """
        if key not in self.values:
            self.values[key] = self._chosen(key, value, reason)
        return self.values[key]

    def _chosen(self, key: str, value: Any, reason: str, scales: bool = True) -> Any:
        """What the user gave, else what a search found, else ``value``, times its scale where it may have one; notes why."""
        if key in self.given:
            self.why[key] = "given"
            return self.given[key]
        if key in self.tuned:
            self.why[key] = TUNED
            return self.tuned[key]
        scale, name = 1.0, key + SCALE
        if scales and isinstance(value, float | int) and not isinstance(value, bool):
            self._scaled.add(name)
            scale = self.scales.get(name, self.tuned.get(name, 1.0))
        self.why[key] = reason
        if scale != 1.0:
            self.why[key] += f", times {scale:g}" + ("" if name in self.scales else f" ({TUNED})")
            value = value * scale
        return value

    def done(self) -> None:
        """Refuse scales of what is no number of this learner with this preset; called when all numbers were asked for."""
        for name in self.scales.keys() - self._scaled:
            stem = name.removesuffix(SCALE)
            raise InputError(
                f"{name} is {self.scales[name]:g}; {stem} is no number that preset {self.preset!r} sets: leave it out"
            )

    def share(self, takes: tuple[str, ...], declared: str) -> str:
        """What steps learn together (:func:`shared`)."""
        self.values["share"], self.why["share"] = shared(takes, self.preset, self.given.get("share"), declared)
        return str(self.values["share"])

    @property
    def theory(self) -> bool:
        """Whether the printed algorithm is asked for, with the paper's constants or these times tuned scales."""
        return self.preset in PRINTED

    def cap(self, H: int, gap: float) -> tuple[float, str]:
        """ξ and its reason."""
        return theory.xi(H=H, slater_gap=gap, tightened=self.tightened), f"{'4' if self.tightened else '2'}H/γ, γ={gap:.6g}"

    def gap(self) -> float:
        """γ; where it is unknown, 1, but not for the paper's constants."""
        if self.slater_gap is None and self.preset == "theory":
            raise InputError("slater_gap is None; preset 'theory' needs the Slater gap γ: a number (or 'oracle' in run)")
        return self.slater_gap or 1.0

    def number(
        self, key: str, theory: tuple[float, str], practical: tuple[float, str] | None = None, *,
        above: float | None = None, infinite: bool = False,
    ) -> float:  # fmt: skip
        """A number at least 0 (or more than ``above``): given, or by preset, each a pair of value and reason.

        Args:
            key: its name.
            theory: value and reason, by the presets that follow a theorem.
            practical: value and reason, by the others; None for the same.
            above: the number must be larger; None for at least 0.
            infinite: ∞ is allowed too.
        """
        value, reason = theory if self.theory or practical is None else practical
        self.values[key] = chosen = number(key, self._chosen(key, value, reason), above, infinite)
        return chosen

    def probability(self) -> float:
        """``p``, the probability that the paper's guarantee fails; 0.01 unless given."""
        return probability(self.number("p", (0.01, "probability that the guarantee fails"), above=0.0))

    def flag(self, key: str, theory: bool, practical: bool, reason: str) -> bool:
        """True or False: given, else ``theory`` or ``practical`` by preset, for that ``reason``.

        Args:
            key: its name.
            theory: by the presets that follow a theorem.
            practical: by the others.
            reason: for both.
        """
        self.values[key] = chosen = flag(key, self._chosen(key, theory if self.theory else practical, reason))
        return chosen

    def count(self, key: str, theory: tuple[int, str], practical: tuple[int, str] | None = None, most: int = 1 << 62) -> int:
        """A whole number from 1 to ``most``: given, or by preset, each a pair of value and reason.

        Args:
            key: its name.
            theory: value and reason, by the presets that follow a theorem.
            practical: value and reason, by the others; None for the same.
            most: the largest that is allowed.
        """
        value, reason = theory if self.theory or practical is None else practical
        self.values[key] = chosen = integer(key, self._chosen(key, value, reason, scales=False), 1, most)
        return chosen

    def safe_policy(self, available: Mask) -> Array:
        """The policy (H,S,A) that the learner must be told, checked against the actions that are available."""
        given = self.given.get("safe_policy")
        if given is None or isinstance(given, str):
            raise InputError(
                f"safe_policy is {given!r}; {self.learner} needs a policy that meets the constraint with room: "
                f"an array (H,S,A) (or 'safest' in run, which takes the oracle's)"
            )
        return policy_table(given, available, "safe_policy")

    def word(self, key: str, default: str, allowed: tuple[str, ...], reason: str) -> str:
        """One of the ``allowed`` words: given, else ``default``, for that ``reason``.

        Args:
            key: its name.
            default: where none is given.
            allowed: all of them.
            reason: for the default.
        """
        word = self._chosen(key, default, reason)
        if word not in allowed:
            raise unknown_name(key, str(word), allowed)
        self.values[key] = word
        return str(word)
