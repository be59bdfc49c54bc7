"""Noise of what a step pays: in every world's text, with the means that the oracle uses, the same bits everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import InputError
from noregret.kernels.worlds import world as worlds
from noregret.problems.noise import KINDS, centres, clipped_mean, draws, show

FINITE = [name for name in nr.problems.names(continuous=False) if name not in ("grid-world", "frozen-lake-8x8")]


def simulated(problem: Any, policy: Any, episodes: int, seed: int) -> tuple[Any, Any]:
    """Means and standard errors of the totals (1+m,) of episodes that are played."""
    layout = worlds.compile_world(problem)
    scratch, rng = worlds.scratch_for(layout), np.random.default_rng(seed)
    totals = np.zeros((episodes, 1 + problem.n_constraints))
    for i in range(episodes):
        u, v = rng.random(worlds.world_width(problem)), rng.random(problem.horizon)
        _play(layout, policy, u, v, scratch)
        totals[i] = scratch.observed.sum(axis=0)
    return totals.mean(axis=0), totals.std(axis=0) / np.sqrt(episodes) + 1e-9


@worlds.jit
def _play(layout: Any, policy: Any, u: Any, v: Any, scratch: Any) -> None:
    worlds.play(layout, policy, u, v, scratch)


@pytest.mark.parametrize("noise", [None, *KINDS])
@pytest.mark.parametrize("name", ["bandit", "admission", "job-scheduling"])
def test_the_oracle_agrees_with_long_simulation(name: str, noise: Any) -> None:
    problem = nr.problems.load(f"{name}:noise={'none' if noise is None else noise}")
    policy = np.ascontiguousarray(problem.available / problem.available.sum(axis=2, keepdims=True))
    value, utilities = nr.evaluate(problem, policy)
    means, errors = simulated(problem, policy, 6000, seed=7)
    assert np.all(np.abs(means - np.append(value, utilities)) < 4.5 * errors), (means, value, utilities, errors)


@pytest.mark.parametrize("name", FINITE)
@pytest.mark.parametrize("noise", KINDS)
def test_every_world_takes_noise_in_its_text(name: str, noise: str) -> None:
    plain = nr.problems.load(f"{name}:noise=none")
    noisy = nr.problems.load(f"{name}:noise={noise},noise_scale=0.1,noise_share=0.5")
    assert nr.problems.load(noisy.name).noise == noise and noisy.noise_scale == 0.1
    assert (noisy.P == plain.P).all() and (noisy.r == plain.r).all() and (noisy.g == plain.g).all()
    assert noisy.noisy is not None and 0 < noisy.noisy[0].mean() < 1
    assert noisy.spec.bounded == (noise != "gaussian") and plain.spec.bounded


@pytest.mark.parametrize("noise", KINDS)
@pytest.mark.parametrize("by_next", [False, True])
def test_a_transition_shows_what_the_literal_version_does(noise: Any, by_next: bool) -> None:
    problem = nr.problems.load("admission" if by_next else "bandit:m=2").replace(noise=noise, noise_scale=0.2)
    problem = problem.replace(noisy=np.random.default_rng(1).random(problem.available.shape) < 0.6)
    layout, rng = worlds.compile_world(problem), np.random.default_rng(2)
    seen, J = np.zeros((1, 1 + problem.n_constraints)), 1 + problem.n_constraints
    varied = 0
    for _ in range(200):
        h, x = int(rng.integers(problem.horizon)), int(rng.integers(problem.n_states))
        a = int(rng.choice(np.flatnonzero(problem.available[h, x])))
        u = rng.random(worlds.draw_width(layout))
        assert len(u) == 1 + J * draws(noise)
        after = worlds.follow(layout, h, (x, a), u, 0, seen)
        means = np.append(problem.r[h, x, a], problem.g[:, h, x, a])
        if by_next:
            means = np.append(problem.r_next[h, x, a, after], problem.g_next[:, h, x, a, after])
        if problem.noisy[h, x, a]:
            varied += 1
            means = show(noise, means, 0.2, u[1:])
        assert np.allclose(seen[0], means, atol=1e-12)
    assert 50 < varied < 180


def test_clipped_noise_has_the_mean_that_was_asked_for() -> None:
    mean = np.linspace(0.0, 1.0, 41)
    for scale in (0.01, 0.25, 3.0):
        centre = centres(mean, scale)
        assert np.allclose(clipped_mean(centre, scale), mean, atol=1e-9)
        assert centre[0] == -np.inf and centre[-1] == np.inf


def test_gymnasium_shows_the_same_numbers() -> None:
    problem = nr.problems.load("admission:noise=clipped")
    env, layout = nr.gym.make_env(problem), worlds.compile_world(problem)
    x, _ = env.reset(seed=3)
    u, seen, width = np.random.default_rng(0), np.zeros((1, 2)), worlds.draw_width(layout)
    u = env.unwrapped._u.copy()
    for h in range(problem.horizon):
        after = worlds.follow(layout, h, (int(x), 0), u, 1 + width * h, seen)
        x, reward, _, _, info = env.step(0)
        assert int(x) == after and reward == seen[0, 0] and info["utility"][0] == seen[0, 1]


def test_a_file_keeps_the_noise(tmp_path: Path) -> None:
    problem = nr.problems.load("queue:noise=gaussian,noise_scale=0.3,noise_share=0.4")
    nr.problems.save(problem, tmp_path / "q.npz")
    again = nr.problems.load(tmp_path / "q.npz")
    assert again.noise == "gaussian" and again.noise_scale == 0.3 and (again.noisy == problem.noisy).all()


def test_noise_without_bounds_is_taken_as_it_is() -> None:
    wild = nr.problems.load("bandit:noise=gaussian,noise_scale=2")
    result = nr.run(wild, "primal-dual-lsvi", episodes=200, trials=1)
    assert np.isfinite(result.regret).all()
    learner = nr.learners.make("uniform", wild.spec, episodes=10)
    learner.observe(np.zeros(6, dtype=int), np.zeros(5, dtype=int), np.full(5, 7.5), np.full(5, -3.0))
    tame = nr.learners.make("uniform", nr.problems.load("bandit").spec, episodes=10)
    with pytest.raises(InputError, match=r"rewards\[0\] is 7.5; expected a value in \[0, 1\]"):
        tame.observe(np.zeros(6, dtype=int), np.zeros(5, dtype=int), np.full(5, 7.5), np.full(5, 0.5))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("queue:noise=loud", "noise is 'loud'; expected 'bernoulli'"),
        ("queue:noise_share=0.5", "noise_share is given and noise is none"),
        ("queue:noise=gaussian,noise_scale=-1", "noise_scale is -1.0; expected a number above 0"),
        ("queue:noise=gaussian,noise_share=2", "noise_share is 2.0; expected a number from 0 to 1"),
        ("linear-continuous:noise=clipped,noise_share=0.5", "which have no pairs"),
    ],
)
def test_what_cannot_be_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        nr.problems.load(text)


def test_vectors_have_noise_too() -> None:
    problem = nr.problems.load("linear-continuous:noise=clipped,noise_scale=0.1")
    rng, phi = np.random.default_rng(0), np.full(8, 1 / 8)
    seen = np.array([problem.step(0, phi, rng.random(problem.uniforms))[1] for _ in range(4000)])
    assert np.allclose(seen.mean(axis=0), problem.worth[0] @ phi, atol=0.01) and seen.std() > 0.05
