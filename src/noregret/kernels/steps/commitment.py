"""From data to one policy, without new data: the estimated CMDP as rows of a program, and the game that solves it.

The rows are those of :mod:`noregret.kernels.steps.programs` with one model, p̂ = Λ⁻¹-regression of "the next state is x'" on
φ. For tables it is n(x,a,x')/(n+λ). For features it need not be a distribution; values are then those of least squares,
backwards, and only the weights of a mixture look at where p̂ is positive.
"""

from __future__ import annotations

import numpy as np

from noregret.kernels.compiler.flat import fill, put
from noregret.kernels.compiler.jit import jit
from noregret.kernels.gram.base import estimate
from noregret.kernels.steps.primal_dual import dual_move, start_value
from noregret.kernels.steps.programs import BEYOND, POLICY, Basis, Rows, mixture, occupy, price
from noregret.kernels.types import Array, Flags, Gram, ValueTables


@jit
def fill_moves(gram: Gram, tables: ValueTables, rows: Rows) -> None:
    """Set where each pair leads: objective 0 of the Gram was observed as 0, so from V = e_x' its estimate is p̂(x'|x,a).

    Args:
        gram: the data.
        tables: Q (H,1,S,A) and V (H+1,1,S) to work with.
        rows: the program's, changed in place.
    """
    Q, V = tables.Q, tables.V
    G, S, A = rows.rest.shape
    fill(rows.rest, 0.0)
    fill(rows.room, 0.0)
    for g in range(G):
        for x in range(S):
            for s in range(S):
                V[g + 1, 0, s] = 1.0 if s == x else 0.0
                for a in range(A):
                    Q[g, 0, s, a] = 0.0  # a state never visited has no estimate
            estimate(gram, g, tables, 0.0, (-np.inf, np.inf))
            for s in range(S):
                for a in range(A):
                    rows.lower[g, s, a, x] = Q[g, 0, s, a]


@jit
def fill_worth(gram: Gram, tables: ValueTables, rows: Rows) -> None:
    """Set what each pair is worth: the estimates of reward and utilities, objectives 1 to 1 + m of the Gram, within [0,1].

    Args:
        gram: the data.
        tables: Q (H,2+m,S,A) and V (H+1,2+m,S) to work with.
        rows: the program's, changed in place.
    """
    Q, worth = tables.Q, rows.worth
    H, S, A, J = worth.shape
    fill(tables.V, 0.0)
    fill(Q, 0.0)
    for h in range(H):
        estimate(gram, h, tables, 0.0, (0.0, 1.0))
        for s in range(S):
            for a in range(A):
                for j in range(J):
                    worth[h, s, a, j] = Q[h, 1 + j, s, a]


@jit
def play_game(
    rows: Rows, world: tuple[Array, Array, Flags], Y: Array, basis: Basis, policy: Array, numbers: tuple[int, float, float]
) -> None:
    """Play the Lagrangian game: the best policy for prices Y, then a step of Y; all rounds mixed become one policy.

    Round t has π^t best for Y^t, then Y^{t+1} = clip(Y^t + η (b − V̂_g), 0, ξ) with its V̂_g; Y^1 = 0. The uniform mixture of the
    π^t has the mean of their occupancies, and so has one policy (where it comes at all), which is filled in.

    Args:
        rows: the program's.
        world: start, thresholds and available actions.
        Y: (m,) the mean of the prices, changed in place.
        basis: room to work in; ``found`` becomes V_r, V_gi and what the constraints lack together.
        policy: (H,S,A) the mixture as one policy, changed in place.
        numbers: how many rounds, η and ξ.
    """
    (start, b, available), (rounds, eta, xi) = world, numbers
    m, found, prices, total, one = len(b), basis.found, basis.ratio, policy, basis.q[0]
    fill(total, 0.0)
    fill(found, 0.0)
    fill(prices, 0.0)
    fill(Y, 0.0)
    for _ in range(rounds):
        price(rows, available, prices[:m], basis)
        occupy(rows, start, basis, 0)
        for h in range(one.shape[0]):
            for s in range(one.shape[1]):
                a = basis.choice[h, s]
                total[h, s, a] += one[h, s, a]
        found[0] += start_value(basis.V, 0, start) / rounds
        for i in range(m):
            V_g = start_value(basis.V, 1 + i, start)
            found[1 + i] += V_g / rounds
            Y[i] += prices[i] / rounds
            prices[i] = dual_move(prices[i], b[i] - V_g, eta, xi)
    for i in range(m):
        found[1 + m] += max(b[i] - found[1 + i], 0.0)
    put(one, total)
    fill(basis.kind, BEYOND)
    basis.kind[0], basis.inverse[0, 0] = POLICY, 1.0 / rounds
    mixture(basis, policy)
