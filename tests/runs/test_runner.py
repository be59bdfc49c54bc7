"""The one loop: the same bits whatever the threads, exact curves, clean stops."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret import learners, oracle
from noregret._system.cores import available_cores
from noregret.errors import InputError, NumericalError
from noregret.learners.registry import _learners
from noregret.runs.streams import streams
from noregret.runs.trial import TableTrial as Trial
from tests import stranger
from tests.reference import world as slow_world
from tests.support import CONSTANTS, begin, small, trial

PROBLEM = small(20, b=[1.6])
CURVES = ("regret", "hard_regret", "violations", "hard_violations", "dual")


def run(problem: Any = PROBLEM, name: str = "primal-dual-lsvi", **changes: Any) -> nr.RunResult:
    given: dict[str, Any] = {"episodes": 500, "trials": 3, "seed": 1, "record_every": 100}
    if name == "primal-dual-lsvi":
        given |= CONSTANTS
    return nr.run(problem, name, **(given | changes))


def same(one: nr.RunResult, other: nr.RunResult, trials: int | None = None) -> None:
    np.testing.assert_array_equal(one.episodes, other.episodes)
    for name in CURVES:
        np.testing.assert_array_equal(getattr(one, name)[:trials], getattr(other, name)[:trials], err_msg=name)


# --- bits ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def base() -> nr.RunResult:
    return run()


@pytest.mark.parametrize(
    "changes", [{"threads": 1}, {"threads": 2}, {"block_size": 1}, {"block_size": 7}, {"block_size": 1000}]
)
def test_neither_threads_nor_blocks_change_a_bit(base: nr.RunResult, changes: dict[str, int]) -> None:
    same(base, run(**changes))


def test_more_trials_leave_the_first_ones_as_they_are(base: nr.RunResult) -> None:
    more = run(trials=5)
    same(base, more, trials=3)
    assert len(np.unique(more.regret[:, -1])) == 5
    assert not np.array_equal(base.regret, run(seed=2).regret)


def test_streams_are_independent_of_each_other() -> None:
    drawn = [stream.random(4).tolist() for trial in range(3) for stream in streams(7, trial)]
    assert len({tuple(numbers) for numbers in drawn}) == 6
    assert drawn[:2] == [stream.random(4).tolist() for stream in streams(7, 0)]


def test_trials_are_let_go_when_they_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    prepare = Trial.__init__

    def remember(self: Trial, *args: Any) -> None:
        prepare(self, *args)
        begun.append(weakref.ref(self))

    monkeypatch.setattr(Trial, "__init__", remember)
    result = run(xi_rule="estimate")
    gc.collect()
    assert len(begun) >= 3 and [one() for one in begun] == [None] * len(begun)
    assert result.notes["slater_gap_estimate"].shape == (3,)


# --- what is recorded ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("episodes", "every", "grid"),
    [(10, 3, [3, 6, 9, 10]), (9, 3, [3, 6, 9]), (5, 100, [5]), (1, 1, [1]), (4, 1, [1, 2, 3, 4])],
)
def test_the_grid_ends_with_the_last_episode(base: nr.RunResult, episodes: int, every: int, grid: list[int]) -> None:
    result = run(episodes=episodes, record_every=every)
    assert result.episodes.tolist() == grid
    assert result.regret.shape == (3, len(grid))
    assert result.dual.shape == (3, len(grid), 1)
    assert result.complete
    dense = run(episodes=episodes, record_every=1)
    for name in CURVES:
        np.testing.assert_array_equal(getattr(result, name), getattr(dense, name)[:, [k - 1 for k in grid]])


def test_curves_are_sums_of_exact_values() -> None:
    """Policy by policy, from the literal world: regret, and for each of two constraints both violations."""
    problem = small(21, m=2, b=[1.3, 1.2])
    best = oracle.solve(problem).value
    held = learners.make("primal-dual-lsvi", problem.spec, episodes=40, **CONSTANTS)
    world, own = streams(9, 0)
    u, v = world.random((40, slow_world.width(problem))), own.random((40, problem.horizon))
    V = []
    for k in range(40):
        policy = held.plan().policy
        V_r, V_g = slow_world.evaluate(problem, policy)
        V.append([V_r, *V_g])
        held.observe(*slow_world.play(problem, policy, u[k], v[k]))
    values = np.array(V)
    result = run(problem, episodes=40, trials=1, seed=9, record_every=1)
    lack = problem.b - values[:, 1:]
    np.testing.assert_allclose(result.regret[0], np.cumsum(best - values[:, 0]), atol=1e-9)
    np.testing.assert_allclose(result.hard_regret[0], np.cumsum(np.maximum(best - values[:, 0], 0)), atol=1e-9)
    np.testing.assert_allclose(result.violations[0], np.maximum(np.cumsum(lack, axis=0), 0), atol=1e-9)
    np.testing.assert_allclose(result.hard_violations[0], np.cumsum(np.maximum(lack, 0), axis=0), atol=1e-9)
    np.testing.assert_array_equal(result.violation, result.violations.max(axis=2))
    np.testing.assert_array_equal(result.hard_violation, result.hard_violations.max(axis=2))
    assert result.dual[0, -1] == pytest.approx(held.dual, abs=1e-12)


@pytest.mark.parametrize("problem", ["job-scheduling", "random:seed=3,m=2", "linear:S=20"])
def test_the_optimal_policy_has_no_regret(problem: str) -> None:
    result = run(nr.problems.load(problem), "optimal", episodes=100, trials=2, record_every=1)
    per_episode = np.diff(result.regret, prepend=0.0, axis=1)
    np.testing.assert_allclose(per_episode, 0.0, atol=1e-9)
    np.testing.assert_allclose(result.violation / result.episodes, 0.0, atol=1e-9)


def test_the_safest_policy_keeps_the_slater_gap() -> None:
    problem = nr.problems.load("job-scheduling")
    result = run(problem, "safest", episodes=10, trials=1, record_every=10)
    assert result.violation[0, -1] == 0.0
    sure = begin(problem, "safest", episodes=10).learner.plan().policy
    assert nr.evaluate(problem, sure)[1][0] - 4.0 == pytest.approx(result.slater_gap, abs=1e-9)


def test_uniform_play_violates_as_known() -> None:
    result = run(nr.problems.load("job-scheduling"), "uniform", episodes=10, trials=1, record_every=10)
    assert result.violation[0, -1] / 10 == pytest.approx(4 - 3.7529759708, abs=1e-9)
    assert result.regret[0, -1] / 10 == pytest.approx(9.058823529 - 7.6, abs=1e-9)


def test_regret_against_the_tightened_optimum() -> None:
    problem = nr.problems.load("job-scheduling")
    result = run(problem, episodes=50, trials=1, record_every=10, zeta=0.1)
    assert result.tightened_value == pytest.approx(9.031452, abs=1e-6)
    drop = result.optimal_value - result.tightened_value
    np.testing.assert_allclose(result.regret_tightened, result.regret - drop * result.episodes, atol=1e-9)
    assert np.isnan(run(problem, episodes=5, trials=1, zeta=2.0).regret_tightened).all()  # no policy has that margin


def test_what_a_result_says_of_itself(base: nr.RunResult) -> None:
    assert base.constants["beta"] == CONSTANTS["beta"]
    assert base.explain["beta"] == "given"
    assert (base.trials, base.seed, base.problem, base.learner) == (3, 1, "small", "primal-dual-lsvi")
    assert "3 trials x 500 episodes" in repr(base)
    told = run(slater_gap="oracle", episodes=5)
    assert told.slater_gap_used == told.slater_gap == pytest.approx(oracle.solve(PROBLEM).slater_gap)
    assert run(slater_gap=0.7, episodes=5).slater_gap_used == 0.7
    assert base.slater_gap_used is None


# --- refusals and warnings -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episodes": 0}, "episodes is 0; expected a whole number from 1"),
        ({"episodes": -5}, "episodes is -5"),
        ({"episodes": 10000.5}, "episodes is 10000.5"),
        ({"episodes": True}, "episodes is True"),
        ({"trials": 0}, "trials is 0"),
        ({"record_every": 0}, "record_every is 0"),
        ({"threads": 0}, "threads is 0"),
        ({"block_size": -1}, "block_size is -1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"slater_gap": "guess"}, "slater_gap is 'guess'; expected a number, 'oracle' or None"),
        ({"name": "primal-dual-lsvl"}, "did you mean 'primal-dual-lsvi'"),
        ({"problem": PROBLEM.replace(b=[2.999])}, "reach"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(**changes)


def test_a_constraint_that_cannot_bind_is_named() -> None:
    with pytest.warns(UserWarning, match="cannot bind"):
        result = run(PROBLEM.replace(b=[0.0]), episodes=5)
    assert result.hard_violation.max() == 0.0


def test_quiet_when_not_a_terminal(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    run(episodes=20)
    assert capfd.readouterr() == ("", "")
    for key, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "100"}.items():  # as on a terminal
        monkeypatch.setenv(key, value)
    run(episodes=4000, block_size=5, progress=True)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "episodes/s" in shown.err


@pytest.mark.parametrize(("where", "name"), [("Y", "Y[0] = nan"), ("fit", "gram.fit[0, 0, 0, 0] = nan")])
def test_a_number_that_is_not_finite_stops_the_run(where: str, name: str) -> None:
    one = trial(PROBLEM, episodes=50, index=2, **CONSTANTS)
    one.advance(10)
    state = one.learner._state
    (state.Y if where == "Y" else state.gram.fit)[...] = np.nan
    with pytest.raises(NumericalError) as error:
        one.advance(40)
    assert str(error.value) == f"primal-dual-lsvi on small, trial 2, episode 11: not finite: {name}"


def test_an_error_in_one_trial_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    advance = Trial.advance

    def failing(self: Trial, n: int) -> None:
        if self.key.trial == 1 and self.k > 20:
            raise NumericalError("trial 1 failed")
        advance(self, n)

    monkeypatch.setattr(Trial, "advance", failing)
    with pytest.raises(NumericalError, match="trial 1 failed"):
        run(block_size=10)


# --- Ctrl-C --------------------------------------------------------------------------------------------------------


def control_c() -> None:
    """Ctrl-C, and the time that the main thread takes to notice."""
    signal.raise_signal(signal.SIGINT)
    time.sleep(0.5)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch, base: nr.RunResult, threads: int) -> None:
    """Ctrl-C in the middle of the second trial of three: the first one is whole and kept, and the result says so."""
    advance, both = Trial.advance, threading.Barrier(threads)

    def interrupted(self: Trial, n: int) -> None:
        if self.key.trial == 1 and self.k >= 200:
            control_c()
        if (self.key.trial, self.k) in ((0, 490), (1, 190)) and threads == 2:
            both.wait(60)  # the first trial is nearly through
        advance(self, n)

    monkeypatch.setattr(Trial, "advance", interrupted)
    result = run(threads=threads, block_size=10)
    assert not result.complete
    assert (result.trials_requested, result.episodes_requested) == (3, 500)
    assert result.trials < 3
    assert len(result.episodes) in (4, 5)
    assert "stopped; 3 x 500 were requested" in repr(result)
    for name in CURVES:
        n = len(result.episodes)
        np.testing.assert_array_equal(getattr(result, name)[0], getattr(base, name)[0, :n])


def test_an_interrupt_before_the_first_point_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    advance = Trial.advance

    def interrupted(self: Trial, n: int) -> None:
        if self.k >= 20:
            control_c()
        advance(self, n)

    monkeypatch.setattr(Trial, "advance", interrupted)
    result = run(block_size=10)
    assert len(result.episodes) == 0
    assert not result.complete
    assert "stopped before the first recorded episode" in repr(result)


def test_control_c_in_a_process_of_its_own() -> None:
    code = """
        import os, signal, threading
        import noregret as nr
        problem = nr.problems.load("job-scheduling")
        nr.run(problem, "uniform", episodes=10)
        threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start()
        result = nr.run(problem, "uniform", episodes=2_000_000, trials=500, record_every=1000)
        print(result.complete, len(result.episodes) > 0, repr(result))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("False True")
    assert "stopped" in done.stdout
    assert done.stderr == ""


# --- learners from elsewhere ---------------------------------------------------------------------------------------


@pytest.fixture
def habit() -> Any:
    learners.register(stranger.Habit)
    yield
    del _learners["habit"]


@pytest.mark.usefixtures("habit")
def test_a_learner_from_elsewhere_runs_through_the_same_loop() -> None:
    problem = small(22, masked=True, b=[1.5])
    result = run(problem, "habit", patience=0.6)
    assert result.complete
    assert result.constants == {"patience": 0.6}
    same(result, run(problem, "habit", patience=0.6, threads=1, block_size=9))
    held = learners.make("habit", problem.spec, episodes=40, patience=0.6)
    world, own = streams(1, 0)
    u, v = world.random((40, slow_world.width(problem))), own.random((40, problem.horizon))
    total = 0.0
    for k in range(40):
        policy = held.plan().policy
        total += result.optimal_value - slow_world.evaluate(problem, policy)[0]
        held.observe(*slow_world.play(problem, policy, u[k], v[k]))
    assert run(problem, "habit", patience=0.6, episodes=40, trials=1).regret[0, -1] == pytest.approx(total, abs=1e-9)


def test_a_state_without_bodies_is_named() -> None:
    from noregret.kernels.compiler.dispatch import plan

    with pytest.raises(TypeError, match="no plan for tuple"):
        plan((1, 2))


def test_cores_are_those_of_this_process() -> None:
    assert 1 <= available_cores() <= (os.cpu_count() or 1)


def test_whole_numbers_may_be_written_as_in_the_shell():
    result = nr.run("random:S=3,A=2,H=2", "uniform", episodes=1e2, trials=2.0, seed=0.0, record_every=5e1, progress=False)
    assert result.episodes.tolist() == [50, 100] and result.trials == 2
    with pytest.raises(InputError, match=r"episodes is 10\.5; expected a whole number"):
        nr.run("random:S=3,A=2,H=2", "uniform", episodes=10.5, trials=1, progress=False)
