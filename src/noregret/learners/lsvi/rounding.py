"""ε-net rounding: the alternative to the soft-max that the paper's appendix compares with (after Xie, Chen, Wang, Yang 2020).

``primal-dual-lsvi`` with ``rounding=ε`` is Algorithm 1 with lines 8-12 replaced: w_r, w_g and β²Λ⁻¹ are rounded to a net of
radius ε (:mod:`noregret.kernels.gram.net`), Y to a multiple of ε, and the policy is greedy on the composite of the rounded Q:

    Q̃_j = min{ ⟨w̃_j,φ⟩ + √(φᵀÃφ), cap },   Ỹ = ε round(Y/ε),   π = argmax_a Q̃_r + Σ_i Ỹ_i Q̃_{g_i},   V_j = ⟨π, Q̃_j⟩.

Then only finitely many value functions exist, which is what the proof needs of the soft-max. Where we choose: V_j comes from
the rounded Q (the unrounded one differs by at most ε a step), ties are played uniformly (rounding makes many), and ε is one
number for the whole run.

References:
    Xie, Chen, Wang, Yang. Learning Zero-Sum Simultaneous-Move Markov Games Using Function Approximation. COLT 2020.
"""

from __future__ import annotations

import numpy as np

from noregret.kernels.gram.base import Tables
from noregret.kernels.gram.net import NetGram, NumberedGram, nearest, net_gram
from noregret.learners.lsvi.rule import Rule


def rounded(gram: NumberedGram, tables: Tables, rule: Rule, d: int, eps: float) -> NetGram:
    """A net of radius ``eps`` over the Gram; where nothing was seen the bonus in ``tables`` is rounded too.

    Args:
        gram: the data, Λ and the sums of the regression.
        tables: Q and V before the first episode, changed in place.
        rule: the constants.
        d: the dimension of φ.
        eps: ε, the radius of the net.
    """
    m = len(rule.b)
    net = net_gram(gram, eps, d, m)
    for j in range(1 + m):
        bonus = rule.beta[j] * (rule.span_floor if rule.span_floor >= 0.0 else 1.0)
        tables.Q[:, j] = np.minimum(np.sqrt(nearest(bonus**2 / gram.lam, net.square)), rule.cap)[:, None, None]
    tables.V[:-1] = tables.Q[..., 0]
    return net
