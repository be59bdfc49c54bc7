"""Before a request is read: is it small enough, is there room for it, and may whoever sends it do so.

Requests without tokens are taken only from loopback, and only where a learner has none. A page of another site in a browser on
this machine can reach loopback too, so such requests must name loopback as their host, and send JSON, for which a browser asks
for a permission that is never given.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from noregret.live.server.tokens import Tokens

logger = logging.getLogger("noregret.live")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

#: Paths that need no token: they tell whether the server is there.
OPEN = ("/healthz", "/readyz")
_LOOPBACK = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d+)?")


class Refused(Exception):  # noqa: N818  an answer, not an error
    """A request that goes no further."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Bucket:
    """So many requests a second, and twice as many at once.

    Args:
        rate: a second.
    """

    def __init__(self, rate: float) -> None:
        self.rate, self.room = rate, 2.0 * rate
        self._left, self._at = self.room, time.monotonic()

    def take(self) -> bool:
        """Take one, if there is one left."""
        now = time.monotonic()
        self._left = min(self.room, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Gate:
    """The ASGI application in front of the routes.

    Args:
        app: the routes.
        tokens: of each learner, by name.
        body: the most bytes of a request.
        rate: requests a second of each token, or of each address where there are none.
        at_once: requests that are worked on at the same time.
        loopback: whether the server listens on loopback alone.
    """

    def __init__(self, app: Any, tokens: Mapping[str, Tokens], *, body: int, rate: float, at_once: int, loopback: bool) -> None:
        self.app, self.tokens, self.body, self.rate, self.at_once, self.loopback = app, tokens, body, rate, at_once, loopback
        self.busy, self._buckets = 0, dict[str, Bucket]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        self.busy += 1
        try:
            headers = {key.lower(): value.decode("latin-1") for key, value in scope["headers"]}
            self._check(scope, headers)
            await self.app(scope, await self._whole(headers, receive), send)
        except Refused as refused:
            await _answer(send, refused.status, str(refused))
        except TimeoutError:
            await _answer(send, 408, "the request took too long to arrive; expected all of it within 30 s")
        finally:
            self.busy -= 1

    def _check(self, scope: Scope, headers: dict[bytes, str]) -> None:
        path, method = scope["path"], scope["method"]
        if self.busy > self.at_once and path not in OPEN:
            raise Refused(503, f"{self.busy} requests at once; expected at most {self.at_once}")
        if path in OPEN:
            return
        who = self._who(path, method, headers) or f"address {(scope.get('client') or ('?',))[0]}"
        if len(self._buckets) > 10_000:
            self._buckets.clear()
        if not self._buckets.setdefault(who, Bucket(self.rate)).take():
            raise Refused(429, f"too many requests from {who}; expected at most {self.rate:g} a second")
        kind = headers.get(b"content-type", "application/json" if method == "GET" else "")
        if method not in ("GET", "HEAD") and not re.match(r"application/json\b", kind):
            raise Refused(415, "the request is not marked as JSON; expected the header Content-Type: application/json")

    def _who(self, path: str, method: str, headers: dict[bytes, str]) -> str | None:
        """Whose token it is; None where none is needed."""
        parts = path.split("/")
        learner = parts[2] if len(parts) > 2 and parts[1] == "v1" else None
        asked = [self.tokens[learner]] if learner is not None and learner in self.tokens else list(self.tokens.values())
        if self.loopback and not any(tokens.all() for tokens in asked):
            if not _LOOPBACK.fullmatch(headers.get(b"host", "")):
                raise Refused(421, "the request names another host; expected 127.0.0.1 or localhost")
            return None
        if path in ("/watch", "/docs", "/openapi.json"):
            return None  # pages without figures; what they show is asked for with a token
        given = headers.get(b"authorization", "")
        found = next((who for tokens in asked if (who := tokens.role(given)) is not None), None)
        if found is None:
            raise Refused(401, "the token is missing or wrong; expected the header Authorization: Bearer TOKEN")
        name, role = found
        if role == "read" and method not in ("GET", "HEAD"):
            raise Refused(403, f"token {name} may only read; expected one that may write")
        return f"token {name}"

    async def _whole(self, headers: dict[bytes, str], receive: Receive) -> Receive:
        """The whole body, read before anything looks at it."""
        size = headers.get(b"content-length", "")
        if size and (not size.isdecimal() or int(size) > self.body):
            raise Refused(413, f"the request has {size[:20]} bytes; expected at most {self.body:,}")
        if not size and headers.get(b"transfer-encoding") is None:
            return receive
        parts, length, more = [], 0, True
        async with asyncio.timeout(30.0):
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refused(400, "the request broke off")
                parts.append(message.get("body", b""))
                length += len(parts[-1])
                if length > self.body:
                    raise Refused(413, f"the request has more than {self.body:,} bytes; expected at most that")
                more = message.get("more_body", False)
        body, given = b"".join(parts), False

        async def again() -> MutableMapping[str, Any]:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        return again


async def _answer(send: Send, status: int, words: str) -> None:
    """One sentence as JSON."""
    data = json.dumps({"error": words}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode()), (b"connection", b"close")]
    if status in (429, 503):
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
