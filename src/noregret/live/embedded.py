"""The log in a file of SQLite that one process owns: episodes in flight are in memory, a thread commits events in groups.

Who waits for what: every event is in the journal before its call returns, so it outlives the process. With ``sync="reports"`` a
report or an end waits until the database has committed it and the disk has it, and with it every decision before; a power cut
can take decisions of the last milliseconds, of which nothing was reported. ``"all"`` lets decisions wait too, ``"none"``
nothing.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import sqlalchemy as sa

from noregret.agent.flight import Flight
from noregret.agent.flights import Flights
from noregret.errors import FileError, InputError
from noregret.live import schema
from noregret.live.errors import StorageError
from noregret.live.events import CLOSING, Event, apply
from noregret.live.journal import Journal
from noregret.live.pruning import marks
from noregret.live.spec import LiveSpec
from noregret.live.turns import Turn, own

logger = logging.getLogger("noregret.live")

#: Who may wait for the disk.
SYNC = ("all", "reports", "none")
#: Calls whose events wait for the database at most, beyond which decisions are not kept; and those of one transaction.
ROOM, GROUP = 100_000, 2000
#: Seconds between two commits that nobody waits for, between two attempts while the database refuses, and that a call waits.
PAUSE, AGAIN, WAIT = 0.01, 0.5, 30.0

_EVENTS = (
    "INSERT INTO events (seq, kind, episode, step, at, body) SELECT json_extract(value,'$[0]'), json_extract(value,'$[1]'), "
    "json_extract(value,'$[2]'), json_extract(value,'$[3]'), json_extract(value,'$[4]'), json_extract(value,'$[5]') FROM "
    "json_each(?)"
)
_BEGIN = (
    "INSERT INTO episodes (name, status, plan, began, source) SELECT json_extract(value,'$[2]'), 'open', "
    "json_extract(value,'$[5].v'), json_extract(value,'$[4]'), coalesce(json_extract(value,'$[5].s'),'live') FROM json_each(?) "
    "WHERE json_extract(value,'$[1]')='decision' AND json_extract(value,'$[3]')=0"
)
_CLOSE = (
    "UPDATE episodes SET status = CASE e.kind WHEN 'drop' THEN 'dropped' ELSE 'complete' END, done = e.seq, ended = e.at, "
    "body = e.body FROM (SELECT json_extract(value,'$[0]') AS seq, json_extract(value,'$[1]') AS kind, "
    "json_extract(value,'$[2]') AS episode, json_extract(value,'$[4]') AS at, json_extract(value,'$[5]') AS body FROM "
    "json_each(?)) AS e WHERE e.kind IN ('complete','drop') AND e.episode = episodes.name"
)


class Hold:
    """A turn at the log of one process, as a context; a class of its own because a generator would take twice the time.

    Args:
        log: that is held.
        episode: its name.
    """

    __slots__ = ("episode", "log", "turn")

    def __init__(self, log: EmbeddedLog, episode: str) -> None:
        self.log, self.episode = log, episode

    def __enter__(self) -> Turn:
        log, episode = self.log, self.episode
        log.lock.acquire()
        try:
            past = None if episode in log.flights else log._past(episode)
            if log._closed:
                raise StorageError(f"{log.place}: the learner is closed; expected it open")
        except BaseException:
            log.lock.release()
            raise
        self.turn = turn = Turn(log.flights if past is None else past, past is not None, log.touched.get(episode, 0.0))
        return turn

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None and self.turn.added:
                self.turn.ticket = self.log._append(self.turn.added)
        finally:
            self.log.lock.release()


class EmbeddedLog:
    """The log of the one process that owns a file.

    Args:
        url: of SQLite.
        sync: who waits for the disk.

    Raises:
        FileError: another process owns the file.
    """

    def __init__(self, url: str, sync: str) -> None:
        if sync not in SYNC:
            raise InputError(f"sync is {sync!r}; expected one of {', '.join(SYNC)}")
        self.sync, self.place = sync, schema.file_of(url)
        folder = os.path.dirname(self.place)
        if not os.path.isdir(folder):
            raise FileError(f"{self.place}: cannot be opened: there is no folder {folder}")
        self._owned = own(f"{self.place}-owner", f"{self.place}: another process has it open; expected one, or PostgreSQL")
        self.engine = self.reader = schema.connect(url)
        self.journal = Journal(self.place)
        self.trouble: str | None = None
        self.touched: dict[str, float] = {}
        # lock: episodes in flight; _gate: the queue and the journal; _news: what is committed. Taken in this order.
        self.lock, self._gate, self._news = threading.RLock(), threading.Lock(), threading.Condition()
        self._work, self._hurry, self._closed = threading.Event(), threading.Event(), False
        self._queue: deque[tuple[int, str]] = deque()  # for each call the number of its last event, and all as JSON
        # Episodes that are over, until the database knows it; and how many there were.
        self._closing: dict[str, tuple[int, Flight]] = {}
        self._closings, self._asking = 0, threading.Lock()
        self._calls: list[tuple[int, Callable[[Exception | None], None]]] = []
        self._writer: threading.Thread | None = None
        try:
            schema.upgrade(self.engine, self.place)
            self._recover()
        except BaseException:
            self.close()
            raise

    # --- opening -------------------------------------------------------------------------------------------------------

    def _recover(self) -> None:
        """Give the database what was acknowledged before the last process died."""
        with self.engine.begin() as connection:
            last = connection.execute(sa.select(sa.func.max(schema.events.c.seq))).scalar() or 0
            self.seq = max(int(last), marks(connection)[1])
            left = {json.loads(text)[0]: text for text in self.journal.read()}
            texts: list[str] = []
            while (text := left.get(self.seq + 1)) is not None:  # what comes after a gap was not acknowledged
                texts.append(text)
                self.seq += 1
            if texts:
                self._insert(connection, texts)
                logger.info("recovered", extra={"events": len(texts), "place": self.place})
        self.journal.begin()
        self.committed = self.seq

    def begin(self, spec: LiveSpec) -> None:
        """Take up the episodes that are in flight, and begin to write."""
        self.spec, self.flights = spec, spec.flights()
        self._asked = sqlite3.connect(self.place, check_same_thread=False, isolation_level=None)
        with schema.reading(self.engine) as connection:
            for event in self._stored(connection, schema.episodes.c.status == "open"):
                apply(self.flights, event)
                self.touched[event.episode] = event.at
        self._writer = threading.Thread(target=self._write, name="noregret-log", daemon=True)
        self._writer.start()

    def _stored(self, connection: sa.Connection, which: Any) -> Iterator[Event]:
        e = schema.events.c
        rows = connection.execute(
            sa.select(e.kind, e.episode, e.step, e.at, e.body)
            .join(schema.episodes, schema.episodes.c.name == e.episode).where(which).order_by(e.seq)
        )  # fmt: skip
        for row in rows:
            yield Event(row.kind, row.episode, row.step, row.at, json.loads(row.body))

    # --- taking turns --------------------------------------------------------------------------------------------------

    def turn(self, episode: str) -> Hold:
        """Hold an episode; what is added goes to the log together, or not at all if the block raises."""
        return Hold(self, episode)

    def _past(self, episode: str) -> Flights | None:
        """An episode that is over; None where there is none of this name, or it is in flight now.

        The lock is held before and after, and let go of while the database is asked: nobody waits for somebody else's read.
        """
        while not self._closed:
            if (closing := self._closing.get(episode)) is not None:
                flights = self.spec.flights()
                flights.take(episode, closing[1])
                return flights
            before = self._closings
            self.lock.release()
            try:
                found = self._read(episode)
            finally:
                self.lock.acquire()
            if episode in self.flights:
                return None
            if found is not None or self._closings == before:  # nor did it begin and end meanwhile
                return found
        return None

    def _read(self, episode: str) -> Flights | None:
        """An episode that is over, as the database tells it."""
        try:
            with self._asking:
                row = self._asked.execute("SELECT 1 FROM episodes WHERE name = ?", (episode,)).fetchone()
        except sqlite3.Error as error:
            raise StorageError(f"{self.place}: {error}") from None
        if row is None:
            return None
        flights = self.spec.flights()
        with schema.reading(self.engine) as connection:
            for event in self._stored(connection, schema.episodes.c.name == episode):
                apply(flights, event)
        return flights

    def glimpse(self, episode: str) -> Flight | None:
        """An episode in flight, without a turn: it may be changing."""
        return self.flights.find(episode)

    def _append(self, added: list[Event]) -> int:
        with self._gate:
            texts = []
            for event in added:
                self.seq += 1
                texts.append(event.text(self.seq))
                try:
                    self.journal.write(texts[-1])
                except FileError as error:
                    self._complain(str(error))
                self.touched[event.episode] = event.at
                if event.kind in CLOSING:
                    del self.touched[event.episode]
                    self._closing[event.episode] = self.seq, self.flights.remove(event.episode)
                    self._closings += 1
            self._queue.append((self.seq, ",".join(texts)))
            if not self._work.is_set():
                self._work.set()
            return self.seq

    def idle(self, older_than: float) -> list[str]:
        """The episodes in flight of which nothing was heard for so many seconds."""
        before = time.time() - older_than
        with self.lock:
            return [name for name, at in self.touched.items() if at <= before]

    @property
    def full(self) -> bool:
        """Whether so much waits for the database that decisions are not kept any more."""
        return len(self._queue) > ROOM

    @property
    def last(self) -> int:
        """The ticket of the last event."""
        return self.seq

    # --- committing ----------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse what cannot be kept now.

        Raises:
            StorageError: the database takes nothing.
        """
        if self.trouble is not None:
            raise StorageError(f"{self.place}: nothing can be kept now: {self.trouble}")

    def waits(self, kind: str) -> bool:
        """Whether a call that added an event of this kind is to wait for the disk."""
        return self.sync == "all" or (self.sync == "reports" and kind != "decision")

    def wait(self, ticket: int, seconds: float = WAIT) -> None:
        """Wait until the database has committed everything up to a ticket.

        Raises:
            StorageError: it could not; a retry of the same call is safe.
        """
        with self._news:
            if self.committed < ticket:
                self._hurry.set()
                self._work.set()
            self._news.wait_for(lambda: self.committed >= ticket or self.trouble is not None or self._closed, seconds)
            if self.committed < ticket:
                raise StorageError(f"{self.place}: not kept yet: {self.trouble or 'the database takes too long'}")

    def call(self, ticket: int, done: Callable[[Exception | None], None]) -> None:
        """Have a function called, in the writer's thread, when a ticket is committed (None) or could not be (the error)."""
        with self._news:
            if self.committed < ticket:
                self._calls.append((ticket, done))
                self._hurry.set()
                self._work.set()
                return
        done(None)

    def flush(self) -> None:
        """Wait until the database has all there is."""
        with self._gate:
            last = self.seq
        self.wait(last)

    def _insert(self, connection: Any, texts: list[str]) -> None:
        batch = "[" + ",".join(texts) + "]"
        for statement in (_EVENTS, _BEGIN, _CLOSE):
            connection.exec_driver_sql(statement, (batch,))

    def _commit(self, calls: list[tuple[int, str]]) -> None:
        """Give the database what it does not have yet; what a call added goes together."""
        e = schema.events.c
        for i in range(0, len(calls), GROUP):
            group = calls[i : i + GROUP]
            with self.engine.begin() as connection:
                if connection.execute(sa.select(e.seq).where(e.seq == group[-1][0])).scalar() is None:
                    self._insert(connection, [text for _, text in group])

    def _write(self) -> None:
        """The writer's thread: one transaction after the other, each with all that came meanwhile."""
        calls: list[tuple[int, str]] = []
        which = -1
        while not (self._closed and not calls and not self._queue):
            if not calls:
                self._work.wait(1.0)
                self._hurry.wait(PAUSE)  # as long as nobody waits, larger groups cost less
                with self._gate:
                    self._work.clear()
                    self._hurry.clear()
                    calls = list(self._queue)
                    self._queue.clear()
                    last = self.seq
                    if calls:
                        which = self.journal.turn()
                if not calls:
                    continue
            try:
                self._commit(calls)
                self.journal.forget(which)
            except (OSError, sa.exc.SQLAlchemyError) as error:
                self._complain(" ".join(str(error).split()))
                if self._closed:
                    return  # the journal has it
                time.sleep(AGAIN)
                continue
            calls = []
            if self.trouble is not None:
                logger.warning("the database takes events again", extra={"place": self.place})
            with self._gate:
                self._closing = {name: each for name, each in self._closing.items() if each[0] > last}
            with self._news:
                self.trouble, self.committed = None, last
                ready = [done for ticket, done in self._calls if ticket <= last]
                self._calls = [(ticket, done) for ticket, done in self._calls if ticket > last]
                self._news.notify_all()
            for done in ready:
                done(None)

    def _complain(self, why: str) -> None:
        why = why.removeprefix(f"{self.place}: ")
        if self.trouble is None:
            logger.error("the database takes nothing", extra={"place": self.place, "why": why})
        with self._news:
            self.trouble = why
            failed, self._calls = self._calls, []
            self._news.notify_all()
        for _, done in failed:
            done(StorageError(f"{self.place}: not kept yet: {why}"))

    def close(self) -> None:
        """Commit what is left, and give the file up."""
        self._closed = True
        self._work.set()
        self._hurry.set()
        if self._writer is not None:
            self._writer.join(WAIT)
            self._asked.close()
        self.journal.close()
        self.engine.dispose()
        os.close(self._owned)
