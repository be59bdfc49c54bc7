"""Markdown from docstrings and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from html import escape
from typing import Any

import griffe

from tools.docsite.roles import convert, resolve
from tools.docsite.site import ROOT

_SECTION = re.compile(r"^([A-Z]\w+):\n((?:    .*\n?|\n)+)", re.MULTILINE)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?: {4,}\S.*(?:\n|\Z)|\n(?= {4,}\S))+")
_SCRIPT = re.compile(r"([_^])(\{(?:[^{}]|\{[^{}]*\})*\}|[-−]?[A-Za-zα-ωΑ-Ω0-9*+]+(?:/[0-9]+)?)")
_BAR = re.compile(r"\|(?=(?:[^`]*`[^`]*`)*[^`]*$)")  # outside of code


@cache
def package() -> griffe.Module:
    """The package as Griffe sees it, without running it."""
    loaded = griffe.load("noregret", search_paths=[str(ROOT / "src")], resolve_aliases=True)
    assert isinstance(loaded, griffe.Module)
    return loaded


def docstring(text: str, module: str) -> str:
    """A module's docstring as Markdown, with links into the reference.

    Args:
        text: the docstring.
        module: where it is written, for the names in it.
    """
    scope: Any = package()[module.removeprefix("noregret.")]

    def link(path: str, shown: str) -> str:
        found = resolve(path, scope, package())
        return f"[`{shown}`][{found}]" if found else f"`{shown}`"

    def section(found: re.Match[str]) -> str:
        lines = [line[4:] for line in found[2].splitlines()]
        return f"\n**{found[1]}**\n\n" + "\n".join(lines) + "\n"

    return _SECTION.sub(section, convert(text, link))


def maths(markdown: str) -> str:
    """Indented lines, which Markdown takes for code, as formulas: subscripts lower, the paper's line at the right."""
    return _INDENTED.sub(_typeset, markdown)


def _typeset(block: re.Match[str]) -> str:
    rows = []
    for line in block[0].strip("\n").splitlines():
        formula, mark = re.fullmatch(r"\s*(.*?)\s*(\((?:l|eq|Alg|step)\.[^()]*\))?[.,]?\s*", line).groups()  # type: ignore[union-attr]
        shown = _lowered("&emsp; ".join(escape(part, quote=False) for part in re.split(r" {2,}", formula)))
        rows.append(f'<div><span>{shown}</span><span class="mark">{mark or ""}</span></div>' if formula or mark else "<br>")
    return f'\n<div class="maths">\n{"".join(rows)}\n</div>\n'


def _lowered(formula: str) -> str:
    """A formula with its subscripts set lower, also those of subscripts, and its superscripts higher."""

    def sub(found: re.Match[str]) -> str:
        tag = "sub" if found[1] == "_" else "sup"
        return f"<{tag}>{_lowered(found[2].removeprefix('{').removesuffix('}'))}</{tag}>"

    return _SCRIPT.sub(sub, formula)


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A table; bars inside cells are written so that they stay there."""
    lines = [list(head), *(list(row) for row in rows)]
    text = [" | ".join(_BAR.sub("&#124;", str(cell)).replace("\n", " ") for cell in line) for line in lines]
    return "\n".join([f"| {text[0]} |", "|" + "---|" * len(lines[0]), *(f"| {line} |" for line in text[1:])])


def figure(said: str, *files: str) -> str:
    """Pictures in a frame that stays white where the page is dark; two stand side by side where there is room.

    Args:
        said: what one who does not see them should know.
        files: of the pictures, beside the page.
    """
    kind = "figure pair" if len(files) > 1 else "figure"
    return f'<div class="{kind}" markdown="1">\n' + "\n".join(f"![{said}]({file})" for file in files) + "\n</div>"


def plain(text: str) -> str:
    """A text whose stars and underscores are no marks of Markdown, such as a formula."""
    return re.sub(r"([*_])", r"\\\1", text)


def number(value: Any, digits: int = 4) -> str:
    """A number as a reader wants it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "∞", "-inf": "−∞", "nan": "–"}[str(value)]
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e9):
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
