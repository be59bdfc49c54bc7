"""The one who learns and plans: its state is a function of the lessons, in their order.

A lesson is an episode learned, a plan made, or limits changed. Lessons are written down before they are taken, so whoever
takes over knows their order. A snapshot goes with each plan; opening loads the last one and takes the lessons after it again.
"""

from __future__ import annotations

import json
import logging
import time
from dataclasses import replace
from typing import Any

import numpy as np
import sqlalchemy as sa

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.errors import FileError
from noregret.live import pruning, schema
from noregret.live.events import Event, apply
from noregret.live.plans import pack, unpack
from noregret.live.spec import LiveSpec
from noregret.problems.base import Array
from noregret.store.identity import content_hash

logger = logging.getLogger("noregret.live")

#: Episodes learned between two plans, at most; snapshots kept; lessons between two snapshots, at most.
GROUP, SNAPSHOTS, SPACING = 200, 2, 500
#: Seconds for which every plan is kept, however many there are: a process that decides may not have seen the newer ones yet.
GRACE = 60.0


def all_learned(engine: sa.Engine) -> bool:
    """Whether every complete episode and every wish is learned, and a plan was made after the last one."""
    e, w, lessons = schema.episodes.c, schema.wishes.c, schema.lessons.c
    waiting = sa.select(sa.func.count()).select_from(schema.episodes).where(e.status == "complete", e.rank.is_(None))
    wished = sa.select(sa.func.count()).select_from(schema.wishes).where(w.rank.is_(None))
    last = sa.select(lessons.kind).order_by(lessons.rank.desc()).limit(1)
    with schema.reading(engine) as tx:
        left = tx.execute(waiting).scalar() or tx.execute(wished).scalar()
        return not left and tx.execute(last).scalar() in (None, "plan")


class Leader:
    """Learns what the database holds; only who has the lead may use it.

    Args:
        connection: that every lesson is written with. Whoever holds the lead by a lock of the database holds it by this
            connection, so nothing can be written once the lead is lost.
        spec: as it was when the learner was made.
        keep: how many plans are kept.
    """

    def __init__(self, connection: sa.Connection, spec: LiveSpec, keep: int) -> None:
        self.connection, self.spec, self.keep = connection, spec, keep
        self.rank = self.version = self.saved = 0
        self.low, self.high = np.full((2, 1 + len(spec.limits)), np.nan)
        self.episodes, self._planned, self._due = 0, content_hash({}), False
        self._load()

    # --- opening -------------------------------------------------------------------------------------------------------

    def _load(self) -> None:
        s, lessons = schema.snapshots.c, schema.lessons.c
        with schema.reading(self.connection) as tx:
            found = tx.execute(sa.select(s.rank, s.version, s.body, s.data).order_by(s.rank.desc()).limit(1)).one_or_none()
            rank = 0 if found is None else found.rank
            after = tx.execute(sa.select(schema.lessons).where(lessons.rank > rank).order_by(lessons.rank)).all()
            needed, _ = pruning.marks(tx)
        if rank < needed:
            raise FileError(f"lessons up to {needed} were pruned and the snapshots of them are gone; expected one of them")
        if found is not None:
            facts = json.loads(found.body)
            self.spec = replace(self.spec, limits=tuple(facts["limits"]))
            self.rank, self.version, self.episodes, self.saved = found.rank, found.version, facts["episodes"], found.rank
            self.low, self.high = np.array(facts["low"], dtype=np.float64), np.array(facts["high"], dtype=np.float64)
        self.mind = self.spec.mind()
        if found is not None:
            self.mind.restore(unpack(found.data))
            self._planned = self._mark()
        for row in after:
            self._take(row.rank, row.kind, json.loads(row.body), row.episode)
            self._due = row.kind != "plan"  # whoever wrote it down did not come to planning
        if after:
            logger.info("lessons taken again", extra={"lessons": len(after)})

    def _take(self, rank: int, kind: str, body: dict[str, Any], episode: str | None) -> None:
        """Let a lesson happen to the mind."""
        if kind == "learn":
            assert episode is not None
            self._learn(self.played(episode), body["counts"])
        elif kind == "limit":
            self.spec = replace(self.spec, limits=tuple(body["limits"]))
            self.mind.limit(np.array(body["limits"]), body["forget"])
        elif kind == "plan":
            self.mind.ready()
            self.version, self._planned = body["version"], self._mark()
        self.rank = rank

    def _mark(self) -> str:
        """What tells the plan in use from others."""
        return content_hash(self.mind.plan())

    def _learn(self, played: PlayedEpisode, counts: bool) -> None:
        seen = np.column_stack([played.rewards, played.values])
        self.low, self.high = np.fmin(self.low, seen.min(axis=0)), np.fmax(self.high, seen.max(axis=0))
        self.mind.learn(played, counts)
        self.episodes += 1

    def played(self, episode: str) -> PlayedEpisode:
        """A completed episode, as the log tells it."""
        e, flights = schema.events.c, self.spec.flights()
        asked = sa.select(e.kind, e.episode, e.step, e.at, e.body).where(e.episode == episode).order_by(e.seq)
        with schema.reading(self.connection) as tx:
            rows = tx.execute(asked).all()
        for row in rows:
            apply(flights, Event(row.kind, row.episode, row.step, row.at, json.loads(row.body)))
        return flights[episode].played()

    # --- learning ------------------------------------------------------------------------------------------------------

    def work(self, most: int = GROUP) -> int:
        """Take what is new as lessons, and plan; returns how many lessons there were."""
        new = self._write_down(most)
        for rank, kind, body, episode in new:
            self._take(rank, kind, body, episode)
        if new or self._due:
            self.plan()
        return len(new)

    def _write_down(self, most: int) -> list[tuple[int, str, dict[str, Any], str | None]]:
        e, w = schema.episodes.c, schema.wishes.c
        out: list[tuple[int, str, dict[str, Any], str | None]] = []
        waiting = (e.status == "complete") & (e.rank.is_(None))
        with self.connection.begin():
            wished = self.connection.execute(sa.select(schema.wishes).where(w.rank.is_(None)).order_by(w.id)).all()
            done = self.connection.execute(sa.select(e.name, e.body).where(waiting).order_by(e.done).limit(most)).all()
            for row in wished:
                out.append((self.rank + len(out) + 1, row.kind, json.loads(row.body), None))
                self.connection.execute(schema.wishes.update().where(w.id == row.id).values(rank=out[-1][0]))
            for row in done:
                out.append((self.rank + len(out) + 1, "learn", {"counts": json.loads(row.body)["counts"]}, row.name))
            if out:
                self.connection.execute(
                    schema.lessons.insert(),
                    [{"rank": rank, "kind": kind, "body": json.dumps(body), "episode": name} for rank, kind, body, name in out],
                )
            if done:
                self.connection.execute(
                    schema.episodes.update().where(e.name == sa.bindparam("of")).values(rank=sa.bindparam("to")),
                    [{"of": episode, "to": rank} for rank, kind, _, episode in out if kind == "learn"],
                )
        return out

    def plan(self) -> bool:
        """Make a plan if it is time; returns whether there is a new one."""
        began, now = time.perf_counter(), time.time()
        self.mind.ready()
        before, self._planned, self._due = self._planned, self._mark(), False
        made = self._planned != before
        self.version += made
        self.rank += 1
        facts = self.facts
        lesson = {"version": self.version, "at": now, "episodes": self.episodes, "price": facts["price"]}
        p, e = schema.plans.c, schema.episodes.c
        saves = made or self.rank - self.saved >= SPACING
        plan, snapshot = pack(self.mind.plan()) if made else b"", pack(self.mind.arrays()) if saves else b""
        with self.connection.begin():  # others wait for it: all that takes time was done before
            self.connection.execute(schema.lessons.insert().values(rank=self.rank, kind="plan", body=json.dumps(lesson)))
            if made:
                self.connection.execute(
                    schema.plans.insert().values(
                        version=self.version, rank=self.rank, at=now, body=json.dumps(facts), data=plan
                    )
                )
                used = sa.select(e.plan).where(e.status == "open")
                pinned = sa.select(sa.cast(schema.settings.c.value, sa.Integer)).where(schema.settings.c.name == "pinned")
                old = (p.version <= self.version - self.keep) & (p.at < now - GRACE)
                self.connection.execute(schema.plans.delete().where(old, p.version.not_in(used), p.version.not_in(pinned)))
            if saves:
                self._save(facts, snapshot)
        if made:
            logger.info("planned", extra={"version": self.version, "seconds": round(time.perf_counter() - began, 3)} | facts)
        return made

    @property
    def facts(self) -> dict[str, Any]:
        """What goes with a plan: episodes learned, prices, and ranges seen."""
        price = self.mind.dual.tolist()
        return {"episodes": self.episodes, "price": price, "low": _plain(self.low), "high": _plain(self.high)}

    def _save(self, facts: dict[str, Any], data: bytes) -> None:
        s = schema.snapshots.c
        body = json.dumps(facts | {"limits": self.spec.limits})
        self.connection.execute(schema.snapshots.insert().values(rank=self.rank, version=self.version, body=body, data=data))
        kept = sa.select(s.rank).order_by(s.rank.desc()).limit(SNAPSHOTS)
        old = set(self.connection.execute(sa.select(s.rank)).scalars()) - set(self.connection.execute(kept).scalars())
        self.connection.execute(schema.snapshots.delete().where(s.rank.in_(old)))
        self.saved = self.rank


def _plain(array: Array) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in array]
