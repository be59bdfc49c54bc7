r"""A scikit-learn transformer as ψ, lifted to actions: φ(x,a) = e_a ⊗ ψ(x)/bound.

A bound on ‖ψ‖ is proven for these, else it must be given:

- ``RBFSampler``: √(2/p)·cos(...) in each of p entries, so √2;
- ``Nystroem`` with a kernel that has k(x,x) = 1 (rbf, laplacian, cosine): ‖ψ(x)‖² = k_xᵀ K⁻¹ k_x ≤ k(x,x) = 1, if fitted in
  double precision (K is nearly singular, and in single precision norms come out above 1); what is fitted here is;
- ``OneHotEncoder`` and ``KBinsDiscretizer(encode="onehot…")``: one 1 for each of the q columns, so √q;
- ``Normalizer``: 1 for "l2" and for "l1", √p for "max" (each entry at most 1);
- ``MinMaxScaler(clip=True)``: √p times the larger end of its range;
- ``Pipeline``: that of its last step; ``FeatureUnion``: the root of the sum of squares, with its weights.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noregret.errors import InputError
from noregret.features.base import FeatureMap, check_bound, show
from noregret.problems.base import Array


class Transformer(FeatureMap):
    """A feature map from any scikit-learn transformer ψ, copied into the block of each action.

    Args:
        transformer: an object with ``transform``; fitted, or fitted here (a copy of it) when ``sample`` is given.
        n_actions: A.
        sample: (n, D) states to fit on; ``noregret.gym.sample_states`` collects some from an environment.
        bound: on the norm of what ``transform`` returns; needed unless :func:`proven_bound` knows one.
        probe: (n, D) states to count the features with, for a transformer that does not say how many numbers it takes (one
            that needs no fit does not). Nothing is fitted on these states.
    """

    def __init__(
        self,
        transformer: Any,
        *,
        n_actions: int,
        sample: ArrayLike | None = None,
        bound: float | None = None,
        probe: ArrayLike | None = None,
    ) -> None:
        if not hasattr(transformer, "transform"):
            raise InputError(
                f"transformer is {transformer!r}; expected an object with fit and transform, as scikit-learn's are"
            )
        if sample is not None:
            from sklearn.base import clone

            probe, transformer = sample, clone(transformer).fit(_flat(np.asarray(sample)))
        elif not is_fitted(transformer):
            raise InputError(
                f"transformer {_name(transformer)} is not fitted; fit it, or pass sample= with states to fit it on"
            )
        seen = None if probe is None else _flat(np.asarray(probe))[:1]
        columns = getattr(transformer, "n_features_in_", None if seen is None else seen.shape[1])
        if columns is None:
            raise InputError(f"{_name(transformer)} does not say how many numbers it takes; pass probe= with states to show it")
        if bound is None:
            bound = proven_bound(transformer, int(columns))
        if bound is None:
            raise InputError(
                f"no bound on the norm of {_name(transformer)}'s features is proven; pass bound= with one (‖φ‖ ≤ 1 is needed)"
            )
        self.transformer = transformer
        width = _width(transformer, np.zeros((1, int(columns))) if seen is None else seen)
        super().__init__(n_actions=n_actions, rows=1, width=width, bound=check_bound(bound))

    def _raw(self, states: NDArray[np.generic]) -> Array:
        try:
            psi = _dense(self.transformer.transform(_flat(states)))
        except ValueError as error:
            reason = " ".join(str(error).split())
            raise InputError(f"{_name(self.transformer)} refuses state {show(states[0])}: {reason}") from None
        return psi[:, None] if psi.ndim == 2 else psi

    def describe(self) -> str:
        """Say in one line what the map is, with the transformer's name."""
        return f"{_name(self.transformer)} as {super().describe()}"


def proven_bound(transformer: Any, columns: int | None = None) -> float | None:
    """Find a proven bound on ‖transform(x)‖ over all x that the transformer accepts.

    Args:
        transformer: of scikit-learn.
        columns: how many numbers x has, for a transformer that does not say.

    Returns:
        The bound, or None where none is proven.
    """
    name = _name(transformer)
    if name == "RBFSampler":
        return math.sqrt(2.0)
    if name == "Nystroem" and transformer.kernel in ("rbf", "laplacian", "cosine"):
        return None if getattr(transformer, "normalization_", np.zeros(0)).dtype == np.float32 else 1.0
    if name == "Normalizer" and transformer.norm in ("l1", "l2"):
        return 1.0
    if name == "Pipeline":
        return proven_bound(transformer.steps[-1][1])
    if name == "FeatureUnion":
        weights = transformer.transformer_weights or {}
        parts = [(proven_bound(part, columns), weights.get(key, 1.0)) for key, part in transformer.transformer_list]
        if all(bound is not None for bound, _ in parts):
            return math.sqrt(sum((float(weight) * float(bound or 0.0)) ** 2 for bound, weight in parts))
        return None
    columns = getattr(transformer, "n_features_in_", columns)
    if columns is None:
        return None
    if name in ("OneHotEncoder", "Normalizer") or (name == "KBinsDiscretizer" and transformer.encode.startswith("onehot")):
        return math.sqrt(columns)
    if name == "MinMaxScaler" and transformer.clip:
        return math.sqrt(columns) * max(abs(float(end)) for end in transformer.feature_range)
    return None


def is_fitted(transformer: object) -> bool:
    """Tell whether a transformer can transform already; a pipeline can if all its steps can."""
    steps = [step for _, step in getattr(transformer, "steps", ()) if hasattr(step, "transform")]
    if steps:
        return all(is_fitted(step) for step in steps)
    try:
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted
    except ImportError:  # not a scikit-learn object then: its own transform will say
        return True
    try:
        check_is_fitted(transformer)
    except NotFittedError:
        return False
    except TypeError:  # no scikit-learn estimator
        pass
    return True


def _width(transformer: Any, probe: NDArray[np.generic]) -> int:
    try:
        return int(_dense(transformer.transform(probe)).shape[1])
    except ValueError:  # zeros may be no state that it knows
        names = getattr(transformer, "get_feature_names_out", None)
        if names is None:
            raise InputError(
                f"{_name(transformer)} does not say how many features it makes; pass sample= with states"
            ) from None
        return len(names())


def _dense(psi: object) -> Array:
    return np.asarray(psi.toarray() if hasattr(psi, "toarray") else psi, dtype=np.float64)


def _flat(states: NDArray[np.generic]) -> NDArray[np.generic]:
    x = states.reshape(len(states), -1)
    return x.astype(np.float64) if x.dtype.kind == "f" else x  # the bounds are proven in double precision


def _name(transformer: object) -> str:
    return type(transformer).__name__
