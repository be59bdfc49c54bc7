"""Algorithm 1 where what a step pays varies: mean loss, share of stuck trials, time of an episode, by family of worlds.

    python -m benchmarks.noise [--set dev|validation] [--only WORD ...] [--trials 40] [--episodes 10000] [--given NAME=VALUE]

Rules were chosen on seeds below 500 (``dev``); seeds from 500 to 999 are for looking once (``validation``). No seed from 1000
on is used. A trial is *stuck* as :func:`noregret.metrics.stuck` says. The interval is that of Clopper and Pearson, at 95%. With
``--csv FILE`` the rows go into a file, each in the place of the one of the same set, parameters, family and length.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

import noregret as nr
from noregret.problems import thresholds

#: Worlds by family: a text, with a seed where it has one, and what the learner is given beside it.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bandits, slack": ("bandit:seed={},slack=true", {}),
    "bandits, slack, steps alone": ("bandit:seed={},slack=true", {"share": "nothing"}),
    "bandits, binding": ("bandit:seed={}", {}),
    "bandits, binding, steps alone": ("bandit:seed={},A=3,H=4", {"share": "nothing"}),
    "twin states": ("twin", {}),
    "random": ("random:seed={},noise=bernoulli", {}),
    "random, m=2": ("random:seed={},m=2,S=4,A=3,H=5,noise=bernoulli", {}),
    "random, Gaussian": ("random:seed={},noise=gaussian", {}),
    "linear": ("linear:seed={},noise=bernoulli", {}),
} | {
    name: (f"{name}:noise=bernoulli", {})
    for name in ("job-scheduling", "inventory", "queue", "frozen-lake-4x4", "media-control", "machine-load", "streaming")
}
#: The first seed of a set, and how many worlds a family has.
SETS, WORLDS = {"dev": 0, "validation": 500}, 10


def twin(seed: int) -> nr.TabularCMDP:
    """Two states that are worth the same; a step pays by which of them it leads to, so that nothing but the payment varies."""
    rng = np.random.default_rng(seed)
    A, H = int(rng.integers(3, 6)), int(rng.integers(3, 7))
    P = np.zeros((H, 2, A, 2))
    P[..., 1] = rng.uniform(0.1, 0.9, A)
    P[..., 0] = 1.0 - P[..., 1]
    r, g = np.zeros(P.shape), np.zeros(P.shape)
    r[..., 1] = 1.0
    g[..., 0], g[..., 1] = rng.uniform(size=(2, A))
    mean = [(P * pay).sum(axis=-1) for pay in (r, g)]
    b = 0.5 * mean[1][:, 0].min(axis=1).sum() if seed % 2 else thresholds.binding(P, mean[0], mean[1][None], np.eye(2)[0], 0.5)
    return nr.TabularCMDP(P, r, g[None], b, 0, name=f"twin-{seed}")


def worlds(text: str, first: int) -> list[Any]:
    """The worlds of a family: one, or one for each seed."""
    seeds = range(first, first + WORLDS)
    if text == "twin":
        return [twin(seed) for seed in seeds]
    return [nr.problems.load(text.format(seed)) for seed in (seeds if "{}" in text else [0])]


def interval(hits: int, n: int) -> tuple[float, float]:
    """The share that so many hits of n may stand for, by Clopper and Pearson."""
    low = 0.0 if hits == 0 else float(beta.ppf(0.025, hits, n - hits + 1))
    return low, 1.0 if hits == n else float(beta.ppf(0.975, hits + 1, n - hits))


def play(family: str, first: int, episodes: int, trials: int, given: dict[str, Any]) -> dict[str, Any]:
    """One row: every world of a family, each with so many trials.

    Args:
        family: its name.
        first: the first seed.
        episodes: K.
        trials: of each world.
        given: parameters of the learner.
    """
    text, own = FAMILIES[family]
    sums, hits, seconds, home = [], [], 0.0, worlds(text, first)
    for problem in home:
        result = nr.run(problem, episodes=episodes, trials=trials, seed=3, progress=False, **own | given)
        sums.append((result.hard_regret + result.hard_violation)[:, -1])
        hits.append(result.stuck)
        seconds += result.seconds
    n = len(home) * trials
    low, high = interval(round(float(np.mean(hits)) * n), n)
    return {
        "family": family, "worlds": len(home), "trials": n, "episodes": episodes, "sum": round(float(np.mean(sums)), 1),
        "stuck": round(float(np.mean(hits)), 4), "low": round(low, 4), "high": round(high, 4),
        "us an episode": round(seconds / n / episodes * 1e6, 2),
    }  # fmt: skip


def keep(file: Path, row: dict[str, str]) -> None:
    """Write a row into a file, in the place of an older one of the same set, parameters, family and length."""

    def key(one: dict[str, str]) -> tuple[str, ...]:
        return one["set"], one["given"], one["family"], one["episodes"]

    rows = []
    if file.exists():
        with file.open(newline="", encoding="utf-8") as old:
            rows = [one for one in csv.DictReader(old) if key(one) != key(row)]
    with file.open("w", newline="", encoding="utf-8") as new:
        writer = csv.DictWriter(new, row)
        writer.writeheader()
        writer.writerows(sorted([*rows, row], key=key))


def main(arguments: Sequence[str] | None = None) -> None:
    """Play the families and print a line for each as it is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=SETS, default="dev")
    parser.add_argument("--only", nargs="*", default=[""], help="words of the families to play")
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--given", nargs="*", default=[], help="parameters of the learner, name=value")
    parser.add_argument("--csv", type=Path, help="add the rows to this file")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    given = {name: float(value) if value[0].isdigit() else value for name, value in (one.split("=") for one in asked.given)}
    for family in FAMILIES:
        if any(word in family for word in asked.only):
            row = {"set": asked.set, "given": " ".join(asked.given)}
            row |= play(family, SETS[asked.set], asked.episodes, asked.trials, given)
            print("  ".join(f"{value!s:>8}" for value in row.values()), flush=True)
            if asked.csv:
                keep(asked.csv, {name: str(value) for name, value in row.items() if name != "us an episode"})


if __name__ == "__main__":
    main()
