"""Λ⁻¹ of a growing Gram matrix: by a rank-one update for each row, and anew from Λ by its Cholesky factor."""

from __future__ import annotations

import numpy as np

from noregret.kernels.compiler.jit import jit
from noregret.kernels.types import Array

#: Visits of a step between two exact inversions of Λ.
REFRESH = 1000


@jit
def add_row(Lambda: Array, Lambda_inv: Array, phi: Array, u: Array) -> float:
    """Λ ← Λ + φφᵀ and its inverse; u becomes Λ⁻¹φ with the old Λ, and 1 + φᵀu is returned."""
    d = len(phi)
    growth = 1.0
    for i in range(d):
        u[i] = 0.0
        for j in range(d):
            Lambda[i, j] += phi[i] * phi[j]
            u[i] += Lambda_inv[i, j] * phi[j]
        growth += phi[i] * u[i]
    for i in range(d):
        for j in range(d):
            Lambda_inv[i, j] -= u[i] * u[j] / growth
    return growth


@jit
def inverse_factor(Lambda: Array) -> Array:
    """L⁻¹ for the Cholesky factor Λ = LLᵀ; then Λ⁻¹ = L⁻ᵀL⁻¹ and ‖φ‖² = |L⁻¹φ|²."""
    d = len(Lambda)
    L, L_inv = np.zeros((d, d)), np.zeros((d, d))
    for i in range(d):
        for j in range(i + 1):
            total = Lambda[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = np.sqrt(total) if i == j else total / L[j, j]
    for j in range(d):
        L_inv[j, j] = 1.0 / L[j, j]
        for i in range(j + 1, d):
            total = 0.0
            for k in range(j, i):
                total -= L[i, k] * L_inv[k, j]
            L_inv[i, j] = total / L[i, i]
    return L_inv


@jit
def from_factor(L_inv: Array, out: Array) -> None:
    """Λ⁻¹ = L⁻ᵀL⁻¹ into ``out``."""
    d = len(L_inv)
    for i in range(d):
        for j in range(d):
            total = 0.0
            for k in range(max(i, j), d):
                total += L_inv[k, i] * L_inv[k, j]
            out[i, j] = total
