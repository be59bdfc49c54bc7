"""Logs that teach: whole episodes from elsewhere, told one by one or read from a frame or a Parquet file.

What a log holds tells how the world goes. It counts for the price of the limits only if it is said to: somebody else's
violations are not the learner's debt.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret._system.plugins import library
from noregret.errors import ConflictError, InputError, shown
from noregret.live import events
from noregret.live.desk import Desk, Receipt, named
from noregret.live.errors import GoneError

if TYPE_CHECKING:
    from noregret.live.live import Live


def told(
    desk: Desk,
    episode: str | int,
    observations: Sequence[Any],
    actions: Sequence[Any],
    rewards: Sequence[float],
    costs: Sequence[Any],
    *,
    terminated: bool = False,
    masks: Sequence[Any] | None = None,
    probabilities: Sequence[Sequence[float]] | None = None,
    counts: bool = False,
) -> tuple[Receipt, int]:
    """Add a whole episode to the log; the number is the ticket to wait for.

    Args:
        desk: where it is heard.
        episode: its name; the same episode told again counts once.
        observations: L+1 of them, the last one after the last action; L where the world ended it.
        actions: L of them.
        rewards: (L,) raw.
        costs: L rows of raw costs or utilities.
        terminated: whether the world ended it.
        masks: which actions could be taken at each step; None for all.
        probabilities: of all actions at each step, where whoever acted knows them.
        counts: whether its costs count as the learner's own.

    Raises:
        ConflictError: another episode of this name is known.
        InputError: a part cannot be used; the message names the step.
    """
    spec, name, L = desk.spec, named(episode), len(actions)
    if not 1 <= L <= spec.horizon:
        raise InputError(f"actions has {L} entries; expected 1 to the horizon {spec.horizon}")
    wanted: dict[str, tuple[Any, int]] = {
        "observations": (observations, L + (not terminated)),
        "rewards": (rewards, L),
        "costs": (costs, L),
    }
    wanted |= {"masks": (masks, L), "probabilities": (probabilities, L)}
    for what, (given, n) in wanted.items():
        if given is not None and len(given) != n and not (what == "observations" and terminated and len(given) == L + 1):
            raise InputError(f"{what} has {len(given)} entries; expected {n} for {L} actions")
    desk.check_whole(name, L, terminated)
    flights = spec.flights()
    for h in range(L):
        action, could = spec.number(actions[h], h), spec.mask(h, None if masks is None else masks[h])
        if could is not None and not could[action]:
            raise InputError(f"step {h}: action is {shown(actions[h])}; expected one that its mask allows")
        note: dict[str, Any] = {"v": 0, "s": "log", "P": _chances(probabilities, h, spec.n_actions, action)}
        if not counts:
            note["f"] = "log"
        flights.decide(name, spec.see(h, observations[h]), could, action, note)
        flights.report(name, spec.earned(h, rewards[h]), [spec.paid(h, costs[h])], step=h)
    last = observations[L] if len(observations) > L else observations[L - 1]
    flights.end(name, spec.see(L, last), terminated)
    flight = flights[name]
    desk.log.check()
    with desk.log.turn(name) as turn:
        if name in turn.flights:
            if not turn.over or _content(turn.flights[name]) != _content(flight):
                raise ConflictError(f"episode {shown(name)} is known with other content; expected another name")
            return Receipt("repeated", True), desk.log.last
        if turn.over:
            raise GoneError(f"episode {shown(name)} is over and pruned; expected another name")
        for h, step in enumerate(flight.steps):
            turn.add("decision", name, h, events.body_of(step))
            assert step.values is not None
            turn.add("report", name, h, {"r": step.reward, "c": step.values.tolist()})
        assert flight.last is not None
        turn.add("end", name, events.WHOLE, {"x": events.plain(flight.last), "z": bool(terminated)})
        turn.flights.take(name, flight)
        desk.settle(turn, name, flight)
    return Receipt("counted", True), turn.ticket


def _chances(given: Sequence[Sequence[float]] | None, h: int, n: int, action: int) -> list[float] | None:
    if given is None:
        return None
    chances = np.asarray(given[h], dtype=np.float64)
    if chances.shape != (n,) or not (chances >= 0).all() or abs(chances.sum() - 1.0) > 1e-6 or not chances[action] > 0:
        raise InputError(
            f"step {h}: probabilities are {shown(given[h])}; expected {n} that sum to 1, that of the action above 0"
        )
    return [float(chance) for chance in chances]


def _content(flight: Any) -> Any:
    steps = [
        (s.observation.tolist(), s.action, s.reward, None if s.values is None else s.values.tolist()) for s in flight.steps
    ]
    return steps, None if flight.last is None else flight.last.tolist(), flight.terminated


def read(live: Live, frame: Any, counts: bool, columns: dict[str, str]) -> int:
    """Tell every episode of a frame; returns how many there were.

    Args:
        live: the learner.
        frame: of Polars or pandas, or the path of a Parquet file; one row a step.
        counts: whether costs count as the learner's own.
        columns: what ``episode``, ``step``, ``action``, ``reward``, ``terminated`` and ``probability`` are called there.
    """
    n = 0
    for episode in episodes(live.spec, frame, columns):
        live.tell_episode(**episode, counts=counts, wait=False)
        n += 1
    live.log.flush()
    return n


def episodes(spec: Any, frame: Any, columns: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The episodes of a frame, as :func:`told` takes them.

    Args:
        spec: names of fields and constraints, which are columns; a numbered observation is the column ``observation``.
        frame: of Polars or pandas, or the path of a Parquet file.
        columns: other names of ``episode``, ``step``, ``action``, ``reward``, ``terminated``.

    Raises:
        InputError: a column is missing.
    """
    if isinstance(frame, str | os.PathLike):
        polars = library("polars", "a Parquet file", "parquet")
        frame = polars.read_parquet(frame)
    data = {name: list(frame[name]) for name in frame.columns}
    called = {name: columns.get(name, name) for name in ("episode", "step", "action", "reward", "terminated")}
    fields = list(spec.fields) or ["observation"]
    for name in (called["episode"], called["step"], called["action"], called["reward"], *fields, *spec.names):
        if name not in data:
            raise InputError(
                f"the log has no column {name!r}; expected one for each of {shown([*called.values(), *fields])}",
            )
    order: dict[Any, list[int]] = {}
    for i, name in enumerate(data[called["episode"]]):
        order.setdefault(name, []).append(i)
    for name, rows in order.items():
        rows.sort(key=lambda i: data[called["step"]][i])
        if [data[called["step"]][i] for i in rows] != list(range(len(rows))):
            raise InputError(f"episode {shown(name)}: its steps are not 0 to {len(rows) - 1}; expected each once")
        at = [[float(data[f][i]) for f in fields] if spec.fields else int(data["observation"][i]) for i in rows]
        ended = called["terminated"] in data and bool(data[called["terminated"]][rows[-1]])
        taken = rows if ended else rows[:-1]  # what followed the last step of a log nobody knows
        if taken:
            yield {
                "episode": str(name), "observations": at, "actions": [data[called["action"]][i] for i in taken],
                "rewards": [float(data[called["reward"]][i]) for i in taken],
                "costs": [[float(data[c][i]) for c in spec.names] for i in taken], "terminated": ended,
            }  # fmt: skip
