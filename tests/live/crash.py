"""Kill the process that holds a learner again and again: ``python -m tests.live.crash KILLS SEED EPISODES PLACES``.

The client lives here and outlives the kills. It asks one thing after the other, remembers what was acknowledged, and asks again
what was not. What it asks follows from the seed and from the answers, so without kills it asks the same: the twin.
This process makes everything ready and forks a child for each sitting. It has no threads of its own, so a fork is a copy.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from noregret.live import Live
from noregret.live.leader import Leader
from noregret.live.planner import lead, spec_of
from noregret.store.identity import content_hash

H, STATES, ACTIONS = 5, 6, 3
SPEC: dict[str, Any] = {
    "observations": Discrete(STATES), "actions": ACTIONS, "horizon": H, "limit": {"spent": 3.0}, "seed": 5, "planner": None,
}  # fmt: skip


class DiedError(Exception):
    """The child is gone."""


class Child:
    """A process with the learner open, asked through a pipe."""

    def __init__(self, url: str, **options: Any) -> None:
        down, up = os.pipe(), os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(down[1]), os.close(up[0])
            serve(url, os.fdopen(down[0]), os.fdopen(up[1], "w"), options)
            os._exit(0)
        os.close(down[0]), os.close(up[1])
        self.to, self.back = os.fdopen(down[1], "w"), os.fdopen(up[0])

    def ask(self, what: list[Any], kill_after: float | None = None) -> Any:
        """Ask, and kill the child so many seconds later, if told to."""
        try:
            self.to.write(json.dumps(what) + "\n")
            self.to.flush()
        except BrokenPipeError:
            raise DiedError from None
        if kill_after is not None:
            time.sleep(kill_after)
            os.kill(self.pid, signal.SIGKILL)
        line = self.back.readline()
        if not line.endswith("\n"):
            raise DiedError
        return json.loads(line)

    def gone(self) -> None:
        """Wait for its end."""
        for pipe in (self.to, self.back):
            try:
                pipe.close()
            except BrokenPipeError:
                pass
        os.waitpid(self.pid, 0)


def serve(url: str, asked: Any, answered: Any, options: dict[str, Any]) -> None:
    """In the child: open the learner and do what is asked."""
    live = Live.open(url, **SPEC | options)
    for line in asked:
        kind, *rest = json.loads(line)
        if kind == "decide":
            d = live.decide(*rest)
            answer: Any = [d.id, d.action, d.plan, d.probability]
        elif kind == "report":
            answer = live.report(*rest).status
        elif kind == "end":
            answer = live.end(rest[0], terminated=rest[1], observation=rest[2]).status
        else:
            answer = live.plan()
        answered.write(json.dumps(answer) + "\n")
        answered.flush()
    live.close()


class Client:
    """Plays episodes side by side; reports come late, in another order, and now and then twice."""

    def __init__(self, url: str, kills: int, seed: int, options: dict[str, Any] | None = None) -> None:
        self.url, self.kills, self.options = url, kills, options or {}
        self.world, self.fate = random.Random(seed), random.Random(seed + 1)
        self.child: Child | None = None
        self.acknowledged: dict[tuple[Any, ...], Any] = {}
        self.wrong: list[str] = []
        self.died = 0

    def ask(self, *what: Any) -> Any:
        """Ask until it is answered; an answer is the same however often the same is asked."""
        while True:
            if self.child is None:
                self.child = Child(self.url, **self.options)
            kill = None
            if self.died < self.kills and self.fate.random() < 0.08:
                kill, self.died = self.fate.random() ** 2 * (0.05 if what[0] == "plan" else 0.004), self.died + 1
            try:
                answer = self.child.ask(list(what), kill)
            except DiedError:
                answer = None
            if kill is not None or answer is None:
                self.child.gone()
                self.child = None
            if answer is not None:
                self._check(what, answer)
                return answer

    def _check(self, what: tuple[Any, ...], answer: Any) -> None:
        key = tuple(map(str, what))
        if what[0] == "decide" and self.acknowledged.setdefault(key, answer) != answer:
            self.wrong.append(f"{what}: {self.acknowledged[key]}, then {answer}")
        elif what[0] != "plan":
            self.acknowledged.setdefault(key, answer)

    def play(self, episodes: int, beside: int = 4) -> None:
        """Play so many episodes, some side by side."""
        flying: list[dict[str, Any]] = []
        begun = 0
        while begun < episodes or flying:
            if begun < episodes and len(flying) < beside:
                flying.append({"name": begun, "x": self.world.randrange(STATES), "h": 0, "told": [], "over": False})
                begun += 1
                if begun % 3 == 0:
                    self.ask("plan")
            one = self.world.choice(flying)
            if not one["over"]:
                self._step(one)
            if one["told"] and (one["over"] or self.world.random() < 0.5):
                report = one["told"].pop(self.world.randrange(len(one["told"])))
                self.ask(*report)
                if self.world.random() < 0.2:
                    assert self.ask(*report) == "repeated"
            if one["over"] and not one["told"]:
                flying.remove(one)
        self.ask("plan")

    def _step(self, one: dict[str, Any]) -> None:
        name, h, x = one["name"], one["h"], one["x"]
        id, action, *_ = self.ask("decide", x, name, h)
        if self.world.random() < 0.2:
            self.ask("decide", x, name, h)
        luck = self.world.random()
        one["told"].append(["report", id, round(action * luck, 6), {"spent": float(action > 0 and luck < 0.8)}])
        one["x"], one["h"] = (x + action + (luck < 0.3)) % STATES, h + 1
        ended = luck > 0.97
        if ended or one["h"] == H:
            self.ask("end", name, ended, one["x"])
            one["over"] = True

    def close(self) -> None:
        """Let the child end by itself."""
        if self.child is not None:
            self.child.gone()
            self.child = None


def state(url: str, fresh: bool = False) -> dict[str, Any]:
    """What the database adds up to: a hash of the learner and of the log, and how often each acknowledged key is there.

    ``fresh`` takes every lesson again from nothing, without any snapshot.
    """
    import sqlalchemy as sa

    from noregret.live import schema

    engine = schema.connect(schema.url_of(url))
    with engine.connect() as connection, schema.reading(connection):
        rows = connection.execute(
            sa.select(schema.events.c["kind", "episode", "step", "body"]).order_by(schema.events.c.seq)
        ).all()
        lessons = connection.execute(sa.select(schema.lessons.c["kind", "episode"]).order_by(schema.lessons.c.rank)).all()
    keys = {f"{kind}|{episode}|{step}": body for kind, episode, step, body in rows}
    with lead(engine, schema.url_of(url)) as connection:
        if fresh:
            with connection.begin():
                connection.execute(schema.snapshots.delete())
        leader = Leader(connection, spec_of(connection)[1], 10)
        mind = content_hash({name: np.asarray(value) for name, value in leader.mind.arrays().items()})
        plan = content_hash(leader.mind.plan())
    engine.dispose()
    learned = [episode for kind, episode in lessons if kind == "learn"]
    return {
        "events": len(rows), "keys": keys, "learned": len(learned), "twice": len(learned) - len(set(learned)),
        "order": learned, "mind": mind, "plan": plan,
    }  # fmt: skip


def lost(client: Client, found: dict[str, Any]) -> list[str]:
    """What was acknowledged and is not in the log as it was acknowledged."""
    out = []
    for what, answer in client.acknowledged.items():
        if what[0] == "decide":
            body = json.loads(found["keys"].get(f"decision|{what[2]}|{what[3]}", "null"))
            good = body is not None and body["a"] == answer[1] and body["v"] == answer[2]
        elif what[0] == "report":
            name, _, step = what[1].rpartition("/")
            body = json.loads(found["keys"].get(f"report|{name}|{step}", "null"))
            good = body is not None and str(body["r"]) == str(float(what[2]))
        else:
            good = f"end|{what[1]}|-1" in found["keys"]
        if not good:
            out.append(f"{what}: {answer}")
    return out


def compare(url: str, twin: str, kills: int, seed: int, episodes: int, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """Play with kills and without, and say how the two differ."""
    troubled, calm = Client(url, kills, seed, options), Client(twin, 0, seed, options)
    for client in (troubled, calm):
        client.play(episodes)
        client.close()
    a, b = state(url), state(twin)
    again = state(url, fresh=True)
    return {
        "kills": troubled.died, "acknowledged": len(troubled.acknowledged), "lost": lost(troubled, a), "wrong": troubled.wrong,
        "twice": a["twice"], "learned": a["learned"], "learned_by_the_twin": b["learned"],
        "same_log": sorted(a["keys"].items()) == sorted(b["keys"].items()) or _difference(a["keys"], b["keys"]),
        "same_order": a["order"] == b["order"], "same_mind": a["mind"] == b["mind"], "same_plan": a["plan"] == b["plan"],
        "same_from_nothing": again["mind"] == a["mind"],
    }  # fmt: skip


def _difference(a: dict[str, str], b: dict[str, str]) -> list[Any]:
    return [(key, a.get(key), b.get(key)) for key in sorted(a.keys() | b.keys()) if a.get(key) != b.get(key)][:5]


if __name__ == "__main__":
    kills, seed, episodes = map(int, sys.argv[1:4])
    for place, twin, options in json.loads(sys.argv[4]):
        print(json.dumps(compare(place, twin, kills, seed, episodes, options)), flush=True)
