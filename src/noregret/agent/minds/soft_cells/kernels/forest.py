"""Extremely randomized trees: grown on transitions of one action, asked where a state falls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from noregret.agent.minds.soft_cells.kernels.sweep import Wish, soft_max
from noregret.agent.minds.soft_cells.types import Array, Integers, NextPlaces, Singles
from noregret.kernels.compiler.jit import jit


class Trees(NamedTuple):
    """Trees for each action, all nodes in one table; tree t of action a begins at node ``roots[a·T + t]``.

    A node with a coordinate sends a state left where that coordinate is at most the cut, else right; the right child stands
    just after the left one. A node without one (-1) is a leaf.
    """

    roots: Integers  # (A·T,)
    coordinate: Integers  # (nodes,)
    cut: Array  # (nodes,)
    child: Integers  # (nodes,) the left child; of a leaf its number


class Leaves(NamedTuple):
    """What a leaf holds: the prototypes that followed its transitions, and the mean of their signals."""

    first: Integers  # (L+1,) int64, where the entries of a leaf begin
    after: NextPlaces  # (entries,)
    signal: Array  # (L,J) mapped


@jit
def grow(X: Array, Y: Array, order: Integers, draws: Array, least: int, out: Trees) -> int:
    """Grow one tree; returns how many nodes it has.

    A node with enough transitions tries as many splits as it has draws, each at a random coordinate and a random place between
    the least and the largest value there. It takes the one that leaves the least variance in the targets.

    Args:
        X: (n,D) states.
        Y: (n,E) targets.
        order: (n,) the numbers of all rows; sorted so that the rows of each leaf stand together, one leaf after the other.
        draws: (nodes,K,2) numbers in [0,1).
        least: transitions of a leaf.
        out: the nodes are written to its tables; ``child`` of a leaf becomes the first of its rows in ``order``.
    """
    (n, D), E, K = X.shape, Y.shape[1], draws.shape[1]
    begin, end = np.zeros(len(out.cut), np.int64), np.zeros(len(out.cut), np.int64)
    end[0] = n
    nodes, node = 1, 0
    left, total = np.zeros(E), np.zeros(E)
    while node < nodes:
        i, j = begin[node], end[node]
        best, best_at, best_cut = 0.0, -1, 0.0
        total[:] = 0.0
        size = 0.0
        for row in order[i:j]:
            for e in range(E):
                total[e] += Y[row, e]
                size += Y[row, e] ** 2
        mean = 0.0
        for e in range(E):
            mean += total[e] ** 2 / (j - i)
        if j - i >= 2 * least and size - mean > 1e-9 * (1.0 + size) and nodes + 2 <= len(draws):
            for k in range(K):
                d = min(int(draws[node, k, 0] * D), D - 1)
                low, high = np.inf, -np.inf
                for row in order[i:j]:
                    low, high = min(low, X[row, d]), max(high, X[row, d])
                if low == high:
                    continue
                cut = low + draws[node, k, 1] * (high - low)
                left[:] = 0.0
                count = 0
                for row in order[i:j]:
                    if X[row, d] <= cut:
                        count += 1
                        for e in range(E):
                            left[e] += Y[row, e]
                if count < least or j - i - count < least:
                    continue
                won = -mean
                for e in range(E):
                    won += left[e] ** 2 / count + (total[e] - left[e]) ** 2 / (j - i - count)
                if won > best:
                    best, best_at, best_cut = won, d, cut
        out.coordinate[node], out.cut[node] = best_at, best_cut
        if best_at < 0:
            out.child[node] = i
        else:
            place = i
            for r in range(i, j):
                row = order[r]
                if X[row, best_at] <= best_cut:
                    order[r], order[place] = order[place], row
                    place += 1
            out.child[node] = nodes
            begin[nodes], end[nodes], begin[nodes + 1], end[nodes + 1] = i, place, place, j
            nodes += 2
        node += 1
    return nodes


@jit
def leaf_of(x: Array, root: int, trees: Trees) -> int:
    """The number of the leaf that a state falls into."""
    node = root
    while trees.coordinate[node] >= 0:
        node = trees.child[node] + (x[trees.coordinate[node]] > trees.cut[node])
    leaf: int = trees.child[node]
    return leaf


@jit
def leaves_of(X: Array, trees: Trees) -> Integers:
    """The leaf (n,A·T) of many states in every tree."""
    out = np.zeros((len(X), len(trees.roots)), np.int64)
    for i in range(len(X)):
        for t in range(len(trees.roots)):
            out[i, t] = leaf_of(X[i], trees.roots[t], trees)
    return out


@jit
def forest_values(x: Array, plan: tuple[Trees, Leaves], left: int, V: Singles, A: int) -> Singles:
    """Q (J,A) at a state with ``left`` steps to go: the mean over an action's trees of signals and of what followed."""
    trees, leaves = plan
    J, T = len(V), len(trees.roots) // A
    Q = np.zeros((J, A), np.float32)
    for a in range(A):
        for t in range(T):
            leaf = leaf_of(x, trees.roots[a * T + t], trees)
            begin, end = leaves.first[leaf], leaves.first[leaf + 1]
            for j in range(J):
                total = 0.0
                for e in range(begin, end):
                    total += V[j, leaves.after[e]]
                Q[j, a] += (total / max(end - begin, 1) + leaves.signal[leaf, j]) / T
        for j in range(J):
            Q[j, a] = min(max(Q[j, a], 0.0), left)
    return Q


@jit
def forest_worth(X: Array, plan: tuple[Trees, Leaves], left: int, V: Singles, wish: Wish, A: int) -> Array:
    """V (n,J) of the soft-max policy at many states with ``left`` steps to go."""
    J = len(V)
    out, chances, allowed = np.zeros((len(X), J)), np.zeros((1, A)), np.ones((1, A), np.bool_)
    for i in range(len(X)):
        Q = forest_values(X[i], plan, left, V, A)
        soft_max(Q, allowed, wish, chances)
        for j in range(J):
            for a in range(A):
                out[i, j] += chances[0, a] * Q[j, a]
    return out
