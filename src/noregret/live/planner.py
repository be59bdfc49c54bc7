"""Who plans, and where: in a process of its own, in a thread, or when it is asked. One at a time has the lead.

The lead of a file is a lock of the kernel, that of PostgreSQL a lock of the connection with which lessons are written; both
are free as soon as their holder is gone. The process that plans is forked from one that has everything imported: if it dies,
the next one goes on at once from the last snapshot. It is nicer than others to the processors, so that decisions come first.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import sqlalchemy as sa

from noregret.errors import FileError, NoRegretError
from noregret.live import schema
from noregret.live.errors import StorageError
from noregret.live.leader import Leader
from noregret.live.lines import to_standard_error
from noregret.live.spec import LiveSpec
from noregret.live.turns import own

logger = logging.getLogger("noregret.live")

#: Seconds between two looks at what is new, and between two attempts to get the lead.
LOOK, ATTEMPT = 0.1, 0.5
#: Seconds until planning is tried again after an error that is not the database's.
SULK = 5.0
#: The name of PostgreSQL's lock.
LEAD = 7120231
#: How the planning process begins: what it is told comes on its standard input, and the end of that is its own end.
_BEGIN = (
    "import json,sys; told=json.loads(sys.stdin.readline()); sys.path[:]=told['path']; "
    "from noregret.live.planner import supervise; supervise(told)"
)


class TakenError(FileError):
    """Somebody else has the lead."""


@contextmanager
def lead(engine: sa.Engine, url: str) -> Iterator[sa.Connection]:
    """Take the lead, and give the connection that lessons are written with.

    Raises:
        TakenError: somebody else has it.
    """
    taken = "somebody else plans for this learner"
    if schema.is_sqlite(url):
        try:
            handle = own(f"{schema.file_of(url)}-planner", taken)
        except FileError as error:
            raise TakenError(str(error)) from None
        try:
            with engine.connect() as connection:
                yield connection
        finally:
            os.close(handle)
        return
    with engine.connect() as connection:
        with connection.begin():
            got = connection.execute(sa.text("SELECT pg_try_advisory_lock(:key)"), {"key": LEAD}).scalar()
        if not got:
            raise TakenError(taken)
        try:
            yield connection
        finally:
            try:
                with connection.begin():
                    connection.execute(sa.text("SELECT pg_advisory_unlock(:key)"), {"key": LEAD})
            except (StorageError, sa.exc.SQLAlchemyError):
                connection.invalidate()  # the lock is gone with the connection


def spec_of(connection: sa.Connection) -> tuple[str, LiveSpec]:
    """The spec that the database holds, as text and read."""
    with schema.reading(connection) as tx:
        text = tx.execute(sa.select(schema.meta.c.value).where(schema.meta.c.name == "spec")).scalar_one()
    return text, LiveSpec.read(text)


def serve(url: str, keep: int, stopped: Callable[[], bool]) -> None:
    """Plan, whenever the lead is to be had, until told to stop.

    Args:
        url: of the database.
        keep: how many plans are kept.
        stopped: asked again and again.
    """
    engine = schema.connect(url)
    while not stopped():
        try:
            with lead(engine, url) as connection:
                text, spec = spec_of(connection)
                leader = Leader(connection, spec, keep)
                logger.info("leads", extra={"pid": os.getpid(), "rank": leader.rank, "version": leader.version})
                while not stopped() and spec_of(connection)[0] == text:
                    if not leader.work():
                        time.sleep(LOOK)
        except TakenError:
            time.sleep(ATTEMPT)
        except StorageError as error:
            logger.warning("planning waits for the database", extra={"why": str(error)})
            time.sleep(ATTEMPT)
        except Exception as error:  # plans go on as they are: whoever looks at the log or at the plan's age sees it
            logger.exception("planning failed", extra={"why": " ".join(str(error).split())[:300]})
            time.sleep(SULK)
    engine.dispose()


class Asked:
    """A planner that learns and plans when it is asked to, here and now; it keeps the lead.

    Args:
        engine: of the database.
        url: of the database.
        spec: of the learner.
        keep: how many plans are kept.
    """

    def __init__(self, engine: sa.Engine, url: str, spec: LiveSpec, keep: int) -> None:
        self.engine, self.url, self.spec, self.keep = engine, url, spec, keep
        self._lead: AbstractContextManager[sa.Connection] | None = None
        self.leader: Leader | None = None

    def work(self) -> bool:
        """Learn all that is complete, and plan; returns whether it could: somebody else may have the lead."""
        try:
            if self.leader is None:
                taken = lead(self.engine, self.url)
                connection = taken.__enter__()
                self._lead = taken
                self.leader = Leader(connection, self.spec, self.keep)
            while self.leader.work():
                pass
            return True
        except TakenError:
            return False
        except BaseException:  # the leader may know more than the database does
            self.close()
            raise

    def close(self) -> None:
        """Give up the lead."""
        lead, self._lead, self.leader = self._lead, None, None
        if lead is not None:
            lead.__exit__(None, None, None)


class Background:
    """A planner beside the process that decides: ``where`` is "process" or "thread".

    Args:
        url: of the database.
        keep: how many plans are kept.
        where: it plans.
    """

    def __init__(self, url: str, keep: int, where: str) -> None:
        self.url, self.keep, self.where = url, keep, where
        self._stop = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None
        self._thread: threading.Thread | None = None
        if where == "thread":
            self._thread = threading.Thread(
                target=serve, args=(url, keep, self._stop.is_set), name="noregret-planner", daemon=True
            )
            self._thread.start()
        else:
            self._begin()

    def _begin(self) -> None:
        level = max(logger.getEffectiveLevel(), logging.INFO)
        told = {"url": self.url, "keep": self.keep, "path": [path or os.getcwd() for path in sys.path], "level": level}
        self._child = subprocess.Popen([sys.executable, "-c", _BEGIN], stdin=subprocess.PIPE, start_new_session=True)
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(told).encode() + b"\n")
        self._child.stdin.flush()

    def look(self) -> None:
        """Begin again if the planning process is gone."""
        if self._child is not None and self._child.poll() is not None and not self._stop.is_set():
            logger.warning("the planner's process is gone", extra={"code": self._child.returncode})
            self._begin()

    @property
    def pid(self) -> int | None:
        """The process in which there is always one that plans."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """Stop planning."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(30.0)
        if self._child is not None:
            assert self._child.stdin is not None
            try:
                self._child.stdin.close()
                self._child.wait(10.0)
            except (subprocess.TimeoutExpired, OSError):
                self._child.kill()
                self._child.wait()


# --- in the process that plans ------------------------------------------------------------------------------------------


def supervise(told: dict[str, Any]) -> None:
    """Keep one child planning until standard input ends."""
    to_standard_error(told["level"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _warm(told["url"])
    child = _fork(told)
    while True:
        ready, _, _ = select.select([0], [], [], 0.2)
        if ready and not os.read(0, 4096):
            break
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            logger.warning("a planner died", extra={"status": status})
            child = _fork(told)
    os.kill(child, signal.SIGKILL)  # all that matters is in the database
    os.waitpid(child, 0)


def _warm(url: str) -> None:
    """Import and compile what a planner needs, once for all children."""
    engine = schema.connect(url)
    try:
        with engine.connect() as connection:
            spec_of(connection)[1].mind()
    except NoRegretError:
        pass  # the child says what is wrong
    finally:
        engine.dispose()


def _fork(told: dict[str, Any]) -> int:
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: never outlive the parent
        os.nice(5)
        serve(told["url"], told["keep"], lambda: os.getppid() != parent)
    finally:
        os._exit(1)
