"""A client for a learner that is served over HTTP. It tries again by itself, which is safe: every call may be repeated.

client = Client("http://127.0.0.1:8080", "gateway", token="nr.edge.…")
d = client.decide([0.3, 0.1, 0.7], episode="eu-742", step=0)
client.report(d.id, 1.0, {"slo": 0})
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from noregret.errors import ConflictError, InputError, NoRegretError, shown
from noregret.live.answers import Decision, Receipt
from noregret.live.errors import GoneError, StorageError, UnknownError

#: Answers after which the same is asked again.
AGAIN = (408, 425, 429, 500, 502, 503, 504)
_KINDS: dict[int, type[NoRegretError]] = {404: UnknownError, 409: ConflictError, 410: GoneError, 503: StorageError}


class Client:
    """One learner behind one address; may be used by any number of threads.

    Args:
        url: of the server.
        learner: its name there.
        token: if the server asks for one.
        timeout: seconds that one attempt may take.
        patience: seconds after which an attempt that failed is not followed by another.
    """

    def __init__(self, url: str, learner: str, token: str | None = None, timeout: float = 10.0, patience: float = 30.0) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"url is {shown(url)}; expected http://HOST:PORT")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._at, self._base = (parts.hostname, parts.port), f"{parts.path.rstrip('/')}/v1/{urllib.parse.quote(learner)}"
        self.timeout, self.patience = timeout, patience
        self._headers = {"Content-Type": "application/json"} | ({} if token is None else {"Authorization": f"Bearer {token}"})
        self._own = threading.local()

    def decide(
        self, observation: Any, episode: str | int, step: int, mask: Sequence[int] | None = None, *, action: Any = None
    ) -> Decision:
        """Ask what to do at a step; see :meth:`noregret.Live.decide`.

        Args:
            observation: numbers, numbers by field, or the number of a state.
            episode: its name.
            step: how many actions of the episode were taken before.
            mask: zeros and ones: which actions can be taken.
            action: what the old system has decided.
        """
        said = {"observation": observation, "episode": episode, "step": step, "mask": mask, "action": action}
        found = self._ask("POST", "decide", said)
        return Decision(**found | {"probabilities": tuple(found["probabilities"])})

    def report(self, decision: str, reward: float, costs: Any, taken: Any = None) -> Receipt:
        """Say what a decision brought; see :meth:`noregret.Live.report`.

        Args:
            decision: its id.
            reward: raw.
            costs: raw costs or utilities.
            taken: the action that was done, if another.
        """
        return Receipt(**self._ask("POST", "report", {"decision": decision, "reward": reward, "costs": costs, "taken": taken}))

    def end(self, episode: str | int, *, terminated: bool = False, observation: Any = None) -> Receipt:
        """Say that an episode is over; see :meth:`noregret.Live.end`.

        Args:
            episode: its name.
            terminated: whether the world ended it.
            observation: what was seen after the last action.
        """
        return Receipt(**self._ask("POST", "end", {"episode": episode, "terminated": terminated, "observation": observation}))

    def plan(self) -> int:
        """Wait until all complete episodes are learned and planned with; returns the version. Decisions never need it."""
        return int(self._ask("POST", "plan", {})["version"])

    def status(self) -> dict[str, Any]:
        """How the learner does; see :meth:`noregret.Live.status`."""
        found: dict[str, Any] = self._ask("GET", "status", None)
        return found

    def _ask(self, method: str, what: str, said: Mapping[str, Any] | None) -> Any:
        data = None if said is None else json.dumps({key: value for key, value in said.items() if value is not None}).encode()
        began, pause = time.monotonic(), 0.05
        while True:
            try:
                status, answer = self._once(method, f"{self._base}/{what}", data)
                words = "" if status == 200 else str(answer.get("error", answer))
            except (OSError, http.client.HTTPException, ValueError) as error:
                self._drop()
                status, answer, words = 503, {}, f"{self._at[0]}: no answer: {type(error).__name__}: {error}"
            if status == 200:
                return answer
            if status not in AGAIN or time.monotonic() - began > self.patience:
                raise _KINDS.get(status, InputError if status < 500 else NoRegretError)(words)
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2.0 * pause, 2.0)

    def _once(self, method: str, path: str, data: bytes | None) -> tuple[int, Any]:
        connection = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = self._kind(*self._at, timeout=self.timeout)
        connection.request(method, path, data, self._headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.will_close:
            self._drop()
        return answer.status, json.loads(text)

    def _drop(self) -> None:
        connection = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None
