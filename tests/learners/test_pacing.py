"""The options of Algorithm 1 in other learners with a dual step: plain estimate, damping, no wind-up, schedules of any time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noregret import learners
from tests.learners.test_tabular_learners import printed
from tests.reference.tables import Tables
from tests.support import small

NAMES = ("opdop", "opt-primal-dual", "opt-dual", "optpess-primal-dual")


def episodes(problem: Any, count: int) -> Any:
    """Episodes of a uniform policy, as a learner takes them."""
    rng = np.random.default_rng(3)
    H, S, A = problem.spec.horizon, problem.spec.n_states, problem.spec.n_actions
    for _ in range(count):
        yield rng.integers(0, S, H + 1), rng.integers(0, A, H), rng.random(H), rng.random((1, H))


class PlainEvaluation(Tables):
    """V_g of a policy on the means and the model so far; half of what is left to gain where nothing was tried."""

    def of(self, policy: Any, lam: float) -> float:
        n, by_next, sums = self.counts()
        V = np.zeros((self.H + 1, self.S))
        for h in reversed(range(self.H)):
            for x in range(self.S):
                if n[h, x].sum() == 0:
                    V[h, x] = 0.5 * (self.H - h)
                    continue
                for a in range(self.A):
                    Q = 0.5 * (self.H - h)
                    if n[h, x, a] > 0:
                        Q = (sums[h, x, a, 1] + by_next[h, x, a] @ V[h + 1]) / (n[h, x, a] + lam)
                    V[h, x] += policy[h, x, a] * min(max(Q, 0.0), self.H - h)
        return float(self.start @ V[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_dual_follows_the_estimate_without_its_optimism(name: str) -> None:
    problem = small(5, H=3, S=3, A=2, b=[1.4])
    learner: Any = learners.make(
        name, problem.spec, episodes=100, share="nothing", **printed(name) | {"dual_estimate": "plain"}
    )
    reference = PlainEvaluation(problem.spec)
    price = learner._state.dual.Y if name == "optpess-primal-dual" else learner._state.Y
    for k, episode in enumerate(episodes(problem, 12)):
        policy, before = learner.plan().policy, price.copy()
        value = reference.of(policy, learner.constants.get("lam", 0.0))
        assert np.isclose(learner._state.V[0, 2] @ problem.spec.start, value)
        learner.observe(*episode)
        reference.keep(*episode)
        if name == "opt-primal-dual":
            eta, xi = learner.constants["eta"], learner.constants["xi"]
            assert np.isclose(price[0], np.clip(before[0] + eta * (1.4 - value), 0.0, xi)), k


@pytest.mark.parametrize("name", NAMES)
def test_without_the_options_nothing_is_kept_for_them(name: str) -> None:
    state: Any = learners.make(name, small(b=[1.0]).spec, episodes=10, preset="theory", slater_gap=1.0)._state
    assert state.Q.shape[1] == 2 and state.dual.memory is None and state.dual.balance is None and not state.prices.room.size


def test_schedules_damping_and_room_are_those_of_algorithm_1() -> None:
    problem = small(5, H=3, S=3, A=2, b=[2.7])
    options = {"eta_schedule": "anytime", "damping": True, "anti_windup": True, "dual_estimate": "plain"}
    learner: Any = learners.make("opt-dual", problem.spec, episodes=100, eta=2.0, **printed("opt-dual") | options)
    gain, last, room = 1.0, 0.0, min(2.7, 3 - 2.7)
    for k, episode in enumerate(episodes(problem, 30), start=1):
        learner.plan()
        lack, before = 2.7 - float(learner._state.V[0, 2] @ problem.spec.start), float(learner._state.Y[0])
        gain = max(gain / 2, 1e-4) if lack * last < 0 else min(1.5 * gain, 1.0)
        learner.observe(*episode)
        step = np.clip(lack, -room, room) / min(room, 1.0)
        assert np.isclose(learner._state.Y[0], max(before + gain * 2.0 / np.sqrt(k) * step, 0.0))
        last = lack


def test_a_policy_step_of_any_time_is_divided_by_the_root_of_the_episode() -> None:
    problem = small(5, H=2, S=2, A=2, b=[0.5])
    learner: Any = learners.make(
        "opt-primal-dual", problem.spec, episodes=100, alpha=0.3, **printed("opt-primal-dual") | {"alpha_schedule": "anytime"}
    )
    for k, episode in enumerate(episodes(problem, 9), start=1):
        learner.plan()
        Q, Y, x = learner._state.Q[0].copy(), float(learner._state.Y[0]), int(episode[0][0])
        before, known = learner._state.logits[0, x].copy(), bool(learner._state.model.known[:, x].any())
        learner.observe(*episode)
        if known:
            moved = before + 0.3 / np.sqrt(k) * (Q[0, x] + Y * Q[1, x])
            np.testing.assert_allclose(learner._state.logits[0, x], moved - moved.max(), atol=1e-12)
