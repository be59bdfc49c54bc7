"""Films where time matters: a policy that forms over episodes, and a car that learns to save its pushes.

A film is a page with its pictures as numbers; ``docs/assets/player.js`` draws them, without a network and without a server.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

import noregret as nr
from tools.docsite.site import Page, Site

EPISODES, PICTURES, SEED = 5_000, 60, 1
#: The car: episodes that it learns, the limit on its pushes, which episodes are shown.
LEARNED, LIMIT, SHOWN = 200, 90, (0, 10, 30, 80, 199)


def pages(site: Site) -> Iterator[Page]:
    """The two films."""
    for name, make, text in (("forming", forming, FORMING), ("car", car, CAR)):
        inputs = {"by": Path(__file__).read_text()}
        kept = site.kept(f"films/{name}", inputs, _writer(make), compute=site.wanted(f"gallery/{name}"))
        films = json.loads(kept["films.json"]) if kept else []
        yield Page(f"gallery/{name}.md", text + "\n\n" + "\n\n".join(_film(**film) for film in films) + "\n")


def _writer(make: Callable[[], list[dict[str, Any]]]) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "films.json").write_text(json.dumps(make()))

    return write


def _film(title: str, kind: str, data: Any) -> str:
    numbers = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("</", "<\\/")
    head = f"## {title}\n\n" if title else ""
    inside = f'<script type="application/json">{numbers}</script>'
    return f'{head}<div class="film" data-kind="{kind}" data-label="{title}">{inside}</div>'


FORMING = f"""# A policy forming

Algorithm 1 learns [job scheduling](problems/job-scheduling.md), {EPISODES:,} episodes from nothing. A column is a step of the
episode, a row a number of jobs that wait. Red cells send, blue cells wait. The likelier the policy is to be somewhere, the
higher the cell. Sending is dear at the steps 3 to 6: watch it leave them."""


def forming() -> list[dict[str, Any]]:
    """Play the paper's problem with the learner in hand, and look at its plan now and then."""
    problem = nr.problems.load("job-scheduling")
    best = nr.solve(problem)
    learner = nr.learners.make("primal-dual-lsvi", problem.spec, episodes=EPISODES)
    rng = np.random.default_rng(SEED)
    shown = {int(k) for k in np.geomspace(1, EPISODES, PICTURES)}
    frames = []
    for k in range(1, EPISODES + 1):
        policy = learner.plan().policy
        if k in shown:
            V_r, V_g = nr.evaluate(problem, policy)
            there = nr.oracle.occupancy(problem, policy).sum(axis=2)
            said = (
                f"Episode {k:,}: reward {V_r:.3f} (the best is {best.value:.3f}), utility {V_g[0]:.3f} "
                f"(at least {problem.b[0]:g}), price {learner.dual[0]:.3f}"
            )
            act = np.round(100 * policy[:, :, 1]).astype(int).ravel().tolist()
            frames.append({"said": said, "act": act, "there": np.round(100 * there).astype(int).ravel().tolist()})
        learner.observe(*_episode(problem, policy, rng))
    data = {
        "H": problem.horizon, "S": problem.n_states, "across": "step", "up": "jobs waiting", "pause": 250,
        "first": len(frames) - 1, "frames": frames,
    }  # fmt: skip
    return [{"title": "", "kind": "policy", "data": data}]


def _episode(problem: Any, policy: Any, rng: np.random.Generator) -> tuple[Any, Any, Any, Any]:
    """States, actions, rewards and utilities of one episode."""
    states, actions = [int(rng.choice(problem.n_states, p=problem.mu))], list[int]()
    for h in range(problem.horizon):
        actions.append(int(rng.choice(problem.n_actions, p=policy[h, states[h]])))
        states.append(int(rng.choice(problem.n_states, p=problem.P[h, states[h], actions[h]])))
    steps = np.arange(problem.horizon)
    rewards = problem.r[steps, states[:-1], actions]
    utilities = problem.g_next[0][steps, states[:-1], actions, states[1:]]
    return states, actions, rewards, utilities


CAR = f"""# A car under its limit

Gymnasium's MountainCar pays −1 for every step until the car is at the flag. Its engine is too weak to drive up: the car has to
swing. Here every push of the engine costs 1, and an episode may cost {LIMIT}. The best play without a limit pushes about 105
times, so the limit binds.

Nothing is given to `nr.Agent` but the environment, the cost and the limit. The films show episodes that it learned from.

```python
agent = nr.Agent("MountainCar-v0", limit={LIMIT}, cost=push)  # push: 1 when the engine pushes, else 0
agent.learn({LEARNED})
```"""


def car() -> list[dict[str, Any]]:
    """Let an agent learn, keep what the car did, and choose some episodes."""
    import gymnasium

    class Tape(gymnasium.Wrapper[Any, Any, Any, Any]):
        """Keeps positions and pushes of every episode."""

        episodes: ClassVar[list[list[tuple[float, int]]]] = []

        def reset(self, **options: Any) -> Any:
            self.episodes.append([])
            return super().reset(**options)

        def step(self, action: Any) -> Any:
            outcome = super().step(action)
            self.episodes[-1].append((round(float(outcome[0][0]), 3), int(action) - 1))
            return outcome

    def push(observation: Any, action: Any, following: Any, reward: Any, info: Any) -> float:
        return float(action != 1)

    tape = Tape(gymnasium.make("MountainCar-v0"))
    agent = nr.Agent(tape, limit=LIMIT, cost=push, constraint_names=["pushes"], seed=0)
    agent.learn(LEARNED)
    whole = [steps for steps in tape.episodes if steps]
    return [_drive(number, whole[number]) for number in SHOWN]


def _drive(number: int, steps: list[tuple[float, int]]) -> dict[str, Any]:
    pushes, frames = 0, []
    for step, (x, action) in enumerate(steps, 1):
        pushes += action != 0
        arrived = ", at the flag" if x >= 0.5 else ""
        frames.append({"said": f"step {step}: {pushes} pushes{arrived}", "car": [x, action, pushes]})
    there = steps[-1][0] >= 0.5
    ended = f"at the flag after {len(steps)} steps" if there else f"not at the flag after {len(steps)} steps"
    data = {"limit": LIMIT, "most": 200, "pause": 40, "first": len(frames) - 1, "frames": frames}
    return {"title": f"Episode {number + 1}: {ended}, {pushes} pushes", "kind": "car", "data": data}
