"""A shop orders goods every day and plans on Sundays; the shop's process is killed in the middle of a week.

What does not fit the shelf any more is thrown away, and only so much of it is allowed a week. An abandoned week is closed by
``expire``.

python examples/live_inventory.py [--weeks 180]
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

import noregret as nr

DAYS, SHELF, WASTE = 7, 8, 2.0


def week(live: nr.Live, k: int, crash: bool = False) -> None:
    """A week; the demand of a day follows from week and day alone, so a week can be played again."""
    stock = 4
    for day in range(DAYS):
        d = live.decide(stock, f"week-{k}", day)
        ordered, demand = d.action, int(np.random.default_rng([5, k, day]).poisson(2.0))
        wasted = max(stock + ordered - SHELF, 0)
        stock = min(stock + ordered, SHELF)
        sold = min(stock, demand)
        if crash and day == DAYS // 2:
            os.kill(os.getpid(), signal.SIGKILL)
        live.report(d.id, sold - 0.1 * ordered, {"waste": float(wasted) + 0.1 * (stock - sold)})
        stock -= sold
    live.end(f"week-{k}", observation=stock)


def run(place: Path, weeks: int, crash_on: int | None = None) -> dict[str, Any]:
    """Go on with the weeks that are not complete yet."""
    with nr.Live.open(
        place, observations=Discrete(SHELF + 1), actions=5, horizon=DAYS, limit={"waste": WASTE}, planner=None, fallback=2
    ) as live:
        if crash_on is not None:
            live.decide(3, "forgotten", 0)  # a week that nobody goes on with
        for k in range(int(live.status()["episodes"]["complete"]), weeks):
            week(live, k, crash=k == crash_on)
            live.plan()
        if crash_on is None:
            assert live.expire(older_than=0).dropped == ("forgotten",)
        return live.status()


def main(weeks: int = 180) -> dict[str, Any]:
    """Half of the weeks in a process that kills itself, the rest here."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "inventory.db"
        line = [sys.executable, __file__, "--weeks", str(weeks), "--place", str(place), "--crash-on", str(weeks // 2)]
        assert subprocess.run(line, check=False).returncode == -signal.SIGKILL
        found = run(place, weeks)
    waste = found["limits"][0]
    print(f"{found['episodes']['complete']} weeks, {found['episodes']['dropped']} dropped, {found['plan']['version']} plans")
    print(f"waste a week: {waste['total'][1]:.2f}, at most {waste['limit']:g}; earned {found['reward'][1]:.2f}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=180)
    parser.add_argument("--place", type=Path, help="of the database; a new one by default")
    parser.add_argument("--crash-on", type=int, help="the week in which the process kills itself")
    given = parser.parse_args()
    main(given.weeks) if given.place is None else run(given.place, given.weeks, given.crash_on)
