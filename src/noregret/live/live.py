"""A learner inside a running system: decide, report, end, and nothing is lost or learned wrongly.

live = nr.Live.open("sqlite:///policy.db", observations=3, actions=4, horizon=60, limit={"slo": 5})
d = live.decide([0.3, 0.1, 0.7], episode="eu-742", step=0)
live.report(d.id, 1.0, {"slo": 0})
live.end("eu-742", terminated=False, observation=[0.2, 0.1, 0.8])
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from noregret._system.checks import integer
from noregret.errors import FileError, InputError, shown, unknown_name
from noregret.live import figures, logs, schema
from noregret.live.answers import Decision, Expired, Held, Receipt
from noregret.live.desk import Desk, seconds
from noregret.live.embedded import EmbeddedLog
from noregret.live.guards import Fallback, Guard, check_numbers, fallback_of
from noregret.live.leader import all_learned
from noregret.live.opening import new, settle
from noregret.live.planner import ATTEMPT, LOOK, Asked, Background
from noregret.live.pruning import prune
from noregret.live.shared import SharedLog
from noregret.live.spec import FIELDS

logger = logging.getLogger("noregret.live")

#: Where plans may be made, and how many seconds :meth:`Live.plan` waits for somebody else's.
PLANNERS, PATIENCE = ("process", "thread", None), 600.0


class Live:
    """A learner in a database; :meth:`open` makes one. All methods may be called by any number of threads."""

    def __init__(self, url: str, desk: Desk, keep: int, on_alarm: str) -> None:
        self.url, self.desk, self.keep, self.on_alarm = url, desk, keep, on_alarm
        self.spec, self.log = desk.spec, desk.log
        self._closed = threading.Event()
        self._planner: Background | None = None
        self._asked = Asked(desk.log.engine, url, desk.spec, keep)
        self._planning, self._was_alarmed, self._was_on = threading.Lock(), False, False

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse to set what would change nothing, such as ``live.limit = 3``."""
        if not name.startswith("_") and hasattr(self, "_was_on"):
            able = "set_limit, use_fallback or rollback, or open with other options"
            raise InputError(f"live.{name} cannot be set; expected {able}")
        super().__setattr__(name, value)

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        *,
        fallback: Fallback = None,
        plan_age: float | None = None,
        planner: str | None = "process",
        sync: str = "reports",
        widths: float | None = 10.0,
        alarm: float = 0.2,
        on_alarm: str = "tell",
        keep: int = 10,
        defaults: Mapping[str, float] | None = None,
        **spec: Any,
    ) -> Live:
        """Open a learner's database, or make one.

        Args:
            url: sqlite:///FILE, a file, or postgresql://HOST/DATABASE.
            fallback: a fixed action, or a function of (observation, step, mask) that gives an action or the probabilities of
                all. It decides before anything is known, while the plan is older than ``plan_age``, and when it is switched on.
            plan_age: seconds after which a plan is too old; None for never.
            planner: where plans are made: a "process" of its own, a "thread", or None: only :meth:`plan` makes them.
            sync: who waits for the disk: "all", "reports" (and ends), "none"; see :mod:`noregret.live.embedded`.
            widths: how many times its size a number may lie outside of what was learned from, see :mod:`noregret.live.guards`.
            alarm: the share of the last reports in quarantine that is too much.
            on_alarm: what is done then: "tell", or "fallback", which switches it on until somebody switches it off.
            keep: how many plans are kept, to go back to.
            defaults: of new fields of observations, which old ones did not have.
            spec: ``observations``, ``actions``, ``horizon``, ``limit`` or ``threshold``, ``reward_range``, ``ranges``,
                ``learner``, ``seed``, ``options``: see :meth:`noregret.live.spec.LiveSpec.make`. A database that is there knows
                all of them.

        Raises:
            InputError: something is missing, or is not what the database holds.
            FileError: the database cannot be opened, or another process has the file.
        """
        for name in spec:
            if name not in FIELDS:
                raise unknown_name("argument of Live.open", name, FIELDS)
        if planner not in PLANNERS:
            raise InputError(f"planner is {shown(planner)}; expected 'process', 'thread' or None")
        if on_alarm not in ("tell", "fallback") or (on_alarm == "fallback" and fallback is None):
            raise InputError(f"on_alarm is {shown(on_alarm)}; expected 'tell', or 'fallback' where fallback= is given")
        check_numbers({"alarm": 1.0}, alarm=alarm, widths=widths, plan_age=plan_age)
        place, kept = schema.url_of(url), integer("keep", keep, 1)
        if schema.is_sqlite(place) and not os.path.exists(schema.file_of(place)):
            fallback_of(new(place, spec), fallback)  # what cannot be leaves no file behind
        log = EmbeddedLog(place, sync) if schema.is_sqlite(place) else SharedLog(place)
        try:
            known = settle(log.engine, place, spec, defaults or {}, kept)
            log.begin(known)
            live = cls(place, Desk(known, log, fallback, plan_age, Guard(known, widths, alarm)), keep, on_alarm)
            live._begin(planner)
        except BaseException:
            log.close()
            raise
        return live

    def _begin(self, planner: str | None) -> None:
        if isinstance(self.log, EmbeddedLog):
            for name in list(self.log.flights):  # a kill came between the last report and the note that all is there
                with self.log.turn(str(name)) as turn:
                    self.desk.settle(turn, str(name), self.log.flights[name])
        self.desk.plans.look()
        if planner is not None:
            self._planner = Background(self.url, self.keep, planner)
        self._follower = threading.Thread(target=self._follow, name="noregret-plans", daemon=True)
        self._follower.start()

    def _follow(self) -> None:
        """Take new plans and switches, and see that somebody plans."""
        while not self._closed.wait(LOOK):
            try:
                before, plan = self.desk.plans.newest, self.desk.plans.look()
                if plan is not before:
                    price = dict(zip(self.spec.names, plan.facts["price"], strict=True))
                    logger.info("plan", extra={"version": plan.version, "episodes": plan.facts["episodes"], "price": price})
                self.desk.controls.look()
                self._heed()
                if self._planner is not None:
                    self._planner.look()
            except Exception as error:  # whatever it is, the next look may go well
                logger.warning("plans cannot be read", extra={"why": " ".join(str(error).split())[:300]})
                self._closed.wait(ATTEMPT)

    def _heed(self) -> None:
        """Switch the fallback on if there is an alarm and it is to be; whoever switches it off begins to count anew."""
        on, guard = bool(self.desk.controls.values["fallback"]), self.desk.guard
        if self._was_on and not on:
            guard.forget()
        if guard.alarmed and not self._was_alarmed:
            logger.warning("alarm: many reports are held back", extra={"share": guard.share})
        self._was_alarmed = guard.alarmed
        if self._was_alarmed and not on and self.on_alarm == "fallback":
            self.use_fallback()
            on = True
        self._was_on = on

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write down what is left and stop planning."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._follower.join(30.0)
        if self._planner is not None:
            self._planner.close()
        self._asked.close()
        self.log.close()

    # --- episodes ------------------------------------------------------------------------------------------------------

    def decide(self, observation: Any, episode: str | int, step: int, mask: Any = None, *, action: Any = None) -> Decision:
        """Decide what to do at a step of an episode, by the plan that the episode began with.

        It never plans and never waits for a plan. The same question has the same answer, however often it is asked.

        Args:
            observation: what is seen.
            episode: its name; it begins with its step 0.
            step: h, from 0: how many actions of the episode were taken before.
            mask: which actions can be taken: zeros and ones, their names, or a set of numbers; None for all.
            action: what the old system has decided. Then the decision is this one, ``advised`` is what the plan would have
                done, and the episode teaches how the world goes without counting for the price of the limits.

        Raises:
            ConflictError: the step was decided at another observation or mask.
            InputError: the observation or the mask cannot be used, or the step is not the next one.
        """
        decision, ticket = self.desk.decided(observation, episode, step, mask, action)
        if ticket and self.log.waits("decision"):
            self.log.wait(ticket)
        return decision

    def report(self, decision: str, reward: float, costs: Any, taken: Any = None) -> Receipt:
        """Say what a decision brought: in any order, late, or again.

        Args:
            decision: its id.
            reward: raw.
            costs: raw costs or utilities: a mapping from names, a list, or one number.
            taken: the action that was done, where a guard rail overrode the decision.

        Raises:
            ConflictError: something else was reported before.
            UnknownError: there is no such decision.
            GoneError: the episode was closed meanwhile.
            StorageError: the database takes nothing; the same call again is safe.
        """
        return self._kept(*self.desk.reported(decision, reward, costs, taken))

    def end(self, episode: str | int, *, terminated: bool = False, observation: Any = None) -> Receipt:
        """Say that an episode is over after the steps that were decided; reports may still come.

        Args:
            episode: its name.
            terminated: whether the world ended it, so that nothing would have followed; if not, it was cut or took all steps.
            observation: what was seen after the last action. It may be left out where ``terminated``: what follows an end is
                worth 0 wherever that is.

        Raises:
            ConflictError: another end was said before.
            UnknownError: there is no such episode.
            StorageError: the database takes nothing; the same call again is safe.
        """
        return self._kept(*self.desk.ended(episode, terminated, observation))

    def expire(self, older_than: float, missing: Mapping[str, float] | None = None) -> Expired:
        """Close episodes of which nothing was heard for so many seconds.

        Without ``missing`` such an episode is learned as one that was cut after the last step of which everything is known: all
        reports up to it, and what was seen next. If that is nothing, the episode is dropped. Reports that come later are
        refused.

        Args:
            older_than: seconds.
            missing: what a report that did not come counts as, ``{"reward": 0, "slo": 1}``; then all steps but one whose end
                nobody saw are learned.
        """
        expired, ticket = self.desk.expired(older_than, missing)
        self.log.wait(ticket)
        return expired

    def tell_episode(
        self,
        episode: str | int,
        observations: Sequence[Any],
        actions: Sequence[Any],
        rewards: Sequence[float],
        costs: Sequence[Any],
        *,
        terminated: bool = False,
        masks: Sequence[Any] | None = None,
        probabilities: Sequence[Any] | None = None,
        counts: bool = False,
    ) -> Receipt:
        """Learn from a whole episode that somebody else played, such as one from a log.

        Args:
            episode: its name; the same episode told again counts once.
            observations: L+1 of them, the last one after the last action; L will do where the world ended it.
            actions: L of them.
            rewards: (L,) raw.
            costs: L rows of raw costs or utilities.
            terminated: whether the world ended it.
            masks: which actions could be taken at each step; None for all.
            probabilities: of all actions at each step, or of the one that was done, where whoever acted knows them.
            counts: whether its costs count as the learner's own; if not, it only tells how the world goes.

        Raises:
            ConflictError: another episode of this name is known.
            InputError: a part cannot be used; the message names the step.
        """
        whole = logs.WholeEpisode(
            episode, observations, actions, rewards, costs, terminated, masks, probabilities, counts
        )  # fmt: skip
        return self._kept(*logs.told(self.desk, whole))

    @classmethod
    def from_log(
        cls,
        frame: Any,
        url: str | os.PathLike[str],
        *,
        counts: bool = False,
        columns: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Live:
        """Open a learner and teach it what a log holds.

        Args:
            frame: of Polars or pandas, or the path of a Parquet file; one row a step, with a column for each field of an
                observation and for each constraint, and ``episode``, ``step``, ``action``, ``reward``, maybe ``terminated``
                and ``probability``, that of the action or a list of all. What followed the last step of an episode that the
                world did not end is not known, so that step is left out.
            url: of the database.
            counts: whether costs count as the learner's own.
            columns: other names of the columns, ``{"episode": "session"}``.
            options: as for :meth:`open`.
        """
        live = cls.open(url, **options)
        try:
            told = logs.read(live, frame, counts, dict(columns or {}))
        except BaseException:
            live.close()
            raise
        logger.info("log", extra={"episodes": told})
        return live

    def prune(self, older_than: float) -> int:
        """Delete the events of episodes that ended so many seconds ago and that all snapshots hold; returns of how many.

        What was learned stays, and so do names: a late retry is told that its episode is over. ``replay`` sees what is left.
        """
        self.log.flush()
        return prune(self.log.engine, seconds(older_than))

    def _kept(self, receipt: Receipt, ticket: int) -> Receipt:
        if self.log.waits("report"):
            self.log.wait(ticket)
        return receipt

    def quarantine(self) -> list[Held]:
        """The reports that were held back, with the reason of each."""
        return self.desk.held()

    def release(self, decision: str, drop: bool = False) -> Receipt:
        """Learn a report that was held back after all, or ``drop`` its whole episode."""
        receipt, ticket = self.desk.released(decision, drop)
        self.log.wait(ticket)
        return receipt

    # --- planning ------------------------------------------------------------------------------------------------------

    def plan(self) -> int:
        """Learn all that is complete and plan, here and now, or wait until whoever plans has done so; returns the version."""
        self.log.flush()
        until = time.monotonic() + PATIENCE
        with self._planning:
            while True:
                if (self._planner is None and self._asked.work()) or all_learned(self.log.engine):
                    return self.desk.plans.look().version
                if time.monotonic() > until:
                    raise FileError(f"{self.log.place}: nobody planned for {PATIENCE:g} s; expected a planner, see the log")
                time.sleep(LOOK)

    def set_limit(self, limit: Mapping[str, float] | float, *, forget: bool = False) -> None:
        """Hold totals to other limits from the next plan on. Only "soft-cells" can; others refuse.

        Args:
            limit: by name, or a number where there is one constraint.
            forget: what earlier episodes cost too much is not made up for.
        """
        given = limit if isinstance(limit, Mapping) else {self.spec.names[0]: limit}
        if not isinstance(limit, Mapping) and len(self.spec.names) > 1:
            raise InputError(f"limit is {shown(limit)}; expected one by name of {shown(list(self.spec.names))}")
        limits = list(self.spec.limited(dict(self.limits)).limited(given).limits)
        self.desk.controls.put("limits", limits, ("limit", {"limits": limits, "forget": bool(forget)}))
        logger.info("limit", extra={"limits": limits, "forget": forget})

    @property
    def limits(self) -> dict[str, float]:
        """What totals are held to now, by name."""
        return dict(zip(self.spec.names, self.desk.controls.values["limits"] or self.spec.limits, strict=True))

    def use_fallback(self, on: bool = True) -> None:
        """Let the fallback decide from the next decision on, in all processes, or no longer.

        Raises:
            InputError: there is no fallback here.
        """
        if on and not self.desk.has_fallback:
            raise InputError("there is no fallback; expected fallback= when the learner was opened")
        self.desk.controls.put("fallback", bool(on))
        logger.warning("the fallback is switched %s", "on" if on else "off", extra={"on": bool(on)})

    def rollback(self, version: int | None) -> None:
        """Let episodes begin with an earlier plan from now on; None lets them begin with the newest again.

        Raises:
            InputError: the plan is not kept any more.
        """
        if version is not None:
            self.desk.plans.get(integer("version", version, 1, 1 << 62))
        self.desk.controls.put("pinned", version)
        logger.warning("episodes begin with %s", "the newest plan" if version is None else f"plan {version}")

    def versions(self) -> list[int]:
        """The plans that are kept."""
        return self.desk.plans.versions()

    def status(self) -> dict[str, Any]:
        """How it does, as plain JSON: recent totals against limits, prices, plans, quarantine."""
        return figures.status(self)
