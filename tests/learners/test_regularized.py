"""The regularised primal-dual learners: against their literal version, the reduction, and the last iterate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import InputError
from noregret.kernels.steps.softmax import entropy
from noregret.learners.mirror.descent import iterated
from tests.learners.test_tabular_learners import problem_with
from tests.reference import world
from tests.reference.opt_primal_dual import ReferenceOptPrimalDual
from tests.reference.regularized import ReferenceRegularized

LEARNERS = ("regularized-primal-dual", "uopt-rpgpd")


def literal(name: str, learner: Any, K: int) -> ReferenceRegularized:
    """The slow version with the constants that the learner says it uses, and bonuses by the formulas of the papers."""
    c, spec = learner.constants, learner.spec
    H, S, A, m = spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints
    assert c["share"] == "nothing"
    if name == "uopt-rpgpd":

        def fading(n: float, p_hat: Any) -> tuple[float, float]:
            f = math.sqrt((2 * math.log(math.log(max(2 * n, math.e))) + 2 * math.log(48 * S**2 * A * H / c["p"])) / n)
            bonus = c["bonus_scale"] * (np.sqrt(p_hat).sum() * f + 5 * f**2)
            return bonus, bonus

        power, tau_power, bonus = c["step_power"], c["tau_power"], fading
    else:
        means = math.sqrt(2 * math.log(2 * S * A * H * (m + 1) * K / c["p"]))
        moves = H * math.sqrt(4 * S * math.log(3 * S * A * H * K / c["p"]))

        def constant(n: float, p_hat: Any) -> tuple[float, float]:
            both = c["bonus_scale"] * (means + moves) / math.sqrt(n)
            return both + c["bonus_scale"] * c["tau"] * math.log(A) * moves / math.sqrt(n), both

        power, tau_power, bonus = 0.0, 0.0, constant
    return ReferenceRegularized(
        spec,
        alpha=lambda k: c["alpha"] * (k + 3) ** -power,
        eta=lambda k: c["eta"] * (k + 3) ** -power,
        tau=lambda k: c["tau"] * (k + 3) ** -tau_power,
        xi=c["xi"],
        bonus=bonus,
    )


CASES: list[tuple[str, int, dict[str, Any]]] = [
    ("regularized-primal-dual", 2, {"alpha": 0.3, "eta": 0.2, "tau": 0.4, "bonus_scale": 0.003}),
    ("regularized-primal-dual", 1, {"preset": "theory", "bonus_scale": 0.003}),  # the whole bonus leaves every Q at its cap
    ("uopt-rpgpd", 2, {"bonus_scale": 0.01}),
    ("uopt-rpgpd", 1, {"preset": "theory", "bonus_scale": 0.03, "xi": 0.3}),
]


@pytest.mark.parametrize(("name", "m", "given"), CASES)
def test_equals_the_literal_version_over_a_run(name: str, m: int, given: dict[str, Any]) -> None:
    problem, K = problem_with(len(given) + m, m=m, noise="bernoulli"), 100
    learner = nr.learners.make(name, problem.spec, episodes=K, **({"slater_gap": 0.4} | given))
    slow, rng, allowed = literal(name, learner, K), np.random.default_rng(5), problem.spec.available
    moved = 0.0
    for _ in range(K):
        plan, (policy, Q, V) = learner.plan(), slow.plan()
        np.testing.assert_allclose(plan.policy, policy, rtol=0, atol=1e-9)
        np.testing.assert_allclose(learner.dual, slow.Y, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(plan.Q_r[allowed], Q[..., 0][allowed], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(plan.V_r, V[..., 0], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(plan.V_g, np.moveaxis(V[..., 1:], 2, 0), rtol=1e-9, atol=1e-9)
        episode = world.play(problem, policy, rng.random(world.width(problem)), rng.random(problem.horizon))
        learner.observe(*episode)
        slow.observe(*episode)
        moved = max(moved, float(np.abs(policy - slow.policy).max()))
    assert moved > 0.0


def test_without_regularisation_it_is_opt_primal_dual() -> None:
    """τ = 0 and no bonus in either: the same policies, tables and prices in every episode."""
    problem, K = problem_with(4, m=2), 80
    given = {"alpha": 0.4, "eta": 0.3, "xi": 2.0, "bonus_scale": 0.0}
    learner = nr.learners.make("regularized-primal-dual", problem.spec, episodes=K, tau=0.0, **given)
    plain, rng = ReferenceOptPrimalDual(problem.spec, K=K, p=0.01, **given), np.random.default_rng(1)
    for _ in range(K):
        plan, (policy, Q, _) = learner.plan(), plain.plan()
        np.testing.assert_allclose(plan.policy, policy, rtol=0, atol=1e-9)
        np.testing.assert_allclose(plan.Q_r[problem.available], Q[..., 0][problem.available], atol=1e-9)
        np.testing.assert_allclose(learner.dual, plain.Y, atol=1e-9)
        episode = world.play(problem, policy, rng.random(world.width(problem)), rng.random(problem.horizon))
        learner.observe(*episode)
        plain.observe(*episode)
    assert learner.dual.max() > 0.0


def test_entropy_and_iterated_logarithm_by_hand() -> None:
    policy = np.array([[[0.5, 0.25, 0.25, 0.0]]])
    assert entropy(policy, 0, 0) == pytest.approx(1.5 * math.log(2), rel=1e-14)
    assert iterated(1.0, 3.0) == pytest.approx(6.0, abs=1e-14)  # log log e = 0
    assert iterated(math.e**2 / 2, 1.0) == pytest.approx((2 * math.log(2) + 2) * 2 / math.e**2, rel=1e-14)


def a_choice() -> nr.TabularCMDP:
    """One step, one state: a reward of 1 or a utility of 1. With b = 1/2 the optimum is to toss a coin; Y* = 1."""
    return nr.TabularCMDP(np.ones((1, 1, 2, 1)), [[[1.0, 0.0]]], [[[[0.0, 1.0]]]], 0.5, [1.0])


def test_the_last_iterate_converges_where_plain_primal_dual_circles() -> None:
    """Late hard losses: the plain ones do not shrink; the regularised ones rest at τY*, and those of fading steps go on down.

    All three see the same episodes. An episode with π(0) = p has hard regret (1/2 − p)⁺ and hard violation (p − 1/2)⁺.
    """
    K, steps = 6000, {"alpha": 0.05, "eta": 0.05, "xi": 4.0, "bonus_scale": 0.0}
    plain = {"damping": False, "anti_windup": False, "alpha_schedule": "fixed", "eta_schedule": "fixed"}
    kinds: dict[str, dict[str, Any]] = {
        "opt-primal-dual": steps | plain | {"dual_estimate": "optimistic"},
        "regularized-primal-dual": steps | {"tau": 0.05},
        "uopt-rpgpd": {"preset": "theory", "bonus_scale": 0.0},
    }
    early, late, most = {}, {}, {}
    for name, given in kinds.items():
        learner, off = nr.learners.make(name, a_choice().spec, episodes=K, **given), np.zeros(K)
        for k in range(K):
            off[k] = abs(learner.plan().policy[0, 0, 0] - 0.5)
            a = k % 2
            learner.observe([0, 0], [a], [float(a == 0)], [[float(a == 1)]])
        early[name], late[name], most[name] = off[: K // 6].mean(), off[-K // 6 :].mean(), off[-K // 6 :].max()
    assert late["opt-primal-dual"] > 0.2 and late["opt-primal-dual"] > 0.8 * early["opt-primal-dual"]
    assert most["regularized-primal-dual"] < 0.05 and late["regularized-primal-dual"] < 0.5 * early["regularized-primal-dual"]
    assert most["uopt-rpgpd"] < 0.05 and late["uopt-rpgpd"] < 0.5 * early["uopt-rpgpd"]


def test_regularisation_keeps_the_price_below_its_fixed_point() -> None:
    """At rest (1−ητ)Y + η(b − V_g) = Y, so b − V_g = τY: what the regularised saddle point lacks, to the digit."""
    learner = nr.learners.make(
        "regularized-primal-dual", a_choice().spec, episodes=10, alpha=0.1, eta=0.1, tau=0.2, xi=4.0, bonus_scale=0.0
    )
    for k in range(3000):
        a = k % 2
        learner.observe([0, 0], [a], [float(a == 0)], [[float(a == 1)]])
    p, Y = learner.plan().policy[0, 0, 1], learner.dual[0]
    assert 0.5 - p == pytest.approx(0.2 * Y, abs=1e-9)
    assert math.log(p / (1 - p)) == pytest.approx((Y - 1.0) / 0.2, abs=1e-9)  # π ∝ exp((Q_r + Y Q_g)/τ)


@pytest.mark.parametrize("name", LEARNERS)
def test_bad_numbers_are_refused(name: str) -> None:
    spec = problem_with(0).spec
    with pytest.raises(InputError, match="tau is -1"):
        nr.learners.make(name, spec, episodes=10, tau=-1)
    with pytest.raises(InputError, match="works on tables"):
        nr.learners.make(name, spec, episodes=10, features=np.full((4, 3, 2), 0.5))
    assert nr.learners.make(name, spec, episodes=10, share="all").constants["share"] == "all"
