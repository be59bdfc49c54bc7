"""What kernels take: arrays by what they hold, and the fields that a kernel reads where several NamedTuples fit.

Compiled code never sees these types: Numba goes by the types of the values. They are for readers and for the type checker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from noregret.kernels.steps.primal_dual import PriceRule

Array = NDArray[np.float64]
#: States, actions, counts.
Integers = NDArray[np.int64]
#: Counts and places in the tables of Grams.
Places = NDArray[np.uint32]
Flags = NDArray[np.bool_]
#: The state of a random stream, (1,).
Stream = NDArray[np.uint64]
#: From what to what something that counts may be in a file, and the state of a random stream; both are exact as float64 or int.
COUNTS, STREAMS = (0, 2**53), (0, 2**64 - 1)
#: A number to index with.
Index = int | np.int64 | np.uint32
#: A state and an action.
Pair = tuple[Index, Index]
#: The least and the largest value of an estimate.
Bounds = tuple[float, float]
#: β: a number, or one for each objective, or these, c of the bonus for noise, whether any pair varies, and what fades leave.
Bonus = float | Array | tuple[Array, Array, bool, float]


class Where(Protocol):
    """The states of each step that a kernel looks at: the first ``actives`` of ``active``, one row a step or one for all."""

    @property
    def active(self) -> Places | Integers:
        """(G,n) which."""

    @property
    def actives(self) -> Places | Integers:
        """(G,) how many."""


class Gram(Protocol):
    """The data of a regression, of any kind; what it can do is in :mod:`noregret.kernels.gram.base`."""

    @property
    def lam(self) -> float:
        """λ, the ridge parameter."""


class GramOfStates(Gram, Where, Protocol):
    """The data of a regression whose states are numbered."""


class ValueTables(Protocol):
    """J objectives at every step, state and action."""

    @property
    def Q(self) -> Array:
        """(H,J,S,A)."""

    @property
    def V(self) -> Array:
        """(H+1,J,S)."""


class Policies(ValueTables, Protocol):
    """Values, and a policy over the available actions."""

    @property
    def policy(self) -> Array:
        """(H,S,A)."""

    @property
    def available(self) -> Flags:
        """(H,S,A)."""


class Logits(Policies, Protocol):
    """A policy that is kept as logarithms, too."""

    @property
    def logits(self) -> Array:
        """(H,S,A) of the weights, the largest of a state 0."""


class Bonuses(ValueTables, Protocol):
    """Values, and room for the β of a step."""

    @property
    def bonus(self) -> Array:
        """(1,J) of the step at hand, or (H,J) of all."""


class PlanTables(Policies, Bonuses, Protocol):
    """What a plan fills."""


class Truncation(Protocol):
    """The least and the largest value of an estimate."""

    @property
    def floor(self) -> float:
        """0, or −∞ without the lower clip."""

    @property
    def cap(self) -> Array:
        """(H,)."""


class SweepRule(Truncation, Protocol):
    """The constants of Algorithm 1's backward pass."""

    @property
    def b(self) -> Array:
        """(m,) thresholds."""

    @property
    def beta(self) -> Array:
        """(J,) β of each objective."""

    @property
    def span_floor(self) -> float:
        """Least spread that β is multiplied by; negative for a constant β."""

    @property
    def by_variance(self) -> bool:
        """Whether β is multiplied by the deviation of the next values of a pair."""

    @property
    def late(self) -> float:
        """What is left of the bonus where much is known; 1 for all of it."""

    @property
    def noise(self) -> Array:
        """(J,) c of each objective's bonus for what a step pays; 0 for none."""

    @property
    def retry(self) -> Array:
        """(J,) c' of each objective's bonus that tries a pair again; 0 for none."""

    @property
    def pessimistic(self) -> bool:
        """Whether the dual's own objectives are."""


class DualRule(Protocol):
    """The constants of a dual step."""

    @property
    def b(self) -> Array:
        """(m,) thresholds."""

    @property
    def room(self) -> Array:
        """(m,) the most that a lack counts; or (0,)."""

    @property
    def eta(self) -> Array:
        """(1,) η."""

    @property
    def xi(self) -> Array:
        """(1,) ξ."""

    @property
    def eta_anytime(self) -> bool:
        """Whether η is divided by √k."""

    @property
    def damping(self) -> bool:
        """Whether there is a gain that ends oscillation."""

    @property
    def corrected(self) -> bool:
        """Whether the estimate is corrected by what was observed."""


class SharpRule(Protocol):
    """The constants of α."""

    @property
    def alpha(self) -> Array:
        """(1,) α."""

    @property
    def alpha_anytime(self) -> bool:
        """Whether α is multiplied by √k."""


class Priced(ValueTables, Protocol):
    """A state with prices."""

    @property
    def Y(self) -> Array:
        """(m,)."""

    @property
    def prices(self) -> PriceRule:
        """The constants of their step."""


class State(Protocol):
    """What every learner's state has."""

    @property
    def policy(self) -> Array:
        """(H,S,A) to play next."""

    @property
    def Y(self) -> Array:
        """(m,) the dual."""
