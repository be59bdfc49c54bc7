"""The yardstick for one-hot speed: Algorithm 1 as a plain dense Numba kernel, one utility, no tricks.

Dense counts n(h,s,a,s'), dense rows of P, a backward evaluation of the policy, the soft-max as written with the maximum
subtracted. It is what one writes first; the library must be at least 1.7 times as fast.
"""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(nogil=True)
def dense_run(P, r, g_next, g, b, start, K, lam, beta, alpha, eta, xi, zeta, u, v):
    """Play K episodes; returns the sums of V_r and V_g of the policies played and the final dual."""
    H, S, A, _ = P.shape
    n = np.zeros((H, S, A))
    counts = np.zeros((H, S, A, S))
    sum_r = np.zeros((H, S, A))
    sum_g = np.zeros((H, S, A))
    Q_r = np.zeros((S, A))
    Q_g = np.zeros((S, A))
    V_r = np.zeros((H + 1, S))
    V_g = np.zeros((H + 1, S))
    policy = np.zeros((H, S, A))
    W_r = np.zeros((H + 1, S))
    W_g = np.zeros((H + 1, S))
    Y = 0.0
    total_r = 0.0
    total_g = 0.0
    for k in range(K):
        for h in range(H - 1, -1, -1):
            for s in range(S):
                best = -np.inf
                for a in range(A):
                    t_r = sum_r[h, s, a]
                    t_g = sum_g[h, s, a]
                    for x in range(S):
                        t_r += counts[h, s, a, x] * V_r[h + 1, x]
                        t_g += counts[h, s, a, x] * V_g[h + 1, x]
                    bonus = beta / np.sqrt(n[h, s, a] + lam)
                    Q_r[s, a] = min(t_r / (n[h, s, a] + lam) + bonus, H)
                    Q_g[s, a] = min(t_g / (n[h, s, a] + lam) + bonus, H)
                    best = max(best, Q_r[s, a] + Y * Q_g[s, a])
                total = 0.0
                for a in range(A):
                    policy[h, s, a] = np.exp(alpha * (Q_r[s, a] + Y * Q_g[s, a] - best))
                    total += policy[h, s, a]
                V_r[h, s] = 0.0
                V_g[h, s] = 0.0
                for a in range(A):
                    policy[h, s, a] /= total
                    V_r[h, s] += policy[h, s, a] * Q_r[s, a]
                    V_g[h, s] += policy[h, s, a] * Q_g[s, a]
        for h in range(H - 1, -1, -1):
            for s in range(S):
                W_r[h, s] = 0.0
                W_g[h, s] = 0.0
                for a in range(A):
                    q_r = r[h, s, a]
                    q_g = g[h, s, a]
                    for x in range(S):
                        q_r += P[h, s, a, x] * W_r[h + 1, x]
                        q_g += P[h, s, a, x] * W_g[h + 1, x]
                    W_r[h, s] += policy[h, s, a] * q_r
                    W_g[h, s] += policy[h, s, a] * q_g
        total_r += W_r[0, start]
        total_g += W_g[0, start]
        s = start
        for h in range(H):
            a = 0
            c = policy[h, s, 0]
            while c <= v[k, h] and a < A - 1:
                a += 1
                c += policy[h, s, a]
            x = 0
            c = P[h, s, a, 0]
            while c <= u[k, 1 + h] and x < S - 1:
                x += 1
                c += P[h, s, a, x]
            n[h, s, a] += 1
            counts[h, s, a, x] += 1
            sum_r[h, s, a] += r[h, s, a]
            sum_g[h, s, a] += g_next[h, s, a, x]
            s = x
        Y = max(min(Y + eta * (b + zeta - V_g[0, start]), xi), 0.0)
    return total_r, total_g, Y
