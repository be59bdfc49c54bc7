"""What happens to episodes: each call looks at one of them, checks, and adds to the log, or is refused and changes nothing.

Randomness: the action at a step is drawn by a number that follows from (seed, episode, step) alone. An episode whose name is
the number k has the draws of episode k of :meth:`noregret.Agent.learn`.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from noregret._system.checks import integer
from noregret.agent.episodes import seeds
from noregret.agent.flight import Flight, name_of
from noregret.agent.flight import FlightStep as Step
from noregret.errors import ConflictError, InputError, shown
from noregret.gym.spaces import Mask
from noregret.live import events, schema
from noregret.live.answers import Decision, Expired, Held, Receipt
from noregret.live.controls import Controls
from noregret.live.embedded import EmbeddedLog
from noregret.live.errors import GoneError, StorageError, UnknownError
from noregret.live.guards import Fallback, Guard, fallback_of
from noregret.live.plans import Plan, Plans
from noregret.live.shared import SharedLog
from noregret.live.spec import LiveSpec
from noregret.live.turns import Turn

logger = logging.getLogger("noregret.live")

#: Episodes whose draws are remembered.
_DRAWN = 4096
#: An observation as it came, as the mind sees it, and which actions can be taken.
Seen = tuple[Any, NDArray[Any], Mask | None]


class Desk:
    """Decides, hears reports and ends, and closes what was abandoned. Calls return before the disk has what they added.

    Args:
        spec: sizes and names.
        log: where it goes.
        fallback: see :mod:`noregret.live.guards`.
        plan_age: seconds after which a plan is too old; None for never.
        guard: judges reports.
    """

    def __init__(
        self, spec: LiveSpec, log: EmbeddedLog | SharedLog, fallback: Fallback, plan_age: float | None, guard: Guard
    ) -> None:
        self.spec, self.log, self.guard, self.plan_age = spec, log, guard, plan_age
        self.plans, self.controls = Plans(log.reader, spec), Controls(log.reader)
        self.counts = dict.fromkeys(("decisions", "repeated", "reports", "late", "quarantined", "ends", "completed"), 0)
        self._fallback = fallback_of(spec, fallback)
        self._draws: OrderedDict[str, list[float]] = OrderedDict()
        self._counting = threading.Lock()
        self.has_fallback = self._fallback is not None

    def _count(self, what: str) -> None:
        with self._counting:
            self.counts[what] += 1

    # --- deciding ------------------------------------------------------------------------------------------------------

    def decided(self, observation: Any, episode: str | int, step: int, mask: Any, action: Any) -> tuple[Decision, int]:
        """Decide at a step; the number is the ticket to wait for, 0 if nothing was written.

        Args:
            observation: what is seen.
            episode: its name.
            step: h, from 0.
            mask: which actions can be taken; None for all.
            action: what the old system has decided, if it has.
        """
        name, h = named(episode), integer("step", step, 0, self.spec.horizon - 1)
        seen, could = self.spec.see(h, observation), self.spec.mask(h, mask)
        given = None if action is None else self.spec.number(action, h)
        flight = self.log.glimpse(name) if h else None
        plan = self._plan(self.controls.values["pinned"] if flight is None else flight.steps[0].note["v"])
        what = observation, seen, could
        if not self.log.full:
            try:
                with self.log.turn(name) as turn:
                    known = self._decide(turn, name, h, plan, what, given)
                self._count("decisions" if turn.added else "repeated")
                decision = self._decision(name, h, known)
                return decision if self.log.trouble is None else decision._replace(recorded=False), turn.ticket
            except StorageError:
                if not self.log.full:
                    raise
        asked = flight.steps[h] if flight is not None and h < len(flight.steps) else None
        if asked is None or not asked.asked(seen, could):
            made, note, _ = self._choose(plan, name, h, what, given)
            asked = Step(seen, could, made, note)
        return self._decision(name, h, asked)._replace(recorded=False), 0

    def _decide(self, turn: Turn, name: str, h: int, plan: Plan, what: Seen, given: int | None) -> Step:
        """What was decided at this question before, or is decided now.

        Args:
            turn: the call's hold of the episode.
            name: of the episode.
            h: the step.
            plan: the one that the episode began with, or begins with.
            what: is seen.
            given: what the old system has decided, if it has.
        """
        _, seen, could = what
        if turn.over and h >= len(self._known(turn, name).steps):
            raise GoneError(f"episode {shown(name)} is over; expected a new name for a new episode")
        known = turn.flights.ask(name, h, seen, could)
        if known is not None:
            if given is not None and given != known.action:
                raise ConflictError(f"episode {shown(name)}: step {h} was decided as {self.spec.action(known.action)}")
            return known
        flight = turn.flights[name] if h else None  # it begins with step 0
        if flight is not None and plan.version != flight.steps[0].note["v"]:
            plan = self._plan(flight.steps[0].note["v"])  # this process did not know the episode yet
        made, note, answer = self._choose(plan, name, h, what, given)
        if flight is None:
            known = turn.flights.decide(name, seen, could, made, note)
        else:
            known = flight.decide(seen, could, made, note)
        body = events.body_of(known)
        turn.add("decision", name, h, body, events.written(body, answer))
        return known

    def _plan(self, version: int | None) -> Plan:
        """The plan of a version, or the newest one: where None is asked for, or where the other is gone."""
        if version is None:
            return self.plans.newest
        try:
            return self.plans.get(version)
        except (InputError, OSError) as error:
            logger.error("a plan is gone; the newest decides", extra={"version": version, "why": str(error)})
            return self.plans.newest

    @property
    def plan_in_use(self) -> Plan:
        """The plan of episodes that begin now."""
        return self._plan(self.controls.values["pinned"])

    def _choose(
        self, plan: Plan, name: str, h: int, what: Seen, given: int | None
    ) -> tuple[int, dict[str, Any], events.Answer]:
        """An action, the note that goes with it, and the probabilities."""
        observation, seen, could = what
        note: dict[str, Any] = {"v": plan.version}
        if given is None and self._fallback is not None and self._falls_back(plan):
            answer, note["f"] = events.Answer.of(self._fallback(observation, h, could)), "fallback"
        else:
            answer = plan.answer(h, seen, could)
        made = answer.draw(self._uniforms(name)[h])
        if given is not None:
            note |= {"f": "apprentice", "s": "apprentice", "u": made}
            made, answer = given, events.Answer.of(np.eye(self.spec.n_actions)[given])
        note["P"] = answer.each
        if answer.each[made] < answer.most:
            note["e"] = 1
        return made, note, answer

    def _falls_back(self, plan: Plan) -> bool:
        old = self.plan_age is not None and self.plans.newest.age > self.plan_age
        return bool(plan.version == 0 or old or self.controls.values["fallback"])

    def _uniforms(self, name: str) -> list[float]:
        """The H draws of an episode."""
        found = self._draws.get(name)
        if found is None:
            own = name.isascii() and name.isdecimal() and len(name) < 16 and str(int(name)) == name
            number = (
                int(name) if own else 1 << 64 | int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big")
            )
            found = self._draws[name] = seeds(self.spec.seed, 0, number, self.spec.horizon)[1].tolist()
            while len(self._draws) > _DRAWN:
                self._draws.popitem(last=False)
        return found

    def _decision(self, name: str, h: int, step: Step) -> Decision:
        note, spec = step.note, self.spec
        advised = None if "u" not in note else spec.action(note["u"])
        chances = note["P"] or [float(a == step.action) for a in range(spec.n_actions)]  # a log may not know them
        return Decision(
            f"{name}/{h}", name, h, spec.action(step.action), chances[step.action], tuple(chances), note["v"], "e" in note,
            note.get("f") == "fallback", advised,
        )  # fmt: skip

    # --- hearing -------------------------------------------------------------------------------------------------------

    def reported(self, decision: str, reward: float, costs: Any, taken: Any = None) -> tuple[Receipt, int]:
        """Hear what a decision brought; the number is the ticket to wait for.

        Args:
            decision: its id.
            reward: raw.
            costs: raw costs or utilities.
            taken: the action that was done, if another.
        """
        name, h = _parsed(decision)
        r, c, t = self.spec.earned(h, reward), self.spec.paid(h, costs), None if taken is None else self.spec.number(taken, h)
        self.log.check()
        with self.log.turn(name) as turn:
            flight = self._known(turn, name)
            if h >= len(flight.steps) or (turn.over and flight.steps[h].reward is None):
                if turn.over:
                    raise GoneError(f"episode {shown(name)} is over; expected no report of its step {h} any more")
                known = len(flight.steps)
                raise UnknownError(f"episode {shown(name)} has no decision at step {h}; expected one of its {known}")
            step = flight.steps[h]
            body: dict[str, Any] = {"r": r, "c": c.tolist()} | ({} if t is None or t == step.action else {"t": t})
            fresh, held = step.reward is None, step.note.get("held")
            if fresh and held is not None:
                if body != {key: value for key, value in held.items() if key != "why"}:
                    raise ConflictError(f"episode {shown(name)}: step {h} was reported otherwise, and is in quarantine")
                return Receipt("quarantined", False, held["why"]), self.log.last
            why = self.guard.judge(r, c, self.plans.newest.facts) if fresh else None
            if why is None:
                turn.flights.report(name, r, [c], step=h, taken=body.get("t"))
            if fresh:
                self._count("reports" if why is None else "quarantined")
                if flight.last is not None:
                    self._count("late")
                turn.add("report" if why is None else "held", name, h, body if why is None else body | {"why": why})
                if why is not None:
                    step.note["held"] = body | {"why": why}
            complete = self.settle(turn, name, flight) or turn.over
        if why is not None:
            logger.warning("quarantined", extra={"decision": decision, "why": why})
            return Receipt("quarantined", False, why), turn.ticket
        return Receipt("counted" if fresh else "repeated", complete, None), turn.ticket or self.log.last

    def ended(self, episode: str | int, terminated: bool, observation: Any) -> tuple[Receipt, int]:
        """Hear that an episode is over; the number is the ticket to wait for.

        Args:
            episode: its name.
            terminated: whether the world ended it.
            observation: what was seen last; None where the world ended it.
        """
        name = named(episode)
        self.log.check()
        with self.log.turn(name) as turn:
            flight = self._known(turn, name)
            h = len(flight.steps)
            if observation is None and not terminated:
                raise InputError(f"episode {shown(name)}: observation is None; expected what was seen after its step {h - 1}")
            self.check_whole(name, h, terminated)
            last = flight.steps[-1].observation if observation is None else self.spec.see(h, observation)
            fresh = flight.last is None
            if fresh and turn.over:
                raise GoneError(f"episode {shown(name)} is over; expected no end any more")
            turn.flights.end(name, last, terminated)
            if fresh:
                self._count("ends")
                turn.add("end", name, events.WHOLE, {"x": events.plain(last), "z": bool(terminated)})
            complete = self.settle(turn, name, flight) or turn.over
        return Receipt("counted" if fresh else "repeated", complete), turn.ticket or self.log.last

    def check_whole(self, name: str, steps: int, terminated: bool) -> None:
        """Refuse an episode that was cut, where the learner cannot take such ones.

        Args:
            name: of the episode.
            steps: how many it has.
            terminated: whether the world ended it.

        Raises:
            InputError: it was cut before the horizon.
        """
        if self.spec.whole and steps < self.spec.horizon and not terminated:
            needed = f"expected the horizon {self.spec.horizon} for {self.spec.learner}"
            raise InputError(f"episode {shown(name)} was cut after {steps} steps; {needed}")

    def settle(self, turn: Turn, name: str, flight: Flight) -> bool:
        """Note that an episode is complete, if it is now.

        Args:
            turn: the call's hold of it.
            name: of the episode.
            flight: the episode.
        """
        if turn.over or not flight.complete:
            return False
        turn.add("complete", name, events.WHOLE, events.totals(flight))
        self._draws.pop(name, None)
        self._count("completed")
        return True

    def _known(self, turn: Turn, name: str) -> Flight:
        if name not in turn.flights:
            if turn.over:
                raise GoneError(f"episode {shown(name)} is over and pruned; expected no word of it any more")
            raise UnknownError(f"episode {shown(name)} is unknown; expected one that began with a decision at its step 0")
        return turn.flights[name]

    # --- closing and releasing -----------------------------------------------------------------------------------------

    def expired(self, older_than: float, missing: Mapping[str, Any] | None) -> tuple[Expired, int]:
        """Close what was abandoned; the number is the ticket to wait for."""
        older_than, fill = seconds(older_than), None
        before = time.time() - older_than
        if missing is not None:
            costs = {name: value for name, value in missing.items() if name != "reward"}
            fill = {"r": self.spec.earned(0, missing.get("reward")), "c": self.spec.paid(0, costs).tolist()}
        self.log.check()
        learned, dropped = [], []
        for name in self.log.idle(older_than):
            with self.log.turn(name) as turn:
                if turn.over or name not in turn.flights or turn.heard > before:  # it was heard of meanwhile
                    continue
                flight = turn.flights[name]
                n = events.reported(flight) if fill is None else len(flight.steps) - (flight.last is None)
                if n == 0 or (self.spec.whole and n < self.spec.horizon and not (flight.terminated and n == len(flight.steps))):
                    turn.add("drop", name, events.WHOLE, {"why": "abandoned before enough was known"})
                    dropped.append(name)
                    continue
                events.cut(flight, n, fill)
                turn.add("cut", name, events.WHOLE, {"n": n} | ({} if fill is None else {"fill": fill}))
                self.settle(turn, name, flight)
                learned.append(name)
        if learned or dropped:
            logger.info("expired", extra={"learned": len(learned), "dropped": len(dropped)})
        return Expired(tuple(learned), tuple(dropped)), self.log.last

    def held(self) -> list[Held]:
        """All reports in quarantine."""
        self.log.flush()
        with schema.reading(self.log.engine) as tx:
            rows = tx.execute(self._held()).all()
        return [_held(row.episode, row.step, row.at, json.loads(row.body), self.spec) for row in rows]

    @staticmethod
    def _held() -> sa.Select[Any]:
        e, c = schema.episodes.c, schema.events.c
        told = schema.events.alias()
        again = sa.exists().where(told.c.episode == c.episode, told.c.step == c.step, told.c.kind == "report")
        return (
            sa.select(c.episode, c.step, c.at, c.body)
            .where(schema.is_held, sa.exists().where(e.name == c.episode, e.status == "open"), ~again).order_by(c.seq)
        )  # fmt: skip

    def released(self, decision: str, drop: bool) -> tuple[Receipt, int]:
        """Let a report out of quarantine, or drop its episode; the number is the ticket to wait for."""
        name, h = _parsed(decision)
        self.log.check()
        with self.log.turn(name) as turn:
            flight = self._known(turn, name)
            held = flight.steps[h].note.get("held") if h < len(flight.steps) else None
            if held is None or turn.over:
                raise UnknownError(f"{shown(decision)} is not in quarantine; expected one of quarantine()")
            if drop:
                turn.add("drop", name, events.WHOLE, {"why": held["why"]})
                return Receipt("dropped", False, held["why"]), self.log.last + 1
            del flight.steps[h].note["held"]
            body = {key: value for key, value in held.items() if key != "why"}
            turn.flights.report(name, body["r"], [body["c"]], step=h, taken=body.get("t"))
            turn.add("report", name, h, body)
            complete = self.settle(turn, name, flight)
        return Receipt("counted", complete), turn.ticket


def _held(episode: str, step: int, at: float, body: dict[str, Any], spec: LiveSpec) -> Held:
    costs = dict(zip(spec.names, body["c"], strict=True))
    return Held(f"{episode}/{step}", body["why"], body["r"], costs, at)


def seconds(older_than: Any) -> float:
    """An age in seconds; anything else is refused."""
    if isinstance(older_than, bool) or not isinstance(older_than, int | float) or not older_than >= 0:
        raise InputError(f"older_than is {shown(older_than)}; expected seconds, at least 0")
    return float(older_than)


def named(episode: Any) -> str:
    """The name of an episode as the log keeps it: a number is its digits."""
    found = name_of(episode)
    if found is None or found == "":
        raise InputError(f"episode is {shown(episode)}; expected a name")
    return str(found)


def _parsed(decision: Any) -> tuple[str, int]:
    name, slash, step = decision.rpartition("/") if isinstance(decision, str) and len(decision) <= 220 else ("", "", "")
    if not (slash and name and step.isascii() and step.isdecimal() and len(step) < 10):
        raise InputError(f"decision is {shown(decision)}; expected the id of a decision, such as 'eu-742/23'")
    return named(name), int(step)
