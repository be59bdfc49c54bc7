"""What an agent's episodes brought: its learning curve, as a result like any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from noregret.metrics import Cell, count, mean_interval
from noregret.problems.base import Array
from noregret.results import drawing
from noregret.results.base import Columns, NumberTable, Saved, savable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A rolling mean is over one of so many parts of the episodes, and over a hundred at most; the table is about the last hundred.
WINDOWS, RECENT = 10, 100


@dataclass(frozen=True)
class History(Saved):
    """Raw totals of every episode that an agent learned from: its reward, and a utility or cost for each constraint.

    ``dual`` is the price of each constraint after the episode. It is nan where an older version saved the agent.
    """

    learner: str
    names: tuple[str, ...]
    limits: tuple[float, ...]
    costs: bool  # whether the limits are upper limits
    rewards: Array  # (n,)
    values: Array  # (n,m)
    dual: Array  # (n,m)
    lengths: NDArray[np.int64]  # (n,) steps of each episode
    _shapes: ClassVar[dict[str, str]] = {"rewards": "n", "values": "nm", "dual": "nm?", "lengths": "n"}

    @property
    def episodes(self) -> NDArray[np.int64]:
        """The numbers of the episodes, from 1."""
        return np.arange(1, len(self.rewards) + 1)

    def _check(self) -> None:
        super()._check()
        kinds = [(type(name), isinstance(limit, float | int)) for name, limit in zip(self.names, self.limits, strict=True)]
        if kinds != [(str, True)] * self.values.shape[1]:
            raise ValueError(f"names and limits are {self.names} and {self.limits}; expected {self.values.shape[1]} of each")

    def _columns(self) -> Columns:
        made: dict[str, NDArray[np.generic]] = {"episode": self.episodes, "reward": self.rewards}
        made |= {name: self.values[:, i] for i, name in enumerate(self.names)}
        made |= {f"dual of {name}": self.dual[:, i] for i, name in enumerate(self.names)}
        return made | {"length": self.lengths}

    def _summary(self) -> NumberTable:
        if not len(self.rewards):
            return NumberTable(repr(self)[1:-1], (), ())
        sense = "at most" if self.costs else "at least"
        rows: list[tuple[Cell, ...]] = [("reward", mean_interval(self.rewards[-RECENT:]), "")]
        for i, (name, limit) in enumerate(zip(self.names, self.limits, strict=True)):
            rows.append((name, mean_interval(self.values[-RECENT:, i]), f"{sense} {limit:g}"))
        caption = f"Means over the last {count(min(RECENT, len(self.rewards)), 'episode')}."
        return NumberTable(repr(self)[1:-1], ("total of an episode", "mean ± 95%", "asked for"), rows, caption)

    def _grid(self) -> tuple[int, int]:
        return 1, 3

    def _draw(self, axes: drawing.Grid) -> None:
        reward, values, dual = axes[0]
        self._curve(reward, self.rewards, drawing.colour(self.learner), "reward")
        for i, (name, limit) in enumerate(zip(self.names, self.limits, strict=True)):
            colour = drawing.COLOURS[1 + i % 5]
            self._curve(values, self.values[:, i], colour, name)
            values.axhline(limit, color=colour, linestyle=":", label=f"{'at most' if self.costs else 'at least'} {limit:g}")
            dual.plot(self.episodes, self.dual[:, i], color=colour, label=f"dual of {name}")
        rolled = f"dots: episodes, lines: means of {count(self._width(), 'episode')}" if self._width() > 1 else "each episode"
        drawing.label(reward, f"Reward ({rolled})", "reward of an episode")
        drawing.label(values, "Cost" if self.costs else "Utility", f"{'cost' if self.costs else 'utility'} of an episode")
        drawing.label(dual, "Dual variable", "price of the constraint")
        for ax in axes[0]:
            drawing.legend(ax)

    def _width(self) -> int:
        """How many episodes a rolling mean is taken of."""
        return max(1, min(RECENT, len(self.rewards) // WINDOWS))

    def _curve(self, ax: Axes, numbers: Array, colour: str, name: str) -> None:
        """Every episode as a dot, and the mean over the last ones as a line."""
        width = self._width()
        if width > 1:
            ax.plot(self.episodes, numbers, ".", color=colour, alpha=0.5, markersize=5, markeredgewidth=0)
        means = np.convolve(numbers, np.full(width, 1.0 / width), mode="valid") if len(numbers) else numbers
        ax.plot(self.episodes[width - 1 :], means, color=colour, label=name)

    def __repr__(self) -> str:
        """A one-line summary."""
        return f"<History of {self.learner}: {count(len(self.rewards), 'episode')}, constraint on {', '.join(self.names)}>"


savable(History)
