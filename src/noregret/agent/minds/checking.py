"""Arrays of a mind that come from a file, and so perhaps from a stranger: asked for one by one, with what each must be.

Compiled code trusts sizes and indices, so nothing may reach it that was not asked for here.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from noregret._system.arrays import LARGEST, check_range
from noregret.errors import InputError
from noregret.learners.arrays import Numbers

#: Counts of anything stay below this.
MANY = 2.0**53
KINDS: dict[str, type[np.generic]] = {"float": np.float64, "single": np.float32, "whole": np.int64, "truth": np.bool_}


class Checked:
    """Gives arrays by name, in C order, once their type, shape and range are as they should be.

    Args:
        arrays: by name.
        sizes: lengths of axes by name, such as ``A=3``. A name that is not known yet gets its length from the first array that
            has such an axis, and all others must agree.
    """

    def __init__(self, arrays: Mapping[str, Numbers], **sizes: int) -> None:
        self._arrays, self.sizes = arrays, sizes
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def take(
        self, name: str, axes: str, kind: str = "float", low: float = -LARGEST, high: float = LARGEST, odd: str = ""
    ) -> Numbers:
        """Give an array.

        Args:
            name: of the array.
            axes: the names or lengths of its axes, such as "n A 2"; "" for a single number.
            kind: "float", "single", "whole" or "truth".
            low: the least entry.
            high: the largest entry.
            odd: which numbers that are not finite may be there too: any of "nan", "inf".

        Raises:
            InputError: the array is missing or is not like this; the message names it.
        """
        if name not in self._arrays:
            raise InputError(f"state[{name!r}] is missing; expected an array with axes ({axes})")
        self._asked.add(name)
        array = self._arrays[name]
        for axis, length in zip(axes.split(), array.shape, strict=False):
            if not axis.isdecimal():
                self.sizes.setdefault(axis, length)
        shape = tuple(int(axis) if axis.isdecimal() else self.sizes.get(axis, -1) for axis in axes.split())
        if array.shape != shape or array.dtype != KINDS[kind]:
            raise InputError(
                f"state[{name!r}] has shape {array.shape} and type {array.dtype}; expected {shape}, {np.dtype(KINDS[kind])}"
            )
        if kind != "truth":
            usual = array
            if odd:
                strange = np.isnan(array) if odd == "nan" else np.isinf(array)
                usual = np.where(strange, low, array)
            check_range(f"state[{name!r}]", usual, (low, high))
        return np.array(array, order="C")

    def must(self, good: bool | np.bool_, name: str, expected: str) -> None:
        """Refuse an array that disagrees with others or with itself.

        Args:
            good: whether it agrees.
            name: of the array.
            expected: what was expected of it.

        Raises:
            InputError: it does not.
        """
        if not good:
            raise InputError(f"state[{name!r}] cannot be; expected {expected}")

    def nothing_else(self) -> None:
        """Refuse arrays that nobody asked for."""
        if rest := sorted(self._arrays.keys() - self._asked):
            raise InputError(f"state[{rest[0]!r}] is not known; expected what arrays() gave")
