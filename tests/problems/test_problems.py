"""The problems by name: registry, files, published numbers, stated optima."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret import oracle
from noregret.errors import InputError
from noregret.problems import TabularCMDP, describe, load, names, register, registry
from noregret.problems.grid_world import grid_world
from noregret.problems.job_scheduling import job_scheduling
from noregret.problems.random import random_tabular
from noregret.problems.registry import is_built_in

ARRAYS = ("P", "r", "g", "b", "mu", "features", "available", "r_next", "g_next", "step_limit", "safe_actions")


def assert_same(p: TabularCMDP, q: TabularCMDP) -> None:
    for name in ARRAYS:
        one, two = getattr(p, name), getattr(q, name)
        assert (one is None and two is None) or np.array_equal(one, two), name
    assert (p.noise, p.constraint_names, p.senses) == (q.noise, q.constraint_names, q.senses)


# --- the optima that the docstrings state -------------------------------------------------------------------------

#: name: optimum, duals, Slater gap
STATED: dict[str, tuple[float, list[float], float]] = {
    "admission": (5.0, [2.0], 2.5),
    "bandit": (2.266871, [3.690745], 0.248713),
    "frozen-lake-4x4": (0.087670, [4.323757], 0.02),
    "frozen-lake-8x8": (0.311070, [0.728461], 0.05),
    "grid-world": (17.929742, [0.662888], 5.0),
    "inventory": (6.665322, [0.921212], 3.5),
    "job-scheduling": (9.058824, [0.235294], 0.499791),
    "linear": (2.367495, [0.517568], 0.091349),
    "machine-load": (4.129515, [0.0], 1.5),
    "media-control": (3.253296, [0.495190], 5.0),
    "queue": (11.862756, [0.243721, 1.068346], 2.420618),
    "random": (2.483992, [1.572911], 0.261553),
    "streaming": (2.206978, [0.417370], 1.6),
    "windy-grid": (8.682242, [1.635215, 0.441717], 1.0),
}


def test_every_problem_states_its_optimum() -> None:
    assert sorted(STATED) == names(continuous=False)


@pytest.mark.parametrize("name", STATED)
def test_stated_numbers(name: str) -> None:
    value, dual, gap = STATED[name]
    p = load(name)
    optimum = oracle.solve(p)
    assert optimum.value == pytest.approx(value, abs=1e-6)
    assert optimum.dual == pytest.approx(dual, abs=1e-6)
    assert optimum.slater_gap == pytest.approx(gap, abs=1e-6)
    text = inspect.getmodule(inspect.unwrap(registry._FACTORIES[name])).__doc__ or ""  # type: ignore[union-attr]
    for number in (f"{value:.6f}", *(f"{y:.6f}" for y in dual), f"{gap:.6f}".rstrip("0").rstrip(".")):
        assert number in text, f"{number} is not in the docstring of {name}"


@pytest.mark.parametrize("name", [name for name in STATED if load(name).step_limit is None])
def test_every_constraint_binds(name: str) -> None:
    p = load(name)
    optimum = oracle.solve(p)
    for i in range(p.n_constraints):
        b = p.b.copy()
        b[i] = oracle.reachable(p)[i, 0] + 1e-9  # without constraint i, more reward can be had, whatever the ties
        assert oracle.solve(p.replace(b=b)).value > optimum.value + 1e-4
        assert optimum.V_g[i] == pytest.approx(p.b[i], abs=1e-8)


# --- the registry -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("random", "random"),
        ("random:seed=3,S=5", "random:seed=3"),
        ("random:S=6,seed=3", "random:seed=3,S=6"),
        (" random : H=2 , noise=bernoulli ", "random:H=2,noise=bernoulli"),
        ("random:successors=none,noise=None", "random"),
        ("random:successors=2,concentration=1e-1", "random:concentration=0.1,successors=2"),
        ("job-scheduling:b=4", "job-scheduling"),
        ("job-scheduling:b=4.1,last_expensive=5", "job-scheduling:b=4.1,last_expensive=5"),
        ("linear:S=8,d=3,m=2", "linear:S=8,d=3,m=2"),
        ("grid-world:size=6,slip=0.1", "grid-world:size=6,slip=0.1"),
        ("frozen-lake-4x4:H=5", "frozen-lake-4x4:H=5"),
    ],
)
def test_load_and_the_name_that_rebuilds(text: str, canonical: str) -> None:
    p = load(text)
    assert p.name == canonical
    assert_same(p, load(p.name))


@pytest.mark.parametrize("name", list(filter(is_built_in, names())))
def test_a_name_alone_is_its_own_text(name: str) -> None:
    assert load(name).name == name


def test_factories_name_their_problems_too() -> None:
    assert job_scheduling(4.1).name == "job-scheduling:b=4.1"
    assert job_scheduling(b=np.float64(4.1)).name == "job-scheduling:b=4.1"  # type: ignore[arg-type]
    assert random_tabular(S=np.int64(4)).name == "random:S=4"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("job-sheduling", "unknown problem 'job-sheduling'; did you mean 'job-scheduling'?"),
        ("", "unknown problem ''"),
        ("qqqqqq", "(known: admission, bandit, frozen-lake-4x4, "),
        ("random:sed=1", "parameter of problem 'random': 'sed'; did you mean 'seed'?"),
        ("random:seed=x", "problem 'random': seed is 'x'; expected a whole number"),
        ("random:seed=1.0", "seed is '1.0'; expected a whole number"),
        ("random:fraction=half", "fraction is 'half'; expected a finite number"),
        ("random:fraction=inf", "fraction is 'inf'; expected a finite number"),
        ("random:successors=all", "successors is 'all'; expected a whole number or none"),
        ("random:noise=loud", "noise is 'loud'; expected 'bernoulli' or 'gaussian' or 'clipped' or none"),
        ("random:seed", "'seed' is not a parameter; expected key=value"),
        ("random:seed=", "'seed=' is not a parameter; expected key=value"),
        ("random:", "'' is not a parameter; expected key=value"),
        ("random:seed=1,", "'' is not a parameter; expected key=value"),
        ("random:seed=1,seed=2", "parameter 'seed' is given twice"),
        ("random:seed=-1", "seed is -1; expected a whole number, at least 0"),
        ("random:S=0", "S is 0; expected a whole number, at least 1"),
        ("random:concentration=0", "concentration is 0.0; expected a number above 0"),
        ("random:fraction=1.5", "fraction is 1.5; expected a finite number at least 0 and at most 1"),
        ("random:successors=6", "successors is 6; expected a whole number from 1 to 5"),
        ("job-scheduling:last_expensive=11", "last_expensive is 11; expected a whole number from 1 to 10"),
        ("job-scheduling:first_expensive=7", "first_expensive is 7; expected a whole number from 1 to 6"),
        ("media-control:departure=2", "departure is 2.0; expected a finite number at least 0 and at most 1"),
        ("grid-world:size=3", "size is 3; expected a whole number, at least 4"),
    ],
)
def test_bad_texts_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_types_from_python_are_refused() -> None:
    with pytest.raises(InputError, match=r"S is 2\.5; expected a whole number"):
        random_tabular(S=2.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="b is 'many'; expected a number"):
        job_scheduling(b="many")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="seed is True; expected a whole number"):
        random_tabular(seed=True)
    with pytest.raises(InputError, match="b is nan; expected a finite number"):
        job_scheduling(b=float("nan"))


@pytest.fixture
def registered() -> Iterator[dict[str, Any]]:
    before = dict(registry._FACTORIES)
    yield registry._FACTORIES
    registry._FACTORIES.clear()
    registry._FACTORIES.update(before)


def test_third_parties_can_register(registered: dict[str, Any]) -> None:
    @register("mine")
    def mine(steps: int = 2, loud: bool = False, tag: str = "a") -> TabularCMDP:
        """My own world.

        More about it.
        """
        return TabularCMDP(np.ones((steps, 1, 2, 1)), np.ones((steps, 1, 2)), np.ones((steps, 1, 2)), 1.0 + loud, 0)

    assert "mine" in names()
    assert describe("mine") == "My own world (steps=2, loud=false, tag=a)"
    p = load("mine:loud=TRUE,steps=3,tag=b")
    assert (p.horizon, p.b.tolist(), p.name) == (3, [2.0], "mine:steps=3,loud=true,tag=b")
    assert mine(loud=True).name == "mine:loud=true"
    with pytest.raises(InputError, match="loud is 'yes'; expected true or false"):
        load("mine:loud=yes")
    also = register("also", lambda: mine())
    assert also().name == "also"
    assert describe("also") == "also"


def test_bad_registrations_are_refused(registered: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="'random' is already registered"):
        register("random", random_tabular)
    for name in ("", "a:b", "a b", "a=b", "a,b", "a.npz"):
        with pytest.raises(InputError, match="problem name"):
            register(name)
    with pytest.raises(InputError, match="parameter 'size' of problem 'x' has no default"):
        register("x", lambda size: random_tabular(S=size))


def test_describe() -> None:
    assert describe("job-scheduling").endswith("(b=4.0, first_expensive=3, last_expensive=6, H=10, jobs=9)")
    assert "successors=none" in describe("random")
    for name in names():
        assert "\n" not in describe(name)
    with pytest.raises(InputError, match="did you mean 'queue'"):
        describe("queu")


def test_import_and_most_problems_do_not_need_gymnasium() -> None:
    code = (
        "import sys, noregret.problems as p; p.load('queue'); assert 'gymnasium' not in sys.modules; "
        "assert 'numba' not in sys.modules; p.load('frozen-lake-4x4'); assert 'gymnasium' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- one family at a time -----------------------------------------------------------------------------------------


def test_job_scheduling_tables() -> None:
    p = load("job-scheduling")
    assert (p.horizon, p.n_states, p.n_actions) == (10, 10, 2)
    assert p.mu[9] == 1.0
    assert p.P[4, 9, 1, [7, 8, 9]] == pytest.approx([0.8, 0.1, 0.1])
    assert p.P[4, 1, 1, [0, 1]] == pytest.approx([0.9, 0.1])
    assert p.P[4, 0, 1, 0] == pytest.approx(1.0)
    assert (p.P[:, range(10), 0, range(10)] == 1.0).all()
    assert p.r[:, 3, 1] == pytest.approx([0.8, 0.8, 0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.8, 0.8])
    assert (p.r[:, :, 0] == 1.0).all()
    assert p.g[0, 0, :3, 1] == pytest.approx([0.0, 0.45, 0.85])
    assert p.g_next is not None
    assert p.g_next[0, 0, 9, 1, [7, 8, 9]].tolist() == [1.0, 0.5, 0.0]
    assert oracle.reachable(p)[0, 1] == pytest.approx(4.49979125515)


def test_random_is_random_in_every_step_and_seeded() -> None:
    p, q = load("random:seed=1"), load("random:seed=2")
    assert not np.array_equal(p.P, q.P)
    assert not np.array_equal(p.P[0], p.P[1])
    assert not np.array_equal(p.r[0], p.r[1])
    assert (load("random:successors=2").P > 0).sum(axis=3).max() <= 2
    assert load("random:noise=bernoulli").noise == "bernoulli"
    assert load("random:m=3").n_constraints == 3


@given(seed=st.integers(0, 1000), d=st.integers(1, 6))
@settings(max_examples=20, deadline=None)
def test_linear_is_linear(seed: int, d: int) -> None:
    p = load(f"linear:seed={seed},S=10,d={d}")
    phi = p.features
    assert phi is not None
    assert phi.shape == (10, 3, d)
    assert np.allclose(phi.sum(axis=2), 1.0)
    assert phi.min() >= 0.0
    flat = phi.reshape(-1, d)
    for table in (p.P[0].reshape(30, 10), p.r[1].reshape(30, 1), p.g[0, 2].reshape(30, 1)):
        weights = np.linalg.lstsq(flat, table, rcond=None)[0]
        assert np.allclose(flat @ weights, table, atol=1e-9)


def test_media_control_tables() -> None:
    p = load("media-control")
    assert (p.horizon, p.n_states, p.n_actions) == (10, 10, 2)
    assert p.P[3, 4, 1, 3:6] == pytest.approx([0.08, 0.74, 0.18])
    assert p.P[3, 4, 0, 3:6] == pytest.approx([0.72, 0.26, 0.02])
    assert p.P[3, 0, 1, :2] == pytest.approx([0.82, 0.18])
    assert p.P[3, 9, 0, 8:] == pytest.approx([0.72, 0.28])
    assert p.r[0].tolist() == [[0, 0]] + [[1, 1]] * 9
    assert (1.0 - p.g[0])[0].tolist() == [[0, 1]] * 10
    assert p.limits() == pytest.approx([5.0])


def test_inventory_tables() -> None:
    p = load("inventory")
    assert (p.horizon, p.n_states, p.n_actions) == (7, 6, 6)
    assert np.array_equal(p.available[0], np.add.outer(range(6), range(6)) <= 5)
    assert p.P[0, 0, 5] == pytest.approx([0.05, 0.05, 0.2, 0.2, 0.2, 0.3])
    assert p.P[0, 1, 1, :3] == pytest.approx([0.5, 0.2, 0.3])
    assert p.r[0, 1, 1] == pytest.approx(8 * (0.2 * 1 + 0.5 * 2) / 13.2)
    assert p.r[0, 0, 5] == pytest.approx(1.0)
    cost = 1.0 - p.g[0, 0]
    assert cost[0, 5] == pytest.approx(1.0)
    assert cost[1, 1] == pytest.approx((4 + 2 + 2) / 19)
    assert cost[3, 0] == pytest.approx(3 / 19)
    assert p.limits() == pytest.approx([3.5])
    assert p.P[0, 3, 4].tolist() == [0, 0, 0, 1, 0, 0]  # not available: a harmless self-loop


def test_inventory_has_other_capacities() -> None:
    p = load("inventory:capacity=7")
    assert p.n_states == 8
    assert p.available[0].sum() == 36
    assert load("inventory:capacity=1").available[0].sum() == 3


@given(seed=st.integers(0, 1000))
def test_streaming_rates_are_in_range(seed: int) -> None:
    p = load(f"streaming:seed={seed}")
    fast, slow = p.P[0, 2, 0], p.P[0, 2, 1]
    mu, rho = fast[3] + slow[1], fast[1] + slow[1]  # μ(1-ρ) + μρ, (1-μ)ρ + μρ
    assert 0.5 <= mu <= 0.9
    assert 0.1 <= rho <= 0.4
    assert fast[1:4] == pytest.approx([(1 - mu) * rho, mu * rho + (1 - mu) * (1 - rho), mu * (1 - rho)])
    assert slow[3] == pytest.approx((1 - mu) * (1 - rho))
    assert p.b == pytest.approx([2.4])
    assert p.g[0, 0].tolist() == [[0, 1]] * 6
    assert p.r[0, :, 0].tolist() == [0, 1, 1, 1, 1, 1]


def test_grid_world_tables() -> None:
    p = load("grid-world")
    assert (p.horizon, p.n_states, p.n_actions) == (25, 18 * 18, 4)
    assert p.mu[-1] == 1.0
    off = p.g[0, 0].reshape(18, 18, 4)
    into = off[1:, :, 0]  # by going up from every row but the first: the cell above
    assert into[0].all()  # the first row is free
    assert 0.35 < 1.0 - into[1:].mean() < 0.5
    assert off[-1, :, 1].all()  # bumping into the wall from the last row, which is free
    assert p.r.max() == 1.0
    assert p.r.min() == 0.0
    goal = np.unravel_index(p.r[0, :, 0].argmax(), (18, 18))
    assert goal[0] in (0, 1)
    assert p.P[0, 0, 0, 0] == 1.0  # up from the first corner stays
    assert p.P[0, 0, 1, 18] == 1.0
    assert p.P[0, 0, 3, 1] == 1.0


@pytest.mark.parametrize("seed", [0, 7, 15])
def test_grid_worlds_said_not_to_bind_do_not(seed: int) -> None:
    p = grid_world(seed=seed)
    assert oracle.solve(p).value == pytest.approx(oracle.greedy(p)[1], abs=1e-9)


def test_grid_world_slips() -> None:
    p = grid_world(seed=1, size=6, slip=0.2, H=3)
    assert p.P[0, 5, 0, [1, 9, 4, 6]] == pytest.approx([0.85, 0.05, 0.05, 0.05])


@pytest.mark.parametrize(("name", "cells", "holes"), [("frozen-lake-4x4", 16, 4), ("frozen-lake-8x8", 64, 10)])
def test_frozen_lake_pays_once(name: str, cells: int, holes: int) -> None:
    p = load(name)
    assert p.n_states == cells
    ended = p.P[0, range(cells), 0, range(cells)] == 1.0
    assert ended.sum() == holes + 1
    assert p.r_next is not None
    assert p.g_next is not None
    assert (p.r[:, ended] == 0.0).all()
    assert (p.g[0][:, ended] == 1.0).all()  # no cost after the end
    assert p.r_next[0].max(axis=(0, 1)).nonzero()[0].tolist() == [cells - 1]
    uniform = np.full((p.horizon, cells, 4), 0.25)
    value, V_g = oracle.evaluate(p, uniform)
    assert 0.0 < value
    assert value + (p.horizon - V_g[0]) <= 1.0  # goal and hole exclude each other


def test_queue_tables() -> None:
    p = load("queue")
    assert (p.horizon, p.n_states, p.n_actions, p.n_constraints) == (20, 11, 4, 2)
    assert p.P[0, 5, 3, 4:7] == pytest.approx([0.6 * 0.3, 1 - 0.18 - 0.28, 0.4 * 0.7])
    assert p.P[0, 5, 0, 4:7] == pytest.approx([0.3 * 0.8, 1 - 0.24 - 0.14, 0.7 * 0.2])
    assert p.P[0, 0, 1, :2] == pytest.approx([1 - 0.7 * 0.7, 0.7 * 0.7])
    assert p.P[0, 10, 3, 9:] == pytest.approx([0.6, 0.4])
    assert p.r[0, 3] == pytest.approx([0.2, 0.7, 0.2, 0.7])
    assert p.r[0, 10].tolist() == [0, 0, 0, 0]
    assert (1 - p.g[0, 0, 3]).tolist() == [0, 0, 1, 1]
    assert (1 - p.g[1, 0, 3]) == pytest.approx([0.3] * 4)
    assert p.limits() == pytest.approx([6.0, 3.0])


@pytest.mark.parametrize("name", names(continuous=False))
def test_kernels_are_distributions_and_values_are_in_range(name: str) -> None:
    p = load(name)
    assert np.abs(p.P.sum(axis=3) - 1.0).max() < 1e-12
    assert p.P.min() >= 0.0
    assert 0.0 <= p.r.min() <= p.r.max() <= 1.0
    assert 0.0 <= p.g.min() <= p.g.max() <= 1.0
