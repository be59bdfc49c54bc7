"""Feature maps: what they compute, that norms stay below 1, and what they refuse."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret import NoRegretError
from noregret.features import Fourier, Joint, Lifted, OneHot, Table, TileCoding, Transformer, one_hot, proven_bound


def test_lifted_features_are_a_copy_in_the_block_of_the_action():
    psi = Lifted(lambda x: np.stack([x[:, 0], 1 - x[:, 0]], axis=1), n_actions=3, width=2, bound=2.0)
    phi = psi.phi([[0.25]])
    assert phi.shape == (1, 3, 6)
    np.testing.assert_array_equal(phi[0, 1], [0, 0, 0.125, 0.375, 0, 0])
    assert (psi.rows, psi.blocks, psi.dimension) == (1, 3, 6)


def test_joint_features_are_the_functions_divided_by_the_bound():
    f = Joint(lambda x: np.stack([x, 2 * x], axis=1), n_actions=2, dimension=2, bound=4.0)
    np.testing.assert_array_equal(f.phi([[1.0, 0.5]])[0], [[0.25, 0.125], [0.5, 0.25]])
    assert (f.rows, f.blocks, f.dimension) == (2, 1, 2)


def test_one_hot_and_table_agree_with_the_table_of_the_tabular_path():
    S, A = 4, 3
    lifted, table = OneHot(S, A).phi(np.arange(S)), Table(one_hot(S, A)).phi(np.arange(S))
    order = [a * S + x for x in range(S) for a in range(A)]  # e_a ⊗ e_x against e_{x,a}
    np.testing.assert_array_equal(lifted[..., order], table)


def test_fourier_by_hand():
    f = Fourier([0.0, -1.0], [2.0, 1.0], n_actions=1, order=1)
    z = np.array([0.25, 0.75])  # of x = (0.5, 0.5)
    expected = [1.0, math.cos(math.pi * z[1]), math.cos(math.pi * z[0]), math.cos(math.pi * z.sum())]
    np.testing.assert_allclose(f.phi([[0.5, 0.5]])[0, 0], np.array(expected) / 2.0)


def test_tiles_mark_one_tile_of_each_grid_and_neighbours_share_most():
    f = TileCoding([0.0], [1.0], n_actions=1, tiles=4, tilings=4)
    phi = f.phi([[0.30], [0.31], [0.9]])[:, 0]
    assert ((phi > 0).sum(axis=1) == 4).all() and np.allclose(np.linalg.norm(phi, axis=1), 1.0)
    assert phi[0] @ phi[1] >= 0.75 > phi[0] @ phi[2]
    np.testing.assert_array_equal(f.phi([[1.0]]), f.phi([[7.0]]))  # outside counts as the edge


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=2), st.integers(1, 5), st.integers(1, 4))
def test_proven_norms_hold_everywhere(x, n, order):
    for f in (Fourier([-3, 0], [5, 1], n_actions=2, order=order), TileCoding([-3, 0], [5, 1], n_actions=2, tiles=n, tilings=n)):
        assert np.linalg.norm(f.phi([x]), axis=2).max() <= 1.0 + 1e-12


def test_scikit_learn_transformers_with_a_proven_bound():
    pytest.importorskip("sklearn")
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.pipeline import FeatureUnion, make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler, Normalizer, StandardScaler

    X = np.random.default_rng(0).normal(size=(200, 2))
    union = FeatureUnion([("a", RBFSampler(random_state=0)), ("b", RBFSampler(gamma=3, random_state=1))])
    for transformer, bound in (
        (RBFSampler(n_components=20, random_state=0), math.sqrt(2)),
        (Nystroem(n_components=20, random_state=0), 1.0),
        (make_pipeline(StandardScaler(), RBFSampler(n_components=10, random_state=0)), math.sqrt(2)),
        (union, 2.0),
        (KBinsDiscretizer(5, quantile_method="averaged_inverted_cdf"), math.sqrt(2)),
        (Normalizer(), 1.0),
        (MinMaxScaler((-3, 2), clip=True), 3 * math.sqrt(2)),
    ):
        f = Transformer(transformer, n_actions=2, sample=X)
        assert f.bound == pytest.approx(bound)
        far = np.concatenate([X, 100 * X])
        assert np.linalg.norm(f.phi(far), axis=2).max() <= 1.0 + 1e-9
    assert proven_bound(StandardScaler()) is None


def test_a_fitted_transformer_is_used_as_it_is_and_an_unfitted_one_is_not_touched():
    pytest.importorskip("sklearn")
    from sklearn.kernel_approximation import RBFSampler

    X = np.random.default_rng(0).normal(size=(50, 3))
    fitted, fresh = RBFSampler(random_state=1).fit(X), RBFSampler(random_state=1)
    one, two = Transformer(fitted, n_actions=2), Transformer(fresh, n_actions=2, sample=X)
    np.testing.assert_array_equal(one.phi(X), two.phi(X))
    assert not hasattr(fresh, "random_weights_")


def test_what_is_refused():
    pytest.importorskip("sklearn")
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    X = np.array([[0.0], [1.0]])
    encoder = Transformer(OneHotEncoder().fit(X), n_actions=2)
    assert encoder.width == 2
    cases = [
        (lambda: Joint(lambda x: x, n_actions=2, dimension=3), "need bound="),
        (lambda: Transformer(StandardScaler(), n_actions=2, sample=X), "no bound on the norm of StandardScaler"),
        (lambda: Transformer(StandardScaler(), n_actions=2, bound=3.0), "StandardScaler is not fitted"),
        (lambda: Transformer(object(), n_actions=2, bound=3.0), "expected an object with fit and transform"),
        (lambda: encoder.encode([[5.0]]), "OneHotEncoder refuses state [5.0]"),
        (
            lambda: Lifted(lambda x: x, n_actions=2, width=1, bound=1.0).encode([[3.0]]),
            "have norm 3; expected at most the bound 1",
        ),
        (lambda: Lifted(lambda x: x, n_actions=2, width=1, bound=1.0).encode([[np.nan]]), "is nan; expected a finite number"),
        (lambda: Lifted(lambda x: x, n_actions=2, width=2, bound=1.0).encode([[0.1]]), "features have shape (1, 1, 1)"),
        (lambda: Lifted(lambda x: x, n_actions=2, width=2, bound=-1.0), "bound is -1.0"),
        (lambda: Fourier([0.0], [np.inf], n_actions=2), "axis 0 of the box goes from 0 to inf"),
        (lambda: Fourier([0.0], [1.0], n_actions=2).encode([[0.1, 0.2]]), "has 2 numbers; expected 1"),
        (lambda: OneHot(3, 2).encode([3]), "outside the table"),
        (lambda: OneHot(3, 2).encode([0.5]), "expected an integer 0..2"),
        (lambda: Table(2 * one_hot(2, 2)), "has norm 2"),
    ]
    for make, text in cases:
        with pytest.raises(NoRegretError) as caught:
            make()
        assert text in str(caught.value) and "\n" not in str(caught.value)


def test_transformers_that_need_no_fit(tmp_path):
    pytest.importorskip("sklearn")
    import gymnasium
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

    import noregret as nr

    options = {"limit": 5.0, "episodes": 20, "horizon": 6, "overrun": "cut", "utility": lambda *_: 0.5}
    for transformer, bound, stated in (
        (Normalizer(), 1.0, None),
        (Normalizer("l1"), 1.0, None),
        (Normalizer("max"), 2.0, None),
        (make_pipeline(FunctionTransformer(np.tanh), Normalizer()), 1.0, None),
        (make_pipeline(StandardScaler(), Normalizer()), 1.0, None),
        (FunctionTransformer(np.tanh), 2.0, 2.0),
    ):
        a = nr.Agent(gymnasium.make("CartPole-v1"), features=transformer, bound=stated, **options).learn(2, progress_bar=False)
        assert a.features.width == 4 and a.features.bound == pytest.approx(bound)
        a.save(tmp_path / "a.npz")
        b = nr.Agent.load(tmp_path / "a.npz", features=a.features.transformer)
        np.testing.assert_array_equal(a.probabilities(np.full(4, 0.1), 0), b.probabilities(np.full(4, 0.1), 0))
    with pytest.raises(NoRegretError, match="Normalizer does not say how many numbers it takes; pass probe="):
        Transformer(Normalizer(), n_actions=2)
    assert Transformer(Normalizer("max"), n_actions=2, probe=np.ones((1, 9))).bound == 3.0


def test_nystroem_is_fitted_in_double_precision():
    pytest.importorskip("sklearn")
    from sklearn.kernel_approximation import Nystroem

    X = (0.05 * np.random.default_rng(0).normal(size=(300, 4))).astype(np.float32)  # a nearly singular K
    f = Transformer(Nystroem(n_components=60, random_state=0), n_actions=2, sample=X)
    assert np.linalg.norm(f.encode(X), axis=2).max() <= 1.0 + 1e-6
    with pytest.raises(NoRegretError, match="no bound on the norm of Nystroem's features is proven"):
        Transformer(Nystroem(n_components=60, random_state=0).fit(X), n_actions=2)
