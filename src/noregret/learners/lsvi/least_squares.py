"""What the least-squares learners share: rows of their tables, and the state before the first episode.

All of them regress on φ with ridge λ and add β‖φ‖_{Λ⁻¹}. In a state never visited at a step only the bonus counts, so with
one-hot features its estimates are the same for all actions and never change.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from noregret.kernels.gram.base import Tables
from noregret.kernels.steps.primal_dual import untried
from noregret.kernels.types import GramOfStates
from noregret.learners.base import GivenFeatures, Learner, SomeSpec
from noregret.learners.lsvi.rule import Rule, greedy
from noregret.learners.lsvi.sharing import empty_tables, feature_map, sharing_gram
from noregret.learners.presets import Flag, Number, Resolved, Word, sharing
from noregret.problems.base import Spec

#: Rows of the tables of least-squares learners: where Q is truncated, and what steps share.
TRUNCATION = (
    Word("cap", ("H", "H-h+1"), theory=("H", "as printed"), practical=("H-h+1", "what H-h+1 steps can give")),
    Flag("lower_clip", theory=(False, "as printed"), practical=(True, "values are at least 0")),
    sharing("transitions", "all"),
)

#: These and the ridge; ``beta`` is each learner's own.
RIDGE = (
    Number("lam", above=0.0, theory=(1, "as printed"), practical=("(beta/H)**2 or 1", "an untried pair is worth exactly H")),
    *TRUNCATION,
)


class Start(NamedTuple):
    """What the states of these learners share before the first episode."""

    gram: GramOfStates  # OneHotGram, TableGram or TimetableGram
    tables: Tables
    rule: Rule


class LeastSquaresLearner(Learner):
    """A learner that regresses on φ."""

    tables_only = False

    @classmethod
    def sizes(cls, spec: SomeSpec, episodes: int, features: GivenFeatures) -> dict[str, float]:
        """The numbers that formulas may name: d is the dimension of the features, ``one_hot`` whether they are one-hot.

        Args:
            spec: what is known of the problem.
            episodes: K.
            features: φ as given.
        """
        phi, d, _ = feature_map(cast(Spec, spec), features)
        return super().sizes(spec, episodes, features) | {"d": d, "one_hot": phi is None}

    def regression(self, c: Resolved, J: int) -> Start:
        """The empty regression, greedy: what the states of these learners share before the first episode.

        The constants have the rows of :data:`RIDGE`; J objectives are estimated, the reward first.
        """
        self.phi, self.dimension, self.constants["features"] = feature_map(self.spec, self.features)
        rule, tables = greedy(c, self.spec, J), empty_tables(self.spec, J)
        untried(tables, rule, c.lam)  # where nothing was seen only the bonus counts
        return Start(sharing_gram(self.spec, self.phi, c.lam, rule, c.share), tables, rule)
