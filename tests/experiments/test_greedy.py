"""The counter-example to greedy policies: by hand, against the lemma's bound, and as a command."""

from __future__ import annotations

import math

import numpy as np
import pytest
from typer.testing import CliRunner

from noregret.cli import app
from noregret.experiments.greedy import analysis as greedy


def test_the_example_by_hand():
    pair = greedy.counter_example(10, 0.2)
    np.testing.assert_allclose(pair.Q, [[9.9, 1.0], [1.0, 10.0]])
    np.testing.assert_allclose(pair.Q_near, [[10.0, 0.9], [1.1, 9.9]])
    assert (pair.Y, pair.Y_near) == (1.0, 0.9)
    assert max(pair.Q.max(), pair.Q_near.max()) <= 10.0
    assert max(np.abs(pair.Q - pair.Q_near).max(), abs(pair.Y - pair.Y_near)) <= 0.2
    np.testing.assert_allclose(greedy.value(pair.Q, pair.Y, math.inf), [1.0, 10.0])  # the second action
    np.testing.assert_allclose(greedy.value(pair.Q_near, pair.Y_near, math.inf), [10.0, 1.1])  # the first
    weight = 1.0 / (1.0 + math.exp(-2.0 * 0.1))  # soft-max at α = 2: the composites are 10.9 and 11
    np.testing.assert_allclose(greedy.value(pair.Q, pair.Y, 2.0)[0], weight * 1.0 + (1 - weight) * 9.9)


@pytest.mark.parametrize("horizon", [2, 7])
def test_greedy_jumps_by_all_that_is_possible_and_soft_max_by_order_epsilon(horizon):
    demo = greedy.run(horizon)
    np.testing.assert_allclose(demo.greedy, horizon - 1.0)
    np.testing.assert_allclose(demo.unconstrained, demo.epsilons / 2, rtol=1e-6)
    assert (demo.soft <= demo.bound).all() and (demo.soft <= horizon - 1 + 1e-12).all()
    last = demo.soft[:, -1] / demo.soft[:, -5]  # a tenth of the ε, a tenth of the gap
    np.testing.assert_allclose(last, 0.1, rtol=1e-3)


def test_the_command_writes_one_picture_three_times_and_says_what_is_at_most(tmp_path):
    done = CliRunner().invoke(app, ["demo", "greedy", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "at most H−1" in " ".join(done.output.split())
    assert sorted(f.name for f in tmp_path.iterdir()) == ["greedy.csv", "greedy.pdf", "greedy.png", "greedy.svg"]
    assert (tmp_path / "greedy.csv").read_text().count("\n") == 1 + len(greedy.EPSILONS)
    bad = CliRunner().invoke(app, ["demo", "greedy", "--out", str(tmp_path), "--horizon", "1"])
    assert bad.exit_code == 1
