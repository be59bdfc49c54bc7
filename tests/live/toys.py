"""A small world and helpers for tests of the live learner."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from noregret.live import Live

H, A = 4, 3
SPEC: dict[str, Any] = {"observations": ["load", "lag"], "actions": ["low", "mid", "high"], "horizon": H, "limit": {"slo": 2.0}}
TABLE: dict[str, Any] = {"observations": Discrete(5), "actions": 2, "horizon": 3, "limit": {"slo": 1.0}}


def opened(path: Any, **more: Any) -> Live:
    """A learner whose plans are made when the test says so."""
    return Live.open(path, **{"planner": None, "sync": "none"} | SPEC | more)


def seen(k: int, h: int) -> list[float]:
    """What is seen at a step."""
    return [float(np.sin(k + h)), 0.1 * h]


def play(live: Live, k: int, steps: int = H, **end: Any) -> list[Any]:
    """One episode; the middle and the high action cost something now and then."""
    made = []
    for h in range(steps):
        d = live.decide(seen(k, h), f"e{k}", h)
        a = live.spec.number(d.action, h)
        live.report(d.id, a * 0.5 + 0.1 * h, {"slo": float(a > 0 and (k + h) % 2 == 0)})
        made.append(d)
    live.end(f"e{k}", **{"terminated": False, "observation": seen(k, steps)} | end)
    return made


def mind(live: Live) -> Any:
    """The mind of a learner that plans in this process."""
    live.plan()
    assert live._asked.leader is not None
    return live._asked.leader.mind


def log(live: Live) -> list[Any]:
    """All events, in order."""
    import sqlalchemy as sa

    from noregret.live import schema

    live.log.flush()
    with schema.reading(live.log.engine) as tx:
        return list(tx.execute(sa.select(schema.events.c["kind", "episode", "step", "body"]).order_by(schema.events.c.seq)))
