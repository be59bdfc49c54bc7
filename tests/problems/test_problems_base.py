"""TabularCMDP and Constraint: what is accepted, what is repaired, and how every refusal names its entry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noregret as nr
from noregret.errors import InputError, NoRegretError
from noregret.problems import Constraint, TabularCMDP

H, S, A = 2, 3, 2


def parts(**changes: Any) -> dict[str, Any]:
    """The arguments of a small valid problem: uniform moves, r = 0.5, g = 0.25."""
    given = {
        "P": np.full((H, S, A, S), 1.0 / S),
        "r": np.full((H, S, A), 0.5),
        "g": np.full((1, H, S, A), 0.25),
        "b": np.array([0.3]),
        "mu": 0,
    }
    return given | changes


def edit(name: str, index: tuple[int, ...], value: float, **changes: Any) -> dict[str, Any]:
    given = parts(**changes)
    given[name] = np.array(given[name], dtype=np.float64)
    given[name][index] = value
    return given


def build(given: dict[str, Any]) -> TabularCMDP:
    return TabularCMDP(**given)


def kernel(*, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(S), size=(H, S, A))


REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    ("P not numbers", parts(P="kernel"), "P is not an array of numbers"),
    ("P text", parts(P=np.full((2, 3, 2, 3), "0.5\n")), "P is not an array of numbers: '0.5\\n' is text"),
    ("P ragged", parts(P=[[1.0], [0.5, 0.5]]), "P is not an array of numbers"),
    ("P with three axes", parts(P=np.ones((S, A, S))), "P has shape (3, 2, 3); expected (H,S,A,S)"),
    ("P not square", parts(P=np.ones((H, S, A, S + 1))), "P has shape (2, 3, 2, 4)"),
    ("P empty", parts(P=np.ones((0, S, A, S))), "P has shape (0, 3, 2, 3)"),
    ("P row", edit("P", (1, 2, 0, 1), 0.5), "P[1, 2, 0] sums to 1.16666667; expected 1"),
    ("P negative", edit("P", (1, 0, 1, 2), -0.1), "P[1, 0, 1, 2] is -0.1; expected a probability"),
    ("P nan", edit("P", (0, 2, 1, 0), np.nan), "P[0, 2, 1, 0] is nan; expected a finite number"),
    ("P inf", edit("P", (0, 2, 1, 0), np.inf), "P[0, 2, 1, 0] is inf; expected a finite number"),
    ("r shape", parts(r=np.ones((S, A))), "r has shape (3, 2); expected (2, 3, 2), or (2, 3, 2, 3)"),
    ("r above", edit("r", (1, 1, 0), 1.1), "r[1, 1, 0] is 1.1; expected a value in [0, 1]"),
    ("r below", edit("r", (0, 1, 1), -2e-6), "r[0, 1, 1] is -2e-06; expected a value in [0, 1]"),
    ("r nan", edit("r", (0, 0, 1), np.nan), "r[0, 0, 1] is nan"),
    ("r by next", edit("r", (1, 0, 0, 2), 3.0, r=np.zeros((H, S, A, S))), "r[1, 0, 0, 2] is 3; expected"),
    ("g shape", parts(g=np.ones((1, S, H, A))), "g has shape (1, 3, 2, 2)"),
    ("g none", parts(g=np.ones((0, H, S, A)), b=[]), "g has shape (0, 2, 3, 2)"),
    ("g above", edit("g", (0, 1, 2, 1), 1.5), "g[0, 1, 2, 1] is 1.5"),
    ("second g", edit("g", (1, 0, 1, 0), -1.0, g=np.zeros((2, H, S, A)), b=[0, 0]), "g[1, 0, 1, 0] is -1"),
    ("lone g", edit("g", (1, 2, 1), 7.0, g=np.zeros((H, S, A))), "g[1, 2, 1] is 7"),
    ("g inf", edit("g", (0, 0, 2, 1), np.inf), "g[0, 0, 2, 1] is inf"),
    ("g by next", edit("g", (0, 1, 2, 1, 0), 2.0, g=np.zeros((1, H, S, A, S))), "g[0, 1, 2, 1, 0] is 2"),
    ("b shape", parts(b=[0.1, 0.2]), "b has shape (2,); expected (1,)"),
    ("b nan", parts(b=np.nan), "b is nan; expected a finite number"),
    ("b entry", parts(g=np.zeros((2, H, S, A)), b=[0.0, np.inf]), "b[1] is inf"),
    ("mu state", parts(mu=S), "mu is 3; expected a state 0..2"),
    ("mu negative state", parts(mu=-1), "mu is -1; expected a state 0..2"),
    ("mu fractional", parts(mu=0.5), "mu is 0.5; expected a state"),
    ("mu shape", parts(mu=[0.5, 0.5]), "mu has shape (2,); expected (3,)"),
    ("mu sum", parts(mu=[0.5, 0.5, 0.5]), "mu sums to 1.5; expected 1"),
    ("mu negative", parts(mu=[1.5, -0.5, 0.0]), "mu[1] is -0.5; expected a probability"),
    ("mu nan", parts(mu=[np.nan, 0.5, 0.5]), "mu[0] is nan"),
    ("mu ragged", parts(mu=[[1.0], [0.5, 0.5]]), "mu is not an array of numbers"),
    ("mask dtype", parts(available=np.ones((S, A))), "available has dtype float64; expected booleans"),
    ("mask shape", parts(available=np.ones((A, S), bool)), "available has shape (2, 3)"),
    ("mask ragged", parts(available=[[True], [True, False]]), "available is not an array of booleans"),
    ("no action", parts(available=np.arange(S * A).reshape(S, A) < 4), "available[0, 2] has no available action"),
    ("noise", parts(noise="loud"), "noise is 'loud'; expected None, 'bernoulli', 'gaussian' or 'clipped'"),
    ("names", parts(constraint_names=["a", "b"]), "constraint_names has 2 entries; expected 1"),
    ("senses", parts(senses=["<=", ">="]), "senses has 2 entries; expected 1"),
    ("sense", parts(senses=["<"]), "senses contains '<'; expected '>=' or '<='"),
    ("features shape", parts(features=np.ones((S, A))), "features has shape (3, 2); expected (3, 2, d)"),
    ("features norm", edit("features", (1, 1), 1.0, features=np.zeros((S, A, 4))), "features[1, 1] has norm 2"),
    ("features nan", edit("features", (0, 1, 2), np.nan, features=np.zeros((S, A, 4))), "features[0, 1, 2] is nan"),
]


@pytest.mark.parametrize(("given_", "message"), [r[1:] for r in REFUSALS], ids=[r[0] for r in REFUSALS])
def test_refusals_name_the_first_offending_entry(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        build(given_)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, NoRegretError)


def test_the_first_of_several_offending_entries_is_named() -> None:
    given_ = edit("r", (1, 2, 1), 9.0)
    given_["r"][0, 1, 0] = -9.0
    with pytest.raises(InputError, match=r"r\[0, 1, 0\] is -9"):
        build(given_)


def test_small_errors_are_repaired() -> None:
    P = np.full((H, S, A, S), 1.0 / S)
    P[0, 0, 0] *= 1.0 + 5e-7
    p = build(parts(P=P, r=np.full((H, S, A), 1.0 + 9e-7), g=np.full((H, S, A), -9e-7), mu=[1.0 - 5e-7, 0, 0]))
    assert np.abs(p.P.sum(axis=3) - 1.0).max() < 1e-15
    assert (p.r == 1.0).all()
    assert (p.g == 0.0).all()
    assert p.mu.tolist() == [1.0, 0.0, 0.0]


def test_arrays_are_read_only_copies() -> None:
    given_ = parts(features=np.zeros((S, A, 2)), available=np.ones((S, A), bool))
    p = build(given_)
    for name in ("P", "r", "g", "b", "mu", "features", "available"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(p, name)[...] = 0
        assert given_[name] is not getattr(p, name)
    given_["P"][...] = 7.0  # the caller's array stays the caller's
    given_["available"][...] = False
    assert p.P.max() < 1.0
    assert p.available.all()


def test_shapes_and_spec() -> None:
    p = build(parts(g=np.zeros((H, S, A)), b=0.5, mu=2, features=np.eye(S * A).reshape(S, A, S * A)))
    assert (p.horizon, p.n_states, p.n_actions, p.n_constraints) == (H, S, A, 1)
    assert p.g.shape == (1, H, S, A)
    assert p.b.tolist() == [0.5]
    assert p.mu.tolist() == [0, 0, 1]
    spec = p.spec
    assert (spec.horizon, spec.n_states, spec.n_actions, spec.n_constraints, spec.dimension) == (H, S, A, 1, 6)
    assert not {"P", "r", "g", "r_next", "g_next"} & set(vars(spec))
    assert build(parts()).spec.dimension == S * A
    assert "H=2 S=3 A=2 d=6 m=1" in repr(p)


def test_values_by_next_state_become_means() -> None:
    P = kernel()
    r = np.random.default_rng(1).uniform(size=(H, S, A, S))
    p = build(parts(P=P, r=r, g=np.stack([1.0 - r, r]), b=[0.1, 0.2]))
    assert np.allclose(p.r, (P * r).sum(axis=3), atol=1e-15)
    assert np.allclose(p.g, [(P * (1 - r)).sum(axis=3), p.r], atol=1e-15)
    assert np.array_equal(p.r_next, r)
    assert p.g_next is not None
    assert p.g_next.shape == (2, H, S, A, S)


def test_values_at_impossible_next_states_do_not_matter() -> None:
    P = np.zeros((H, S, A, S))
    P[..., 0] = 1.0
    r = np.zeros((H, S, A, S))
    r[..., 0], r[..., 1] = 0.75, 99.0
    p = build(parts(P=P, r=r))
    assert (p.r == 0.75).all()
    assert p.r_next is not None
    assert p.r_next.max() == 0.75


def test_unavailable_actions_are_never_looked_at() -> None:
    available = np.ones((S, A), bool)
    available[1, 1] = False
    P = np.full((H, S, A, S), 1.0 / S)
    P[:, 1, 1] = -5.0
    r = np.full((H, S, A), 0.5)
    r[:, 1, 1] = 44.0
    p = build(parts(P=P, r=r, g=r.copy(), available=available))
    assert p.available.shape == (H, S, A)
    assert (p.P[:, 1, 1] == [0, 1, 0]).all()  # a self-loop
    assert (p.r[:, 1, 1] == 0).all()
    assert (p.g[:, :, 1, 1] == 0).all()


def test_masks_may_depend_on_the_step() -> None:
    available = np.ones((H, S, A), bool)
    available[1, 2, 0] = False
    assert np.array_equal(build(parts(available=available)).available, available)


# --- constraints of either sense ----------------------------------------------------------------------------------


def test_a_limit_on_a_cost_becomes_a_utility() -> None:
    cost = np.random.default_rng(2).uniform(size=(H, S, A))
    p = TabularCMDP.with_constraints(kernel(), np.zeros((H, S, A)), [Constraint(cost, 0.5, "<=", "fuel")], 0)
    assert np.array_equal(p.g, 1.0 - cost[None])
    assert p.b.tolist() == [H - 0.5]
    assert p.senses == ("<=",)
    assert p.constraint_names == ("fuel",)
    assert p.limits().tolist() == [0.5]


def test_constraints_of_both_senses_and_shapes_mix() -> None:
    rng = np.random.default_rng(3)
    P, flat, by_next = kernel(), rng.uniform(size=(H, S, A)), rng.uniform(size=(H, S, A, S))
    constraints = [Constraint(flat, 0.7), Constraint(by_next, 1.25, "<=", "by next")]
    p = TabularCMDP.with_constraints(P, flat, constraints, 0, noise="bernoulli", name="mixed")
    assert np.allclose(p.g[0], flat, atol=1e-15)
    assert np.allclose(p.g[1], 1.0 - (P * by_next).sum(axis=3), atol=1e-15)
    assert p.b.tolist() == [0.7, H - 1.25]
    assert p.limits().tolist() == [0.7, 1.25]
    assert p.g_next is not None
    assert np.array_equal(p.g_next[0], np.repeat(flat[..., None], S, axis=3))
    assert (p.noise, p.name) == ("bernoulli", "mixed")


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (lambda: Constraint(np.zeros((H, S, A)), 1.0, "<"), "sense of constraint 'utility' is '<'"),  # type: ignore[arg-type]
        (lambda: Constraint(np.zeros((H, S, A)), np.nan, name="c"), "limit of constraint 'c' is nan"),
        (lambda: Constraint("much", 1.0, name="c").utility(), "constraint 'c' is not an array of numbers"),
        (lambda: Constraint([0.0, np.nan], 1.0, name="c").utility(), "constraint 'c'[1] is nan"),
    ],
)
def test_bad_constraints_are_refused(constraint: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        constraint()
    assert message in str(caught.value)


def test_with_constraints_refuses_what_it_cannot_use() -> None:
    r = np.zeros((H, S, A))
    cost = r.copy()
    cost[1, 0, 1] = 1.5
    with pytest.raises(InputError, match="constraints is empty"):
        TabularCMDP.with_constraints(kernel(), r, [], 0)
    with pytest.raises(InputError, match="P is not an array of numbers"):
        TabularCMDP.with_constraints("P", r, [Constraint(r, 1.0)], 0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"P has shape \(\)"):
        TabularCMDP.with_constraints(3.0, r, [Constraint(r, 1.0)], 0)
    with pytest.raises(InputError, match="expected one shape"):
        TabularCMDP.with_constraints(kernel(), r, [Constraint(r, 1.0), Constraint(r[0], 1.0)], 0)
    with pytest.raises(InputError, match=r"g\[1, 1, 0, 1\] is -0.5; .*\(g is 1 - cost\)"):
        TabularCMDP.with_constraints(kernel(), r, [Constraint(r, 1.0), Constraint(cost, 1.0, "<=")], 0)


# --- a problem from a problem -------------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1), by_next=st.booleans(), masked=st.booleans())
def test_rebuilding_changes_no_bit(seed: int, by_next: bool, masked: bool) -> None:
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.full(S, 0.4), size=(H, S, A)).astype(np.float32)  # rows off one by rounding of 32 bits
    r = rng.uniform(size=P.shape if by_next else P.shape[:3])
    available = rng.uniform(size=(S, A)) < 0.5
    available[:, 0] |= ~available.any(axis=1)
    mu = rng.dirichlet(np.ones(S)).astype(np.float32)
    p = build(parts(P=P, r=r, g=r[None], mu=mu, available=available if masked else None))
    q = p.replace(b=0.1).replace(b=p.b)
    for name in ("P", "r", "g", "b", "mu", "available", "r_next", "g_next"):
        one, two = getattr(p, name), getattr(q, name)
        assert (one is None and two is None) or np.array_equal(one, two), name


@given(scale=st.floats(1.0 - 9e-7, 1.0 + 9e-7))
def test_rows_within_the_tolerance_are_normalised(scale: float) -> None:
    p = build(parts(P=kernel() * scale))
    assert np.abs(p.P.sum(axis=3) - 1.0).max() <= 2e-12


def test_replace_keeps_the_rest() -> None:
    cost = Constraint(np.full((H, S, A), 0.5), 0.75, "<=", "fuel")
    p = TabularCMDP.with_constraints(kernel(), np.zeros((H, S, A)), [cost], 1, noise="bernoulli", name="x")
    q = p.replace(b=1.5)
    assert q.b.tolist() == [1.5]
    assert (q.senses, q.constraint_names, q.noise, q.name) == (p.senses, p.constraint_names, p.noise, p.name)
    with pytest.raises(TypeError):
        p.replace(nothing=1)


def test_complex_numbers_are_refused() -> None:
    r = np.zeros((H, S, A))
    with pytest.raises(InputError, match="P is not an array of numbers: complex numbers"):
        TabularCMDP(kernel().astype(complex), r, r[None], [0.0], 0)


@pytest.mark.parametrize("limit", ["4", None, True, np.nan])
def test_a_limit_is_a_number(limit: Any) -> None:
    with pytest.raises(InputError, match="limit of constraint 'utility' is"):
        Constraint(np.zeros((2, 3, 2)), limit)


@pytest.mark.parametrize("name", ["random", "linear-continuous"])
def test_every_kind_of_problem_counts_the_names_of_its_constraints(name: str) -> None:
    with pytest.raises(InputError, match="constraint_names has 2 entries; expected 1, one for each utility"):
        nr.problems.load(name).replace(constraint_names=["one", "two"])


def test_a_name_is_not_a_problem() -> None:
    for call in (nr.solve, lambda name: nr.evaluate(name, 0)):  # ``run`` takes names
        with pytest.raises(InputError, match=r"problem is 'job-scheduling'; expected a problem \(problems.load"):
            call("job-scheduling")


# --- what does not change with the step ----------------------------------------------------------------------------


def test_what_is_declared_is_checked_and_kept(tmp_path: Path) -> None:
    problem = nr.problems.load("media-control:H=3,buffer=2")
    assert problem.spec.share == "all" and problem.replace(b=1.0).share == "all"
    nr.problems.save(problem, tmp_path / "one.npz")
    assert nr.problems.load(str(tmp_path / "one.npz")).share == "all"
    assert nr.problems.load("random").share == "nothing"
    assert nr.problems.load("job-scheduling").share == "transitions"


@pytest.mark.parametrize(
    ("name", "share", "said"),
    [
        ("P", "transitions", "share is 'transitions'; P of state 1 and action 0 differs between steps 0 and 2"),
        ("r", "all", r"share is 'all'; r of state 1 and action 0 differs between steps 0 and 2"),
        ("g", "all", r"share is 'all'; g\[0\] of state 1 and action 0 differs between steps 0 and 2"),
    ],
)
def test_a_false_declaration_is_refused(name: str, share: str, said: str) -> None:
    arrays = {"P": np.full((3, 2, 2, 2), 0.5), "r": np.full((3, 2, 2), 0.5), "g": np.full((1, 3, 2, 2), 0.5)}
    nr.TabularCMDP(**arrays, b=1.0, mu=0, share=share)
    if name == "P":
        arrays["P"][2, 1, 0] = [1.0, 0.0]
    else:
        arrays[name][..., 2, 1, 0] = 0.0
    with pytest.raises(InputError, match=said):
        nr.TabularCMDP(**arrays, b=1.0, mu=0, share=share)
    with pytest.raises(InputError, match="share is 'steps'; expected"):
        nr.TabularCMDP(**arrays, b=1.0, mu=0, share="steps")


def test_a_pair_is_compared_where_it_is_available() -> None:
    available = np.ones((2, 2, 2), dtype=bool)
    available[0, 0, 1] = False
    P, r = np.full((2, 2, 2, 2), 0.5), np.full((2, 2, 2), 0.5)
    r[0, 0, 1] = 0.9  # nobody can see it
    assert nr.TabularCMDP(P, r, r, 1.0, 0, available=available, share="all").share == "all"
