"""Learners from elsewhere: their mistakes, their random numbers, their sources, and their way to workers."""

from __future__ import annotations

import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noregret import learners
from noregret.errors import InputError
from noregret.learners import registry, sources
from noregret.runs.backends.job import Context
from noregret.runs.execute import Settings, execute
from noregret.store import RunKey, Store
from noregret.testing import CheckError, check_learner, learner_checks
from tests import stranger
from tests.support import small
from tests.testing.test_pages import install, python

MODULE = """
from typing import NamedTuple
import numpy as np
from noregret.kernels.dispatch import register as register_kernels
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

    def __init__(self, spec, *, episodes, preset, features, slater_gap):
        self.spec, self.episodes, self.preset, self.constants, self.explain = spec, episodes, preset, {}, {}
        policy = spec.available / spec.available.sum(axis=2, keepdims=True)
        self._state = State(policy, np.zeros(spec.n_constraints), np.zeros(1))

register_kernels(State, plan, update)
"""
PLAN = 13  # the line of BODY


@pytest.fixture
def guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], Any]]:
    """Writes a module with a learner and imports it."""
    monkeypatch.syspath_prepend(tmp_path)
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
        key = RunKey("random:S=4,A=2,H=3", "sampling", 60, record_every=1, learner_hash=registry.source_hash("sampling"))
        assert key.learner_hash is not None
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
        for name in ("myopic", "sampling"):
            registry._learners.pop(name, None)
        for name in ("my_learners", "my_learners.sampling"):
            sys.modules.pop(name, None)


# --- sources ------------------------------------------------------------------------------------------------------


def test_the_hash_follows_the_source(guest: Any, tmp_path: Path) -> None:
    assert registry.source_hash("primal-dual-lsvi") is None
    assert registry.source_hash("optimal") is None
    (tmp_path / "constants.py").write_text("BETA = 1.0\n")
    hashes = []
    for body in ("state.level[0] = 1.0", "state.level[0] = 2.0", "state.level[0] = 2.0"):
        guest("edited", body, "\nfrom constants import BETA\n")
        hashes.append(registry.source_hash("edited"))
    assert len({*hashes}) == 2
    assert hashes[1] == hashes[2]
    (tmp_path / "edited.py").write_text("an edit that is not in use yet")
    assert registry.source_hash("edited") == hashes[2]
    (tmp_path / "constants.py").write_text("BETA = 2.0\n")
    guest("edited", "state.level[0] = 2.0", "\nfrom constants import BETA\n")
    assert registry.source_hash("edited") not in hashes


def test_the_files_of_a_package_are_read_once(guest: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial asks for the hash, and a learner may lie in a large project: its folders are walked at registration alone."""
    (tmp_path / "project").mkdir()
    for n in range(3):
        (tmp_path / "project" / f"part{n}.py").write_text("import project, constants\n")
    (tmp_path / "constants.py").write_text("import project\n")
    walked: list[str] = []
    walk = Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda self, pattern: walked.append(self.name) or walk(self, pattern))
    guest("frugal", "state.level[0] = 1.0", "\ndef later():\n    import project\n")
    assert walked.count("project") == walked.count("constants") == 1
    monkeypatch.setattr(sources, "_parse", lambda text: pytest.fail("a source that was seen before is parsed again"))
    learners.register(learners.get("frugal"))
    walked.clear()
    assert registry.source_hash("frugal") == registry.source_hash("frugal")
    assert walked == []


def test_a_class_without_a_file_is_hashed_by_its_code() -> None:
    def cell(body: str) -> str | None:
        exec(MODULE.replace("BODY", body).replace("NAME", "cell"), vars(sys.modules["notebook"]))
        return registry.source_hash("cell")

    sys.modules["notebook"] = type(sys)("notebook")
    try:
        one, two, again = cell("state.level[0] = 1.0"), cell("state.level[0] = 2.0"), cell("state.level[0] = 1.0")
    finally:
        del sys.modules["notebook"], registry._learners["cell"]
    assert one is not None
    assert one == again != two


def test_a_run_planned_for_another_source_is_refused(guest: Any, tmp_path: Path) -> None:
    guest("planned", "state.level[0] = 1.0")
    key = RunKey("random:S=4,A=2,H=3", "planned", 4, learner_hash="0" * 16)
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
    (home / "noisy.py").write_text((home / "noisy.py").read_text() + "# edited\n")
    done = python(*command, site=tmp_path / "none", cwd=here)
    assert "1 of 1 runs are finished" in done.stdout
    assert "(1 now" in done.stdout, "an edited learner is another learner"


@pytest.mark.usefixtures("habit")
def test_a_job_names_the_modules_that_its_run_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, key = Context(Store(tmp_path), 1), RunKey("random", "habit", 4)
    assert [str(Path(__file__).parents[2]), "tests.stranger"] in json.loads(context.job(key))["imports"]
    assert json.loads(context.job(RunKey("random", "uniform", 4)))["imports"] == []
    monkeypatch.setattr(stranger.Habit, "__module__", "__main__")
    with pytest.raises(InputError, match="learner 'habit' is defined in the program itself"):
        context.job(key)


# --- the checks can fail ------------------------------------------------------------------------------------------


class Habit(stranger.Habit):
    name = "broken"
    mistake = ""

    def __init__(self, spec: Any, **options: Any) -> None:
        super().__init__(spec, **options)
        if self.mistake == "random start":
            self._state.habit[:] = np.random.default_rng().integers(0, 2, size=self._state.habit.shape)
        if self.mistake == "explain":
            self.explain = {"nothing": "given"}

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
            for name, run in learner_checks(Habit):
                if name.startswith(check):
                    run()
    finally:
        registry._learners.pop("broken", None)


def test_a_learner_from_elsewhere_passes_them_all() -> None:
    try:
        check_learner(stranger.Habit, patience=0.6)
    finally:
        registry._learners.pop("habit", None)
