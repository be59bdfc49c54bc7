r"""Algorithm 1 of Ghosh, Zhou and Shroff (NeurIPS 2022): model-free primal-dual LSVI with a soft-max policy.

Let α be the inverse temperature, β the bonus, η the dual step, ξ the dual's cap, λ the ridge, ζ the tightening; j runs over
the reward r and the utilities g_1..g_m. Before episode k, for h = H..1 (V_{j,H+1} = 0):

    Λ_h    ←  λI + Σ_τ φ_τ φ_τᵀ                                                       (l. 5)
    w_{j,h} ←  Λ_h⁻¹ Σ_τ φ_τ [ j_τ + V_{j,h+1}(x'_τ) ]                                 (l. 6-7)
    Q_{j,h} ←  min{ ⟨w_{j,h},φ⟩ + β ‖φ‖_{Λ_h⁻¹}, cap }                                 (l. 8-9)
    π_h    ←  soft-max_α( Q_{r,h} + Σ_i Y_i Q_{g_i,h} )                               (l. 10)
    V_{j,h} ←  ⟨π_h, Q_{j,h}⟩                                                         (l. 11-12)

and after it  Y_i ← clip( Y_i + η (b_i + ζ − V_{g_i,1}(x_1)), 0, ξ )                   (l. 16).

One utility and ζ = 0 are the paper's Algorithm 1, ζ > 0 its Theorem 2, m > 1 its remark after eq. (2).

Departures, each a named option whose first value is the printed form (``docs/algorithm1.md``, ``docs/practical.md``):

- ``cap`` "H" | "H-h+1", with which a step of the proof holds that fails with H;
- ``lower_clip`` off | on: Q at least 0, which the proofs use;
- ``utility_bonus`` 1 | c: the utilities' β is cβ;
- ``bonus`` "constant" | "span": β times the spread of V_{j,h+1} over the next states seen (at least ``span_floor``);
- ``dual_estimate`` "optimistic" | "plain" | "pessimistic": the dual step uses the same regression without bonus, evaluated
  beside the others and worth ``dual_prior`` of the cap where there is no data at all; or with the bonus taken off, times
  ``pessimism``, and worth 0 there;
- ``safe_policy`` none | π: play the mixture of the planned policy with π that is certified by the pessimistic estimate;
- ``damping`` off | on: the dual's gain halves when b − V_g changes sign;
- ``rounding`` None | ε: an ε-net in place of the soft-max (:mod:`noregret.learners.rounding`);
- ``alpha_schedule``, ``eta_schedule`` "fixed" | "anytime": α_k = α√k and η_k = η/√k, which need no K.

References:
    Ghosh, Zhou, Shroff. Provably Efficient Model-Free Constrained RL with Linear Function Approximation. NeurIPS 2022.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret import presets
from noregret.errors import InputError
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.gram import estimate, learn, spread
from noregret.kernels.jit import jit
from noregret.kernels.safety import certified, mix, safe_share
from noregret.kernels.softmax import soft_max
from noregret.kernels.steps import adaptive_dual_step
from noregret.learners.base import Learner, register
from noregret.learners.least_squares import caps, empty_gram, feature_map
from noregret.presets import PARAMETERS, Constants
from noregret.problems.base import Array, Spec


class PrimalDualState(NamedTuple):
    """What the next episode needs. J objectives: the reward, m utilities, and with a plain dual estimate these once more."""

    gram: Any  # OneHotGram or TableGram: Λ and the data
    Q: Array  # (H,J,S,A)
    V: Array  # (H+1,J,S), zero at H
    policy: Array  # (H,S,A) what is played
    target: Array  # (H,S,A) what is planned: the same array, unless there is a safe policy to mix it with
    Y: Array  # (m,)
    b: Array  # (m,) thresholds, tightened by ζ
    available: NDArray[np.bool_]  # (H,S,A)
    cap: Array  # (H,)
    floor: float  # 0, or −∞ without the lower clip
    beta: Array  # (J,) β of each objective; for the dual's own objectives prior·√λ (times the cap), or −pessimism·β
    pessimistic: bool  # which of the two
    bonus: Array  # (J,) scratch: β of this step
    span_floor: float  # least spread that β is multiplied by; negative for a constant β
    alpha: float
    eta: float
    xi: float
    k: NDArray[np.int64]  # (1,) episodes so far
    alpha_anytime: bool
    eta_anytime: bool
    damping: bool
    gain: Array  # (m,) of the dual step
    lack: Array  # (m,) last b − V_g
    start: Array  # (S,) distribution of the first state
    safe: Array  # (H,S,A), or (0,0,0) without a safe policy
    share: Array  # (1,) how much of the target is played
    Q_mix: Array  # scratch like Q and V for the values of mixtures
    V_mix: Array


def plan(state: Any) -> None:
    """Alg. 1, l. 4-12: from the last step to the first, regress, add the bonus, truncate, soft-max."""
    gram, Q, V, policy = state.gram, state.Q, state.V, state.target
    alpha = state.alpha * pace(state.k[0], state.alpha_anytime)
    for h in range(len(Q) - 1, -1, -1):  # l. 4
        step_bonus(state, h)  # β, of this step where it depends on the data
        estimate(gram, h, V, state.bonus, state.floor, state.cap[h], Q)  # l. 5-9
        soft_max(Q, h, gram.active, gram.actives[h], state.Y, alpha, state.available, policy, V)  # l. 10-12
    if len(state.safe) > 0:
        stay_safe(state)


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Alg. 1, l. 13-16: take in the episode; the dual step uses the V_g that the episode was planned with."""
    learn(state.gram, states, actions, observed)  # l. 5 of the next episode
    eta = state.share[0] * state.eta / pace(state.k[0], state.eta_anytime)  # the price of a policy that is not played waits
    first = state.V.shape[1] - len(state.Y)  # the objectives that the dual looks at: the last m
    adaptive_dual_step(
        state.Y, state.b, state.V, first, states[0], eta, state.xi, state.damping, state.gain, state.lack
    )  # l. 16
    state.k[0] += 1


@jit
def pace(k: int, anytime: bool) -> float:
    """√k for the anytime schedule (k counts from 0), else 1."""
    return np.sqrt(k + 1.0) if anytime else 1.0


@jit
def step_bonus(state: Any, h: int) -> None:
    """Fill ``state.bonus`` with the β of each objective at step h."""
    m = len(state.Y)
    for j in range(len(state.bonus)):
        scale = 1.0
        if j > m and not state.pessimistic:
            scale = state.cap[h]
        elif state.span_floor >= 0.0:
            scale = max(spread(state.gram, h, state.V, j), state.span_floor)
        state.bonus[j] = state.beta[j] * scale


@jit
def stay_safe(state: Any) -> None:
    """Play as much of the planned policy as is certified, and the safe policy for the rest."""
    first, share = 1 + len(state.Y), 1.0
    if not certified(state.V, first, state.b, state.start):
        share = safe_share(
            state.gram, state.safe, state.target, first, state.beta, state.span_floor, state.bonus, state.cap, state.Q_mix,
            state.V_mix, state.b, state.start,
        )  # fmt: skip
    mix(state.safe, state.target, share, state.policy)
    state.share[0] = share


@register
class PrimalDualLSVI(Learner):
    """``primal-dual-lsvi``: Algorithm 1 for one-hot features and for any φ on finitely many states."""

    name: ClassVar[str] = "primal-dual-lsvi"
    summary: ClassVar[str] = "Algorithm 1 (Ghosh, Zhou, Shroff 2022): LSVI with bonus, soft-max policy, dual variable"
    presets: ClassVar[tuple[str, ...]] = ("theory", "paper", "practical", "safe")
    parameters: ClassVar[tuple[str, ...]] = (*PARAMETERS, "safe_policy", "rounding")
    promise: ClassVar[tuple[str, str]] = ("√(d³H³T)", "√(d³H³T)")

    def __init__(
        self,
        spec: Spec,
        *,
        episodes: int,
        preset: str = "practical",
        features: ArrayLike | None = None,
        slater_gap: float | None = None,
        safe_policy: ArrayLike | None = None,
        rounding: float | None = None,
        **params: Any,
    ) -> None:
        H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
        phi, d, called = feature_map(spec, features)
        params = params if rounding is None else params | {"alpha": greedy_only(params.get("alpha"), safe_policy)}
        constants, explain = presets.primal_dual(preset, H=H, A=A, d=d, m=m, K=episodes, slater_gap=slater_gap, **params)
        safe = self._safe_policy(safe_policy, preset, constants)
        self.spec, self.episodes, self.preset, self.explain = spec, episodes, preset, explain
        self.constants = vars(constants) | {"features": called}
        J, lam = 1 + (m if constants.dual_estimate == "optimistic" else 2 * m), constants.lam
        pessimistic = constants.dual_estimate == "pessimistic"
        beta = np.full(J, constants.beta * constants.utility_bonus)
        beta[0] = constants.beta
        beta[1 + m :] = -constants.pessimism * beta[1] if pessimistic else constants.dual_prior * np.sqrt(lam)
        policy = np.zeros((H, S, A))
        state = PrimalDualState(  # l. 1
            gram=empty_gram(spec, phi, 1 + m, lam, J),
            Q=np.zeros((H, J, S, A)),
            V=np.zeros((H + 1, J, S)),
            policy=policy,
            target=policy if safe is None else np.zeros((H, S, A)),
            Y=np.zeros(m),
            b=spec.thresholds + constants.zeta,
            available=spec.available.copy(),
            cap=caps(spec, constants.cap),
            floor=0.0 if constants.lower_clip else -np.inf,
            beta=beta,
            pessimistic=pessimistic,
            bonus=np.zeros(J),
            span_floor=constants.span_floor if constants.bonus == "span" else -1.0,
            alpha=constants.alpha,
            eta=constants.eta,
            xi=constants.xi,
            k=np.zeros(1, dtype=np.int64),
            alpha_anytime=constants.alpha_schedule == "anytime",
            eta_anytime=constants.eta_schedule == "anytime",
            damping=constants.damping,
            gain=np.ones(m),
            lack=np.zeros(m),
            start=spec.start.copy(),
            safe=np.zeros((0, 0, 0)) if safe is None else safe,
            share=np.ones(1),
            Q_mix=np.zeros((H, J, S, A) if safe is not None else (0, 0, 0, 0)),
            V_mix=np.zeros((H + 1, J, S) if safe is not None else (0, 0, 0)),
        )
        # A state never visited at a step keeps these values: only its bonus counts, and ties give the uniform policy.
        state.target[:] = spec.available / spec.available.sum(axis=2, keepdims=True)
        for h in range(H):
            for j in range(J):
                by_span = constants.span_floor if constants.bonus == "span" else 1.0
                scale = state.cap[h] if j > m and not pessimistic else by_span
                state.Q[h, j] = max(min(beta[j] * scale / np.sqrt(lam), state.cap[h]), state.floor)
        state.V[:H] = state.Q[..., 0]
        self._state: Any = state
        if rounding is not None:
            from noregret.learners.rounding import rounded  # it builds on this file

            self._state = rounded(state, d, rounding)
            self.constants["rounding"] = rounding

    @staticmethod
    def _safe_policy(safe_policy: ArrayLike | None, preset: str, constants: Constants) -> Array | None:
        """The safe policy where there is one, and an error where it is needed or of no use."""
        if safe_policy is None:
            if preset == "safe":
                raise InputError(
                    "safe_policy is None; preset 'safe' needs a policy that meets the constraint with room: "
                    "an array (H,S,A) (or 'safest' in run)"
                )
            return None
        if constants.dual_estimate != "pessimistic":
            raise InputError(
                f"dual_estimate is {constants.dual_estimate!r}; with a safe_policy expected 'pessimistic' (preset 'safe')"
            )
        return np.array(safe_policy, dtype=np.float64)


def greedy_only(alpha: Any, safe_policy: Any) -> float:
    """α = ∞, for rounding; a finite α was a soft-max, which rounding replaces."""
    if alpha not in (None, np.inf):
        raise InputError(f"alpha is {alpha!r}; with rounding the policy is greedy: leave alpha out")
    if safe_policy is not None:
        raise InputError("safe_policy is given; with rounding nothing is certified: leave one of them out")
    return np.inf


register_kernels(PrimalDualState, plan, update)
