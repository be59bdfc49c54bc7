"""Which of the paper's theorems speaks of a run of Algorithm 1: its hypotheses against the constants in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from noregret import theory
from noregret.errors import InputError
from noregret.problems.base import Array, Spec

#: The options of Algorithm 1 in their printed form, but for those of the truncation, which keep every step of the proofs.
PRINTED: Mapping[str, object] = {
    **{"bonus": "constant", "dual_estimate": "optimistic", "price_step": "printed", "schedule": "fixed", "xi_rule": "fixed"},
    **{"span_floor": 0.0, "utility_bonus": 1.0, "dual_prior": 0.0, "pessimism": 0.0, "rounding": 0.0},
    **{"damping": False, "anti_windup": False, "share": "nothing", "safe_policy": None},
}


def departures(constants: Mapping[str, object]) -> set[str]:
    """The options of Algorithm 1 that differ from the printed form, but for those of the truncation and for ζ (Theorem 2)."""
    return {name for name, value in PRINTED.items() if name in constants and constants[name] != value}


def theorem_2(get: Callable[[str], Any], scale: float = 1.0) -> float:
    """ζ of Theorem 2, its first term times ``scale``, at most γ/2; formulas call it as ``theorem_2(1e-4)``.

    Args:
        get: looks up a name as formulas do.
        scale: a factor of the first term.

    Raises:
        InputError: γ is not known.
    """
    if not get("known"):
        raise InputError("slater_gap is None; theorem_2 needs the Slater gap γ: a number (or 'oracle' in run)")
    K, H, d, A = (int(get(name)) for name in ("K", "H", "d", "A"))
    return theory.zeta(K=K, H=H, d=d, A=A, slater_gap=get("gamma"), p=get("p"), scale=scale)


def promised(
    constants: Mapping[str, Any], spec: Spec, phi: Array | None, K: int, slater_gap: float, linear: bool
) -> theory.Promise | str:
    """What Theorem 1 or 2 promises of Algorithm 1 with these constants, or the first hypothesis that is not met.

    Args:
        constants: of the run, by name.
        spec: what the learner knows of the problem.
        phi: φ (S,A,d); None for one-hot features.
        K: the number of episodes.
        slater_gap: γ, the exact one of the problem.
        linear: whether the problem is linear in φ.
    """
    d = spec.n_states * spec.n_actions if phi is None else phi.shape[2]
    found = theory.promise(constants, d=d, H=spec.horizon, K=K, A=spec.n_actions, slater_gap=slater_gap)
    unmet = [
        f"{name} is {constants[name]!r}, and the theorems are about the printed form" for name in sorted(departures(constants))
    ]
    if spec.n_constraints > 1:
        unmet.append(f"the problem has {spec.n_constraints} constraints, and the theorems have one")
    if (spec.start > 0.0).sum() > 1:
        unmet.append("the start is drawn, and the theorems have one start")
    if not linear:
        unmet.append("the problem is not linear in the features, and the theorems are about linear MDPs")
    if isinstance(found, list):
        unmet += found
    elif not unmet:
        return found
    more = f" ({len(unmet) - 1} more of their hypotheses are not met)" if len(unmet) > 1 else ""
    return unmet[0] + more
