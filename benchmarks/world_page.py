"""The tables of docs/real-worlds.md from the runs that were made."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from world_runs import Run
from worlds import CHOSEN, KEPT, WORLDS, World

OURS, HAND, PPO = "noregret, features auto", "noregret, features hand", "ppo-lagrangian"
#: Standard errors by which a mean must be lower to be called lower.
CLEAR = 2.0
WORSE, LOWER = "**Worse than trivial**", f"Lower than trivial by less than {CLEAR:g} standard errors"
BEHIND = "**Worse than PPO that holds the limit, at as many episodes**"
#: What stands around each table.
END = "<!-- end of what benchmarks/real_worlds.py makes -->"


def begin(section: str) -> str:
    """The line that a section of the page begins after."""
    return f"<!-- {section}, made by benchmarks/real_worlds.py -->"


def updated(text: str, runs: Sequence[Run]) -> str:
    """The page with all tables made anew.

    Raises:
        ValueError: a mark is not there.
    """
    sections = {CHOSEN: table(CHOSEN, runs), KEPT: table(KEPT, runs), "verdict": verdict(runs), "hand": hand(runs)}
    for section, body in sections.items():
        if begin(section) not in text:
            raise ValueError(f"the page has no line {begin(section)!r}")
        head, rest = text.split(begin(section), 1)
        _, mark, tail = rest.partition(END)
        if not mark:
            raise ValueError(f"section {section!r} of the page does not end with {END!r}")
        text = f"{head}{begin(section)}\n\n{body}\n\n{END}{tail}"
    return text


def chosen_from(runs: Sequence[Run], world: str, who: str, times: int = 1) -> list[Run]:
    """The runs of a system in a world, with so many times the world's episodes, by seed."""
    episodes = times * WORLDS[world].episodes
    same = [run for run in runs if (run["world"], run["who"], run["episodes"]) == (world, who, episodes)]
    return sorted(same, key=lambda run: run["seed"])


def best_rate(runs: Sequence[Run], world: World) -> list[Run]:
    """The runs of the best rate: of those with a mean cost within what is wanted the most reward; if none, the least cost."""
    by_rate: defaultdict[float, list[Run]] = defaultdict(list)
    for run in runs:
        if "error" not in run:
            by_rate[run["rate"]].append(run)
    if not by_rate:
        return []
    means = {rate: [float(np.mean([run[key] for run in same])) for key in ("reward", "cost")] for rate, same in by_rate.items()}
    within = [rate for rate in means if means[rate][1] <= world.wanted_cost]
    return by_rate[max(within, key=lambda r: means[r][0]) if within else min(means, key=lambda r: means[r][1])]


def best_trivial(runs: Sequence[Run], name: str) -> Run | None:
    """Of the trivial policies whose mean cost is within what is wanted the one with the most reward, or None."""
    world = WORLDS[name]
    others = {OURS, HAND, PPO, *world.rules}
    within = [run for run in runs if run["world"] == name and run["who"] not in others and run["cost"] <= world.wanted_cost]
    return max(within, key=lambda run: run["reward"], default=None)


def error_of(run: Run) -> float:
    """The standard error of a run's mean reward."""
    return float(run["spread"][0]) / math.sqrt(run["judged"]) if "spread" in run else 0.0


def clearly_below(ours: Sequence[Run], trivial: Run | None) -> bool:
    """Whether the mean reward of runs is lower than that of a trivial policy by more than chance."""
    if trivial is None:
        return False
    rewards = [run["reward"] for run in ours]
    within = math.sqrt(sum(error_of(run) ** 2 for run in ours)) / len(ours)
    between = float(np.std(rewards, ddof=1)) / math.sqrt(len(ours)) if len(ours) > 1 else 0.0
    error = math.hypot(max(within, between), error_of(trivial))
    return bool(np.mean(rewards) < trivial["reward"] - CLEAR * error - 1e-9)


def pooled(runs: Sequence[Run]) -> Run | None:
    """Runs of several seeds as one: the means, and the spread between them; None of none."""
    if not runs:
        return None
    reward, cost = (float(np.mean([run[key] for run in runs])) for key in ("reward", "cost"))
    spread = float(np.std([run["reward"] for run in runs], ddof=1)) if len(runs) > 1 else 0.0
    return {"reward": reward, "cost": cost, "spread": [spread], "judged": len(runs)}


def is_met(run: Run, world: World, trivial: Run | None) -> bool:
    """Whether one run has what is wanted."""
    if "error" in run or run["cost"] > world.wanted_cost + 1e-9:
        return False
    return not clearly_below([run], trivial) if world.reward is None else run["reward"] >= world.reward


def pair(run: Run) -> str:
    """Reward and cost of a run."""
    return run["error"] if "error" in run else f"{run['reward']:.4g} / {run['cost']:.3g}"


def pairs(runs: Sequence[Run]) -> str:
    """Reward and cost of runs, one after the other; what several say alike, once."""
    return (
        ", ".join(dict.fromkeys(map(pair, runs)))
        if runs and all("error" in run for run in runs)
        else ", ".join(map(pair, runs))
    )


def rated(runs: Sequence[Run], name: str, times: int) -> str:
    """The runs of PPO at its best rate."""
    same = best_rate(chosen_from(runs, name, PPO, times), WORLDS[name])
    return f"{pairs(same)} (rate {same[0]['rate']:g})" if same else "–"


def wanted(world: World) -> str:
    """What is wanted, in words."""
    reward = "trivial" if world.reward is None else f"{world.reward:g}"
    return f"≥ {reward} / ≤ {world.wanted_cost:.4g}"


def table(role: str, runs: Sequence[Run]) -> str:
    """One row for each world."""
    rows = [
        "| world | episodes | wanted | noregret, each seed | met | best trivial policy | PPO | PPO, episodes x 10 | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, world in WORLDS.items():
        if world.role != role:
            continue
        ours, trivial = chosen_from(runs, name, OURS), best_trivial(runs, name)
        met = f"{sum(is_met(run, world, trivial) for run in ours)} of {len(ours)}" if ours else "not played"
        best = "none within the limit" if trivial is None else f"{trivial['who']}: {pair(trivial)}"
        rules = "".join(f"; {run['who']}: {pair(run)}" for run in runs if run["world"] == name and run["who"] in world.rules)
        rules += "" if world.best is None else f"; best possible {world.best:.4g}"
        seconds = f"{np.mean([run['seconds'] for run in ours]):.0f}" if ours else ""
        cells = [
            f"**{name}**, {world.says}", str(world.episodes), wanted(world), pairs(ours) or "–", met, best + rules,
            rated(runs, name, 1), rated(runs, name, 10), seconds,
        ]  # fmt: skip
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def hand(runs: Sequence[Run]) -> str:
    """Runs with features chosen by hand."""
    rows = ["| world | wanted | features by hand, each seed |", "|---|---|---|"]
    for name, world in WORLDS.items():
        if same := chosen_from(runs, name, HAND):
            rows.append(f"| {name} | {wanted(world)} | {pairs(same)} |")
    return "\n".join(rows)


def verdict(runs: Sequence[Run]) -> str:
    """What the tables say, in sentences: where it is met, where the limit is broken, where trivial is better."""
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for name, world in WORLDS.items():
        ours, trivial = chosen_from(runs, name, OURS), best_trivial(runs, name)
        played = [run for run in ours if "error" not in run]
        if not ours:
            lines["Not played"].append(name)
        elif not played:
            lines["Refused"].append(f"{name} ({pairs(ours)})")
        else:
            count = sum(is_met(run, world, trivial) for run in ours)
            which = "Met on every seed" if count == len(ours) else "Met on some seeds" if count else "Met on no seed"
            lines[which].append(name if count == len(ours) else f"{name} ({count} of {len(ours)})")
            cost, reward = (float(np.mean([run[key] for run in played])) for key in ("cost", "reward"))
            if cost > world.wanted_cost:
                lines["**Limit not met on the mean of the seeds**"].append(
                    f"{name} ({cost:.3g}, wanted {world.wanted_cost:.4g})"
                )
            if trivial is not None and reward < trivial["reward"] - 1e-9:
                lines[WORSE if clearly_below(played, trivial) else LOWER].append(
                    f"{name} ({reward:.4g}, where “{trivial['who']}” has {trivial['reward']:.4g} at cost {trivial['cost']:.3g})"
                )
            if (theirs := pooled(best_rate(chosen_from(runs, name, PPO), world))) and theirs["cost"] <= world.wanted_cost:
                if clearly_below(played, theirs):
                    lines[BEHIND].append(f"{name} ({reward:.4g}, PPO {theirs['reward']:.4g} at cost {theirs['cost']:.3g})")
    order = ("Met on every seed", "Met on some seeds", "Met on no seed", WORSE, LOWER,
             "**Limit not met on the mean of the seeds**", BEHIND, "Refused", "Not played")  # fmt: skip
    return "\n".join(f"- {key}: {', '.join(lines[key]) or 'none'}." for key in order)
