"""The three calls that come thousands of times a second, answered without the detour through FastAPI.

A request for them that can be read is answered here. Everything else goes on to the routes: they say what was wrong with it.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from noregret.errors import NoRegretError
from noregret.live.server.gate import Receive, Scope, Send

#: For each call: what is sent, and how it is answered.
Calls = Mapping[str, tuple[type[BaseModel], Callable[[str, Any], Awaitable[bytes]]]]


class Quick:
    """An ASGI application in front of the routes.

    Args:
        app: the routes.
        learners: their names.
        calls: by the last part of their path.
        failed: gives the status and the body of an error.
    """

    def __init__(
        self, app: Any, learners: frozenset[str], calls: Calls, failed: Callable[[NoRegretError], tuple[int, bytes]]
    ) -> None:
        self.app, self.learners, self.calls, self.failed = app, learners, calls, failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        parts = scope["path"].split("/") if scope["type"] == "http" and scope["method"] == "POST" else []
        if len(parts) != 4 or parts[1] != "v1" or parts[2] not in self.learners or parts[3] not in self.calls:
            await self.app(scope, receive, send)
            return
        message = await receive()
        model, answer = self.calls[parts[3]]
        try:
            ask = model.model_validate_json(message.get("body", b""))
        except (ValidationError, RecursionError):

            async def again() -> Any:
                return message

            await self.app(scope, again, send)
            return
        try:
            status, data = 200, await answer(parts[2], ask)
        except NoRegretError as error:
            status, data = self.failed(error)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
        if status == 503:
            headers.append((b"retry-after", b"1"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})


_ENCODE = json.JSONEncoder(separators=(",", ":")).encode


def encoded(content: Any) -> bytes:
    """JSON as bytes."""
    return _ENCODE(content).encode()
