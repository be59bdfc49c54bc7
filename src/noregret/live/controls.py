"""What can be switched while a learner runs, kept in the database so that all processes see it."""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

from noregret.live import schema

#: What holds where nobody switched anything.
USUAL: dict[str, Any] = {"fallback": False, "pinned": None, "limits": None}


class Controls:
    """The switches, as this process saw them last.

    Args:
        engine: of the database.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.values = dict(USUAL)
        self.look()

    def look(self) -> None:
        """Read all switches."""
        with schema.reading(self.engine) as tx:
            rows = tx.execute(sa.select(schema.settings.c.name, schema.settings.c.value)).all()
        self.values = USUAL | {row.name: json.loads(row.value) for row in rows}

    def put(self, name: str, value: Any, wish: tuple[str, dict[str, Any]] | None = None) -> None:
        """Switch something for all processes.

        Args:
            name: of the switch.
            value: plain JSON; None removes it.
            wish: what the learner is asked for with it, written in the same transaction.
        """
        s = schema.settings
        with self.engine.begin() as tx:
            tx.execute(s.delete().where(s.c.name == name))
            if value is not None:
                tx.execute(s.insert().values(name=name, value=json.dumps(value)))
            if wish is not None:
                tx.execute(schema.wishes.insert().values(kind=wish[0], body=json.dumps(wish[1])))
        self.look()
