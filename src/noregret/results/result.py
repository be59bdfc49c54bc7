"""What a run leaves: curves on a grid of episodes, and everything needed to say where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noregret.errors import InputError
from noregret.metrics import ENOUGH, Cell, Interval, Slope, length, line, mean_interval, stuck
from noregret.problems.base import Array
from noregret.results import drawing
from noregret.results.base import Columns, NumberTable, Saved, savable
from noregret.results.policies import Played, PolicyReport, Which
from noregret.theory import Promise

#: The sums over all episodes that every summary has.
SUMS = ("regret", "hard_regret", "violation", "hard_violation")

#: What the curve ``unsafe_steps`` counts.
UNSAFE = (
    "An unsafe step: the policy played has an expected cost over the step limit in the state reached. Learners that know "
    "of no such limit hold the total alone, and may earn more than the best policy that keeps the limit."
)

#: Slopes are fitted from this share of the episodes on.
FITTED = 0.1


@dataclass(frozen=True)
class RunResult(Saved):
    """Trials of one learner on one problem; each curve has a row per trial and a column per recorded episode.

    ``regret`` = Σ(V* − V_r), ``hard_regret`` = Σ[V* − V_r]₊; ``violations`` = [Σ(b − V_g)]₊ and ``hard_violations`` =
    Σ[b − V_g]₊ for each constraint, ``violation`` and ``hard_violation`` for the worst one. All values are exact. V* is the
    optimum of the original thresholds; ``regret_tightened`` is against the optimum of b + ζ.

    Where the problem limits the cost of every step, V* is the optimum of policies that keep the limit, and ``unsafe_steps`` is
    the expected number of steps so far at which the policy played has an expected cost over it in the state reached.
    """

    problem: str
    learner: str
    preset: str
    constants: dict[str, Any]
    seed: int
    episodes: NDArray[np.int64]  # (n,)
    regret: Array  # (trials,n)
    hard_regret: Array  # (trials,n)
    violations: Array  # (trials,n,m)
    hard_violations: Array  # (trials,n,m)
    dual: Array  # (trials,n,m)
    optimal_value: float
    tightened_value: float
    optimal_dual: Array  # (m,)
    slater_gap: float
    slater_gap_used: float | None
    episodes_requested: int
    seconds: float
    kernel_seconds: float
    threads: int
    explain: dict[str, str] = field(default_factory=dict)
    trials_requested: int = 1
    notes: dict[str, Array] = field(default_factory=dict)  # numbers that the learner found out itself, (trials,)
    played: Played | None = field(default=None, repr=False)
    unsafe_steps: Array | None = None  # (trials,n); None where there is no limit on a step
    uniform_loss: float | None = None  # what the uniform policy loses in an episode; None where that is not known
    _shapes: ClassVar[dict[str, str]] = {
        **{"episodes": "n", "regret": "tn", "hard_regret": "tn", "optimal_dual": "m"},
        **dict.fromkeys(("violations", "hard_violations", "dual"), "tnm"),
    }

    def _check(self) -> None:
        super()._check()
        if self.unsafe_steps is not None and (
            self.unsafe_steps.shape != self.regret.shape or not np.isfinite(self.unsafe_steps).all()
        ):
            raise ValueError("unsafe_steps does not fit the other arrays, or has a number that is not finite")

    @property
    def trials(self) -> int:
        """The number of independent trials."""
        return len(self.regret)

    @property
    def violation(self) -> Array:
        """[Σ(b − V_g)]₊ of the worst constraint, (trials,n)."""
        return np.asarray(self.violations.max(axis=2))

    @property
    def hard_violation(self) -> Array:
        """Σ[b − V_g]₊ of the worst constraint, (trials,n)."""
        return np.asarray(self.hard_violations.max(axis=2))

    @property
    def regret_tightened(self) -> Array:
        """The regret against the best policy for the tightened thresholds, Σ(V*(b+ζ) − V_r), (trials,n)."""
        return np.asarray(self.regret - self.episodes * (self.optimal_value - self.tightened_value))

    @property
    def complete(self) -> bool:
        """Whether all requested episodes of all requested trials were played."""
        whole = len(self.episodes) > 0 and int(self.episodes[-1]) == self.episodes_requested
        return whole and self.trials >= self.trials_requested

    @property
    def stuck(self) -> float:
        """The share of trials that are stuck: they still lose much over the last tenth of the episodes.

        A loss is hard regret plus hard violation of the worst constraint; :func:`noregret.metrics.stuck` says how much is much.
        """
        if not len(self.episodes):
            return float("nan")
        return float(stuck(self.episodes, self.hard_regret + self.hard_violation, self.uniform_loss).mean())

    @property
    def episodes_per_second(self) -> float:
        """Episodes played per second of wall time, over all trials."""
        played = self.trials * (int(self.episodes[-1]) if len(self.episodes) else 0)
        return played / self.seconds if self.seconds > 0 else 0.0

    @property
    def simulator_draws(self) -> float | None:
        """How often a trial drew from a simulator, the mean over the trials; None for a learner without one."""
        return float(np.mean(self.notes["simulator draws"])) if "simulator draws" in self.notes else None

    def interval(self, which: str, constraint: int = 0) -> Interval:
        """The mean over trials of a curve, with its 95% interval at each recorded episode.

        Args:
            which: the name of the curve, such as "regret", "hard_violation" or "dual".
            constraint: the constraint, from 0, where ``which`` is "dual".
        """
        return drawing.cut(mean_interval(self._samples(which, constraint)), which)

    def last(self, which: str, constraint: int = 0) -> Interval:
        """What :meth:`interval` gives at the last recorded episode."""
        return drawing.cut(mean_interval(self._samples(which, constraint)[:, -1]), which)

    def slope(self, which: str = "regret") -> Slope:
        """The exponent of growth of a mean curve over the last nine tenths of the episodes; nan where no line fits.

        A curve that crosses zero has logarithms on one side only, and a line through those says nothing about growth. What a
        line that fits is, :class:`noregret.metrics.Line` says.
        """
        mean = getattr(self, which).mean(axis=0)
        fit = line(self.episodes, mean, FITTED)
        fitted = mean[self.episodes >= FITTED * self.episodes[-1]]
        return fit.slope if (fitted > 0).all() and fit.fits else Slope("nan")

    def _samples(self, which: str, constraint: int) -> Array:
        return np.asarray(self.dual[:, :, constraint] if which == "dual" else getattr(self, which))

    def policy(self, which: Which = "mixture", trial: int | None = None) -> Array:
        """One Markov policy (H,S,A) out of the run; the run must have been made with ``keep_policy=True``.

        Args:
            which: "mixture", the uniform mixture of all policies played: its values are the means of theirs (the paper's PAC
                remark); "tail", the same of the last half of the episodes; "last", the last one.
            trial: of which trial; None for the mixture of all trials in equal parts.
        """
        return self._kept().policy(which, trial)

    def policy_report(self, which: Which = "mixture", trial: int | None = None) -> PolicyReport:
        """The exact values of :meth:`policy`, its distance ε from the optimum, and the ε that the theorem promises."""
        return self._kept().report(which, trial)

    def _kept(self) -> Played:
        if self.played is None:
            raise InputError("keep_policy was False in this run; expected run(..., keep_policy=True)")
        return self.played

    def _columns(self) -> Columns:
        made: dict[str, NDArray[np.generic]] = {
            "trial": np.repeat(np.arange(self.trials), len(self.episodes)),
            "episode": np.tile(self.episodes, self.trials),
        }
        made |= {name: getattr(self, name).ravel() for name in ("regret", "hard_regret", "regret_tightened")}
        for name, curves in (("violation", self.violations), ("hard_violation", self.hard_violations), ("dual", self.dual)):
            made |= {f"{name}_{i}": curves[:, :, i].ravel() for i in range(curves.shape[2])}
        return made if self.unsafe_steps is None else made | {"unsafe_steps": self.unsafe_steps.ravel()}

    def _summary(self) -> NumberTable:
        """The numbers one below the other, each with a line that explains it."""
        gap = "" if self.slater_gap_used is None else f", told a Slater gap of {self.slater_gap_used:.6g}"
        title = (
            f"{self.learner} on {self.problem} (preset {self.preset}, seed {self.seed}{gap}); "
            f"optimal value {self.optimal_value:.6f}"
        )
        if not len(self.episodes):
            return NumberTable(title, (), (), "stopped before the first recorded episode")
        worst = ", of the worst constraint" if self.violations.shape[2] > 1 else ""
        state = "" if self.complete else f", stopped before episode {self.episodes_requested:,}"
        rows: list[tuple[Cell, ...]] = [
            ("regret", self.last("regret"), "reward lost against the best policy that meets the constraints"),
            ("hard regret", self.last("hard_regret"), "the same, summed only over episodes that earn less than that policy"),
            ("violation", self.last("violation"), "utility missing over all episodes together" + worst),
            ("hard violation", self.last("hard_violation"), "the same, summed only over episodes that fall short"),
            ("stuck trials", self.stuck, "share of trials that still lose more than 0.1 an episode at the end"),
            ("slope of regret", self.slope(), "its growth: 0.5 is the square root of the episodes, 1 is linear"),
            ("slope of hard regret", self.slope("hard_regret"), "the same for hard regret"),
            ("episodes/s", self.episodes_per_second, length(self.trials, int(self.episodes[-1])) + state),
        ]
        if self.unsafe_steps is not None:
            rows.insert(
                4, ("unsafe steps", self.last("unsafe_steps"), "steps where the policy's expected cost is over the limit")
            )
        if self.simulator_draws is not None:
            rows.append(("simulator draws", self.simulator_draws, "transitions of a trial that were asked from a simulator"))
        if zeta := self.constants.get("zeta", 0.0):
            text = f"against the best policy for thresholds raised by {zeta:g}"
            rows.insert(1, ("regret, tightened", self.last("regret_tightened"), text))
        return NumberTable(title, ("sum over all episodes", "mean ± 95%", "what it is"), rows, few(self.trials))

    def _draw(self, axes: drawing.Grid) -> None:
        colour = drawing.colour(self.learner)
        for ax, which, unit in zip(axes[0], ("regret", "violation"), ("reward", "utility"), strict=True):
            drawing.band(ax, self, which, colour=colour, label=which, single=which == "regret")
            drawing.band(ax, self, f"hard_{which}", colour=drawing.GREY, label=f"hard {which}", line="--")
            worst = " of the worst constraint" if which == "violation" and self.dual.shape[2] > 1 else ""
            drawing.label(ax, which.capitalize() + worst, f"cumulative {which} ({unit})")
            drawing.legend(ax)

    def __repr__(self) -> str:
        """A one-line summary with the last recorded means."""
        if not len(self.episodes):
            return f"<RunResult {self.learner} on {self.problem}: stopped before the first recorded episode>"
        state = "" if self.complete else f" (stopped; {self.trials_requested} x {self.episodes_requested} were requested)"
        return (
            f"<RunResult {self.learner} on {self.problem}: {self.trials} trials x {self.episodes[-1]} episodes{state}, "
            f"mean regret {self.regret[:, -1].mean():.6g}, violation {self.violation[:, -1].mean():.6g}>"
        )


def named_curves(curves: Array, m: int) -> dict[str, Array]:
    """Names for the columns (..., 2+3m) that the loop records: two of one column, then three of m columns.

    With a limit on every step there is one column more.
    """
    made = {
        "regret": curves[..., 0],
        "hard_regret": curves[..., 1],
        "signed_violations": curves[..., 2 : 2 + m],
        "hard_violations": curves[..., 2 + m : 2 + 2 * m],
        "dual": curves[..., 2 + 2 * m : 2 + 3 * m],
    }
    return made | ({"unsafe_steps": curves[..., -1]} if curves.shape[-1] > 2 + 3 * m else {})


def record_grid(n: int, every: int, episodes: int) -> NDArray[np.int64]:
    """The first ``n`` recorded episodes: the multiples of ``every``, and the last episode.

    Args:
        n: how many of them.
        every: the distance of recorded episodes.
        episodes: the episodes of the run.

    Example:
        >>> record_grid(3, every=4, episodes=10).tolist()
        [4, 8, 10]
    """
    grid: NDArray[np.int64] = np.minimum((np.arange(n, dtype=np.int64) + 1) * every, episodes)
    return grid


def few(trials: int) -> str:
    """What a table says under few trials; nothing under many."""
    return "" if trials >= ENOUGH else f"With fewer than {ENOUGH} trials rare failures cannot be seen."


#: What a policy that does not learn promises; a learner without a theorem promises ("-", "-").
NO_PROMISE = None


@dataclass(frozen=True)
class Outcome:
    """One cell of a comparison: a result, or the reason why there is none; and what the learner's theorem promises."""

    problem: str
    label: str
    promise: tuple[str, str] | None
    result: RunResult | None
    reason: str = ""


savable(RunResult, Outcome, Played, Promise)
