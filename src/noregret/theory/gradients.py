r"""Steps and bounds of the exact-gradient methods, NPG-PD and CRPO, on a horizon H.

Both move a soft-max policy by π_h ← ∝ π_h exp(α Q_h), T times from the uniform policy. The papers are on discounted problems;
the bounds here are for H steps and were derived for this library, along the papers' lines. Two facts carry them. For any
policy π*

    V*_f − V^t_f = (1/α) Σ_h E_{π*} [ KL(π*_h | π^t_h) − KL(π*_h | π^{t+1}_h) + log Σ_a π^t_h(a) exp(α A^t_h(a)) ],

f the reward that the step is for, A its advantage; and that last logarithm is at most α (V^{t+1}_{f,h} − V^t_{f,h}), as every
such step is an improvement in every state, and at most α² (H−h+1)²/8, by Hoeffding.
"""

from __future__ import annotations

import math


def npg_pd_steps(*, H: int, A: int, T: int) -> tuple[float, float]:
    """α = 2 log A and η = 1/(H√T), those of Ding et al. (2020) with H for 1/(1−γ).

    Args:
        H: the horizon.
        A: the number of actions.
        T: the number of iterations.
    """
    return 2.0 * math.log(max(A, 2)), 1.0 / (H * math.sqrt(T))


def npg_pd_bounds(*, H: int, A: int, T: int, m: int, alpha: float, eta: float, xi: float) -> tuple[float, float]:
    """How far the average of T exact steps of NPG-PD is from V* at most, and how much of one constraint it lacks at most.

    The improvements telescope but for the moves of Y, each at most ηH, so that with W = H(H+1)/2 the Lagrangian's average gap
    is at most H log A/(αT) + W/T + 2mηHW. The prices add mηH²/2. With ξ ≥ 2Y* the violation is at most 2/ξ times all this and
    ξ²/(2ηT) more.

    Args:
        H: the horizon.
        A: the number of actions.
        T: the number of iterations.
        m: the number of constraints.
        alpha: the step of the policy.
        eta: the step of the prices.
        xi: the cap of the prices.
    """
    W = H * (H + 1) / 2
    gap = H * math.log(A) / (alpha * T) + W / T + 2 * m * eta * H * W + m * eta * H**2 / 2
    return gap, 2 / xi * (gap + xi**2 / (2 * eta * T))


def crpo_steps(*, H: int, A: int, T: int) -> tuple[float, float]:
    """α and tol for exact steps of CRPO: α makes D = H log A/α + αTΣ_h(H−h+1)²/8 least, tol = 2D/T.

    The sum of the gaps at steps for the reward, and of tol at all others, is at most D. So at least half of the steps are for
    the reward unless their gaps add up to less than 0, and the mixture of their policies is within tol of V* and of b.

    Args:
        H: the horizon.
        A: the number of actions.
        T: the number of iterations.
    """
    entropy, squares = H * math.log(max(A, 2)), H * (H + 1) * (2 * H + 1) / 6
    alpha = math.sqrt(8 * entropy / (T * squares))
    return alpha, 2 * (entropy / alpha + alpha * T * squares / 8) / T
