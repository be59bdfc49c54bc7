"""The constants of every ``theory`` preset against numbers worked out by hand, for one set of sizes.

H = 4, S = 5, A = 3, K = 1000, T = KH = 4000, p = 0.05, γ = 0.5. One-hot features have d = SA = 15. The lines above a number are
its derivation from the formula of the paper; nothing is read from the learner. A number that a learner does not list among its
constants is looked up in the state that its kernels work with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noregret as nr
from tests.support import OURS, fitting, small, told

K, P, GAP = 1000, 0.05, 0.5

#: ln 3 = 1.09861; √1000 = 31.6228; 1000^0.2 = 3.98107.
CASES: list[tuple[str, int, dict[str, Any], dict[str, Any]]] = [
    (
        "primal-dual-lsvi",
        1,
        {},
        {
            "lam": 1.0,
            # ι = ln(4·ln 3·15·4000/0.05) = ln(5 273 339) = 15.47817; β = dH√ι = 60·3.934231
            "beta": 236.053865659,
            # 2H/γ
            "xi": 16.0,
            # ξ/√(KH²) = 16/√16000
            "eta": 0.126491106407,
            # ln 3·1000/(2(1 + 16 + 4)) = 1098.612/42
            "alpha": 26.1574354445,
            "zeta": 0.0,
        },
    ),
    # Theorem 2: ξ = 4H/γ = 32; η = 32/√16000; α = 1098.612/(2·37)
    ("primal-dual-lsvi", 1, {"zeta": 0.1}, {"xi": 32.0, "eta": 0.252982212813, "alpha": 14.846112009}),
    # Two constraints: α = 1098.612/(2(1 + 2·20)) = 1098.612/82
    ("primal-dual-lsvi", 2, {}, {"alpha": 13.3977108374, "xi": 16.0}),
    (
        "lsvi-ucb",
        1,
        {},
        # dH√ln(2dT/p) = 60·√ln(2·15·4000/0.05) = 60·√ln(2 400 000) = 60·√14.690979
        {"lam": 1.0, "beta": 229.972879843},
    ),
    # β_1 = √(15·ln(8002/0.05))/2 + √15 = √(15·11.983179)/2 + 3.872983 = 10.576; so β = β_c = that of lsvi-ucb; 2H = 8
    ("slucb-qvi", 1, {}, {"lam": 1.0, "beta": 229.972879843, "cost_beta": 229.972879843, "optimism": 8.0, "cost_cap": np.inf}),
    (
        "lsvi-bisection",
        1,
        {},
        {
            "lam": 1.0,
            # the β of Algorithm 1
            "beta": 236.053865659,
            # ln 3·√1000/(4·4)
            "alpha": 2.17132318603,
            # √1000
            "max_price": 31.6227766017,
        },
    ),
    (
        "opse-lcmdp",
        1,
        {},
        {
            "lam": 1.0,
            # dH√ι as for Algorithm 1
            "C_r": 236.053865659,
            "C_g": 236.053865659,
            # C_g·H/ξ = 236.053866·8
            "B": 1888.43092527,
            # B·C_r, of order d²H³/ξ
            "C_plus": 445771.419941,
            # min{0.125/(256·15·31.6228), 0.25/(32·(2·4)²·1889.43093)} = min{1.03e-6, 0.25/3 869 554.5}
            "kappa": 6.46069199288e-08,
            # 8·(2·4)²·1889.43093/0.5
            "max_price": 1934777.26748,
            "passes": 60,
        },
    ),
    # Without a bonus the first of the two is smaller: 0.125/(256·15·31.6228), and C_y = 512/0.5
    ("opse-lcmdp", 1, {"B": 0.0}, {"kappa": 1.02938725917e-06, "max_price": 1024.0}),
    (
        "opdop",
        1,
        {},
        {
            # H√(S ln(SAT/p)) = 4·√(5·ln(60 000/0.05)) = 4·√(5·13.997832)
            "beta": 33.4638098426,
            # the bonuses of means and transitions together: 2β
            "state.local": 66.9276196852,
            # √ln 3/(16·31.6228) = 1.048147/505.964
            "alpha": 0.00207158254786,
            # 1/√1000, 1/1000
            "eta": 0.0316227766017,
            "theta": 0.001,
            "lam": 1.0,
            # 2H/γ
            "xi": 16.0,
        },
    ),
    (
        "opt-primal-dual",
        1,
        {},
        {
            # ρ = H/γ
            "xi": 8.0,
            # t_K = √(2 ln 3/(H²(1+ρ)²K)) = √(2.197225/(16·81·1000))
            "alpha": 0.00130207117101,
            # 1/t_λ = ρ/√(H²K) = 8/√16000
            "eta": 0.0632455532034,
            # L_p = ln(6·5·3·4·1000/0.05) = ln(7 200 000)
            "state.L": 15.789591584,
            # √L_l, L_l = 2 ln(2·7 200 000)
            "state.local": 5.74155706486,
            # H times the sum of the transitions' radii
            "state.transition": 4.0,
            "state.theta": 0.0,
        },
    ),
    (
        "opt-primal-dual",
        2,
        {},
        # I = 2: √(2.197225/(16·17²·1000)); 8/√32000; √(2 ln(3·7 200 000))
        {"xi": 8.0, "alpha": 0.000689331796415, "eta": 0.04472135955, "state.local": 5.81174739173},
    ),
    # As opt-primal-dual; no upper bound of the dual, no truncation
    ("opt-dual", 1, {}, {"eta": 0.0632455532034, "state.L": 15.789591584, "state.local": 5.74155706486, "state.scale": 1.0}),
    ("opt-dual", 2, {}, {"eta": 0.04472135955, "state.local": 5.81174739173, "truncate": False}),
    (
        "optpess-primal-dual",
        1,
        {},
        {
            # η_k/√k = γH
            "eta": 2.0,
            "state.eta": 2.0,
            # 1 + SH
            "state.width": 21.0,
            # δ' = p/(16S²AH) = 0.05/4800
            "state.delta": 1.04166666667e-05,
            # 5H²√(S³A) = 80·√375
            "state.eps": 1549.19333848,
            "eps_cap": np.inf,
        },
    ),
    (
        "triple-q",
        1,
        {},
        {
            # K^1/5
            "chi": 3.98107170553,
            "eta": 3.98107170553,
            # ι = 128·ln(√(2·5·3·4)·1000) = 128·ln(10 954.45) = 1190.592; ε = 8·√(15·4⁶·ι³)/3.98107
            "eps": 20462566.8458,
            # K^3/5 = 63.0957, rounded up
            "state.frame": 64.0,
            # ¼·√(H²ι) = √1190.592
            "state.bonus": 34.5049582995,
            # 2H³√ι/η = 128·34.504958/3.98107
            "bump": 1109.40846812,
        },
    ),
    # As opt-primal-dual: L_p, √L_l; the radii of the box are the paper's
    (
        "ucrl-opt-lp",
        1,
        {},
        {"state.L": 15.789591584, "state.local": [5.74155706486] * 2, "state.scale": 1.0, "replan": "always"},
    ),
    ("ucrl-opt-lp", 2, {}, {"state.local": [5.81174739173] * 3, "state.top": [1.0] * 4, "state.hope": [1.0] * 3}),
    # As opt-primal-dual, H times the sum of radii
    ("optcmdp-bonus", 1, {}, {"state.L": 15.789591584, "state.local": [5.74155706486] * 2, "state.spread": [4.0, 4.0]}),
    ("optcmdp-bonus", 2, {}, {"state.local": [5.81174739173] * 3, "state.scale": 0.0, "state.top": [4.0, 3.0, 2.0, 1.0]}),
    (
        "uc-cfh",
        1,
        {},
        # U = 5·3·4·log₂(2000) = 657.947; L = ln(4·2·5·U/0.05) = ln(526 357.6); √(L/2)
        {"state.L": 13.173736195391, "state.local": [2.566489450143] * 2, "state.scale": 1.0, "replan": "doubling"},
    ),
    # 4·√(2 ln(8·60·2·10⁶/0.05)) = 4·√(2·23.678176)
    ("conrl", 1, {}, {"state.local": [27.526380723069] * 2, "state.scale": 0.0, "replan": "always"}),
    # √(ln(60·2·π²·10⁶/0.15)/2) = √(22.789582/2); the utility's with a minus sign
    ("c-ucrl", 1, {}, {"state.local": [3.375617133009, -3.375617133009], "state.hope": [1.0, 0.0], "replan": "rounds"}),
    # L = ln(60·4000/0.05) = ln(4 800 000); √L; ⌈4000^⅓/4⌉ = ⌈3.97⌉
    (
        "cmdp-rl",
        1,
        {},
        {
            "state.L": 15.384126475878,
            "state.local": [3.922260378389] * 2,
            "state.length": 4,
            "state.scale": 1.0,
            "replan": "epochs",
        },
    ),
    (
        "dope",
        1,
        {},
        {
            # H²/γ, H; S²AH⁴/γ² = 25·3·256/0.25, at most K
            "C_r": 32.0,
            "C_g": 4.0,
            "safe_episodes": 76800.0,
            "state.first": 1000,
            "state.spread": [32.0, -4.0],
            # √L_l as opt-primal-dual; L = ln(2·60·1000/0.05)
            "state.local": [5.74155706486, -5.74155706486],
            "state.L": 14.690979295318,
            "state.scale": 1.0,
        },
    ),
    (
        "optpess-lp",
        1,
        {},
        {
            # 1 + SH = 21; 21 + 4·4·21/0.5; γ/2; √ln(16·25·3·4·1000/0.05) = √18.379859 times these
            "C_g": 21.0,
            "C_r": 693.0,
            "state.margin": 0.25,
            "state.local": [2971.01140767854, -90.030648717532],
            "state.hope": [1.0, 0.0],
            "state.top": [4.0, 3.0, 2.0, 1.0],
        },
    ),
    ("posterior-sampling", 1, {}, {"prior": 1.0, "state.prior": 1.0, "state.local": [0.0, 0.0], "replan": "always"}),
    (
        "regularized-primal-dual",
        1,
        {},
        {
            # 1000^(−1/7); γ²·1000^(−5/7)/H² = 0.25·0.00719686/16; H(1 + τ ln 3)/γ = 8·1.409518
            "tau": 0.372759372031,
            "eta": 0.000112450886406,
            "alpha": 0.000112450886406,
            "xi": 11.2761442146,
            # w_l = √(2 ln(2·60·2·1000/0.05)) = √(2·15.384126) = 5.546914; w_p = 4·√(20·ln(3·60·1000/0.05)) = 4·√(20·15.096444)
            # = 69.504404; the utility's w_l + w_p, the reward's τ·ln 3·w_p more
            "state.beta": [103.514624546, 75.0513180647],
            "state.step_power": 0.0,
        },
    ),
    # I = 2: half of η; w_l = √(2 ln(2·60·3·1000/0.05))
    ("regularized-primal-dual", 2, {"tau": 0.0}, {"eta": 5.62254432032e-05, "xi": 8.0, "state.beta": [75.1239400923] * 3}),
    (
        "uopt-rpgpd",
        1,
        {},
        # ln(48·25·3·4/0.05) = ln(288 000)
        {"eta": 1.0, "tau": 1.0, "state.L": 12.5707157591, "step_power": 0.53, "tau_power": 0.4, "xi": np.inf},
    ),
    (
        "reward-free",
        1,
        {},
        {
            "lam": 1.0,
            # ι = ln(60·1000/0.05) = 13.997832; H√(Sι) = 4·√69.989161
            "beta": 33.4638098426,
            # C = 15·256·ι = 53 751.68; (1000·√C/8)^(2/3) = 943.49
            "explore": 943,
            # 1000^(2/3); 2H/γ; 16/(4·√100)
            "rounds": 100,
            "xi": 16.0,
            "eta": 0.4,
            "planner": "game",
        },
    ),
    # m = 2: twice C; it would be 1188.72, and there are no more than K
    ("reward-free", 2, {}, {"explore": 1000}),
    ("explore-then-commit", 1, {}, {"explore": 943, "planner": "game"}),
    # 2 ln 3; 1/(4·31.6228); 2H/γ
    ("npg-pd", 1, {}, {"alpha": 2.19722457734, "eta": 0.00790569415042, "xi": 16.0, "estimate": "rollouts", "draws": 1}),
    # 1/(8·√15000) = 0.125/122.474; 8·√0.015
    ("crpo", 2, {}, {"alpha": 0.00102062072616, "tol": 0.979795897113, "estimate": "rollouts", "draws": 1}),
    (
        "cspda",
        1,
        {},
        {
            # 4H/γ; min(4/31.6228, 0.25)
            "xi": 32.0,
            "kappa": 0.126491106407,
            # √(ln 15/1000)/(4·33) = √0.00270805/132; 32/(4·31.6228); 132/31.6228
            "alpha": 0.000394234315675,
            "eta": 0.252982212813,
            "eta_v": 4.17420651142,
            "spread": 0.5,
            "estimate": "pairs",
        },
    ),
    # Two constraints: 4·65 in place of 4·33
    ("cspda", 2, {}, {"alpha": 0.000200149729496, "eta_v": 8.22192191644, "eta": 0.252982212813}),
]

#: Learners without a probability of failure.
SURE = ("triple-q", "posterior-sampling", "npg-pd", "crpo", "cspda")


def made(name: str, m: int, given: dict[str, Any]) -> Any:
    problem = fitting(name, small(H=4, S=5, A=3, m=m))
    known = {} if name in SURE else {"p": P}
    return nr.learners.make(
        name, problem.spec, episodes=K, preset="theory", slater_gap=GAP, **told(name, problem), **known, **given
    )


def held(learner: Any, name: str) -> Any:
    """A number that the kernels work with: of the state, or of a part within it."""
    parts = (learner._state, *(getattr(learner._state, part, None) for part in ("rule", "belief")))
    return next(getattr(part, name) for part in parts if hasattr(part, name))


@pytest.mark.parametrize(("name", "m", "given", "worked_out"), CASES)
def test_constants_of_theory_are_those_of_the_papers(
    name: str, m: int, given: dict[str, Any], worked_out: dict[str, Any]
) -> None:
    learner = made(name, m, given)
    for key, number in worked_out.items():
        found = held(learner, key.removeprefix("state.")) if key.startswith("state.") else learner.constants[key]
        assert found == (number if isinstance(number, str) else pytest.approx(number, rel=1e-10)), key


def test_the_truncation_is_at_H_where_the_papers_have_that() -> None:
    for name in ("primal-dual-lsvi", "lsvi-ucb", "lsvi-bisection", "slucb-qvi", "triple-q"):
        assert held(made(name, 1, {}), "cap").tolist() == [4.0] * 4, name
    assert held(made("opt-dual", 1, {}), "cap").tolist() == [np.inf] * 4
    for name in ("opdop", "opt-primal-dual", "optpess-primal-dual"):
        assert held(made(name, 1, {}), "cap").tolist() == [4.0, 3.0, 2.0, 1.0], name


def test_every_learner_with_a_theory_preset_is_on_the_list() -> None:
    """``uniform`` has no constants; learners that other tests register are not ours."""
    assert {name for name, *_ in CASES} == {*OURS} - {"uniform"}
