"""The constants of Algorithm 1: logarithmic factors, the bonus, the dual variable, the soft-max."""

from __future__ import annotations

import math
from typing import Literal

from noregret.errors import InputError, unknown_name
from noregret.theory.values import count, is_real, log_actions, positive, probability

AlphaRule = Literal["alg1", "text", "experiment"]

#: The rules for α that the paper uses in three places; see :func:`alpha`.
ALPHA_RULES: tuple[AlphaRule, ...] = ("alg1", "text", "experiment")

#: The ridge parameter of Theorem 1 (paper.tex l. 329).
LAMBDA = 1.0

# --- logarithmic factors and the bonus -----------------------------------------------------------------------------


def iota(*, d: int, T: int, A: int, p: float = 0.01) -> float:
    """ι = log(4 log|A| d T/p), the logarithmic factor of the bonus and of the bounds (paper.tex l. 267, 329, 633).

    The proof uses ι >= log 4 (l. 692), which needs dT/p >= 1/log|A|. With A = 1 log|A| is taken as log 2.

    Args:
        d: the dimension of φ.
        T: KH, the number of steps.
        A: the number of actions.
        p: the probability that the guarantees fail.

    >>> round(iota(d=20, T=2_000_000, A=2, p=0.05), 3)
    21.52
    """
    d, T = count("d", d), count("T", T)
    return math.log(4.0 * log_actions(A) * d * T / probability("p", p))


def chi(*, d: int, T: int, A: int, p: float = 0.01, C1: float = 1.0) -> float:
    """χ = log(4(C₁+1) log|A| d T/p) = ι + log(C₁+1), the factor of the concentration lemma (paper.tex l. 626, 666).

    The proof replaces it by ι with a larger constant in front (l. 686-692); here for comparison.

    Args:
        d: the dimension of φ.
        T: KH, the number of steps.
        A: the number of actions.
        p: the probability that the guarantees fail.
        C1: C₁, which the paper does not give.
    """
    return iota(d=d, T=T, A=A, p=p) + math.log1p(positive("C1", C1))


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
    d, H, K = count("d", d), count("H", H), count("K", K)
    return positive("C1", C1) * d * H * math.sqrt(iota(d=d, T=K * H, A=A, p=p))


def C1_of_proof(*, slater_gap: float) -> float:  # noqa: N802
    """C₁ = 256(1 + 1/γ), the value with which the proof of the concentration lemma ends (paper.tex l. 1184)."""
    return 256.0 * (1.0 + 1.0 / positive("slater_gap", slater_gap))


# --- the dual variable ---------------------------------------------------------------------------------------------


def dual_bound(*, H: int, slater_gap: float) -> float:
    """H/γ, which the optimal dual variable Y* does not exceed (paper.tex l. 247)."""
    return count("H", H) / positive("slater_gap", slater_gap)


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
    return positive("xi", xi) / math.sqrt(count("K", K) * count("H", H) ** 2)


# --- the soft-max --------------------------------------------------------------------------------------------------


def alpha_alg1(*, A: int, K: int, H: int, xi: float, m: int = 1) -> float:
    """α = log|A| K/(2(1+ξ+H)), the rule of Algorithm 1 and of the proofs (paper.tex l. 267, 396, 933, 1119).

    With m constraints the composite Q moves by at most 1 + m(ξ+H) times the error of its parts, and the same covering
    argument gives α = log|A| K/(2(1+m(ξ+H))). With A = 1 log|A| is taken as log 2.

    Args:
        A: the number of actions.
        K: the number of episodes.
        H: the horizon.
        xi: ξ, the cap of the dual variable.
        m: the number of constraints.
    """
    K, H, m = count("K", K), count("H", H), count("m", m)
    return log_actions(A) * K / (2.0 * (1.0 + m * (positive("xi", xi) + H)))


def alpha_text(*, A: int, K: int, H: int) -> float:
    """α = log|A| K/(2H), the rule in the running text (paper.tex l. 393). With A = 1 log|A| is taken as log 2.

    Args:
        A: the number of actions.
        K: the number of episodes.
        H: the horizon.
    """
    return log_actions(A) * count("K", K) / (2.0 * count("H", H))


def alpha_experiment(*, K: int, H: int, slater_gap: float) -> float:
    """α = K/(1+2H/γ+H), the rule of the experiment (paper.tex l. 430).

    Args:
        K: the number of episodes.
        H: the horizon.
        slater_gap: γ, the margin by which some policy satisfies every constraint.
    """
    return count("K", K) / (1.0 + xi(H=H, slater_gap=slater_gap) + H)


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
    if not (is_real(alpha) and alpha > 0.0):
        raise InputError(f"alpha is {alpha!r}; expected a number above 0, or infinity for greedy")
    return math.log(count("A", A)) / alpha


def _given(name: str, value: float | None, rule: str) -> float:
    if value is None:
        raise InputError(f"{name} is None; the alpha rule {rule!r} needs a finite number above 0")
    return value
