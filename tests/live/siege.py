"""Kill servers and planners under load: ``python -m tests.live.siege KILLS SEED URL SERVERS``; a URL, or the path of a file.

Eight clients play episodes through HTTP, try again what fails, and write down what they saw and said. Their record is the
truth: the log must hold all of it and nothing else, and the twin is a mind that was told these episodes, in the order of the
lessons, and that nobody ever disturbed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa
import uvicorn

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.live import Live, schema
from noregret.live.client import Client
from noregret.live.leader import all_learned
from noregret.live.server.app import build
from noregret.live.spec import LiveSpec
from noregret.store.identity import content_hash
from tests.live.crash import SPEC, STATES, H, state

#: Clients at once, and the longest they try the same again, in seconds.
CLIENTS, PATIENCE = 8, 120.0


def listening() -> socket.socket:
    """A socket on a free port of loopback; what connects while nobody answers waits."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(256)
    return listener


def forked(listener: socket.socket, made: Callable[[], Any]) -> int:
    """Fork a process that serves an application on a socket, and makes it there."""
    child = os.fork()
    if not child:
        try:
            os.setsid()
            uvicorn.Server(uvicorn.Config(made(), log_level="critical", access_log=False)).run([listener])
        finally:
            os._exit(0)
    return child


def serve(listener: socket.socket, place: str, spec: dict[str, Any]) -> int:
    """Fork a server of one learner."""
    return forked(listener, lambda: build({"gate": Live.open(place, **spec)}))


def play(urls: list[str], stop: Path, record: Path) -> None:
    """In a process of its own: clients that play until they are told to stop, and then write down what was acknowledged."""

    def one(i: int) -> list[dict[str, Any]]:
        client, chance, out = Client(urls[i % len(urls)], "gate", patience=PATIENCE), random.Random(i), []
        while not stop.exists():
            played: dict[str, Any] = {
                "name": f"t{i}-{len(out)}",
                "x": [chance.randrange(STATES)],
                "a": [],
                "v": [],
                "r": [],
                "c": [],
            }
            ids = []
            for h in range(H):
                d = client.decide(played["x"][-1], played["name"], h)
                ids.append(d.id)
                played["a"].append(d.action)
                played["v"].append(d.plan)
                played["r"].append(round(chance.random() * d.action, 6))
                played["c"].append(float(chance.random() < 0.3 * d.action))
                played["x"].append((played["x"][-1] + d.action + chance.randrange(2)) % STATES)
            client.end(played["name"], observation=played["x"][-1])
            order = list(range(H))
            chance.shuffle(order)
            for h in order:
                client.report(ids[h], played["r"][h], {"spent": played["c"][h]})
                if chance.random() < 0.1:
                    assert client.report(ids[h], played["r"][h], {"spent": played["c"][h]}).status == "repeated"
            out.append(played)
        return out

    with ThreadPoolExecutor(CLIENTS) as pool:
        record.write_text(json.dumps([played for each in pool.map(one, range(CLIENTS)) for played in each]))


def below(pid: int) -> list[int]:
    """The children of a process."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(each) for each in found.split()]


def siege(place: str, kills: int, seed: int, servers: int) -> dict[str, Any]:
    """Kill so many times, then say what was acknowledged, lost, counted twice or learned wrongly."""
    spec, chance, died = SPEC | {"planner": "process"}, random.Random(seed), {"server": 0, "planner": 0}
    listeners = [listening() for _ in range(servers)]
    children = [serve(listener, place, spec) for listener in listeners]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        stop, record = Path(folder) / "stop", Path(folder) / "record.json"
        clients = os.fork()
        if not clients:
            try:
                play([f"http://127.0.0.1:{each.getsockname()[1]}" for each in listeners], stop, record)
            finally:
                os._exit(0)
        for victim in chance.sample(["planner", "planner", "server"] * kills, kills):
            time.sleep(chance.uniform(0.1, 0.8))
            i = chance.randrange(servers)
            if victim == "server":
                os.kill(children[i], signal.SIGKILL)
                os.waitpid(children[i], 0)
                children[i] = serve(listeners[i], place, spec)
            else:
                while not (planners := [pid for supervisor in below(children[i]) for pid in below(supervisor)]):
                    time.sleep(0.1)  # it begins
                with suppress(ProcessLookupError):
                    os.kill(planners[0], signal.SIGKILL)
            died[victim] += 1
        stop.touch()
        os.waitpid(clients, 0)
        played = json.loads(record.read_text())
    engine = schema.connect(schema.url_of(place))
    while not all_learned(engine) and time.monotonic() - began < 900:
        time.sleep(0.2)
    engine.dispose()
    for child in children:
        os.kill(child, signal.SIGTERM)
        os.waitpid(child, 0)
    return {"kills": died, "seconds": round(time.monotonic() - began)} | judged(place, played)


def judged(place: str, played: list[dict[str, Any]]) -> dict[str, Any]:
    """Compare the log and the learner with what clients saw and said."""
    found, said = state(place), {}
    for each in played:
        for h in range(H):
            said[f"decision|{each['name']}|{h}"] = (each["x"][h], each["a"][h], each["v"][h])
            said[f"report|{each['name']}|{h}"] = (each["r"][h], [each["c"][h]])
        said[f"end|{each['name']}|-1"] = (each["x"][H],)
    parts = {"decision": "xav", "report": "rc", "end": "x"}
    lost = [key for key in said if key not in found["keys"]]
    other = [
        key for key, value in said.items()
        if key in found["keys"] and tuple(json.loads(found["keys"][key])[p] for p in parts[key.partition("|")[0]]) != value
    ]  # fmt: skip
    engine = schema.connect(schema.url_of(place))
    with schema.reading(engine) as tx:
        lessons = tx.execute(sa.select(schema.lessons).order_by(schema.lessons.c.rank)).all()
    engine.dispose()
    spec = {key: value for key, value in SPEC.items() if key != "planner"}
    mind, by_name = LiveSpec.make(**spec).mind(), {each["name"]: each for each in played}
    for row in lessons:
        if row.kind == "plan":
            mind.ready()
        elif row.episode in by_name:
            one = by_name[row.episode]
            mind.learn(
                PlayedEpisode(
                    np.array(one["x"]), np.array(one["a"]), np.array(one["r"]), np.array(one["c"])[:, None], False, None
                ), json.loads(row.body)["counts"],
            )  # fmt: skip
    twin = content_hash({name: np.asarray(value) for name, value in mind.arrays().items()})
    unknown = {row.episode for row in lessons if row.kind == "learn"} - set(by_name)
    return {
        "acknowledged": len(said), "lost": lost[:5], "answered_otherwise": other[:5], "counted_twice": found["twice"],
        "episodes": len(played), "learned": found["learned"], "learned_that_nobody_played": sorted(unknown)[:5],
        "plans": sum(row.kind == "plan" for row in lessons), "same_mind_as_the_twin": twin == found["mind"],
        "open": sum(key.startswith("decision") for key in found["keys"]) - H * len(played),
    }  # fmt: skip


if __name__ == "__main__":
    kills, seed, place, servers = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    print(json.dumps(siege(place, kills, seed, servers)), flush=True)
