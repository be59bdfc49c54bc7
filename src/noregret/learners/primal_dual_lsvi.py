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
- ``alpha_schedule``, ``eta_schedule`` "fixed" | "anytime": α_k = α√k and η_k = η/√k, which need no K;
- ``restart`` "none" | "doubling", with ``restart_data`` "kept" | "dropped", for an unknown K, and ``xi`` a number | "estimate",
  for an unknown γ: :mod:`noregret.learners.epochs`.

References:
    Ghosh, Zhou, Shroff. Provably Efficient Model-Free Constrained RL with Linear Function Approximation. NeurIPS 2022.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.gram import estimate, learn
from noregret.kernels.jit import jit
from noregret.kernels.restart import clear
from noregret.kernels.safety import certified, mix, safe_share
from noregret.kernels.softmax import soft_max
from noregret.kernels.steps import adaptive_dual_step, step_bonus
from noregret.learners import presets
from noregret.learners.base import Learner
from noregret.learners.epochs import ROUNDS, Epochs, epochs, restart, untried, use_gap, weigh
from noregret.learners.least_squares import caps, empty_gram, feature_map
from noregret.learners.presets import PARAMETERS, Constants
from noregret.learners.registry import register
from noregret.problems.base import Array, Spec
from noregret.problems.checks import policy_table


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
    alpha: Array  # (1,) each, as they may change on the way
    eta: Array
    xi: Array
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
    turns: bool  # whether something happens at episodes 2^i
    epochs: Epochs


def plan(state: Any) -> None:
    """Alg. 1, l. 4-12, with the α of this episode."""
    alpha = state.alpha[0] * pace(state.k[0], state.alpha_anytime)
    backward(
        state.gram, state.Q, state.V, state.target, state.beta, state.pessimistic, state.bonus, state.span_floor, state.floor,
        state.cap, state.Y, alpha, state.available,
    )  # fmt: skip
    if len(state.safe) > 0:
        stay_safe(state)


@partial(jit, inline=True)
def backward(
    gram: Any, Q: Any, V: Any, policy: Any, beta: Any, pessimistic: bool, bonus: Any, span_floor: float, floor: float,
    cap: Any, Y: Any, alpha: float, available: Any,
) -> None:  # fmt: skip
    """Alg. 1, l. 4-12: from the last step to the first, regress, add the bonus, truncate, soft-max."""
    moving = span_floor >= 0.0 or len(beta) > 1 + len(Y)  # else β is the same number at every step
    for j in range(len(beta)):
        bonus[j] = beta[j]
    for h in range(len(Q) - 1, -1, -1):  # l. 4
        if moving:
            step_bonus(gram, h, V, beta, len(Y), pessimistic, cap[h], span_floor, bonus)  # β of this step
        estimate(gram, h, V, bonus, floor, cap[h], Q)  # l. 5-9
        soft_max(Q, h, gram.active, gram.actives[h], Y, alpha, available, policy, V)  # l. 10-12


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Alg. 1, l. 13-16: take in the episode; the dual step uses the V_g that the episode was planned with."""
    learn(state.gram, states, actions, observed)  # l. 5 of the next episode
    eta = state.share[0] * state.eta[0] / pace(state.k[0], state.eta_anytime)  # the price of a policy not played waits
    first = state.V.shape[1] - len(state.Y)  # the objectives that the dual looks at: the last m
    adaptive_dual_step(
        state.Y, state.b, state.V, first, states[0], eta, state.xi[0], state.damping, state.gain, state.lack
    )  # l. 16
    state.k[0] += 1
    if state.turns and (state.k[0] & (state.k[0] + 1)) == 0:  # the next episode is number 2^i
        turn(state)


@jit
def turn(state: Any) -> None:
    """Before episode 2^i: restart, estimate γ, as asked (:mod:`noregret.learners.epochs`)."""
    one, gram, m, H = state.epochs, state.gram, len(state.Y), len(state.Q)
    alpha, eta, xi, beta, cap = state.alpha, state.eta, state.xi, state.beta, state.cap
    span_floor, floor = state.span_floor, state.floor
    if len(one.numbers) > 0:
        restart(one, state.k[0], alpha, eta, xi, state.b, beta)
        state.Y[:] = 0.0
        state.gain[:] = 1.0
        state.lack[:] = 0.0
        if one.dropped:
            clear(gram)
            state.Q_mix[:] = 0.0  # what was certified rested on the data
            state.V_mix[:] = 0.0
        untried(state.Q, state.V, state.target, state.available, beta, m, state.pessimistic, cap, span_floor, floor, gram.lam)
    if one.factor > 0.0:
        weigh(one, 0, H)
        rounds = 1 if m == 1 else ROUNDS
        for _ in range(rounds):
            untried(one.Q, one.V, one.policy, state.available, beta, m, state.pessimistic, cap, span_floor, floor, gram.lam)
            backward(
                gram, one.Q, one.V, one.policy, beta, state.pessimistic, state.bonus, span_floor, floor, cap,
                one.prices, np.inf, state.available,
            )  # fmt: skip
            weigh(one, rounds, H)
        use_gap(one, H, alpha, eta, xi, state.Y)


@jit
def pace(k: int, anytime: bool) -> float:
    """√k for the anytime schedule (k counts from 0), else 1."""
    return np.sqrt(k + 1.0) if anytime else 1.0


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

        def for_length(K: int) -> tuple[Constants, dict[str, str], Array]:
            """The constants for K episodes, why, and β of each objective."""
            c, why = presets.primal_dual(preset, H=H, A=A, d=d, m=m, K=K, slater_gap=slater_gap, **params)
            beta = np.full(1 + (m if c.dual_estimate == "optimistic" else 2 * m), c.beta * c.utility_bonus)
            beta[0] = c.beta
            beta[1 + m :] = -c.pessimism * beta[1] if c.dual_estimate == "pessimistic" else c.dual_prior * np.sqrt(c.lam)
            return c, why, beta

        constants, explain, beta = for_length(episodes)
        if constants.restart == "doubling":  # report the longest part, begin with the first
            constants, explain, _ = for_length(2 ** (episodes.bit_length() - 1))
        first, _, beta = for_length(1) if constants.restart == "doubling" else (constants, explain, beta)
        safe = self._safe_policy(safe_policy, spec, preset, constants)
        self.spec, self.episodes, self.preset, self.explain = spec, episodes, preset, explain
        self.constants = vars(constants) | {"features": called}
        J, lam = len(beta), constants.lam
        pessimistic = constants.dual_estimate == "pessimistic"
        policy = np.zeros((H, S, A))
        state = PrimalDualState(  # l. 1
            gram=empty_gram(spec, phi, 1 + m, lam, J),
            Q=np.zeros((H, J, S, A)),
            V=np.zeros((H + 1, J, S)),
            policy=policy,
            target=policy if safe is None else np.zeros((H, S, A)),
            Y=np.zeros(m),
            b=spec.thresholds + first.zeta,
            available=spec.available.copy(),
            cap=caps(spec, constants.cap),
            floor=0.0 if constants.lower_clip else -np.inf,
            beta=beta,
            pessimistic=pessimistic,
            bonus=np.zeros(J),
            span_floor=constants.span_floor if constants.bonus == "span" else -1.0,
            alpha=np.array([first.alpha]),
            eta=np.array([first.eta]),
            xi=np.array([first.xi]),
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
            turns=constants.restart == "doubling" or constants.xi_rule == "estimate",
            epochs=epochs(spec, first, J, lambda K: for_length(K)[::2]),
        )
        untried(
            state.Q, state.V, state.target, state.available, beta, m, pessimistic, state.cap, state.span_floor, state.floor, lam
        )
        self._state: Any = state
        if rounding is not None:
            if state.turns:
                raise InputError("rounding is given; expected with it neither restart 'doubling' nor xi 'estimate'")
            from noregret.learners.rounding import rounded  # it builds on this file

            self._state = rounded(state, d, rounding)
            self.constants["rounding"] = rounding

    def notes(self) -> dict[str, float]:
        """What the run found out on the way: the estimate of the Slater gap and the ξ in use."""
        if not hasattr(self._state, "epochs") or self._state.epochs.factor == 0.0:
            return {}
        return {"slater_gap_estimate": float(self._state.epochs.gap[0]), "xi": float(self._state.xi[0])}

    @staticmethod
    def _safe_policy(safe_policy: ArrayLike | None, spec: Spec, preset: str, constants: Constants) -> Array | None:
        """The safe policy where there is one, and an error where it is needed or of no use."""
        if isinstance(safe_policy, str) or (safe_policy is None and preset == "safe"):
            raise InputError(
                f"safe_policy is {safe_policy!r}; preset 'safe' needs a policy that meets the constraint with room: "
                "an array (H,S,A) (or 'safest' in run)"
            )
        if safe_policy is None:
            return None
        if constants.dual_estimate != "pessimistic":
            raise InputError(
                f"dual_estimate is {constants.dual_estimate!r}; with a safe_policy expected 'pessimistic' (preset 'safe')"
            )
        return policy_table(safe_policy, spec.available, "safe_policy")


def greedy_only(alpha: Any, safe_policy: Any) -> float:
    """α = ∞, for rounding; a finite α was a soft-max, which rounding replaces."""
    if alpha not in (None, np.inf):
        raise InputError(f"alpha is {alpha!r}; with rounding the policy is greedy: leave alpha out")
    if safe_policy is not None:
        raise InputError("safe_policy is given; with rounding nothing is certified: leave one of them out")
    return np.inf


register_kernels(PrimalDualState, plan, update)
