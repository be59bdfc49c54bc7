"""Feature maps φ(x,a): tables on finitely many states, and maps of any state with ‖φ‖ ≤ 1 by a bound that is known."""

from noregret.features.base import FeatureMap, Joint, Lifted
from noregret.features.maps import Fourier, OneHot, Table, TileCoding
from noregret.features.table import is_linear, is_one_hot, one_hot
from noregret.features.transformer import Transformer, proven_bound

__all__ = [
    "FeatureMap",
    "Fourier",
    "Joint",
    "Lifted",
    "OneHot",
    "Table",
    "TileCoding",
    "Transformer",
    "is_linear",
    "is_one_hot",
    "one_hot",
    "proven_bound",
]
