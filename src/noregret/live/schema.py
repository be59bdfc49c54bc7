"""The tables of a learner that lives in a database, and how a database is opened: SQLite in WAL mode, or PostgreSQL by its URL.

One database holds one learner. ``events`` is the log of all that was decided, reported and ended; it only grows, until old
episodes are pruned. ``lessons`` is the order in which the learner took episodes in and made plans: its state is a function of
the lessons, and ``snapshots`` are that state at some of them. ``plans`` are the policies that decisions are made with.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from noregret.errors import FileError, InputError
from noregret.live.errors import StorageError

#: The version of the tables; a database of an older version is brought to this one when it is opened.
VERSION = 2
#: Seconds that a connection waits for another one's lock, and that PostgreSQL has to answer a new connection.
PATIENCE, ANSWER = 30.0, 5
#: A planner whose machine lost its power says nothing any more: after so many seconds PostgreSQL gives its lock free.
_KEEPALIVE = "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"

metadata = sa.MetaData()
whole = sa.BigInteger().with_variant(sa.Integer, "sqlite")

meta = sa.Table(
    "meta", metadata, sa.Column("name", sa.String(64), primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
#: What can be switched while the learner runs.
settings = sa.Table(
    "settings", metadata, sa.Column("name", sa.String(64), primary_key=True), sa.Column("value", sa.Text, nullable=False)
)
events = sa.Table(
    "events", metadata,
    sa.Column("seq", whole, primary_key=True, autoincrement=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("episode", sa.String(200), nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.UniqueConstraint("episode", "step", "kind"),
)  # fmt: skip
#: The quarantine is looked at every few seconds, and holds few of many events.
is_held = events.c.kind == sa.literal_column("'held'")
held = sa.Index("events_held", events.c.seq, sqlite_where=is_held, postgresql_where=is_held)
episodes = sa.Table(
    "episodes", metadata,
    sa.Column("name", sa.String(200), primary_key=True),
    sa.Column("status", sa.String(16), nullable=False),  # open, complete, dropped, pruned
    sa.Column("plan", whole, nullable=False),  # the version it began with
    sa.Column("began", sa.Float, nullable=False),
    sa.Column("source", sa.String(16), nullable=False),  # live, apprentice, log
    sa.Column("done", whole),  # the seq of the event that completed it
    sa.Column("rank", whole, unique=True),  # the lesson that learned it
    sa.Column("ended", sa.Float),
    sa.Column("body", sa.Text),  # JSON: totals, length, shares
    sa.Index("episodes_by_status", "status", "done"),
)  # fmt: skip
lessons = sa.Table(
    "lessons", metadata,
    sa.Column("rank", whole, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.String(16), nullable=False),  # learn, plan, limit, schema
    sa.Column("episode", sa.String(200)),
    sa.Column("body", sa.Text, nullable=False),
)  # fmt: skip
#: What somebody asked of the learner besides episodes, until it becomes a lesson.
wishes = sa.Table(
    "wishes", metadata,
    sa.Column("id", whole, primary_key=True, autoincrement=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("rank", whole),
)  # fmt: skip
plans = sa.Table(
    "plans", metadata,
    sa.Column("version", whole, primary_key=True, autoincrement=False),
    sa.Column("rank", whole, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)  # fmt: skip
snapshots = sa.Table(
    "snapshots", metadata,
    sa.Column("rank", whole, primary_key=True, autoincrement=False),
    sa.Column("version", whole, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("data", sa.LargeBinary, nullable=False),
)  # fmt: skip
tokens = sa.Table(
    "tokens", metadata,
    sa.Column("name", sa.String(64), primary_key=True),
    sa.Column("hash", sa.String(64), nullable=False),
    sa.Column("role", sa.String(8), nullable=False),  # write, read
    sa.Column("at", sa.Float, nullable=False),
)  # fmt: skip

#: What brings a database of version n to n+1, a function of a connection for each n from 1 on.
MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (held.create,)


def is_sqlite(url: str) -> bool:
    """Tell whether a place is a file of SQLite."""
    return url.startswith("sqlite:")


def url_of(place: str | os.PathLike[str]) -> str:
    """The URL of a place: a URL as it is, or that of a file.

    Raises:
        InputError: it is the URL of another database.
    """
    text = os.fspath(place)
    if "://" not in text:
        return f"sqlite:///{text}"
    if text.startswith("sqlite:///") and len(text) > 10 and "?" not in text:
        return text
    if re.match(r"postgres(ql)?://", text):
        return "postgresql+psycopg://" + text.partition("://")[2]
    if text.startswith("postgresql+psycopg://"):
        return text
    raise InputError(f"url is {hidden(text)!r}; expected sqlite:///FILE or postgresql://HOST/DATABASE")


def hidden(url: str) -> str:
    """A URL without its password."""
    return re.sub(r"(://[^:/@]*):[^@/]*@", r"\1:***@", url)


def file_of(url: str) -> str:
    """The file of a URL of SQLite."""
    return os.path.abspath(url.removeprefix("sqlite:///"))


def connect(url: str, sync: str = "FULL") -> sa.Engine:
    """An engine for a URL.

    Args:
        url: what :func:`url_of` gave.
        sync: SQLite's ``synchronous``: FULL waits for the disk at every commit.
    """
    if not is_sqlite(url):
        options = {"connect_timeout": ANSWER, "tcp_user_timeout": 1000 * ANSWER, "options": _KEEPALIVE}
        engine = sa.create_engine(
            url, pool_size=16, max_overflow=32, pool_pre_ping=True, isolation_level="READ COMMITTED", connect_args=options
        )
        _tell_errors(engine, hidden(url))
        return engine
    engine = sa.create_engine(url, connect_args={"timeout": PATIENCE, "check_same_thread": False})
    _tell_errors(engine, file_of(url))

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # we begin transactions ourselves
        for pragma in ("journal_mode=WAL", f"synchronous={sync}", "foreign_keys=ON", "wal_autocheckpoint=4000"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN" if connection.get_execution_options().get("reads") else "BEGIN IMMEDIATE")

    return engine


def _tell_errors(engine: sa.Engine, place: str) -> None:
    """Let whatever the database refuses be told in one line that names it."""

    @sa.event.listens_for(engine, "handle_error")
    def tell(context: sa.engine.ExceptionContext) -> None:
        error = context.sqlalchemy_exception
        if isinstance(error, sa.exc.DBAPIError) and not isinstance(error, sa.exc.IntegrityError) and not context.is_pre_ping:
            raise StorageError(f"{place}: {' '.join(str(error.orig).split())[:300]}")


@contextmanager
def reading(source: sa.Engine | sa.Connection) -> Iterator[sa.Connection]:
    """A transaction that only reads, so that it does not keep a writer of SQLite waiting."""
    if isinstance(source, sa.Engine):
        with source.connect().execution_options(reads=True) as connection, connection.begin():
            yield connection
        return
    source.execution_options(reads=True)
    try:
        with source.begin():
            yield source
    finally:
        source.execution_options(reads=False)


def alone(connection: sa.Connection) -> None:
    """Let nobody else open the database for the first time, or change its tables, until this transaction is over."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7120230)"))


def upgrade(engine: sa.Engine, place: str) -> None:
    """Make the tables, or bring those of an older version up to date.

    Raises:
        FileError: the database was written by a newer version, or holds something else.
    """
    with engine.begin() as connection:
        alone(connection)
        there = set(sa.inspect(connection).get_table_names())
        if "meta" not in there:
            if there & set(metadata.tables):
                raise FileError(f"{place}: holds other tables; expected a database of its own")
            metadata.create_all(connection)
            connection.execute(meta.insert().values(name="schema", value=str(VERSION)))
            return
        found = int(connection.execute(sa.select(meta.c.value).where(meta.c.name == "schema")).scalar() or 0)
        if not 1 <= found <= VERSION:
            raise FileError(f"{place}: has tables of version {found}; expected 1 to {VERSION}: a newer noregret wrote them")
        for step in MIGRATIONS[found - 1 :]:
            step(connection)
        if found != VERSION:
            connection.execute(meta.update().where(meta.c.name == "schema").values(value=str(VERSION)))
