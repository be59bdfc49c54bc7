"""The rows of a learner's table of constants: what one may be, and its entry in the column of each preset."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from noregret._system.checks import integer
from noregret.errors import InputError, unknown_name

#: A value, or a formula in text, and the reason for it.
Entry = tuple[str | float, str]

#: Constants beyond this have squares that are no numbers any more.
LARGEST = 1e100

#: The column of a row that holds for all presets without one of their own.
EVERY = "every"


class ConstantRow:
    """One constant: its name, and an entry for each preset.

    Args:
        name: of the constant, as a user gives it.
        every: the entry of all presets that have none of their own.
        columns: the entries by preset.
    """

    def __init__(self, name: str, *, every: Entry | None = None, **columns: Entry) -> None:
        self.name = name
        self.columns: dict[str, Entry] = ({} if every is None else {EVERY: every}) | columns

    def entry(self, preset: str, like: Mapping[str, str]) -> Entry:
        """The entry of a preset: its own, or that of the preset it is like, or the one of all.

        Args:
            preset: the name of the column.
            like: for presets that differ from another one in some rows, the other one.
        """
        column: str | None = preset
        while column is not None and column not in self.columns:
            column = like.get(column)
        standing = self.columns.get(column or EVERY)
        if standing is None:
            raise KeyError(f"{self.name} has no entry for preset {preset!r}")
        return standing

    def formula(self, value: object) -> str | None:
        """The formula, where the value is one."""
        return value if isinstance(value, str) else None

    def computed(self, value: object) -> object:
        """What a formula gave, as it is meant."""
        return value

    def checked(self, value: object) -> object:
        """The value, of its type and in its range.

        Raises:
            InputError: it is not; the message has the name, the value and what was expected.
        """
        return value

    def expected(self) -> str:
        """What may be given, in words, for pages and errors."""
        return "a value"


class Number(ConstantRow):
    """A number that is at least 0.

    Args:
        name: of the constant.
        above: the number must be larger than this; None for at least 0.
        most: the number may be at most this.
        infinite: ∞ is allowed.
        columns: the entries by preset, and ``every``.
    """

    def __init__(
        self,
        name: str,
        *,
        above: float | None = None,
        most: float = LARGEST,
        infinite: bool = False,
        **columns: Entry,
    ) -> None:
        super().__init__(name, **columns)
        self.above, self.most, self.infinite = above, most, infinite

    def checked(self, value: object) -> float:
        """A float in the range."""
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{self.name} is {str(value)[:60]!r}; expected {self.expected()}") from None
        low = number > self.above if self.above is not None else number >= 0.0
        if isinstance(value, bool | np.bool_) or not low or not (number <= self.most or (self.infinite and number == math.inf)):
            raise InputError(f"{self.name} is {value!r}; expected {self.expected()}")
        return number

    def expected(self) -> str:
        """The range in words."""
        least = "of at least 0" if self.above is None else f"above {self.above:g}"
        return f"a number {least}, at most {self.most:g}" + (", or inf" if self.infinite else "")


class Count(ConstantRow):
    """A whole number.

    Args:
        name: of the constant.
        least: the smallest that is allowed.
        most: the largest that is allowed; ∞ where "as many as there are" is one of the answers.
        columns: the entries by preset, and ``every``.
    """

    def __init__(self, name: str, *, least: int = 1, most: float = 1 << 62, **columns: Entry) -> None:
        super().__init__(name, **columns)
        self.least, self.most = least, most

    def checked(self, value: object) -> float:
        """A Python integer in the range, or ∞."""
        if value == math.inf == self.most:
            return math.inf
        return integer(self.name, value, self.least, int(min(self.most, 1 << 62)))

    def computed(self, value: object) -> object:
        """A formula gives floats; a whole one is meant as an integer."""
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def expected(self) -> str:
        """The range in words."""
        if self.most == math.inf:
            return f"a whole number from {self.least} on, or inf"
        return f"a whole number from {self.least} " + (f"to {self.most:,}" if self.most < 1 << 62 else "on")


class Flag(ConstantRow):
    """True or False."""

    def checked(self, value: object) -> bool:
        """A Python bool."""
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"{self.name} is {value!r}; expected True or False")
        return bool(value)

    def expected(self) -> str:
        """The two values."""
        return "True or False"


class Word(ConstantRow):
    """One of some words.

    Args:
        name: of the option.
        words: what it may be.
        columns: the entries by preset, and ``every``: a word, or a formula with an ``if`` in it.
    """

    def __init__(self, name: str, words: tuple[str, ...], **columns: Entry) -> None:
        super().__init__(name, **columns)
        self.words = words

    def formula(self, value: object) -> str | None:
        """The formula, where the value is one: a word alone is none."""
        return value if isinstance(value, str) and " if " in value else None

    def checked(self, value: object) -> str:
        """One of the words."""
        if not isinstance(value, str) or value not in self.words:
            raise unknown_name(self.name, str(value), self.words)
        return value

    def expected(self) -> str:
        """The words."""
        return " or ".join(map(repr, self.words))
