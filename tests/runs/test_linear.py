"""The linear CMDP on R^D: its simulator, its quadrature, its oracle, and exact regret on it."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

import noregret as nr
from noregret import oracle
from noregret.features import Fourier
from noregret.oracle.quadrature import GridOracle
from noregret.problems import LinearCMDP, TabularCMDP, load, names
from noregret.problems.quadrature import Quadrature
from noregret.runs import Ask
from noregret.runs.trial import LinearTrial
from tests.support import begin

ONE, TWO = load("linear-continuous"), load("linear-continuous:dims=2,seed=1")


def uniform(h, states):
    return np.full((len(states), 3), 1 / 3)


def tabular(problem: LinearCMDP, cells: int) -> TabularCMDP:
    """The grid of a problem as a problem of its own; the start is one more state."""
    grid = Quadrature(problem, cells)
    phi = np.concatenate([grid.phi, grid.phi_start])
    to = np.concatenate([grid.weights, np.zeros((*grid.weights.shape[:2], 1))], axis=2)
    P = np.einsum("sad,hdx->hsax", phi, to)
    r, g = np.einsum("sad,hd->hsa", phi, problem.theta), np.einsum("sad,mhd->mhsa", phi, problem.omega)
    return TabularCMDP(P, r, g, problem.b, len(phi) - 1)


def test_it_is_loaded_by_name_and_called_by_the_text_that_rebuilds_it():
    assert names(continuous=True) == ["linear-continuous"] and "linear-continuous" in names()
    assert TWO.name == "linear-continuous:seed=1,dims=2" and load(TWO.name).b == TWO.b
    assert TWO.state_dimension == 2 and TWO.features.dimension == ONE.features.dimension
    assert "R^2" in repr(TWO)
    with pytest.raises(nr.NoRegretError, match="dims is 3"):
        load("linear-continuous:dims=3")


@pytest.mark.parametrize("problem", [ONE, TWO], ids=["R1", "R2"])
def test_features_are_on_the_simplex_and_weights_of_a_component_sum_to_one(problem):
    x = np.random.default_rng(0).normal(size=(50, problem.state_dimension)) * 3
    phi = problem.features.encode(x)
    assert phi.min() >= 0 and np.allclose(phi.sum(axis=2), 1.0)
    i, a = 3, 1
    gap = ((x[:, None] - problem.features.centres[a]) ** 2).sum(axis=2)
    bumps = np.exp(-gap / (2 * problem.features.rho**2))
    np.testing.assert_allclose(phi[:, a, i], (bumps / bumps.sum(axis=1, keepdims=True))[:, i], atol=1e-9)
    np.testing.assert_allclose(Quadrature(problem, 30).weights.sum(axis=2), 1.0)


def test_the_simulator_draws_from_the_mixture():
    rng = np.random.default_rng(0)
    phi = ONE.features.encode([[0.3]])[0, 1]
    n = 4000
    seen = np.array([ONE.step(2, phi, rng.random(ONE.uniforms))[0][0] for _ in range(n)])
    mean = phi @ ONE.means[2, :, 0]
    variance = phi @ (ONE.scales[2] ** 2 + ONE.means[2, :, 0] ** 2) - mean**2
    assert abs(seen.mean() - mean) < 4 * np.sqrt(variance / n)
    assert abs(seen.var() / variance - 1) < 0.15
    np.testing.assert_allclose(ONE.step(2, phi, rng.random(2))[1], [ONE.theta[2] @ phi, ONE.omega[0, 2] @ phi])
    noisy = ONE.replace(noise="bernoulli")
    draws = np.array([noisy.step(2, phi, rng.random(noisy.uniforms))[1] for _ in range(n)])
    assert set(np.unique(draws)) == {0.0, 1.0} and abs(draws[:, 0].mean() - ONE.theta[2] @ phi) < 4 * 0.5 / np.sqrt(n)


@pytest.mark.parametrize("problem", [ONE, TWO], ids=["R1", "R2"])
def test_quadrature_agrees_with_play(problem):
    V_r, V_g = oracle.evaluate(problem, uniform)
    rng, totals = np.random.default_rng(1), []
    for _ in range(1500):
        x, total = problem.start, np.zeros(2)
        for h in range(problem.horizon):
            phi = problem.features.encode(x[None])[0, rng.integers(3)]
            x, seen = problem.step(h, phi, rng.random(problem.uniforms))
            total += seen
        totals.append(total)
    error = np.std(totals, axis=0) / np.sqrt(len(totals))
    assert (np.abs(np.mean(totals, axis=0) - [V_r, V_g[0]]) < 4 * error).all()


@pytest.mark.parametrize("problem", [ONE, TWO, load("linear-continuous:m=2,seed=1,H=3")], ids=["R1", "R2", "m=2"])
def test_the_oracle_is_that_of_the_grid_as_a_finite_problem(problem):
    cells = 40 if problem.state_dimension == 1 else 9
    finite, optimum = nr.solve(tabular(problem, cells)), oracle.of(problem, cells=cells).solve()
    assert optimum.value == pytest.approx(finite.value, abs=1e-8)
    assert optimum.slater_gap == pytest.approx(finite.slater_gap, abs=1e-8)
    assert (optimum.V_g >= problem.b - 1e-8).all()
    grid = Quadrature(problem, cells)
    price = np.concatenate([[1.0], optimum.dual])
    assert grid.greedy(price)[0] @ price - optimum.dual @ problem.b == pytest.approx(optimum.value, abs=1e-8)
    V, w = grid.greedy(price)
    np.testing.assert_allclose(grid.values(lambda h, phi: np.eye(problem.n_actions)[(phi @ w[h].T @ price).argmax(axis=1)]), V)


def test_the_error_of_the_grid_is_stated_and_falls():
    for problem, cells, allowed in ((ONE, 1000, 1e-5), (TWO, 48, 2e-3)):
        optimum = oracle.of(problem, cells=cells).solve(check=True)
        finer = oracle.of(problem, cells=2 * cells).solve()
        assert 0 < optimum.error < allowed
        assert abs(finer.value - optimum.value) <= optimum.error and abs(finer.slater_gap - optimum.slater_gap) <= optimum.error
    tight = nr.solve(ONE, tighten=0.1)
    assert tight.value < nr.solve(ONE).value
    with pytest.raises(nr.InfeasibleError, match="worst slack"):
        nr.solve(ONE, tighten=0.3)


def test_a_soft_max_policy_is_evaluated_as_exactly_as_the_grid_is_fine():
    """With steep soft-max the values have jumps: halving the cells must still halve the error, or better."""
    trial = begin(ONE, episodes=300, record_every=300, alpha=1e4, preset="paper", beta=0.1, cells=100)
    trial.advance(300)
    learner = trial.learner
    values = [np.append(*oracle.of(ONE, cells=n).evaluate(learner.plan())) for n in (250, 500, 1000, 8000)]
    off = [np.abs(V - values[-1]).max() for V in values[:-1]]
    assert off[0] < 2e-2 and off[2] < 4e-3 and off[2] < off[0]
    plan = learner.plan()
    same = oracle.of(ONE, cells=250).evaluate(lambda h, x: plan.probabilities(h, x))
    assert same[0] == pytest.approx(values[0][0])


def test_regret_is_the_sum_of_the_exact_gaps_of_the_policies_played():
    K, seed = 30, 3
    result = nr.run(ONE, episodes=K, trials=2, seed=seed, record_every=1, cells=200, preset="paper", beta=0.1)
    optimum = oracle.of(ONE, cells=200).solve()
    regret, lack = np.zeros(K), np.zeros(K)
    trial = begin(ONE, episodes=K, seed=seed, record_every=K, cells=200, preset="paper", beta=0.1)
    learner = trial.learner
    for k in range(K):
        V_r, V_g = oracle.of(ONE, cells=200).evaluate(learner.plan())
        regret[k], lack[k] = optimum.value - V_r, ONE.b[0] - V_g[0]
        trial.advance(1)
    np.testing.assert_allclose(result.regret[0], np.cumsum(regret), atol=1e-9)
    np.testing.assert_allclose(result.hard_violations[0, :, 0], np.cumsum(np.maximum(lack, 0)), atol=1e-9)
    np.testing.assert_allclose(result.dual[0, -1], learner.dual)
    assert not np.array_equal(result.regret[0], result.regret[1])
    coarse = nr.run(ONE, episodes=K, trials=1, seed=seed, record_every=10, cells=200, preset="paper", beta=0.1)
    assert coarse.episodes.tolist() == [10, 20, 30]
    np.testing.assert_array_equal(coarse.regret[0], result.regret[0, 9::10])  # records change nothing
    thin = nr.run(
        ONE, episodes=K, seed=seed, trials=1, record_every=10, cells=200, preset="paper", beta=0.1, evaluate="records"
    )
    assert thin.regret[0, 0] == pytest.approx(10 * regret[9])
    with pytest.raises(nr.NoRegretError, match="evaluate"):
        nr.run(ONE, episodes=K, trials=1, evaluate="never")


def test_plans_that_last_are_evaluated_once_and_every_episode_counts(monkeypatch):
    given = {"episodes": 60, "seed": 5, "cells": 100, "replan": "doubling", "dual_tol": 0.5}
    exact, evaluate, made = begin(ONE, record_every=1, **given), GridOracle.evaluate, []
    monkeypatch.setattr(GridOracle, "evaluate", lambda self, policy: made.append(evaluate(self, policy)) or made[-1])
    exact.advance(60)
    assert len(made) == exact.learner.replans < 60 and exact.evaluated == "every plan"
    for record_every in (7, 60):
        trial = begin(ONE, record_every=record_every, **given)
        for _ in trial.blocks(11):
            pass
        np.testing.assert_array_equal(trial.sums, exact.sums)
    half, again = begin(ONE, record_every=60, **given), begin(ONE, record_every=60, **given)
    half.advance(31)
    arrays, meta, _ = half.state()
    again.restore(31, arrays, meta)
    again.advance(29)
    np.testing.assert_array_equal(again.curves, exact.curves[-1:])


def test_numbers_of_another_evaluation_have_another_name():
    keys = [
        Ask(ONE, "primal-dual-lsvi", 10, params=params).keys()[0] for params in ({}, {"evaluate": "records"}, {"beta": 0.1})
    ]
    assert [key.told for key in keys] == [{"evaluate": "plans"}, {"evaluate": "records"}, {"evaluate": "plans"}]
    assert len({key.id for key in keys}) == 3
    assert Ask("random:S=3,A=2,H=2", "primal-dual-lsvi", 10).keys()[0].told == {}


def test_other_features_than_the_problems_own_and_lsvi_ucb():
    fourier = Fourier([-3], [3], n_actions=3, order=4)
    result = nr.run(ONE, "lsvi-ucb", episodes=20, trials=1, record_every=10, cells=100, features=fourier)
    assert "Fourier" in result.constants["features"] and (result.dual == 0).all()
    trial = begin(ONE, "lsvi-ucb", episodes=20, record_every=10, cells=100, features=fourier)
    gaps = []
    for _ in range(20):
        gaps.append(trial.V_star - trial.truth.evaluate(lambda h, x: trial.learner.plan().probabilities(h, x))[0])
        trial.advance(1)
    np.testing.assert_allclose(result.regret[0], np.cumsum(gaps)[9::10])


def test_steps_that_share_learn_from_the_last_state_too():
    trial = begin(ONE, episodes=30, cells=60, share="all", beta=0.5)
    trial.advance(30)
    gram, H = trial.learner.gram, ONE.horizon
    assert gram.visits.tolist() == [30 * H] and gram.counts.tolist() == [30 * H]


def test_an_interrupt_keeps_what_is_done(monkeypatch):
    """Ctrl-C in the second of two trials: the first is kept, with the same bits, and the result says more was asked for."""
    given = {"episodes": 40, "trials": 2, "record_every": 10, "cells": 60, "preset": "paper", "beta": 0.1}
    whole = nr.run(ONE, "primal-dual-lsvi", **given)
    advance = LinearTrial.advance

    def interrupted(self, n):
        if self.key.trial == 1:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.5)
        advance(self, n)

    monkeypatch.setattr(LinearTrial, "advance", interrupted)
    result = nr.run(ONE, "primal-dual-lsvi", block_size=7, threads=1, **given)
    assert not result.complete and result.trials == 1
    np.testing.assert_array_equal(result.regret[0], whole.regret[0])


def test_a_bar_is_shown_after_the_memory_that_is_needed(capfd, monkeypatch):
    for key, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "120"}.items():  # as on a terminal
        monkeypatch.setenv(key, value)
    nr.run(ONE, "primal-dual-lsvi", episodes=20, trials=1, cells=60, preset="paper", beta=0.1, progress=True)
    shown = capfd.readouterr().err
    assert "this run needs at most" in shown and "20/20" in shown


def test_bad_input_is_refused():
    good = {
        "centres": np.zeros((2, 3, 1)), "width": 0.5, "means": np.zeros((4, 3, 1)), "scales": np.ones((4, 3)),
        "theta": np.zeros((4, 3)), "omega": np.zeros((1, 4, 3)), "b": [0.0], "start": [0.0],
    }  # fmt: skip
    LinearCMDP(**good)
    for change, text in (
        ({"width": 0.0}, "width is 0.0"),
        ({"theta": np.full((4, 3), 1.5)}, "theta[0, 0] is 1.5"),
        ({"scales": np.zeros((4, 3))}, "scales[0, 0] is 0.0"),
        ({"means": np.zeros((4, 2, 1))}, "means has shape (4, 2, 1)"),
        ({"b": [0.0, 1.0]}, "b has shape (2,)"),
        ({"centres": np.zeros((2, 3, 3)), "means": np.zeros((4, 3, 3))}, "R^3"),
        ({"noise": "gauss"}, "noise is 'gauss'"),
        ({"start": [np.nan]}, "start[0] is nan"),
    ):
        with pytest.raises(nr.NoRegretError) as caught:
            LinearCMDP(**(good | change))
        assert text in str(caught.value)
    with pytest.raises(nr.NoRegretError, match="states have shape"):
        ONE.features.encode([[0.1, 0.2]])
    with pytest.raises(nr.NoRegretError, match="gives shape"):
        nr.evaluate(ONE, lambda h, x: np.ones((len(x), 2)))
    with pytest.raises(nr.NoRegretError, match="slater_gap is 'guess'"):
        nr.run(ONE, episodes=5, trials=1, slater_gap="guess")
