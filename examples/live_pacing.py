"""Budget pacing of advertisements: conversions are known two days later, and the process is killed in the middle.

A day has 12 hours; each hour a bid is chosen. What it spends counts against the day's budget; what it earns is reported when
two more days have passed. After the kill the day is played again from its start: questions that were asked have the same
answers, and reports that were heard count once.

python examples/live_pacing.py [--days 80]
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

HOURS, BUDGET, LATE = 12, 6.0, 2


def play(live: nr.Live, day: int, crash: bool = False) -> list[tuple[str, float, float]]:
    """A day; returns what its decisions bring. The demand of an hour follows from day and hour alone."""
    told = []
    for hour in range(HOURS):
        chance = np.random.default_rng([11, day, hour])
        demand = int(chance.integers(4))  # what is seen: how much is asked for
        d = live.decide(demand, day, hour)
        spent = 0.3 * d.action * (0.5 + chance.random())
        told.append((d.id, float(chance.poisson(0.2 * d.action * (1 + demand))), spent))
        if crash and hour == HOURS // 2:
            os.kill(os.getpid(), signal.SIGKILL)
    live.end(day, observation=0)
    return told


def run(place: Path, days: int, crash_on: int | None = None) -> dict[str, Any]:
    """Go on with the days that are not complete yet."""
    with nr.Live.open(
        place, observations=Discrete(4), actions=4, horizon=HOURS, limit={"spent": BUDGET}, planner=None, sync="reports"
    ) as live:
        began = int(live.status()["episodes"]["complete"])
        waiting = []
        for day in range(began, days):
            live.plan()
            waiting.append(play(live, day, crash=day == crash_on))
            if len(waiting) > LATE:
                for id, conversions, spent in waiting.pop(0):
                    live.report(id, conversions, {"spent": spent})
        for told in waiting:
            for id, conversions, spent in told:
                live.report(id, conversions, {"spent": spent})
        live.plan()
        live.log.flush()
        return live.status()


def main(days: int = 80) -> dict[str, Any]:
    """Half of the days in a process that kills itself, the rest here."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "pacing.db"
        line = [sys.executable, __file__, "--days", str(days), "--place", str(place), "--crash-on", str(days // 2)]
        assert subprocess.run(line, check=False).returncode == -signal.SIGKILL
        found = run(place, days)
    spent = found["limits"][0]
    print(f"{found['episodes']['complete']} days, {found['episodes']['open']} open, {found['plan']['version']} plans")
    print(f"spent a day: {spent['total'][1]:.2f}, at most {spent['limit']:g}; conversions {found['reward'][1]:.2f}")
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=80)
    parser.add_argument("--place", type=Path, help="of the database; a new one by default")
    parser.add_argument("--crash-on", type=int, help="the day on which the process kills itself")
    given = parser.parse_args()
    main(given.days) if given.place is None else run(given.place, given.days, given.crash_on)
