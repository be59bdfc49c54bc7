r"""The constants of the paper, each a function of what the user knows; nothing here looks at data.

Let d be the dimension of φ, H the horizon, K the number of episodes, T = KH the number of steps, A the number of
actions, γ (``slater_gap``) the margin by which some policy satisfies every constraint, and p the probability that
the guarantees fail. The paper sets

    ι = log(4 log|A| d T/p)                 the logarithmic factor          :func:`iota`
    β = C₁ d H √ι                           the width of the bonus          :func:`beta`
    ξ = 2H/γ                                the cap of the dual variable    :func:`xi`
    η = ξ/√(KH²)                            the step of the dual variable   :func:`eta`
    α = log|A| K/(2(1+ξ+H))                 the sharpness of the soft-max   :func:`alpha`
    ζ = min{C'·2(1+ξ)/ξ·√(d³H³Tι²)/K, γ/2}  the tightening of the threshold :func:`zeta`

with λ = 1, and proves (Theorem 1) that with probability at least 1 - p

    regret    <= C √(d³H³Tι²) + ξ√(HT)                                     :func:`regret_bound`
    violation <= C'·2(1+ξ)/ξ·√(d³H³Tι²)                                    :func:`violation_bound`

and (Theorem 2) what follows for b + ζ in place of b. Every docstring names the lines of ``paper.tex`` it follows.

Three readings to know of. The constants C₁, C, C' are "absolute" in the theorems and never given; they are arguments,
1 unless told. The theorems are stated for |A| >= 2: with one action log|A| = 0 and ι would be -∞, though there is
nothing left to choose; ι and α then use log 2, so that they stay positive and a problem with one action runs like
any other. And T always means KH.
"""

from noregret.theory.bounds import (
    Promise,
    promise,
    regret_bound,
    regret_bound_tightened,
    tightening_loss,
    violation_bound,
    violation_bound_tightened,
    zeta,
)
from noregret.theory.constants import (
    ALPHA_RULES,
    LAMBDA,
    AlphaRule,
    C1_of_proof,
    alpha,
    alpha_alg1,
    alpha_experiment,
    alpha_text,
    beta,
    chi,
    dual_bound,
    eta,
    iota,
    softmax_gap,
    xi,
)

__all__ = [
    "ALPHA_RULES",
    "LAMBDA",
    "AlphaRule",
    "C1_of_proof",
    "Promise",
    "alpha",
    "alpha_alg1",
    "alpha_experiment",
    "alpha_text",
    "beta",
    "chi",
    "dual_bound",
    "eta",
    "iota",
    "promise",
    "regret_bound",
    "regret_bound_tightened",
    "softmax_gap",
    "tightening_loss",
    "violation_bound",
    "violation_bound_tightened",
    "xi",
    "zeta",
]
