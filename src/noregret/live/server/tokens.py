"""Tokens: a name and a secret of 256 bits. The database keeps the secret's hash; tokens are compared in constant time.

A token looks like ``nr.NAME.SECRET``. Its role is "write" (everything) or "read" (figures and the page, no switch).
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import time
from typing import NamedTuple

import sqlalchemy as sa

from noregret.errors import InputError, shown
from noregret.live import schema

logger = logging.getLogger("noregret.live")

ROLES = ("write", "read")
#: Seconds between two looks of a server for new and revoked tokens.
FRESH = 2.0


class Token(NamedTuple):
    """What the database knows of a token."""

    name: str
    hash: str
    role: str
    at: float


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def make(engine: sa.Engine, name: str, role: str) -> str:
    """Make a token; it is shown now and never again.

    Args:
        engine: of the learner's database.
        name: letters, digits, - and _.
        role: "write" or "read".

    Raises:
        InputError: the name cannot be used, or is taken.
    """
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise InputError(f"token is {shown(name)}; expected letters, digits, - and _, at most 64")
    if role not in ROLES:
        raise InputError(f"role is {shown(role)}; expected write or read")
    secret = secrets.token_urlsafe(32)
    try:
        with engine.begin() as tx:
            tx.execute(schema.tokens.insert().values(name=name, hash=_hash(secret), role=role, at=time.time()))
    except sa.exc.IntegrityError:
        raise InputError(f"token is {shown(name)}; expected a name that is not taken") from None
    return f"nr.{name}.{secret}"


def revoke(engine: sa.Engine, name: str) -> None:
    """Make a token worth nothing.

    Raises:
        InputError: there is none of this name.
    """
    with engine.begin() as tx:
        if not tx.execute(schema.tokens.delete().where(schema.tokens.c.name == name)).rowcount:
            raise InputError(f"token is {shown(name)}; expected one of {shown(list(known(engine)))}")


def known(engine: sa.Engine) -> dict[str, Token]:
    """All tokens by name."""
    with schema.reading(engine) as tx:
        rows = tx.execute(sa.select(schema.tokens)).all()
    return {row.name: Token(row.name, row.hash, row.role, row.at) for row in rows}


class Tokens:
    """The tokens of one learner, as a server holds them.

    Args:
        engine: of its database.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self._known = known(engine)

    def all(self) -> dict[str, Token]:
        """The tokens as they were looked at last; no request waits for the database."""
        return self._known

    def look(self) -> None:
        """Look for new and revoked tokens; while the database cannot be read the old ones hold."""
        try:
            self._known = known(self.engine)
        except (OSError, sa.exc.SQLAlchemyError) as error:
            logger.warning("tokens cannot be read; the old ones hold", extra={"why": " ".join(str(error).split())[:300]})

    def role(self, header: str) -> tuple[str, str] | None:
        """The name and the role of whoever sent a header ``Bearer nr.NAME.SECRET``; None where it is no token."""
        kind, _, given = header.partition(" ")
        start, _, rest = given.strip().partition(".")
        name, _, secret = rest.partition(".")
        found = self.all().get(name)
        same = hmac.compare_digest(_hash(secret), found.hash if found is not None else "0" * 64)
        return (found.name, found.role) if found is not None and same and kind.lower() == "bearer" and start == "nr" else None
