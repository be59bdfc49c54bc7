r"""OPDOP (Ding, Wei, Yang, Wang, Jovanović 2021): optimistic evaluation, mirror descent with mixing, dual step.

Let α be the step of the policy, θ the weight of uniform mixing, η the step and χ (``xi`` here) the cap of the dual, β the
bonus, λ the ridge, n the visits before episode k. Before the first episode π is uniform and Y = clip(ηb, 0, χ), which is
the paper's Y⁰ = 0 after one step with V⁰ = 0. Episode k plays π, evaluates it backwards from V_{j,H+1} = 0 for j in {r, g},

    Q_{j,h} = clip( ĵ_h + estimate of P_h V_{j,h+1} + bonuses, 0, H−h+1 ),   V_{j,h} = ⟨π_h, Q_{j,h}⟩

and then, with these Q and V and the Y that is older than this V,

    π_h(a|x) ← ∝ ((1−θ) π_h(a|x) + θ/A) exp( α (Q_{r,h} + Y Q_{g,h}) ),    Y ← clip( Y + η (b − V_{g,1}), 0, χ ).

Two forms of the estimate:

- ``form`` "tabular" (default), the paper's variant for tables: p̂ = n(x,a,x')/(n(x,a)+λ), ĵ = Σj/(n+λ), bonuses 2β(n+λ)^-1/2,
  β = H √(S log(SAT/p)).
- ``form`` "kernel", its linear-kernel algorithm with ψ(x,a,x') = e_{(x,a,x')}, φ = e_{(x,a)}: value-targeted regression, whose
  targets are the values V^τ of the episodes of the past (:mod:`noregret.kernels.targets`), bonuses β(n+λ)^-1/2 + β‖V‖_{Λ⁻¹},
  β = √(dH² log(dT/p)), d = S²A. It keeps 4 S×S matrices for every (h,x,a) and is for small S.

Constants of ``theory``: α = √(log A)/(H²√K), η = 1/√K, θ = 1/K, λ = 1, χ = 2H/γ, C₁ = 1 in β, ``bonus_scale`` 1.
``practical``: ``bonus_scale`` 2·10⁻⁴, λ = 0.01, α = 5/√K, η = 0.3, χ = 2H (2H/γ where γ is known). The policy is random enough
to explore by itself, so that smaller bonuses did better on every problem tried; η need not shrink with α.

Deviations: a pair never tried has Q = H−h+1 in both forms (in ``theory`` the bonus gives that anyhow). With a start
distribution V_{g,1} is its mean over it; the paper has one start. One constraint, as in the paper.

References:
    Ding, Wei, Yang, Wang, Jovanović. Provably Efficient Safe Exploration via Primal-Dual Policy Optimization. AISTATS 2021,
    arXiv 2003.00534.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from noregret.errors import InputError
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.mirror import policy_value
from noregret.kernels.targets import Targets, estimate_targets, learn_targets, targets
from noregret.learners.choices import Choices, searched
from noregret.learners.registry import register
from noregret.learners.tabular import PACING, MirrorRule, MirrorState, TabularLearner, improve, mirror_state, pacing
from noregret.problems.base import Array, Spec

#: The most numbers that the matrices of the kernel form may have: 400 MB.
LARGEST = 5 * 10**7


class KernelState(NamedTuple):
    """The kernel form: what the tabular form has, whose model has the means and counts, and the blocks."""

    mirror: MirrorState
    policy: Array  # (H,S,A) of it
    Y: Array  # (m,) of it
    Q: Array  # (H,J,S,A) of it
    V: Array  # (H+1,J,S) of it
    blocks: Targets
    beta: float


def plan(state: Any) -> None:
    """Evaluate the policy by value-targeted regression; the policy stands."""
    one = state.mirror
    for h in range(len(one.Q) - 1, -1, -1):
        estimate_targets(state.blocks, one.model, h, one, state.beta, (0.0, one.cap[h]))
        policy_value(one.model, h, one)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """The policy step, the dual step, then the episode, with the values it was planned with as targets.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    improve(state.mirror, states, actions, observed)
    learn_targets(state.blocks, state.mirror.model.visits, states, actions, state.V)


@register
class OPDOP(TabularLearner):
    """``opdop``: optimistic primal-dual proximal policy optimisation, on tables or by value-targeted regression."""

    name = "opdop"
    summary = "OPDOP (Ding et al. 2021): optimistic evaluation, mirror descent with mixing, dual step"
    promise = ("√(d²H⁵T)", "√(d²H⁵T)")
    source = "memory"
    parameters = (
        "form", "bonus_scale", "alpha", "eta", "theta", "lam", "beta", "xi", "p", "share", *PACING,
    )  # fmt: skip
    sharing = ("all",)
    several = False
    space = searched(
        theory=(
            "bonus_scale=1e-6:1:log", "lam_scale=1e-3:1:log", "alpha_scale=1:1e4:log", "eta_scale=0.1:1000:log",
            "xi_scale=0.1:10:log",
        ),
        practical=(
            "bonus_scale=1e-6:1e-2:log", "lam_scale=0.01:100:log", "alpha_scale=0.1:10:log", "eta_scale=0.03:30:log",
            "xi_scale=0.1:10:log", "dual_estimate=optimistic,plain", "damping=false,true", "anti_windup=false,true",
            "alpha_schedule=fixed,anytime", "eta_schedule=fixed,anytime",
        ),
    )  # fmt: skip

    def _start(self, spec: Spec, K: int, choices: Choices) -> MirrorState | KernelState:
        H, S, A = spec.horizon, spec.n_states, spec.n_actions
        form = choices.word("form", "tabular", ("tabular", "kernel"), "the paper's variant for tables")
        if form == "kernel":
            choices.tuned = {}  # found for the other form
        d = S * S * A
        if form == "kernel" and 2 * H * 2 * d * S > LARGEST:
            raise InputError(
                f"form is 'kernel' with S={S}, A={A}, H={H}; its matrices need {4 * H * d * S} numbers, at most {LARGEST}"
            )
        p = choices.probability()
        scale = choices.number(
            "bonus_scale",
            (1.0, "the paper's bonus"),
            (2e-4, "tuned: enough for the bonus to break ties, the policy itself keeps exploring"),
        )
        if form == "tabular":
            width, shape = H * math.sqrt(S * math.log(S * A * K * H / p)), "H√(S log(SAT/p))"
        else:
            width, shape = H * math.sqrt(d * math.log(d * K * H / p)), "√(dH² log(dT/p))"
        beta = choices.number("beta", (scale * width, f"bonus_scale·{shape}"))
        lam = choices.number("lam", (1.0, "λ = 1"), (0.01, "tuned"), above=0.0)
        xi = choices.number("xi", (2 * H / choices.gap(), "2H/γ" + ("" if choices.slater_gap else ", γ unknown taken as 1")))
        own = pacing(spec, choices)
        if form == "kernel" and own.prior > 0.0:
            raise InputError("dual_estimate is 'plain' and form is 'kernel'; expected form 'tabular' with it")
        printed = (math.sqrt(math.log(A) / K) / H**2, "√(log A)/(H²√K)")
        alpha = choices.number("alpha", printed, (5.0, "5/√k") if own.alpha_anytime else (5.0 / math.sqrt(K), "5/√K"))
        theta = choices.number("theta", (1.0 / K, "1/K"))
        if theta > 1.0:
            raise InputError(f"theta is {theta:g}; expected a weight, at most 1")
        constant = (0.3, "tuned; does not shrink with K")
        eta = choices.number("eta", (1.0 / math.sqrt(K), "1/√K"), (3.0, "3/√k") if own.eta_anytime else constant)
        rule = MirrorRule(local=2 * beta, transition=0.0, L=0.0, alpha=alpha, theta=theta, eta=eta, xi=xi)
        shared = choices.share(self.sharing, spec.share) == "all"
        base = mirror_state(spec, lam, rule, shared, own)
        base.Y[:] = (eta * base.b).clip(0.0, xi)
        if form == "tabular":
            return base
        return KernelState(base, base.policy, base.Y, base.Q, base.V, blocks=targets(H, S, A, 2, lam, shared=shared), beta=beta)


register_kernels(KernelState, plan, update)
