"""The log in PostgreSQL, for several processes and machines: every call is one transaction that holds its episode's row.

A call returns when its transaction is committed, so what was acknowledged is on the database's disk, decisions too. While the
database cannot be reached, decisions are made with what this process knows, and are not kept.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from noregret.agent.flight import Flight
from noregret.agent.flights import Flights
from noregret.live import schema
from noregret.live.embedded import AGAIN
from noregret.live.errors import StorageError
from noregret.live.events import CLOSING, Event, apply
from noregret.live.spec import LiveSpec
from noregret.live.turns import Turn

logger = logging.getLogger("noregret.live")

#: Episodes whose events a process remembers, so that it reads only what is new.
REMEMBERED = 10_000
#: The name of the locks under which episodes begin.
BEGINS = 712023


class Known(NamedTuple):
    """An episode as a process has read it."""

    seq: int  # of its last event
    heard: float  # when that came
    flights: Flights


class SharedLog:
    """The log of many processes.

    Args:
        url: of PostgreSQL.
    """

    last = 0

    def __init__(self, url: str) -> None:
        self.place = schema.hidden(url)
        # Who holds an episode may have to read a plan. It would wait for ever if all connections were held by such ones.
        self.engine, self.reader = schema.connect(url), schema.connect(url)
        self.trouble: str | None = None
        self._failed, self._trying = 0.0, False
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._lock = threading.Lock()
        schema.upgrade(self.engine, self.place)

    def begin(self, spec: LiveSpec) -> None:
        """Take up the episodes that are in flight: they are in the database."""
        self.spec = spec

    @contextmanager
    def turn(self, episode: str) -> Iterator[Turn]:
        """Hold an episode; what is added is committed together, or not at all if the block raises."""
        self._trying = self.trouble is not None
        try:
            with self.engine.begin() as tx:
                status = self._hold(tx, episode)
                known = Known(0, 0.0, self.spec.flights()) if status is None else self._read(tx, episode)
                turn = Turn(known.flights, status not in (None, "open"), known.heard)
                yield turn
                for event in turn.added:
                    known = Known(self._add(tx, event), event.at, known.flights)
            over = turn.added[-1].kind in CLOSING if turn.added else status != "open"
            with self._lock:
                if not over:
                    self._known[episode] = known
                    while len(self._known) > REMEMBERED:
                        self._known.popitem(last=False)
                if self.trouble is not None:
                    logger.warning("the database takes events again", extra={"place": self.place})
                self.trouble = None
        except (StorageError, sa.exc.TimeoutError) as error:
            why = "no connection was free" if isinstance(error, sa.exc.TimeoutError) else str(error)
            raise self._complain(why.removeprefix(f"{self.place}: ")) from None
        finally:
            self._trying = False

    def _complain(self, why: str) -> StorageError:
        if self.trouble is None:
            logger.error("the database takes nothing", extra={"place": self.place, "why": why})
        self.trouble, self._failed = why, time.monotonic()
        return StorageError(f"{self.place}: nothing can be kept now: {why}")

    @property
    def full(self) -> bool:
        """Whether the database could not be reached a moment ago, or somebody tries now: decisions are not kept meanwhile."""
        return self.trouble is not None and (self._trying or time.monotonic() - self._failed < AGAIN)

    def glimpse(self, episode: str) -> Flight | None:
        """An episode in flight as this process saw it last; None where it did not."""
        known = self._known.get(episode)
        return None if known is None else known.flights.find(episode)

    def _hold(self, tx: sa.Connection, episode: str) -> str | None:
        """Hold the row of an episode, or the right to begin it; returns its status."""
        asked = sa.select(schema.episodes.c.status).where(schema.episodes.c.name == episode).with_for_update()
        status = tx.execute(asked).scalar()
        if status is None:
            tx.execute(sa.text("SELECT pg_advisory_xact_lock(:kind, hashtext(:name))"), {"kind": BEGINS, "name": episode})
            status = tx.execute(asked).scalar()
        return status

    def _read(self, tx: sa.Connection, episode: str) -> Known:
        """The episode as of now; what this process remembers of it is used up, so a call that fails leaves nothing behind."""
        c = schema.events.c
        with self._lock:
            seq, heard, flights = self._known.pop(episode, Known(0, 0.0, self.spec.flights()))
        rows = tx.execute(
            sa.select(c.seq, c.kind, c.episode, c.step, c.at, c.body)
            .where(c.episode == episode, c.seq > seq).order_by(c.seq)
        )  # fmt: skip
        for row in rows:
            seq, heard = row.seq, row.at
            apply(flights, Event(row.kind, row.episode, row.step, row.at, json.loads(row.body)))
        return Known(seq, heard, flights)

    def _add(self, tx: sa.Connection, event: Event) -> int:
        e, body = schema.episodes, event.json
        if event.kind == "decision" and event.step == 0:
            row = {
                "name": event.episode, "status": "open", "plan": event.body["v"], "began": event.at,
                "source": event.body.get("s", "live"),
            }  # fmt: skip
            tx.execute(insert(e).values(**row))
        added = tx.execute(
            schema.events.insert().values(
                kind=event.kind, episode=event.episode, step=event.step, at=event.at, body=body
            ).returning(schema.events.c.seq)
        )  # fmt: skip
        seq = int(added.scalar_one())
        if event.kind in CLOSING:
            status = "dropped" if event.kind == "drop" else "complete"
            tx.execute(e.update().where(e.c.name == event.episode).values(status=status, done=seq, ended=event.at, body=body))
        return seq

    def idle(self, older_than: float) -> list[str]:
        """The episodes in flight of which nothing was heard for so many seconds."""
        e, c = schema.episodes.c, schema.events.c
        asked = (
            sa.select(e.name).join(schema.events, c.episode == e.name).where(e.status == "open")
            .group_by(e.name).having(sa.func.max(c.at) <= time.time() - older_than)
        )  # fmt: skip
        with schema.reading(self.engine) as tx:
            return list(tx.execute(asked).scalars())

    def check(self) -> None:
        """Whatever is wrong, the transaction says it."""

    def waits(self, kind: str) -> bool:
        """Nothing waits after its transaction."""
        return False

    def wait(self, ticket: int) -> None:
        """All is committed."""

    def call(self, ticket: int, done: Callable[[Exception | None], None]) -> None:
        """Call the function: all is committed."""
        done(None)

    def flush(self) -> None:
        """All is committed."""

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()
        self.reader.dispose()
