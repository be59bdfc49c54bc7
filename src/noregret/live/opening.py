"""Opening a database: a new learner, one that is there, or one whose observations or actions have become more."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

import noregret
from noregret.errors import InputError, shown
from noregret.live import schema
from noregret.live.leader import Leader
from noregret.live.planner import lead
from noregret.live.plans import pack
from noregret.live.spec import LiveSpec

#: What a learner needs when it is made.
NEEDED = ("observations", "actions", "horizon")
#: Options by which a spec that is there is checked: the option, the attributes it must agree on, and what to do instead.
_FIXED = {
    "horizon": ("horizon", "a new database for another horizon"),
    "seed": ("seed", "the seed it was made with"),
    "learner": ("learner", "the mind it was made with"),
    "reward_range": ("reward_range", "the range it was made with"),
    "ranges": ("ranges", "the ranges it was made with"),
    "options": ("options", "the options it was made with"),
}


def settle(engine: sa.Engine, url: str, given: Mapping[str, Any], defaults: Mapping[str, float], keep: int) -> LiveSpec:
    """The spec of a database: the one that is there, or a new one from what is given.

    Args:
        engine: of the database.
        url: of the database.
        given: what :meth:`noregret.Live.open` was given; None where nothing was.
        defaults: a number for each new field of observations, which old ones did not have.
        keep: how many plans are kept.

    Raises:
        InputError: something is missing, or is not what the database holds and cannot become it.
    """
    place = schema.hidden(url)
    found = _stored(engine)
    if found is None:
        made = new(url, given)
        with engine.begin() as tx:
            schema.alone(tx)
            if tx.execute(sa.select(schema.meta.c.value).where(schema.meta.c.name == "spec")).scalar() is None:
                facts = {"spec": made.text(), "library": noregret.__version__, "made": str(time.time())}
                tx.execute(schema.meta.insert(), [{"name": name, "value": value} for name, value in facts.items()])
        found = _stored(engine)
        assert found is not None
    asked = _asked(found, given, place)
    if asked != found:
        _grow(engine, url, found, asked, defaults, keep)
    return asked


def new(url: str, given: Mapping[str, Any]) -> LiveSpec:
    """The spec of a learner that is made now.

    Raises:
        InputError: something is missing, or cannot be.
    """
    missing = [name for name in NEEDED if given.get(name) is None]
    if given.get("limit") is None and given.get("threshold") is None:
        missing.append("limit")
    if missing:
        needed = "expected observations, actions, horizon and limit"
        raise InputError(f"{schema.hidden(url)}: is new, and {missing[0]} is not given; {needed}")
    return LiveSpec.make(**given)


def _stored(engine: sa.Engine) -> LiveSpec | None:
    with schema.reading(engine) as tx:
        text = tx.execute(sa.select(schema.meta.c.value).where(schema.meta.c.name == "spec")).scalar()
    return None if text is None else LiveSpec.read(text)


def _asked(found: LiveSpec, given: Mapping[str, Any], place: str) -> LiveSpec:
    """The spec that is asked for; it may have more fields and actions than the one that was found, and nothing else."""
    plain: dict[str, Any] = {
        "observations": list(found.fields) or _states(found), "actions": list(found.actions) or found.n_actions,
        "horizon": found.horizon, "limit" if found.costs else "threshold": dict(zip(found.names, found.limits, strict=True)),
        "reward_range": found.reward_range, "learner": found.learner, "seed": found.seed, "options": found.options,
        "ranges": None if found.ranges is None else {n: s for n, s in zip(found.names, found.ranges, strict=True) if s is not
        None},
    }  # fmt: skip
    told = {name: value for name, value in given.items() if value is not None and not (name == "options" and not value)}
    if "limit" in told or "threshold" in told:
        plain.pop("limit", None), plain.pop("threshold", None)
    asked = LiveSpec.make(**plain | told)
    for option, (name, instead) in _FIXED.items():
        if getattr(asked, name) != getattr(found, name):
            raise InputError(
                f"{place}: {option} is {shown(getattr(asked, name))}; expected {shown(getattr(found, name))}: {instead}"
            )
    if (asked.costs, asked.names, asked.limits) != (found.costs, found.names, found.limits):
        before = dict(zip(found.names, found.limits, strict=True))
        raise InputError(f"{place}: its limits were {before} when it was made; expected these, or none: set_limit changes them")
    n = len(found.fields)
    if asked.fields[:n] != found.fields or asked.n_states != found.n_states or asked.first != found.first:
        raise InputError(
            f"{place}: observations were {shown(plain['observations'])}; expected these, and new fields after them"
        )
    named = found.actions and asked.actions[: len(found.actions)] != found.actions
    if named or asked.n_actions < found.n_actions or bool(asked.actions) != bool(found.actions):
        raise InputError(f"{place}: actions were {shown(plain['actions'])}; expected these, and new actions after them")
    return asked


def _states(found: LiveSpec) -> Any:
    from gymnasium.spaces import Discrete

    return Discrete(found.n_states, start=found.first)


def _grow(engine: sa.Engine, url: str, found: LiveSpec, asked: LiveSpec, defaults: Mapping[str, float], keep: int) -> None:
    """Let a learner that is there have more fields or actions: a lesson of its own, with a snapshot."""
    found.fixed("observations and actions")
    new = asked.fields[len(found.fields) :]
    lacking = [name for name in new if name not in defaults]
    if lacking:
        raise InputError(f"observations have a new field {lacking[0]!r}; expected its value in old data in defaults=")
    with schema.reading(engine) as tx:
        open_ones = tx.execute(
            sa.select(sa.func.count()).select_from(schema.episodes).where(schema.episodes.c.status == "open")
        ).scalar_one()  # fmt: skip
    if open_ones:
        raise InputError(
            f"{open_ones} episodes are in flight; expected none when observations or actions change: expire() them"
        )
    with lead(engine, url) as connection:
        leader = Leader(connection, found, keep)
        while leader.work():
            pass
        rank = leader.rank + 1
        mind = replace(asked, limits=leader.spec.limits).mind()
        mind.restore(leader.mind.grown([float(defaults[name]) for name in new], asked.n_actions - found.n_actions))
        body = {"spec": json.loads(asked.text()), "defaults": {name: float(defaults[name]) for name in new}}
        facts = leader.facts | {"limits": leader.spec.limits}
        with connection.begin():
            connection.execute(schema.lessons.insert().values(rank=rank, kind="schema", body=json.dumps(body)))
            connection.execute(schema.snapshots.delete())
            connection.execute(
                schema.snapshots.insert().values(
                    rank=rank, version=leader.version, body=json.dumps(facts), data=pack(mind.arrays())
                )
            )
            connection.execute(schema.plans.delete())  # they know nothing of what is new
            connection.execute(schema.settings.delete().where(schema.settings.c.name == "pinned"))
            connection.execute(schema.meta.update().where(schema.meta.c.name == "spec").values(value=asked.text()))
        grew = Leader(connection, asked, keep)
        grew.plan()
