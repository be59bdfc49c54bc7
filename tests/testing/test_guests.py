"""Learners from elsewhere: their mistakes, their random numbers, their sources, and their way to workers."""

from __future__ import annotations

import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noregret import learners
from noregret.errors import InputError
from noregret.learners import registry
from noregret.runs.backends.job import Context
from noregret.runs.code import code_of
from noregret.runs.execute import Settings, execute
from noregret.runs.keys import make_key
from noregret.store import Store
from noregret.testing import CheckError, apart, check_learner, learner_checks
from noregret.testing.learners import checks_here
from tests import stranger
from tests.support import small
from tests.testing.test_pages import install, python

MODULE = """
from typing import NamedTuple
import numpy as np
from noregret.kernels.compiler.dispatch import register_kernels
from noregret.learners import Learner, register

class State(NamedTuple):
    policy: np.ndarray
    Y: np.ndarray
    level: np.ndarray

def plan(state):
    BODY

def update(state, states, actions, observed):
    state.level[0] += observed[0, 0]

@register
class Guest(Learner):
    name = "NAME"
    summary = "a guest"

    def begin(self, c):
        policy = self.spec.available / self.spec.available.sum(axis=2, keepdims=True)
        return State(policy, np.zeros(self.spec.n_constraints), np.zeros(1))

register_kernels(State, plan, update)
"""
PLAN = 13  # the line of BODY


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Any]]:
    """Writes a module with a learner and imports it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # else an edit of the same size within a second goes unseen
    made: list[str] = []

    def write(name: str, body: str, more: str = "") -> Any:
        (tmp_path / f"{name}.py").write_text(MODULE.replace("BODY", body).replace("NAME", name) + more)
        importlib.invalidate_caches()
        sys.modules.pop(name, None)
        made.append(name)
        return importlib.import_module(name)

    yield write
    for name in {*made} - {"uniform"}:
        registry._learners.pop(name, None)
        sys.modules.pop(name, None)


@pytest.fixture
def habit() -> Iterator[None]:
    learners.register(stranger.Habit)
    yield
    del registry._learners["habit"]


# --- mistakes and random numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("state.nothing[0] = 1.0", "Unknown attribute 'nothing' of type State"),
        ("state.level[0] = undefined", "NameError: name 'undefined' is not defined"),
        ("state.policy[0, 0, 0, 0] = 1.0", "cannot index array(float64, 3d, C) with 4 indices"),
        ("raise ValueError('no plan today')", "ValueError: no plan today"),
        ("state.level[0] = np.random.rand()", "a learner draws from the run's own stream, not from numpy.random"),
    ],
)
def test_a_mistake_is_a_file_a_line_and_a_sentence(guest: Any, tmp_path: Path, body: str, said: str) -> None:
    guest("mistaken", body)
    learner = learners.make("mistaken", small().spec, episodes=4)
    with pytest.raises(InputError) as caught:
        learner.plan()
    assert str(caught.value).startswith(f"{tmp_path / 'mistaken.py'}:{PLAN}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_random_numbers_are_found_behind_other_names(guest: Any) -> None:
    more = "\nfrom numpy.random import normal as noise\nimport numba\n@numba.njit\ndef helper():\n    return noise(0.0, 1.0)\n"
    guest("hidden", "state.level[0] = helper()", more)
    with pytest.raises(InputError, match=r"hidden.py:\d+: a learner draws from the run's own stream"):
        learners.make("hidden", small().spec, episodes=4).plan()


def test_two_learners_with_states_of_one_name_do_not_share_code(guest: Any) -> None:
    """Numba tells such classes apart only when it compiles."""
    guest("first", "state.level[0] = 1.0")
    guest("second", "state.level[0] = 2.0")
    made = [learners.make(name, small().spec, episodes=4) for name in ("first", "second", "first")]
    for learner in made:
        learner.plan()
    assert [learner._state.level[0] for learner in made] == [1.0, 2.0, 1.0]


def test_a_name_is_not_taken_from_another_learner(guest: Any) -> None:
    with pytest.raises(InputError, match=r"learner name 'uniform' is taken by noregret\.learners\.fixed\.Uniform"):
        guest("uniform", "pass")
    assert learners.register(learners.fixed.Uniform) is learners.fixed.Uniform


def test_a_learner_that_draws_is_stopped_and_taken_up_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("new-learner.md", tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    sampling = importlib.import_module("my_learners.sampling")
    try:
        key = make_key("random:S=4,A=2,H=3", "sampling", 60, record_every=1)
        whole, parts = Store(tmp_path / "whole"), Store(tmp_path / "parts")
        assert execute(key, whole).status == "done"
        stop = threading.Event()
        stop.set()  # after a block
        for size, status in ((7, "stopped"), (20, "stopped"), (60, "done")):
            assert execute(key, parts, Settings(block_size=size, stop=stop)).status == status
        one, other = ((store.folder / key.id / "curves.npz").read_bytes() for store in (whole, parts))
        assert one == other
        held = sampling.Sampling(small().spec, episodes=4, preset="practical", features=None, slater_gap=None)
        with pytest.raises(InputError, match=r"uniforms has shape \(0,\); sampling plans with 36 random numbers"):
            held.plan()
        with pytest.raises(InputError, match="sampling plans with 36 random numbers"):
            held.observe([0] * 4, [0] * 3, [0.0] * 3, [[0.0] * 3])
    finally:
        for name in ("myopic", "priced", "sampling"):
            registry._learners.pop(name, None)
        for name in ("my_learners", "my_learners.priced", "my_learners.sampling"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return State", "{}['x']; return State", r"learner 'torn' cannot be made: .*torn.py:\d+: KeyError: 'x'"),
        ("return State", "State", r"has the state None; expected begin to make a NamedTuple"),
        ("def begin", "def began", r"learner 'torn' cannot be made: .*abstract class Guest .*begin"),
        ("register_kernels(State", "len; (lambda *_: None)(State", r"State without plan and update; expected .*register"),
        ("State(policy,", "State(policy[0],", r"State.policy is shape \(4, 3\) of float64; expected an array \(3, 4, 3\)"),
        ("np.zeros(self.spec.n_constraints)", "np.zeros(7)", r"State.Y is shape \(7,\)"),
    ],
)
def test_a_learner_that_is_not_whole_is_one_line(
    guest: Any, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    assert old in MODULE
    monkeypatch.setattr(sys.modules[__name__], "MODULE", MODULE.replace(old, new))
    guest("torn", "pass")
    with pytest.raises(InputError, match=said) as caught:
        learners.make("torn", small().spec, episodes=4)
    assert "\n" not in str(caught.value)


def test_a_constructor_of_its_own_is_refused(guest: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "MODULE", MODULE.replace("def begin", "def __init__"))
    with pytest.raises(InputError, match=r"learner Guest has an __init__ of its own; expected a table .* and begin"):
        guest("torn", "pass")


def test_a_module_that_runs_its_learner_while_it_is_imported_is_told_so(tmp_path: Path) -> None:
    """Numba's thread would wait for the lock of the import, and the import for that thread."""
    more = "\nimport noregret as nr\nnr.run('random:S=3,A=2,H=2', 'eager', episodes=20, trials=1, progress=False)\n"
    (tmp_path / "eager.py").write_text(MODULE.replace("BODY", "pass").replace("NAME", "eager") + more)
    done = python("-m", "noregret", "list", "--import", "./eager.py", site=tmp_path / "none", cwd=tmp_path)
    assert done.returncode == 1
    assert "learner 'eager' is to play while its module 'eager' is being imported" in done.stderr
    assert done.stderr.count("\n") == 1


# --- sources ------------------------------------------------------------------------------------------------------


def code(name: str) -> str:
    return code_of(learners.get(name), "random")


def test_the_hash_follows_the_code(guest: Any, tmp_path: Path) -> None:
    (tmp_path / "constants.py").write_text("BETA = 1.0\n")
    more = "\nfrom constants import BETA\n"
    hashes = []
    for body in ("state.level[0] = 1.0", "state.level[0] = 2.0", "state.level[0] = 2.0  # a comment"):
        guest("edited", body, more)
        hashes.append(code("edited"))
    assert len({*hashes}) == 2
    assert hashes[1] == hashes[2]
    for words in ("'Some words.'", "'Other words.'"):
        guest("edited", f"{words}; state.level[0] = 2.0", more)
        hashes.append(code("edited"))
    assert hashes[-2] == hashes[-1], "a docstring is no code"
    guest("edited", "state.level[0] = 2.0", more)
    (tmp_path / "edited.py").write_text("an edit that is not in use yet")
    assert code("edited") == hashes[2]
    (tmp_path / "constants.py").write_text("BETA = 2.0\n")
    sys.modules.pop("constants")
    guest("edited", "state.level[0] = 2.0", more)
    assert code("edited") not in hashes


@pytest.mark.parametrize(
    "more",
    [
        "\nGuest.rate = {}\n",
        "\nRATES = {{'beta': [{}]}}\n",
        "\ndef helper():\n    return {}\n",
        "\nclass Helper:\n    def rate(self):\n        return {}\n",
        "\nimport numba\n@numba.njit\ndef helper():\n    return {}\n",
    ],
)
def test_whatever_a_module_defines_counts(guest: Any, more: str) -> None:
    hashes = []
    for value in ("1.0", "2.0", "1.0"):
        guest("defined", "state.level[0] = 1.0", more.format(value))
        hashes.append(code("defined"))
    assert hashes[0] == hashes[2] != hashes[1]


def test_a_function_in_a_file_beside_counts(guest: Any, tmp_path: Path) -> None:
    hashes = []
    for value in ("1.0", "2.0"):
        (tmp_path / "beside.py").write_text(f"import numba\n@numba.njit\ndef rate():\n    return {value}\n")
        sys.modules.pop("beside", None)
        guest("near", "state.level[0] = beside.rate()", "\nimport beside\n")
        hashes.append(code("near"))
    sys.modules.pop("beside", None)
    assert hashes[0] != hashes[1]


def test_a_class_without_a_file_is_hashed_by_its_code() -> None:
    def cell(body: str) -> str:
        exec(MODULE.replace("BODY", body).replace("NAME", "cell"), vars(sys.modules["notebook"]))
        return code("cell")

    sys.modules["notebook"] = type(sys)("notebook")
    try:
        one, two, again = cell("state.level[0] = 1.0"), cell("state.level[0] = 2.0"), cell("state.level[0] = 1.0")
    finally:
        del sys.modules["notebook"], registry._learners["cell"]
    assert one == again != two


def test_a_run_planned_for_another_source_is_refused(guest: Any, tmp_path: Path) -> None:
    guest("planned", "state.level[0] = 1.0")
    key = replace(make_key("random:S=4,A=2,H=3", "planned", 4), code="0" * 16)
    outcome = execute(key, Store(tmp_path / "runs"))
    assert outcome.status == "failed"
    assert "its source differs" in outcome.error


# --- workers ------------------------------------------------------------------------------------------------------


def test_a_sweep_finds_modules_beside_its_file_and_never_runs_the_current_folder(tmp_path: Path) -> None:
    home, here, runs = tmp_path / "home", tmp_path / "here", tmp_path / "runs"
    home.mkdir()
    here.mkdir()
    noise = "import os, sys\nprint('printed', end='')\nos.write(1, b'{written')\nsys.__stdout__.write('x')\n"
    (home / "noisy.py").write_text(noise + MODULE.replace("BODY", "state.level[0] += 1.0").replace("NAME", "noisy"))
    (home / "sweep.toml").write_text(
        'episodes = 20\nseeds = 1\nproblems = ["random:S=4,A=2,H=3"]\nimports = ["noisy"]\n[[learners]]\nname = "noisy"\n'
    )
    (here / "numba.py").write_text(f"open({str(tmp_path / 'trap')!r}, 'w').close()\n")
    command = ["-m", "noregret", "sweep", str(home / "sweep.toml"), "--out", str(runs), "--backend", "processes"]
    done = python(*command, site=tmp_path / "none", cwd=here)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 runs are finished" in done.stdout
    assert not (tmp_path / "trap").exists()
    (home / "noisy.py").write_text((home / "noisy.py").read_text().replace("+= 1.0", "+= 2.0"))
    done = python(*command, site=tmp_path / "none", cwd=here)
    assert "1 of 1 runs are finished" in done.stdout
    assert "(1 now" in done.stdout, "an edited learner is another learner"


@pytest.mark.usefixtures("habit")
def test_a_job_names_the_modules_that_its_run_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, key = Context(Store(tmp_path), 1), make_key("random", "habit", 4)
    assert [str(Path(__file__).parents[2]), "tests.stranger"] in json.loads(context.job(key))["imports"]
    assert json.loads(context.job(make_key("random", "uniform", 4)))["imports"] == []
    monkeypatch.setattr(stranger.Habit, "__module__", "__main__")
    with pytest.raises(InputError, match="learner 'habit' is defined in the program itself"):
        context.job(key)


# --- the checks can fail ------------------------------------------------------------------------------------------


class Habit(stranger.Habit):
    name = "broken"
    mistake = ""

    def begin(self, c: Any) -> Any:
        state = super().begin(c)
        if self.mistake == "random start":
            state.habit[:] = np.random.default_rng().integers(0, 2, size=state.habit.shape)
        if self.mistake == "explain":
            self.explain = {"nothing": "given"}
        return state

    def plan(self, uniforms: Any = None) -> Any:
        made = super().plan(uniforms)
        if self.mistake == "sum":
            made.policy[:] *= 1.5
        if self.mistake == "view":
            object.__setattr__(made, "policy", self._state.policy)
        return made

    def observe(self, states: Any, actions: Any, rewards: Any, utilities: Any) -> None:
        if self.mistake == "unchecked":
            rewards = np.clip(np.nan_to_num(rewards), 0.0, 1.0)
        super().observe(states, actions, rewards, utilities)
        if self.mistake == "writes":
            np.asarray(rewards)[...] = 0.0

    def state(self) -> Any:
        state = super().state()
        return {key: value for key, value in state.items() if self.mistake != "forgets" or key != "habit"}

    def restore(self, state: Any) -> None:
        if self.mistake == "forgets":
            state = state | {"habit": self._state.habit}
        super().restore(state)


@pytest.mark.parametrize(
    ("mistake", "check"),
    [
        ("sum", "policies are distributions"),
        ("random start", "a seed gives the same bits"),
        ("forgets", "stopping and restoring"),
        ("view", "asking for the plan"),
        ("writes", "what is handed over"),
        ("unchecked", "a bad episode is refused"),
        ("explain", "it is made from a spec"),
    ],
)
def test_each_check_finds_what_it_is_there_for(monkeypatch: pytest.MonkeyPatch, mistake: str, check: str) -> None:
    monkeypatch.setattr(Habit, "mistake", mistake)
    monkeypatch.setattr(Habit, "name", "broken")
    try:
        with pytest.raises(CheckError):
            for name, run in checks_here(learners.register(Habit).name, {}):
                if name.startswith(check):
                    run()
    finally:
        registry._learners.pop("broken", None)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("state.level[len(state.level)] = 1.0", r"wrong.py:13: IndexError: index 1 is out of bounds for axis 0 with size 1"),
        ("state.level[0] = state.policy[0, 0, 9]", r"wrong.py:13: IndexError: index 9 is out of bounds for axis 2 with size 3"),
        ("k = 0\n    while k >= 0:\n        k = k * 1", "it did not end within 10 seconds of computing"),
    ],
)
def test_a_wrong_index_and_a_loop_without_end_are_found(
    guest: Any, monkeypatch: pytest.MonkeyPatch, body: str, said: str
) -> None:
    """Without the other process the first two write where they should not, and the third never returns."""
    monkeypatch.setattr(apart, "SECONDS", 10)
    guest("wrong", body)
    with pytest.raises(CheckError, match=said) as caught:
        check_learner("wrong")
    assert str(caught.value).startswith("wrong: policies are distributions") and "\n" not in str(caught.value)


def test_a_learner_in_no_file_is_checked_here_and_that_is_said() -> None:
    class Local(stranger.Habit):
        name = "local"

    try:
        with pytest.warns(UserWarning, match="learner 'local' is in no file: it is checked in this process"):
            next(learner_checks(Local))
    finally:
        registry._learners.pop("local", None)


def test_a_learner_from_elsewhere_passes_them_all() -> None:
    try:
        check_learner(stranger.Habit, patience=0.6)
    finally:
        registry._learners.pop("habit", None)
