r"""Algorithm 1 with states that are vectors: the same lines as :mod:`noregret.learners.lsvi.primal_dual`, another memory.

What is kept is in :mod:`noregret.kernels.gram.dense`, and how a step is swept in :mod:`noregret.kernels.gram.stream`; with
``share="all"`` or a budget of ``states`` both are in :mod:`noregret.kernels.gram.bounded`. Four choices are added.

``share="nothing"`` is the printed algorithm. ``share="all"`` has one regression for all steps, over all transitions whatever
their step: Λ = λI + Σ_τ Σ_t φφᵀ, with targets j + V_{j,h+1}(x') for step h. ``share="auto"`` takes what the spec declares.
``"transitions"`` alone is refused: the rewards of a step would need a Λ of their own, and its bonus two norms.

``replan="always"`` plans before every episode, as the paper does. ``replan="doubling"`` keeps w, Λ⁻¹ and Y of the last plan, so
the policy stands still, until some det Λ_h has doubled since or some Y_i has moved by more than ``dual_tol``; in between acting
costs O(A·d²) and planning nothing. (The first rule is that of Abbasi-Yadkori, Pál, Szepesvári 2011, and of Wang, Zhou, Gu
2021 for LSVI: it fires O(d H log K) times. Between plans ‖φ‖_{Λ⁻¹} is off by at most a factor √2.) The dual still moves every
episode, by the V_g of the plan in use.

Equal next states share a place in the cache. ``merge_tol`` > 0 also lets a next state x share that of a kept one y when
‖φ(x,a) - φ(y,a)‖ ≤ merge_tol for all a: V_{j,h+1}(y) then stands for V_{j,h+1}(x) in the targets; Λ and the sums of rewards
still use x itself. What that does to Q: let n visits have been made at step h, δ_j = (‖w_j‖ + β/√λ)·merge_tol and

    E_j = min{ cap, δ_j + ½ min{2, α (δ_r + Σ_i Y_i δ_{g_i})}·cap }          with all of step h+1;  then
    | Q_{j,h}(x,a) - Q_{j,h}(x,a) without merging at step h+1 |  ≤  (√n + 2β_j) ‖φ(x,a)‖_{Λ_h⁻¹}·E_j ,

with 2β_j only if the bonus is made of the spread of V_{j,h+1}, and with the outer min{cap, ·} only if Q is clipped at 0.

(Q_j is (‖w_j‖ + β/√λ)-Lipschitz in φ, the soft-max moves by at most α·max|Δcomposite|/2 in total variation, and by Cauchy and
Schwarz Σ_τ |φᵀΛ⁻¹φ_τ| ≤ √n ‖φ‖_{Λ⁻¹}.) :meth:`DensePrimalDualLSVI.merge_error` gives this bound. Where α is large E_j is
as large as the cap, and rightly so: two states close by may lie on both sides of a switch from one action to another.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret._system.interrupts import held
from noregret.errors import InputError
from noregret.kernels.gram.base import run_learn
from noregret.kernels.gram.bounded import bounded_bytes, bounded_gram, log_dets, prepare
from noregret.kernels.gram.dense import Sizes, Visited, bytes_needed, dense_gram, near
from noregret.kernels.gram.stream import tiles
from noregret.kernels.steps.primal_dual import Dual, dual_step, pace
from noregret.learners.arrays import Numbers
from noregret.learners.base import GivenFeatures, SomeSpec
from noregret.learners.lsvi import bonus, dense_state, dual, schedule
from noregret.learners.lsvi.dense_state import DenseState
from noregret.learners.lsvi.dual import no_dual
from noregret.learners.lsvi.lsvi_ucb import LSVIUCB
from noregret.learners.lsvi.primal_dual import Algorithm1, PrimalDualLSVI, run_backward
from noregret.learners.lsvi.rule import Rule, assemble, greedy
from noregret.learners.lsvi.table import TABLE
from noregret.learners.lsvi.vectors import ContinuousLearner, ContinuousPlan, with_features
from noregret.learners.presets import Count, Number, Resolved, Word
from noregret.problems.base import Array

#: States a step for which room is made at first.
FIRST_ROOM = 512

#: What states that are vectors add to a table.
VECTORS = (
    Word("share", ("auto", "nothing", "all"), every=("auto", "what the spec declares")),
    Count(
        "states", least=2, most=math.inf, every=("3000 if share == 'all' else inf", "what is kept is bounded where steps share")
    ),
    Word(
        "replan",
        ("always", "doubling"),
        every=("'doubling' if share == 'all' else 'always'", "as printed; where steps share, plans are long and seldom needed"),
    ),
    Number(
        "dual_tol",
        every=(
            "0.05 if share == 'all' else 0.002",
            "how far a Y may move before a new plan; a share of 0.1 + Y where steps share",
        ),
    ),
    Number("merge_tol", every=(0, "only equal next states share a place")),
)

#: Where a tolerance of the dual counts.
DOUBLING = {"dual_tol": "replan == 'doubling'"}

#: The key of an early end, which is that of no state.
END = bytes(16)


class DensePrimalDualLSVI(Algorithm1, ContinuousLearner):
    """``primal-dual-lsvi`` on a :class:`~noregret.problems.continuous.ContinuousSpec`.

    Its table is that of Algorithm 1 with the rows of :data:`VECTORS`, and without what needs states one can list: a safe
    policy, a net, restarts, the estimate of γ, and a bonus made of counts.
    """

    table = TABLE.with_rows(
        *VECTORS,
        Word(
            "dual_estimate", tuple(word for word in dual.WORDS if word != "pessimistic"), **TABLE.rows["dual_estimate"].columns
        ),
        Word("bonus", bonus.WORDS[:2], **TABLE.rows["bonus"].columns),
        Word("schedule", schedule.WORDS[:2], **TABLE.rows["schedule"].columns),
        Word("price_step", dual.STEPS[:1], every=("printed", "the balance is measured on tables")),
        Word("xi_rule", ("fixed",), every=("fixed", "the estimate of γ is made of tables")),
        Number("late_bonus", above=0.99, most=1.0, every=(1, "the bonus fades on tables")),
        Number("rounding", most=0.0, every=(0, "the net is over tables")),
        where=DOUBLING,
        presets=("theory", "paper", "practical"),
    )
    _state: DenseState

    @classmethod
    def column(cls, spec: SomeSpec, preset: str, params: Mapping[str, object], features: GivenFeatures) -> str:
        """Column ``shared`` for ``practical`` where steps share one regression, with the constant bonus that belongs to it.

        Args:
            spec: what is known of the problem.
            preset: as the user named it.
            params: what the user gave; ``share`` says what the steps learn together.
            features: φ as given.
        """
        own = preset == "practical" and params["share"] == "all" and params.get("bonus") in (None, "constant")
        return "shared" if own else preset

    def begin(self, c: Resolved) -> DenseState:
        """No data, and room for the first."""
        spec = with_features(self.spec, self.features)
        self.spec, self.map, self.dimension, self.lam = spec, spec.features, spec.dimension, c.lam
        self.shares, self.lazy = c.share == "all", c.replan == "doubling"
        self.states = None if c.states == math.inf else int(c.states)
        self._use(c)
        H, m, K, sizes = spec.horizon, spec.n_constraints, self.episodes, self._sizes()
        self._places: list[dict[bytes, int]] = [{} for _ in range(H)]
        if self.states is not None:
            self._room = min(FIRST_ROOM, self.states)
            gram: Any = bounded_gram(sizes, self.lam, self._room, c.merge_tol, shared=self.shares)
        else:  # The last of the doublings ends at exactly K states, so memory never exceeds what K states need.
            self._room = max(1, -(-K // 2 ** max(0, math.ceil(math.log2(max(1.0, K / FIRST_ROOM))))))
            pending = max(1, sizes.width // 2) if self.lazy else None
            gram = dense_gram(sizes, self.lam, self._room, pending=pending)
        state = DenseState(
            gram=gram,
            key=np.zeros((0, 0, 2) if self.states is not None else (H, self._room, 2), dtype=np.uint64),
            Y=np.zeros(m),
            planned_dual=np.zeros(m),
            planned_log_det=gram.log_det.copy(),
            planned_alpha=np.zeros(1),
            bonus=np.zeros((H, self.J)),
            noise=np.zeros((H, 2, self.J)),
            gain=np.ones(m),
            lack=np.zeros(m),
            memory=no_dual(m, self.constants.get("dual_estimate", "optimistic")).memory,
            counters=np.zeros(3, dtype=np.int64),
        )
        worth = np.zeros(1 + m) if spec.absorbing is None else spec.absorbing
        self._worth = np.concatenate([worth, worth[1:]])[: self.J]
        if self.states is None:
            self._tiles = tiles(state.gram, state.bonus, state.noise, self._worth)
        return state

    def _sizes(self) -> Sizes:
        f, spec = self.map, self.spec
        return Sizes(spec.horizon, spec.n_actions, self.J, spec.n_constraints, f.rows, f.blocks, f.width)

    def _use(self, c: Resolved) -> None:
        """Work with these constants; λ, once in Λ, stays."""
        self.constants, self.explain = dict(c.values) | {"features": self.map.describe()}, dict(c.why)
        self.dual_tol, self.merge_tol = c.dual_tol, c.merge_tol
        self.rule = self._rule(c)
        self.J, self.cap = len(self.rule.beta), self.rule.cap

    def _rule(self, c: Resolved) -> Rule:
        return assemble(c, self.spec, self.lam)

    def retune(self, K: int) -> None:
        """Use the constants of K episodes from now on, for a schedule without an end; the data and λ stay."""
        self._use(self.resolved(K))
        self.episodes = K

    # --- planning and acting ---------------------------------------------------------------------------------------

    def plan(self) -> ContinuousPlan:  # type: ignore[override]
        """The policy of the next episode, on all states; asking twice changes nothing."""
        view = self.current()
        return replace(view, **{name: getattr(view, name).copy() for name in ("w", "inverse", "Y", "bonus", "noise")})

    def current(self) -> ContinuousPlan:
        """:meth:`plan` without copies: what it says changes with the next episode."""
        self._ensure_planned()
        s, rule = self._state, self.rule
        alpha = float(s.planned_alpha[0])
        fit = s.gram.w, s.gram.planned_inv, s.planned_dual, s.bonus, s.noise
        return ContinuousPlan(self.map, *fit, alpha, rule.floor, rule.cap)

    def _ensure_planned(self) -> None:
        if not self._state.counters[2]:
            with held():
                self._plan()

    def _plan(self) -> None:
        s, rule = self._state, self.rule
        alpha = s.planned_alpha[0] = float(rule.alpha[0] * pace(int(s.counters[0]), rule.alpha_anytime))
        tables: Any = self._tiles if self.states is None else prepare(s.gram, s.bonus, s.noise, self._worth)
        run_backward(s.gram, tables, rule, s.Y, alpha)  # l. 4-12
        if self.lazy and self.states is None:
            s.gram.planned_inv[:] = s.gram.Lambda_inv
        s.planned_dual[:] = s.Y
        s.planned_log_det[:] = s.gram.log_det
        s.counters[1] += 1
        s.counters[2] = 1

    @property
    def replans(self) -> int:
        """How many plans were made."""
        return int(self._state.counters[1])

    @property
    def kept(self) -> NDArray[np.int64]:
        """How many distinct states are kept at each step, (H,), or in all where steps share, (1,)."""
        return np.array(self._state.gram.counts)

    # --- learning --------------------------------------------------------------------------------------------------

    def observe_rows(self, rows: Array, actions: NDArray[np.int64], observed: Array, terminated: bool | None = None) -> None:
        """:meth:`observe` with features encoded and observed (L,1+m) checked; Ctrl-C waits until all is learned.

        Args:
            rows: (L+1,R,p) the encoded states of L steps and the one after them, which may be left out where it is not needed:
                after an end, and where steps share nothing. L = H, or less after an early end.
            actions: (L,) the actions taken.
            observed: (L,1+m) the reward and the utilities of each step.
            terminated: whether the world ended the episode; None: where L is less than H.
        """
        L, H = len(actions), self.spec.horizon
        ended = L < H if terminated is None else bool(terminated)
        if L < H and not ended:
            raise InputError(f"the episode was cut after {L} steps; expected an end of its own, or {H} steps")
        if self.shares and not ended and len(rows) == L:
            raise InputError(
                f"rows has {L} states; expected {L + 1}: steps that share learn from the state after the last one too"
            )
        self._ensure_planned()
        with held():
            self._take_in(rows, actions, observed, ended)

    def _take_in(self, rows: Array, actions: NDArray[np.int64], observed: Array, ended: bool) -> None:
        spec, L = self.spec, len(actions)
        _, _, V = self.current().at(0, rows[:1])
        if ended and (self.shares or L < spec.horizon):  # the end is one more next state, without features
            rows = np.concatenate([rows[:L], np.zeros_like(rows[:1])])
        elif not self.shares:
            rows = rows[:L]
        if self.states is None:
            place = self._look_up(rows, L, ended)
            run_learn(self._state.gram, Visited(rows, place), actions, observed)  # l. 5 of the next episode
        else:
            self._state = dense_state.settle(self._state, self.states, rows, actions, ended)
            run_learn(self._state.gram, rows, actions, observed)
            if self.lazy:
                self._state.gram.log_det[:] = log_dets(self._state.gram)
        s = self._state
        if L < spec.horizon:  # the steps after an end have a known worth
            observed = np.concatenate([observed, np.tile(self._worth[: 1 + spec.n_constraints], (spec.horizon - L, 1))])
        price = Dual(s.Y, s.gain, s.lack, s.memory, s.counters)
        dual_step(price, self.rule, V[None], 0, observed, 1.0)  # l. 16; counts the episode
        if not self.lazy or self._outdated():
            s.counters[2] = 0

    def _outdated(self) -> bool:
        s = self._state
        grown, moved = s.gram.log_det - s.planned_log_det, np.abs(s.Y - s.planned_dual)
        return bool(
            grown.max() > math.log(2.0) or (moved / (0.1 + s.planned_dual if self.shares else 1.0)).max() > self.dual_tol
        )

    def _look_up(self, rows: Array, steps: int, ended: bool) -> NDArray[np.int64]:
        """The place of each step's state in its cache, with room made for a new one; an end has a key that no state has."""
        self._state, self._room = dense_state.with_room(self._state, self._room)
        gram, key = self._state.gram, self._state.key
        index = np.zeros(len(rows), dtype=np.int64)
        for h in range(1, len(rows)):
            last = ended and h == steps
            name = END if last else hashlib.blake2b((rows[h] + 0.0).tobytes(), digest_size=16).digest()
            place = self._places[h].get(name, -1)
            if place < 0 and self.merge_tol > 0.0 and not last:
                place = near(gram, h, rows[h], self.merge_tol)
            if place < 0:
                place = int(gram.counts[h])
                gram.end[h] = place if last else gram.end[h]
                self._places[h][name] = place
                key[h, place] = np.frombuffer(name, dtype=np.uint64)
            index[h] = place
        return index

    # --- what it costs, and what merging does ----------------------------------------------------------------------

    def memory_bound(self, states: int | None = None) -> int:
        """Bytes that a run needs at most: of K episodes, or of any where states are bounded; or with ``states`` a step."""
        if self.states is not None:
            return bounded_bytes(self._sizes(), min(self.states, states or self.states), shared=self.shares)
        return bytes_needed(self._sizes(), min(self.episodes, states or self.episodes))

    def merge_error(self, step: int, states: ArrayLike) -> Array:
        """The bound on the change in Q_{j,step} by merging next states, (J,n,A); see the head of this module."""
        view, s, H = self.current(), self._state, self.spec.horizon
        rows = self.map.encode(states)
        A, J = self.spec.n_actions, self.J
        if step == H - 1:
            return np.zeros((J, len(rows), A))
        w = view.w[step + 1]
        m, cap = self.spec.n_constraints, self.cap[step + 1]
        apart = self.merge_tol if self.states is None else float(s.gram.tolerance[1])
        delta = (np.sqrt((w**2).sum(axis=(1, 2))) + view.bonus[step + 1] / math.sqrt(self.lam)) * apart
        delta[view.noise[step + 1, 0] > 0.0] = cap  # the logarithm of the bonus for noise has no such bound
        moved = min(2.0, view.alpha * float(delta[0] + view.Y @ delta[1 : 1 + m])) if delta.any() else 0.0
        E = delta + 0.5 * moved * cap
        E = np.minimum(E, cap) if self.rule.floor == 0.0 else E
        factor = np.full(J, math.sqrt(s.gram.visits[min(step, len(s.gram.visits) - 1)]))
        if self.rule.span_floor >= 0.0:  # the spread that the bonus is made of moves by at most 2E
            factor[: 1 + m] += 2 * self.rule.beta[: 1 + m]
        phi = self.map.phi(states).reshape(len(rows), A, self.map.blocks, self.map.width)
        norm = np.sqrt(np.einsum("nabi,bij,nabj->na", phi, view.inverse_of(step), phi))
        return np.asarray(norm * (factor * E)[:, None, None])

    # --- state -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Numbers]:
        """Everything that changes while learning, as plain arrays, without the unused room."""
        return dense_state.trimmed(self._state)

    def append_only(self) -> dict[str, tuple[int, int]]:
        """The features of the states kept, and their keys."""
        return dense_state.final(self._state)

    def restore(self, state: dict[str, Numbers]) -> None:
        """Continue from what :meth:`state` gave for a learner made with the same arguments."""
        most = math.inf if self.states is None else self.states
        self._state, self._room = dense_state.restored(self._state, self._room, state, most)
        if self.states is None:
            self._places = dense_state.places(self._state)
            self._tiles = tiles(self._state.gram, self._state.bonus, self._state.noise, self._worth)


class DenseLSVIUCB(DensePrimalDualLSVI):
    """``lsvi-ucb`` on any states: Algorithm 1 with Y = 0 and α = ∞, greedy on the reward; the constraints are not looked at."""

    name = "lsvi-ucb"
    table = LSVIUCB.table.with_rows(*VECTORS, where=DOUBLING)

    @classmethod
    def column(cls, spec: SomeSpec, preset: str, params: Mapping[str, object], features: GivenFeatures) -> str:
        """Every preset has one column.

        Args:
            spec: what is known of the problem.
            preset: as the user named it.
            params: what the user gave; ``share`` says what the steps learn together.
            features: φ as given.
        """
        return preset

    def _rule(self, c: Resolved) -> Rule:
        return greedy(c, self.spec, 1 + self.spec.n_constraints)


PrimalDualLSVI.vectors = DensePrimalDualLSVI
LSVIUCB.vectors = DenseLSVIUCB
