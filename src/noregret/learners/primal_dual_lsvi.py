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
- ``dual_estimate`` "optimistic" | "plain" | "pessimistic" | "observed" | "corrected": the dual step uses the same regression
  without bonus, evaluated beside the others and worth ``dual_prior`` of the cap where there is no data at all; or with the
  bonus taken off, times ``pessimism``, and worth 0 there; or the utility of the episode played; or the plain estimate plus
  the running mean of observed − estimated (:func:`noregret.kernels.steps.dual_step`);
- ``safe_policy`` none | π: play a mixture of the planned policy with π, as far as ``certificate`` allows: "tuned", by
  the pessimistic estimate (:mod:`noregret.kernels.safety`) | "confidence" (:mod:`noregret.kernels.certificate`);
- ``damping`` off | on: the dual's gain halves when b − V_g changes sign (:func:`noregret.kernels.steps.dual_step`);
- ``share`` "nothing" | "transitions" | "all" | "auto": steps learn together what does not change with the step. "all" has one
  Λ, "transitions" one for the next values and H for what a step pays (:mod:`noregret.kernels.gram.timetable`), and "auto" is
  what the spec declares;
- ``rounding`` None | ε: an ε-net in place of the soft-max (:mod:`noregret.learners.parts.rounding`);
- ``alpha_schedule``, ``eta_schedule`` "fixed" | "anytime": α_k = α√k and η_k = η/√k, which need no K;
- ``restart`` "none" | "doubling", with ``restart_data`` "kept" | "dropped", for an unknown K, and ``xi`` a number | "estimate",
  for an unknown γ: :mod:`noregret.learners.parts.epochs`.

References:
    Ghosh, Zhou, Shroff. Provably Efficient Model-Free Constrained RL with Linear Function Approximation. NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from noregret.errors import InputError
from noregret.kernels.certificate import Certified, certified
from noregret.kernels.dispatch import register as register_kernels
from noregret.kernels.gram.base import Tables, learn, sweep
from noregret.kernels.jit import jit
from noregret.kernels.safety import Safety, safety, stay_safe, watch
from noregret.kernels.steps import dual_step, pace, step_bonus, untried
from noregret.learners import presets, theorems
from noregret.learners.base import Asked, Learner
from noregret.learners.choices import searched
from noregret.learners.least_squares import empty_tables, feature_map, sharing_gram
from noregret.learners.parts.epochs import ROUNDS, Epochs, epochs, restart, use_gap, weigh
from noregret.learners.parts.rounding import greedy_only, rounded
from noregret.learners.parts.rule import Dual, Rule, assemble, no_dual
from noregret.learners.presets import PARAMETERS, Constants
from noregret.learners.registry import register
from noregret.problems.base import Array
from noregret.problems.checks import policy_table
from noregret.theory import Promise


class PrimalDualState(NamedTuple):
    """What the next episode needs. J objectives: the reward, m utilities, and with a plain dual estimate these once more."""

    gram: Any  # the data: Λ and sums, of any kind of features
    dual: Dual  # Y, and what its step remembers
    rule: Rule  # the constants
    tables: Tables  # what a plan fills: Q, V and policy
    policy: Array  # (H,S,A) what is played: the policy of the tables, unless there is a safe one to mix it with
    Y: Array  # (m,) of the dual
    safety: Safety | Certified
    epochs: Epochs


def plan(state: Any) -> None:
    """Alg. 1, l. 4-12, with the α of this episode."""
    alpha = state.rule.alpha[0] * pace(state.dual.k[0], state.rule.alpha_anytime)
    backward(state.gram, state.tables, state.rule, state.Y, alpha)
    if len(state.safety.policy) > 0:
        stay_safe(state.gram, state.safety, state.tables, state.rule, state.policy)


@partial(jit, inline=True)
def backward(gram: Any, tables: Any, rule: Any, Y: Any, alpha: float) -> None:
    """Alg. 1, l. 4-12: from the last step to the first, regress, add the bonus, truncate, soft-max.

    Args:
        gram: the data, Λ and the sums of the regression.
        tables: Q, V and the policy, which are filled.
        rule: the constants.
        Y: (m,) the dual variables, or other prices of the utilities.
        alpha: α, the sharpness of the soft-max.
    """
    for h in range(len(rule.cap) - 1, -1, -1):  # l. 4
        step_bonus(gram, h, tables, rule)  # β of this step
        sweep(gram, h, tables, rule, Y, alpha)  # l. 5-9: w_j, and Q_j from it; l. 10-12: π, and V_j under it


def update(state: Any, states: Any, actions: Any, observed: Any) -> None:
    """Alg. 1, l. 13-16: take in the episode; the dual step uses the V_g that the episode was planned with.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    watch(state.safety, state.policy, states, actions, observed)
    learn(state.gram, states, actions, observed)  # l. 5 of the next episode
    dual_step(state.dual, state.rule, state.tables.V, states[0], observed, state.safety.share[0])  # l. 16
    if (state.dual.k[0] & (state.dual.k[0] + 1)) == 0:  # the next episode is number 2^i
        turn(state)


@jit
def run_backward(gram: Any, tables: Any, rule: Any, Y: Any, alpha: float) -> None:
    """:func:`backward`, called from Python.

    Args:
        gram: the data, Λ and the sums of the regression.
        tables: Q, V and the policy, which are filled.
        rule: the constants.
        Y: (m,) the dual variables, or other prices of the utilities.
        alpha: α, the sharpness of the soft-max.
    """
    backward(gram, tables, rule, Y, alpha)


@partial(jit, references=False)
def turn(state: Any) -> None:
    """Before episode 2^i: restart, estimate γ, as asked (:mod:`noregret.learners.parts.epochs`)."""
    one, rule = state.epochs, state.rule
    if len(one.numbers) > 0:
        restart(state)
    if one.factor > 0.0:
        rounds = 1 if len(rule.b) == 1 else ROUNDS
        weigh(one, 0, len(rule.cap))
        for _ in range(rounds):
            untried(one.greedy, rule, state.gram.lam)
            backward(state.gram, one.greedy, rule, one.prices, np.inf)
            weigh(one, rounds, len(rule.cap))
        use_gap(one, rule, state.Y)


register_kernels(PrimalDualState, plan, update)


class Algorithm1(Learner):
    """What the learner is to a user, and its constants, for states of every kind."""

    name = "primal-dual-lsvi"
    summary = "Algorithm 1 (Ghosh, Zhou, Shroff 2022): LSVI with bonus, soft-max policy, dual variable"
    presets: ClassVar[tuple[str, ...]] = ("theory", "paper", "practical", "simple", "cautious", "safe")
    parameters = (*PARAMETERS, "safe_policy", "rounding", "share")
    sharing = ("transitions", "all")
    promise = ("√(d³H³T)", "√(d³H³T)")
    source = "paper"

    dimension: int  # d
    _given: dict[str, Any]  # what presets are asked with
    _between: float = 0.0  # what they know of thresholds, where steps share one table of counts

    def _constants(self, K: int) -> tuple[Constants, dict[str, str]]:
        """The constants for K episodes, and why."""
        spec = self.spec
        sizes = {"H": spec.horizon, "A": spec.n_actions, "d": self.dimension, "m": spec.n_constraints, "K": K}
        return presets.primal_dual(self.preset, **sizes, room=self._between, searched=bool(self.space), **self._given)

    @classmethod
    def shared(cls, preset: str, params: Mapping[str, Any], declared: str) -> tuple[str, str]:
        """What the steps learn together, and why; nets and restarts are not made for transitions alone.

        Args:
            preset: where the constants come from.
            params: what the user gave.
            declared: what the problem says does not change with the step.
        """
        share, why = super().shared(preset, params, declared)
        other = "rounding" if params.get("rounding") is not None else "restart" if params.get("restart") == "doubling" else ""
        if share != "transitions" or not other:
            return share, why
        if why == "given":
            raise InputError(f"share is 'transitions' and {other} is given; expected share 'nothing' or 'all' with it")
        return "nothing", f"{other} is given, and is not made for transitions alone"

    @classmethod
    def meaning(cls, preset: str, params: Mapping[str, Any]) -> int:
        """2 where version 0.1 would have switched options for the numbers given."""
        return super().meaning(preset, params) + presets.changed_meaning(preset, params)


@register
class PrimalDualLSVI(Algorithm1):
    """``primal-dual-lsvi`` for one-hot features and for any φ on finitely many states."""

    space = searched(
        theory=(
            "beta_scale=1e-5:0.1:log", "lam_scale=1e-6:1:log", "alpha_scale=0.03:30:log", "eta_scale=0.03:30:log",
            "xi_scale=0.1:10:log",
        ),
        practical=("beta_scale=0.1:10:log", "dual_prior_scale=0.1:2:log", "alpha_scale=0.1:10:log", "eta_scale=0.1:10:log"),
    )  # fmt: skip
    _state: PrimalDualState

    def _begin(self, asked: Asked) -> PrimalDualState:
        spec, K, given = self.spec, self.episodes, dict(asked.params, slater_gap=asked.slater_gap)
        safe_policy, net = given.pop("safe_policy", None), given.pop("rounding", None)
        if net is not None:
            given["alpha"] = greedy_only(given.get("alpha"), safe_policy)
        share, why = self.shared(self.preset, given, spec.share)
        given.pop("share", None)
        phi, self.dimension, called = feature_map(spec, asked.features)
        self.phi = phi
        self._given = given
        if share == "all" and phi is None and net is None:
            self._between = float(np.minimum(spec.thresholds, spec.horizon - spec.thresholds).min())
        constants, self.explain = self._constants(K)
        first = constants
        if constants.restart == "doubling":  # report the longest part, begin with the first
            (constants, self.explain), (first, _) = self._constants(2 ** (K.bit_length() - 1)), self._constants(1)
        if constants.bonus == "variance" and (phi is not None or share == "transitions" or net is not None):
            raise InputError(
                "bonus is 'variance'; expected with it one-hot features, no rounding, and share 'nothing' or 'all'"
            )
        if constants.certificate == "confidence" and share != "nothing":
            raise InputError(
                f"share is {share!r}; expected 'nothing' with certificate 'confidence', whose counts are of a step"
            )
        safe = self._safe_policy(safe_policy, constants)
        self.constants = vars(constants) | {"features": called}
        if safe is not None:
            self.constants["safe_policy"], self.explain["safe_policy"] = "given", "handed over, and taken to be safe"
        rule, dual = assemble(first, spec), no_dual(spec.n_constraints, constants.dual_estimate)  # l. 1
        J = len(rule.beta)
        self.constants["share"], self.explain["share"] = share, why
        gram: Any = sharing_gram(spec, phi, constants.lam, rule, share)
        tables = empty_tables(spec, J)
        untried(tables, rule, constants.lam)
        if net is not None:
            if constants.restart == "doubling" or constants.xi_rule == "estimate":
                raise InputError("rounding is given; expected with it neither restart 'doubling' nor xi 'estimate'")
            gram = rounded(gram, tables, rule, self.dimension, net)
            self.constants["rounding"] = net
        guard: Any = safety(safe, spec.start, spec.horizon, J)
        if safe is not None and constants.certificate == "confidence":
            guard = certified(safe, spec, K, constants.p, (constants.lam, phi is None))
        return PrimalDualState(
            gram=gram,
            dual=dual,
            rule=rule,
            tables=tables,
            policy=tables.policy if safe is None else np.zeros_like(tables.policy),
            Y=dual.Y,
            safety=guard,
            epochs=epochs(spec, first, J, self._constants),
        )

    @property
    def alpha(self) -> float:
        """α of the next plan."""
        rule, k = self._state.rule, self._state.dual.k
        return float(rule.alpha[0] * pace(k[0], rule.alpha_anytime))

    @property
    def gram(self) -> Any:
        """The data, as it is: not a copy, not to be written to."""
        return self._state.gram

    @property
    def tables(self) -> Tables:
        """Q, V and policy of the last plan, as they are: not a copy, not to be written to."""
        return self._state.tables

    def notes(self) -> dict[str, float]:
        """What the run found out: the estimate of the Slater gap and the ξ in use; the share that is certified."""
        one, guard = self._state.epochs, self._state.safety
        found = {"slater_gap_estimate": float(one.gap[0]), "xi": float(self._state.rule.xi[0])} if one.factor > 0.0 else {}
        return found | ({"certified_share": float(guard.share[0])} if isinstance(guard, Certified) else {})

    def promised(self, slater_gap: float, linear: bool = True) -> Promise | str:
        """What Theorem 1 or 2 promises of the run, or the first of their hypotheses that is not met."""
        return theorems.promised(self.constants, self.spec, self.phi, self.episodes, slater_gap, linear)

    def _safe_policy(self, safe_policy: ArrayLike | None, constants: Constants) -> Array | None:
        """The safe policy where there is one, and an error where it is needed or of no use."""
        if isinstance(safe_policy, str) or (safe_policy is None and self.preset in ("cautious", "safe")):
            raise InputError(
                f"safe_policy is {safe_policy!r}; preset {self.preset!r} needs a policy that meets the constraint with room: "
                "an array (H,S,A) (or 'safest' in run)"
            )
        if safe_policy is None:
            return None
        if constants.dual_estimate != "pessimistic":
            raise InputError(
                f"dual_estimate is {constants.dual_estimate!r}; with a safe_policy expected 'pessimistic' (preset 'cautious')"
            )
        return policy_table(safe_policy, self.spec.available, "safe_policy")
