"""A table of numbers for a paper: LaTeX with booktabs."""

from __future__ import annotations

from noregret.errors import printable
from noregret.metrics import Cell, show
from noregret.results.base import Table

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "γ": r"$\gamma$", "√": r"$\sqrt{}$", "·": r"$\cdot$",
}  # fmt: skip


def latex(table: Table) -> str:
    """The table as a ``tabular``; its title and caption are comments, as authors write their own."""
    text = [any(isinstance(row[i], str) for row in table.rows) for i in range(len(table.columns))]
    lines = [f"% {printable(' '.join(line.split()))}" for line in (table.title, table.caption) if line]
    lines += [
        r"% needs \usepackage{booktabs}",
        r"\begin{tabular}{" + "".join("l" if t else "r" for t in text) + "}",
        r"\toprule",
    ]
    lines += [_row([escape(column) for column in table.columns]), r"\midrule"]
    lines += [_row([_cell(cell) for cell in row]) for row in table.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


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
    return "$" + show(cell).replace(",", "{,}").replace("±", r"\pm") + "$"


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
