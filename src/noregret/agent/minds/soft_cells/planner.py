"""A plan on a finite model: one backward pass for given prices, and the chances of actions it leads to."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noregret.agent.minds.protocol import PlayedEpisode
from noregret.agent.minds.soft_cells.counts import CountModel
from noregret.agent.minds.soft_cells.dual import PASSES
from noregret.agent.minds.soft_cells.forests import ForestModel, still_brought
from noregret.agent.minds.soft_cells.history import Record, Transitions, Units
from noregret.agent.minds.soft_cells.kernels.sweep import PlanValues, Wish, action_values, backward, soft_max
from noregret.agent.minds.soft_cells.networks import NetworkModel
from noregret.agent.minds.soft_cells.rules import SimpleRule
from noregret.agent.minds.soft_cells.types import Array, Arrays, Flags, Integers, Observation
from noregret.agent.minds.soft_cells.vectors import Draw, VectorModel

Model = VectorModel | ForestModel | CountModel | NetworkModel

#: Sharpness of the soft-max after the first episode; it grows with the square root of the number of episodes.
_SHARPNESS = 3.0
#: What an unknown step is hoped to earn while all episodes returned the same, and else at most.
_HOPE, _FLOOR = 0.5, 0.05
#: Where episodes differ by less than this share of H, rewards count for more, up to a most.
_TYPICAL, MOST_ZOOM = 0.2, 100.0
#: Sharpness of plans that are exact: luck within an episode only loses there.
_CERTAIN = 1e9


def model_of(plan: Arrays, draw: Draw | None) -> Model:
    """The model of a plan, from the plan's arrays.

    Args:
        plan: the arrays, of the plan in use or with its values.
        draw: what chance gave the mind, for vectors.
    """
    units = Units(plan["low"], plan["width"])
    parts = {name.removeprefix("model."): value for name, value in plan.items() if name.startswith("model.")}
    if "weights" in parts:
        return NetworkModel(units, parts)
    if "roots" in parts:
        return ForestModel(units, parts)
    return CountModel(units, parts) if draw is None or "keys" in parts else VectorModel(draw, units, parts)


class Outlook(NamedTuple):
    """What a plan takes from all episodes seen, whatever the model says."""

    zoom: float  # τ = max(1, 0.2 H/spread): what prices and the soft-max are multiplied with where returns lie close together
    spread: float  # of returns, in mapped reward
    unknown: Array  # (J,H) U_h
    zooms: Array  # (m,) ζ_i, the same for each constraint: by its scale instead of the spread

    @classmethod
    def of(cls, record: Record, units: Units) -> Outlook:
        """What all episodes say.

        U_h = min(n, G(n) + floor·n) for the n = H-h-1 steps that follow, G(n) the best ever seen over n steps in a row. Of a
        limit that every episode broke, U_h = n: what is unknown may be the way to meet it. Of other limits nothing is hoped.
        """
        H, spread = record.spec.horizon, record.spread(units)
        zoom, floor = 1.0, _HOPE
        if spread > 1e-6 * H:
            zoom = min(max(_TYPICAL * H / spread, 1.0), MOST_ZOOM)
            floor = min(_FLOOR, 0.5 * spread / H)
        left = H - 1.0 - np.arange(H)
        zooms = np.clip(_TYPICAL * H * units.width[1:] / record.scale(units), 1.0, MOST_ZOOM)
        unknown = np.vstack([np.minimum(record.best_ahead(units) + floor * left, left), ~record.met[:, None] * left])
        return cls(zoom, spread, unknown, zooms)


class Planned(NamedTuple):
    """What a plan does: a model, what was planned for, and the values that were found."""

    model: Model
    wish: Wish
    values: PlanValues
    rule: SimpleRule | None = None  # a rule that plays in place of the plan, where its action can be taken

    def chances(self, step: int, observation: Observation, mask: Flags | None = None) -> Array:
        """The probabilities (A,) of actions. Where nothing is known, all actions that the mask allows have the same.

        Args:
            step: h, from 0.
            observation: as the mind sees it.
            mask: (A,) which actions can be taken; None for all.
        """
        model = self.model
        n_actions = model.n_actions if isinstance(model, NetworkModel) else model.parts["visits"].shape[1]
        could = np.ones(n_actions, dtype=np.bool_) if mask is None else mask
        if self.rule is not None and could[action := self.rule.at(observation)]:
            return np.asarray(np.eye(len(could))[action], dtype=np.float64)
        Q = model.values(observation, step, self.wish, self.values)
        if Q is None:
            return np.asarray(could / could.sum(), dtype=np.float64)
        out: Array = np.zeros((1, len(could)))
        soft_max(Q, could[None], self.wish, out)
        return out.ravel() if isinstance(model, VectorModel | ForestModel) else model.explored(out.ravel(), could, observation)

    def table(self, most: int) -> tuple[dict[int, int], Array] | None:
        """The row of each numbered observation that was seen, and the probabilities (H,rows,A) of actions there.

        Args:
            most: entries; None is given where there would be more, and where observations are vectors.
        """
        model, H = self.model, len(self.values.coef)
        if not isinstance(model, CountModel) or model.keyed or H * model.rows().signal[..., 0].size > most:
            return None
        rows = model.rows()
        N, A, J = rows.signal.shape
        out, every = np.zeros((H, N, A)), np.ones((N, A), dtype=np.bool_)
        for h in range(H):
            Q = np.zeros((J, N * A), np.float32)
            action_values(rows, self.wish, self.values.V[h + 1], H - h, Q, (0, N))
            soft_max(Q, every, self.wish, out[h])
        if self.rule is not None:
            out[:, list(model.place.values())] = np.eye(A)[self.rule(np.array(list(model.place), dtype=np.float64)[:, None])]
        return model.place, out


class Planner:
    """A plan in use: a model, what is hoped for, prices and values.

    Args:
        model: what says how the world goes on, or what actions are worth.
        outlook: what is hoped for.
        horizon: H.
        wish: prices and sharpness; None for prices of 0.
    """

    def __init__(self, model: Model, outlook: Outlook, horizon: int, wish: Wish | None = None) -> None:
        self.model, self.outlook, self.H = model, outlook, horizon
        #: Whether what comes of known pairs is what is estimated, and plans are cheap: then two of them can be mixed.
        sure = isinstance(model, CountModel) and bool(model.parts.get("sure", False))
        self.exact = sure and len(outlook.unknown) == 2 and model.passes(horizon) > PASSES  # type: ignore[union-attr]
        self.rows = None if isinstance(model, NetworkModel) else model.rows()
        J, p = len(outlook.unknown), 0 if self.rows is None else self.rows.projector.shape[1]
        self.values = PlanValues(np.zeros((horizon + 1, J, model.n), np.float32), np.zeros((horizon, J, p), np.float32))
        self.wish = self._wish(np.zeros(J - 1), 0) if wish is None else wish

    def _wish(self, Y: Array, episodes: int) -> Wish:
        zoom = self.outlook.zoom
        sharpness = _SHARPNESS * math.sqrt(episodes + 1.0) * zoom / (1.0 + float((Y / self.outlook.zooms).sum()))
        if self.exact:
            sharpness = _CERTAIN
        return Wish(np.concatenate([[1.0], Y / zoom]), sharpness, self.outlook.unknown, self.model.units.end)

    def evaluate(self, Y: Array, episodes: int) -> Array:
        """Plan for prices Y (m,) after so many episodes; returns the raw totals (m,) that the model expects."""
        model, units = self.model, self.model.units
        assert self.rows is not None and not isinstance(model, NetworkModel), "a network's prices move with what is observed"
        self.wish = self._wish(Y, episodes)
        backward(self.rows, self.wish, self.values)
        return np.asarray(self.values.V[0, 1:] @ model.starts * units.width[1:] + self.H * units.low[1:], dtype=np.float64)

    def hope(self, record: Record, owes: bool) -> bool:
        """Let an exact plan hope for what is unknown, or for nothing; returns whether that changed.

        Args:
            record: of all episodes.
            owes: whether something is owed to a limit: then nothing is hoped for, unless none of them met it.
        """
        if not isinstance(self.model, CountModel):
            return False
        unknown = Outlook.of(record, self.model.units).unknown * (not owes or not record.met.all())
        changed = bool(unknown.any() != self.outlook.unknown.any())
        if self.exact or changed:
            self.outlook = self.outlook._replace(unknown=unknown)
        return changed

    def looked(self, played: PlayedEpisode) -> bool:
        """Whether an exact plan that hopes tried something new in an episode, which says nothing of what plans bring."""
        model = self.model
        hopes = self.exact and isinstance(model, CountModel) and bool(self.outlook.unknown.any())
        return hopes and isinstance(model, CountModel) and not model.knows(played)

    @property
    def expected(self) -> float:
        """The raw reward that the plan of a model is expected to bring, with what is hoped of the unknown."""
        model, units = self.model, self.model.units
        assert not isinstance(model, NetworkModel), "a network's values are no totals"
        return float(self.values.V[0, 0] @ model.starts * units.width[0] + self.H * units.low[0])

    def worth(self, seen: Transitions, units: Units, used: Integers) -> Array:
        """(n,J) what the states after some transitions are worth halfway to the end, for trees to be split by.

        A plan with trees says it; before there is one, it is what the episodes still brought.

        Args:
            seen: all transitions.
            units: how signals are mapped.
            used: the numbers of those that are asked for.
        """
        if not isinstance(self.model, ForestModel):
            return still_brought(seen, units, self.H)[used]
        h = self.H // 2
        worth = self.model.worth(seen.after[used], h, self.wish, self.values)
        return np.where(seen.ended[used][:, None], (self.H - h) * self.wish.end, worth)

    def arrays(self) -> Arrays:
        """What the plan was made of, by name."""
        units, outlook = self.model.units, self.outlook
        return {f"model.{name}": value for name, value in self.model.parts.items()} | {
            "prices": self.wish.prices,
            "sharpness": np.array(self.wish.sharpness),
            "unknown": outlook.unknown,
            "outlook": np.array([outlook.zoom, outlook.spread]),
            "zooms": outlook.zooms,
            "low": units.low,
            "width": units.width,
        }

    @classmethod
    def again(cls, plan: Arrays, draw: Draw | None, horizon: int) -> Planner:
        """The plan whose :meth:`arrays` are given, with its model made again.

        Args:
            plan: the arrays.
            draw: what chance gave the mind, for vectors.
            horizon: H.
        """
        model = model_of(plan, draw)
        zoom, spread = plan["outlook"].tolist()
        wish = Wish(plan["prices"], float(plan["sharpness"]), plan["unknown"], model.units.end)
        self = cls(model, Outlook(zoom, spread, plan["unknown"], plan["zooms"]), horizon, wish)
        if self.rows is not None:
            backward(self.rows, self.wish, self.values)
        return self

    @property
    def dual(self) -> Array:
        """(m,) what one unit of each constraint's total is worth, in raw reward."""
        model = self.model
        unit = model.parts["scale"] if isinstance(model, NetworkModel) else model.units.width
        return np.asarray(self.wish.prices[1:] / self.wish.prices[0] * unit[0] / unit[1:], dtype=np.float64)

    @property
    def policy(self) -> Planned:
        """What the plan does, until :meth:`evaluate` makes another one."""
        return Planned(self.model, self.wish, self.values)
