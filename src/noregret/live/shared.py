"""The log in PostgreSQL, for several processes and machines: every call is one transaction that holds its episode's row.

A call returns when its transaction is committed, so what was acknowledged is on the database's disk, decisions too.
"""

from __future__ import annotations

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from noregret.agent.flights import Flights
from noregret.live import schema
from noregret.live.embedded import Turn
from noregret.live.errors import StorageError
from noregret.live.events import CLOSING, Event, apply
from noregret.live.spec import Spec

#: Episodes whose events a process remembers, so that it reads only what is new.
REMEMBERED = 10_000


class SharedLog:
    """The log of many processes.

    Args:
        url: of PostgreSQL.
    """

    full = False
    last = 0
    trouble: str | None = None

    def __init__(self, url: str) -> None:
        self.place = schema.hidden(url)
        self.engine = schema.connect(url)
        self._known: OrderedDict[str, tuple[int, Flights]] = OrderedDict()
        self._lock = threading.Lock()
        schema.upgrade(self.engine, self.place)

    def begin(self, spec: Spec) -> None:
        """Take up the episodes that are in flight: they are in the database."""
        self.spec = spec

    @contextmanager
    def turn(self, episode: str) -> Iterator[Turn]:
        """Hold an episode; what is added is committed together, or not at all if the block raises."""
        e = schema.episodes
        try:
            with self.engine.begin() as tx:
                locked = sa.select(e.c.status).where(e.c.name == episode).with_for_update()
                status = tx.execute(locked).scalar()
                seq, flights = self._flight(tx, episode) if status is not None else (0, self.spec.flights())
                turn = Turn(flights, status not in (None, "open"))
                yield turn
                for event in turn.added:
                    seq = self._add(tx, event)
            with self._lock:
                if turn.added and turn.added[-1].kind not in CLOSING:
                    self._known[episode] = seq, flights
                    while len(self._known) > REMEMBERED:
                        self._known.popitem(last=False)
                elif not turn.added and status == "open":
                    self._known[episode] = seq, flights
        except sa.exc.IntegrityError:
            raise StorageError(f"{self.place}: another process was faster; the same call again is safe") from None
        except sa.exc.DBAPIError as error:
            raise StorageError(f"{self.place}: nothing can be kept now: {' '.join(str(error.orig).split())}") from None

    def _flight(self, tx: sa.Connection, episode: str) -> tuple[int, Flights]:
        """The episode as of now; what this process remembers of it is used up, so a call that fails leaves nothing behind."""
        c = schema.events.c
        with self._lock:
            seq, flights = self._known.pop(episode, (0, self.spec.flights()))
        rows = tx.execute(
            sa.select(c.seq, c.kind, c.episode, c.step, c.at, c.body)
            .where(c.episode == episode, c.seq > seq).order_by(c.seq)
        )  # fmt: skip
        for row in rows:
            seq = row.seq
            apply(flights, Event(row.kind, row.episode, row.step, row.at, json.loads(row.body)))
        return seq, flights

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
