"""Tokens: a name and a secret of 256 bits. The database keeps the secret's hash; tokens are compared in constant time.

A token looks like ``nr.NAME.SECRET``. Its role is "write" (everything) or "read" (figures and the page, no switch).
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import re
import secrets
import threading
import time
from typing import NamedTuple

import sqlalchemy as sa

from noregret.errors import InputError, shown
from noregret.live import schema

logger = logging.getLogger("noregret.live")

ROLES = ("write", "read")
#: Seconds after which a server looks for new and revoked tokens.
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
        self._known, self._at, self._looking = known(engine), time.monotonic(), threading.Lock()

    def all(self) -> dict[str, Token]:
        """The tokens as of two seconds ago; a thread looks for new ones, so that no request waits for the database."""
        if time.monotonic() - self._at > FRESH and self._looking.acquire(blocking=False):
            threading.Thread(target=self._look, name="noregret-tokens", daemon=True).start()
        return self._known

    def _look(self) -> None:
        try:
            self._known = known(self.engine)
        except (OSError, sa.exc.SQLAlchemyError) as error:
            logger.warning("tokens cannot be read; the old ones hold", extra={"why": " ".join(str(error).split())[:300]})
        finally:
            self._at = time.monotonic()
            self._looking.release()

    def role(self, header: str) -> tuple[str, str] | None:
        """The name and the role of whoever sent a header ``Bearer nr.NAME.SECRET``; None where it is no token."""
        kind, _, given = header.partition(" ")
        start, _, rest = given.strip().partition(".")
        name, _, secret = rest.partition(".")
        found = self.all().get(name)
        same = hmac.compare_digest(_hash(secret), found.hash if found is not None else "0" * 64)
        return (found.name, found.role) if found is not None and same and kind.lower() == "bearer" and start == "nr" else None
