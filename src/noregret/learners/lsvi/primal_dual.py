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

The code of a line is found by its mark below: l. 1 in :meth:`PrimalDualLSVI.begin`, l. 4-12 in :func:`backward`, l. 13-16 in
:func:`update`. What departs from the printed form is a row of :mod:`~noregret.learners.lsvi.table`, whose column ``theory`` is
the printed form. Five parts hold the options: :mod:`~noregret.learners.lsvi.bonus`, :mod:`~noregret.learners.lsvi.dual`,
:mod:`~noregret.learners.lsvi.schedule`, :mod:`~noregret.learners.lsvi.sharing` and :mod:`~noregret.learners.lsvi.safe`.

Preset ``practical``, the default, has other numbers for ``lam``, ``beta``, ``alpha``, ``eta``, ``xi`` and ``zeta``, and these
options on:

- ``bonus`` "span": β is multiplied by how far the next values spread, at least by ``span_floor``; ``utility_bonus`` halves it
  for utilities, ``late_bonus`` of it is left where a pair was often tried; ``noise_bonus`` adds what the noise of a step's
  payments needs, ``retry_bonus`` what bad luck in next states needs;
- ``dual_estimate`` "plain": the dual sees V_g without the bonus, and ``dual_prior`` of the cap where nothing was tried;
- ``damping``: a dual that swings is slowed down; ``anti_windup``, where steps share their counts: a lack counts up to what
  can be made up for; ``price_step`` "balanced": prices move together by the lack that is expected after the move, and the
  soft-max is less sharp where V_g swings;
- ``schedule`` "anytime": α grows and η shrinks with √k, and K is not needed;
- ``share`` "auto": steps learn together what the problem declares;
- ``cap`` "H-h+1": with it a step of the proof holds that fails for H; ``lower_clip``: Q is at least 0, which the proofs use.

Off unless asked for: ``xi_rule`` "estimate" for an unknown γ (:mod:`~noregret.learners.lsvi.gap`), ``rounding`` ε, an ε-net in
place of the soft-max (:mod:`~noregret.learners.lsvi.rounding`), and ``pessimism`` of the dual, which preset ``safe`` has.
``docs/algorithm1.md`` says why each is there, ``docs/practical.md`` what was measured.

References:
    Ghosh, Zhou, Shroff. Provably Efficient Model-Free Constrained RL with Linear Function Approximation. NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from noregret.kernels.compiler.dispatch import register_kernels
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import Tables, learn, sweep
from noregret.kernels.gram.net import NumberedGram
from noregret.kernels.steps.balance import even, follow, wake
from noregret.kernels.steps.certificate import Certified
from noregret.kernels.steps.primal_dual import Dual, dual_step, sharpness, step_bonus, untried, untried_anew
from noregret.kernels.steps.safety import Safety, stay_safe, watch
from noregret.kernels.types import Gram, GramOfStates, Integers, PlanTables, SweepRule
from noregret.learners.base import GivenFeatures, Learner, SomeSpec
from noregret.learners.lsvi import dual, theorems
from noregret.learners.lsvi.dual import no_dual
from noregret.learners.lsvi.gap import ROUNDS, Gap, estimate, use_gap, weigh
from noregret.learners.lsvi.least_squares import LeastSquaresLearner
from noregret.learners.lsvi.rounding import rounded
from noregret.learners.lsvi.rule import Rule, assemble
from noregret.learners.lsvi.safe import guard
from noregret.learners.lsvi.safe import safe_policy as the_safe_policy
from noregret.learners.lsvi.schedule import Restarts, restart, restarts
from noregret.learners.lsvi.sharing import empty_tables, feature_map, sharing_gram
from noregret.learners.lsvi.table import TABLE
from noregret.learners.presets import Resolved
from noregret.learners.registry import register
from noregret.problems.base import Array, Spec
from noregret.theory import Promise


class PrimalDualState(NamedTuple):
    """What the next episode needs. J objectives: the reward, m utilities, and with a plain dual estimate these once more."""

    gram: GramOfStates  # the data: Λ and sums, of any kind of features
    dual: Dual  # Y, and what its step remembers
    rule: Rule  # the constants
    tables: Tables  # what a plan fills: Q, V and policy
    policy: Array  # (H,S,A) what is played: the policy of the tables, unless there is a safe one to mix it with
    Y: Array  # (m,) of the dual
    safety: Safety | Certified
    restarts: Restarts | None  # of a schedule that doubles
    gap: Gap | None  # where γ is estimated


def plan(state: PrimalDualState) -> None:
    """Alg. 1, l. 4-12, with the α of this episode."""
    backward(state.gram, state.tables, state.rule, state.Y, sharpness(state.dual, state.rule))
    if len(state.safety.policy) > 0:
        stay_safe(state.gram, state.safety, state.tables, state.rule, state.policy)


@partial(jit, inline=True)
def backward(gram: Gram, tables: PlanTables, rule: SweepRule, Y: Array, alpha: float) -> None:
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


def update(state: PrimalDualState, states: Integers, actions: Integers, observed: Array) -> None:
    """Alg. 1, l. 13-16: take in the episode; the dual step uses the V_g that the episode was planned with.

    Args:
        state: the learner's own, changed in place.
        states: (H+1,) the states visited, the last one after the last action.
        actions: (H,) the actions taken.
        observed: (H,1+m) the reward and the utilities of each step.
    """
    watch(state.safety, state.policy, states, actions, observed)
    alpha = sharpness(state.dual, state.rule)
    follow(state.dual.balance, state.dual.k[0], state.Y, alpha, state.tables, states)
    learn(state.gram, states, actions, observed)  # l. 5 of the next episode
    wake(state.dual.balance, state.gram)
    dual_step(state.dual, state.rule, state.tables.V, states[0], observed, state.safety.share[0])  # l. 16
    if (state.dual.k[0] & (state.dual.k[0] + 1)) == 0:  # the next episode is number 2^i
        turn(state, state.restarts, state.gap)


@jit
def run_backward(gram: Gram, tables: PlanTables, rule: SweepRule, Y: Array, alpha: float) -> None:
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
def turn(state: PrimalDualState, parts: Restarts | None, gap: Gap | None) -> None:
    """Before episode 2^i: restart, and estimate γ, as asked; what is None is not compiled.

    Args:
        state: the learner's.
        parts: its restarts, or None.
        gap: its estimate of γ, or None.
    """
    rule = state.rule
    if parts is not None:
        restart(state, parts, gap)
    if gap is not None:
        rounds = 1 if len(rule.b) == 1 else ROUNDS
        weigh(gap, 0, len(rule.cap))
        for _ in range(rounds):
            untried_anew(gap.greedy, rule, state.gram.lam)
            backward(state.gram, gap.greedy, rule, gap.prices, np.inf)
            weigh(gap, rounds, len(rule.cap))
        use_gap(gap, rule, state.Y)


register_kernels(PrimalDualState, plan, update)


class Algorithm1(Learner):
    """What the learner is to a user, and its constants, for states of every kind."""

    name = "primal-dual-lsvi"
    summary = "Algorithm 1 (Ghosh, Zhou, Shroff 2022): LSVI with bonus, soft-max policy, dual variable"
    promise = ("√(d³H³T)", "√(d³H³T)")
    source = "paper"

    dimension: int  # d


@register
class PrimalDualLSVI(Algorithm1, LeastSquaresLearner):
    """``primal-dual-lsvi`` for one-hot features and for any φ on finitely many states."""

    table = TABLE
    things = ("safe_policy",)
    _state: PrimalDualState

    @classmethod
    def shared(cls, preset: str, params: Mapping[str, object], declared: str) -> tuple[str, str]:
        """What the steps learn together, and why; nets and restarts are not made for transitions alone.

        Args:
            preset: where the constants come from.
            params: what the user gave.
            declared: what the problem says does not change with the step.
        """
        share, why = super().shared(preset, params, declared)
        if share == "transitions" and why != "given" and (params.get("rounding") or params.get("schedule") == "doubling"):
            return "nothing", "rounding and schedule 'doubling' are not made for transitions alone"
        return share, why

    @classmethod
    def resolve(cls, spec: SomeSpec, *, episodes: int, **asked: Any) -> Resolved:
        """As of every learner; with schedule ``doubling`` the constants of the longest part.

        Args:
            spec: what is known of the problem.
            episodes: K.
            asked: the other arguments.
        """
        c = super().resolve(spec, episodes=episodes, **asked)
        if c.schedule == "doubling":
            c = super().resolve(spec, episodes=(longest := 2 ** (int(episodes).bit_length() - 1)), **asked)
            c.why["schedule"] += f"; each part has its own constants, these are for its K = {longest:,}"
        return c

    @classmethod
    def named(cls, c: Resolved) -> dict[str, object]:
        """Constants; and formulas where restarts, or an estimate of γ, compute them anew on the way."""
        return c.values | (c.formulas if c.schedule == "doubling" or c.xi_rule == "estimate" else {})

    @classmethod
    def column(cls, spec: SomeSpec, preset: str, params: Mapping[str, object], features: GivenFeatures) -> str:
        """Column ``counts`` for ``practical`` where all steps share one table of counts.

        Args:
            spec: what is known of the problem.
            preset: as the user named it.
            params: what the user gave; ``share`` says what the steps learn together.
            features: φ as given.
        """
        known = cast(Spec, spec)
        counted = params["share"] == "all" and not params.get("rounding") and feature_map(known, features)[0] is None
        return "counts" if preset == "practical" and counted and dual.room(spec).min() > 0.0 else preset

    @classmethod
    def sizes(cls, spec: SomeSpec, episodes: int, features: GivenFeatures) -> dict[str, float]:
        """The numbers that formulas may name; ``room`` is the least of b and H − b over the constraints.

        Args:
            spec: what is known of the problem.
            episodes: K.
            features: φ as given.
        """
        return super().sizes(spec, episodes, features) | {"room": float(dual.room(spec).min())}

    def begin(self, c: Resolved) -> PrimalDualState:
        """Alg. 1, l. 1."""
        spec, K = self.spec, self.episodes
        self.phi, self.dimension, called = feature_map(spec, self.features)
        first = self.resolved(1) if c.schedule == "doubling" else c
        safe = the_safe_policy(self.handed.get("safe_policy"), self.preset, c, spec)
        self.constants, self.explain = dict(c.values) | {"features": called}, dict(c.why)
        if safe is not None:
            self.constants["safe_policy"], self.explain["safe_policy"] = "given", "handed over, and taken to be safe"
        balance = even(spec.thresholds) if c.price_step == "balanced" else None
        rule, price = assemble(first, spec), no_dual(spec.n_constraints, c.dual_estimate, balance)  # l. 1
        J, tables = len(rule.beta), empty_tables(spec, len(rule.beta))
        untried(tables, rule, c.lam)
        gram: GramOfStates = sharing_gram(spec, self.phi, c.lam, rule, c.share)
        if c.rounding > 0.0:
            gram = rounded(cast(NumberedGram, gram), tables, rule, self.dimension, c.rounding)
        return PrimalDualState(
            gram=gram,
            dual=price,
            rule=rule,
            tables=tables,
            policy=tables.policy if safe is None else np.zeros_like(tables.policy),
            Y=price.Y,
            safety=guard(safe, spec, c, K, self.phi is None),
            restarts=restarts(c, lambda length: assemble(self.resolved(length), spec)),
            gap=estimate(first, spec, J, self._xi_at_gap_1() if c.xi_rule == "estimate" else 0.0),
        )

    def _xi_at_gap_1(self) -> float:
        """What the formula of ξ says for γ = 1; what a user gives without γ in it is only the most that ξ may become."""
        params = self._arguments["params"]
        fixed: dict[str, Any] = {"xi": None} if "gamma" not in str(params.get("xi")) else {}
        return float(self.resolved(self.episodes, slater_gap=1.0, params=params | fixed).xi)

    @property
    def alpha(self) -> float:
        """α of the next plan."""
        return sharpness(self._state.dual, self._state.rule)

    @property
    def gram(self) -> GramOfStates:
        """The data, as it is: not a copy, not to be written to."""
        return self._state.gram

    @property
    def tables(self) -> Tables:
        """Q, V and policy of the last plan, as they are: not a copy, not to be written to."""
        return self._state.tables

    def notes(self) -> dict[str, float]:
        """What the run found out: the estimate of the Slater gap and the ξ in use; the share that is certified."""
        gap, kept = self._state.gap, self._state.safety
        found = {} if gap is None else {"slater_gap_estimate": float(gap.gap[0]), "xi": float(self._state.rule.xi[0])}
        return found | ({"certified_share": float(kept.share[0])} if isinstance(kept, Certified) else {})

    def promised(self, slater_gap: float, linear: bool = True) -> Promise | str:
        """What Theorem 1 or 2 promises of the run, or the first of their hypotheses that is not met."""
        return theorems.promised(self.constants, self.spec, self.phi, self.episodes, slater_gap, linear)
