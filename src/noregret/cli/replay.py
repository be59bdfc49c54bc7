"""``noregret replay``: what another policy would have earned and cost, from a live learner's log."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer

from noregret._system.plugins import library
from noregret.cli.app import app, print_table
from noregret.errors import InputError


@app.command()
def replay(
    database: Annotated[str, typer.Argument(metavar="DATABASE", help="A file of SQLite or a URL of PostgreSQL.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            metavar="POLICY",
            help="uniform, action:NAME, plan:VERSION, or MODULE:FUNCTION of (observation, step, mask); may be given again.",
        ),
    ] = None,
    least: Annotated[
        float, typer.Option("--least", help="Print no estimate for a policy with fewer effective episodes.")
    ] = 30.0,
) -> None:
    """Estimate what other policies would have earned and cost, from logged probabilities. Nothing is played or changed.

    Both estimates have 95% intervals: importance-weighted by decision, and doubly robust. The effective sample size says by how
    many episodes a policy is really judged; it shrinks exponentially with the length of episodes unless policies are close.
    """
    library("sqlalchemy", "a live learner", "live")
    from noregret.live import schema
    from noregret.live.planner import spec_of
    from noregret.live.replay import estimate, logged, policy_of

    url = schema.url_of(database)
    if schema.is_sqlite(url):
        import os

        if not os.path.exists(schema.file_of(url)):
            raise InputError(f"{database}: there is no such learner")
    engine = schema.connect(url)
    schema.upgrade(engine, database)
    with engine.connect() as connection:
        spec = spec_of(connection)[1]
    estimates = []
    for text in policy or ["uniform"]:
        episodes, left = logged(spec, engine, policy_of(spec, engine, _function(text) or text))
        estimates.append(estimate(text, episodes, left, spec, least))
    engine.dispose()
    for each in estimates:
        rows = [("episodes", f"{each.episodes:,} used, {each.left_out:,} pruned or without known probabilities")]
        rows.append(("effective sample size", f"{each.effective:.1f}"))
        for j, name in enumerate(("reward", *spec.names)):
            bound = f"; held to {'at most' if spec.costs else 'at least'} {spec.limits[j - 1]:g}" if j else ""
            if each.logged:
                rows.append((f"{name}, as logged{bound}", _interval(each.logged[j])))
            if each.weighted is not None and each.robust is not None:
                rows.append((f"{name}, importance-weighted", _interval(each.weighted[j])))
                rows.append((f"{name}, doubly robust", _interval(each.robust[j])))
        if each.refused is not None:
            rows.append(("refused", each.refused))
        print_table(f"Policy {each.policy}", rows)
    if all(each.refused is not None for each in estimates):
        raise InputError("no policy could be judged; expected a log that says more of what they would have done")


def _interval(values: list[float | None]) -> str:
    low, mean, high = values
    return f"{mean:.4g}" if low is None else f"{mean:.4g} [{low:.4g}, {high:.4g}]"


def _function(text: str) -> Any:
    module, colon, name = text.partition(":")
    if not colon or module in ("action", "plan"):
        return None
    function = getattr(import_module(module), name, None)
    if not callable(function):
        raise InputError(f"--policy is {text!r}; expected a function {name} in the module {module}")
    return function
