"""The numbers of Algorithm 1: three presets, one code. Each number comes with the reason it has.

- ``theory``: Theorem 1 as printed (Theorem 2 where ζ > 0). Vacuous at any K one can run; it needs the Slater gap γ.
- ``paper``: section 5 of the paper (γ = 1, ζ = 0.1, its α and η), with β and λ, which it does not report, chosen by us.
- ``practical``: what works. The theorem's shape with constants that matter at K = 10⁴.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, Literal, cast

from noregret import theory
from noregret.errors import InputError, unknown_name

Cap = Literal["H", "H-h+1"]

#: Chosen for the ``paper`` preset: the neighbours on a grid are shown by ``noregret paper``.
PAPER_BETA = 1.0
PAPER_SLATER_GAP = 1.0
PAPER_ZETA = 0.1


@dataclass(frozen=True)
class Constants:
    """The constants of Algorithm 1, by the names of ``docs/symbols.md``."""

    lam: float
    beta: float
    alpha: float
    eta: float
    xi: float
    zeta: float
    cap: Cap
    lower_clip: bool


#: What a user may give: the constants, and two knobs they are computed from.
PARAMETERS = (*(f.name for f in fields(Constants)), "bonus_scale", "alpha_rule", "p")


def primal_dual(
    preset: str, *, H: int, A: int, d: int, m: int, K: int, slater_gap: float | None, **given: Any
) -> tuple[Constants, dict[str, str]]:
    """The constants of a preset with what the user ``given`` in their place, and where each comes from."""
    for key in given:
        if key not in PARAMETERS:
            raise unknown_name("parameter of primal-dual-lsvi", key, PARAMETERS)
    given = {key: value for key, value in given.items() if value is not None}
    p, scale, rule = (
        given.pop("p", 0.01),
        number("bonus_scale", given.pop("bonus_scale", 1.0)),
        given.pop("alpha_rule", None),
    )
    for key in ("lam", "beta", "xi", "zeta"):  # others are computed from these
        if key in given:
            given[key] = number(key, given[key])
    why = {key: "given" for key in given}

    def choose(key: str, value: Any, reason: str) -> Any:
        if key not in why:
            why[key] = reason
        return given.get(key, value)

    if preset == "theory":
        if slater_gap is None:
            raise InputError("slater_gap is None; preset 'theory' needs the Slater gap γ: a number (or 'oracle' in run)")
        gap, rule = slater_gap, rule or "alg1"
        zeta = choose("zeta", 0.0, "no tightening (Theorem 1)")
        lam = choose("lam", 1.0, "λ = 1 (Theorem 1)")
        beta = choose("beta", scale * theory.beta(d=d, H=H, K=K, A=A, p=p), f"bonus_scale·d·H·√ι with C₁=1, p={p}")
        xi = choose("xi", theory.xi(H=H, slater_gap=gap, tightened=zeta > 0), f"{'4' if zeta > 0 else '2'}H/γ, γ={gap:.6g}")
        eta = choose("eta", theory.eta(xi=xi, K=K, H=H), "ξ/√(KH²) (Alg. 1, l. 1)")
        cap, clip = choose("cap", "H", "as printed (Alg. 1, l. 8-9)"), choose("lower_clip", False, "as printed")
    elif preset == "paper":
        gap, rule = slater_gap or PAPER_SLATER_GAP, rule or "experiment"
        zeta = choose("zeta", PAPER_ZETA, "the ε = 0.1 of section 5, read as ζ")
        beta = choose("beta", scale * PAPER_BETA, "not reported; chosen")
        lam = choose("lam", (beta / H) ** 2, "not reported; (β/H)², so that an untried pair is worth exactly H")
        xi = choose("xi", theory.xi(H=H, slater_gap=gap), f"2H/γ with γ={gap:.6g}")
        eta = choose("eta", theory.eta(xi=xi, K=K, H=H), "2H/(γ√(KH²)) (section 5)")
        cap, clip = choose("cap", "H", "as printed (Alg. 1, l. 8-9)"), choose("lower_clip", False, "as printed")
    else:
        gap, rule = slater_gap or 1.0, rule or "alg1"
        zeta = choose("zeta", 0.0, "no tightening")
        beta = choose("beta", scale * 0.3, "bonus_scale·0.3")
        lam = choose("lam", (beta / H) ** 2, "(β/H)², so that an untried pair is worth exactly H")
        xi = choose("xi", theory.xi(H=H, slater_gap=gap), "2H/γ" + ("" if slater_gap else ", γ unknown and taken as 1"))
        eta = choose("eta", 5.0 / math.sqrt(K), "5/√K")
        cap, clip = (
            choose("cap", "H-h+1", "what H-h+1 steps can give"),
            choose("lower_clip", True, "values are ≥ 0"),
        )
    alpha = given.get("alpha")
    if alpha is None or isinstance(alpha, str):
        rule = cast(theory.AlphaRule, alpha or rule)
        alpha, why["alpha"] = theory.alpha(rule, A=A, K=K, H=H, m=m, xi=xi, slater_gap=gap), f"rule {rule!r}"
    constants = Constants(
        lam=number("lam", lam, above=0.0), beta=number("beta", beta), alpha=number("alpha", alpha, above=0.0, infinite=True),
        eta=number("eta", eta), xi=number("xi", xi), zeta=number("zeta", zeta), cap=cap,
        lower_clip=flag("lower_clip", clip),
    )  # fmt: skip
    if constants.cap not in ("H", "H-h+1"):
        raise InputError(f"cap is {cap!r}; expected 'H' or 'H-h+1'")
    return constants, why


def number(name: str, value: Any, above: float | None = None, infinite: bool = False) -> float:
    """A finite number that is at least 0, or more than ``above``."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name} is {value!r}; expected a number") from None
    low = number > above if above is not None else number >= 0.0
    if not low or not (math.isfinite(number) or (infinite and number == math.inf)):
        raise InputError(f"{name} is {value!r}; expected a {'positive' if above is not None else 'non-negative'} number")
    return number


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise InputError(f"{name} is {value!r}; expected True or False")
    return value


class Choices:
    """The numbers of a learner: what the user gave, else what the preset says; ``values`` and, for each, ``why``."""

    def __init__(
        self, learner: str, preset: str, slater_gap: float | None, given: dict[str, Any], known: tuple[str, ...]
    ) -> None:
        for key in given:
            if key not in known:
                raise unknown_name(f"parameter of {learner}", key, known)
        self.preset, self.slater_gap = preset, slater_gap
        self.given = {key: value for key, value in given.items() if value is not None}
        self.values: dict[str, Any] = {}
        self.why: dict[str, str] = {}

    @property
    def theory(self) -> bool:
        """Whether the paper's constants are asked for."""
        return self.preset == "theory"

    def gap(self) -> float:
        """γ; where it is unknown, 1, but not for the paper's constants."""
        if self.slater_gap is None and self.theory:
            raise InputError("slater_gap is None; preset 'theory' needs the Slater gap γ: a number (or 'oracle' in run)")
        return self.slater_gap or 1.0

    def number(
        self, key: str, theory: tuple[float, str], practical: tuple[float, str] | None = None, *,
        above: float | None = None, infinite: bool = False,
    ) -> float:  # fmt: skip
        """A number at least 0 (or more than ``above``): given, or by preset, each a pair of value and reason."""
        value, reason = theory if self.theory or practical is None else practical
        self.why[key] = "given" if key in self.given else reason
        self.values[key] = chosen = number(key, self.given.get(key, value), above, infinite)
        return chosen

    def probability(self) -> float:
        """``p``, the probability that the paper's guarantee fails; 0.01 unless given."""
        p = self.number("p", (0.01, "probability that the guarantee fails"), above=0.0)
        if p >= 1.0:
            raise InputError(f"p is {p}; expected a number between 0 and 1")
        return p

    def flag(self, key: str, theory: bool, practical: bool, reason: str) -> bool:
        """True or False."""
        self.why[key] = "given" if key in self.given else reason
        self.values[key] = chosen = flag(key, self.given.get(key, theory if self.theory else practical))
        return chosen

    def word(self, key: str, default: str, allowed: tuple[str, ...], reason: str) -> str:
        """One of a few words."""
        word = self.given.get(key, default)
        if word not in allowed:
            raise unknown_name(key, str(word), allowed)
        self.why[key] = "given" if key in self.given else reason
        self.values[key] = word
        return str(word)
