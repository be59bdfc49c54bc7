r"""Algorithm 1 with states that are vectors: the same lines as :mod:`noregret.learners.primal_dual_lsvi`, another memory.

What is kept, and one pass of l. 4-12 over it, is in :mod:`noregret.kernels.dense`. Three choices are added.

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

2β_j only where the bonus is made of the spread of V_{j,h+1}, and the least of both only where Q is at least 0.

(Q_j is (‖w_j‖ + β/√λ)-Lipschitz in φ, the soft-max moves by at most α·max|Δcomposite|/2 in total variation, and by Cauchy and
Schwarz Σ_τ |φᵀΛ⁻¹φ_τ| ≤ √n ‖φ‖_{Λ⁻¹}.) :meth:`DensePrimalDualLSVI.merge_error` gives this bound. Where α is large E_j is
as large as the cap, and rightly so: two states close by may lie on both sides of a switch from one action to another.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret._system.interrupts import held
from noregret.errors import InputError, unknown_name
from noregret.kernels import dense
from noregret.kernels.steps import adaptive_dual_step
from noregret.learners import dense_state
from noregret.learners.base import Learner, Numbers
from noregret.learners.dense_state import ContinuousPlan, DenseState, check_observed
from noregret.learners.least_squares import REGRESSION
from noregret.learners.lsvi_ucb import PRACTICAL_BETA, theory_beta
from noregret.learners.presets import Constants, primal_dual
from noregret.learners.primal_dual_lsvi import pace
from noregret.learners.registry import register_continuous
from noregret.problems.base import Array
from noregret.problems.checks import number
from noregret.problems.continuous import ContinuousSpec

REPLAN = ("always", "doubling")

#: States a step for which room is made at first.
FIRST_ROOM = 512


@register_continuous
class DensePrimalDualLSVI(Learner):
    """``primal-dual-lsvi`` on a :class:`~noregret.problems.continuous.ContinuousSpec`.

    Args:
        spec: horizon, thresholds and the feature map.
        episodes: K.
        preset: where the constants come from.
        features: a feature map in place of the spec's.
        slater_gap: what is known of γ.
        replan: "always" or "doubling".
        dual_tol: how far a Y_i may move before a new plan, with "doubling".
        merge_tol: next states whose features differ by at most this share a place; 0 for equal ones only.
        cache: "float64" or "float32", how next states are kept.
        params: constants that override the preset's.
    """

    name: ClassVar[str] = "primal-dual-lsvi"
    presets: ClassVar[tuple[str, ...]] = ("theory", "paper", "practical")
    _state: DenseState

    def __init__(
        self,
        spec: ContinuousSpec,
        *,
        episodes: int,
        preset: str = "practical",
        features: Any = None,
        slater_gap: float | None = None,
        replan: str = "always",
        dual_tol: float = 0.002,
        merge_tol: float = 0.0,
        cache: str = "float64",
        **params: Any,
    ) -> None:
        if features is not None:
            spec = ContinuousSpec(spec.horizon, spec.thresholds, features, spec.constraint_names, spec.absorbing)
        if replan not in REPLAN:
            raise unknown_name("replan", replan, REPLAN)
        if cache not in ("float64", "float32"):
            raise unknown_name("cache", cache, ("float32", "float64"))
        self.spec = spec  # type: ignore[assignment]
        self.map, self.lazy, self.dtype = spec.features, replan == "doubling", np.dtype(cache)
        self.dual_tol, self.merge_tol = number("dual_tol", dual_tol, 0.0), number("merge_tol", merge_tol, 0.0)
        self.episodes, self.preset, self._given = episodes, preset, {"slater_gap": slater_gap, **params}
        self._choose_constants(episodes)
        H, m, p = spec.horizon, spec.n_constraints, self.map.width
        # The last of the doublings ends at exactly K states, so memory never exceeds what K states need.
        self._room = max(1, -(-episodes // 2 ** max(0, math.ceil(math.log2(max(1.0, episodes / FIRST_ROOM))))))
        self._state = DenseState(
            gram=dense.dense_gram(
                H, spec.n_actions, self.J, m, self.map.rows, self.map.blocks, p, self.lam, self._room,
                pending=max(1, p // 2) if self.lazy else 1, lazy=self.lazy, dtype=self.dtype,
            ),
            key=np.zeros((H, self._room, 2), dtype=np.uint64),
            Y=np.zeros(m),
            planned_dual=np.zeros(m),
            planned_log_det=np.zeros(H),
            planned_alpha=np.zeros(1),
            bonus=np.zeros((H, self.J)),
            gain=np.ones(m),
            lack=np.zeros(m),
            counters=np.zeros(3, dtype=np.int64),
        )  # fmt: skip
        self._places: list[dict[bytes, int]] = [{} for _ in range(H)]

    def _choose_constants(self, K: int) -> None:
        """The preset's numbers for K episodes; λ, once in Λ, stays."""
        spec = self.spec
        H, m = spec.horizon, spec.n_constraints
        chosen, explain = self._constants(K)
        self.constants = vars(chosen) | {"features": self.map.describe(), "replan": "doubling" if self.lazy else "always"}
        self.constants |= {"merge_tol": self.merge_tol} | ({"dual_tol": self.dual_tol} if self.lazy else {})
        self.explain = explain
        self.lam = getattr(self, "lam", chosen.lam)
        plain = chosen.dual_estimate == "plain"
        self.J = 1 + (2 * m if plain else m)
        self.beta = np.full(self.J, chosen.beta * chosen.utility_bonus)
        self.beta[0], self.beta[1 + m :] = chosen.beta, chosen.dual_prior * math.sqrt(self.lam)
        self.span_floor = chosen.span_floor if chosen.bonus == "span" else -1.0
        self.alpha, self.eta, self.xi, self.damping = chosen.alpha, chosen.eta, chosen.xi, chosen.damping
        self.alpha_anytime, self.eta_anytime = chosen.alpha_schedule == "anytime", chosen.eta_schedule == "anytime"
        self.b = spec.thresholds + chosen.zeta
        self.cap = np.full(H, float(H)) if chosen.cap == "H" else np.arange(H, 0.0, -1.0)
        self.floor = 0.0 if chosen.lower_clip else -np.inf

    def _constants(self, K: int) -> tuple[Constants, dict[str, str]]:
        spec = self.spec
        sizes = {"H": spec.horizon, "A": spec.n_actions, "d": spec.dimension, "m": spec.n_constraints, "K": K}
        chosen, why = primal_dual(self.preset, **sizes, **self._given)
        if chosen.restart != "none" or chosen.xi_rule != "fixed":
            raise InputError("restart and xi 'estimate' are for finite states; expected neither (here retune(K) sets K anew)")
        return chosen, why

    def retune(self, K: int) -> None:
        """Use the constants of K episodes from now on, for a schedule without an end; the data and λ stay."""
        self._choose_constants(K)
        self.episodes = K

    # --- planning and acting ---------------------------------------------------------------------------------------

    def plan(self) -> ContinuousPlan:  # type: ignore[override]
        """The policy of the next episode, on all states; asking twice changes nothing."""
        view = self.current()
        return replace(view, w=view.w.copy(), inverse=view.inverse.copy(), Y=view.Y.copy(), bonus=view.bonus.copy())

    def current(self) -> ContinuousPlan:
        """:meth:`plan` without copies: what it says changes with the next episode."""
        self._ensure_planned()
        s = self._state
        alpha = float(s.planned_alpha[0])
        return ContinuousPlan(self.map, s.gram.w, s.gram.planned_inv, s.planned_dual, s.bonus, alpha, self.floor, self.cap)

    def _ensure_planned(self) -> None:
        if not self._state.counters[2]:
            with held():
                self._plan()

    def _plan(self) -> None:
        s = self._state
        alpha = s.planned_alpha[0] = self.alpha * pace(int(s.counters[0]), self.alpha_anytime)
        dense.backward(s.gram, self.beta, self.span_floor, alpha, self.floor, self.cap, s.Y, s.bonus)  # l. 4-12
        if self.lazy:
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
        """How many distinct states are kept at each step, (H,)."""
        return self._state.gram.counts.copy()

    # --- learning --------------------------------------------------------------------------------------------------

    def observe(self, states: ArrayLike, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike) -> None:
        """Learn from one episode played with the current plan.

        Args:
            states: (L+1, ...) states visited, the last one after the last action; L = H, or less after an early end.
            actions: (L,) actions taken.
            rewards: (L,) rewards received.
            utilities: (m,L) utilities received, or (L,) when there is one.
        """
        a, observed = self._checked_steps(actions, rewards, utilities)
        x = np.asarray(states)
        if len(x) != len(a) + 1:
            raise InputError(f"states has {len(x)} entries; expected {len(a) + 1}, one more than actions")
        rows = np.empty((len(a), self.map.rows, self.map.width))
        for h in range(len(a)):
            rows[h] = self.encode(h, x[h])
        self.observe_rows(rows, a, observed)

    def encode(self, step: int, state: Any) -> Array:
        """The features (R,p) of one state, or an error that names the step."""
        try:
            return np.asarray(self.map.encode(np.asarray(state)[None])[0])
        except InputError as error:
            raise InputError(f"step {step}: {error}") from None

    def observe_rows(self, rows: Array, actions: NDArray[np.int64], observed: Array) -> None:
        """:meth:`observe` with features (L,R,p) encoded and observed (L,1+m) checked; Ctrl-C waits until all is learned."""
        self._ensure_planned()
        with held():
            self._take_in(rows, actions, observed)

    def _take_in(self, rows: Array, actions: NDArray[np.int64], observed: Array) -> None:
        spec, L = self.spec, len(actions)
        _, _, V = self.current().at(0, rows[:1])
        if L < spec.horizon:  # an early end: the steps after it have a known worth, which the last transition brings
            observed = observed.copy()
            observed[-1] += (spec.horizon - L) * spec.absorbing  # type: ignore[attr-defined]
        index = self._look_up(rows)
        s = self._state
        dense.learn(s.gram, L, rows, actions, observed, index, spec.n_actions)  # l. 5 of the next episode
        eta = self.eta / pace(int(s.counters[0]), self.eta_anytime)
        first = self.J - spec.n_constraints  # the objectives that the dual looks at: the last m
        adaptive_dual_step(s.Y, self.b, V[None], first, 0, eta, self.xi, self.damping, s.gain, s.lack)  # l. 16
        s.counters[0] += 1
        if not self.lazy or self._outdated():
            s.counters[2] = 0

    def _outdated(self) -> bool:
        s = self._state
        grown = s.gram.log_det - s.planned_log_det
        return bool(grown.max() > math.log(2.0) or np.abs(s.Y - s.planned_dual).max() > self.dual_tol)

    def _look_up(self, rows: Array) -> NDArray[np.int64]:
        """The place of each step's state in its cache, with room made for a new one."""
        self._state, self._room = dense_state.with_room(self._state, self._room)
        gram, key = self._state.gram, self._state.key
        T = gram.q.shape[3]
        index = np.zeros(len(rows), dtype=np.int64)
        for h in range(1, len(rows)):
            name = hashlib.blake2b((rows[h] + 0.0).tobytes(), digest_size=16).digest()
            count = int(gram.counts[h])
            place = self._places[h].get(name, -1)
            if place < 0 and self.merge_tol > 0.0:
                place = dense.near(gram.F[h], count, rows[h], T, self.merge_tol)
            if place < 0:
                place = count
                self._places[h][name] = place
                key[h, place] = np.frombuffer(name, dtype=np.uint64)
            index[h] = place
        return index

    def _checked_steps(self, actions: ArrayLike, rewards: ArrayLike, utilities: ArrayLike) -> tuple[NDArray[np.int64], Array]:
        spec = self.spec
        H, m = spec.horizon, spec.n_constraints
        a = np.asarray(actions)
        if a.ndim != 1 or not len(a) or not np.issubdtype(a.dtype, np.integer):
            raise InputError(f"actions has shape {a.shape} and type {a.dtype}; expected {H} integers")
        if len(a) > H:
            raise InputError(f"the episode has {len(a)} steps; expected at most the horizon {H}")
        if len(a) < H and spec.absorbing is None:  # type: ignore[attr-defined]
            raise InputError(f"the episode has {len(a)} steps; expected {H} (an early end needs the spec's absorbing values)")
        bad = (a < 0) | (a >= spec.n_actions)
        if bad.any():
            h = int(np.argmax(bad))
            raise InputError(f"actions[{h}] is {a[h]}; expected 0..{spec.n_actions - 1}")
        g = np.asarray(utilities, dtype=np.float64)
        return a.astype(np.int64), check_observed(
            np.asarray(rewards, dtype=np.float64), g[None] if g.ndim == 1 else g, len(a), m
        )

    # --- what it costs, and what merging does ----------------------------------------------------------------------

    def memory_bound(self, states: int | None = None) -> int:
        """Bytes that a run of K episodes needs at most, or with at most ``states`` kept at each step."""
        f, spec = self.map, self.spec
        n = min(self.episodes, states or self.episodes)
        return dense.bytes_needed(spec.horizon, spec.n_actions, self.J, f.rows, f.blocks, f.width, n, self.dtype.itemsize)

    def merge_error(self, step: int, states: ArrayLike) -> Array:
        """The bound on the change in Q_{j,step} by merging next states, (J,n,A); see the head of this module."""
        view, s, H = self.current(), self._state, self.spec.horizon
        rows = self.map.encode(states)
        A, J = self.spec.n_actions, self.J
        if step == H - 1:
            return np.zeros((J, len(rows), A))
        w = view.w[step + 1]
        m, cap = self.spec.n_constraints, self.cap[step + 1]
        delta = (np.sqrt((w**2).sum(axis=(1, 2))) + view.bonus[step + 1] / math.sqrt(self.lam)) * self.merge_tol
        moved = min(2.0, view.alpha * float(delta[0] + view.Y @ delta[1 : 1 + m])) if delta.any() else 0.0
        E = delta + 0.5 * moved * cap
        E = np.minimum(E, cap) if self.floor == 0.0 else E
        factor = np.full(J, math.sqrt(s.gram.visits[step]))
        if self.span_floor >= 0.0:  # the spread that the bonus is made of moves by at most 2E
            factor[: 1 + m] += 2 * self.beta[: 1 + m]
        phi = self.map.phi(states).reshape(len(rows), A, self.map.blocks, self.map.width)
        norm = np.sqrt(np.einsum("nabi,bij,nabj->na", phi, view.inverse[step], phi))
        return np.asarray(norm * (factor * E)[:, None, None])

    # --- state -----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Numbers]:
        """Everything that changes while learning, as plain arrays, without the unused room."""
        return dense_state.trimmed(self._state, self.lazy)

    def append_only(self) -> dict[str, tuple[int, int]]:
        """The features of the states kept, and their keys."""
        return dense_state.final(self._state)

    def restore(self, state: dict[str, Numbers]) -> None:
        """Continue from what :meth:`state` gave for a learner made with the same arguments."""
        self._state, self._room = dense_state.restored(self._state, self.lazy, self._room, state, self.name)
        self._places = dense_state.places(self._state)


@register_continuous
class DenseLSVIUCB(DensePrimalDualLSVI):
    """``lsvi-ucb`` on any states: Algorithm 1 with Y = 0 and α = ∞, greedy on the reward; the constraints are not looked at."""

    name: ClassVar[str] = "lsvi-ucb"
    presets: ClassVar[tuple[str, ...]] = ("theory", "practical")

    def _constants(self, K: int) -> tuple[Constants, dict[str, str]]:
        for key in self._given:
            if key not in (*REGRESSION, "slater_gap"):
                raise unknown_name("parameter of lsvi-ucb", key, REGRESSION)
        H, d, given = self.spec.horizon, self.spec.dimension, dict(self._given, slater_gap=1.0)
        if "beta" not in given:
            p, scale = float(given.get("p", 0.01)), float(given.get("bonus_scale", 1.0))
            given["beta"] = scale * (theory_beta(d, H, K, p) if self.preset == "theory" else PRACTICAL_BETA)
        sizes = {"H": H, "A": self.spec.n_actions, "d": d, "m": self.spec.n_constraints, "K": K}
        chosen, why = primal_dual(self.preset, **sizes, **given, alpha=math.inf, eta=0.0, xi=1.0, zeta=0.0)
        return chosen, why | {"alpha": "greedy", "eta": "no dual", "xi": "no dual", "zeta": "no dual"}
