"""The lemmas as checks: hand-worked numbers that hold and that fail, a whole run, and a run with a broken bonus."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import noregret as nr
from noregret.cli import app
from noregret.errors import InputError
from noregret.runs.streams import streams
from noregret.verification import all_checks, checks, trace
from tests.reference import world as slow_world
from tests.support import begin, slow_twin, small


def verdicts(t):
    return {c.name: c.verdict for c in all_checks(t)}


def test_potential_by_hand():
    """One direction, λ = 1, two visits: ‖φ‖² is 1, then 1/2; det Λ is 1, then 3."""
    squares, growth = np.array([[1.0], [0.5]]), np.array([np.log(3.0)])
    made = checks.potential(squares, growth, d=1, lam=1.0)
    assert made.verdict == "holds" and made.slack == pytest.approx(0.0)  # 2 log 3 is 2d log((λ+K)/λ): the second is tight
    assert checks.potential(squares * 2, growth / 2, d=1, lam=1.0).verdict == "FAILS"  # 2 against log 3
    small_ridge = checks.potential_as_printed(np.array([[100.0]]), np.array([np.log(101.0)]), lam=0.01)
    assert small_ridge.verdict == "not stated" and small_ridge.slack == pytest.approx(2 * np.log(101.0) - 100.0)
    assert checks.potential(np.array([[100.0]]), np.array([np.log(101.0)]), d=1, lam=0.01).verdict == "holds"


def test_soft_max_weights_and_optimism_by_hand():
    made = checks.softmax_gap(np.array([0.1, 0.3]), np.array([2.0, 2.0]), A=2)
    assert made.verdict == "holds" and made.slack == pytest.approx(np.log(2) / 2 - 0.3)
    assert checks.softmax_gap(np.array([0.1, 0.4]), np.array([2.0, 2.0]), A=2).verdict == "FAILS"
    assert checks.softmax_gap(np.zeros(1), np.array([np.inf]), A=2).verdict == "holds"
    made = checks.weights(np.array([1.0, 16.0]), H=2, d=4, lam=0.5)  # 4√8 = 11.3 and 4√16 = 16
    assert made.verdict == "holds" and made.slack == pytest.approx(0.0)
    assert checks.weights(np.array([11.4, 16.0]), H=2, d=4, lam=0.5).verdict == "FAILS"
    assert checks.optimism(np.array([0.0, 2.0]), 1.0).verdict == "holds"
    half = checks.optimism(np.array([-0.1, 2.0]), 0.9)
    assert half.verdict == "FAILS" and "50% of episodes" in half.detail and "90%" in half.detail
    assert checks.optimism(np.array([np.nan]), 1.0).verdict == "FAILS"


def test_dual_lemma_by_hand():
    """H = 1, η = 1/2, ξ = 1: Y goes 0, 1/2, 1 for lacks 1, 1; the worst Y is 1."""
    Y, lack = np.array([[0.0], [0.5]]), np.array([[1.0], [1.0]])
    made = checks.dual_lemma(Y, lack, eta=0.5, xi=1.0, H=1)
    assert made.slack == pytest.approx((1.0 + 0.5) - (2.0 - 0.5)) and made.verdict == "holds"  # and tight
    assert checks.dual_lemma(Y * 0.9, lack, eta=0.5, xi=1.0, H=1).verdict == "FAILS"  # a dual that moves too little


def test_decomposition_by_hand():
    """π* has values (1, 0.5) with b = 0.5; one episode with V^k = (1.2, 0.6) and V^π = (0.7, 0.2), Y_1 = 0."""
    V_star, V_k, V_pi = np.array([1.0, 0.5]), np.array([[1.2, 0.6]]), np.array([[0.7, 0.2]])
    T1, T2 = checks.terms(V_star, V_k, V_pi, np.zeros((1, 1)), np.array([2.0]))
    assert (T1, T2) == (pytest.approx(-0.2), pytest.approx(0.5 + 2.0 * 0.4))
    given = {"b": np.array([0.5]), "eta": 0.5, "xi": 2.0, "H": 1}
    made = checks.decomposition(V_star, V_k, V_pi, np.zeros((1, 1)), **given)
    # at Y = 0: 0.3 on the left; 0.25 − 0.2 + 0.5 on the right
    assert made.verdict == "holds" and made.slack == pytest.approx(0.25)
    unfair = checks.decomposition(np.array([1.0, -9.0]), V_k, V_pi, np.ones((1, 1)), **given)  # a "π*" that violates
    assert unfair.verdict == "FAILS"
    assert checks.optimism_term(1.0, np.array([np.log(2.0)]), A=2, H=1).slack == pytest.approx(0.0)
    assert checks.optimism_term(1.1, np.array([np.log(2.0)]), A=2, H=1).verdict == "FAILS"
    assert checks.dual_bound(np.array([3.0]), H=2, slater_gap=1.0).verdict == "FAILS"


def test_all_that_is_stated_holds_on_a_run_of_the_theorem_and_it_is_the_run_of_the_runner():
    problem = small(0, mu=1)
    t = trace(problem, episodes=150, slater_gap="oracle")
    made = verdicts(t)
    assert set(made.values()) == {"holds", "information"}
    result = nr.run(problem, episodes=150, trials=1, preset="theory", slater_gap="oracle", progress=False)
    assert float((t.optimum.value - t.V_pi[:, 0]).sum()) == pytest.approx(result.regret[0, -1], abs=1e-9)
    # with the truncation of which the proof holds, the one-step form has no known exception
    assert trace(problem, episodes=150, slater_gap="oracle", cap="H-h+1").one_step == 1.0


def test_other_options_are_not_called_a_pass_and_a_tightened_run_is_compared_with_its_own_optimum():
    problem = small(0, mu=1)
    made = verdicts(trace(problem, episodes=60, preset="practical"))
    for name in ("dual lemma", "decomposition into T₁ + T₂", "T₁ ≤ KH·log|A|/α", "optimism of the composite Q"):
        assert made[name] == "not stated"
    assert made["soft-max loses at most log|A|/α"] == made["weights: ‖w‖ ≤ 2H√(dk/λ)"] == "holds"
    assert made["Theorems 1 and 2"] == "not stated" and not {"Theorem 1: regret", "Theorem 2: regret"} & set(made)
    gap = nr.solve(problem).slater_gap
    tight = trace(problem, episodes=60, slater_gap="oracle", zeta=gap / 2)
    assert tight.best is not None and tight.best.V_g[0] >= problem.b[0] + gap / 2 - 1e-9
    assert verdicts(tight)["decomposition into T₁ + T₂"] == "holds" and "Theorem 2: regret" in verdicts(tight)
    beyond = verdicts(trace(problem, episodes=5, slater_gap="oracle", zeta=gap * 1.1))
    assert beyond["decomposition into T₁ + T₂"] == "not stated"
    drawn = verdicts(trace(small(0), episodes=5, slater_gap="oracle"))
    assert drawn["decomposition into T₁ + T₂"] == "not stated" and drawn["dual lemma"] == "holds"


def test_a_broken_bonus_is_seen_and_the_command_ends_with_1():
    line = ["verify", "random:seed=3", "--preset", "theory", "--episodes", "200"]
    good = CliRunner().invoke(app, line)
    assert good.exit_code == 0, good.output
    assert "FAILS" not in good.output and "optimism of the composite Q" in good.output
    bad = CliRunner().invoke(app, [*line, "--set", "beta=1e-6*usual"])
    assert bad.exit_code == 1
    (row,) = [text for text in bad.output.splitlines() if text.lstrip().startswith("optimism of the composite Q")]
    assert "FAILS" in row


@pytest.mark.parametrize("d", [None, 3])
def test_the_weights_are_those_of_the_regression(d):
    """The norms of the trace, against ridge regression on the data of the same episodes by a plain solve."""
    problem = small(0, mu=1, d=d)
    t = trace(problem, episodes=12, slater_gap="oracle", beta=0.3)
    printed = ("lam", "beta", "alpha", "eta", "xi", "zeta", "cap", "lower_clip")
    reference = slow_twin(problem, {key: t.learner.constants[key] for key in printed})
    world, own = streams(0, 0)
    phi, largest = reference.phi, []
    for _ in range(12):
        plan, norms = reference.plan(), [0.0]
        for h in range(3):
            rows = np.array([phi[e.states[h], e.actions[h]] for e in reference.episodes]).reshape(-1, phi.shape[2])
            for V, seen in ((plan.V_r, lambda e: e.rewards), (plan.V_g[0], lambda e: e.utilities[0])):
                y = np.array([seen(e)[h] + V[h + 1, e.states[h + 1]] for e in reference.episodes])
                ridge = rows.T @ rows + reference.lam * np.eye(phi.shape[2])
                norms.append(float(np.linalg.norm(np.linalg.solve(ridge, rows.T @ y))))
        largest.append(max(norms))
        reference.observe(*slow_world.play(problem, plan.policy, world.random(slow_world.width(problem)), own.random(3)))
    np.testing.assert_allclose(t.norms, largest, rtol=1e-9)
    assert t.norms[-1] > 0.1


@pytest.mark.parametrize("options", [{"schedule": "doubling"}, {"xi_rule": "estimate"}, {"schedule": "anytime"}])
def test_the_soft_max_is_judged_by_the_alpha_of_its_episode(options):
    """α moves at episodes 2^i (or with √k); the policy of each episode gives its own away."""
    problem = small(0, mu=1)
    t = trace(problem, episodes=40, preset="theory" if "xi_rule" in options else "paper", **options)
    learner = begin(problem, episodes=40, preset=t.learner.preset, **options).learner
    world, own = streams(0, 0)
    for k in range(40):
        plan = learner.plan()
        C = (plan.Q_r + learner.dual[0] * plan.Q_g[0])[0, :, :2]
        odds, gap = np.log(plan.policy[0, :, 0] / plan.policy[0, :, 1]), C[:, 0] - C[:, 1]
        x = int(np.abs(gap).argmax())
        if abs(gap[x]) > 1e-6:
            assert t.alpha[k] == pytest.approx(odds[x] / gap[x], rel=1e-6)
        u, v = world.random(slow_world.width(problem)), own.random(3)
        learner.observe(*slow_world.play(problem, plan.policy, u, v))
    assert len(np.unique(t.alpha)) > 1
    assert verdicts(t)["soft-max loses at most log|A|/α"] == "holds"


def test_restarts_do_not_fail_what_holds_and_rounding_is_refused():
    done = CliRunner().invoke(app, ["verify", "random", "-k", "300", "-p", "paper", "--set", "schedule=doubling"])
    assert done.exit_code == 0 and "FAILS" not in done.output, done.output
    restarted = verdicts(trace(small(0, mu=1), episodes=60, preset="paper", schedule="doubling"))
    assert restarted["elliptical potential, with min(1,·)"] == "holds" and restarted["dual lemma"] == "not stated"
    with pytest.raises(InputError, match=r"rounding is 0.01; expected None"):
        trace(small(0), episodes=5, slater_gap="oracle", rounding=0.01)


def test_the_zeta_of_theorem_2_is_no_departure():
    problem = small(0, mu=1)
    made = verdicts(trace(problem, episodes=30, slater_gap="oracle", zeta="theorem_2(1e-3)", preset="theory"))
    assert made["dual lemma"] == made["decomposition into T₁ + T₂"] == "holds"
