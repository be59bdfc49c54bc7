"""Extremely randomized trees, grown and asked literally: nested tuples, one row after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def spread(Y: Array) -> float:
    """The sum of squared distances to the mean."""
    return float(((Y - Y.mean(axis=0)) ** 2).sum())


def grow(X: Array, Y: Array, draws: Array, least: int) -> Any:
    """A tree: (coordinate, cut, left, right), or the sorted numbers of the rows of a leaf. Nodes take draws level by level."""
    split: dict[int, Any] = {}
    waiting, node = [np.arange(len(X))], 0
    while node < len(waiting):
        rows, best, choice = waiting[node], 0.0, None
        if len(rows) >= 2 * least and spread(Y[rows]) > 1e-8:
            for where, place in draws[node]:
                d = int(where * X.shape[1])
                low, high = X[rows, d].min(), X[rows, d].max()
                cut = low + place * (high - low)
                left = X[rows, d] <= cut
                if low == high or left.sum() < least or (~left).sum() < least:
                    continue
                won = spread(Y[rows]) - spread(Y[rows[left]]) - spread(Y[rows[~left]])
                if won > best + 1e-12:
                    best, choice = won, (d, cut)
        if choice is not None:
            left = X[rows, choice[0]] <= choice[1]
            split[node] = (*choice, len(waiting))
            waiting += [rows[left], rows[~left]]
        node += 1

    def tree(node: int) -> Any:
        if node not in split:
            return sorted(waiting[node].tolist())
        d, cut, child = split[node]
        return d, cut, tree(child), tree(child + 1)

    return tree(0)


def leaf(tree: Any, x: Array) -> list[int]:
    """The rows of the leaf that a state falls into."""
    while isinstance(tree, tuple):
        d, cut, left, right = tree
        tree = left if x[d] <= cut else right
    return tree
