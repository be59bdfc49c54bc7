"""How a learner does: totals of recent episodes against their limits, prices, plans, quarantine; for pages and metrics."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from noregret.live import schema
from noregret.live.errors import StorageError
from noregret.metrics import mean_interval

if TYPE_CHECKING:
    from noregret.live.live import Live

#: Episodes whose means are told, and plans whose prices are shown.
WINDOW, PRICES = 200, 100


def interval(values: list[float]) -> list[float | None]:
    """[low, mean, high] of a mean, with 95%; the ends are None where there is too little to say."""
    if not values:
        return [None, None, None]
    if len(values) < 2:
        return [None, values[0], None]
    found = mean_interval(np.array(values))
    return [float(found.low), float(found.mean), float(found.high)]


def status(live: Live) -> dict[str, Any]:
    """What :meth:`noregret.Live.status` tells."""
    try:
        held: int | None = len(live.quarantine())  # and all that was heard is in the database then
    except StorageError:
        held = None
    e, lessons = schema.episodes.c, schema.lessons.c
    recent = sa.select(e.name, e.ended, e.body, e.source).where(e.status == "complete", e.source != "log")
    number = sa.select(sa.func.count()).select_from(schema.episodes)
    planned = sa.select(lessons.body).where(lessons.kind == "plan").order_by(lessons.rank.desc()).limit(PRICES)
    with schema.reading(live.log.engine) as tx:
        rows = tx.execute(recent.order_by(e.done.desc()).limit(WINDOW)).all()[::-1]
        by_status = {
            each: tx.execute(number.where(e.status == each)).scalar() for each in ("open", "complete", "dropped", "pruned")
        }
        learned = tx.execute(number.where(e.rank.is_not(None))).scalar()
        prices = [json.loads(body) for body in tx.execute(planned).scalars()][::-1]
    bodies = [json.loads(row.body) for row in rows]
    plan, desk = live.desk.plans.newest, live.desk
    return {
        "at": time.time(), "horizon": live.spec.horizon, "mind": live.spec.learner,
        "window": len(rows), "reward": interval([body["r"] for body in bodies]),
        "limits": [_limit(live, name, [body["c"][i] for body in bodies]) for i, name in enumerate(live.spec.names)],
        "explored": _mean(bodies, "explored"), "fallback": _mean(bodies, "fallback"), "taken": _mean(bodies, "taken"),
        "plan": {
            "version": plan.version, "age": plan.age if plan.version else None, "episodes": plan.facts.get("episodes", 0),
            "price": dict(zip(live.spec.names, plan.facts.get("price", [0.0] * len(live.spec.names)), strict=True)),
            "kept": live.versions()[-live.keep :], "pinned": desk.controls.values["pinned"],
        },
        "quarantine": {"held": held, "share": desk.guard.share, "alarm": desk.guard.alarmed},
        "switch": bool(desk.controls.values["fallback"]), "has_fallback": desk.has_fallback,
        "episodes": by_status | {"learned": learned}, "counts": dict(desk.counts), "trouble": live.log.trouble,
        "series": {
            "ended": [row.ended for row in rows], "reward": [body["r"] for body in bodies],
            "totals": [[body["c"][i] for body in bodies] for i in range(len(live.spec.names))],
            "prices": [{"at": each.get("at"), "version": each["version"], "price": each.get("price")} for each in prices],
        },
    }  # fmt: skip


def _limit(live: Live, name: str, totals: list[float]) -> dict[str, Any]:
    limit, costs, found = live.limits[name], live.spec.costs, interval(totals)
    low, mean, high = found
    met = None if mean is None else (mean <= limit if costs else mean >= limit)
    sure = low is not None and high is not None and (low > limit if costs else high < limit)
    return {"name": name, "limit": limit, "costs": costs, "total": found, "met": met, "surely_missed": bool(sure)}


def _mean(bodies: list[dict[str, Any]], name: str) -> float | None:
    return sum(body[name] for body in bodies) / len(bodies) if bodies else None


def prometheus(statuses: Mapping[str, dict[str, Any]]) -> str:
    """The figures of learners by name, as text for Prometheus: every metric once, with all learners."""
    lines: list[str] = []

    def put(what: str, kind: str, help: str, values: Callable[[dict[str, Any]], list[tuple[dict[str, str], Any]]]) -> None:
        lines.extend([f"# HELP noregret_{what} {help}", f"# TYPE noregret_{what} {kind}"])
        for name, status in statuses.items():
            for labels, value in values(status):
                if value is not None:
                    inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in {"learner": name, **labels}.items())
                    lines.append(f"noregret_{what}{{{inside}}} {float(value):.17g}")

    def put_one(what: str, kind: str, help: str, value: Callable[[dict[str, Any]], Any]) -> None:
        put(what, kind, help, lambda s: [({}, value(s))])

    def put_each(what: str, help: str, value: Callable[[dict[str, Any]], Any]) -> None:
        put(what, "gauge", help, lambda s: [({"constraint": each["name"]}, value(each)) for each in s["limits"]])

    for key, help in (
        ("decisions", "Decisions made."), ("repeated", "Decisions asked for again."), ("reports", "Reports counted."),
        ("late", "Reports that came after the end of their episode."), ("quarantined", "Reports held back."),
        ("ends", "Ends heard."),
    ):  # fmt: skip
        put_one(f"{key}_total", "counter", help, lambda s, key=key: s["counts"][key])  # type: ignore[misc]
    put(
        "episodes",
        "gauge",
        "Episodes by what became of them.",
        lambda s: [({"status": k}, n) for k, n in s["episodes"].items()],
    )
    put_one("quarantine", "gauge", "Reports in quarantine now.", lambda s: s["quarantine"]["held"])
    put_one("quarantine_share", "gauge", "Share of the last reports that was held back.", lambda s: s["quarantine"]["share"])
    put_one("quarantine_alarm", "gauge", "Whether that is too much.", lambda s: s["quarantine"]["alarm"])
    put_one("plan_version", "gauge", "The newest plan.", lambda s: s["plan"]["version"])
    put_one("plan_age_seconds", "gauge", "Its age.", lambda s: s["plan"]["age"])
    put_one("fallback_on", "gauge", "Whether the fallback is switched on.", lambda s: s["switch"])
    put_one("fallback_share", "gauge", "Share of steps of recent episodes that the fallback decided.", lambda s: s["fallback"])
    put_one("explored_share", "gauge", "Share of steps of recent episodes that explored.", lambda s: s["explored"])
    put_one("storage_trouble", "gauge", "Whether the database takes nothing.", lambda s: s["trouble"] is not None)
    put_one("reward_mean", "gauge", "Mean total reward of recent episodes.", lambda s: s["reward"][1])
    put_each("total_mean", "Mean total of recent episodes.", lambda each: each["total"][1])
    put_each("limit", "What it is held to.", lambda each: each["limit"])
    put_each("limit_met", "Whether the mean meets it.", lambda each: each["met"])
    put(
        "price",
        "gauge",
        "What a unit of the total is worth in reward.",
        lambda s: [({"constraint": n}, p) for n, p in s["plan"]["price"].items()],
    )
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
