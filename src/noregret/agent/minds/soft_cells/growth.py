"""What was learned, for a world that shows more numbers or has more actions than before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret.agent.minds.soft_cells.types import Arrays


def grown(arrays: Arrays, stride: int, defaults: Sequence[float], more: int) -> Arrays:
    """The arrays of a mind whose observations have new numbers at their end, or that has more actions.

    Old observations get the defaults. New actions were never taken, so nothing is known of them, and they could be taken
    wherever all others could. Plans and a network are left out: the next ones are made from what is remembered.

    Args:
        arrays: what ``SoftCells.arrays`` gave.
        stride: what separates places in the keys of counted transitions.
        defaults: of the new numbers.
        more: how many new actions there are.
    """
    out = {name: value for name, value in arrays.items() if name.split("/")[0] not in ("plan", "best", "network")}
    out["tally"] = out["tally"][:0]
    out["counters"] = np.append(out["counters"][:-1], 0)
    if "memory/states" in out:
        states = out["memory/states"]
        out["memory/states"] = np.column_stack([states, np.tile(np.array(defaults), (len(states), 1))]) if defaults else states
        out["memory/masks"] = _wider(out["memory/masks"], more, True)
    if "memory/visits" in out:
        for name, fill in (("visits", 0.0), ("allowed", True)):
            out[f"memory/{name}"] = _wider(out[f"memory/{name}"], more, fill)
        sums = out["memory/sums"]
        out["memory/sums"] = np.concatenate([sums, np.zeros((len(sums), more, sums.shape[2]))], axis=1)
        keys, n_actions = out["memory/next"].copy(), sums.shape[1]
        row, after = keys[:, 0] // stride, keys[:, 0] % stride
        keys[:, 0] = (row // n_actions * (n_actions + more) + row % n_actions) * stride + after
        out["memory/next"] = keys
    return out


def _wider(array: NDArray[Any], more: int, fill: float | bool) -> NDArray[Any]:
    return np.concatenate([array, np.full((len(array), more), fill, dtype=array.dtype)], axis=1)
