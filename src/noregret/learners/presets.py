"""The numbers of Algorithm 1: seven presets, one code. Each number comes with the reason it has.

- ``theory``: Theorem 1 as printed (Theorem 2 where ζ > 0). Vacuous at any K one can run; it needs the Slater gap γ.
- ``tuned``: the same algorithm, its numbers times scales that ``noregret tune-all`` found; γ is 1 where it is unknown.
- ``paper``: section 5 of the paper (γ = 1, ζ = 0.1, its α and η), with β and λ, which it does not report, chosen by us.
- ``practical``: what works, without γ and without tuning by the user; how its rules were chosen is in ``docs/practical.md``.
- ``simple``: ``practical`` with the printed bonus and the printed dual estimate, and no tightening.
- ``cautious``: ``practical`` for a user who has a safe policy: it plays what a tuned pessimistic estimate calls safe.
- ``safe``: the same with a certificate (:mod:`noregret.kernels.certificate`): with probability 1 − p no episode violates.

What a user gives replaces the preset's number and no other one, but for those that the preset computes from it by a formula
(as λ = (β/H)², η = ξ/√(KH²)). To give a preset's own number changes nothing. Options that cannot go together are refused.
In version 0.1 a given β, α or η also switched options of ``practical`` (:func:`changed_meaning`).

Two numbers may be given as words: ``zeta="theorem"`` is the ζ of Theorem 2 times ``zeta_scale``, with ξ = 4H/γ; and with
``xi="estimate"`` γ is estimated from the data (:mod:`noregret.learners.parts.epochs`), where ξ here is the most it may become.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, cast

from noregret import theory
from noregret.errors import InputError, unknown_name
from noregret.learners.choices import Choices, flag, number, probability

Cap = Literal["H", "H-h+1"]
Bonus = Literal["constant", "span", "variance"]
DualEstimate = Literal["optimistic", "plain", "pessimistic", "observed", "corrected"]
Certificate = Literal["tuned", "confidence"]
Schedule = Literal["fixed", "anytime"]
Restart = Literal["none", "doubling"]
RestartData = Literal["kept", "dropped"]
XiRule = Literal["fixed", "estimate"]

#: Chosen for the ``paper`` preset: the neighbours on a grid are shown by ``noregret paper``.
PAPER_BETA = 1.0
PAPER_SLATER_GAP = 1.0
PAPER_ZETA = 0.1

#: β of the ``simple`` preset.
SIMPLE_BETA = 0.3

#: Options that are words, and what they may be; the first is the paper's.
WORDS = {
    "cap": ("H", "H-h+1"),
    "bonus": ("constant", "span", "variance"),
    "dual_estimate": ("optimistic", "plain", "pessimistic", "observed", "corrected"),
    "certificate": ("tuned", "confidence"),
    "alpha_schedule": ("fixed", "anytime"),
    "eta_schedule": ("fixed", "anytime"),
    "restart": ("none", "doubling"),
    "restart_data": ("kept", "dropped"),
}

#: Numbers that may be given as one word.
RULES = {"zeta": "theorem", "xi": "estimate"}


@dataclass(frozen=True)
class Constants:
    """The constants of Algorithm 1, by the names of ``docs/symbols.md``, and its options with the printed form as default."""

    lam: float
    beta: float
    alpha: float
    eta: float
    xi: float
    zeta: float = 0.0
    cap: Cap = "H"
    lower_clip: bool = False
    utility_bonus: float = 1.0
    bonus: Bonus = "constant"
    span_floor: float = 0.0
    dual_estimate: DualEstimate = "optimistic"
    dual_prior: float = 0.0
    pessimism: float = 0.0
    certificate: Certificate = "tuned"
    damping: bool = False
    anti_windup: bool = False
    alpha_schedule: Schedule = "fixed"
    eta_schedule: Schedule = "fixed"
    restart: Restart = "none"
    restart_data: RestartData = "kept"
    xi_rule: XiRule = "fixed"  # "estimate": ξ is what it may become at most
    xi_sets: str = ""  # which of "alpha" and "eta" were computed from ξ and move with it, as words
    theorem_2: bool = False  # whether ζ is that of Theorem 2
    p: float = 0.01


#: Why an option is what no preset and no user changed.
PRINTED = "as printed in the paper"

#: Numbers of options that the paper does not have, where these are off.
OFF = dict.fromkeys(
    ("span_floor", "dual_prior", "pessimism", "certificate", "restart_data"), "not used: the option it belongs to is off"
)

#: Set by how others are given, not by the user.
DERIVED = ("xi_rule", "xi_sets", "theorem_2")

#: What a user may give: the constants, and three knobs they are computed from.
PARAMETERS = (*(f.name for f in fields(Constants) if f.name not in DERIVED), "bonus_scale", "alpha_rule", "zeta_scale")


def primal_dual(
    preset: str, *, H: int, A: int, d: int, m: int, K: int, slater_gap: float | None, room: float = 0.0,
    searched: bool = True, **given: Any,
) -> tuple[Constants, dict[str, str]]:  # fmt: skip
    """The constants of a preset, or what the user gave (``given``) in their place; and where each comes from.

    Args:
        preset: where they come from.
        H: steps of an episode.
        A: actions.
        d: the dimension of φ.
        m: constraints.
        K: episodes.
        slater_gap: what is known of γ.
        room: where all steps share one table of counts, the least of b and H − b over the constraints; else 0.
        searched: whether what a search found for tables counts.
        given: constants that override the preset's.
    """
    choices = Choices("primal-dual-lsvi", preset, slater_gap, given, PARAMETERS)
    choices.tuned = choices.tuned if searched else {}
    own = choices.given
    own.update({key: _checked(key, value) for key, value in own.items()})
    scale, rule = own.pop("bonus_scale", 1.0), own.pop("alpha_rule", None)
    p = choices.offer("p", 0.01, "the probability that a guarantee fails, where there is one")
    if isinstance(own.get("alpha"), str):
        rule = own.pop("alpha")
    if rule is not None and choices.gave("alpha"):
        raise InputError(f"alpha is {own['alpha']:g} and alpha_rule is {rule!r}; expected one of them")
    choices.tightened = _theorem_2(own, slater_gap, H=H, A=A, d=d, K=K, p=p)
    estimated = own.get("xi") == "estimate"
    if estimated:
        del own["xi"]
        if slater_gap is None and (choices.theory or preset == "paper"):
            choices.slater_gap = 1.0 / math.sqrt(K)
    if choices.theory:
        gap, rule = _theory(choices, H=H, A=A, d=d, K=K, scale=scale, p=p), rule or "alg1"
    elif preset == "paper":
        gap, rule = _paper(choices, H=H, K=K, scale=scale), rule or "experiment"
    else:
        if preset in ("cautious", "safe"):
            proof = ("tuned", "by the pessimistic estimate"), ("confidence", f"no episode violates, with probability 1 − {p:g}")
            choices.offer("certificate", *proof[preset == "safe"])
            choices.offer("dual_estimate", "pessimistic", "the dual follows what is sure")
            choices.offer("pessimism", 0.6, "of the utilities' bonus, with a minus sign")
            choices.offer("zeta", 0.0, "pessimism is the tightening")
        if preset == "practical" and room > 0.0:
            _counted(choices, H=H, A=A, K=K, scale=scale, room=room)
        gap = _practical(choices, H=H, K=K, scale=scale, rule=rule)
    if "alpha" not in choices.values:
        value = None
        if not choices.gave("alpha"):
            value = theory.alpha(cast(theory.AlphaRule, rule), A=A, K=K, H=H, m=m, xi=choices.values["xi"], slater_gap=gap)
        choices.offer("alpha", value, f"rule {rule!r}")
    for key in own:
        choices.offer(key, None, "given")
    choices.done()
    if choices.tightened:
        choices.values["theorem_2"] = True
        choices.why["zeta"] = "Theorem 2: the violation's bound over K, times zeta_scale, at most γ/2"
    if estimated:
        sets = {"eta": choices.theory or preset == "paper", "alpha": rule == "alg1"}
        choices.values |= {
            "xi_rule": "estimate",
            "xi_sets": " ".join(key for key in sets if sets[key] and not choices.gave(key)),
        }
        choices.why["xi"] = f"{'4' if choices.tightened else '2'}H/γ̂, γ̂ estimated at episodes 2^i; at most this"
    constants = Constants(**{key: _checked(key, value) for key, value in choices.values.items()})
    _consistent(constants, H)
    if constants.restart == "doubling":
        choices.why["restart"] += f"; each part has its own constants, these are for its K = {K:,}"
        choices.why.setdefault("restart_data", "a restart keeps what was learned")
    return constants, {key: OFF.get(key, PRINTED) for key in vars(constants) if key not in DERIVED} | choices.why


def _theorem_2(own: dict[str, Any], slater_gap: float | None, *, H: int, A: int, d: int, K: int, p: float) -> bool:
    """Put the number in place of ζ = "theorem"; whether there was one."""
    scale = own.pop("zeta_scale", None)
    if own.get("zeta") != "theorem":
        if scale is not None:
            raise InputError(f"zeta_scale is {scale:g}; it scales the ζ of Theorem 2: expected zeta='theorem' beside it")
        return False
    if slater_gap is None:
        raise InputError("slater_gap is None; zeta 'theorem' needs the Slater gap γ: a number (or 'oracle' in run)")
    own["zeta"] = theory.zeta(K=K, H=H, d=d, A=A, slater_gap=slater_gap, p=p, scale=1.0 if scale is None else scale)
    return True


def _theory(c: Choices, *, H: int, A: int, d: int, K: int, scale: float, p: float) -> float:
    gap = c.gap()
    zeta = c.offer("zeta", 0.0, "no tightening (Theorem 1)")
    c.offer("lam", theory.LAMBDA, "λ = 1 (Theorem 1)")
    c.offer("beta", scale * theory.beta(d=d, H=H, K=K, A=A, p=p), f"bonus_scale·d·H·√ι with C₁=1, p={p}")
    factor = "4" if zeta > 0 else "2"  # Theorem 2, Theorem 1
    xi = c.offer("xi", theory.xi(H=H, slater_gap=gap, tightened=zeta > 0), f"{factor}H/γ, γ={gap:.6g}")
    c.offer("eta", theory.eta(xi=xi, K=K, H=H), "ξ/√(KH²) (Alg. 1, l. 1)")
    return gap


def _paper(c: Choices, *, H: int, K: int, scale: float) -> float:
    gap = c.slater_gap or PAPER_SLATER_GAP
    c.offer("zeta", PAPER_ZETA, "the ε = 0.1 of section 5, read as ζ")
    beta = c.offer("beta", scale * PAPER_BETA, "not reported; chosen")
    c.offer("lam", (beta / H) ** 2 or theory.LAMBDA, "not reported; (β/H)², so that an untried pair is worth exactly H")
    xi = c.offer("xi", *c.cap(H, gap))
    c.offer("eta", theory.eta(xi=xi, K=K, H=H), "2H/(γ√(KH²)) (section 5)")
    return gap


def _practical(c: Choices, *, H: int, K: int, scale: float, rule: str | None) -> float:
    known = c.slater_gap is not None
    gap = c.slater_gap or 1.0 / math.sqrt(K)
    c.offer("cap", "H-h+1", "what H-h+1 steps can give")
    c.offer("lower_clip", True, "values are at least 0")
    if c.preset == "simple":
        beta = c.offer("beta", scale * SIMPLE_BETA, f"bonus_scale·{SIMPLE_BETA:g}, chosen")
        c.offer("lam", (beta / H) ** 2 or theory.LAMBDA, "(β/H)², so that an untried pair is worth exactly H")
        c.offer("zeta", 0.0, "no tightening")
    else:
        _span(c, H=H, scale=scale)
        zeta = min(0.1 * H / math.sqrt(K), gap / 2 if known else math.inf)
        c.offer("zeta", zeta, "0.1·H/√K" + (", at most γ/2" if known else ""))
    value, reason = c.cap(H, gap)
    if not known and c.values.get("dual_estimate", c.given.get("dual_estimate")) in ("observed", "corrected"):
        c.offer("xi", 2.0 * math.sqrt(K), "2√K, what steps of 1/√k add up to")
    c.offer("xi", value, reason + ("" if known else " (unknown; taken as 1/√K)"))
    own = "fixed" if c.given.get("restart") == "doubling" else "anytime"
    why = "each part has its own" if own == "fixed" else "{}; K is not needed"
    if c.offer("eta_schedule", own, why.format("early steps are long, late ones short")) == "fixed":
        c.offer("eta", 1.0 / math.sqrt(K), "1/√K")
    c.offer("eta", 1.0, "divided by √k")
    c.offer("damping", True, "a dual that swings about is slowed down")
    fixed = c.offer("alpha_schedule", own, why.format("the policy sharpens as the estimates do")) == "fixed"
    if rule is not None and not fixed:
        raise InputError(f"alpha_rule is {rule!r} and alpha_schedule is 'anytime'; a rule's α is for K: expected 'fixed'")
    if rule is None:
        c.offer("alpha", 4.0 * math.sqrt(K) if fixed else 4.0, "4√K" if fixed else "times √k")
    return gap


def _counted(c: Choices, *, H: int, A: int, K: int, scale: float, room: float) -> None:
    """What ``practical`` does otherwise where all steps share one table of counts: there are H times as many data."""
    c.offer("bonus", "variance", "a pair whose next values do not vary needs few visits")
    beta = c.offer("beta", scale * 2.7 / math.sqrt(H), "bonus_scale·2.7/√H, times the deviation of the next values")
    c.offer("span_floor", 0.2, "at least this spread, over n")
    c.offer("lam", min(1e-6, (0.1 * beta / H) ** 2) or 1e-6, "small: an untried pair is worth the cap, a tried one its mean")
    gap = math.inf if c.slater_gap is None else c.slater_gap / 2
    c.offer("zeta", min(0.4 / math.sqrt(K), room / 10, gap), "0.4/√K, at most a tenth of the room between 0, b and H, and γ/2")
    c.offer("anti_windup", True, "a start without data does not wind the price up")
    root = 1.0 if c.given.get("eta_schedule", c.given.get("restart")) in (None, "none", "anytime") else math.sqrt(K)
    c.offer("eta", 4.5 / math.sqrt(H) / root, "4.5/√H, divided by √k" if root == 1.0 else "4.5/√(HK)")
    if c.given.get("alpha_schedule", c.given.get("restart")) in (None, "none", "anytime"):
        c.offer("alpha", 4.0 * math.sqrt(math.log2(max(A, 2))), "4√log₂A, times √k: more actions, more to tell apart")


def _span(c: Choices, *, H: int, scale: float) -> None:
    """The bonus by the spread of the next values, and a dual that looks at an estimate of its own."""
    usual = scale * 1.8 / math.sqrt(H)
    beta = c.offer("beta", usual, "bonus_scale·1.8/√H, times the spread of the next values")
    c.offer("utility_bonus", 0.5, "half as much for utilities")
    c.offer("bonus", "span", "what matters of the next state is how far its values spread")
    c.offer("span_floor", 0.4, "at least this spread")
    least = scale * 0.36 / H**1.5 if beta == usual else 0.2 * beta / H  # the same, but for rounding
    c.offer("lam", min(1e-6, least**2) or 1e-6, "small: an untried direction is worth the cap, a tried one its mean")
    plain = c.offer("dual_estimate", "plain", "the dual follows the estimate, not its optimism") in ("plain", "corrected")
    c.offer("dual_prior", *((0.5, "what was never tried gives half of the cap") if plain else (0.0, OFF["dual_prior"])))


def changed_meaning(preset: str, params: Mapping[str, Any]) -> bool:
    """Whether these parameters meant something else in version 0.1, where they also switched options of the preset."""
    given = {key for key in ("beta", "alpha", "alpha_rule", "eta") if params.get(key) not in (None, math.inf)}
    return preset == "safe" or (preset == "practical" and bool(given))


def _consistent(c: Constants, H: int) -> None:
    """Refuse options that contradict each other.

    A restart sets α and η itself. And the bonus of a pair that was never tried must lift its value to the cap, or it would not
    be tried; a bonus by span does so only if λ is small enough.
    """
    if c.restart == "doubling" and "anytime" in (c.alpha_schedule, c.eta_schedule):
        raise InputError("restart is 'doubling'; expected alpha_schedule and eta_schedule 'fixed', as each part has its own")
    if c.dual_estimate == "pessimistic" and not (c.bonus == "span" and c.lower_clip and c.pessimism > 0.0):
        raise InputError("dual_estimate is 'pessimistic'; expected with it bonus 'span', lower_clip True and pessimism above 0")
    if c.certificate == "confidence" and (c.restart == "doubling" or c.dual_estimate != "pessimistic"):
        raise InputError("certificate is 'confidence'; expected with it restart 'none' and dual_estimate 'pessimistic'")
    if c.bonus == "constant":
        return
    for name, beta in (("beta", c.beta), ("utility_bonus·beta", c.beta * c.utility_bonus)):
        if beta != 0.0 and beta * c.span_floor < H * math.sqrt(c.lam) * (1 - 1e-9):
            raise InputError(
                f"lam is {c.lam:.6g}; with bonus 'span' expected at most ({name}·span_floor/H)² = "
                f"{(beta * c.span_floor / H) ** 2:.6g}"
            )


def _checked(name: str, value: Any) -> Any:
    """One parameter, of its type and in its range."""
    if name in DERIVED or (isinstance(value, str) and value == RULES.get(name)):
        return value
    if name in WORDS:
        if value not in WORDS[name]:
            raise InputError(f"{name} is {value!r}; expected {' or '.join(map(repr, WORDS[name]))}")
        return value
    if name in ("lower_clip", "damping", "anti_windup"):
        return flag(name, value)
    if name == "alpha_rule" or (name == "alpha" and isinstance(value, str)):
        if value not in theory.ALPHA_RULES:
            raise unknown_name("alpha rule", str(value), theory.ALPHA_RULES)
        return value
    if name == "p":
        return probability(value)
    return number(name, value, above=0.0 if name in ("lam", "alpha", "zeta_scale") else None, infinite=name == "alpha")
