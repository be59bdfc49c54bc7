"""The paper's experiment as two figures, a table and a page of Markdown. All numbers on the page come from the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from noregret import metrics, theory
from noregret.metrics import number, show
from noregret.report import figures, tables
from noregret.results import RunResult, drawing
from noregret.results.base import NumberTable
from noregret.results.comparison import CAPTION

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: The violation came back when it ends below this share of its peak.
COMES_BACK = 0.5
#: A turn of the violation counts as an oscillation when it is larger than this share of the peak.
SWING = 0.1


@dataclass(frozen=True)
class Neighbour:
    """The result of a run with other constants, with its label and its row in the figure."""

    label: str
    row: str
    result: RunResult


@dataclass(frozen=True)
class Paper:
    """The results of the experiment, and the facts about its problem that no run can tell."""

    main: RunResult
    neighbours: Sequence[Neighbour]
    threshold: float
    horizon: int
    states: int
    actions: int
    tightened_dual: float  # of b + ζ
    jobs_left: float  # the probability that the best policy leaves more than one job
    counted_from_0: float  # the optimum when the expensive steps are
    as_published: bool  # K and trials as in section 5

    def labelled(self) -> dict[str, RunResult]:
        """All results, each under its own label."""
        first, *rest = self.neighbours
        return {f"{n.label}, {n.row}" + ("" if n is not first else " (main)"): n.result for n in (first, *rest)}


def table(paper: Paper) -> NumberTable:
    """A row for the main run and for each neighbour."""
    return tables.summary(paper.labelled(), "Section 5 of the paper, and neighbours of the constants it does not report")


def short(paper: Paper) -> NumberTable:
    """The columns of :func:`table` that fit a terminal."""
    return table(paper).only(("run", "regret", "violation", "hard violation", "slope of hard regret", "episodes/s"))


# --- figures -------------------------------------------------------------------------------------------------------


def figure(paper: Paper) -> Figure:
    """The main run: regret, violation, dual, and growth on log-log axes."""
    result = paper.main
    made, axes = drawing.new(2, 2, 10.5, 7.6)
    (regret, violation), (dual, growth) = axes
    zeta = result.constants["zeta"]
    lost = result.optimal_value - result.tightened_value

    drawing.band(regret, result, "regret", label="against V*(b)")
    drawing.band(regret, result, "regret_tightened", colour=drawing.COLOURS[1], label="against V*(b+ζ)", line="--")
    ends = np.array([0, result.episodes[-1]])
    regret.plot(ends, ends * lost, color=drawing.GREY, linestyle=":", label=f"what ζ = {zeta:g} costs the best policy")
    drawing.label(regret, "Regret", "cumulative regret (reward)")

    drawing.band(violation, result, "violation", label="violation, the paper's: [Σ(b − V)]₊")
    drawing.band(violation, result, "hard_violation", colour=drawing.COLOURS[1], label="hard violation: Σ[b − V]₊", line="--")
    drawing.label(violation, "Violation", "cumulative violation (utility)")

    drawing.band(dual, result, "dual", label="dual variable")
    dual.axhline(float(result.optimal_dual[0]), color=drawing.GREY, linestyle=":", label="best for b")
    dual.axhline(paper.tightened_dual, color=drawing.GREY, linestyle="-.", label="best for b+ζ")
    dual.set_ylim(bottom=0.0)
    drawing.label(dual, "Dual variable", "reward per unit of utility")

    growth.set_xscale("log")
    growth.set_yscale("log")
    for which, colour, name, style in (
        ("hard_regret", drawing.COLOURS[2], "hard regret, Σ[V* − V]₊", "-"),
        ("regret", drawing.COLOURS[0], "regret, where it is above zero", "-"),
    ):
        mean = getattr(result, which).mean(axis=0)
        shown = np.where(mean > 0, mean, np.nan)
        growth.plot(result.episodes, shown, color=colour, linestyle=style, label=name)
        if np.isfinite(result.slope(which)):
            slope, k, line = figures.log_log_fit(result, which)
            growth.plot(k, line, color="black", linestyle="--", linewidth=1.2, label=f"slope {show(slope)}, fitted")
    k = result.episodes.astype(float)
    level = float(result.hard_regret.mean(axis=0)[-1])
    growth.plot(k, level * np.sqrt(k / k[-1]), color=drawing.GREY, linestyle=":", label="slope 0.50, for comparison")
    drawing.label(growth, "Growth, both axes logarithmic", "cumulative regret (reward)")
    for ax in axes.flat:
        drawing.legend(ax, columns=2 if ax is dual or ax is growth else 1)
    text = f"Algorithm 1 on the paper's job-scheduling problem: {figures.trials(result)}"
    made.suptitle(text, x=0.01, ha="left", fontsize=12)
    return made


def neighbours_figure(paper: Paper) -> Figure:
    """Regret and violation for other β and λ, a row for each rule of λ."""
    rows = _rows(paper)
    made, axes = drawing.new(len(rows), 2, 10.5, 3.6 * len(rows))
    betas = dict.fromkeys(n.result.constants["beta"] for n in paper.neighbours)  # the main run's first
    colours = dict(zip(betas, drawing.COLOURS, strict=False))
    for row, (regret, violation) in zip(rows, axes, strict=True):
        for n in sorted(paper.neighbours, key=lambda n: float(n.result.constants["beta"])):
            if n.row == row:
                colour, line = colours[n.result.constants["beta"]], "-" if n.result.constants["zeta"] else "--"
                drawing.band(regret, n.result, "regret", colour=colour, label=n.label, line=line)
                drawing.band(violation, n.result, "violation", colour=colour, label=n.label, line=line)
        drawing.label(regret, f"{row}: regret", "cumulative regret (reward)")
        drawing.label(violation, f"{row}: violation", "cumulative violation (utility)")
        for ax in (regret, violation):
            drawing.legend(ax, columns=4)
    made.suptitle("What the constants that the paper does not report decide", x=0.01, ha="left", fontsize=12)
    return made


# --- the page ------------------------------------------------------------------------------------------------------


def page(paper: Paper) -> str:
    """The page as Markdown: the words of ``page.md`` with this run's numbers. The page refers to the files beside it."""
    words = files("noregret.experiments.paper").joinpath("page.md").read_text(encoding="utf-8")
    return words.format_map(_setting(paper) | _measured(paper) | _computed(paper))


def _setting(paper: Paper) -> dict[str, str]:
    """What was run."""
    c = paper.main.constants
    told = {*paper.main.explain, "features"}
    rows = tuple((key, _plain(value), paper.main.explain.get(key, "")) for key, value in c.items() if key in told)
    other = "**This is not the paper's setting**, which is 200,000 episodes and 10 trials; η and α depend on the former."
    return {
        "K": f"{paper.main.episodes[-1]:,}",
        "trials": str(paper.main.trials),
        "setting": "" if paper.as_published else other,
        "constants": NumberTable("", ("constant", "value", "why"), rows).markdown(),
        "caption": CAPTION,
        "table": tables.without_speed(table(paper)).markdown(),
        "b": f"{paper.threshold:g}",
        "b_tightened": f"{paper.threshold + c['zeta']:g}",
        "eta": f"{c['eta']:.5f}",
        **{key: f"{c[key]:g}" for key in ("beta", "lam", "xi", "zeta")},
    }


def _measured(paper: Paper) -> dict[str, str]:
    """What came out."""
    result = paper.main
    K, regret, violation = int(result.episodes[-1]), result.regret.mean(axis=0), result.violation.mean(axis=0)
    peak, low = int(violation.argmax()), int(regret.argmin())
    back = violation[-1] < COMES_BACK * violation[peak]
    end = show(result.last("violation"))
    course = f"It is {number(violation[peak])} at episode {result.episodes[peak]:,}, its largest, and {end}\n  after {K:,}"
    if peak == len(violation) - 1:
        course = f"It is still growing at the last one, where it is {end}"
    slope, hard = result.slope(), result.slope("hard_regret")
    growth = "Here the regret has none: there are too few episodes.\n "
    if np.isfinite(slope):
        growth = f"Here the slope of the regret is {show(slope)}."
    elif regret[low] < 0.0:
        growth = (
            f"Here the regret has none: it is {number(regret[low])} at episode {result.episodes[low]:,},\n  below zero, "
            "as a policy that does not meet the constraint can earn more than the best one that does.\n "
        )
    late = result.episodes >= 0.9 * K
    turns = [metrics.swings(curve, SWING * curve.max()) if curve.max() > 0 else 0 for curve in result.violation]
    often = f"{number(float(np.mean(turns)))} times on average"
    if len(set(turns)) == 1:
        often = {0: "never", 1: "once: it rises and it falls"}.get(turns[0], often)
    share = (
        f"{regret[-1] / K:.4f} an episode, where the best\n  value is {result.optimal_value:.4f}; it is below what ζ costs, too"
    )
    small = f"- **The regret is small**: {show(result.last('regret'))} after {K:,} episodes, {share}.\n"
    return {
        "regret_agrees": small if 0 < regret[-1] < K * (result.optimal_value - result.tightened_value) else "",
        "violation_agrees": f"- **The violation comes back.** {course}, as the paper describes.\n" if back else "",
        "violation_differs": "" if back else f"- **The violation does not come back** within these episodes. {course}.\n",
        "slope": growth,
        "hard_slope": f"has a slope of {show(hard)}" if np.isfinite(hard) else "fits no line",
        "second_half_slope": show(metrics.slope(result.episodes, result.hard_regret.mean(axis=0), 0.5)),
        "rate": f"{np.polyfit(result.episodes[late], regret[late], 1)[0]:.4f}" if late.sum() > 1 else "-",
        "turns": often,
        **_dual(paper),
        "ranges": "\n".join(_range(paper, row) for row in _rows(paper)),
        **{which: show(result.last(which)) for which in ("regret_tightened", "hard_violation")},
    }


def _dual(paper: Paper) -> dict[str, str]:
    """What the dual variable did."""
    result, cap = paper.main, paper.main.constants["xi"]
    top = float(result.dual.max())
    far = top < min(cap, theory.xi(H=paper.horizon, slater_gap=result.slater_gap)) / 2.0
    work = (
        f"- **The dual variable does its work.** From 0 it moves to {show(result.last('dual'))}. Its best value is "
        f"{result.optimal_dual[0]:.4f} for b and {paper.tightened_dual:.4f} for b+ζ;\n"
        f"  its largest value in any trial is {top:.4f}, and its cap ξ = {cap:g}.\n"
    )
    return {
        "dual_agrees": work if result.dual[:, -1].mean() > 0.0 else "",
        "cap_does_harm": " It does no harm here, as the dual variable stays far below either." if far else "",
    }


def _computed(paper: Paper) -> dict[str, str]:
    """What is true of the problem, whatever was run."""
    result, H, A = paper.main, paper.horizon, paper.actions
    K, gap, lost = int(result.episodes[-1]), result.slater_gap, result.optimal_value - result.tightened_value
    beta = theory.beta(d=paper.states * A, H=H, K=K, A=A)
    rules = [
        theory.alpha(rule, A=A, K=K, H=H, xi=theory.xi(H=H, slater_gap=1.0), slater_gap=1.0) for rule in theory.ALPHA_RULES
    ]
    return {
        "most": f"{paper.threshold + gap:.4f}",
        "gap": f"{gap:.4f}",
        "half_gap": f"{gap / 2:.4f}",
        "xi_true": f"{theory.xi(H=H, slater_gap=gap):.2f}",
        "lost": f"{lost:.4f}",
        "lost_total": number(lost * K),
        "optimum": f"{result.optimal_value:.6f}",
        "counted_from_0": f"{paper.counted_from_0:.6f}",
        "jobs_left": f"{paper.jobs_left:.3f}",
        "theory_beta": number(beta),
        "visits": number(round((beta / H) ** 2)),
        "alphas": ", ".join(number(round(rule)) for rule in rules),
    }


def _rows(paper: Paper) -> list[str]:
    return list(dict.fromkeys(n.row for n in paper.neighbours))


def _range(paper: Paper, row: str) -> str:
    """How far apart the results of a rule for λ are, with the main run's ζ."""
    ends = []
    results = [n.result for n in paper.neighbours if n.row == row]
    results = [result for result in results if result.constants["zeta"] == paper.main.constants["zeta"]]
    for which in ("regret", "violation"):
        values = [float(getattr(result, which)[:, -1].mean()) for result in results]
        ends.append(f"the {which} ends between {number(min(values))} and {number(max(values))}")
    return f"- With {row} {' and '.join(ends)}."


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
