r"""The constants of the paper, each a function of what the user knows; nothing here looks at data.

Let d be the dimension of φ, H the horizon, K the number of episodes, T = KH the number of steps, A the number of
actions, γ (``slater_gap``) the margin by which some policy satisfies every constraint, and p the probability that
the guarantees fail. The paper sets

    ι = log(4 log|A| d T/p)                 the logarithmic factor          :func:`iota`
    β = C₁ d H √ι                           the width of the bonus          :func:`beta`
    ξ = 2H/γ                                the cap of the dual variable    :func:`xi`
    η = ξ/√(KH²)                            the step of the dual variable   :func:`eta`
    α = log|A| K/(2(1+ξ+H))                 the sharpness of the soft-max   :func:`alpha`
    ζ = min{C'·2(1+ξ)/ξ·√(d³H³Tι²)/K, γ/2}  the tightening of the threshold :func:`zeta`

with λ = 1, and proves (Theorem 1) that with probability at least 1 - p

    regret    <= C √(d³H³Tι²) + ξ√(HT)                                     :func:`regret_bound`
    violation <= C'·2(1+ξ)/ξ·√(d³H³Tι²)                                    :func:`violation_bound`

and (Theorem 2) what follows for b + ζ in place of b. Every docstring names the lines of ``paper.tex`` it follows.

Three readings to know of. The constants C₁, C, C' are "absolute" in the theorems and never given; they are arguments,
1 unless told. The theorems are stated for |A| >= 2: with one action log|A| = 0 and ι would be -∞, though there is
nothing left to choose; ι and α then use log 2, so that they stay positive and a problem with one action runs like
any other. And T always means KH.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, NamedTuple

from noregret._system.checks import integer
from noregret.errors import InputError, unknown_name

AlphaRule = Literal["alg1", "text", "experiment"]

#: The rules for α that the paper uses in three places; see :func:`alpha`.
ALPHA_RULES: tuple[AlphaRule, ...] = ("alg1", "text", "experiment")

#: The ridge parameter of Theorem 1 (paper.tex l. 329).
LAMBDA = 1.0

# --- logarithmic factors and the bonus -----------------------------------------------------------------------------


def iota(*, d: int, T: int, A: int, p: float = 0.01) -> float:
    """ι = log(4 log|A| d T/p), the logarithmic factor of the bonus and of the bounds (paper.tex l. 267, 329, 633).

    The proof uses ι >= log 4 (l. 692), which needs dT/p >= 1/log|A|. With A = 1 log|A| is taken as log 2.
    The arguments are those of :func:`beta`, with T = KH.

    >>> round(iota(d=20, T=2_000_000, A=2, p=0.05), 3)
    21.52
    """
    d, T = _count("d", d), _count("T", T)
    return math.log(4.0 * _log_actions(A) * d * T / _probability("p", p))


def chi(*, d: int, T: int, A: int, p: float = 0.01, C1: float = 1.0) -> float:
    """χ = log(4(C₁+1) log|A| d T/p) = ι + log(C₁+1), the factor of the concentration lemma (paper.tex l. 626, 666).

    The proof replaces it by ι with a larger constant in front (l. 686-692); here for comparison. The arguments are
    those of :func:`beta`, with T = KH.
    """
    return iota(d=d, T=T, A=A, p=p) + math.log1p(_positive("C1", C1))


def beta(*, d: int, H: int, K: int, A: int, p: float = 0.01, C1: float = 1.0) -> float:
    """β = C₁ d H √ι, the width of the bonus β‖φ‖_{Λ⁻¹} (paper.tex l. 267, 329).

    C₁ is an "absolute constant" in the theorem, yet the proof takes :func:`C1_of_proof`, which depends on γ.

    Args:
        d: the dimension of φ.
        H: the horizon.
        K: the number of episodes.
        A: the number of actions.
        p: the probability that the guarantees fail.
        C1: C₁, which the paper does not give.

    >>> round(beta(d=20, H=10, K=200_000, A=2, p=0.05))
    928
    """
    d, H, K = _count("d", d), _count("H", H), _count("K", K)
    return _positive("C1", C1) * d * H * math.sqrt(iota(d=d, T=K * H, A=A, p=p))


def C1_of_proof(*, slater_gap: float) -> float:  # noqa: N802
    """C₁ = 256(1 + 1/γ), the value with which the proof of the concentration lemma ends (paper.tex l. 1184)."""
    return 256.0 * (1.0 + 1.0 / _positive("slater_gap", slater_gap))


# --- the dual variable ---------------------------------------------------------------------------------------------


def dual_bound(*, H: int, slater_gap: float) -> float:
    """H/γ, which the optimal dual variable Y* does not exceed (paper.tex l. 247)."""
    return _count("H", H) / _positive("slater_gap", slater_gap)


def xi(*, H: int, slater_gap: float, tightened: bool = False) -> float:
    """ξ = 2H/γ, the cap of the dual variable (paper.tex l. 256, 267); 4H/γ for b + ζ (l. 1254).

    It is twice :func:`dual_bound`, of the problem at hand: the tightened problem keeps a gap of at least γ/2.

    Args:
        H: the horizon.
        slater_gap: γ, the margin by which some policy satisfies every constraint.
        tightened: whether the threshold is b + ζ, as in Theorem 2.
    """
    return (4.0 if tightened else 2.0) * dual_bound(H=H, slater_gap=slater_gap)


def eta(*, xi: float, K: int, H: int) -> float:
    """η = ξ/√(KH²), the step of the dual variable (paper.tex l. 267, 408, 430).

    Args:
        xi: ξ, the cap of the dual variable.
        K: the number of episodes.
        H: the horizon.

    >>> round(eta(xi=20.0, K=200_000, H=10), 5)
    0.00447
    """
    return _positive("xi", xi) / math.sqrt(_count("K", K) * _count("H", H) ** 2)


# --- the soft-max --------------------------------------------------------------------------------------------------


def alpha_alg1(*, A: int, K: int, H: int, xi: float, m: int = 1) -> float:
    """α = log|A| K/(2(1+ξ+H)), the rule of Algorithm 1 and of the proofs (paper.tex l. 267, 396, 933, 1119).

    With m constraints the composite Q moves by at most 1 + m(ξ+H) times the error of its parts, and the same covering
    argument gives α = log|A| K/(2(1+m(ξ+H))). With A = 1 log|A| is taken as log 2. :func:`alpha` names the arguments.
    """
    K, H, m = _count("K", K), _count("H", H), _count("m", m)
    return _log_actions(A) * K / (2.0 * (1.0 + m * (_positive("xi", xi) + H)))


def alpha_text(*, A: int, K: int, H: int) -> float:
    """α = log|A| K/(2H), the rule in the running text (paper.tex l. 393). With A = 1 log|A| is taken as log 2."""
    return _log_actions(A) * _count("K", K) / (2.0 * _count("H", H))


def alpha_experiment(*, K: int, H: int, slater_gap: float) -> float:
    """α = K/(1+2H/γ+H), the rule of the experiment (paper.tex l. 430). :func:`alpha` names the arguments."""
    return _count("K", K) / (1.0 + xi(H=H, slater_gap=slater_gap) + H)


def alpha(
    rule: AlphaRule, *, A: int, K: int, H: int, xi: float | None = None, slater_gap: float | None = None, m: int = 1
) -> float:
    """α by one of the paper's three rules: "alg1", "text" or "experiment".

    Args:
        rule: see :func:`alpha_alg1`, :func:`alpha_text`, :func:`alpha_experiment`.
        A: the number of actions.
        K: the number of episodes.
        H: the horizon.
        xi: the cap of the dual variable; only "alg1" uses it.
        slater_gap: γ; only "experiment" uses it.
        m: the number of constraints; only "alg1" uses it.

    >>> [round(alpha(rule, A=2, K=200_000, H=10, xi=20.0, slater_gap=1.0)) for rule in ALPHA_RULES]
    [2236, 6931, 6452]
    """
    if rule == "alg1":
        return alpha_alg1(A=A, K=K, H=H, xi=_given("xi", xi, rule), m=m)
    if rule == "text":
        return alpha_text(A=A, K=K, H=H)
    if rule == "experiment":
        return alpha_experiment(K=K, H=H, slater_gap=_given("slater_gap", slater_gap, rule))
    raise unknown_name("alpha rule", rule, ALPHA_RULES)


def softmax_gap(*, A: int, alpha: float) -> float:
    """log|A|/α, what a soft-max loses against the greedy choice at one step (paper.tex l. 725).

    Over an episode it is at most H times that (l. 804). Zero for one action and for α = ∞, which is greedy.
    """
    if not (_is_real(alpha) and alpha > 0.0):
        raise InputError(f"alpha is {alpha!r}; expected a number above 0, or infinity for greedy")
    return math.log(_count("A", A)) / alpha


# --- Theorem 1 -----------------------------------------------------------------------------------------------------


def regret_bound(*, d: int, H: int, K: int, A: int, xi: float, p: float = 0.01, C: float = 1.0, full: bool = False) -> float:
    """The bound on the regret, C√(d³H³Tι²) + ξ√(HT) (Theorem 1, paper.tex l. 331).

    The theorem leaves out the loss of the soft-max, 2H(1+ξ+H) by :func:`alpha_alg1` (l. 396, 931), which does not
    grow with K; ``full`` adds it.

    Args:
        d: the dimension of φ.
        H: the horizon.
        K: the number of episodes.
        A: the number of actions.
        xi: ξ, the cap of the dual variable.
        p: the probability that the bound fails.
        C: the constant in front, which the paper does not give.
        full: whether the terms are added that the theorem leaves out.
    """
    leading = _positive("C", C) * _root(d=d, H=H, K=K, A=A, p=p)
    bound = leading + _dual_term(xi, H, K)
    return bound + _softmax_term(xi, H) if full else bound


def violation_bound(*, d: int, H: int, K: int, A: int, xi: float, p: float = 0.01, C: float = 1.0, full: bool = False) -> float:
    """The bound on the violation [Σ(b - V_g)]₊, C·2(1+ξ)/ξ·√(d³H³Tι²) (Theorem 1, paper.tex l. 332; C is its C').

    Its proof divides regret plus ξ times violation by ξ/2, and leaves out two terms on the way: the dual's, ξ√(HT)
    (l. 942, 948), and the soft-max's, 2H(1+ξ+H) (l. 938). ``full`` adds both, times 2/ξ. Arguments as in :func:`regret_bound`.
    """
    leading = _positive("C", C) * 2.0 * (1.0 + _positive("xi", xi)) / xi * _root(d=d, H=H, K=K, A=A, p=p)
    return leading + 2.0 / xi * (_dual_term(xi, H, K) + _softmax_term(xi, H)) if full else leading


# --- Theorem 2: b + ζ in place of b --------------------------------------------------------------------------------


def zeta(*, K: int, H: int, d: int, A: int, slater_gap: float, p: float = 0.01, C: float = 1.0, scale: float = 1.0) -> float:
    """ζ = min{scale·C·2(1+ξ)/ξ·√(d³H³Tι²)/K, γ/2} with ξ = 4H/γ (Theorem 2, paper.tex l. 1259; C is its C').

    The first term is :func:`violation_bound` spread over the episodes, so that tightening by it leaves no violation;
    the second keeps the tightened problem feasible with room (l. 1244). On the paper's own experiment, with C = 1 and
    the true γ of 0.5, the first exceeds the second until K is past 10¹²; hence ``scale``.

    Args:
        K: the number of episodes.
        H: the horizon.
        d: the dimension of φ.
        A: the number of actions.
        slater_gap: γ, the margin by which some policy satisfies every constraint.
        p: the probability that the bound fails.
        C: the constant C', which the paper does not give.
        scale: a factor of the first term.
    """
    cap = xi(H=H, slater_gap=slater_gap, tightened=True)
    spread = violation_bound(d=d, H=H, K=K, A=A, xi=cap, p=p, C=C) / K
    return min(_positive("scale", scale) * spread, slater_gap / 2.0)


def tightening_loss(*, H: int, zeta: float, slater_gap: float) -> float:
    """Hζ/γ, what the optimum loses at most when b becomes b + ζ (paper.tex l. 1279; ζ <= γ for its proof, l. 1322).

    The proof mixes the optimal policy with one that has the margin γ, with weight ζ/γ. H and γ as in :func:`xi`.
    """
    _tightening(zeta, slater_gap, 1.0)
    return zeta * dual_bound(H=H, slater_gap=slater_gap)


def regret_bound_tightened(
    *, d: int, H: int, K: int, A: int, slater_gap: float, zeta: float, p: float = 0.01, C: float = 1.0,
    full: bool = False,
) -> float:  # fmt: skip
    """The bound on the regret with b + ζ, C√(d³H³Tι²) + KHζ/γ (Theorem 2, paper.tex l. 1256, whose δ is γ).

    It is against the optimum of the original b. The proof adds K times :func:`tightening_loss` to Theorem 1 (l. 1285),
    of which the theorem leaves out ξ√(HT), ξ = 4H/γ; ``full`` keeps it, and adds the soft-max's term as well.
    Arguments as in :func:`regret_bound` and :func:`tightening_loss`.
    """
    _tightening(zeta, slater_gap, 0.5)
    leading = _positive("C", C) * _root(d=d, H=H, K=K, A=A, p=p)
    bound = leading + K * tightening_loss(H=H, zeta=zeta, slater_gap=slater_gap)
    cap = xi(H=H, slater_gap=slater_gap, tightened=True)
    return bound + _dual_term(cap, H, K) + _softmax_term(cap, H) if full else bound


def violation_bound_tightened(
    *, d: int, H: int, K: int, A: int, slater_gap: float, zeta: float, p: float = 0.01, C: float = 1.0,
    full: bool = False,
) -> float:  # fmt: skip
    """The bound on the violation with b + ζ, max{C·2(1+ξ)/ξ·√(d³H³Tι²) - Kζ, 0}, ξ = 4H/γ (Theorem 2, l. 1257).

    It holds for [Σ(b - V_g)]₊, as Theorem 1 does; the proof writes Σ[b - V_g]₊ (l. 1289-1304), which Theorem 1 does
    not bound. ``full`` as in :func:`violation_bound`, the others as in :func:`regret_bound_tightened`.
    """
    _tightening(zeta, slater_gap, 0.5)
    cap = xi(H=H, slater_gap=slater_gap, tightened=True)
    return max(violation_bound(d=d, H=H, K=K, A=A, xi=cap, p=p, C=C, full=full) - K * zeta, 0.0)


# --- which theorem speaks of a run ---------------------------------------------------------------------------------


class Promise(NamedTuple):
    """Bounds on the sums of K episodes, and the theorem they come from; divided by K they bound the uniform mixture."""

    theorem: str
    K: int
    regret: float
    violation: float


def promise(constants: Mapping[str, Any], *, d: int, H: int, K: int, A: int, slater_gap: float) -> Promise | list[str]:
    """What Theorem 1 (ζ = 0) or Theorem 2 (ζ > 0) promises with C = C' = 1, or the hypotheses that are not met.

    The theorems hold for every γ that is at most the Slater gap; the γ of a run is the one that its ξ was made of. A β beyond
    dH√ι is one with C₁ > 1.

    Args:
        constants: lam, beta, alpha, eta, xi, zeta and the probability p of Algorithm 1.
        d: the dimension of φ.
        H: the horizon.
        K: the number of episodes.
        A: the number of actions.
        slater_gap: the exact one.
    """
    lam, beta_, alpha_, eta_, xi_, zeta_, p = (
        float(constants[key]) for key in ("lam", "beta", "alpha", "eta", "xi", "zeta", "p")
    )
    name, factor = ("Theorem 2", 4.0) if zeta_ > 0.0 else ("Theorem 1", 2.0)
    gap = factor * H / xi_ if xi_ > 0.0 else math.inf
    asked = {"η": (eta_, xi_ / math.sqrt(K * H**2)), "λ": (lam, LAMBDA)}
    if xi_ > 0.0:
        asked["α"] = alpha_, alpha_alg1(A=A, K=K, H=H, xi=xi_)
    unmet = [f"{key} is {own:.6g}, and {name} has {value:.6g}" for key, (own, value) in asked.items() if not _close(own, value)]
    if beta_ < (least := beta(d=d, H=H, K=K, A=A, p=p)) * (1 - 1e-9):
        unmet.append(f"β is {beta_:.6g}, and {name} has dH√ι = {least:.6g} (C₁ = 1)")
    if not gap <= slater_gap * (1 + 1e-9):
        unmet.append(f"ξ is {xi_:.6g}, and {name} has {factor:.0f}H/γ for some γ of at most the Slater gap, {slater_gap:.6g}")
    elif zeta_ > gap / 2 * (1 + 1e-9):
        unmet.append(f"ζ is {zeta_:.6g}, and Theorem 2 has at most γ/2 = {gap / 2:.6g}")
    if unmet:
        return unmet
    sizes: dict[str, Any] = {"d": d, "H": H, "K": K, "A": A, "p": p}
    if zeta_ == 0.0:
        return Promise(name, K, regret_bound(**sizes, xi=xi_), violation_bound(**sizes, xi=xi_))
    sizes |= {"slater_gap": gap, "zeta": min(zeta_, gap / 2)}
    return Promise(name, K, regret_bound_tightened(**sizes), violation_bound_tightened(**sizes))


def _close(own: float, value: float) -> bool:
    return math.isclose(own, value, rel_tol=1e-9)


# --- the pieces of the bounds --------------------------------------------------------------------------------------


def _root(*, d: int, H: int, K: int, A: int, p: float) -> float:
    """√(d³H³Tι²), the leading term of every bound."""
    d, H, K = _count("d", d), _count("H", H), _count("K", K)
    return math.sqrt(d**3 * H**3 * K * H) * iota(d=d, T=K * H, A=A, p=p)


def _dual_term(xi: float, H: int, K: int) -> float:
    """ξ√(HT) = ξ√(KH²), what the moving dual variable costs (paper.tex l. 331, 942)."""
    return _positive("xi", xi) * math.sqrt(_count("H", H) ** 2 * _count("K", K))


def _softmax_term(xi: float, H: int) -> float:
    """2H(1+ξ+H) = KH log|A|/α with α of Algorithm 1 (paper.tex l. 396)."""
    return 2.0 * H * (1.0 + xi + H)


# --- validation: each function returns the value or names it -------------------------------------------------------


def _count(name: str, value: int) -> int:
    return integer(name, value, 1)


def _log_actions(A: int) -> float:
    return math.log(max(_count("A", A), 2))


def _is_real(value: object) -> bool:
    """Whether a comparison with a float makes sense (NaN passes: every comparison with it is false)."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _positive(name: str, value: float) -> float:
    if not (_is_real(value) and 0.0 < value < math.inf):
        raise InputError(f"{name} is {value!r}; expected a finite number above 0")
    return float(value)


def _probability(name: str, value: float) -> float:
    if not (_is_real(value) and 0.0 < value < 1.0):
        raise InputError(f"{name} is {value!r}; expected a probability above 0 and below 1")
    return float(value)


def _given(name: str, value: float | None, rule: str) -> float:
    if value is None:
        raise InputError(f"{name} is None; the alpha rule {rule!r} needs a finite number above 0")
    return value


def _tightening(zeta: float, slater_gap: float, share: float) -> None:
    most = share * _positive("slater_gap", slater_gap)
    if not (_is_real(zeta) and 0.0 <= zeta <= most):
        raise InputError(f"zeta is {zeta!r}; expected 0 to {most:.9g}, {share:g} times the Slater gap")
