"""Algorithm 1 where what a step pays varies: mean loss, share of stuck trials, time of an episode, by family of worlds.

    python -m benchmarks.noise [--set dev|validation] [--only WORD ...] [--trials 40] [--episodes 10000] [--given NAME=VALUE]
    python -m benchmarks.noise --set long --csv benchmarks/noise.csv [--figure docs/noise.png]
    python -m benchmarks.noise --time

Rules were chosen on seeds below 500 (``dev``); seeds from 500 to 999 are for looking once (``validation``). No seed from 1000
on is used. A trial is *stuck* as :func:`noregret.metrics.stuck` says. The interval is that of Clopper and Pearson, at 95%. With
``--csv FILE`` the rows go into a file, each in the place of the one of the same set, parameters, family and length.

``long`` plays the ten bandits that bind of ``validation``, 20 trials of each, in runs of 10⁴, 10⁵ and 10⁶ episodes. With
``--figure FILE`` the share of stuck trials is drawn by length, from the rows of ``long`` in the file. ``--time`` measures what
the bonus for noise costs: trials with it and with ``noise_bonus=0`` take turns in one process.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import beta

import noregret as nr
from noregret.kernels.worlds.world import compile_world
from noregret.problems import thresholds
from noregret.runs.trial import TableTrial
from noregret.store import RunKey

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
SETS, WORLDS = {"dev": 0, "validation": 500, "long": 500}, 10
#: The family of the long runs, their lengths, and the trials of each world.
LONG, LENGTHS, FEW = "bandits, binding", (10_000, 100_000, 1_000_000), 20
#: What is timed: where payments vary, and where they do not.
TIMED = [
    "bandit:seed=0", "random:seed=0,noise=bernoulli", "random:seed=0,m=2,noise=bernoulli", "job-scheduling:noise=bernoulli",
    "inventory:noise=bernoulli", "queue:noise=bernoulli", "linear:seed=0,noise=bernoulli",
    "bandit:seed=0,noise=none", "random:seed=0", "random:seed=0,m=2", "inventory", "queue", "linear:seed=0",
]  # fmt: skip


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


def cost(text: str, episodes: int = 20_000, rounds: int = 5) -> tuple[float, float]:
    """Microseconds of an episode with the bonus for noise and without; the least of some rounds, in which both take turns.

    Args:
        text: the problem.
        episodes: of each turn.
        rounds: turns of each, after one that compiles.
    """
    problem, least = nr.problems.load(text), [np.inf, np.inf]
    for turn in range(rounds + 1):
        for which, given in enumerate(({}, {"noise_bonus": 0.0})):
            learner = nr.learners.make("primal-dual-lsvi", problem.spec, episodes=episodes, **given)
            key = RunKey(problem.name, learner.name, episodes, turn, record_every=episodes)
            one = TableTrial(problem, learner, key, 0.0, compile_world(problem))
            one.advance(0)
            begin = time.thread_time()
            one.advance(episodes)
            if turn > 0:
                least[which] = min(least[which], (time.thread_time() - begin) / episodes * 1e6)
    return least[0], least[1]


def draw(file: Path, figure: Path) -> None:
    """The share of stuck trials by length of the run, with its interval, of every parameter that the long runs were given.

    Args:
        file: has the rows.
        figure: where the picture goes.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with file.open(newline="", encoding="utf-8") as old:
        rows = [row for row in csv.DictReader(old) if row["set"] == "long"]
    picture, axes = plt.subplots(figsize=(5.5, 3.4), layout="constrained")
    for number, given in enumerate(sorted({row["given"] for row in rows})):
        own = sorted((row for row in rows if row["given"] == given), key=lambda row: int(row["episodes"]))
        low, share, high = (np.array([float(row[name]) for row in own]) for name in ("low", "stuck", "high"))
        lengths = np.array([float(row["episodes"]) for row in own]) * 1.06**number  # beside one another
        axes.errorbar(lengths, share, (share - low, high - share), marker="o", capsize=3, label=given or "practical")
    axes.set(xscale="log", xlabel="episodes K of the run", ylabel="share of stuck trials", ylim=(-0.005, None))
    axes.set_title(f"Ten {LONG.split(',')[0]} that bind, {rows[0]['trials']} trials, 95% intervals", fontsize=10)
    picture.legend(loc="outside lower center", ncols=2, frameon=False)
    picture.savefig(figure, dpi=110)
    plt.close(picture)


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
    parser.add_argument("--trials", type=int, help="40, or 20 of long")
    parser.add_argument("--episodes", type=int, nargs="+", help="10,000, or three lengths of long")
    parser.add_argument("--given", nargs="*", default=[], help="parameters of the learner, name=value")
    parser.add_argument("--csv", type=Path, help="add the rows to this file")
    parser.add_argument("--figure", type=Path, help="draw the long runs of the file")
    parser.add_argument("--time", action="store_true", help="measure what the bonus costs, and nothing else")
    asked = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if asked.time:
        for text in TIMED:
            ours, without = cost(text)
            print(f"| `{text}` | {ours:.2f} | {without:.2f} | {ours / without:.2f} |", flush=True)
        return
    long = asked.set == "long"
    given = {name: float(value) if value[0].isdigit() else value for name, value in (one.split("=") for one in asked.given)}
    families = [LONG] if long else [family for family in FAMILIES if any(word in family for word in asked.only)]
    for family in families:
        for episodes in asked.episodes or (LENGTHS if long else LENGTHS[:1]):
            row = {"set": asked.set, "given": " ".join(asked.given)}
            row |= play(family, SETS[asked.set], episodes, asked.trials or (FEW if long else 40), given)
            print("  ".join(f"{value!s:>8}" for value in row.values()), flush=True)
            if asked.csv:
                keep(asked.csv, {name: str(value) for name, value in row.items() if name != "us an episode"})
    if asked.figure:
        draw(asked.csv, asked.figure)


if __name__ == "__main__":
    main()
