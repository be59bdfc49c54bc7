"""A table of numbers for a paper: LaTeX with booktabs."""

from __future__ import annotations

import math
from dataclasses import replace

from noregret.errors import printable
from noregret.metrics import Cell, Interval, show
from noregret.results.base import NumberTable

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "γ": r"$\gamma$",
    "√": r"$\sqrt{}$",
    "·": r"$\cdot$",
}


def latex(table: NumberTable) -> str:
    """The table as a ``tabular``; its title and caption are comments, as authors write their own.

    Sizes and names that are the same in all rows are in a comment too, so that the table fits a page.
    """
    table, same = _narrowed(table)
    text = [any(isinstance(row[i], str) for row in table.rows) for i in range(len(table.columns))]
    lines = [f"% {printable(' '.join(line.split()))}" for line in (table.title, same, table.caption) if line]
    lines += [
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{" + "".join("l" if t else "r" for t in text) + "}",
        r"\toprule",
    ]
    lines += [_row([escape(column) for column in table.columns]), r"\midrule"]
    lines += [_row([_cell(cell) for cell in row]) for row in table.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


#: Columns that go where all rows have the same.
SIZES = ("problem", "trials", "episodes")


def _narrowed(table: NumberTable) -> tuple[NumberTable, str]:
    """The table without :data:`SIZES` that do not differ between its rows, and a line that says them."""
    if len(table.rows) < 2:
        return table, ""
    said: dict[str, Cell] = {}
    for i, name in enumerate(table.columns):
        if name in SIZES and len({str(row[i]) for row in table.rows}) == 1:
            said[name] = table.rows[0][i]
    line = ", ".join(f"{name} {show(cell)}" for name, cell in said.items())
    kept = table.only([name for name in table.columns if name not in said])
    labels = [str(row[kept.columns.index("learner")]) for row in kept.rows] if "learner" in kept.columns else []
    ending = labels[0][labels[0].find(" (") :] if labels and " (" in labels[0] else ""
    if ending and all(label.endswith(ending) for label in labels):
        at = kept.columns.index("learner")
        rows = [[str(cell).removesuffix(ending) if i == at else cell for i, cell in enumerate(row)] for row in kept.rows]
        kept, line = replace(kept, rows=rows), ", ".join(filter(None, (line, f"learners{ending}")))
    return kept, f"In all rows: {line}" if line else ""


def escape(text: str) -> str:
    r"""Text that LaTeX shows as it is.

    >>> escape("a_b & 5%")
    'a\\_b \\& 5\\%'
    """
    return "".join(_SPECIAL.get(letter, letter) for letter in printable(text))


def _cell(cell: Cell) -> str:
    if cell is None:
        return "--"
    if isinstance(cell, str):
        return escape(cell)
    text = " ± ".join(matched(cell)) if isinstance(cell, Interval) else show(cell)
    return "$" + text.replace(",", "{,}").replace("±", r"\pm") + "$"


def matched(interval: Interval) -> tuple[str, ...]:
    """A mean and its half width with as many decimals as two digits of the half width have; the mean alone if it has no width.

    >>> import numpy as np
    >>> from noregret.metrics import mean_interval
    >>> matched(Interval(np.array(12040.1337), np.array(0.0), np.array(12040.4076))), matched(mean_interval([3.0, 3.0]))
    (('12,040.13', '0.27'), ('3',))
    """
    mean, half = float(interval.mean), float(interval.high - interval.mean)
    if not half > 1e-9 * abs(mean) or not math.isfinite(half):
        return (show(mean),)
    decimals = max(0, 1 - math.floor(math.log10(half)))
    if decimals > 6:
        return show(mean), show(half)
    return f"{mean:,.{decimals}f}", f"{half:,.{decimals}f}"


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
