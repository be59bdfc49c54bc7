"""noregret learn: the whole thing from a shell, stopped and started again, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import noregret as nr
from noregret.cli import app
from noregret.errors import FileError
from noregret.gym.expressions import Expression
from tests import browser

runner = CliRunner()
CAR = ["learn", "MountainCar-v0", "--limit", "30", "--cost", "action != 1", "--horizon", "50", "--seed", "3"]


@pytest.fixture(autouse=True)
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def learn(*more: str):
    return runner.invoke(app, [*CAR, *more])


def rewards(folder: str | Path):
    with np.load(Path(folder) / "agent.npz") as file:
        return file["rewards"]


def test_an_agent_a_page_and_the_curves_and_the_same_command_goes_on():
    done = learn("-k", "6", "--out", "car", "--gif", "--name", "pushes")
    assert done.exit_code == 0, done.output
    assert "pushes" in done.output and "at most 30" in done.output and "page.html in car" in " ".join(done.output.split())
    names = {"agent.npz", "command.json", "curves.csv", "curves.pdf", "curves.png", "curves.svg", "episode.gif", "page.html"}
    assert {path.name for path in Path("car").iterdir()} == names | {"policy.png"}
    page = Path("car/page.html").read_text()
    assert (
        "MountainCar-v0: pushes at most 30" in page and page.count("data:image/png") == 2 and page.count("data:image/gif") == 1
    )
    assert "range of reward" in page and "<script" not in page and "http" not in page.replace("http-equiv", "")
    lines = Path("car/curves.csv").read_text().splitlines()
    assert len(lines) == 7 and lines[0] == "episode,reward,pushes,dual of pushes,length"
    agent = nr.Agent("MountainCar-v0", limit=30, utility=Expression("action != 1"), horizon=50, seed=3)
    agent.learn(9, progress_bar=False)
    assert learn("-k", "9", "--out", "car", "--name", "pushes").exit_code == 0
    np.testing.assert_array_equal(rewards("car"), agent.rewards)  # 6 and 3 more are 9
    again = learn("-k", "9", "--out", "car", "--name", "pushes")
    assert again.exit_code == 0 and len(rewards("car")) == 9
    other = learn("-k", "9", "--out", "car", "--name", "pushes", "--actions", "3")
    assert other.exit_code == 1
    other = learn("-k", "9", "--out", "car")
    assert other.exit_code == 1 and "car holds an agent with name ['pushes'], and name is None" in other.output
    fresh = learn("-k", "2", "--out", "car", "--fresh")
    assert fresh.exit_code == 0 and len(rewards("car")) == 2 and "cost (action != 1)" in Path("car/page.html").read_text()


@pytest.mark.skipif(browser.find() is None, reason="there is no browser")
def test_the_page_shows_its_pictures():
    assert learn("-k", "4", "--out", "car", "--gif").exit_code == 0
    with browser.Browser() as page:
        page.open(Path("car/page.html"))
        page.wait("document.readyState === 'complete'")
        sizes = page.run("[...document.images].map((image) => image.naturalWidth)")
        assert len(sizes) == 3 and min(sizes) > 200 and not page.complaints


#: The command, which saves its agent every 0.2 seconds instead of every 10.
OFTEN = "from noregret import cli; from noregret.cli import learn; learn.EVERY = 0.2; cli.main()"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_stopped_or_killed_it_goes_on_to_the_same_agent(number, tmp_path):
    line = [sys.executable, "-c", OFTEN, *CAR, "--out", "car", "-k", "4000"]
    started = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not Path("car/agent.npz").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    started.send_signal(number)
    _, said = started.communicate(timeout=120)
    assert started.returncode == (-9 if number == signal.SIGKILL else 128 + number), said
    had = rewards("car")
    assert 0 < len(had) < 4000
    if number != signal.SIGKILL:
        assert "the same command goes on" in said and Path("car/page.html").exists()
    n = len(had) + 3
    assert learn("--out", "car", "-k", str(n)).exit_code == 0
    assert len(rewards("car")) == n and (rewards("car")[: len(had)] == had).all()
    whole = nr.Agent("MountainCar-v0", limit=30, utility=Expression("action != 1"), horizon=50, seed=3)
    np.testing.assert_array_equal(rewards("car"), whole.learn(n, progress_bar=False).rewards)


def test_an_environment_of_ones_own_by_import_and_utilities(tmp_path):
    Path("mine.py").write_text(
        "import gymnasium, numpy as np\n"
        "class Own(gymnasium.Env):\n"
        "    observation_space, action_space = gymnasium.spaces.Discrete(3), gymnasium.spaces.Discrete(2)\n"
        "    def reset(self, *, seed=None, options=None):\n"
        "        self.h = 0\n        return 0, {}\n"
        "    def step(self, action):\n"
        "        self.h += 1\n        return self.h % 3, float(action), False, False, {'speed': 1.0 - action}\n"
        "gymnasium.register('Own-v0', entry_point=Own)\n"
    )
    line = ["learn", "Own-v0", "--threshold", "2", "--utility", "info['speed']", "-k", "5", "--import", "mine.py", "-o", "own"]
    asked = runner.invoke(app, line)
    assert asked.exit_code == 1 and "horizon is None and the environment has no time limit" in asked.output
    done = runner.invoke(app, [*line, "--horizon", "4"])
    assert done.exit_code == 0, done.output
    assert "at least 2" in done.output and json.loads(Path("own/command.json").read_text())["utility"] == ["info['speed']"]
    given = runner.invoke(app, [*line, "--horizon", "4", "--features", "one-hot", "--fresh"])
    assert given.exit_code == 0 and "primal-dual-lsvi" in Path("own/page.html").read_text()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("NoSuch-v0 --limit 1", "env is 'NoSuch-v0'; Gymnasium cannot make it"),
        ("MountainCar-v0 --limit 1 --cost acton!=1", "unknown name 'acton'; expected action, obs, next_obs"),
        ("MountainCar-v0 --limit 1 --cost obs.T", "not allowed"),
        ("MountainCar-v0 --limit 1 --cost obs", "step 0: expression 'obs' cannot be computed"),
        ("MountainCar-v0 --limit 1 --limit 2 --cost action", "1 expressions and 2 totals"),
        ("MountainCar-v0 --cost action", "neither given"),
        ("MountainCar-v0 --limit 1 --cost action --utility action", "both given"),
        ("MountainCar-v0 --limit 1 --utility action", "expected a pair"),
        ("MountainCar-v0 --limit 1 --cost action --episodes 0", "episodes is 0"),
        ("MountainCar-v0 --limit 1 --cost action --horizon 300", "horizon is 300; expected at most 200"),
        ("MountainCar-v0 --limit 1 --cost action --features nothing", "unknown features 'nothing'"),
        ("MountainCar-v0 --limit 1 --cost action --features fourier:odd=3", "did you mean 'order'?"),
        ("CartPole-v1 --limit 1 --cost action --features fourier", "expected a Box with ends"),
        ("MountainCar-v0 --limit 1 --cost action --features one-hot", "expected Discrete ones"),
        ("MountainCar-v0 --limit 1 --cost action --set beta=3", "unknown option of soft-cells 'beta'"),
        ("MountainCar-v0 --limit 1 --cost action --learner opdop", "features"),
        ("Pendulum-v1 --limit 1 --cost abs(action[0]) --actions 1", "actions is 1; expected a whole number, at least 2"),
        ("MountainCar-v0 --limit 1", "the environment shows no cost"),
    ],
)
def test_what_is_refused_is_one_line_and_leaves_no_agent(line, said):
    result = runner.invoke(app, ["learn", *line.split()])
    assert result.exit_code == 1 and said in result.output, result.output
    assert result.output.count("\n") == 1 and not list(Path().rglob("agent.npz"))


def test_a_pipe_in_place_of_the_command_is_refused_and_not_waited_for(tmp_path):
    """Reading it would wait for somebody to write."""
    learn = sys.modules["noregret.cli.learn"]
    (tmp_path / "agent.npz").touch()
    os.mkfifo(tmp_path / "command.json")
    with pytest.raises(FileError, match=r"command.json: cannot be read; expected what .*agent.npz learned"):
        learn._resumed(tmp_path, {}, None, False)
