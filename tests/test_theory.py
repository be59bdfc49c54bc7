"""The constants of the paper against numbers worked by hand, their monotonicity, and bad input."""

from __future__ import annotations

import doctest
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret import theory
from noregret.errors import InputError
from noregret.theory import constants

# The paper's experiment: H = 10, K = 2e5, two actions, ten states, one-hot features, and the paper's γ = 1.
H, K, A, D = 10, 200_000, 2, 20
LOG2 = 0.6931471805599453


def test_doctests() -> None:
    result = doctest.testmod(constants)
    assert result.attempted >= 4
    assert result.failed == 0


# --- hand-worked numbers -------------------------------------------------------------------------------------------


def test_iota_by_hand() -> None:
    # 4 · log 2 · 20 · 2e6 / 0.05 = 2 218 070 977.79...
    assert theory.iota(d=D, T=K * H, A=A, p=0.05) == pytest.approx(math.log(2_218_070_977.7918), rel=1e-12)
    assert theory.iota(d=1, T=1, A=3, p=0.5) == pytest.approx(math.log(8 * math.log(3)), rel=1e-15)


def test_chi_is_iota_plus_log_of_C1_plus_one() -> None:
    assert theory.chi(d=3, T=70, A=4, p=0.1, C1=6.0) == pytest.approx(math.log(4 * 7 * math.log(4) * 3 * 70 / 0.1), rel=1e-14)


def test_beta_of_the_experiment_is_928_at_p_5_percent() -> None:
    assert theory.beta(d=D, H=H, K=K, A=A, p=0.05) == pytest.approx(927.791, abs=5e-4)
    assert theory.beta(d=D, H=H, K=K, A=A, p=0.01) == pytest.approx(961.859, abs=6e-4)
    assert theory.beta(d=D, H=H, K=K, A=A) == theory.beta(d=D, H=H, K=K, A=A, p=0.01)
    assert theory.beta(d=D, H=H, K=K, A=A, C1=3.0) == pytest.approx(3 * theory.beta(d=D, H=H, K=K, A=A), rel=1e-15)


def test_C1_of_the_proof() -> None:
    assert theory.C1_of_proof(slater_gap=1.0) == 512.0
    assert theory.C1_of_proof(slater_gap=0.5) == 768.0


def test_dual_constants() -> None:
    assert theory.dual_bound(H=10, slater_gap=0.5) == 20.0
    assert theory.xi(H=10, slater_gap=1.0) == 20.0
    assert theory.xi(H=10, slater_gap=1.0, tightened=True) == 40.0
    # 20 / √(2e5 · 100) = 20 / 4472.13595...
    assert theory.eta(xi=20.0, K=K, H=H) == pytest.approx(0.004472135955, rel=1e-9)
    assert theory.eta(xi=3.0, K=4, H=2) == 0.75


def test_three_rules_for_alpha() -> None:
    assert theory.alpha_alg1(A=A, K=K, H=H, xi=20.0) == pytest.approx(LOG2 * 2e5 / 62, rel=1e-14)
    assert theory.alpha_text(A=A, K=K, H=H) == pytest.approx(LOG2 * 1e4, rel=1e-14)
    assert theory.alpha_experiment(K=K, H=H, slater_gap=1.0) == pytest.approx(2e5 / 31, rel=1e-14)
    rounded = {r: round(theory.alpha(r, A=A, K=K, H=H, xi=20.0, slater_gap=1.0)) for r in theory.ALPHA_RULES}
    assert rounded == {"alg1": 2236, "text": 6931, "experiment": 6452}


def test_alpha_with_several_constraints() -> None:
    # log 2 · 100 / (2 (1 + 3 (4 + 5))) = log 2 · 100 / 56
    assert theory.alpha_alg1(A=2, K=100, H=5, xi=4.0, m=3) == pytest.approx(LOG2 * 100 / 56, rel=1e-14)
    assert theory.alpha("alg1", A=2, K=100, H=5, xi=4.0, m=3) == theory.alpha_alg1(A=2, K=100, H=5, xi=4.0, m=3)


def test_softmax_gap() -> None:
    assert theory.softmax_gap(A=2, alpha=LOG2) == pytest.approx(1.0, rel=1e-15)
    assert theory.softmax_gap(A=1, alpha=3.0) == 0.0
    assert theory.softmax_gap(A=5, alpha=math.inf) == 0.0


def test_softmax_gap_bounds_the_loss_of_a_softmax() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        x, alpha = rng.uniform(0, 5, size=4), rng.uniform(0.1, 20)
        weights = np.exp(alpha * (x - x.max()))
        assert x.max() - weights @ x / weights.sum() <= theory.softmax_gap(A=4, alpha=alpha)


def test_softmax_loss_of_the_lemma_follows_from_alpha_of_algorithm_1() -> None:
    alpha = theory.alpha_alg1(A=7, K=50, H=3, xi=6.0)
    printed = theory.regret_bound(d=2, H=3, K=50, A=7, xi=6.0)
    full = theory.regret_bound(d=2, H=3, K=50, A=7, xi=6.0, full=True)
    assert 50 * 3 * theory.softmax_gap(A=7, alpha=alpha) == pytest.approx(2 * 3 * (1 + 6 + 3), rel=1e-14)
    assert full - printed == pytest.approx(60.0, rel=1e-10)


SMALL: dict[str, Any] = {"d": 2, "H": 3, "K": 8, "A": 2, "p": 0.25}  # T = 24, √(8·27·24) = 72
IOTA = math.log(4 * LOG2 * 2 * 24 / 0.25)


def test_theorem_1_by_hand() -> None:
    # ξ√(HT) = 6√72
    assert theory.regret_bound(**SMALL, xi=6.0) == pytest.approx(72 * IOTA + 6 * math.sqrt(72), rel=1e-14)
    assert theory.regret_bound(**SMALL, xi=6.0, C=2.0) == pytest.approx(144 * IOTA + 6 * math.sqrt(72), rel=1e-14)
    assert theory.violation_bound(**SMALL, xi=6.0) == pytest.approx(14 / 6 * 72 * IOTA, rel=1e-14)
    assert theory.violation_bound(**SMALL, xi=6.0, C=2.0) == pytest.approx(28 / 6 * 72 * IOTA, rel=1e-14)
    # full: 2/ξ · (ξ√72 + 2·3·(1+6+3)) more
    assert theory.violation_bound(**SMALL, xi=6.0, full=True) == pytest.approx(
        14 / 6 * 72 * IOTA + 2 / 6 * (6 * math.sqrt(72) + 60), rel=1e-14
    )


def test_theorem_2_by_hand() -> None:
    # γ = 2: ξ = 4·3/2 = 6; ζ = 0.5: K H ζ/γ = 8·3·0.25 = 6, K ζ = 4
    assert theory.tightening_loss(H=3, zeta=0.5, slater_gap=2.0) == 0.75
    assert theory.regret_bound_tightened(**SMALL, slater_gap=2.0, zeta=0.5) == pytest.approx(72 * IOTA + 6, rel=1e-14)
    assert theory.regret_bound_tightened(**SMALL, slater_gap=2.0, zeta=0.5, full=True) == pytest.approx(
        theory.regret_bound(**SMALL, xi=6.0, full=True) + 6, rel=1e-14
    )
    for full in (False, True):
        assert theory.violation_bound_tightened(**SMALL, slater_gap=2.0, zeta=0.5, full=full) == pytest.approx(
            theory.violation_bound(**SMALL, xi=6.0, full=full) - 4, rel=1e-14
        )


def test_zeta_is_exactly_the_smaller_of_the_two() -> None:
    # γ = 2: ξ = 6 and the first term is 14/6 · 72 ι / 8 = 21 ι
    assert theory.zeta(**SMALL, slater_gap=2.0) == 1.0  # γ/2, exactly
    small = theory.zeta(**SMALL, slater_gap=2.0, scale=1e-3)
    assert small == pytest.approx(0.021 * IOTA, rel=1e-14)
    assert small == 1e-3 * (theory.violation_bound(**SMALL, xi=6.0) / 8)
    assert theory.zeta(**SMALL, slater_gap=2.0, C=1e-3) == pytest.approx(small, rel=1e-14)


def test_zeta_of_the_experiment_is_capped_until_K_is_past_1e12() -> None:
    gap = 0.4998
    assert theory.zeta(K=10**12, H=H, d=D, A=A, slater_gap=gap) == gap / 2
    assert theory.zeta(K=10**14, H=H, d=D, A=A, slater_gap=gap) < gap / 2


def test_zeta_of_the_theorem_leaves_no_violation() -> None:
    given: dict[str, Any] = {"d": 1, "H": 2, "K": 10**7, "A": 2, "p": 0.1, "slater_gap": 1.0}
    zeta = theory.zeta(**given)
    assert zeta < 0.5
    assert theory.violation_bound_tightened(**given, zeta=zeta) == pytest.approx(0.0, abs=1e-6)
    assert theory.violation_bound_tightened(**given, zeta=0.5) == 0.0


def test_one_action_counts_as_two_in_the_logarithm() -> None:
    assert theory.iota(d=2, T=9, A=1) == theory.iota(d=2, T=9, A=2)
    assert theory.alpha_alg1(A=1, K=9, H=2, xi=1.0) == theory.alpha_alg1(A=2, K=9, H=2, xi=1.0)
    assert theory.alpha_text(A=1, K=9, H=2) == theory.alpha_text(A=2, K=9, H=2)
    assert theory.beta(d=1, H=1, K=1, A=1, p=0.999) > 0.0


def test_numpy_numbers_are_numbers() -> None:
    assert theory.beta(d=np.int64(20), H=np.int32(10), K=np.int64(K), A=2, p=np.float64(0.05)) == theory.beta(  # type: ignore[arg-type]
        d=20, H=10, K=K, A=2, p=0.05
    )


# --- properties ----------------------------------------------------------------------------------------------------

counts = st.integers(1, 10**6)
gaps = st.floats(1e-3, 1e3)
probabilities = st.floats(1e-9, 0.999)


@given(d=counts, H=counts, K=counts, A=counts, p=probabilities)
def test_iota_is_positive_and_beta_grows_with_everything_but_p(d: int, H: int, K: int, A: int, p: float) -> None:
    base = theory.beta(d=d, H=H, K=K, A=A, p=p)
    assert theory.iota(d=d, T=K * H, A=A, p=p) > 0.0
    assert base < theory.beta(d=d + 1, H=H, K=K, A=A, p=p)
    assert base < theory.beta(d=d, H=H + 1, K=K, A=A, p=p)
    assert base < theory.beta(d=d, H=H, K=2 * K, A=A, p=p)
    assert base <= theory.beta(d=d, H=H, K=K, A=A + 1, p=p)
    assert base < theory.beta(d=d, H=H, K=K, A=A, p=p / 2)


@given(A=counts, K=counts, H=counts, xi=gaps, gap=gaps, m=st.integers(1, 20))
def test_alpha_is_linear_in_K_and_falls_with_xi_H_and_m(A: int, K: int, H: int, xi: float, gap: float, m: int) -> None:
    for rule in theory.ALPHA_RULES:
        once = theory.alpha(rule, A=A, K=K, H=H, xi=xi, slater_gap=gap, m=m)
        assert theory.alpha(rule, A=A, K=3 * K, H=H, xi=xi, slater_gap=gap, m=m) == pytest.approx(3 * once, rel=1e-12)
        assert theory.alpha(rule, A=A, K=K, H=H + 1, xi=xi, slater_gap=gap, m=m) < once
    alg1 = theory.alpha_alg1(A=A, K=K, H=H, xi=xi, m=m)
    assert theory.alpha_alg1(A=A, K=K, H=H, xi=2 * xi, m=m) < alg1
    assert theory.alpha_alg1(A=A, K=K, H=H, xi=xi, m=m + 1) < alg1


@given(d=counts, H=counts, K=counts, A=counts, gap=gaps, p=probabilities, scale=st.floats(1e-12, 10.0))
def test_zeta_lies_in_its_range_and_never_grows_with_K(
    d: int, H: int, K: int, A: int, gap: float, p: float, scale: float
) -> None:
    zeta = theory.zeta(K=K, H=H, d=d, A=A, slater_gap=gap, p=p, scale=scale)
    assert 0.0 < zeta <= gap / 2
    assert theory.zeta(K=16 * K, H=H, d=d, A=A, slater_gap=gap, p=p, scale=scale) <= zeta
    assert theory.zeta(K=K, H=H, d=d, A=A, slater_gap=gap, p=p, scale=2 * scale) >= zeta


@given(d=counts, H=st.integers(1, 1000), K=counts, A=counts, gap=gaps, share=st.floats(0.0, 0.5))
def test_tightening_trades_violation_for_regret(d: int, H: int, K: int, A: int, gap: float, share: float) -> None:
    given: dict[str, Any] = {"d": d, "H": H, "K": K, "A": A, "slater_gap": gap}
    zeta = share * gap
    assert theory.regret_bound_tightened(**given, zeta=zeta) >= theory.regret_bound_tightened(**given, zeta=0.0)
    assert 0.0 <= theory.violation_bound_tightened(**given, zeta=zeta)
    assert theory.violation_bound_tightened(**given, zeta=zeta) <= theory.violation_bound_tightened(**given, zeta=0.0)
    assert theory.tightening_loss(H=H, zeta=zeta, slater_gap=gap) <= H / 2 * (1 + 1e-12)


@given(d=counts, H=st.integers(1, 1000), K=counts, A=counts, xi=gaps)
def test_bounds_grow_like_the_square_root_of_K(d: int, H: int, K: int, A: int, xi: float) -> None:
    """Four times the episodes: twice the bound, but for the logarithm."""
    grown = theory.iota(d=d, T=4 * K * H, A=A) / theory.iota(d=d, T=K * H, A=A)
    for bound in (theory.regret_bound, theory.violation_bound):
        ratio = bound(d=d, H=H, K=4 * K, A=A, xi=xi) / bound(d=d, H=H, K=K, A=A, xi=xi)
        assert 2.0 - 1e-9 <= ratio <= 2.0 * grown + 1e-9


# --- bad input -----------------------------------------------------------------------------------------------------

GOOD: dict[str, dict[str, Any]] = {
    "iota": {"d": 2, "T": 8, "A": 2, "p": 0.1},
    "chi": {"d": 2, "T": 8, "A": 2, "p": 0.1, "C1": 1.0},
    "beta": {"d": 2, "H": 3, "K": 4, "A": 2, "p": 0.1, "C1": 1.0},
    "C1_of_proof": {"slater_gap": 1.0},
    "dual_bound": {"H": 3, "slater_gap": 1.0},
    "xi": {"H": 3, "slater_gap": 1.0},
    "eta": {"xi": 2.0, "K": 4, "H": 3},
    "alpha_alg1": {"A": 2, "K": 4, "H": 3, "xi": 2.0, "m": 1},
    "alpha_text": {"A": 2, "K": 4, "H": 3},
    "alpha_experiment": {"K": 4, "H": 3, "slater_gap": 1.0},
    "softmax_gap": {"A": 2, "alpha": 1.0},
    "regret_bound": {"d": 2, "H": 3, "K": 4, "A": 2, "xi": 2.0, "p": 0.1, "C": 1.0},
    "violation_bound": {"d": 2, "H": 3, "K": 4, "A": 2, "xi": 2.0, "p": 0.1, "C": 1.0},
    "zeta": {"K": 4, "H": 3, "d": 2, "A": 2, "slater_gap": 1.0, "p": 0.1, "C": 1.0, "scale": 1.0},
    "tightening_loss": {"H": 3, "zeta": 0.1, "slater_gap": 1.0},
    "regret_bound_tightened": {"d": 2, "H": 3, "K": 4, "A": 2, "slater_gap": 1.0, "zeta": 0.1, "p": 0.1, "C": 1.0},
    "violation_bound_tightened": {"d": 2, "H": 3, "K": 4, "A": 2, "slater_gap": 1.0, "zeta": 0.1, "p": 0.1, "C": 1.0},
}
BAD_COUNT = [0, -1, 2.5, 1.5, "3", None, True, math.nan]
BAD_POSITIVE = [0.0, -1.0, math.inf, math.nan, "oracle", None]
BAD: dict[str, list[Any]] = {
    **dict.fromkeys(("d", "H", "K", "A", "T", "m"), BAD_COUNT),
    **dict.fromkeys(("slater_gap", "xi", "C", "C1", "scale"), BAD_POSITIVE),
    "p": [0.0, 1.0, -0.1, 2.0, math.nan, None],
    "alpha": [0.0, -1.0, math.nan, None],
    "zeta": [-0.1, 1.1, math.nan, None],
}


@pytest.mark.parametrize(
    ("function", "name", "value"),
    [(f, name, value) for f, arguments in GOOD.items() for name in arguments for value in BAD[name]],
)
def test_bad_input_is_named_with_its_value(function: str, name: str, value: Any) -> None:
    call = getattr(theory, function)
    assert math.isfinite(call(**GOOD[function]))
    with pytest.raises(InputError) as error:
        call(**(GOOD[function] | {name: value}))
    assert str(error.value).startswith(f"{name} is {value!r}; expected")


def test_theorem_2_refuses_more_than_half_the_slater_gap() -> None:
    with pytest.raises(InputError, match=r"zeta is 0\.51; expected 0 to 0\.5, 0\.5 times the Slater gap"):
        theory.regret_bound_tightened(**SMALL, slater_gap=1.0, zeta=0.51)
    with pytest.raises(InputError, match=r"zeta is 0\.51"):
        theory.violation_bound_tightened(**SMALL, slater_gap=1.0, zeta=0.51)
    assert theory.tightening_loss(H=3, zeta=0.51, slater_gap=1.0) == pytest.approx(1.53)


def test_alpha_says_what_its_rule_needs() -> None:
    with pytest.raises(InputError, match="xi is None; the alpha rule 'alg1' needs"):
        theory.alpha("alg1", A=2, K=4, H=3, slater_gap=1.0)
    with pytest.raises(InputError, match="slater_gap is None; the alpha rule 'experiment' needs"):
        theory.alpha("experiment", A=2, K=4, H=3, xi=1.0)
    with pytest.raises(InputError, match=r"unknown alpha rule 'experimnt'; did you mean 'experiment'\?"):
        theory.alpha("experimnt", A=2, K=4, H=3)  # type: ignore[arg-type]
