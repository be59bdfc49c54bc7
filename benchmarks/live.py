"""The live learner measured: faults, load, delay, memory. ``python benchmarks/live.py [PART ...] [--kills N] [--seconds S]``.

Parts: delay, kills, postgres, server, load, http, memory; all of them by default. Prints JSON lines. Only loopback is used.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import gymnasium
import numpy as np
from fastapi import FastAPI
from gymnasium.spaces import Discrete
from tests.live import postgres as own
from tests.live.crash import compare
from tests.live.siege import forked, listening, serve, siege

import noregret as nr
from noregret.agent.episodes import seeds as draws
from noregret.live import Live
from noregret.live.server.models import AskDecision

H, ACTIONS = 60, 4


def said(part: str, **facts: Any) -> None:
    print(json.dumps({"part": part} | facts, default=str), flush=True)


def percentiles(seconds: list[float]) -> dict[str, float]:
    which = {"p50": 50, "p99": 99, "p99.9": 99.9, "max": 100}
    return {name: round(float(np.percentile(seconds, q)) * 1e3, 4) for name, q in which.items()}


# --- delay: regret on job scheduling when feedback comes late ----------------------------------------------------------


def delay(folder: Path, episodes: int = 400, seeds: int = 3) -> None:
    """Feedback of an episode comes when so many later ones have ended."""
    problem = nr.problems.load("job-scheduling")
    best, b = float(nr.solve(problem).value), float(problem.b[0])
    env = gymnasium.make("noregret/JobScheduling-v0")
    for late in (0, 1, 10, 100):
        regrets, lacks = [], []
        for seed in range(seeds):
            values: dict[int, tuple[float, float]] = {}
            regret = lack = 0.0
            waiting: list[list[tuple[str, float, float]]] = []
            with Live.open(
                folder / f"delay-{late}-{seed}.db", observations=env.observation_space, actions=env.action_space, horizon=10,
                threshold={"jobs": b}, seed=seed, planner=None, sync="none", learner="primal-dual-lsvi",
            ) as live:  # fmt: skip
                for k in range(episodes):
                    live.plan()
                    plan = live.desk.plan_in_use
                    if plan.version not in values:
                        policy = [[plan.policy.chances(h, np.asarray(x), None) for x in range(10)] for h in range(10)]
                        V_r, V_g = nr.evaluate(problem, np.array(policy))
                        values[plan.version] = float(V_r), float(np.ravel(V_g)[0])
                    regret, lack = regret + best - values[plan.version][0], lack + b - values[plan.version][1]
                    x, _ = env.reset(seed=draws(seed, 0, k, 10)[0])
                    told = []
                    for h in range(10):
                        d = live.decide(x, k, h)
                        x, reward, terminated, truncated, info = env.step(d.action)
                        told.append((d.id, float(reward), float(np.ravel(info["utility"])[0])))
                        if terminated or truncated:
                            break
                    live.end(k, terminated=terminated, observation=x)
                    waiting.append(told)
                    if len(waiting) > late:
                        for id, reward, utility in waiting.pop(0):
                            live.report(id, reward, {"jobs": utility})
            regrets.append(regret)
            lacks.append(max(lack, 0.0))
        said(
            "delay", episodes_late=late, episodes=episodes, regret=round(float(np.mean(regrets)), 1),
            regrets=np.round(regrets, 1).tolist(), violation=round(float(np.mean(lacks)), 1),
        )  # fmt: skip


# --- kills -------------------------------------------------------------------------------------------------------------


def kills(folder: Path, n: int) -> None:
    """The process that holds the learner, on SQLite, against a twin that nobody kills."""
    for sync in ("reports", "none"):
        began = time.time()
        found = compare(str(folder / f"{sync}.db"), str(folder / f"{sync}-twin.db"), n // 2, 11, n, {"sync": sync})
        said("kills, SQLite", sync=sync, seconds=round(time.time() - began), **found)


def postgres(folder: Path, n: int) -> None:
    """The same on PostgreSQL."""
    if own.programs() is None:
        said("kills, PostgreSQL", skipped="it is not installed")
        return
    with own.running() as url:
        began = time.time()
        found = compare(own.create(url, "killed"), own.create(url, "twin"), n, 12, n)
        said("kills, PostgreSQL", seconds=round(time.time() - began), **found)


def server(folder: Path, n: int) -> None:
    """Servers and planners killed under the load of eight clients, on SQLite and on PostgreSQL with two servers."""
    said("kills under load, SQLite", **siege(str(folder / "siege.db"), n // 2, 4, 1))
    if own.programs() is None:
        said("kills under load, PostgreSQL", skipped="it is not installed")
        return
    with own.running() as url:
        said("kills under load, PostgreSQL, two servers", **siege(url, n - n // 2, 5, 2))


# --- load --------------------------------------------------------------------------------------------------------------


def load(folder: Path, seconds: float) -> None:
    """Decisions in this process while another one plans: numbered observations, and vectors of three numbers."""
    for what, observations in (("numbers", Discrete(40)), ("vectors", 3)):
        chance = np.random.default_rng(0)
        X, R = chance.random((1 << 16, 3)), chance.random(1 << 16).tolist()
        seen = (X[:, 0] * 40).astype(int).tolist() if what == "numbers" else X.tolist()
        live = Live.open(
            folder / f"load-{what}.db", observations=observations, actions=ACTIONS, horizon=H, limit={"slo": 5.0}, sync="none"
        )
        flying, n, times, spent = [[k, 0] for k in range(16)], 0, [], 0.0
        began, first, k = time.perf_counter(), None, 16
        while first is None or time.perf_counter() - began < seconds:
            each = flying[n % 16]
            x = seen[n & 0xFFFF]
            c, a = time.thread_time(), time.perf_counter()
            d = live.decide(x, each[0], each[1])
            times.append(time.perf_counter() - a)
            spent, n = spent + time.thread_time() - c, n + 1
            luck = R[n & 0xFFFF]
            live.report(d.id, d.action * 0.3 + luck, {"slo": float(d.action > 1 and luck < 0.15)})
            each[1] += 1
            if each[1] == H:
                live.end(each[0], observation=x)
                each[:] = [k, 0]
                k += 1
            if first is None and live.desk.plans.newest.version:
                first, began, n, times, spent = live.desk.plans.newest.version, time.perf_counter(), 0, [], 0.0
        made = live.desk.plans.newest.version - first
        said(
            "load in process", observations=what, decisions=n, plans_made_meanwhile=made, a_second=round(n / sum(times)),
            a_second_of_cpu=round(n / spent), ms=percentiles(times), busy=os.getloadavg()[0],
        )  # fmt: skip
        live.close()


async def hammer(port: int, requests: list[bytes], connections: int) -> tuple[float, list[float], int]:
    """Send requests over keep-alive connections; returns requests a second, latencies, and how many had no answer 200."""
    times: list[float] = []
    bad = 0
    left = iter(requests)

    async def one() -> None:
        nonlocal bad
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in left:
            began = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(size)
            times.append(time.perf_counter() - began)
            bad += b" 200 " not in head[:20]
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(connections)))
    return len(times) / (time.perf_counter() - began), times, bad


def request(path: str, body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
    return head.encode() + data


def bare(listener: socket.socket) -> int:
    """Fork a FastAPI server with one endpoint that answers a decision without deciding."""

    async def decide(ask: Any) -> Any:
        return {"id": f"{ask.episode}/{ask.step}", "action": 1, "probability": 0.25, "probabilities": [0.25] * 4, "plan": 0}

    decide.__annotations__ = {"ask": AskDecision}
    app = FastAPI()
    app.post("/decide")(decide)
    return forked(listener, lambda: app)


def http(folder: Path, n: int = 6000) -> None:
    """Decisions over HTTP, in turns with a bare endpoint: eight connections."""
    listeners = [listening(), listening()]
    ports = [listener.getsockname()[1] for listener in listeners]
    spec = {"observations": Discrete(40), "actions": ACTIONS, "horizon": H, "limit": {"slo": 5.0}}
    children = [serve(listeners[0], str(folder / "http.db"), spec), bare(listeners[1])]
    time.sleep(3.0)
    chance = random.Random(0)
    try:
        rates, times, cpu = ({"decide": [], "bare": [], "report": []} for _ in range(3))
        bad = 0
        for turn in range(4):
            names = [f"h{turn}-{i}" for i in range(n // 20)]
            steps = [(name, h) for h in range(20) for name in names]  # neighbours in time are of different episodes
            asked = [{"observation": chance.randrange(40), "episode": name, "step": h} for name, h in steps]
            told = [{"decision": f"{name}/{h}", "reward": 1.0, "costs": {"slo": 0.0}} for name, h in steps]
            ends = [request("/v1/gate/end", {"episode": name, "terminated": True}) for name in names]
            for what, port, requests in (
                ("bare", ports[1], [request("/decide", body) for body in asked]),
                ("decide", ports[0], [request("/v1/gate/decide", body) for body in asked]),
                ("report", ports[0], [request("/v1/gate/report", body) for body in told]),
            ):
                pid = children[what == "bare"]
                before = spent(pid)
                rate, found, wrong = asyncio.run(hammer(port, requests, 8))
                if turn:  # the first warms up
                    cpu[what].append((spent(pid) - before) / len(requests) * 1e6)
                    rates[what].append(rate)
                    times[what] += found
                bad += wrong
            asyncio.run(hammer(ports[0], ends, 8))
        middle = {what: round(float(np.median(values))) for what, values in rates.items()}
        said(
            "load over HTTP", connections=8, a_second=middle, not_200=bad, busy=os.getloadavg()[0],
            ms={what: percentiles(found) for what, found in times.items()},
            server_cpu_us={what: round(float(np.median(values))) for what, values in cpu.items()},
            to_bare={what: round(middle[what] / middle["bare"], 3) for what in ("decide", "report")},
        )  # fmt: skip
    finally:
        for child in children:
            os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)


def spent(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(folder: Path, episodes: int = 20_000) -> None:
    """Resident memory of the process that decides, over many episodes."""

    def resident() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    found = {}
    with Live.open(
        folder / "memory.db", observations=Discrete(6), actions=3, horizon=5, limit={"spent": 3.0}, sync="none"
    ) as live:
        for k in range(episodes):
            for h in range(5):
                d = live.decide((k * 7 + h) % 6, k, h)
                live.report(d.id, 0.1 * d.action, {"spent": float(d.action > 1)})
            live.end(k, observation=0)
            if k + 1 == 1000:
                live.plan()  # the first plan loads compiled code
            if k + 1 in (1000, 2000, 5000, 10_000, 15_000, episodes):
                live.log.flush()
                found[k + 1] = round(resident(), 1)
        size = os.path.getsize(folder / "memory.db") / 2**20
    said("memory", megabytes=found, database_megabytes=round(size, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=[])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    n = given.kills
    with tempfile.TemporaryDirectory(prefix="noregret-live-") as made:
        folder = Path(made)
        parts = {
            "http": lambda: http(folder), "load": lambda: load(folder, given.seconds), "memory": lambda: memory(folder),
            "kills": lambda: kills(folder, n * 3 // 10), "postgres": lambda: postgres(folder, n // 5),
            "server": lambda: server(folder, n // 2), "delay": lambda: delay(folder),
        }  # fmt: skip
        for part in given.parts or parts:
            parts[part]()


if __name__ == "__main__":
    main()
