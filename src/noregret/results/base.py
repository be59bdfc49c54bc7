"""What every result can do: become a frame, be drawn, show itself in a notebook, be saved and loaded.

A saved result is one .npz file: its arrays under their names, and everything else as JSON text in the array ``meta``. Nothing
in it is ever run or unpickled. Only the classes that :func:`savable` was told of are made from a file. Every result, command
and page shows its numbers in a :class:`NumberTable`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from html import escape
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import load_npz, said
from noregret._system.files import write_whole
from noregret.errors import FileError, InputError, NoRegretError, printable
from noregret.metrics import Cell, Interval, show
from noregret.results import drawing

if TYPE_CHECKING:
    from rich.console import RenderableType

#: What a formula of a spreadsheet begins with.
FORMULA = ("=", "+", "-", "@")
#: Of the layout of saved results; other ones are refused.
FORMAT = 1
#: What the annotation of a field promises.
_KINDS: dict[str, type | UnionType] = {kind.__name__: kind for kind in (str, int, bool, dict, tuple)}
_KINDS |= {"float": float | int, "None": type(None), "Array": np.ndarray, "NDArray": np.ndarray}
_CLASSES: dict[str, type] = {}

#: The columns of a frame, by name.
Columns: TypeAlias = Mapping[str, Sequence[object] | NDArray[np.generic]]


@dataclass(frozen=True)
class NumberTable:
    """Columns and rows of numbers, not of text: each way of writing the table decides how a number looks.

    A row has a cell for each column. A cell may be an :class:`~noregret.metrics.Interval`: the terminal, Markdown and HTML
    show mean ± half width, CSV has a column for each end.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""

    def rich(self) -> RenderableType:
        """For the terminal; without a head when no column has a name."""
        from rich import box
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        named = any(self.columns)
        table = RichTable(box=box.SIMPLE_HEAD if named else None, pad_edge=False, padding=(0, 2, 0, 0), show_header=named)
        for i, column in enumerate(self.columns):
            text = any(isinstance(row[i], str) for row in self.rows)
            table.add_column(Text(printable(column)), justify="left" if text else "right", overflow="fold", no_wrap=i == 0)
        for row in self.rows:
            table.add_row(*(Text(printable(show(cell))) for cell in row))
        parts: list[RenderableType] = [Text(printable(self.title), style="bold")] if self.title else []
        return Group(*parts, table, *([Text(printable(self.caption), style="italic")] if self.caption else []))

    def only(self, names: Container[str]) -> NumberTable:
        """The table with the columns of these names, in the table's order."""
        kept = [i for i, column in enumerate(self.columns) if column in names]
        rows = [[row[i] for i in kept] for row in self.rows]
        return replace(self, columns=[self.columns[i] for i in kept], rows=rows)

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = ["| " + " | ".join(self.columns) + " |", "|" + "---|" * len(self.columns)]
        lines += ["| " + " | ".join(show(cell).replace("|", "\\|") for cell in row) + " |" for row in self.rows]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """As CSV with every digit; an interval takes three columns."""
        wide = [any(isinstance(row[i], Interval) for row in self.rows) for i in range(len(self.columns))]
        header: list[str] = []
        for column, spread in zip(self.columns, wide, strict=True):
            header += [column, f"{column} low", f"{column} high"] if spread else [column]
        rows: list[list[object]] = []
        for row in self.rows:
            flat: list[object] = []
            for cell, spread in zip(row, wide, strict=True):
                if isinstance(cell, Interval):
                    flat += [float(cell.mean), float(cell.low), float(cell.high)]
                else:
                    flat += [cell, "", ""] if spread else [cell]
            rows.append(flat)
        return csv_text([header, *rows])

    def html(self) -> str:
        """The table as HTML, for notebooks."""
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = "".join("<tr>" + "".join(f"<td>{escape(show(cell))}</td>" for cell in row) + "</tr>" for row in self.rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div><strong>{escape(self.title)}</strong>{table}<small>{escape(self.caption)}</small></div>"


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Rows as CSV; an entry that is None is empty.

    A text that a spreadsheet would take for a formula gets an apostrophe in front, which spreadsheets do not show.
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([_inert(cell) for cell in row] for row in rows)
    return out.getvalue()


def _inert(cell: object) -> object:
    if not isinstance(cell, str) or len(cell) < 2 or cell.lstrip()[:1] not in FORMULA:
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


class Shown(ABC):
    """A result that becomes a frame, is drawn, and shows itself in a notebook.

    A class of this kind says what its columns are, what its summary is, and how it is drawn on a grid of axes.
    """

    @abstractmethod
    def _columns(self) -> Columns: ...

    @abstractmethod
    def _summary(self) -> NumberTable: ...

    @abstractmethod
    def _draw(self, axes: drawing.Grid) -> None: ...

    def _grid(self) -> tuple[int, int]:
        return 1, 2

    def to_frame(self) -> Any:
        """Make a data frame of pandas or, where that is not installed, of polars: a row for each trial and recorded episode.

        Raises:
            NoRegretError: neither library is installed.

        Example:
            >>> import noregret as nr
            >>> result = nr.run("random:S=3,A=2,H=2", "uniform", episodes=10, trials=2, record_every=5, progress=False)
            >>> list(result.to_frame()["episode"])
            [5, 10, 5, 10]
        """
        for name in ("pandas", "polars"):
            try:
                module = import_module(name)
            except ImportError:
                continue
            return module.DataFrame(self._columns())
        raise NoRegretError("to_frame needs pandas or polars, and neither is installed: pip install pandas")

    def plot(self, axes: object = None) -> drawing.Grid:
        """Draw the result with matplotlib: means as lines, 95% intervals as bands.

        Args:
            axes: an array of axes to draw on; None for a new figure.

        Returns:
            The axes, an array with the shape that was drawn on.
        """
        rows, columns = self._grid()
        if axes is None:
            axes = drawing.new(rows, columns, 5.2 * columns, 3.8 * rows, window=True)[1]
        flat: drawing.Grid = np.asarray(axes, dtype=object).reshape(-1)
        if len(flat) != rows * columns:
            raise InputError(f"axes has {len(flat)} entries; expected {rows} x {columns}")
        self._draw(grid := flat.reshape(rows, columns))
        return grid

    def _repr_html_(self) -> str:
        return self._summary().html()


class Saved(Shown):
    """A result that can also be written to one file and read back. A subclass is a dataclass.

    ``_shapes`` names the axes of its arrays by letters: axes with one letter have one length. Arrays in it must be finite,
    unless a ``?`` follows.
    """

    _shapes: ClassVar[dict[str, str]] = {}

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the result to one .npz file, whole or not at all; :meth:`load` reads it back bit for bit.

        Raises:
            InputError: the name does not end with .npz.
            FileError: the file cannot be written.

        Example:
            >>> import tempfile
            >>> import noregret as nr
            >>> result = nr.run("random:S=3,A=2,H=2", "uniform", episodes=10, trials=1, progress=False)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     again = nr.RunResult.load(result.save(f"{folder}/result.npz"))
            >>> bool((again.regret == result.regret).all())
            True
        """
        if Path(path).suffix != ".npz":
            raise InputError(f"{path}: expected a name that ends with .npz")
        arrays: dict[str, Any] = {}
        text = json.dumps({"noregret": FORMAT, "result": _pack(self, type(self).__name__, arrays)}, allow_nan=False)
        arrays["meta"] = np.frombuffer(text.encode(), dtype=np.uint8)
        return write_whole(path, lambda file: np.savez(file, **arrays))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`save` wrote.

        Raises:
            FileError: there is no such file, it is damaged, or it is no saved result of this class.
        """
        arrays = load_npz(path, f"a {cls.__name__} that noregret saved")
        try:
            meta = json.loads(arrays.pop("meta").tobytes())
            if meta["noregret"] != FORMAT:
                raise ValueError(f"its format is {meta['noregret']!r}; expected {FORMAT}")
            result = _unpack(meta["result"], arrays)
            if not isinstance(result, cls):
                raise TypeError(f"it is a {type(result).__name__}")
        except Exception as error:  # a damaged file makes json and NumPy raise a dozen kinds
            raise FileError(f"{path}: is not a {cls.__name__} that noregret saved: {said(error)}") from None
        return result

    def _check(self) -> None:
        """Refuse arrays whose shapes or numbers cannot be those of such a result."""
        lengths: dict[str, int] = {}
        for name, axes in self._shapes.items():
            array, letters = getattr(self, name), axes.rstrip("?")
            if array.ndim != len(letters) or any(
                lengths.setdefault(letter, n) != n for letter, n in zip(letters, array.shape, strict=True)
            ):
                raise ValueError(f"{name} has shape {array.shape}, which does not fit the other arrays")
            if axes == letters and not np.isfinite(array).all():
                raise ValueError(f"{name} has a number that is not finite")


def savable(*classes: type) -> None:
    """Allow these dataclasses and named tuples to be parts of a saved result."""
    _CLASSES.update({cls.__name__: cls for cls in classes})


def stack(parts: Iterable[tuple[Mapping[str, object], Columns]]) -> Columns:
    """One table made of several. Each part gives constants, which are repeated in all its rows, and its own columns.

    A column that a part does not have is nan there.
    """
    made = list(parts)
    widest = max((columns for _, columns in made), key=len, default={})
    rows = [len(next(iter(columns.values()))) for _, columns in made]
    stacked: dict[str, Sequence[object] | NDArray[np.generic]] = {
        name: [made[i][0][name] for i, n in enumerate(rows) for _ in range(n)] for name in (made[0][0] if made else ())
    }
    for name in widest:
        parted = [np.asarray(columns.get(name, np.full(n, np.nan))) for (_, columns), n in zip(made, rows, strict=True)]
        stacked[name] = np.concatenate(parted)
    return stacked


def _pack(value: object, name: str, arrays: dict[str, object]) -> object:
    """JSON for a value; its arrays go into ``arrays`` under names that start with ``name``."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": repr(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays[name] = value
        return {"array": name}
    if type(value).__name__ in _CLASSES:
        keys = [f.name for f in fields(value)] if is_dataclass(value) else getattr(value, "_fields", ())
        return {"class": type(value).__name__, "fields": {k: _pack(getattr(value, k), f"{name}.{k}", arrays) for k in keys}}
    if isinstance(value, Mapping):
        pairs = enumerate(value.items())
        return {"dict": [[_pack(k, f"{name}.k{i}", arrays), _pack(v, f"{name}.{i}", arrays)] for i, (k, v) in pairs]}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [_pack(item, f"{name}.{i}", arrays) for i, item in enumerate(value)]}
    raise InputError(f"{name} is a {type(value).__name__}; a saved result takes numbers, text, arrays and lists of them")


def _unpack(value: object, arrays: Mapping[str, object]) -> object:
    """The inverse of :func:`_pack`; whatever does not fit raises an error."""
    if not isinstance(value, dict | list):
        return value
    match value:
        case {"number": text}:
            return float(text)
        case {"array": name}:
            return arrays[name]
        case {"list": items}:
            return [_unpack(item, arrays) for item in items]
        case {"tuple": items}:
            return tuple(_unpack(item, arrays) for item in items)
        case {"dict": pairs}:
            return {_unpack(k, arrays): _unpack(v, arrays) for k, v in pairs}
        case {"class": kind, "fields": given}:
            made = _CLASSES[kind](**{k: _unpack(v, arrays) for k, v in given.items()})
            _check_kinds(made)
            return made
    raise ValueError(f"an entry with {sorted(value)} is not known")


def _check_kinds(made: object) -> None:
    """Refuse an entry that is not of the kind its annotation names."""
    for name, declared in type(made).__annotations__.items():
        annotation = str(getattr(declared, "__forward_arg__", declared))  # named tuples wrap theirs
        if annotation.startswith("ClassVar"):
            continue
        value, kinds = getattr(made, name), re.sub(r"\[.*\]", "", annotation).split(" | ")
        if not any(isinstance(value, _KINDS.get(kind) or _CLASSES[kind]) for kind in kinds):
            raise TypeError(f"{name} is a {type(value).__name__}; expected {annotation}")
        if isinstance(value, np.ndarray) and value.dtype.name not in re.sub(r"\bArray\b", "float64", annotation):
            raise TypeError(f"{name} has entries of type {value.dtype}; expected {annotation}")
    if isinstance(made, Saved):
        made._check()
