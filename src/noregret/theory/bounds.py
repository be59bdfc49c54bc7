"""What the theorems promise: bounds on regret and violation, the tightening ζ, and which theorem speaks of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from noregret.errors import InputError
from noregret.theory.constants import LAMBDA, alpha_alg1, beta, dual_bound, iota, xi
from noregret.theory.values import count, is_real, positive

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
    leading = positive("C", C) * _root(d=d, H=H, K=K, A=A, p=p)
    bound = leading + _dual_term(xi, H, K)
    return bound + _softmax_term(xi, H) if full else bound


def violation_bound(*, d: int, H: int, K: int, A: int, xi: float, p: float = 0.01, C: float = 1.0, full: bool = False) -> float:
    """The bound on the violation [Σ(b - V_g)]₊, C·2(1+ξ)/ξ·√(d³H³Tι²) (Theorem 1, paper.tex l. 332; C is its C').

    Its proof divides regret plus ξ times violation by ξ/2, and leaves out two terms on the way: the dual's, ξ√(HT)
    (l. 942, 948), and the soft-max's, 2H(1+ξ+H) (l. 938). ``full`` adds both, times 2/ξ.

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
    leading = positive("C", C) * 2.0 * (1.0 + positive("xi", xi)) / xi * _root(d=d, H=H, K=K, A=A, p=p)
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
    return min(positive("scale", scale) * spread, slater_gap / 2.0)


def tightening_loss(*, H: int, zeta: float, slater_gap: float) -> float:
    """Hζ/γ, what the optimum loses at most when b becomes b + ζ (paper.tex l. 1279; ζ <= γ for its proof, l. 1322).

    The proof mixes the optimal policy with one that has the margin γ, with weight ζ/γ.

    Args:
        H: the horizon.
        zeta: ζ, what is added to the thresholds.
        slater_gap: γ, the margin by which some policy satisfies every constraint.
    """
    _tightening(zeta, slater_gap, 1.0)
    return zeta * dual_bound(H=H, slater_gap=slater_gap)


def regret_bound_tightened(
    *,
    d: int,
    H: int,
    K: int,
    A: int,
    slater_gap: float,
    zeta: float,
    p: float = 0.01,
    C: float = 1.0,
    full: bool = False,
) -> float:
    """The bound on the regret with b + ζ, C√(d³H³Tι²) + KHζ/γ (Theorem 2, paper.tex l. 1256, whose δ is γ).

    It is against the optimum of the original b. The proof adds K times :func:`tightening_loss` to Theorem 1 (l. 1285),
    of which the theorem leaves out ξ√(HT), ξ = 4H/γ; ``full`` keeps it, and adds the soft-max's term as well.

    Args:
        d: the dimension of φ.
        H: the horizon.
        K: the number of episodes.
        A: the number of actions.
        slater_gap: γ, the margin by which some policy satisfies every constraint.
        zeta: ζ, what is added to the thresholds.
        p: the probability that the bound fails.
        C: the constant in front, which the paper does not give.
        full: whether the terms are added that the theorem leaves out.
    """
    _tightening(zeta, slater_gap, 0.5)
    leading = positive("C", C) * _root(d=d, H=H, K=K, A=A, p=p)
    bound = leading + K * tightening_loss(H=H, zeta=zeta, slater_gap=slater_gap)
    cap = xi(H=H, slater_gap=slater_gap, tightened=True)
    return bound + _dual_term(cap, H, K) + _softmax_term(cap, H) if full else bound


def violation_bound_tightened(
    *,
    d: int,
    H: int,
    K: int,
    A: int,
    slater_gap: float,
    zeta: float,
    p: float = 0.01,
    C: float = 1.0,
    full: bool = False,
) -> float:
    """The bound on the violation with b + ζ, max{C·2(1+ξ)/ξ·√(d³H³Tι²) - Kζ, 0}, ξ = 4H/γ (Theorem 2, l. 1257).

    It holds for [Σ(b - V_g)]₊, as Theorem 1 does; the proof writes Σ[b - V_g]₊ (l. 1289-1304), which Theorem 1 does
    not bound.

    Args:
        d: the dimension of φ.
        H: the horizon.
        K: the number of episodes.
        A: the number of actions.
        slater_gap: γ, the margin by which some policy satisfies every constraint.
        zeta: ζ, what is added to the thresholds.
        p: the probability that the bound fails.
        C: the constant in front, which the paper does not give.
        full: whether the terms are added that the theorem leaves out.
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


def promise(constants: Mapping[str, float], *, d: int, H: int, K: int, A: int, slater_gap: float) -> Promise | list[str]:
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
    unmet = [
        f"{key} is {used:.6g}, and {name} has {value:.6g}" for key, (used, value) in asked.items() if not _close(used, value)
    ]
    if beta_ < (least := beta(d=d, H=H, K=K, A=A, p=p)) * (1 - 1e-9):
        unmet.append(f"β is {beta_:.6g}, and {name} has dH√ι = {least:.6g} (C₁ = 1)")
    if not gap <= slater_gap * (1 + 1e-9):
        unmet.append(f"ξ is {xi_:.6g}, and {name} has {factor:.0f}H/γ for some γ of at most the Slater gap, {slater_gap:.6g}")
    elif zeta_ > gap / 2 * (1 + 1e-9):
        unmet.append(f"ζ is {zeta_:.6g}, and Theorem 2 has at most γ/2 = {gap / 2:.6g}")
    if unmet:
        return unmet
    if zeta_ == 0.0:
        bounds = [bound(d=d, H=H, K=K, A=A, p=p, xi=xi_) for bound in (regret_bound, violation_bound)]
    else:
        zeta_ = min(zeta_, gap / 2)
        tightened = (regret_bound_tightened, violation_bound_tightened)
        bounds = [bound(d=d, H=H, K=K, A=A, p=p, slater_gap=gap, zeta=zeta_) for bound in tightened]
    return Promise(name, K, *bounds)


def _close(used: float, value: float) -> bool:
    return math.isclose(used, value, rel_tol=1e-9)


# --- the pieces of the bounds --------------------------------------------------------------------------------------


def _root(*, d: int, H: int, K: int, A: int, p: float) -> float:
    """√(d³H³Tι²), the leading term of every bound."""
    d, H, K = count("d", d), count("H", H), count("K", K)
    return math.sqrt(d**3 * H**3 * K * H) * iota(d=d, T=K * H, A=A, p=p)


def _dual_term(xi: float, H: int, K: int) -> float:
    """ξ√(HT) = ξ√(KH²), what the moving dual variable costs (paper.tex l. 331, 942)."""
    return positive("xi", xi) * math.sqrt(count("H", H) ** 2 * count("K", K))


def _softmax_term(xi: float, H: int) -> float:
    """2H(1+ξ+H) = KH log|A|/α with α of Algorithm 1 (paper.tex l. 396)."""
    return 2.0 * H * (1.0 + xi + H)


def _tightening(zeta: float, slater_gap: float, share: float) -> None:
    most = share * positive("slater_gap", slater_gap)
    if not (is_real(zeta) and 0.0 <= zeta <= most):
        raise InputError(f"zeta is {zeta!r}; expected 0 to {most:.9g}, {share:g} times the Slater gap")
