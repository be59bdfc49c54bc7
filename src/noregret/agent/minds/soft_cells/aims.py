"""What prices are searched for with a plan: bounds, the units that misses are judged in, and how far prices may go."""

from __future__ import annotations

import numpy as np

from noregret.agent.minds.soft_cells.counts import CountModel
from noregret.agent.minds.soft_cells.dual import PASSES, Aim
from noregret.agent.minds.soft_cells.history import Record
from noregret.agent.minds.soft_cells.planner import Planner

#: The whole budget of a constraint is worth at least this share of the spread of returns. The largest price is at least this.
_LEAST_WORTH, _LEAST_MOST = 0.03, 20.0


def aim_of(record: Record, planner: Planner) -> Aim:
    """What prices are searched for. At the largest price a fifth of a bound's scale outweighs the spread of returns."""
    units, outlook, horizon = planner.model.units, planner.outlook, record.spec.horizon
    scale, worth = record.scale(units), outlook.spread * outlook.zoom
    least = np.minimum(_LEAST_WORTH * worth / record.slack(units), 0.5)
    most = np.maximum(5.0 * worth * units.width[1:] / scale, _LEAST_MOST)
    passes = planner.model.passes(horizon) if isinstance(planner.model, CountModel) else PASSES
    return Aim(record.bounds, scale, least, most, horizon * (units.low + units.width)[1:], passes, planner.exact)
