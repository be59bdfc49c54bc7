"""No violation at the end (Theorem 2), as constants: three problems, a doubling grid of K, ζ of the theorem with a scale.

Every K is a run of its own, as ζ depends on it. The theorem's own ζ (a scale of 1) sits at its cap γ/2 for every K of the grid.
"""

from __future__ import annotations

from dataclasses import dataclass

LEARNER = "primal-dual-lsvi"
PRESET = "practical"
TRIALS = 10
SEED = 0


@dataclass(frozen=True)
class ViolationCase:
    """A problem, the scale of ζ, and K = 2^first .. 2^last."""

    problem: str
    scale: float
    first: int
    last: int

    @property
    def grid(self) -> tuple[int, ...]:
        """The numbers of episodes K, each twice the one before."""
        return tuple(2**i for i in range(self.first, self.last + 1))


CASES = (
    ViolationCase("job-scheduling", 3e-5, 9, 13),
    ViolationCase("random", 3e-5, 9, 13),
    ViolationCase("streaming", 1e-4, 9, 14),
)
#: ``--quick``: so many doublings less, and fewer trials.
QUICK_DOUBLINGS = 4
QUICK_TRIALS = 3
