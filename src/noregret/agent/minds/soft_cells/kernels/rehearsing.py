"""Rules played in what was seen: each step moves the state as a transition did that fell into the same leaf of a tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.kernels.forest import Leaves, Trees, leaf_of
from noregret.agent.minds.soft_cells.types import Array, Integers
from noregret.kernels.compiler.jit import jit


class RuleLines(NamedTuple):
    """Rules, one after the other: rule r has lines ``first[r]`` to ``first[r+1]``, and an action more than lines."""

    first: Integers  # (R+1,)
    where: Integers  # (lines,2)
    how: Array  # (lines,3)
    actions: Integers  # (lines+R,)


class Echoes(NamedTuple):
    """What a step may bring: a tree of its action is drawn, then one of the transitions in the leaf of the state."""

    trees: Trees
    leaves: Leaves  # with raw signals, and numbers of transitions, n for an end
    moves: Array  # (n,D) how each transition moved its state
    low: Array  # (D,) the least that was seen of each coordinate
    high: Array  # (D,) the most


@jit
def action_of(x: Array, r: int, lines: RuleLines) -> int:
    """The action of rule r in a state: that of the first line that holds, else its last one."""
    begin, end = lines.first[r], lines.first[r + 1]
    for k in range(begin, end):
        i, j = lines.where[k]
        if lines.how[k, 0] * x[i] + lines.how[k, 1] * x[j] < lines.how[k, 2]:
            held: int = lines.actions[k + r]
            return held
    last: int = lines.actions[end + r]
    return last


@jit
def rehearse(lines: RuleLines, echoes: Echoes, starts: Array, draws: Array, n_actions: int) -> Array:
    """Play some rules from the same starts with the same draws; returns the mean totals (R,J).

    Args:
        lines: R rules.
        echoes: what steps bring.
        starts: (M,D) the states in which episodes begin.
        draws: (M,H) numbers in [0,1).
        n_actions: A.
    """
    (M, H), D, R, J = draws.shape, starts.shape[1], len(lines.first) - 1, echoes.leaves.signal.shape[1]
    trees, leaves, T = echoes.trees, echoes.leaves, len(echoes.trees.roots) // n_actions
    out, x = np.zeros((R, J)), np.zeros(D)
    for r in range(R):
        for m in range(M):
            x[:] = starts[m]
            for h in range(H):
                draw = draws[m, h] * T
                tree = int(draw)
                leaf = leaf_of(x, trees.roots[action_of(x, r, lines) * T + tree], trees)
                begin, end = leaves.first[leaf], leaves.first[leaf + 1]
                for j in range(J):
                    out[r, j] += leaves.signal[leaf, j] / M
                move = leaves.after[begin + int((draw - tree) * (end - begin))]
                if move >= len(echoes.moves):
                    break
                for d in range(D):
                    x[d] = min(max(x[d] + echoes.moves[move, d], echoes.low[d]), echoes.high[d])
    return out
