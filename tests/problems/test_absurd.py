"""Texts and values that make no problem: each is refused at once, in one short line."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.errors import InputError
from noregret.problems import checks, describe, load, names, save
from noregret.runs.prepare import prepare

HUGE = 10**20


@pytest.mark.parametrize(
    "text",
    [
        f"random:S={HUGE}", "random:S=100000", f"random:A={HUGE}", f"random:H={HUGE}", f"random:m={HUGE}",
        f"linear:S={HUGE}", f"linear:d={HUGE}", "linear:d=100000000", f"linear:m={HUGE}", f"linear-continuous:d={HUGE}",
        "linear-continuous:A=1000000", "linear-continuous:H=10000000", f"linear-continuous:m={HUGE}", f"grid-world:size={HUGE}",
        "grid-world:size=1000", f"frozen-lake-4x4:H={HUGE}", f"queue:buffer={HUGE}", f"queue:H={HUGE}",
        f"inventory:capacity={HUGE}", "inventory:capacity=3000", f"job-scheduling:jobs={HUGE}", f"job-scheduling:H={HUGE}",
        f"streaming:buffer={HUGE}",
        f"media-control:buffer={HUGE}", "random:S=" + "9" * 5000, "random:S=" + "9" * 4000, "random:seed=" + "x" * 5000,
    ],
    ids=range(27),
)  # fmt: skip
def test_sizes_beyond_reason_are_refused_before_anything_is_made(text: str) -> None:
    begin = time.perf_counter()
    with pytest.raises(InputError, match="expected") as refused:
        load(text)
    assert time.perf_counter() - begin < 1.0
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("value", [True, np.True_, 2.5, np.nan, np.inf, "3", None, np.array([3]), 0, -(10**4000), 8])
def test_one_check_of_whole_numbers(value: object) -> None:
    with pytest.raises(InputError, match=r"n is .{1,80}; expected a whole number from 1 to 7$"):
        checks.integer("n", value, 1, 7)
    for good in (np.int64(7), 7.0, np.float64(7.0)):
        assert checks.integer("n", good, 1, 7) == 7 and type(checks.integer("n", good, 1, 7)) is int


def test_every_name_is_listed_with_the_kind_of_its_states() -> None:
    assert set(names()) == {*names(continuous=True), *names(continuous=False)}
    assert names(continuous=True) == ["linear-continuous"]
    assert "states in R^D" in describe("linear-continuous")
    assert "R^D" not in describe("queue")


@pytest.mark.parametrize("features", ["fourier", 3, np.zeros(4)])
def test_features_that_are_no_map_are_refused_in_a_line(features: object) -> None:
    for make in (
        lambda: nr.run(load("linear-continuous"), episodes=2, trials=1, features=features, progress=False),
        lambda: nr.Agent("CartPole-v1", features=features, limit=1.0, episodes=2, horizon=5),
    ):
        with pytest.raises(InputError, match=r"features is .*; expected ('auto', )?a feature map"):
            make()


def test_features_may_be_a_list() -> None:
    problem, options = load("random:S=3,A=2,H=2"), {"episodes": 20, "trials": 1, "progress": False}
    phi = np.eye(6).reshape(3, 2, 6)
    listed, given = (nr.run(problem, features=f, **options) for f in (phi.tolist(), phi))
    np.testing.assert_array_equal(listed.regret, given.regret)


def test_a_bisection_for_ever_is_refused() -> None:
    with pytest.raises(InputError, match=r"passes is 1000000+; expected a whole number from 1 to 2,000"):
        nr.run(load("random"), "lsvi-bisection", episodes=2, trials=1, passes=HUGE, progress=False)


def test_a_file_that_was_written_anew_is_another_world(tmp_path: Path) -> None:
    """A process kept the world of the old file, by its path."""
    path = tmp_path / "mine.npz"
    made = load("random:S=3,A=2,H=2")
    save(made, path)
    old = prepare(str(path))
    assert prepare(str(path)) is old
    save(made.replace(r=made.r / 2), path)
    assert prepare(str(path)).optimum.value == pytest.approx(old.optimum.value / 2)
