"""A limit on every step: the learner against its literal form, by hand, and where it reduces to another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import learners
from noregret.errors import InputError
from noregret.features import one_hot
from noregret.kernels.worlds import world as worlds
from noregret.kernels.worlds.stepwise import unsafe_steps
from noregret.report import tables
from noregret.runs.execute import execute
from noregret.runs.keys import make_key
from noregret.store import Store
from tests.reference import world as slow_world
from tests.reference.slucb_qvi import ReferenceSLUCB
from tests.support import limited, small, trial


def two_actions(**changes: Any) -> Any:
    """One state, two steps: action 0 costs 1/10 and pays nothing, action 1 costs 1/2 and pays 1; a step may cost 3/10."""
    given: dict[str, Any] = {
        "P": np.ones((2, 1, 2, 1)), "r": [[[0.0, 1.0]]] * 2, "g": [[[0.9, 0.5]]] * 2, "b": 1.4, "mu": 0,
        "step_limit": 0.3, "safe_actions": [0],
    }  # fmt: skip
    return nr.problems.TabularCMDP(**given | changes)


@pytest.mark.parametrize("preset", ["practical", "theory"])
@pytest.mark.parametrize("changes", [{}, {"masked": True, "noise": "bernoulli"}, {"by_next": True}])
def test_the_learner_is_the_printed_algorithm(preset: str, changes: dict[str, Any]) -> None:
    problem = limited(5, **changes)
    constants: dict[str, Any] = {"beta": 0.2, "lam": 0.3, "cost_beta": 0.4, "optimism": 0.05, "share": "nothing"}
    learner = learners.make("slucb-qvi", problem.spec, episodes=40, preset=preset, **constants)
    used = {key: learner.constants[key] for key in ("beta", "cost_beta", "cost_cap", "optimism", "cap", "lower_clip")}
    phi = one_hot(problem.n_states, problem.n_actions)
    slow = ReferenceSLUCB(phi, problem.horizon, 0.3, problem.available, step=problem.spec.step, **used)
    rng, mixed = np.random.default_rng(0), 0
    for _ in range(40):
        plan, (Q, policy) = learner.plan(), slow.plan()
        np.testing.assert_allclose(plan.policy, policy, atol=1e-9)
        np.testing.assert_allclose(np.where(problem.available, plan.Q_r, 0.0), np.where(problem.available, Q, 0.0), atol=1e-9)
        mixed += int(((policy > 0.0).sum(axis=2) == 2).sum())
        episode = slow_world.play(problem, policy, rng.random(slow_world.width(problem)), rng.random(problem.horizon))
        learner.observe(*episode)
        slow.observe(*episode)
    assert mixed > 20, "hardly any state mixes two actions"


def test_a_plan_by_hand() -> None:
    """λ = 1, β = 0, β_c = 0.9, τ = 3/10, κ = 1. Untried, action 1 costs 0.9: it is drawn with (0.3−0.1)/(0.9−0.1) = 1/4."""
    learner = learners.make("slucb-qvi", two_actions().spec, episodes=9, lam=1.0, beta=0.0, cost_beta=0.9, share="nothing")
    assert learner.plan().policy[0, 0].tolist() == pytest.approx([0.875, 0.125])  # both vertices are worth 0 and tie
    learner.observe([0, 0, 0], [1, 1], [1.0, 1.0], [[0.5, 0.5]])
    plan = learner.plan()
    # after one visit the cost is 0.5/2 + 0.9/√2 = 0.8863961, drawn with 0.2/0.7863961; its value at the last step is 1/2
    share = 0.2 / 0.7863961031
    np.testing.assert_allclose(plan.policy[:, 0], [[1 - share, share]] * 2, atol=1e-9)
    np.testing.assert_allclose(plan.Q_r[:, 0], [[0.0, (1 + 0.5 * share) / 2], [0.0, 0.5]], atol=1e-9)


def test_kappa_by_hand() -> None:
    """κ = 1 + 2H/(τ − τ_0) = 1 + 4/0.2 = 21."""
    learner = learners.make("slucb-qvi", two_actions().spec, episodes=9, preset="theory")
    np.testing.assert_allclose(learner._state.safe.kappa, 21.0)
    np.testing.assert_allclose(learner._state.safe.cost, 0.1)
    usual = learners.make("slucb-qvi", two_actions().spec, episodes=50, p=0.01)
    # √(ln(2·1·2·2·50/0.01)/2) + 0.3/2 = √(ln(40 000)/2) + 0.15
    assert usual.constants["cost_beta"] == pytest.approx(2.301807400 + 0.15)


def test_with_a_limit_that_nothing_breaks_it_is_lsvi_ucb_with_kappa_times_its_bonus() -> None:
    problem = small(3, g=np.full((1, 3, 4, 3), 0.5), b=[0.0])
    slack = problem.replace(step_limit=1.0, safe_actions=np.zeros(4, dtype=np.int64))
    kappa = 1.0 + 0.25 / 0.5  # powers of two: the same bits
    one = trial(slack, "slucb-qvi", episodes=300, beta=0.25, lam=0.5, optimism=0.25)
    other = trial(problem, "lsvi-ucb", episodes=300, beta=0.25 * kappa, lam=0.5)
    one.advance(300)
    other.advance(300)
    np.testing.assert_array_equal(one.curves[:, :-1], other.curves)
    assert (one.curves[:, -1] == 0.0).all()


@pytest.mark.parametrize("preset", ["practical", "theory"])
def test_no_step_is_unsafe_and_others_show_what_they_cost(preset: str) -> None:
    result = nr.run("machine-load", "slucb-qvi", preset=preset, episodes=1000, trials=20, record_every=500, progress=False)
    assert result.unsafe_steps is not None and (result.unsafe_steps == 0.0).all()
    assert (result.regret > -1e-6).all() and (result.violation == 0.0).all()


def test_the_practical_form_learns_and_a_learner_without_limits_on_steps_breaks_them() -> None:
    result = nr.run("machine-load", "slucb-qvi", episodes=8000, trials=2, record_every=1000, progress=False)
    late, early = np.diff(result.regret.mean(axis=0))[-1], result.regret.mean(axis=0)[0]
    assert late < 0.2 * early and result.last("regret").mean < 0.06 * 8000 * result.optimal_value
    baseline = nr.run("machine-load", "lsvi-ucb", episodes=300, trials=1, record_every=100, progress=False)
    assert baseline.unsafe_steps is not None and baseline.unsafe_steps[0, -1] > 300
    table = tables.summary({"safe": result, "unsafe": baseline})
    assert "unsafe steps" in table.columns and "expected cost over the step limit" in table.caption


def test_stored_and_saved_runs_keep_the_count(tmp_path: Path) -> None:
    given: dict[str, Any] = {"episodes": 60, "trials": 2, "record_every": 20, "progress": False}
    result = nr.run("machine-load", "uniform", **given)
    assert (
        result.unsafe_steps is not None and result.unsafe_steps.shape == (2, 3) and (np.diff(result.unsafe_steps) > 0.0).all()
    )
    store = Store(tmp_path / "runs")
    for t in range(2):
        execute(make_key("machine-load", "uniform", 60, trial=t, record_every=20), store)
    stored = nr.load_runs(store.folder)
    assert sorted(stored["unsafe_steps"]) == sorted(result.unsafe_steps[:, -1])
    assert stored.runs[0].curves()["unsafe_steps"].shape == (3,)
    again = nr.RunResult.load(result.save(tmp_path / "r.npz"))
    np.testing.assert_array_equal(again.unsafe_steps, result.unsafe_steps)
    assert "unsafe steps" in result._repr_html_() and "unsafe_steps" in result._columns()
    plain = nr.run("random:S=3,A=2,H=2", "uniform", **given)
    assert plain.unsafe_steps is None and "unsafe" not in plain._repr_html_() and "unsafe_steps" not in plain._columns()


def test_unsafe_steps_are_counted_by_reach() -> None:
    """The literal count: Σ over steps and states of the probability to be there, where the expected cost is over the limit."""
    problem = limited(7)
    limit = float(problem.step_limit or 0.0)
    policy = np.random.default_rng(1).dirichlet(np.full(3, 0.4), size=(3, 4))
    reach, expected = problem.mu, 0.0
    for h in range(3):
        over = (policy[h] * (1.0 - problem.g[0, h])).sum(axis=1) > limit
        expected += float(reach @ over)
        reach = np.einsum("s,sa,sax->x", reach, policy[h], problem.P[h])
    world = worlds.compile_world(problem)
    found = unsafe_steps(world, policy, world.start, limit, worlds.scratch_for(world))
    assert 0.0 < expected < 3.0 and found == pytest.approx(expected, abs=1e-12)


def test_problems_that_it_cannot_take_are_refused_in_one_line() -> None:
    with pytest.raises(
        InputError, match=r"the problem has no limit on a step; slucb-qvi needs one: TabularCMDP\(..., step_limit="
    ):
        nr.run("random", "slucb-qvi", episodes=5)
    with pytest.raises(InputError, match="slucb-qvi takes one-hot features"):
        learners.make("slucb-qvi", two_actions(features=np.full((1, 2, 1), 0.5)).spec, episodes=5)
