"""What the arrays of soft-cells must be before any of them is used: types, shapes, indices, and agreement with one another.

The names and meanings are those of :meth:`.SoftCells.arrays`. Whoever adds an array adds it here, else it is refused.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noregret._system.arrays import LARGEST, most_bytes
from noregret.agent.minds.checking import MANY, Checked
from noregret.agent.minds.soft_cells.contest import KEPT
from noregret.agent.minds.soft_cells.counts import MOST_TRANSITIONS
from noregret.agent.minds.soft_cells.doubts import BINS, PAIRS
from noregret.agent.minds.soft_cells.dynamics import FOURIER, MOST_DIMENSIONS, POINTS
from noregret.agent.minds.soft_cells.history import LENGTHS, RECENT
from noregret.agent.minds.soft_cells.kernels.interpolation import EDGE
from noregret.agent.minds.soft_cells.kernels.network import FORGET, FORGET_SQUARES
from noregret.agent.minds.soft_cells.kinds import KINDS
from noregret.agent.minds.soft_cells.networks import PRICES, length_of, sizes_of, takes_part
from noregret.agent.minds.soft_cells.planner import MOST_ZOOM
from noregret.agent.minds.soft_cells.rehearsal import PARENTS
from noregret.agent.minds.soft_cells.rules import MOST_LINES
from noregret.agent.minds.soft_cells.trials import LATELY, MOST_RULES
from noregret.agent.minds.soft_cells.types import Arrays
from noregret.errors import InputError
from noregret.problems.worlds import WorldSpec

#: What names begin with.
GROUPS = ("record", "memory", "dual", "trials", "kinds", "doubts", "network", "plan", "best")
#: Squares of numbers stay below this.
SQUARE = LARGEST**2
#: Mapped numbers are 0 to 1; what is computed from them may be off by rounding.
SLACK = 1e-6
#: Weights of a network stay below this, so that its values are numbers.
WEIGHT = 1e6


def checked(arrays: Arrays, spec: WorldSpec, budget: int) -> Arrays:
    """Give the arrays, in C order, if they can be those of a mind in such a world.

    Args:
        arrays: by name.
        spec: the world.
        budget: the most states that its model tells apart.

    Raises:
        InputError: one of them cannot be; the message names it.
    """
    room = 8 * most_bytes(sum(array.nbytes for array in arrays.values()))
    c = Checked(arrays, H=spec.horizon, A=spec.n_actions, m=spec.n_constraints, J=1 + spec.n_constraints)
    out: Arrays = {"counters": c.take("counters", "7", "whole", 0, MANY), "tally": c.take("tally", "tally J")}
    c.must(len(out["tally"]) <= KEPT, "tally", f"totals of at most {KEPT} episodes")
    episodes, built, settled, _, _, following, chosen = out["counters"].tolist()
    _trials(c, out, spec)
    _doubts(c, out)
    who = c.take("kinds/who", "judged", "whole", 0, len(KINDS) - 1)
    c.must((np.diff(who) >= 0).all() and (np.bincount(who, minlength=1) <= KEPT).all(), "kinds/who", "kinds in their order")
    out |= {"kinds/who": who, "kinds/totals": c.take("kinds/totals", "judged J")}
    for name in ("kinds/waited", "kinds/played"):
        out[name] = c.take(name, f"{len(KINDS)}", "whole", 0, MANY)
    c.must(max(built, settled, chosen) <= episodes and following >= 1, "counters", "no more than the episodes learned")
    _record(c, out)
    kept = _vectors(c, out, spec) if spec.dimension else _numbers(c, out, spec, budget)
    c.must(bool(kept) == bool(episodes), "counters", "as many episodes as are remembered, or none")
    _prices(c, out, "dual/")
    if "network/weights" in arrays and takes_part(spec):
        _network(c, out, spec)
    if "plan/prices" in arrays:
        _plan(c, out, "plan/", spec, room)
    if "best/tally" in arrays:
        out["best/tally"] = c.take("best/tally", "best J")
        c.must(0 < len(out["best/tally"]) <= KEPT, "best/tally", f"totals of at most {KEPT} episodes")
        _prices(c, out, "best/")
        if "best/prices" in arrays:
            _plan(c, out, "best/", spec, room)
        else:
            c.must("plan/prices" in arrays, "best/tally", "a plan that it is of")
    c.nothing_else()
    return out


def checked_plan(plan: Arrays, spec: WorldSpec, waves: int) -> Arrays:
    """Give the arrays of a plan with its values, in C order, if they can be those of a mind in such a world.

    Args:
        plan: by name.
        spec: the world.
        waves: how many Fourier features are among the smooth features of vectors.

    Raises:
        InputError: one of them cannot be; the message names it.
    """
    c = Checked(plan, H=spec.horizon, A=spec.n_actions, m=spec.n_constraints, J=1 + spec.n_constraints)
    out: Arrays = {}
    _plan(c, out, "", spec, 8 * most_bytes(sum(array.nbytes for array in plan.values())))
    N, smooth = c.sizes["N"] + ("model.weights" not in out), 0  # numbered states and those of trees have an end besides
    if "model.Z" in out:
        D = out["model.Z"].shape[1]
        N, smooth = c.sizes["N"], D + D * (D + 1) // 2 + waves
    out["V"] = c.take("V", f"{spec.horizon + 1} J {N}", "single", -1e30, 1e30)
    out["coef"] = c.take("coef", f"H J {smooth}", "single", -1e30, 1e30)
    c.must(_rules(c, out, "rule.", spec) <= 1, "rule.lines", "one rule, or none")
    c.nothing_else()
    return out


def _rules(c: Checked, out: Arrays, group: str, spec: WorldSpec) -> int:
    """Rules, one after the other; how many."""
    lines = c.take(f"{group}lines", f"{group}rules", "whole", 0, MOST_LINES)
    n = int(lines.sum())
    out |= {
        f"{group}lines": lines,
        f"{group}where": c.take(f"{group}where", f"{n} 2", "whole", 0, max(spec.dimension, 1) - 1),
        f"{group}how": c.take(f"{group}how", f"{n} 3"),
        f"{group}actions": c.take(f"{group}actions", f"{n + len(lines)}", "whole", 0, spec.n_actions - 1),
    }
    return len(lines)


def _trials(c: Checked, out: Arrays, spec: WorldSpec) -> None:
    n = _rules(c, out, "trials/", spec)
    c.must(0 < n <= MOST_RULES, "trials/lines", f"at most {MOST_RULES} rules")
    who = c.take("trials/who", "trials", "whole", 0, n - 1)
    c.must((np.diff(who) >= 0).all() and (np.bincount(who, minlength=1) <= KEPT).all(), "trials/who", "rules in their order")
    out |= {"trials/who": who, "trials/totals": c.take("trials/totals", "trials J")}
    out["trials/promised"] = c.take("trials/promised", f"{n} J", odd="nan")
    out["trials/lately"] = lately = c.take("trials/lately", "lately J")
    c.must(len(lately) <= LATELY, "trials/lately", f"totals of at most {LATELY} episodes")
    c.must(_rules(c, out, "trials/pool.", spec) <= PARENTS, "trials/pool.lines", f"at most {PARENTS} rules")
    out |= {"trials/now": c.take("trials/now", "4", "whole", 0, MANY), "trials/saved": c.take("trials/saved", "m")}
    playing, leader, partner, _ = out["trials/now"].tolist()
    c.must(max(playing, leader, partner) <= n, "trials/now", "rules, or 0 for none")
    played = [rule == 0 or bool((who == rule - 1).any()) for rule in (leader, partner)]
    c.must(all(played) and (leader > 0 or partner == 0), "trials/now", "a leading rule that has played, and its partner")


def _doubts(c: Checked, out: Arrays) -> None:
    out["doubts/bins"] = bins = c.take("doubts/bins", f"{BINS} 3", low=-SQUARE, high=SQUARE)
    c.must((bins[:, [0, 2]] >= 0.0).all() and (bins[:, 0] <= MANY).all(), "doubts/bins", "counts and sums of squares")
    out["doubts/rewards"] = rewards = c.take("doubts/rewards", "2", low=-SQUARE, high=SQUARE)
    c.must(rewards[1] >= 0.0, "doubts/rewards", "a sum of squares")
    out["doubts/pairs"] = pairs = c.take("doubts/pairs", "pairs 2")
    c.must(len(pairs) <= PAIRS, "doubts/pairs", f"rewards of at most {PAIRS} episodes")


def _network(c: Checked, out: Arrays, spec: WorldSpec) -> None:
    """The network that learns."""
    group = _Group(c, out, "network/")
    P = length_of(sizes_of(spec))
    for name in ("weights", "slow", "calm"):
        group.take(name, f"{P}", "single", -WEIGHT, WEIGHT)
    square = group.take("square", f"{P}", "single", 0.0, 1e30)
    mean = group.take("mean", f"{P}", "single", -1e15, 1e15)
    # by Cauchy and Schwarz, as both are sums of the same gradients
    one, two = float(FORGET), float(FORGET_SQUARES)
    most = (1.0 - one) / math.sqrt((1.0 - two) * (1.0 - one**2 / two))
    group.must((np.abs(mean) <= 1.1 * most * np.sqrt(square) + 1e-12).all(), "mean", "no more than the squares allow")
    _scales(group, "", spec)
    counters = group.take("counters", "4", "whole", 0, MANY)
    group.must(counters[3] <= 1, "counters", "whether it plays, 0 or 1")
    group.take("owed", "", low=0.0, high=MANY)
    group.take("push", "m", low=0.0, high=PRICES[1])
    group.take("late", "m", low=-1.0, high=1.0)


def _scales(arrays: _Group, prefix: str, spec: WorldSpec) -> None:
    """How a network's states and values are scaled."""
    arrays.take(f"{prefix}middle", f"{spec.dimension}")
    arrays.take(f"{prefix}half", f"{spec.dimension}", low=1e-12)
    arrays.take(f"{prefix}scale", "J", low=1e-12)


def _record(c: Checked, out: Arrays) -> None:
    out["record/low"] = c.take("record/low", "J", high=0.0)
    out["record/high"] = c.take("record/high", "J", low=0.0)
    H = c.sizes["H"]
    lengths = len(np.unique(np.linspace(1, H, LENGTHS).astype(np.int64)))
    out["record/best"] = c.take("record/best", str(lengths), odd="inf")
    out["record/returns"] = returns = c.take("record/returns", "2", odd="inf")
    c.must(not (out["record/best"] == np.inf).any(), "record/best", "sums that were seen")
    out["record/recent"] = recent = c.take("record/recent", "recent")
    c.must(len(recent) <= RECENT, "record/recent", f"at most {RECENT} returns")
    out["record/most"] = most = c.take("record/most", "m", odd="inf")
    c.must(not (most == np.inf).any(), "record/most", "totals that were seen")
    none = bool((returns == (np.inf, -np.inf)).all())
    c.must(none or (np.isfinite(returns).all() and returns[0] <= returns[1]), "record/returns", "the least and the most return")


def _prices(c: Checked, out: Arrays, group: str) -> None:
    for name in ("Y", "variance", "debt"):
        out[group + name] = c.take(group + name, "m", low=0.0, high=SQUARE)
    for name in ("gap", "left"):
        out[group + name] = c.take(group + name, "m")
    out[f"{group}sides"] = c.take(f"{group}sides", "2 2", odd="nan")
    out[f"{group}estimate"] = estimate = c.take(f"{group}estimate", "m", odd="nan")
    c.must(np.isnan(estimate).all() or np.isfinite(estimate).all(), f"{group}estimate", "a number for each constraint, or none")
    out[f"{group}seen"] = c.take(f"{group}seen", "", "whole", 0, MANY)


def _vectors(c: Checked, out: Arrays, spec: WorldSpec) -> int:
    """Kept episodes of vectors; how many."""
    if "memory/lengths" not in c:
        return 0
    lengths = c.take("memory/lengths", "kept", "whole", 1, spec.horizon)
    masked = c.take("memory/masked", "kept", "truth")
    n, states, masks = int(lengths.sum()), int((lengths + 1).sum()), int((lengths + 1)[masked].sum())
    out |= {
        "memory/lengths": lengths,
        "memory/masked": masked,
        "memory/ended": c.take("memory/ended", "kept", "truth"),
        "memory/states": c.take("memory/states", f"{states} {spec.dimension}"),
        "memory/actions": c.take("memory/actions", f"{n}", "whole", 0, spec.n_actions - 1),
        "memory/signals": c.take("memory/signals", f"{n} J"),
        "memory/masks": c.take("memory/masks", f"{masks} A", "truth"),
    }
    return len(lengths)


def _numbers(c: Checked, out: Arrays, spec: WorldSpec, budget: int) -> int:
    """Counts of numbered states; how many states were seen."""
    place = c.take("memory/place", "seen", "whole", 0, spec.n_states - 1)
    n, stride = len(place), min(budget, spec.n_states) + 1
    c.must(n <= stride - 1 and len(np.unique(place)) == n, "memory/place", f"at most {stride - 1} states, each once")
    most = float(n * spec.n_actions * stride - 1)
    c.must(most < MANY, "memory/place", "states whose pairs can be numbered")
    pairs = c.take("memory/next", "transitions 2", "whole", 0, MANY)
    after, keys = pairs[:, 0] % stride, pairs[:, 0]
    good = len(keys) <= MOST_TRANSITIONS and len(np.unique(keys)) == len(keys) and (keys <= most).all()
    c.must(good and ((after < n) | (after == stride - 1)).all(), "memory/next", "transitions between states that were seen")
    c.must((pairs[:, 1] >= 1).all(), "memory/next", "transitions that were seen")
    out |= {
        "memory/place": place,
        "memory/next": pairs,
        "memory/visits": c.take("memory/visits", "seen A", low=0.0, high=MANY),
        "memory/sums": c.take("memory/sums", "seen A J"),
        "memory/allowed": c.take("memory/allowed", "seen A", "truth"),
        "memory/starts": c.take("memory/starts", "seen", low=0.0, high=MANY),
    }
    c.must(n == 0 or out["memory/starts"].sum() > 0.0, "memory/starts", "a state in which an episode began")
    return n


def _plan(c: Checked, out: Arrays, group: str, spec: WorldSpec, room: int) -> None:
    H, J, arrays = spec.horizon, 1 + spec.n_constraints, _Group(c, out, group)
    low, width = arrays.take("low", "J", high=0.0), arrays.take("width", "J", low=1e-12)
    c.must((-low / width <= 1.0 + SLACK).all(), f"{group}width", "a range that holds 0")
    prices = arrays.take("prices", "J", low=0.0, high=1e12)
    arrays.must(prices[0] >= 1e-6, "prices", "a reward that counts")
    arrays.take("sharpness", "", low=0.0, high=1e12)
    arrays.take("unknown", "J H", low=0.0, high=float(H))
    zoom = arrays.take("outlook", "2", low=0.0)[0]
    arrays.must(1.0 <= zoom <= MOST_ZOOM, "outlook", f"a zoom from 1 to {MOST_ZOOM:g}")
    arrays.take("zooms", "m", low=1.0, high=MOST_ZOOM)
    c.sizes.pop("N", None)
    states = f"{group}model.visits"
    kind = _vector_model if spec.dimension else _count_model
    for name, other in (("roots", _forest_model), ("keys", _count_model), ("weights", _network_model)):
        if spec.dimension and f"{group}model.{name}" in c:
            kind = other
    need = kind(arrays, spec)
    need += 4 * (H + 1) * J * (c.sizes["N"] + 1)
    if need > room:
        raise InputError(
            f"state[{states!r}] needs {need:,} bytes; expected at most {room:,} (NOREGRET_MOST_BYTES sets a limit)"
        )


class _Group:
    """The arrays of a group: takes them one by one, and keeps them under their full names."""

    def __init__(self, c: Checked, out: Arrays, group: str) -> None:
        self.c, self.out, self.group = c, out, group

    def take(self, name: str, axes: str, kind: str = "float", low: float = -LARGEST, high: float = LARGEST) -> NDArray[Any]:
        self.out[self.group + name] = array = self.c.take(self.group + name, axes, kind, low, high)
        return array

    def must(self, good: bool | np.bool_, name: str, expected: str) -> None:
        self.c.must(good, self.group + name, expected)


def _shared(arrays: _Group) -> None:
    """What models of both kinds have, for N states."""
    arrays.take("model.visits", "N A", low=0.0, high=MANY)
    arrays.must(arrays.take("model.allowed", "N A", "truth").any(axis=1).all(), "model.allowed", "an action in every state")
    arrays.must(arrays.take("model.starts", "N", low=0.0, high=MANY).sum() > 0.0, "model.starts", "a state to begin in")


def _count_model(arrays: _Group, spec: WorldSpec) -> int:
    if spec.dimension:
        states = arrays.take("model.keys", f"N {spec.dimension}")
        arrays.must(0 < len(states) == len(np.unique(states + 0.0, axis=0)), "model.keys", "vectors, each once")
        arrays.take("model.near", "", "truth")
        arrays.take("model.sure", "", "truth")
        arrays.take("model.lead", f"{spec.dimension}", "truth")
    else:
        states = arrays.take("model.states", "N", "whole", 0, spec.n_states - 1)
        arrays.must(0 < len(states) == len(np.unique(states)), "model.states", "states, each once")
    _shared(arrays)
    n, A = len(states), spec.n_actions
    row = arrays.take("model.row", f"entries{arrays.group}", "whole", 0, n * A - 1)
    arrays.must((np.diff(row) >= 0).all(), "model.row", "rows in their order")
    arrays.take("model.after", f"entries{arrays.group}", "whole", 0, n)
    arrays.take("model.times", f"entries{arrays.group}", low=1.0, high=MANY)
    arrays.take("model.mean", "N A J")
    arrays.take("model.n0", "", low=1e-6, high=1e6)
    return 16 * len(row) + 8 * n * A * (3 + 1 + spec.n_constraints)


def _network_model(arrays: _Group, spec: WorldSpec) -> int:
    weights = arrays.take("model.weights", f"{length_of(sizes_of(spec))}", "single", -WEIGHT, WEIGHT)
    _scales(arrays, "model.", spec)
    arrays.take("model.explore", "", low=0.0, high=1.0)
    arrays.c.sizes["N"] = 0
    return 4 * len(weights)


def _forest_model(arrays: _Group, spec: WorldSpec) -> int:
    """Trees: every way through them must end in a leaf."""
    group, A = arrays.group, spec.n_actions
    X = arrays.take("model.X", f"N {spec.dimension}")
    arrays.must(len(X) > 0, "model.X", "a state")
    _shared(arrays)
    roots = arrays.take("model.roots", f"trees{group}", "whole", 0, MANY)
    arrays.must(len(roots) > 0 and len(roots) % A == 0, "model.roots", "as many trees for each action")
    coordinate = arrays.take("model.coordinate", f"nodes{group}", "whole", -1, spec.dimension - 1)
    arrays.take("model.cut", f"nodes{group}")
    child = arrays.take("model.child", f"nodes{group}", "whole", 0, MANY)
    first = arrays.take("model.first", f"bounds{group}", "whole", 0, MANY)
    after = arrays.take("model.after", f"entries{group}", "whole", 0, len(X))
    L, n = len(first) - 1, len(child)
    whole = L > 0 and first[0] == 0 and first[-1] == len(after) and (np.diff(first) > 0).all()
    arrays.must(whole, "model.first", "where each leaf begins, up to the end")
    arrays.take("model.signal", f"{L} J", low=0.0, high=1.0)
    arrays.must((roots < n).all(), "model.roots", "nodes")
    leaf = coordinate < 0
    good = (child[leaf] < L).all() and (child[~leaf] > np.flatnonzero(~leaf)).all() and (child[~leaf] + 1 < n).all()
    arrays.must(good, "model.child", "a later node, or a leaf")
    return len(X) * A * (len(roots) // A * 24 + 8 * (3 + spec.n_constraints)) + 16 * len(after)


def _seen(arrays: _Group, N: int) -> None:
    """What was counted of N states."""
    A = arrays.c.sizes["A"]
    row = arrays.take("model.row", f"entries{arrays.group}", "whole", 0, N * A - 1)
    arrays.must((np.diff(row) >= 0).all(), "model.row", "rows in their order")
    arrays.take("model.after", f"entries{arrays.group}", "whole", 0, N - 1)
    share = arrays.take("model.share", f"entries{arrays.group}", low=0.0, high=1.0)
    rest = arrays.take("model.rest", "N A", low=0.0, high=1.0)
    whole = np.bincount(row, weights=share, minlength=N * A) + rest.ravel()
    arrays.must((np.abs(whole - 1.0) < SLACK).all(), "model.rest", "with the shares 1")
    ended, doubt = (arrays.take(f"model.{name}", "N A", low=0.0, high=1.0) for name in ("ended", "doubt"))
    arrays.must((ended + doubt <= 1.0 + SLACK).all(), "model.doubt", "with what ended at most 1")


def _vector_model(arrays: _Group, spec: WorldSpec) -> int:
    group, A, J = arrays.group, spec.n_actions, 1 + spec.n_constraints
    active = arrays.take("model.active", f"active{group}", "whole", 0, spec.dimension - 1)
    arrays.must(len(active) > 0 and (np.diff(active) > 0).all(), "model.active", "coordinates, each once and in their order")
    arrays.take("model.middle", f"active{group}")
    arrays.take("model.half", f"active{group}", low=1e-60)
    axes = arrays.take("model.axes", f"active{group} axes{group}")
    D = axes.shape[1] or len(active)
    arrays.must(D <= MOST_DIMENSIONS, "model.axes", f"at most {MOST_DIMENSIONS} dimensions")
    E, P = D + J + 1, 1 + D + FOURIER
    Z = arrays.take("model.Z", f"N {D}", low=-EDGE, high=EDGE)
    arrays.must(len(Z) > 0, "model.Z", "a state")
    _shared(arrays)
    arrays.take("model.sides", "2", low=1e-6, high=1e6)
    arrays.take("model.B", f"A {P} {E}")
    arrays.take("model.error", f"{E}", low=0.0, high=SQUARE)
    chances = arrays.take("model.chances", f"points{group}", low=0.0, high=1.0)
    arrays.must(0 < len(chances) <= POINTS and abs(chances.sum() - 1.0) < SLACK, "model.chances", "chances that sum to 1")
    arrays.take("model.shifts", f"points{group} {D}")
    arrays.take("model.terminal", "N", "truth")
    arrays.take("model.residual", f"N A {E}")
    arrays.take("model.pay", "N J", low=-2.0, high=2.0)
    arrays.take("model.prior", f"{E}", low=0.0)
    arrays.take("model.deviation", f"{D}", low=0.0)
    _seen(arrays, len(Z))
    smooth = D + D * (D + 1) // 2 + 60
    return len(Z) * A * (8 * len(chances) * (2 * D + 2) + 4 * smooth + 8 * E) + 16 * len(Z) * (smooth + P)
