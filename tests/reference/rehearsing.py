"""Rules played in what was seen, literally."""

from __future__ import annotations

from typing import Any

import numpy as np

from noregret.agent.minds.soft_cells.rules import SimpleRule


def action(rule: SimpleRule, x: Any) -> int:
    """The action of the first line that holds, else the last one."""
    for (i, j), (v, w, cut), a in zip(rule.where.tolist(), rule.how.tolist(), rule.actions.tolist(), strict=False):
        if v * x[i] + w * x[j] < cut:
            return int(a)
    return int(rule.actions[-1])


def leaf(x: Any, node: int, trees: Any) -> int:
    """The leaf below a node."""
    while trees.coordinate[node] >= 0:
        node = trees.child[node] + int(x[trees.coordinate[node]] > trees.cut[node])
    return int(trees.child[node])


def rehearse(rules: list[SimpleRule], echoes: Any, starts: Any, draws: Any, A: int) -> Any:
    """The mean totals of each rule."""
    T, leaves, out = len(echoes.trees.roots) // A, echoes.leaves, []
    for rule in rules:
        totals = []
        for start, row in zip(starts, draws, strict=True):
            x, total = np.array(start, dtype=float), 0.0
            for draw in row:
                tree = int(draw * T)
                at = leaf(x, int(echoes.trees.roots[action(rule, x) * T + tree]), echoes.trees)
                held = leaves.after[leaves.first[at] : leaves.first[at + 1]]
                total = total + leaves.signal[at]
                move = held[int((draw * T - tree) * len(held))]
                if move == len(echoes.moves):
                    break
                x = np.clip(x + echoes.moves[move], echoes.low, echoes.high)
            totals.append(total)
        out.append(np.mean(totals, axis=0))
    return np.array(out)
