"""The benchmark on worlds of others: its worlds, its runner and its page, without the packages that the worlds come from."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import ppo_lagrangian  # noqa: E402
import real_worlds  # noqa: E402
import trivial  # noqa: E402
import world_page  # noqa: E402
import world_parts  # noqa: E402
import world_runs  # noqa: E402
import worlds  # noqa: E402
from world_runs import Job  # noqa: E402
from worlds import CHOSEN, KEPT, WORLDS, World  # noqa: E402


class Shop(gym.Env[Any, Any]):
    """Two actions: wait, which pays nothing, and work, which pays 1 and costs 1."""

    observation_space, action_space = gym.spaces.Discrete(1), gym.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return 0, {}

    def step(self, action: Any) -> Any:
        return 0, float(action), False, False, {}


SHOP = World(Shop, 10, world_parts.acted, 4, "work at most 4", 60, reward=2, most=5, nothing=0)


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setitem(WORLDS, "shop", SHOP)
    return SHOP


def run(reward: float, cost: float, **others: Any) -> dict[str, Any]:
    job = {"world": "shop", "who": world_page.OURS, "rate": None, "seed": 0, "episodes": 60}
    return job | {"reward": reward, "cost": cost, "judged": 50, "spread": [0.0, 0.0], "seconds": 1.0} | others


def test_each_world_is_chosen_or_kept_and_none_is_there_twice() -> None:
    roles = {role: [name for name, world in WORLDS.items() if world.role == role] for role in (CHOSEN, KEPT)}
    assert sum(map(len, roles.values())) == len(WORLDS) and len(roles[KEPT]) >= 6
    assert not set(roles[CHOSEN]) & set(roles[KEPT])
    written = [
        line.split('"')[1]
        for line in (ROOT / "benchmarks" / "worlds.py").read_text().splitlines()
        if ": World(" in line and '"' in line
    ]
    assert sorted(written) == sorted(WORLDS), "a name that is written twice"
    rows = [(world.says, world.build) for world in WORLDS.values()]
    assert len(set(rows)) == len(rows)


def test_what_is_wanted_can_be_met_within_the_limit_that_the_agent_is_told() -> None:
    for name, world in WORLDS.items():
        assert world.limit <= world.wanted_cost <= 1.11 * world.limit, name
        assert world.horizon >= 1 and world.episodes >= 100 >= world_runs.LAST, name


@pytest.mark.parametrize(
    "name", ["cart-pole-200", "mountain-car-continuous", "blackjack", "mountain-car-sticky", "cart-pole-noisy"]
)
def test_a_world_has_numbered_actions_a_cost_at_each_step_and_h_steps(name: str) -> None:
    world = WORLDS[name]
    env = worlds.make_discrete(world)
    assert isinstance(env.action_space, gym.spaces.Discrete) and (world.nothing or 0) < env.action_space.n
    env.reset(seed=0)
    ended, steps = False, 0
    while not ended:
        _, _, terminated, truncated, info = env.step(steps % env.action_space.n)
        assert 0.0 <= info["cost"]
        ended, steps = terminated or truncated, steps + 1
    assert steps <= world.horizon
    assert steps == world.horizon or terminated


def test_a_world_whose_package_is_not_there_stops_no_other(
    shop: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "or_gymnasium", None)  # as if it were not installed
    jobs = [Job(name, trivial.UNIFORM, None, trivial.FIRST, 3) for name in ("newsvendor", "shop")]
    world_runs.make_missing(tmp_path / "runs.jsonl", jobs, trivial.play)
    assert [found["world"] for found in world_runs.read([tmp_path / "runs.jsonl"])] == ["shop"]
    assert "newsvendor: left out" in capsys.readouterr().out


def test_a_run_is_made_once_and_one_that_breaks_leaves_its_error(shop: World, tmp_path: Path) -> None:
    path, made = tmp_path / "runs.jsonl", []

    def play(job: Job) -> dict[str, Any]:
        made.append(job.seed)
        if job.seed == 1:
            raise ValueError("no such thing\nand more")
        return world_runs.result(job, [(1.0, 2.0)] * 60, 0.1)

    jobs = [Job("shop", "someone", None, seed, 60) for seed in range(3)]
    world_runs.make_missing(path, jobs[:2], play)
    world_runs.make_missing(path, jobs, play)
    assert made == [0, 1, 2]
    found = world_runs.read([path])
    assert [world_runs.job_of(each) for each in found] == jobs
    assert found[1]["error"] == "ValueError: no such thing" and found[2]["reward"] == 1.0 and found[2]["cost"] == 2.0


def test_a_result_is_the_mean_of_the_last_50_or_of_fresh_episodes() -> None:
    curve = [(0.0, 9.0)] * 50 + [(1.0, 3.0)] * 50
    job = Job("shop", "someone", None, 0, 100)
    late, fresh = world_runs.result(job, curve, 0.0), world_runs.result(job, curve, 0.0, fresh=[(7.0, 1.0), (9.0, 1.0)])
    assert (late["reward"], late["cost"], late["judged"], late["first"]) == (1.0, 3.0, 50, [0.0, 9.0])
    assert (fresh["reward"], fresh["cost"], fresh["judged"], fresh["spread"]) == (8.0, 1.0, 2, [1.0, 0.0])


def test_trivial_policies_are_every_constant_uniform_and_those_that_a_world_names(shop: World) -> None:
    played = {job.who: trivial.play(job._replace(episodes=20)) for job in trivial.jobs("shop")}
    assert set(played) == {"uniform", "do nothing", "always action 1"}
    assert (played["do nothing"]["reward"], played["always action 1"]["reward"]) == (0.0, 10.0)
    assert 3.0 < played["uniform"]["reward"] < 7.0
    blackjack = trivial.policies(WORLDS["blackjack"], 2)
    assert blackjack["hit below 12"]((11, 10, 0)) == 1 and blackjack["hit below 12"]((12, 10, 0)) == 0
    assert "Gymnasium's own rule" in trivial.policies(WORLDS["lunar-lander"], 4)


def test_the_best_trivial_policy_is_within_the_limit_and_no_longer_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(WORLDS, "shop", replace(SHOP, rules={"a rule": lambda x: 0}))
    runs = [run(9.0, 5.1, who="too much"), run(4.0, 5.0, who="just"), run(1.0, 0.0, who="little"), run(5.0, 1.0, who="a rule")]
    best = world_page.best_trivial(runs, "shop")
    assert best is not None and best["who"] == "just"
    assert world_page.best_trivial(runs[:1], "shop") is None


def test_lower_by_chance_is_not_called_worse() -> None:
    best = run(4.0, 4.0, who="just")
    spread = {"spread": [3.0, 0.0]}  # of 50 episodes: a standard error of 0.42
    assert not world_page.clearly_below([run(3.5, 4.0, **spread)], best)
    assert world_page.clearly_below([run(3.0, 4.0, **spread)], best)
    assert world_page.clearly_below([run(3.5, 4.0)], best)
    assert not world_page.clearly_below([run(3.0, 4.0), run(4.8, 4.0)], best), "seeds differ by more"
    assert not world_page.clearly_below([run(3.0, 4.0)], None)


def test_met_asks_for_the_reward_and_the_cost() -> None:
    best = run(3.0, 4.0, who="just")
    assert world_page.is_met(run(2.0, 5.0), SHOP, best), "as much as wanted, though trivial is better: the table says both"
    assert not world_page.is_met(run(1.9, 4.0), SHOP, best) and not world_page.is_met(run(9.0, 5.1), SHOP, best)
    assert not world_page.is_met({"error": "refused"}, SHOP, best)
    free = replace(SHOP, reward=None)
    assert world_page.is_met(run(3.0, 4.0), free, best) and not world_page.is_met(run(2.9, 4.0), free, best)


def test_the_page_says_what_the_runs_say(shop: World) -> None:
    runs = [
        run(2.0, 4.0), run(1.5, 4.0, seed=1), run(4.0, 4.0, who="always action 7"),
        run(3.0, 4.5, who=world_page.PPO, rate=0.1), run(3.5, 6.0, who=world_page.PPO, rate=0.01),
    ]  # fmt: skip
    (row,) = [line for line in world_page.table(CHOSEN, runs).splitlines() if line.startswith("| **shop**")]
    assert "| 2 / 4, 1.5 / 4 | 1 of 2 | always action 7: 4 / 4 | 3 / 4.5 (rate 0.1) | – | 1 |" in row
    said = world_page.verdict(runs)
    assert "Met on some seeds: shop (1 of 2)." in said
    assert "**Worse than trivial**: shop (1.75, where “always action 7” has 4 at cost 4)." in said
    assert "at as many episodes**: shop (1.75, PPO 3 at cost 4.5)." in said, "the rate with more reward breaks the limit"
    noisy = world_page.verdict([run(2.5, 4.0, spread=[9.0, 0.0]), run(4.0, 4.0, who="always action 7")])
    assert "**Worse than trivial**: none." in noisy and "Lower than trivial by less than 2 standard errors: shop (2.5," in noisy
    broken = world_page.verdict([run(2.5, 7.0)])
    assert "Met on no seed: shop (0 of 1)." in broken and "shop (7, wanted 5)" in broken
    assert "Refused: shop (no)." in world_page.verdict([run(0.0, 0.0, error="no")])


def test_the_page_follows_from_the_files() -> None:
    page = (ROOT / "docs" / "real-worlds.md").read_text("utf-8")
    runs = world_runs.read([world_runs.OURS, world_runs.THEIRS, world_runs.TRIVIAL])
    assert runs and world_page.updated(page, runs) == page
    with pytest.raises(ValueError, match="has no line"):
        world_page.updated("", runs)


def test_every_run_of_the_files_is_of_a_world_and_there_once() -> None:
    for path in (world_runs.OURS, world_runs.THEIRS, world_runs.TRIVIAL):
        runs = world_runs.read([path])
        jobs = [world_runs.job_of(each) for each in runs]
        assert len(set(jobs)) == len(jobs), path.name
        assert {job.world for job in jobs} <= set(WORLDS), path.name
        assert all("error" in each or np.isfinite([each["reward"], each["cost"]]).all() for each in runs), path.name


def test_the_agent_is_run_from_end_to_end(shop: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out, page = tmp_path / "runs.jsonl", tmp_path / "page.md"
    sections = (CHOSEN, KEPT, "verdict", "hand")
    page.write_text("".join(f"{world_page.begin(name)}\n{world_page.END}\n" for name in sections), "utf-8")
    words = ["real_worlds.py", "--worlds", "shop", "--seeds", "0", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", words)
    real_worlds.main()
    (found,) = (json.loads(line) for line in out.read_text().splitlines())
    assert "error" not in found and found["episodes"] == 60 and found["reward"] == found["cost"] > 0.0
    monkeypatch.setattr(sys, "argv", [*words, "--page", str(page)])
    real_worlds.main()
    assert f"{found['reward']:.4g} / {found['cost']:.3g}" in page.read_text("utf-8")


def test_the_price_of_ppo_rises_while_the_limit_is_broken(shop: World) -> None:
    price = ppo_lagrangian.Price(shop, 0.5)
    env = ppo_lagrangian.Penalised(ppo_lagrangian.Flat(worlds.make_discrete(shop)), price)
    x, _ = env.reset(seed=0)
    assert x.shape == (1,) and env.observation_space.contains(x)
    for _ in range(10):
        *_, reward, _, truncated, _ = env.step(1)[:5]
    assert reward == 1.0 and truncated and price.history == [(10.0, 10.0)]
    assert price.Y == pytest.approx(0.5 * (10 - 4) / 4)
    env.reset(seed=1)
    assert env.step(1)[1] == pytest.approx(1.0 - price.Y * price.scale)
    for _ in range(9):
        env.step(0)
    assert price.Y == pytest.approx(0.75 + 0.5 * (1 - 4) / 4)
