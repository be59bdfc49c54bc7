"""Which of the paper's theorems speaks of a run of Algorithm 1: its hypotheses against the constants in use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from noregret import theory
from noregret.learners.presets import Constants
from noregret.problems.base import Array, Spec


def departures(constants: Mapping[str, Any]) -> set[str]:
    """The options of Algorithm 1 that differ from the printed form, but for those of the truncation and for ζ (Theorem 2)."""
    printed = {"safe_policy": None, "rounding": None, "share": "nothing"} | {f.name: f.default for f in fields(Constants)}
    for name in ("lam", "beta", "alpha", "eta", "xi", "zeta", "cap", "lower_clip", "xi_sets", "theorem_2", "p"):
        del printed[name]
    return {name for name, value in printed.items() if name in constants and constants[name] != value}


def promised(
    constants: Mapping[str, Any], spec: Spec, phi: Array | None, K: int, slater_gap: float, linear: bool
) -> theory.Promise | str:  # fmt: skip
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
