"""Simple rules on trial: constant actions and rules of a few lines, which no plan may be clearly worse than.

At most every fourth episode is a trial, and few in all: 2.4 √k of k. Constant actions come first, where there are few of them
all, else the cheapest, the middle one and both ends. Then new rules, the best of many that were rehearsed (:mod:`.rehearsal`),
and the most hopeful of those tried before take turns. Only a rule that may be better than what plays is tried.

A rule that is clearly better than the last plans *leads*: it plays, and plans play every few episodes until their last
episodes are as good.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from noregret.agent.minds.soft_cells.contest import KEPT, MARGIN, STRICT, PlanContest, count, pair
from noregret.agent.minds.soft_cells.rehearsal import PARENTS, Found
from noregret.agent.minds.soft_cells.rules import SimpleRule, constant, packed, unpacked
from noregret.agent.minds.soft_cells.trust import Trust
from noregret.agent.minds.soft_cells.types import Array, Arrays, Integers

#: Constant actions that are all tried, at most; of more actions only some are. Rules on trial, at most.
_ALL, MOST_RULES = 8, 60
#: At most every so many episodes one is a trial; of k episodes at most so many √k.
_EVERY, _SHARE = 4, 2.4
#: A trial must be better by hope: so many standard errors are added to what it brought.
_HOPE = 1.0
#: Episodes of a rule and of the last plans at least before the rule leads, and the standard errors by which it is better.
_FEWEST, _PLANS, _ERRORS = 4, 8, 1.0
#: Episodes of plans that are remembered. Where a rule leads, plans play every k over the second episodes, or more seldom: twice
#: as seldom where they were worse by the last in ranges of returns. Over the third where observations are numbers: only
#: constant actions are tried there, from which nothing is learned.
LATELY, PACE, PACE_OF_TABLES, _BEHIND = 16, 50, 1000, 0.1
#: A rule that does not lead is tried so often at most.
_SOME = 8
#: Episodes that the usual variance of rules is worth beside a rule's own.
_USUAL = 8
#: A rule breaks its own promise by what it misses beyond luck, whose variance is taken so many times: two standard errors.
_SURE = 4.0
#: The least that a partner brings, in ranges of returns; how much may be saved and owed, in scales.
_GAIN, _SAVED, _OWES = 0.005, 1.2, 3.0
#: A rule plays in place of a plan that owes so much, in scales; it saves so much at least. No more than the third is
#: put aside for later.
_OWED, _SAVES, _KEPT_FREE = 0.5, 0.2, 1.0

#: Finds new rules: given those that were tried, those to begin with, and how good mean totals (R,1+m) are.
Search = Callable[[Sequence[SimpleRule], Sequence[SimpleRule], Callable[[Array], Array]], Found]


class RuleTrials:
    """What rules brought, and which of them plays the next episode.

    Args:
        n_actions: A.
        n_signals: J.
        pace: where a rule leads, a plan plays every k over this episodes, or more seldom.
    """

    def __init__(self, n_actions: int, n_signals: int, pace: int = PACE) -> None:
        self.n_actions, self.J, self.pace = n_actions, n_signals, pace
        some = sorted({0, (n_actions - 1) // 2, n_actions // 2, n_actions - 1})
        self.rules = [constant(a) for a in (range(n_actions) if n_actions <= _ALL else some)]
        self.totals = [np.zeros((0, n_signals)) for _ in self.rules]
        self.promised = np.full((len(self.rules), n_signals), np.nan)  # estimated totals, of rules that were rehearsed
        self.lately = np.zeros((0, n_signals))  # of the last plans
        self.playing = self.leader = -1  # the rule that plays the next episode, and the one that leads; -1 for the plan
        self.partner = -1  # a dearer rule that plays as often as the leader saves enough for it; -1 for none
        self.saved = np.zeros(n_signals - 1)  # by how much bounds were met since a rule leads, in all
        self.made = 0  # turns of new rules and of rules that may be better
        self.pool: list[SimpleRule] = []  # what the next search begins with

    @property
    def rule(self) -> SimpleRule | None:
        """The rule that plays the next episode; None where the plan does."""
        return self.rules[self.playing] if self.playing >= 0 else None

    def choose(
        self,
        episodes: int,
        contest: PlanContest,
        network: tuple[Array, bool] | None,
        cheapest: Callable[[], int],
        search: Search,
    ) -> None:
        """Choose what plays the next episode.

        Args:
            episodes: all that were learned from.
            contest: what totals are compared by.
            network: what a network's plans brought, and whether it is young and plays although a rule leads; None where another
                plan plays.
            cheapest: tells the action whose steps cost least.
            search: finds new rules.
        """
        contest = self._wide(contest)
        self.playing = self.partner if self._affords(contest) else self.leader
        if (network is not None and network[1]) or (self.leader >= 0 and episodes % self._pause(episodes, contest) == 0):
            self.playing = -1
        if episodes < _EVERY or episodes % _EVERY != 1 or self.n_actions < 2:
            return
        if not self.made and self.n_actions > _ALL:
            likely = cheapest()
            self.rules = [rule for rule in self.rules if rule.actions[0] != likely] + [constant(likely)]
            self.totals = [np.zeros((0, self.J)) for _ in self.rules]
            self.promised = np.full((len(self.rules), self.J), np.nan)
        if (tried := self._next(episodes, contest, self.lately if network is None else network[0][-LATELY:], search)) >= 0:
            self.playing = tried

    def _wide(self, contest: PlanContest) -> PlanContest:
        """The contest with a range of returns that is no less than what a broken limit may earn.

        Where nearly all episodes are alike, returns lie close together, and a miss would cost next to nothing.
        """
        known = np.array([t.mean(axis=0) for t in self.totals if len(t) >= _FEWEST]).reshape(-1, self.J)
        met = (known[:, 1:] >= contest.aim.bounds).all(axis=1)
        if contest.apart <= 0.0 or not met.any():
            return contest
        return contest._replace(apart=max(contest.apart, float(known[:, 0].max() - known[met, 0].max())))

    def _pause(self, episodes: int, contest: PlanContest) -> int:
        """Every so many episodes a plan plays although a rule leads: more seldom later, and where plans were much worse."""
        both = [self.leader] if self.partner < 0 else [self.leader, self.partner]
        behind = float(self._scores(contest, 0.0)[both].max()) - contest.score(self.lately)
        return max(int(episodes / self.pace * (1.0 + max(behind, 0.0) / _BEHIND)), 2)

    def _affords(self, contest: PlanContest) -> bool:
        """Whether the partner's next episode leaves something of what was saved."""
        if self.leader < 0 or self.partner < 0:
            return False
        left = self.saved + self._mean(self.partner, self._trust())[1:] - contest.aim.bounds
        return bool((left >= MARGIN * contest.aim.scale).all())

    def relieve(self, contest: PlanContest, totals: Array) -> None:
        """Let a cheap rule play the next episode where plans cost more than they may, all in all.

        Args:
            contest: what totals are compared by.
            totals: of the plans' last episodes.
        """
        if self.playing < 0 and self.leader < 0 and len(totals) and (self.saved < -_OWED * contest.aim.scale).any():
            self.playing = self._relief(contest, totals.mean(axis=0))

    def eased(self, contest: PlanContest, totals: Array) -> Array:
        """What a network's plans bring (n,J) together with the rule that pays for what they miss; the same where none does."""
        if not contest.nearly(totals) or (i := self._relief(contest, totals.mean(axis=0))) < 0:
            return totals
        mean, lead = totals.mean(axis=0), self._mean(i, self._trust())
        share = pair(contest, lead, mean[None])[1][0]
        return np.asarray(totals + (1.0 - share) * (lead - mean), dtype=np.float64)

    def _relief(self, contest: PlanContest, mean: Array) -> int:
        """The rule that loses least reward for what it saves in place of a plan with such mean totals (J,); -1 for none."""
        trust = self._trust()
        best, least = -1, np.inf
        for i, totals in enumerate(self.totals):
            if len(totals):
                rule = self._mean(i, trust)
                saves = float(((rule[1:] - contest.aim.bounds) / contest.aim.scale).min(initial=1.0))
                if saves >= _SAVES and (loss := float(mean[0] - rule[0]) / saves) < least:
                    best, least = i, loss
        return best

    def _mixed(self, contest: PlanContest, means: Array) -> Array:
        """(R,) how good rules with such mean totals (R,J) are, alone or as a partner."""
        trust = self._trust()
        tried = [self.leader] if self.leader >= 0 else [i for i, totals in enumerate(self.totals) if len(totals)]
        leads = np.array([self._mean(i, trust) for i in tried]).reshape(-1, self.J)
        if not len(leads):
            return contest.scores(means, STRICT)
        return pair(contest, leads[int(np.argmax(contest.scores(leads, STRICT)))], means)[0]

    def _next(self, episodes: int, contest: PlanContest, plans: Array, search: Search) -> int:
        """The rule to be tried; -1 for none."""
        room = self.made < _SHARE * math.sqrt(episodes)
        fresh = [i for i, rule in enumerate(self.rules) if not len(self.totals[i]) and not len(rule.where)]
        if fresh and self.made < 2 * len(self.rules):
            self.made += 1
            return fresh[0 if self.n_actions <= _ALL else -1]
        if contest.apart <= 0.0:
            return -1
        if self.leader < 0:
            least = contest.score(plans) if len(plans) else -np.inf
        else:
            playing = [self.leader] if self.partner < 0 else [self.leader, self.partner]
            least = float(self._scores(contest, 0.0)[playing].max())
        scores, hopes = self._scores(contest, 0.0), self._scores(contest, _HOPE)
        others = [i for i in range(len(self.rules)) if self._open(contest, i)]
        best = max(others, key=lambda i: scores[i], default=-1)
        if best >= 0 and scores[best] > least:
            return best
        if not room:
            return -1
        self.made += 1
        if self.made % 2:
            order = [i for i in np.argsort(-scores, kind="stable")[:PARENTS].tolist() if len(self.totals[i])]
            trust = self._trust()
            spared = self._spared(trust)
            found = search([self.rules[i] for i in order], self.pool, lambda means: self._mixed(contest, means - spared))
            self.pool = found.pool
            self.promised[order] = found.known
            if found.rules and self._mixed(contest, found.totals[:1] + trust.off - spared)[0] > least:
                return self._add(found.rules[0], found.totals[0])
            if found.bold and self._poor():
                return self._add(found.bold[0], np.full(self.J, np.nan))
        best = max(others, key=lambda i: hopes[i], default=-1)
        return best if best >= 0 and hopes[best] > least else -1

    def _open(self, contest: PlanContest, i: int) -> bool:
        """Whether a rule may be tried again; one that breaks a limit less often, unless a leader saves for it."""
        n = len(self.totals[i])
        breaks = self.leader < 0 and n > 0 and bool((contest.missed(self.totals[i]) > MARGIN).any())
        return i not in (self.leader, self.partner) and 0 < n < (_FEWEST if breaks else _SOME)

    def _poor(self) -> bool:
        """Whether nothing brought more reward than the constant action that costs least."""
        known = [(rule, totals.mean(axis=0)) for rule, totals in zip(self.rules, self.totals, strict=True) if len(totals)]
        least = max((tuple(mean[::-1]) for rule, mean in known if not len(rule.where)), default=(np.inf,))[-1]
        return all(mean[0] <= least for _, mean in known) and bool((self.lately[:, 0] <= least).all())

    def _scores(self, contest: PlanContest, errors: float) -> Array:
        """(R,) how good each rule is, or may be: so many standard errors better; -inf for one that was never tried."""
        trust = self._trust()
        out = np.full(len(self.rules), -np.inf)
        for i, totals in enumerate(self.totals):
            if len(totals):
                better = errors * trust.deviation / np.sqrt(len(totals) + trust.worth)
                out[i] = self._mixed(contest, (self._mean(i, trust) + better)[None])[0]
        return out

    def _trust(self) -> Trust:
        """How far rehearsals count."""
        return Trust.of([*self.totals, self.lately], *self._missed())

    def _mean(self, i: int, trust: Trust) -> Array:
        """(J,) the totals expected of a rule that was tried: what it brought, and what was promised, as far as that counts.

        A promise counts less where the rule itself broke it by more than luck explains.
        """
        totals, promised = self.totals[i], self.promised[i] + trust.off
        if not np.isfinite(promised).all():
            return np.asarray(totals.mean(axis=0), dtype=np.float64)
        broken = np.maximum((totals.mean(axis=0) - promised) ** 2 - _SURE * trust.deviation**2 / len(totals), 1e-12)
        worth = np.minimum(trust.worth, trust.deviation**2 / broken)
        return np.asarray((totals.sum(axis=0) + worth * promised) / (len(totals) + worth), dtype=np.float64)

    def _luck(self, i: int, trust: Trust) -> Array:
        """(J,) a standard error of what a rule brings for its limits: it may have held them by luck."""
        totals, n = self.totals[i], len(self.totals[i])
        usual = np.median([other.var(axis=0, ddof=1) for other in self.totals if len(other) > 1], axis=0)
        variance = (n * totals.var(axis=0) + _USUAL * usual) / (n + _USUAL)
        error: Array = _ERRORS * np.sqrt(variance / (n + trust.worth))
        error[0] = 0.0
        return error

    def _spared(self, trust: Trust) -> Array:
        """(J,) the standard error that limits of a new rule are judged by once it was tried as often as is remembered."""
        error: Array = _ERRORS * trust.deviation / np.sqrt(KEPT + trust.worth)
        error[0] = 0.0
        return error

    def _missed(self) -> tuple[Array, Array]:
        """(n,J) how much more rules with lines brought than was promised, and (n,) in how many episodes."""
        sure = [i for i, rule in enumerate(self.rules) if len(rule.where) and len(self.totals[i])]
        sure = [i for i in sure if np.isfinite(self.promised[i]).all()]
        missed = [self.totals[i].mean(axis=0) - self.promised[i] for i in sure]
        return np.array(missed).reshape(-1, self.J), np.array([len(self.totals[i]) for i in sure], dtype=np.float64)

    def _add(self, rule: SimpleRule, promised: Array) -> int:
        """A new rule; when there is no more room, in the place of the one that brought least."""
        if len(self.rules) < MOST_RULES:
            self.rules.append(rule)
            self.totals.append(np.zeros((0, self.J)))
            self.promised = np.concatenate([self.promised, promised[None]])
            return len(self.rules) - 1
        kept = [i in (self.leader, self.partner) or not len(rule.where) for i, rule in enumerate(self.rules)]
        returns = [np.inf if keep or not len(t) else t[:, 0].mean() for keep, t in zip(kept, self.totals, strict=True)]
        i = int(np.argmin(returns))
        self.rules[i], self.totals[i], self.promised[i] = rule, np.zeros((0, self.J)), promised
        return i

    def add(self, totals: Array, contest: PlanContest, ruled: bool, paid: bool = False, young: bool = False) -> None:
        """Count an episode.

        Args:
            totals: what it brought (1+m,).
            contest: what totals are compared by.
            ruled: whether the rule whose turn it was played it, else a plan.
            paid: whether a cheap rule pays for what the plan whose turn it is, or would be, misses.
            young: whether this is a young network's plan: nothing is compared with it.
        """
        if self.leader >= 0 or paid:
            most = (_SAVED if self.leader >= 0 else _KEPT_FREE) * contest.aim.scale
            self.saved = np.clip(self.saved + totals[1:] - contest.aim.bounds, -_OWES * contest.aim.scale, most)
        if ruled:
            self.totals[self.playing] = count(self.totals[self.playing], totals)
        elif not young:
            self.lately = count(self.lately, totals)[-LATELY:]

    def forget(self) -> None:
        """Forget what plans brought: another kind of model plans from now on, and no rule leads before it has played."""
        self.lately, self.leader, self.partner = self.lately[:0], -1, -1

    def judge(self, contest: PlanContest, plans: Sequence[Array], doubted: bool) -> None:
        """Let a rule lead, or plans again.

        Args:
            contest: what totals are compared by.
            plans: totals of the best plan so far, and of the last plans of each kind.
            doubted: whether plans bring less than the model says: then a rule leads that is better at all.

        Where promises were kept so well that they say more than all episodes that are remembered of a plan, a rule leads that
        is better at all, too, and plans come back only if they are better by one standard error of their own.
        """
        known, contest = [i for i, totals in enumerate(self.totals) if len(totals) >= _FEWEST], self._wide(contest)
        if contest.apart <= 0.0 or not known or len(self.lately) < _PLANS:
            return
        trust, last = self._trust(), self.leader
        means = np.array([self._mean(i, trust) - self._luck(i, trust) for i in known])
        pairs = [pair(contest, lead, means) for lead in means]
        alone = contest.scores(means, STRICT)
        values = [max(alone[i], values.max() - _GAIN) for i, (values, _) in enumerate(pairs)]
        best = int(np.argmax(values))
        other = int(np.argmax(pairs[best][0]))
        both = bool(pairs[best][0][other] > alone[best] + _GAIN)
        mean = means[best] + both * pairs[best][1][other] * (means[other] - means[best])
        totals = self.totals[known[best]]
        totals = totals - totals.mean(axis=0) + mean
        plans = [self.lately[-_PLANS:] if last >= 0 else self.lately, *(t[-LATELY:] for t in plans if len(t) >= _PLANS)]
        kept = bool((trust.worth >= KEPT).all())
        if last >= 0:
            beyond = self.lately.std(axis=0)[0] / math.sqrt(_PLANS) / contest.apart if kept else 0.0
            plays = all(contest.score(tally) < values[best] + beyond for tally in plans)
        else:
            plays = all(contest.lost(tally, totals, 0.0, 0.0 if doubted or kept else _ERRORS) for tally in plans)
        self.leader, self.partner = (known[best] if plays else -1), (known[other] if plays and both else -1)
        if plays != (last >= 0):
            self.saved[:] = 0.0

    def steady(self, contest: PlanContest) -> SimpleRule | None:
        """The rule that leads; where a partner plays beside it, the best of all that hold limits alone. None for a plan."""
        if self.partner < 0:
            return self.rules[self.leader] if self.leader >= 0 else None
        contest, trust = self._wide(contest), self._trust()
        known = [i for i, totals in enumerate(self.totals) if len(totals) >= _FEWEST]
        means = np.array([self._mean(i, trust) - self._luck(i, trust) for i in known])
        return self.rules[known[int(np.argmax(contest.scores(means, STRICT)))]]

    def describe(self) -> list[str]:
        """What was tried, and what leads, one line each."""
        lines = []
        if self.made:
            lines.append(f"simple rules: {sum(len(totals) > 0 for totals in self.totals)} tried in {self.made} episodes")
        if self.leader >= 0:
            totals = self.totals[self.leader]
            lines.append(
                f"a simple rule leads, as plans were worse: {self.rules[self.leader]}; reward {totals[:, 0].mean():.4g} over "
                f"{len(totals)} episodes, plans {self.lately[:, 0].mean():.4g}"
            )
        if self.partner >= 0:
            lines.append(f"where it saves enough, a dearer one plays: {self.rules[self.partner]}")
        return lines

    def arrays(self) -> Arrays:
        """All rules and totals, one after the other, and whose they are."""
        who: Integers = np.repeat(np.arange(len(self.rules)), [len(totals) for totals in self.totals])
        now = np.array([self.playing + 1, self.leader + 1, self.partner + 1, self.made], dtype=np.int64)
        pool = {f"pool.{name}": part for name, part in packed(self.pool).items()}
        return (
            packed(self.rules)
            | pool
            | {
                "who": who,
                "totals": np.concatenate(self.totals),
                "promised": self.promised.copy(),
                "lately": self.lately.copy(),
                "saved": self.saved.copy(),
                "now": now,
            }
        )

    def restore(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        self.rules = unpacked(arrays)
        self.pool = unpacked({name.removeprefix("pool."): part for name, part in arrays.items() if name.startswith("pool.")})
        self.totals = [arrays["totals"][arrays["who"] == i].copy() for i in range(len(self.rules))]
        self.promised, self.lately = arrays["promised"].copy(), arrays["lately"].copy()
        playing, leader, partner, self.made = arrays["now"].tolist()
        self.playing, self.leader, self.partner, self.saved = playing - 1, leader - 1, partner - 1, arrays["saved"].copy()
