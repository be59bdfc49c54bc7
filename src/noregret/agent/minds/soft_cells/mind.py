"""The mind named soft-cells: when it plans anew, what it remembers, and what it says of itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from noregret._system.checks import integer
from noregret.agent.minds.protocol import PlayedEpisode, Policy
from noregret.agent.minds.soft_cells.aims import aim_of
from noregret.agent.minds.soft_cells.budget import memory_bound
from noregret.agent.minds.soft_cells.checks import GROUPS, checked, checked_plan
from noregret.agent.minds.soft_cells.contest import Champion, PlanContest, count
from noregret.agent.minds.soft_cells.counts import CountModel, Counts, table_of
from noregret.agent.minds.soft_cells.doubts import Doubts
from noregret.agent.minds.soft_cells.dual import PASSES, PriceSearch
from noregret.agent.minds.soft_cells.forests import ForestModel
from noregret.agent.minds.soft_cells.growth import grown
from noregret.agent.minds.soft_cells.history import EpisodeMemory, Record, Units
from noregret.agent.minds.soft_cells.kernels.sweep import PlanValues, Wish
from noregret.agent.minds.soft_cells.kinds import CELLS, FOREST, NETWORK, ModelKinds, kind_of
from noregret.agent.minds.soft_cells.networks import NetworkModel, QNetwork, takes_part
from noregret.agent.minds.soft_cells.planner import Model, Outlook, Planned, Planner, model_of
from noregret.agent.minds.soft_cells.rehearsal import searched
from noregret.agent.minds.soft_cells.rules import packed, unpacked
from noregret.agent.minds.soft_cells.trials import PACE, PACE_OF_TABLES, RuleTrials
from noregret.agent.minds.soft_cells.types import Array, Arrays, Flags, Observation
from noregret.agent.minds.soft_cells.vectors import Draw, VectorModel, most_prototypes
from noregret.errors import InputError, shown, unknown_name
from noregret.problems.worlds import WorldSpec

if TYPE_CHECKING:
    from noregret.agent.adequacy import Adequacy

_OPTIONS: dict[str, float | None] = {"states": None, "transitions": 100_000, "margin": 0.02}
#: Whole numbers among them are not larger; bytes are computed from them.
_MOST = 1 << 40
#: Numbers that a model tells apart, at most, unless told otherwise.
_STATES = 20_000
#: A model is made anew when the number of episodes has grown by this factor, and after this many episodes at the latest; each
#: for vectors, then for numbers.
_GROWTH, _PATIENCE = (1.2, 1.05), (25, 10)
#: While no episode has met a limit, counts are planned with anew after each episode, or after more where that is so much work.
#: So are tables of vectors after an episode that tried something new.
_WORK = 20_000_000


class SoftCells:
    """Optimistic planning on a model found from data, with a price for each constraint: a :class:`.minds.Mind`.

    The model shares all it learns between steps. For vectors it predicts the next state by regression and spreads it over
    prototypes, merged states that were seen; for numbers it counts. What is unknown is worth the best stretch ever seen.

    Args:
        spec: sizes and limits of the world.
        seed: the same seed and the same episodes give the same plans, bit for bit.
        options: ``states``, the most states that the model tells apart; ``transitions``, how many are kept (vectors);
            ``margin``, the share of a limit that is kept free.

    Raises:
        InputError: an option is unknown or no number in its range.
    """

    name = "soft-cells"
    about = (
        "soft-cells learns a model of the environment; it is inspired by the paper's soft-max and price and has no guarantee "
        "(Algorithm 1: learner='primal-dual-lsvi' with features=)"
    )
    bounded_until = None

    def __init__(self, spec: WorldSpec, seed: int, **options: object) -> None:
        for name in options:
            if name not in _OPTIONS:
                raise unknown_name("option of soft-cells", name, _OPTIONS)
        chosen: dict[str, object] = {**_OPTIONS, **options}
        most = most_prototypes(spec) if spec.dimension else min(_STATES, spec.n_states)
        self.states = most if chosen["states"] is None else integer("states", chosen["states"], 2, _MOST)
        self.transitions = integer("transitions", chosen["transitions"], 1, _MOST)
        margin = chosen["margin"]
        if isinstance(margin, bool) or not isinstance(margin, int | float) or not 0.0 <= margin < 1.0:
            raise InputError(f"margin is {shown(margin)}; expected a number from 0 to below 1")
        self.spec, self.seed = spec, integer("seed", seed, 0)
        self.record = Record(spec)
        self.memory = EpisodeMemory(spec, self.transitions) if spec.dimension else Counts(spec, self.states)
        self.draw = Draw.of(self.seed, spec.dimension) if spec.dimension else None
        self.costs = PriceSearch(spec.n_constraints, float(margin))
        self.planner: Planner | None = None
        self.episodes = self.built = self.settled = self.alarms = self.plans = 0
        self.next = 1  # the number of episodes at which the model is made anew
        self.tally = np.zeros((0, 1 + spec.n_constraints))  # totals of the last episodes of the plan in use
        self.champion: Champion | None = None
        self.trials = RuleTrials(spec.n_actions, 1 + spec.n_constraints, PACE if spec.dimension else PACE_OF_TABLES)
        self.network = QNetwork(spec, self.seed) if takes_part(spec) else None
        self.kinds, self.doubts = ModelKinds(1 + spec.n_constraints, self.network is not None), Doubts()
        self.chosen = 0  # the number of episodes after which it was chosen what plays next

    # -- playing

    def ready(self) -> None:
        """Make a new model or new prices if it is time."""
        if not self.episodes:
            return
        self._settle()
        if self.chosen < self.episodes and self.planner is not None:
            self.chosen, contest = self.episodes, self._contest(self.planner)
            search = partial(searched, self.memory, self.record.units(), (self.seed, 0x5EA2, self.episodes))
            young = self.kinds.young(kind := kind_of(self.planner.model))
            network = (self.kinds.judged(contest, self.trials.eased)[NETWORK], young) if kind == NETWORK else None
            self.trials.choose(self.episodes, contest, network, self.memory.cheapest, search)
            if self.kinds.paid(kind, contest):
                self.trials.relieve(contest, self.kinds.totals[NETWORK] if young else self.tally)

    def _settle(self) -> None:
        """The model and the prices."""
        fresh = self.episodes >= self.next or self.planner is None
        if fresh:
            self._build()
        planner = self.planner
        assert planner is not None
        if isinstance(planner.model, NetworkModel):
            if fresh or (self.network is not None and self.network.playing and self.episodes > self.settled):
                self._practise(planner)
            return
        aim = aim_of(self.record, planner)
        fresh |= planner.hope(self.record, self.costs.owes)
        evaluate = partial(planner.evaluate, episodes=self.episodes)
        often = 1 if aim.passes > PASSES else max(1, self.episodes // 20)
        if not fresh and (not self.costs.off(aim) or self.episodes < self.settled + often):
            self.costs.mix(evaluate, aim)
            return
        self.costs.settle(evaluate, aim, fresh)
        self.settled, self.plans = self.episodes, self.plans + 1

    def _practise(self, planner: Planner) -> None:
        """Let the network learn from all that is kept, and play; nothing is estimated of what it plays."""
        assert self.network is not None and isinstance(self.memory, EpisodeMemory)
        model, wish = self.network.practise(self.memory.transitions(), self.record)
        self.planner, self.network.playing = Planner(model, planner.outlook, self.spec.horizon, wish), True
        self.costs.estimate = np.full(self.spec.n_constraints, np.nan)
        self.settled, self.plans = self.episodes, self.plans + 1

    def chances(self, step: int, observation: Observation, mask: Flags | None = None) -> Array:
        """The probabilities (A,) of the actions; all the same before anything was learned.

        Args:
            step: h, from 0.
            observation: as the mind sees it.
            mask: (A,) which actions can be taken; None for all.
        """
        could = np.ones(self.spec.n_actions, dtype=np.bool_) if mask is None else np.asarray(mask, dtype=np.bool_)
        if (rule := self.trials.rule) is not None and could[action := rule.at(observation)]:
            return np.asarray(np.eye(self.spec.n_actions)[action], dtype=np.float64)
        if self.planner is None:
            return np.asarray(could / could.sum(), dtype=np.float64)
        return self.planner.policy.chances(step, observation, could)

    def steady(self) -> Policy:
        """What plays where nothing is learned: the rule that leads, else the plan; no rule on trial, no partner."""
        plan = self.planner
        return self if plan is None else plan.policy._replace(rule=self.trials.steady(self._contest(plan)))

    def table(self, most: int) -> None:
        """None: before anything was learned there is no table."""

    def plan(self) -> Arrays:
        """The plan in use, with its values; nothing before anything was learned."""
        if self.planner is None:
            return {}
        values = self.planner.values
        rule = {f"rule.{name}": part for name, part in packed([] if self.trials.rule is None else [self.trials.rule]).items()}
        return self.planner.arrays() | {"V": values.V.copy(), "coef": values.coef.copy()} | rule

    def policy(self, plan: Arrays) -> Policy:
        """The policy of a plan, all of which is checked first; an empty plan gives all actions the same chance."""
        if not plan:
            return SoftCells(self.spec, self.seed)
        plan = checked_plan(plan, self.spec, 0 if self.draw is None else len(self.draw.smooth.phases))
        model = model_of(plan, self.draw)
        wish = Wish(plan["prices"], float(plan["sharpness"]), plan["unknown"], model.units.end)
        rules = unpacked({name.removeprefix("rule."): part for name, part in plan.items() if name.startswith("rule.")})
        return Planned(model, wish, PlanValues(plan["V"], plan["coef"]), rules[0] if rules else None)

    # -- learning

    def limit(self, limits: Array, forget: bool) -> None:
        """Hold totals to other limits (m,); the next plan is made for them. ``forget`` the debt of earlier episodes."""
        self.spec = self.record.spec = self.memory.spec = replace(self.spec, limits=limits)
        self.record.bounds = self.record.signs[1:] * self.spec.limits
        self.settled = 0
        self.costs.limit(forget)

    def learn(self, played: PlayedEpisode, counts: bool = True) -> None:
        """Remember an episode, and compare what it brought with what was expected, unless somebody else played it."""
        signals, rule = self.record.signals(played), self.trials.rule
        self.record.add(signals, played.terminated)
        self.memory.add(played, signals)
        self.episodes += 1
        if self.network is not None:
            self.network.saw(len(signals))
        if self.planner is None:
            return
        model = self.planner.model
        if isinstance(model, CountModel) and model.keyed and not model.knows(played):
            self.next = min(self.next, self.built + 1 + model.work(self.spec.horizon) // _WORK)
        if not counts:
            return
        totals, contest = signals.sum(axis=0), self._contest(self.planner)
        self.costs.account(totals[1:], contest.aim)
        if self.planner.looked(played) if rule is None else not rule.plays(played):  # or a mask forbade it
            return
        kind, young = kind_of(model), self.kinds.young(kind_of(model))
        if kind != NETWORK:
            self.doubts.look(played, self.planner, rule is None)
        paid = self.kinds.paid(kind, contest)
        if rule is not None or not young or paid:  # what a young network brings says nothing of plans
            self.trials.add(totals, contest, rule is not None, kind == NETWORK or paid, young)
        if rule is not None and young and paid:
            self.kinds.stand_in()
        if rule is None:
            self.costs.observe(totals[1:], contest.aim)
            self.tally = count(self.tally, totals)
            self.kinds.add(kind, totals)
            if self.network is not None and self.network.playing:
                self.network.observe(totals[1:], contest.aim, self.costs.margin)
            self._compare(contest, young)
        if not young:
            plans = [*self.kinds.judged(contest, self.trials.eased), *([] if self.champion is None else [self.champion.tally])]
            self.trials.judge(contest, plans, self.doubts.off(self.record.apart))

    def _contest(self, planner: Planner) -> PlanContest:
        return PlanContest(self.record.apart, aim_of(self.record, planner))

    def _compare(self, contest: PlanContest, young: bool) -> None:
        """Compare the plan in use with the champion: keep it, crown it, or give it up, unless it is a young network's."""
        best = self.champion
        assert self.planner is not None
        if best is not None and best.planner is self.planner:
            best.tally = self.tally
        elif best is None or contest.won(self.tally, best.tally):
            if best is not None or contest.won(self.tally, None):
                self.champion = Champion(self.planner, self.tally, self.costs.arrays())
        elif not young and contest.lost(self.tally, best.tally):
            self.alarms += 1
            self.costs.restore(best.prices | {"debt": self.costs.debt, "left": self.costs.left})
            if isinstance(best.planner.model, NetworkModel) and kind_of(self.planner.model) != NETWORK:
                self._resume(best.planner)
            else:
                self._play(best.planner, best.tally)

    def _resume(self, planner: Planner) -> None:
        """Let the network play as it is now and go on learning: what a copy of it brought was mostly brought by others."""
        assert self.network is not None
        model = self.network.model(planner.model.units)
        self._play(Planner(model, planner.outlook, self.spec.horizon, planner.wish), self.kinds.totals[NETWORK])
        self.network.playing = True

    def _play(self, planner: Planner, tally: Array) -> None:
        """Let a plan play: a new one, or the champion, whose network does not go on learning."""
        self.planner, self.tally = planner, tally
        if self.network is not None:
            self.network.playing = False

    def _build(self) -> None:
        """A new model from all that is remembered."""
        if self.champion is not None and self.champion.planner is self.planner:
            self.champion.prices = self.costs.arrays()
        outlook = Outlook.of(self.record, units := self.record.units())
        model = self.memory.model(units) if isinstance(self.memory, Counts) else self._vectors(self.memory, units, outlook)
        was, planner = self.planner is not None and self.planner.exact, Planner(model, outlook, self.spec.horizon)
        self._play(planner, self.tally[:0])
        if planner.exact and not was:  # what other models' plans brought says nothing of it
            self.costs.forget()
            self.trials.forget()
        self.built = self.episodes
        if isinstance(model, CountModel) and not self.record.met.all():  # what was tried last is not to be tried again
            self.next = self.built + 1 + model.work(self.spec.horizon) // _WORK
            return
        kind = int(self.spec.dimension == 0)
        self.next = max(self.built + 1, min(math.ceil(_GROWTH[kind] * self.built), self.built + _PATIENCE[kind]))

    def _vectors(self, memory: EpisodeMemory, units: Units, outlook: Outlook) -> Model:
        """A new model of vectors, of the kind whose turn it is.

        Where vectors come back in other episodes and what follows is certain, a table is exact and takes the place of others.
        """
        assert self.draw is not None
        seen, last = memory.transitions(), self.planner
        random = np.random.default_rng([self.seed, 0xCE12, self.episodes])
        if (table := table_of(seen, units, _STATES, bool(self.record.met.all()))) is not None:
            return table
        turn = CELLS if last is None else self.kinds.turn(self._contest(last), self.trials.eased)
        if turn == NETWORK and self.network is not None:
            return self.network.model(units)
        if turn == FOREST and last is not None:
            worth = partial(last.worth, seen, units)
            return ForestModel.learned(seen, units, worth, (self.spec.horizon, random))
        sides = last.model.sides if last is not None and isinstance(last.model, VectorModel) else None
        score = seen.scores(units, np.append(1.0, self.costs.Y / outlook.zoom), self.spec.horizon)
        return VectorModel.learned(self.draw, seen, units, score, (self.states, sides, random))

    # -- telling

    @property
    def dual(self) -> Array:
        """(m,) what one unit of each constraint's total is worth, in raw reward."""
        return np.zeros(self.spec.n_constraints) if self.planner is None else self.planner.dual

    @property
    def estimate(self) -> Array:
        """(m,) the raw totals that the plan in use is expected to bring; nan before the first plan."""
        return np.asarray(self.record.signs[1:] * self.costs.estimate, dtype=np.float64)

    def adequacy(self, fresh: Sequence[PlayedEpisode]) -> Adequacy:
        """Refused: these features were found from data."""
        raise InputError(f"adequacy is for features that were given; expected none of {self.name}, see summary()")

    @property
    def replans(self) -> int:
        """How many plans were made."""
        return self.plans

    def describe(self) -> list[str]:
        """All choices, one line each."""
        spec, planner = self.spec, self.planner
        if planner is None:
            return ["soft-cells: nothing learned yet; all actions have the same chance"]
        lines = self.record.describe() + planner.model.describe()
        lines.append("after an end: every step that would have followed is worth 0 (absorbing)")
        for i, name in enumerate(spec.names):
            sign, seen = self.record.signs[1 + i], "moved by what a network's episodes brought"
            if np.isfinite(self.costs.estimate[i]):
                seen = f"estimate {sign * self.costs.estimate[i]:.4g}, observed - estimate {sign * self.costs.gap[i]:+.3g}"
                seen += f", debt {self.costs.debt[i]:.3g}"
            held = f"{'at most' if spec.costs else 'at least'} {spec.limits[i]:.4g}"
            lines.append(f"{name}: {held}; price {self.dual[i]:.4g} in reward, {seen}")
        lines += self.kinds.describe() if spec.dimension else []
        lines += self.trials.describe() + self.doubts.describe(self.record.apart)
        lines.append(
            f"plans: {self.plans} after {self.episodes} episodes, {self.alarms} given up for a better one; next at {self.next}"
        )
        kept = f", {self.transitions:,} kept transitions" if spec.dimension else ""
        lines.append(f"budget: {self.states:,} states{kept}; at most {self.memory_bound() / 2**20:.0f} MB for ever")
        return lines

    def memory_bound(self) -> int:
        """Bytes that this mind will need at most: two plans, all that is remembered, and the work of making a model."""
        return memory_bound(self.spec, self.states, self.transitions)

    # -- keeping

    def arrays(self) -> Arrays:
        """All that was learned, by name."""
        counters = [self.episodes, self.built, self.settled, self.alarms, self.plans, self.next, self.chosen]
        out: Arrays = {"counters": np.array(counters, dtype=np.int64), "tally": self.tally.copy()}
        groups = {"record": self.record.arrays(), "memory": self.memory.arrays(), "dual": self.costs.arrays()}
        groups |= {"trials": self.trials.arrays(), "kinds": self.kinds.arrays(), "doubts": self.doubts.arrays()}
        if self.network is not None:
            groups["network"] = self.network.arrays()
        if self.planner is not None:
            groups["plan"] = self.planner.arrays()
        if (best := self.champion) is not None:
            more = {} if best.planner is self.planner else best.planner.arrays()
            groups["best"] = best.prices | {"tally": best.tally} | more
        return out | {f"{group}/{name}": value for group, named in groups.items() for name, value in named.items()}

    def grown(self, defaults: Sequence[float], more: int) -> Arrays:
        """The arrays of a mind that knows the same, with new numbers in observations and more actions."""
        return grown(self.arrays(), self.memory.budget + 1 if isinstance(self.memory, Counts) else 0, defaults, more)

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave, all of which is checked first; the plan in use is made again, bit for bit."""
        arrays = checked(arrays, self.spec, self.states)
        groups: dict[str, Arrays] = {name: {} for name in GROUPS}
        try:
            for name, value in arrays.items():
                group, _, rest = name.partition("/")
                groups.get(group, {})[rest] = value
            counters = ("episodes", "built", "settled", "alarms", "plans", "next", "chosen")
            vars(self).update(zip(counters, arrays["counters"].tolist(), strict=True))
            self.tally = arrays["tally"].copy()
            for name in ("trials", "kinds", "doubts", "record", "memory"):
                getattr(self, name).restore(groups[name])
            self.costs.restore(groups["dual"])
            if self.network is not None and groups["network"]:
                self.network.restore(groups["network"])
            self.planner = Planner.again(groups["plan"], self.draw, self.spec.horizon) if groups["plan"] else None
            self.champion, best = None, groups["best"]
            if best:
                planner = Planner.again(best, self.draw, self.spec.horizon) if "prices" in best else self.planner
                assert planner is not None
                self.champion = Champion(planner, best["tally"].copy(), {name: best[name] for name in self.costs.arrays()})
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise InputError(
                f"arrays are not those of soft-cells in such a world ({error!r}); expected what arrays() gave"
            ) from error
