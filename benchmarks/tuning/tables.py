"""What the search found, written into the tables of the learners' files: an entry's text is replaced, and nothing else."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from noregret import learners
from noregret._system.files import write_whole
from noregret.errors import InputError
from noregret.learners.presets import FOUND, Count, sharing
from noregret.sweeps.search import Range, scaled

#: A formula that a search has scaled before: its factor, and what it multiplies.
_SCALED = re.compile(r"([0-9.e+-]+)\*\((.*)\)")


def file_of(learner: str) -> Path:
    """The file with a learner's table: that of its class, or the one beside it that has the table alone."""
    path = Path(inspect.getfile(learners.get(learner)))
    beside = path.with_name("table.py")
    return beside if beside.exists() and _table(ast.parse(path.read_bytes()), learner) is None else path


def value_of(learner: str, base: str, name: str, found: Any, values: Range) -> Any:
    """What stands in a table for a value that a search found: the value, or for a factor what it makes of the base's entry.

    Args:
        learner: its name.
        base: the preset that factors are of.
        name: the constant.
        found: the value or factor.
        values: the range that it is from.
    """
    table = learners.get(learner).table
    if not values.relative or table is None:
        return found
    row = table.rows[name]
    entry = row.entry(base, table.like)[0]
    if not isinstance(entry, str):
        return max(1, round(found * entry)) if isinstance(row, Count) else float(f"{found * entry:.3g}")
    if isinstance(row, Count):
        return scaled(learners.get(learner), name, found, base)
    before = _SCALED.fullmatch(entry)
    factor, formula = (found * float(before[1]), before[2]) if before and _balanced(before[2]) else (found, entry)
    return f"{factor:.3g}*({formula})"


def entries_of(learner: str, preset: str, instead: str, but: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of a preset that another one has otherwise: written where one form won as another.

    Args:
        learner: its name.
        preset: the one that won.
        instead: the one that becomes the same.
        but: what is otherwise in what won.
    """
    table = learners.get(learner).table
    new = {row.name: row.entry(preset, table.like)[0] for row in table} | dict(but)
    return {row.name: new[row.name] for row in table if new[row.name] != row.entry(instead, table.like)[0]}


def rewrite(path: Path, learner: str, column: str, values: Mapping[str, Any]) -> Path:
    """Put values into a column of a learner's table. The file is written whole, or not at all.

    Args:
        path: the file with the learner's class.
        learner: its name.
        column: the preset.
        values: the new entries by row.

    Raises:
        InputError: the file has no class of this name with a table, or the table no such row; nothing is written.
    """
    text = path.read_bytes()
    reason = "FOUND" if re.search(rb"^from .*\bFOUND\b", text, re.MULTILINE) else json.dumps(FOUND)
    for name, value in values.items():
        row = _row(ast.parse(text), learner, name, path)
        entry = f"({json.dumps(value) if isinstance(value, str) else repr(value)}, {reason})"
        old = next((keyword.value for keyword in row.keywords if keyword.arg == column), None)
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        if old is not None:
            begin, end = (
                starts[line - 1] + offset
                for line, offset in ((old.lineno, old.col_offset), (old.end_lineno or 1, old.end_col_offset or 0))
            )
            new = entry
        else:
            begin = end = starts[(row.end_lineno or 1) - 1] + (row.end_col_offset or 1) - 1
            before = text[:begin].rstrip()
            begin, new = len(before), f"{'' if before.endswith(b',') else ','} {column}={entry}"
        text = text[:begin] + new.encode() + text[end:]
    ast.parse(text)
    return write_whole(path, lambda file: file.write(text))


def _row(tree: ast.Module, learner: str, name: str, path: Path) -> ast.Call:
    """The call that makes a row in a learner's table."""
    table = _table(tree, learner) or _assigned(tree.body).get("TABLE")
    if table is None:
        raise InputError(f"{path}: has no class with name = {learner!r} and a table")
    for call in (node for node in ast.walk(table) if isinstance(node, ast.Call)):
        if call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == name:
            return call
        if name == "share" and isinstance(call.func, ast.Name) and call.func.id == sharing.__name__:
            return call  # which makes that row
    raise InputError(f"{path}: the table of {learner} has no row {name!r} of its own; expected one to rewrite")


def _table(tree: ast.Module, learner: str) -> ast.Call | None:
    """The call that makes the table of the class whose ``name`` is the learner's; None if that is made elsewhere."""
    for cls in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        assigned = _assigned(cls.body)
        named, table = assigned.get("name"), assigned.get("table")
        if isinstance(named, ast.Constant) and named.value == learner and isinstance(table, ast.Call):
            return table
    return None


def _assigned(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """What is assigned to each name in the body of a class or module."""
    return {
        target.id: statement.value
        for statement in body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def _balanced(text: str) -> bool:
    """Whether no bracket of a text is closed before it is opened."""
    depth = 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0
