"""The lemmas of the paper as checks on numbers; each says what must not be exceeded and by how much it is not.

A check is ``stated`` only for the form the paper proves it for: with another dual step or another bonus its verdict is "not
stated", never a pass. ``information`` rows have no verdict. Slack is right side minus left side, the smallest over whatever
the lemma quantifies over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noregret import theory
from noregret.features import is_linear
from noregret.learners.lsvi.theorems import departures
from noregret.problems.base import Array
from noregret.verification.trace import ROUNDING, Trace

#: Options by what they change; those of the truncation, which keep every step of the proofs, are no departures.
DUAL = frozenset({"dual_estimate", "dual_prior", "pessimism", "damping"})
BONUS = frozenset({"bonus", "span_floor", "utility_bonus"})


@dataclass(frozen=True)
class Check:
    """One line of the table; ``verdict`` is "holds", "FAILS", "not stated" or "information"."""

    name: str
    lines: str
    verdict: str
    slack: float | None
    detail: str


def judged(name: str, lines: str, slack: float, scale: float, detail: str) -> Check:
    """Holds when the slack is not negative, but for rounding at the ``scale`` of the two sides.

    Args:
        name: what the check is called in the table.
        lines: the lines of ``paper.tex`` with the lemma.
        slack: right side minus left side.
        scale: how large the two sides are.
        detail: the numbers in words.
    """
    verdict = "holds" if slack >= -ROUNDING * max(1.0, abs(scale)) else "FAILS"  # what is not a number fails
    return Check(name, lines, verdict, float(slack), detail)


def potential(squares: Array, growth: Array, *, d: int, lam: float) -> Check:
    """Σ_k min(1, ‖φ_k‖²) ≤ 2 log det(Λ^{K+1})/det(Λ^1) ≤ 2d log((λ+K)/λ), at every step; valid for any λ.

    Args:
        squares: (K,H) ‖φ‖² in Λ⁻¹ of the pairs visited, before they were learned.
        growth: (H,) log det Λ^{K+1} − log det Λ^1.
        d: the dimension of φ.
        lam: λ, the ridge parameter.
    """
    left, K = np.minimum(squares, 1.0).sum(axis=0), len(squares)
    most = 2.0 * d * np.log1p(K / lam)
    slack = float(min((2.0 * growth - left).min(), (most - 2.0 * growth).min()))
    h = int(np.argmin(2.0 * growth - left))
    detail = f"sum of min(1,‖φ‖²) {left[h]:.4g} ≤ {2 * growth[h]:.4g} = 2 log det ≤ {most:.4g} at step {h}"
    return judged("elliptical potential, with min(1,·)", "1189-1196, 904", slack, most, detail)


def potential_as_printed(squares: Array, growth: Array, *, lam: float) -> Check:
    """Σ_k ‖φ_k‖² ≤ 2 log det ratio, which the paper states for λ ≥ 1.

    Args:
        squares: (K,H) as in :func:`potential`.
        growth: (H,) as in :func:`potential`.
        lam: λ, the ridge parameter; below 1 the check is not stated.
    """
    left = squares.sum(axis=0)
    slack = 2.0 * growth - left
    h = int(slack.argmin())
    made = judged(
        "elliptical potential, as printed",
        "1189-1196",
        float(slack[h]),
        float(left[h]),
        f"sum of ‖φ‖² {left[h]:.4g} against {2 * growth[h]:.4g}",
    )
    return made if lam >= 1.0 else unstated(made, f"λ = {lam:.3g} < 1")


def softmax_gap(gaps: Array, alpha: Array, *, A: int) -> Check:
    """max_a C(x,a) − Σ_a π(a|x) C(x,a) ≤ log|A|/α in every state, step and episode.

    Args:
        gaps: (K,) the largest left side of each episode, C the composite Q.
        alpha: (K,) α of each episode.
        A: the number of actions.
    """
    most = np.log(A) / alpha
    k = int((most - gaps).argmin())
    detail = f"largest gap {gaps[k]:.4g} ≤ log|A|/α = {most[k]:.4g}, episode {k + 1}"
    return judged("soft-max loses at most log|A|/α", "724-761", float(most[k] - gaps[k]), 1.0, detail)


def weights(norms: Array, *, H: int, d: int, lam: float) -> Check:
    """‖w_{j,h}^k‖ ≤ 2H√(dk/λ).

    Args:
        norms: (K,) the largest ‖w_{j,h}‖ of each episode.
        H: the horizon.
        d: the dimension of φ.
        lam: λ, the ridge parameter.
    """
    most = 2.0 * H * np.sqrt(d * np.arange(1.0, len(norms) + 1.0) / lam)
    k = int((most - norms).argmin())
    worst = float((norms / most).max())
    detail = f"at most {worst:.3g} of the bound; closest in episode {k + 1}: {norms[k]:.4g} ≤ {most[k]:.4g}"
    return judged("weights: ‖w‖ ≤ 2H√(dk/λ)", "558-561", float(most[k] - norms[k]), float(most[k]), detail)


def optimism(slack: Array, share: float) -> Check:
    """Q_r^k + Y_k Q_g^k + (H−h) log|A|/α ≥ Q_r^π + Y_k Q_g^π for every policy, episode, step, state and action."""
    episodes = float((slack >= -ROUNDING).mean())
    detail = f"in {100 * episodes:.6g}% of episodes everywhere, in {100 * share:.6g}% of (k,h,x,a)"
    return judged("optimism of the composite Q", "696-707, 796-801", float(slack.min()), 1.0, detail)


def dual_lemma(Y: Array, lack: Array, *, eta: float, xi: float, H: int) -> Check:
    """Σ_k (Y−Y_k)(b−V_g^k) ≤ Y²/(2η) + ηH²K/2 for every Y in [0,ξ]; the worst Y is clip(η Σ_k (b−V_g^k)).

    Args:
        Y: (K,m) the dual variables of each episode.
        lack: (K,m) b − V_g^k of each episode.
        eta: η, the step of the dual variable.
        xi: ξ, the cap of the dual variable.
        H: the horizon.
    """
    K, total = len(Y), lack.sum(axis=0)
    worst = np.clip(eta * total, 0.0, xi)
    left = worst * total - (Y * lack).sum(axis=0) + 0.0
    right = worst**2 / (2.0 * eta) + eta * H**2 * K / 2.0
    i = int((right - left).argmin())
    detail = f"{left[i]:.4g} ≤ {right[i]:.4g} at the worst Y = {worst[i]:.4g} of [0, {xi:.4g}]"
    return judged("dual lemma", "581-601", float(right[i] - left[i]), float(right[i]), detail)


def terms(V_star: Array, V_k: Array, V_pi: Array, Y_k: Array, Y: Array) -> tuple[float, float]:
    """T₁ and T₂(Y) of the decomposition; V_star (1+m,) are the values of π*.

    Args:
        V_star: (1+m,) the values of π*, the reward's first.
        V_k: (K,1+m) the values that the algorithm estimates.
        V_pi: (K,1+m) the exact values of its policies.
        Y_k: (K,m) the dual variables of each episode.
        Y: (m,) the fixed dual variable of T₂.
    """
    T1 = float((V_star[0] - V_k[:, 0]).sum() + (Y_k * (V_star[1:] - V_k[:, 1:])).sum())
    T2 = float((V_k[:, 0] - V_pi[:, 0]).sum() + (Y * (V_k[:, 1:] - V_pi[:, 1:]).sum(axis=0)).sum())
    return T1, T2


def decomposition(V_star: Array, V_k: Array, V_pi: Array, Y_k: Array, *, b: Array, eta: float, xi: float, H: int) -> Check:
    """Regret + Y·violation ≤ Y²/(2η) + ηH²K/2 + T₁ + T₂ for every Y in [0,ξ] (one term for each constraint).

    Args:
        V_star: (1+m,) as in :func:`terms`.
        V_k: (K,1+m) as in :func:`terms`.
        V_pi: (K,1+m) as in :func:`terms`.
        Y_k: (K,m) as in :func:`terms`.
        b: (m,) the thresholds that the dual step uses.
        eta: η, the step of the dual variable.
        xi: ξ, the cap of the dual variable.
        H: the horizon.
    """
    K = len(Y_k)
    worst = np.clip(eta * (b - V_k[:, 1:]).sum(axis=0), 0.0, xi)
    checks = []
    for Y in (worst, np.zeros_like(worst), np.full_like(worst, xi)):
        T1, T2 = terms(V_star, V_k, V_pi, Y_k, Y)
        left = float((V_star[0] - V_pi[:, 0]).sum() + (Y * (b - V_pi[:, 1:]).sum(axis=0)).sum())
        right = float((Y**2 / (2.0 * eta) + eta * H**2 * K / 2.0).sum()) + T1 + T2
        checks.append((right - left, left, right, T1, T2, Y))
    slack, left, right, T1, T2, Y = min(checks, key=lambda check: check[0])
    at = ", ".join(f"{y:.4g}" for y in Y)
    detail = f"{left:.5g} ≤ {right:.5g} with T₁ = {T1:.4g}, T₂ = {T2:.4g} at the worst Y = {at}"
    return judged("decomposition into T₁ + T₂", "355-366, 602-611", slack, abs(left) + abs(right), detail)


def optimism_term(T1: float, alpha: Array, *, A: int, H: int) -> Check:
    """T₁ ≤ KH log|A|/α; with an α of its own for each episode, Σ_k H log|A|/α_k.

    Args:
        T1: T₁, the first of :func:`terms`.
        alpha: (K,) α of each episode.
        A: the number of actions.
        H: the horizon.
    """
    most = H * sum(theory.softmax_gap(A=A, alpha=float(a)) for a in alpha)
    return judged("T₁ ≤ KH·log|A|/α", "395-397", most - T1, most, f"T₁ = {T1:.5g} ≤ {most:.4g}")


def dual_bound(dual: Array, *, H: int, slater_gap: float) -> Check:
    """Y* ≤ H/γ.

    Args:
        dual: (m,) Y*, the optimal dual variables; their sum is checked.
        H: the horizon.
        slater_gap: γ, the margin by which some policy satisfies every constraint.
    """
    most = theory.dual_bound(H=H, slater_gap=slater_gap)
    detail = f"Y* = {dual.sum():.4g} ≤ {most:.4g}, γ = {slater_gap:.4g}"
    return judged("optimal dual: Y* ≤ H/γ", "246-248", most - float(dual.sum()), most, detail)


def unstated(check: Check, why: str) -> Check:
    """The same numbers without a verdict, and the reason."""
    return replace(check, verdict="not stated", detail=f"not stated for {why}; measured: {check.detail}")


def all_checks(t: Trace) -> list[Check]:
    """Every check on one run."""
    p, c, spec = t.problem, t.learner.constants, t.learner.spec
    H, A, d = spec.horizon, spec.n_actions, t.d
    lam, eta, xi, b = float(c["lam"]), float(c["eta"]), float(c["xi"]), p.b + float(c["zeta"])
    odd = departures(c)

    def only(check: Check, harmless: frozenset[str] | set[str], start: bool = False) -> Check:
        """The check as it is, unless an option that is not ``harmless`` or the start is not the paper's.

        Args:
            check: a check with its verdict.
            harmless: the options that the lemma allows to differ from the paper's.
            start: whether the lemma needs a fixed start.
        """
        reasons = sorted(odd - harmless)
        if reasons:
            return unstated(check, ", ".join(f"{name}={c[name]}" for name in reasons))
        if start and not t.fixed_start:
            return unstated(check, "a start that is drawn")
        return check

    unplanned = DUAL | ({"schedule"} if c["schedule"] == "anytime" else set())  # what a plan for a given Y does not look at
    checks = [
        potential(t.squares, t.growth, d=d, lam=lam),
        potential_as_printed(t.squares, t.growth, lam=lam),
        softmax_gap(t.greedy_gap, t.alpha, A=A),
        weights(t.norms, H=H, d=d, lam=lam),
        dual_bound(t.optimum.dual, H=H, slater_gap=t.optimum.slater_gap),
        only(optimism(t.optimism, t.optimistic), unplanned),
    ]
    if eta > 0.0:
        checks.append(only(dual_lemma(t.Y, b - t.V_k[:, 1:], eta=eta, xi=xi, H=H), BONUS))
    if t.best is None:
        why = f"not stated for ζ = {c['zeta']:.4g} beyond the Slater gap: the tightened problem has no optimum"
        checks.append(Check("decomposition into T₁ + T₂", "355-366, 602-611", "not stated", None, why))
    elif eta > 0.0:
        V_star = np.concatenate([[t.best.value], t.best.V_g])
        split = decomposition(V_star, t.V_k, t.V_pi, t.Y, b=b, eta=eta, xi=xi, H=H)
        checks.append(only(split, BONUS, start=True))
        T1, _ = terms(V_star, t.V_k, t.V_pi, t.Y, np.zeros_like(b))
        checks.append(only(optimism_term(T1, t.alpha, A=A, H=H), unplanned, start=True))
    return checks + _information(t)


def _information(t: Trace) -> list[Check]:
    """The one-step form of the optimism lemma, and the theorem's bounds with C = 1 against what was measured."""
    c, spec, p = t.learner.constants, t.learner.spec, t.problem
    note = f"holds in {t.one_step:.2%} of (k,h,x,a)" + ("; it may fail with cap H, not with H-h+1" if c["cap"] == "H" else "")
    rows = [Check("one-step form of optimism", "696-707", "information", None, note)]
    promise = t.learner.promised(t.optimum.slater_gap, is_linear(p, t.learner.phi))
    regret = float((t.optimum.value - t.V_pi[:, 0]).sum())
    violation = float(np.maximum((p.b - t.V_pi[:, 1:]).sum(axis=0), 0.0).max())
    if isinstance(promise, str):
        return [*rows, Check("Theorems 1 and 2", "327-334, 1250-1262", "not stated", None, f"neither applies: {promise}")]
    lines = "327-334" if promise.theorem == "Theorem 1" else "1250-1262"
    for what, measured, bound in (("regret", regret, promise.regret), ("violation", violation, promise.violation)):
        vacuous = " (more than K·H: says nothing)" if bound >= t.K * spec.horizon else ""
        detail = f"{measured:.5g} ≤ {bound:.4g} with C = 1{vacuous}"
        rows.append(Check(f"{promise.theorem}: {what}", lines, "information", bound - measured, detail))
    return rows
