"""Forget all data: make a Gram what it was before the first episode, in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.kernels.gram import OneHotGram, TableGram
from noregret.kernels.jit import Bodies, jit, overload

_clear = Bodies("clear")


def clear(gram: Any) -> None:
    """Λ = λI and no data."""
    _clear(gram)(gram)  # type: ignore[misc]


@overload(clear)
def _(gram):  # type: ignore[no-untyped-def]
    return _clear(gram)


def _clear_one_hot(gram: Any) -> None:
    gram.visits[:] = 0.0
    gram.fit[:] = 0.0
    gram.fit[..., 0] = 1.0 / gram.lam
    gram.fit[..., 1] = 1.0 / np.sqrt(gram.lam)
    gram.successors[:] = 0
    gram.successor[:] = 0
    gram.times[:] = 0.0
    gram.known[:] = False
    gram.actives[:] = 0
    gram.active[:] = 0


def _clear_table(gram: Any) -> None:
    no_rows(gram.phi, gram.lam, gram.Lambda, gram.Lambda_inv, gram.square, gram.norm)
    gram.visits[:] = 0
    gram.moment[:] = 0.0
    gram.total[:] = 0.0
    gram.seen[:] = 0
    gram.seen_state[:] = 0
    gram.known[:] = False


@jit
def no_rows(phi: Any, lam: float, Lambda: Any, Lambda_inv: Any, square: Any, norm: Any) -> None:
    """Λ = λI at every step, its inverse, and ‖φ‖² and ‖φ‖ of every pair."""
    d, SA = phi.shape
    for h in range(len(Lambda)):
        for i in range(d):
            for k in range(d):
                Lambda[h, i, k] = lam if i == k else 0.0
                Lambda_inv[h, i, k] = 1.0 / lam if i == k else 0.0
        for row in range(SA):
            total = 0.0
            for i in range(d):
                total += phi[i, row] * phi[i, row] / lam
            square[h, row] = total
            norm[h, row] = np.sqrt(total)


_clear.add(OneHotGram, _clear_one_hot)
_clear.add(TableGram, _clear_table)
