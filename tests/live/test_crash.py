"""Kill -9 in the middle of everything: nothing acknowledged is lost, nothing counts twice, the learner is its twin's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
GOOD = {"lost": [], "wrong": [], "twice": 0, "same_log": True, "same_order": True, "same_mind": True, "same_plan": True}


def check(kills: int, *places: tuple[str, str, dict[str, object]]) -> None:
    """Kill and compare at each of some (URL, URL of the twin, options), all in one process, which has no threads."""
    episodes = 6 + 2 * kills
    line = [sys.executable, "-m", "tests.live.crash", str(kills), "7", str(episodes), json.dumps(places)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    told = [json.loads(text) for text in done.stdout.splitlines()]
    assert len(told) == len(places)
    for found in told:
        assert found["kills"] == kills and found["learned"] == found["learned_by_the_twin"] == episodes
        assert found["same_from_nothing"] and {key: found[key] for key in GOOD} == GOOD, found


def besiege(kills: int, place: str, servers: int) -> None:
    """Kill servers and planners under load, and compare with what clients saw and said."""
    line = [sys.executable, "-m", "tests.live.siege", str(kills), "3", place, str(servers)]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    good = {"lost": [], "answered_otherwise": [], "counted_twice": 0, "learned_that_nobody_played": [], "open": 0}
    assert sum(found["kills"].values()) == kills and found["same_mind_as_the_twin"], found
    assert {key: found[key] for key in good} == good and found["learned"] == found["episodes"] > 0, found


@pytest.mark.slow
def test_servers_and_planners_that_are_killed_under_load_lose_and_learn_nothing_wrong(tmp_path, pytestconfig):
    besiege(pytestconfig.getoption("--kills"), str(tmp_path / "a.db"), 1)


@pytest.mark.slow
def test_a_learner_that_is_killed_again_and_again_is_its_twin(tmp_path, pytestconfig):
    places = [(f"{tmp_path}/{sync}.db", f"{tmp_path}/{sync}-twin.db", {"sync": sync}) for sync in ("reports", "none")]
    check(pytestconfig.getoption("--kills"), *places)
