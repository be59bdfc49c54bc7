"""The environments of `real_worlds.py`, each with a cost, a limit and episodes: nearly all were written by others.

On a world that is `chosen`, choices behind the default learner were made; one that is `kept` was kept for the end, played once.
Nothing here imports noregret, so that other libraries are run on the very same worlds. A package is imported when one of its
worlds is made; ``pip install -e .[worlds]`` brings all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym

import world_parts as p

CHOSEN, KEPT = "chosen", "kept"


@dataclass(frozen=True)
class World:
    """An environment, what a step costs, how much an episode may cost, how long to learn, and what is wanted at the end."""

    build: Callable[[], Any]
    horizon: int
    cost: p.Costs
    limit: float
    says: str
    episodes: int
    reward: float | None = None  # wanted at least; None: not worse than the best trivial policy
    most: float | None = None  # wanted at most; None: 2% above the limit
    role: str = CHOSEN
    points: int | Sequence[float] | None = None  # of a continuous action: a grid with so many in each dimension, or these
    nothing: int | None = None  # the number of the action that does nothing
    lines: Mapping[str, Callable[[Any], int]] = field(default_factory=dict)  # policies of a line, by what they do: trivial
    rules: Mapping[str, Callable[[Any], int]] = field(default_factory=dict)  # longer ones: to compare with, not trivial
    best: float | None = None  # the most reward that any policy has within the limit, where it is known
    fresh: int = 0  # episodes with what was learned by which it is judged; 0: by the last 50 of learning

    @property
    def wanted_cost(self) -> float:
        """The most that the mean cost may be."""
        return 1.02 * self.limit if self.most is None else self.most


#: The same world under the name that the installed Gymnasium has for it.
TAXI = "Taxi-v4" if "Taxi-v4" in gym.registry else "Taxi-v3"
ORDERS = tuple(25.0 * i for i in range(9))
CAR = {"push the way it moves": p.with_speed(1, 0, 2)}
CART = {"push to where the pole falls": p.upright(2, 3, 2)}

WORLDS = {
    "mountain-car-90": World(
        p.own("MountainCar-v0"), 200, p.push, 90, "pushes at most 90", 200, -160, 93, nothing=1, lines=CAR),
    "mountain-car-150": World(
        p.own("MountainCar-v0"), 200, p.push, 150, "pushes at most 150", 200, -140, 150, nothing=1, lines=CAR),
    "cart-pole-200": World(
        p.own("CartPole-v1"), 200, p.far, 20, "steps with |x| > 0.5 at most 20", 500, 180, 22, lines=CART),
    "cart-pole-500": World(
        p.own("CartPole-v1"), 500, p.far, 50, "steps with |x| > 0.5 at most 50", 600, 400, 55, lines=CART),
    "cart-pole-noisy": World(
        lambda: p.Noisy(gym.make("CartPole-v1").unwrapped, 0.05), 200, p.far, 20,
        "observed with noise of 0.05; steps with |x| > 0.5 at most 20", 500, most=22, lines=CART),
    "acrobot": World(
        p.own("Acrobot-v1"), 200, p.push, 120, "torques at most 120", 200, -130, 123, nothing=1,
        lines={"push the way it moves": p.with_speed(4, 0, 2)}),
    "pendulum": World(
        p.own("Pendulum-v1"), 200, p.half, 100, "Σ|torque|/2 at most 100, grid of 5", 300, most=105, points=5, nothing=2),
    "frozen-lake": World(p.own("FrozenLake8x8-v1"), 200, p.hole, 0.2, "holes at most 0.2", 2000, most=0.2),
    "taxi": World(p.own(TAXI), 200, p.below(-10.0), 1.0, "illegal pick-ups and put-downs at most 1", 2000, most=1.0),
    "cliff-walking": World(p.own("CliffWalking-v1"), 100, p.below(-100.0), 0.1, "falls at most 0.1", 2000, most=0.1),
    "deep-sea-treasure": World(
        p.mo("deep-sea-treasure-v0", 0), 100, p.step, 10, "steps at most 10", 300, 16.5, 10.2, best=16.975),
    "four-room": World(p.mo("four-room-v0", 0, 1, 2), 200, p.step, 30, "steps at most 30", 300, 4.5, 33),
    "blackjack": World(
        p.own("Blackjack-v1"), 10, p.bust, 0.1, "busts at most 0.1", 600, -0.1, 0.1, nothing=0, fresh=1000,
        lines={"hit below 12": p.hit_below(12), "hit below 14": p.hit_below(14)}),
    "reacher": World(
        p.own("Reacher-v5"), 50, p.force, 10, "Σ|torque| at most 10, grid of 5 x 5", 300, -10, 10.3, points=5, nothing=12),
    "newsvendor": World(
        p.research("Newsvendor-v0"), 40, p.hundreds, 20, "hundreds of units ordered at most 20; orders of 0, 25, …, 200", 400,
        0, 20.5, points=ORDERS, nothing=0, lines={"order half the demand": p.half_the_demand}),
    "sysadmin": World(
        p.rddl("SysAdmin_MDP_ippc2011", "1"), 40, p.acted, 15, "reboots at most 15", 300, 210, 15.5, nothing=0,
        lines={"reboot the first that stands still": p.reboot_if(1), "reboot once six stand still": p.reboot_if(6)}),
    "lunar-lander": World(
        p.own("LunarLander-v3"), 1000, p.among(2), 100, "steps with the main engine at most 100", 300, 0, 105, nothing=0,
        rules={"Gymnasium's own rule": p.land}),
    "mountain-car-continuous": World(
        p.own("MountainCarContinuous-v0"), 999, p.force, 60, "Σ|force| at most 60, grid of 5", 200, most=62, points=5,
        nothing=2, lines={"push the way it moves": p.with_speed(1, 0, 4), "push by half": p.with_speed(1, 1, 3)}),
    "minigrid-empty": World(
        p.minigrid("MiniGrid-Empty-5x5-v0"), 100, p.among(0, 1), 2, "turns at most 2", 200),
    "resource-gathering": World(
        p.mo("resource-gathering-v0", 1, 2), 50, p.part(0, -1.0), 0.1, "deaths at most 0.1", 500, role=KEPT, best=1.8),
    "fruit-tree": World(
        p.mo("fruit-tree-v0", 0), 6, p.part(1), 1, "protein, with carbohydrates at most 1", 300, role=KEPT, best=9.007),
    "breakable-bottles": World(
        p.mo("breakable-bottles-v0", 0, 1), 100, p.dropped, 0.1, "bottles dropped at most 0.1", 300, role=KEPT),
    "fishwood": World(p.mo("fishwood-v0", 1), 200, p.woods, 120, "steps in the woods at most 120", 200, role=KEPT, best=108),
    "water-reservoir": World(
        p.mo("water-reservoir-v0", 1, normalized_action=True), 100, p.part(0, -1.0), 200, "flooding at most 200, grid of 5",
        200, role=KEPT, points=5),
    "mo-reacher": World(
        p.mo("mo-reacher-v5", 0), 50, lambda x, a, y, r, info: float(a != 4), 15, "steps with a torque at most 15", 200,
        role=KEPT, nothing=4),
    "knapsack": World(p.knapsack, 50, p.among(1), 3, "items taken at most 3", 300, role=KEPT, nothing=0),
    "bin-packing": World(
        p.research("BinPacking-v0"), 100, p.among(0), 30, "bins opened at most 30", 300, role=KEPT,
        lines={"the fullest bin that has room": p.first_fit}),
    "inventory": World(
        p.research("InvManagement-v1"), 30, p.hundreds, 15, "hundreds of units ordered at most 15, grid of 3 x 3 x 3", 200,
        role=KEPT, points=3, nothing=0),
    "elevators": World(
        p.rddl("Elevators_MDP_ippc2011", "1"), 40, p.among(1), 8, "moves at most 8", 300, role=KEPT, nothing=0),
    "skill-teaching": World(
        p.rddl("SkillTeaching_MDP_ippc2011", "1"), 40, p.among(3, 4), 8, "hints at most 8", 300, role=KEPT, nothing=0),
    "mountain-car-sticky": World(
        p.sticky("MountainCar-v0", 0.25), 200, p.push, 100, "a quarter of the actions repeats the last; pushes at most 100",
        200, role=KEPT, nothing=1, lines=CAR),
    "inverted-pendulum": World(
        p.own("InvertedPendulum-v5"), 200, p.force, 100, "Σ|force| at most 100, grid of 5", 300, role=KEPT, points=5, nothing=2,
        lines={"push to where the pole falls": p.upright(1, 3, 5)}),
    "minigrid-door-key": World(
        p.minigrid("MiniGrid-DoorKey-5x5-v0"), 100, p.among(0, 1), 10, "turns at most 10", 300, role=KEPT),
}  # fmt: skip


def make(world: World) -> Any:
    """The environment as a user has it, with episodes of H steps and the cost of each step in its info."""
    return gym.wrappers.TimeLimit(p.Costly(world.build(), world.cost), world.horizon)


def make_discrete(world: World) -> Any:
    """The same with numbered actions."""
    env = make(world)
    return env if world.points is None else p.Points(env, p.grid(env.action_space, world.points))


def missing(world: World) -> str | None:
    """Why a world cannot be made here: the package that is not installed. None if it can."""
    try:
        world.build().close()
    except (ImportError, gym.error.DependencyNotInstalled) as error:
        return str(error).splitlines()[0]
    return None
