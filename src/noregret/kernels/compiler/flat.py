"""What makes inner loops fast: indices that cannot be negative, and tables read as one line of numbers.

Loops that walk several tables of (h,s,a) by one row number (h·S + s)·A + a are up to twice as fast as loops over the tables: an
access costs an addition in place of a product for each axis.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.compiler.jit import jit
from noregret.kernels.compiler.views import flat as flat

#: The type of indices in inner loops: Numba leaves out the wrap-around of negative ones. Count with each other only: an
#: unsigned and a signed number make a float.
index: Any = np.uint64


@partial(jit, inline=True)
def row(array: NDArray[np.generic], h: int) -> int:
    """Where step h is in an array that has an entry for each step, or one for all of them."""
    return min(h, len(array) - 1)


@jit
def put(target: NDArray[np.generic], values: NDArray[np.generic]) -> None:
    """Copy the entries of a C-ordered array into another of the same shape; ``target[:] = values`` takes seconds to compile."""
    into, source = flat(target), flat(values)
    for i in range(index(target.size)):
        into[i] = source[i]


@jit
def fill(target: NDArray[np.generic], value: float) -> None:
    """Set all entries of a C-ordered array; ``target[:] = value`` takes long to compile."""
    into = flat(target)
    for i in range(index(target.size)):
        into[i] = value
