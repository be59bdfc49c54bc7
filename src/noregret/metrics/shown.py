"""Numbers as a person reads them, in terminals, pages and papers."""

from __future__ import annotations

import math

from noregret.metrics.statistics import Interval, Slope

#: What a table holds; :func:`show` makes text of it.
Cell = str | int | float | Interval | None


def show(cell: Cell) -> str:
    """A cell as a person reads it: four digits, thousands apart, an interval as its mean ± its half width.

    >>> from noregret.metrics import mean_interval
    >>> show(mean_interval([1.0, 2.0, 3.0])), show(Slope(-9e-17)), show(None)
    ('2 ± 2.484', '0.00', '-')
    """
    if cell is None:
        return "-"
    if isinstance(cell, Interval):
        half = float(cell.high - cell.mean)
        return f"{number(float(cell.mean))} ± {number(half)}" if half > 1e-9 * abs(cell.mean) else number(float(cell.mean))
    if isinstance(cell, Slope) and math.isfinite(cell):
        return f"{round(cell, 2) + 0.0:.2f}"  # no minus before 0.00
    return str(cell) if isinstance(cell, str | bool) else number(cell)


def length(trials: int, episodes: int) -> str:
    """The length of a run in words: its trials and episodes."""
    return f"{count(trials, 'trial')} of {count(episodes, 'episode')}"


def words(name: str) -> str:
    """The name of a number for people: "hard_regret" is "hard regret"."""
    return name.replace("_", " ")


def constant(value: object) -> str:
    """A constant of a learner as a person reads it, with six digits.

    >>> constant(0.25), constant(True), constant(float("inf")), constant(12345678.9), constant("H-h+1"), constant(None)
    ('0.25', 'True', 'infinite', '1.235e+07', 'H-h+1', '-')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "-" if value is None else str(value)
    return "infinite" if math.isinf(value) else f"{value:.6g}" if abs(value) < 1e6 else f"{value:.3e}"


def number(value: float) -> str:
    """A number as a person reads it.

    >>> number(5474.2), number(0.49979), number(200000), number(0.0), number(1.2e-7), number(float("nan"))
    ('5,474', '0.4998', '200,000', '0', '1.2e-07', '-')
    """
    if math.isnan(value):
        return "-"
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if float(value).is_integer() or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def count(n: int, what: str) -> str:
    """How many of something, in words.

    >>> count(1, "trial"), count(2000, "episode")
    ('1 trial', '2,000 episodes')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"
