"""Arrays of soft-cells by what they hold; the names of :mod:`noregret.kernels.types` stand for the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.kernels.types import Array, Flags, Integers

__all__ = ["Array", "Arrays", "Flags", "Integers", "NextPlaces", "Observation", "Singles"]

#: What compiled passes read often: half the memory of float64.
Singles = NDArray[np.float32]
#: Numbers of prototypes in the rows of a model.
NextPlaces = NDArray[np.int32]
#: As a mind sees it: a vector (D,), or one of the numbers 0..n-1.
Observation = Array | Integers
#: Arrays of several types by name, for a file.
Arrays = dict[str, NDArray[Any]]
