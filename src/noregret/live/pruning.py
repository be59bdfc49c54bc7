"""Old events go, so that a database does not grow for ever; what recovery needs, and every episode's name, stays.

Opening a database loads a snapshot and takes the lessons after it again. So the events of an episode that all snapshots have
in them are needed by nobody but ``replay``. The row of a pruned episode stays: its name remains taken, and a late retry is told
that the episode is over. Every group is one transaction, so whoever is killed in the middle leaves whole episodes behind.
"""

from __future__ import annotations

import logging
import time

import sqlalchemy as sa

from noregret.live import schema

logger = logging.getLogger("noregret.live")

#: Episodes pruned in one transaction: others wait for it.
GROUP = 500


def prune(engine: sa.Engine, older_than: float) -> int:
    """Delete the events of episodes that ended so many seconds ago; returns of how many episodes."""
    e, lessons, meta = schema.episodes, schema.lessons, schema.meta
    before, n = time.time() - older_than, 0
    while True:
        with engine.begin() as tx:
            kept = tx.execute(sa.select(sa.func.min(schema.snapshots.c.rank))).scalar() or 0
            seq = max(marks(tx)[1], tx.execute(sa.select(sa.func.max(schema.events.c.seq))).scalar() or 0)
            learned = sa.and_(e.c.status == "complete", e.c.rank <= kept)
            old = sa.select(e.c.name).where(sa.or_(learned, e.c.status == "dropped"), e.c.ended <= before).limit(GROUP)
            names = list(tx.execute(old).scalars())
            if not names:
                logger.info("pruned", extra={"episodes": n})
                return n
            tx.execute(schema.events.delete().where(schema.events.c.episode.in_(names)))
            tx.execute(lessons.delete().where(lessons.c.kind == "learn", lessons.c.episode.in_(names)))
            tx.execute(e.update().where(e.c.name.in_(names)).values(status="pruned", body=None))
            tx.execute(meta.delete().where(meta.c.name == "pruned"))
            tx.execute(meta.insert().values(name="pruned", value=f"{kept} {seq}"))
        n += len(names)


def marks(tx: sa.Connection) -> tuple[int, int]:
    """What is not to be gone back to: the lesson before which lessons are not whole any more, and the last event's number."""
    found = tx.execute(sa.select(schema.meta.c.value).where(schema.meta.c.name == "pruned")).scalar()
    rank, seq = (found or "0 0").split()
    return int(rank), int(seq)
