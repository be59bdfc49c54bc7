"""What a kind of file is to the fuzz tests."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from tests.fuzz.damage import Rng

#: A share that is no share.
ALL = 1e9


class Reader:
    """A kind of file. ``share`` is its part of all cases; with :data:`ALL` it has as many of its own."""

    share: ClassVar[float] = 1.0

    def prepare(self, folder: Path) -> None:
        """Make a good file in ``folder``."""

    def spoil(self, rng: Rng) -> None:
        """Put a spoiled file in its place."""

    def read(self) -> None:
        """Read the file and use what it says."""
