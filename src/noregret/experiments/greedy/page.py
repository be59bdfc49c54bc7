"""The figure and table of ``noregret demo greedy``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from noregret.experiments.greedy.analysis import Demo
from noregret.metrics import Cell
from noregret.results import drawing
from noregret.results.base import NumberTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def note(demo: Demo) -> str:
    """What the numbers of the demo say, and which claim of the paper cannot hold."""
    H = demo.horizon
    return (
        f"The greedy policy's gap is H−1 = {H - 1} however small ε is: it changes its action. The paper lets M, and so "
        f"the gap, grow without end; but a Q is at most H = {H}, so the gap is at most H−1. Soft-max gaps vanish with ε."
    )


def figure(demo: Demo) -> Figure:
    """Draw the gap |V_r − Ṽ_r| against ε on logarithmic axes. The lemma's bound is dotted, as far as it is below H−1."""
    made, axes = drawing.new(1, 1, 7.6, 4.9)
    ax, H = axes[0, 0], demo.horizon
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.plot(demo.epsilons, demo.greedy, color="#000000", linewidth=2.4, label=f"greedy (α = ∞): H−1 = {H - 1}")
    for i, alpha in enumerate(demo.alphas):
        colour = drawing.COLOURS[i % 6]
        ax.plot(demo.epsilons, demo.soft[i], color=colour, label=f"soft-max, α = {alpha:g}")
        bound = np.where(demo.bound[i] <= H - 1, demo.bound[i], np.nan)
        ax.plot(demo.epsilons, bound, color=colour, linestyle=":", linewidth=1.2)
    ax.plot([], [], color=drawing.GREY, linestyle=":", linewidth=1.2, label="bound ε(1+2αH(2+H))")
    ax.plot(demo.epsilons, demo.unconstrained, color=drawing.GREY, linestyle="--", label="greedy without constraint: ε/2")
    ax.invert_xaxis()
    drawing.label(ax, f"Two Q's that are ε apart, H = {H}", "change of the reward value |V_r − Ṽ_r|", "ε, smaller to the right")
    ax.set_ylim(1e-9, 4.0 * H)
    drawing.legend(ax)
    return made


def table(demo: Demo, shown: Sequence[float]) -> NumberTable:
    """A table of the gaps at a few ε."""
    rows: list[tuple[Cell, ...]] = []
    for epsilon in shown:
        k = int(np.argmin(np.abs(np.log(demo.epsilons / epsilon))))
        rows.append((f"{demo.epsilons[k]:.3g}", *(f"{gap[k]:.3g}" for gap in (demo.greedy, *demo.soft, demo.unconstrained))))
    columns = ("ε", "greedy", *(f"soft-max, α={alpha:g}" for alpha in demo.alphas), "greedy, no constraint")
    return NumberTable(f"Change of V_r between two Q's that are ε apart (H = {demo.horizon})", columns, tuple(rows), note(demo))
