"""The routes: what :class:`noregret.Live` does, over HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

import anyio
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, PlainTextResponse
from starlette.exceptions import HTTPException

import noregret
from noregret.errors import NoRegretError, one_line, printable
from noregret.live.embedded import EmbeddedLog
from noregret.live.errors import UnknownError, status_of
from noregret.live.figures import prometheus
from noregret.live.live import Live
from noregret.live.server import models as m
from noregret.live.server.gate import Gate
from noregret.live.server.quick import Calls, Quick, encoded
from noregret.live.server.tokens import FRESH, Tokens

logger = logging.getLogger("noregret.live")

Route = TypeVar("Route", bound=Callable[..., Any])

#: What a server allows unless told otherwise: bytes of a body, requests a second of a token, requests at once.
BODY, RATE, AT_ONCE = 1 << 20, 10_000.0, 256
_ERRORS: dict[int | str, dict[str, Any]] = {
    code: {"model": m.Error} for code in (400, 401, 403, 404, 409, 410, 413, 415, 422, 429, 503)
}


class Json(Response):
    """JSON that is made once."""

    media_type = "application/json"

    def __init__(self, content: Any, status: int = 200) -> None:
        super().__init__(content if isinstance(content, bytes) else encoded(content), status)


def failed(error: BaseException) -> Json:
    """The answer to a request that was refused: a status and one sentence."""
    status = status_of(error)
    words = printable(" ".join(one_line(error).split()))
    if status >= 500:
        logger.error("failed", extra={"why": words})
    answer = Json({"error": words[:500]}, status)
    if status == 503:
        answer.headers["retry-after"] = "1"
    return answer


class Served:
    """A learner behind the routes: calls that touch only memory are made at once, others in threads.

    Args:
        live: the learner.
    """

    def __init__(self, live: Live) -> None:
        self.live, self.tokens = live, Tokens(live.log.engine)
        self.quick = isinstance(live.log, EmbeddedLog)

    async def kept(self, kind: str, call: Callable[..., tuple[Any, int]], *given: Any) -> bytes:
        """Make a call that gives a ticket, and answer when what it added is kept as it is to be."""
        made, ticket = call(*given) if self.quick else await anyio.to_thread.run_sync(partial(call, *given))
        log = self.live.log
        if ticket and log.waits(kind):
            loop = asyncio.get_running_loop()
            done: asyncio.Future[None] = loop.create_future()

            def finish(error: Exception | None) -> None:
                if not done.done():
                    done.set_result(None) if error is None else done.set_exception(error)

            def told(error: Exception | None) -> None:
                loop.call_soon_threadsafe(finish, error)

            log.call(ticket, told)
            await done
        return encoded(made._asdict())

    async def decide(self, ask: m.AskDecision) -> bytes:
        """Decide."""
        return await self.kept("decision", self.live.desk.decided, ask.observation, ask.episode, ask.step, ask.mask, ask.action)

    async def report(self, ask: m.AskReport) -> bytes:
        """Hear what a decision brought."""
        return await self.kept("report", self.live.desk.reported, ask.decision, ask.reward, ask.costs, ask.taken)

    async def end(self, ask: m.AskEnd) -> bytes:
        """Hear that an episode is over."""
        return await self.kept("end", self.live.desk.ended, ask.episode, ask.terminated, ask.observation)

    async def slowly(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Make a call that waits for the database, in a thread."""
        return await anyio.to_thread.run_sync(partial(call, *given, **named))


def build(
    lives: Mapping[str, Live], *, body: int = BODY, rate: float = RATE, at_once: int = AT_ONCE, loopback: bool = True
) -> Gate:
    """The application that serves learners by name, and closes them at its end.

    Args:
        lives: the learners.
        body: the most bytes of a request.
        rate: requests a second of each token.
        at_once: requests that are worked on at the same time.
        loopback: whether the server listens on loopback alone.
    """
    served = {name: Served(live) for name, live in lives.items()}

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        looking = asyncio.create_task(_look([each.tokens for each in served.values()]))
        yield
        looking.cancel()
        for live in lives.values():
            await anyio.to_thread.run_sync(live.close)

    app = FastAPI(
        title="noregret", version=noregret.__version__, lifespan=life, redoc_url=None, docs_url=None,
        description="A learner inside a running system: decide, report, end. Every call may be repeated safely.",
    )  # fmt: skip
    app.add_exception_handler(NoRegretError, _refused)
    app.add_exception_handler(RequestValidationError, _unread)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(Exception, _broken)
    _add_routes(app, served)
    _add_pages(app, served)
    calls: Calls = {
        "decide": (m.AskDecision, lambda name, ask: served[name].decide(ask)),
        "report": (m.AskReport, lambda name, ask: served[name].report(ask)),
        "end": (m.AskEnd, lambda name, ask: served[name].end(ask)),
    }
    quick = Quick(app, frozenset(served), calls, lambda error: ((answer := failed(error)).status_code, bytes(answer.body)))
    tokens = {name: each.tokens for name, each in served.items()}
    return Gate(quick, tokens, body=body, rate=rate, at_once=at_once, loopback=loopback)


async def _look(every: list[Tokens]) -> None:
    """See new and revoked tokens, again and again, in threads."""
    while True:
        await asyncio.sleep(FRESH)
        for tokens in every:
            await anyio.to_thread.run_sync(tokens.look)


async def _refused(_: Request, error: Exception) -> Response:
    return failed(error)


async def _broken(_: Request, error: Exception) -> Response:
    logger.exception("a request failed", exc_info=error)
    return Json({"error": "something went wrong here; the server's log says what"}, 500)


async def _unread(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    return Json({"error": printable(f"{where}: {first['msg']}")[:300]}, 422)


async def _unknown(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return Json({"error": f"{str(error.detail).lower()}; /docs tells what there is"}, error.status_code)


def _add_routes(app: FastAPI, served: Mapping[str, Served]) -> None:
    def of(learner: str) -> Served:
        if learner not in served:
            raise UnknownError(f"learner is {learner[:60]!r}; expected one of {', '.join(served)}")
        return served[learner]

    def post(path: str, answer: Any, summary: str) -> Callable[[Route], Route]:
        return app.post(f"/v1/{{learner}}/{path}", response_model=answer, responses=_ERRORS, summary=summary)

    def get(path: str, summary: str) -> Callable[[Route], Route]:
        return app.get(f"/v1/{{learner}}/{path}", responses=_ERRORS, summary=summary)

    @post("decide", m.AnswerDecision, "Decide what to do at a step of an episode")
    async def decide(learner: str, ask: m.AskDecision) -> Response:
        return Json(await of(learner).decide(ask))

    @post("report", m.AnswerReceipt, "Say what a decision brought")
    async def report(learner: str, ask: m.AskReport) -> Response:
        return Json(await of(learner).report(ask))

    @post("end", m.AnswerReceipt, "Say that an episode is over")
    async def end(learner: str, ask: m.AskEnd) -> Response:
        return Json(await of(learner).end(ask))

    @post("episodes", m.AnswerReceipt, "Learn from a whole episode, such as one from a log")
    async def tell(learner: str, ask: m.AskEpisode) -> Response:
        given = ask.model_dump()
        return Json((await of(learner).slowly(of(learner).live.tell_episode, **given))._asdict())

    @post("expire", None, "Close what was abandoned")
    async def expire(learner: str, ask: m.AskExpire) -> Response:
        return Json((await of(learner).slowly(of(learner).live.expire, ask.older_than, ask.missing))._asdict())

    @post("prune", None, "Delete events of old episodes that were learned")
    async def prune(learner: str, ask: m.AskPrune) -> Response:
        return Json({"pruned": await of(learner).slowly(of(learner).live.prune, ask.older_than)})

    @post("limit", None, "Hold totals to other limits")
    async def limit(learner: str, ask: m.AskLimit) -> Response:
        await of(learner).slowly(of(learner).live.set_limit, ask.limit, forget=ask.forget)
        return Json(of(learner).live.limits)

    @post("fallback", None, "Switch the fallback on or off")
    async def fallback(learner: str, ask: m.AskSwitch) -> Response:
        await of(learner).slowly(of(learner).live.use_fallback, ask.on)
        return Json({"fallback": ask.on})

    @post("rollback", None, "Go back to an earlier plan, or on to the newest")
    async def rollback(learner: str, ask: m.AskRollback) -> Response:
        await of(learner).slowly(of(learner).live.rollback, ask.version)
        return Json({"pinned": ask.version})

    @post("plan", None, "Wait until all complete episodes are learned and planned with")
    async def plan(learner: str, ask: m.AskNothing) -> Response:
        return Json({"version": await of(learner).slowly(of(learner).live.plan)})

    @post("release", m.AnswerReceipt, "Learn a report in quarantine after all, or drop its episode")
    async def release(learner: str, ask: m.AskRelease) -> Response:
        return Json((await of(learner).slowly(of(learner).live.release, ask.decision, ask.drop))._asdict())

    @get("status", "How the learner does")
    async def status(learner: str) -> Response:
        return Json(await of(learner).slowly(of(learner).live.status))

    @get("quarantine", "The reports that were held back")
    async def quarantine(learner: str) -> Response:
        return Json([each._asdict() for each in await of(learner).slowly(of(learner).live.quarantine)])


def _add_pages(app: FastAPI, served: Mapping[str, Served]) -> None:
    @app.get("/healthz", summary="Whether the server is there")
    async def healthz() -> Response:
        return Json({"status": "ok"})

    @app.get("/readyz", summary="Whether every learner can keep what it hears")
    async def readyz() -> Response:
        trouble = {name: one.live.log.trouble for name, one in served.items() if one.live.log.trouble is not None}
        return Json({"status": "waiting", "trouble": trouble}, 503) if trouble else Json({"status": "ok"})

    @app.get("/v1", summary="The learners that are served")
    async def learners() -> Response:
        return Json({"learners": list(served)})

    @app.get("/metrics", response_class=PlainTextResponse, summary="Figures for Prometheus")
    async def metrics() -> Response:
        text = prometheus({name: await each.slowly(each.live.status) for name, each in served.items()})
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    @app.get("/watch", response_class=HTMLResponse, summary="A page that watches the learners")
    async def watch() -> Response:
        return page("watch.html")

    @app.get("/docs", response_class=HTMLResponse, summary="A page that tells the routes")
    async def docs() -> Response:
        return page("routes.html")

    def page(name: str) -> Response:
        """A page that loads nothing from elsewhere."""
        text = (files("noregret.live.server") / name).read_text(encoding="utf-8")
        policy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:"
        return HTMLResponse(text, headers={"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"})
