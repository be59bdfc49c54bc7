"""Problems with one utility, one threshold or one number for a state, written without needless brackets."""

from __future__ import annotations

import numpy as np
import pytest

import noregret as nr
from noregret.errors import InputError

LONG = {
    "centres": [[[0.0], [1.0]], [[1.0], [0.0]]], "width": 0.5, "means": [[[0.0], [1.0]]] * 3, "scales": [[0.3, 0.3]] * 3,
    "theta": [[0.2, 0.9]] * 3, "omega": [[[0.8, 0.1]] * 3], "b": [1.0], "start": [0.5],
}  # fmt: skip


def test_a_linear_cmdp_takes_the_short_forms_of_a_tabular_one() -> None:
    whole = nr.LinearCMDP(**LONG)
    short = nr.LinearCMDP(**(LONG | {"omega": LONG["omega"][0], "b": 1.0, "start": 0.5, "scales": 0.3}))
    for name in ("means", "scales", "theta", "omega", "b", "start", "worth"):
        np.testing.assert_array_equal(getattr(short, name), getattr(whole, name))
    with pytest.raises(InputError, match="omega has shape"):
        nr.LinearCMDP(**(LONG | {"omega": [0.8, 0.1]}))
