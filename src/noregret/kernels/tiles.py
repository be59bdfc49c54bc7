"""Products with a tile of cached features, laid out coordinate by coordinate (p, lanes): they run along the lanes.

A loop over lanes has no sum in it, so it is vectorised in the order written and gives the same bits everywhere.
"""

from __future__ import annotations

from typing import Any

from noregret.kernels.jit import jit


@jit
def weigh(F: Any, v: Any, out: Any) -> None:
    """Set out = vᵀF for a tile F (p, lanes)."""
    p, n = F.shape
    for k in range(n):
        out[k] = 0.0
    for i in range(p):
        a = v[i]
        for k in range(n):
            out[k] += a * F[i, k]


@jit
def weigh_two(F: Any, v: Any, u: Any, out: Any, also: Any) -> None:
    """The same for two vectors at once, so that the tile is read once for both."""
    p, n = F.shape
    for k in range(n):
        out[k] = 0.0
        also[k] = 0.0
    for i in range(p):
        a, b = v[i], u[i]
        for k in range(n):
            f = F[i, k]
            out[k] += a * f
            also[k] += b * f


@jit
def weigh_three(F: Any, v: Any, u: Any, z: Any, out: Any, also: Any, third: Any) -> None:
    """The same for three: while a tile comes from memory, there is enough to compute."""
    p, n = F.shape
    for k in range(n):
        out[k] = 0.0
        also[k] = 0.0
        third[k] = 0.0
    for i in range(p):
        a, b, c = v[i], u[i], z[i]
        for k in range(n):
            f = F[i, k]
            out[k] += a * f
            also[k] += b * f
            third[k] += c * f


@jit
def lower(product: Any, block: int, q: Any, R: int) -> None:
    """Set q ← q - (φᵀu)² for a tile: in all rows of a joint map, in the block of the action taken for a lifted one."""
    T = q.shape[1]
    for r in range(R):
        a = r if R > 1 else block
        for t in range(T):
            z = product[r * T + t]
            q[a, t] = max(q[a, t] - z * z, 0.0)
