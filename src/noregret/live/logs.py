"""Logs that teach: whole episodes from elsewhere, told one by one or read from a frame or a Parquet file.

What a log holds tells how the world goes. It counts for the price of the limits only if it is said to: somebody else's
violations are not the learner's debt.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from noregret._system.plugins import library
from noregret.agent.flight import Flight
from noregret.agent.flights import numbers
from noregret.errors import ConflictError, InputError, shown, unknown_name
from noregret.live import events
from noregret.live.answers import Receipt
from noregret.live.desk import Desk, named
from noregret.live.errors import GoneError
from noregret.live.spec import LiveSpec

if TYPE_CHECKING:
    from noregret.live.live import Live

#: The columns of a log besides those of observations and constraints; the last two may be missing.
COLUMNS = ("episode", "step", "action", "reward", "terminated", "probability")


class WholeEpisode(NamedTuple):
    """An episode of L steps that somebody else played; :meth:`noregret.Live.tell_episode` says what each part is."""

    episode: str | int
    observations: Sequence[Any]
    actions: Sequence[Any]
    rewards: Sequence[float]
    costs: Sequence[Any]
    terminated: bool = False
    masks: Sequence[Any] | None = None
    probabilities: Sequence[Any] | None = None
    counts: bool = False

    def check(self, horizon: int) -> None:
        """Refuse an episode that is too long, or whose parts are not of one length.

        Raises:
            InputError: a part is too long or too short.
        """
        L = len(self.actions)
        if not 1 <= L <= horizon:
            raise InputError(f"actions has {L} entries; expected 1 to the horizon {horizon}")
        for what in ("observations", "rewards", "costs", "masks", "probabilities"):
            part, n = getattr(self, what), L + (what == "observations" and not self.terminated)
            if part is not None and len(part) != n and not (what == "observations" and self.terminated and len(part) == L + 1):
                raise InputError(f"{what} has {len(part)} entries; expected {n} for {L} actions")

    def flight(self, spec: LiveSpec, name: str) -> Flight:
        """The episode as if it had been decided and reported here.

        Raises:
            InputError: a part cannot be used; the message names the step.
        """
        flights, L = spec.flights(), len(self.actions)
        for h in range(L):
            action, could = spec.number(self.actions[h], h), spec.mask(h, None if self.masks is None else self.masks[h])
            if could is not None and not could[action]:
                raise InputError(f"step {h}: action is {shown(self.actions[h])}; expected one that its mask allows")
            note: dict[str, Any] = {"v": 0, "s": "log"} | self._chances(h, spec.n_actions, action)
            if not self.counts:
                note["f"] = "log"
            flights.decide(name, spec.see(h, self.observations[h]), could, action, note)
            flights.report(name, spec.earned(h, self.rewards[h]), [spec.paid(h, self.costs[h])], step=h)
        last = self.observations[L] if len(self.observations) > L else self.observations[L - 1]
        flights.end(name, spec.see(L, last), self.terminated)
        return flights[name]

    def _chances(self, h: int, n: int, action: int) -> dict[str, Any]:
        """What is known of the chances at a step: ``P`` of all actions, or ``p`` of the one that was done."""
        if self.probabilities is None:
            return {"P": None}
        told = self.probabilities[h]
        chances = numbers(f"step {h}: probabilities", told)
        if chances.shape == () and 0.0 < chances <= 1.0:
            return {"P": None, "p": float(chances)}
        if chances.shape != (n,) or not (chances >= 0).all() or abs(chances.sum() - 1.0) > 1e-6 or not chances[action] > 0:
            wanted = f"{n} that sum to 1, that of the action above 0, or its alone"
            raise InputError(f"step {h}: probabilities are {shown(told)}; expected {wanted}")
        return {"P": chances.tolist()}


def told(desk: Desk, whole: WholeEpisode) -> tuple[Receipt, int]:
    """Add a whole episode to the log; the number is the ticket to wait for.

    Raises:
        ConflictError: another episode of this name is known.
        InputError: a part cannot be used; the message names the step.
    """
    name = named(whole.episode)
    whole.check(desk.spec.horizon)
    desk.check_whole(name, len(whole.actions), whole.terminated)
    flight = whole.flight(desk.spec, name)
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
        turn.add("end", name, events.WHOLE, {"x": events.plain(flight.last), "z": flight.terminated})
        turn.flights.take(name, flight)
        desk.settle(turn, name, flight)
    return Receipt("counted", True), turn.ticket


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
    for whole in episodes(live.spec, frame, columns):
        told(live.desk, whole._replace(counts=counts))
        n += 1
    live.log.flush()
    return n


def episodes(spec: LiveSpec, frame: Any, columns: dict[str, str]) -> Iterator[WholeEpisode]:
    """The episodes of a frame. What followed the last step of one that the world did not end nobody knows: it is left out.

    Args:
        spec: names of fields and constraints, which are columns; a numbered observation is the column ``observation``.
        frame: of Polars or pandas, or the path of a Parquet file.
        columns: other names of ``episode``, ``step``, ``action``, ``reward``, ``terminated``, ``probability``.

    Raises:
        InputError: a column is missing, or is not known.
    """
    for name in columns:
        if name not in COLUMNS:
            raise unknown_name("column", name, COLUMNS)
    if isinstance(frame, str | os.PathLike):
        polars = library("polars", "a Parquet file", "parquet")
        frame = polars.read_parquet(frame)
    data = {name: list(frame[name]) for name in frame.columns}
    called = {name: columns.get(name, name) for name in COLUMNS}
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
        known = rows if ended else rows[:-1]
        if known:
            chances = data.get(called["probability"])
            yield WholeEpisode(
                str(name), at, [data[called["action"]][i] for i in known],
                [float(data[called["reward"]][i]) for i in known], [[float(data[c][i]) for c in spec.names] for i in known],
                ended, probabilities=None if chances is None else [chances[i] for i in known],
            )  # fmt: skip
