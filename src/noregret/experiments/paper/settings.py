"""Section 5 of the paper (Ghosh, Zhou, Shroff, NeurIPS 2022) as constants, and the neighbours of what it does not report.

The preset ``paper`` holds the numbers that section 5 gives: γ = 1, α = K/(1+2H/γ+H), η = 2H/(γ√(KH²)), and its ε = 0.1 read
as ζ. It does not report β and λ. We chose β = 1 and λ = (β/H)², with which an untried pair is worth exactly H; the
neighbours show what other choices would have given.
"""

from __future__ import annotations

from dataclasses import dataclass, field

PROBLEM = "job-scheduling"
#: The other reading of "time steps from 3 to 6".
COUNTED_FROM_0 = "job-scheduling:first_expensive=4,last_expensive=7"
LEARNER = "primal-dual-lsvi"
PRESET = "paper"
EPISODES = 200_000
TRIALS = 10
SEED = 0

#: Trials of each neighbour.
NEIGHBOUR_TRIALS = 3
#: Recorded points of a curve.
POINTS = 500

#: ``--quick``: minutes become seconds, and the page says that it is not the paper's experiment.
QUICK_EPISODES = 20_000
QUICK_TRIALS = 4


@dataclass(frozen=True)
class Setting:
    """One setting: its label, its row in the figure (the rule for λ), and the constants that differ from the preset."""

    label: str
    row: str
    params: dict[str, object] = field(default_factory=dict)


UNTRIED_WORTH_H = "λ = (β/H)²"
UNIT = "λ = 1"

MAIN = Setting("β = 1", UNTRIED_WORTH_H)
NEIGHBOURS = (
    Setting("β = 0.3", UNTRIED_WORTH_H, {"beta": 0.3}),
    Setting("β = 3", UNTRIED_WORTH_H, {"beta": 3.0}),
    Setting("β = 1, ζ = 0", UNTRIED_WORTH_H, {"zeta": 0.0}),
    Setting("β = 0.3", UNIT, {"beta": 0.3, "lam": 1.0}),
    Setting("β = 1", UNIT, {"beta": 1.0, "lam": 1.0}),
    Setting("β = 3", UNIT, {"beta": 3.0, "lam": 1.0}),
)
