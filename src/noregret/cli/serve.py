"""``noregret serve``: learners over HTTP."""

from __future__ import annotations

import ipaddress
import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from noregret._system.checks import integer
from noregret._system.plugins import library
from noregret.cli import arguments as arg
from noregret.cli.app import app, say
from noregret.errors import InputError

if TYPE_CHECKING:
    from noregret.live import Live


@app.command()
def serve(
    databases: Annotated[
        list[str],
        typer.Argument(metavar="DATABASE...", help="Files of SQLite or URLs of PostgreSQL; NAME=DATABASE names a learner."),
    ],
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; others than loopback need tokens.")
    ] = "127.0.0.1",
    port: Annotated[int, arg.number("--port", "-p", help="The port; 0 for a free one.")] = 8080,
    observations: Annotated[
        str | None,
        typer.Option(
            "--observations", metavar="N|NAMES", help="New learner: how many numbers an observation has, or their names a,b,c."
        ),
    ] = None,
    actions: Annotated[
        str | None,
        typer.Option("--actions", metavar="N|NAMES", help="New learner: how many actions there are, or their names a,b,c."),
    ] = None,
    horizon: Annotated[
        int | None, arg.number("--horizon", "-H", help="New learner: largest number of steps of an episode.")
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option("--limit", metavar="NAME=NUMBER", help="New learner: largest total of a cost in an episode."),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option("--threshold", metavar="NAME=NUMBER", help="New learner, instead of --limit: least total of a utility."),
    ] = None,
    seed: arg.Seed = 0,
    fallback: Annotated[str | None, typer.Option("--fallback", help="The action to take where no plan may decide.")] = None,
    plan_age: Annotated[
        float | None,
        typer.Option("--plan-age", metavar="SECONDS", help="Age at which a plan is too old; then the fallback decides."),
    ] = None,
    sync: Annotated[
        str, typer.Option("--sync", help="Which requests wait until the disk has them: all, reports or none.")
    ] = "reports",
    rate: Annotated[float, typer.Option("--rate", help="Most requests a second for each token.")] = 10_000.0,
    body: Annotated[int, arg.number("--body", help="Largest size of a request, in bytes.")] = 1 << 20,
    at_once: Annotated[int, arg.number("--at-once", help="Most requests answered at the same time.")] = 256,
    new_token: Annotated[
        str | None, typer.Option("--new-token", metavar="NAME", help="Make a token, show it once, and serve nothing.")
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="With --new-token: the token may read, and change nothing.")
    ] = False,
    revoke: Annotated[str | None, typer.Option("--revoke", metavar="NAME", help="Revoke a token, and serve nothing.")] = None,
) -> None:
    """Serve learners over HTTP: decide, report, end; a page that watches them at /watch, its routes at /docs.

    Without a token only loopback is served, and only learners that have none. What happens goes to standard error, as JSON.
    """
    library("sqlalchemy", "a live learner", "live")
    library("fastapi", "noregret serve", "serve")
    library("uvicorn", "noregret serve", "serve")
    spec: dict[str, Any] = {
        "observations": _counted(observations),
        "actions": _counted(actions),
        "horizon": horizon,
        "seed": seed or None,
        "limit": _bounds("--limit", limit),
        "threshold": _bounds("--threshold", threshold),
    }
    named = _named(databases)
    integer("--port", port, 0, 65535)
    if new_token is not None or revoke is not None:
        _tokens(named, spec, new_token, revoke, read_only)
        return
    from noregret.live import Live
    from noregret.live.lines import to_standard_error

    to_standard_error(logging.INFO)

    options: dict[str, Any] = {"fallback": _action(fallback), "plan_age": plan_age, "sync": sync, "planner": "process"}
    if not _is_loopback(host):
        _need_tokens(named, spec, host)
    lives: dict[str, Live] = {}
    try:
        for name, place in named.items():
            lives[name] = Live.open(place, **options, **spec)
        _run(lives, host, port, {"body": body, "rate": rate, "at_once": at_once})
    finally:
        for live in lives.values():
            live.close()


def _run(lives: dict[str, Live], host: str, port: int, limits: dict[str, Any]) -> None:
    import socket

    import uvicorn

    from noregret.live.server.app import build

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise InputError(f"--port is {port}; expected one that is free on {host}: {error.strerror}") from None
    shown = f"[{host}]" if ":" in host else host
    say(f"http://{shown}:{listener.getsockname()[1]}/watch shows {', '.join(lives)}; /docs tells the routes")
    made = uvicorn.Config(
        build(lives, loopback=_is_loopback(host), **limits),
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=20,
        server_header=False,
        h11_max_incomplete_event_size=1 << 16,
        backlog=2048,
    )

    class Server(uvicorn.Server):
        """A server that is done when it has stopped, and does not end by the signal that stopped it."""

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            """Stop gracefully at SIGINT or SIGTERM."""
            before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)

    Server(made).run([listener])


def _tokens(named: dict[str, str], spec: dict[str, Any], new: str | None, gone: str | None, read_only: bool) -> None:
    from noregret.live import schema
    from noregret.live.server import tokens

    for name, place in named.items():
        url = schema.url_of(place)
        if schema.is_sqlite(url) and not Path(schema.file_of(url)).exists():
            raise InputError(f"{place}: there is no such learner; expected one that was served before")
        engine = schema.connect(url)
        schema.upgrade(engine, place)
        if gone is not None:
            tokens.revoke(engine, gone)
            say(f"{name}: token {gone} is worth nothing any more")
        if new is not None:
            say(f"{name}: {tokens.make(engine, new, 'read' if read_only else 'write')}")
        engine.dispose()


def _need_tokens(named: dict[str, str], spec: dict[str, Any], host: str) -> None:
    """Refuse an address that others can reach while a learner has no token; a new learner is made, so that it can have one."""
    from noregret.live import Live
    from noregret.live.server.tokens import known

    for name, place in named.items():
        with Live.open(place, planner=None, **spec) as live:
            if not known(live.log.engine):
                raise InputError(
                    f"--host is {host} and learner {name} has no token; expected one (--new-token NAME), or loopback"
                )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _named(databases: list[str]) -> dict[str, str]:
    """The databases by the name of their learner: what stands before =, or the file's name."""
    out: dict[str, str] = {}
    for text in databases:
        name, equals, place = text.partition("=")
        if not equals or "/" in name:
            name, place = Path(text.partition("?")[0].rpartition("/")[2]).stem, text
        if not name.replace("-", "").replace("_", "").isalnum() or name in out:
            raise InputError(f"learner is {name!r}; expected a name of letters and digits that is not taken: NAME={place}")
        out[name] = place
    return out


def _counted(text: str | None) -> object:
    return None if text is None else int(text) if text.isdecimal() else text.split(",")


def _action(text: str | None) -> object:
    return None if text is None else int(text) if text.isdecimal() else text


def _bounds(option: str, texts: list[str] | None) -> dict[str, float] | None:
    if not texts:
        return None
    out = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            out[name] = float(value)
        except ValueError:
            raise InputError(f"{option} is {text!r}; expected NAME=NUMBER") from None
    return out
