"""Steps that share what they learn, early ends, and a bounded number of states, where states are vectors."""

from __future__ import annotations

import numpy as np
import pytest

from noregret import NoRegretError, learners
from noregret.features import Lifted
from noregret.problems.continuous import ContinuousSpec
from tests.learners.test_continuous import JOINT, LIFTED, A, H, difference, episodes, make, reference

SPAN = {"bonus": "span", "span_floor": 0.2, "lam": 2e-4}
ENDS = np.array([0.9, 0.3])


def both(features=JOINT, share="all", **options):
    """A learner and the literal algorithm, with the same numbers."""
    learner = make(features, absorbing=ENDS, share=share, replan="always", **SPAN, **options)
    ref = reference(features, (1.0,), ENDS, lam=SPAN["lam"], share=share == "all", span_floor=0.2)
    return learner, ref


def feed(learner, ref, history, check=(), allowed=1e-9):
    probes = np.array([[0.11], [0.5], [0.93]])
    for k, (x, a, seen) in enumerate(history):
        ended = len(a) < H or k % 5 == 4  # some end with their last step
        ref.plan()
        if k in check:
            assert difference(learner, ref, probes) < allowed
        learner.observe(x, a, seen[:, 0], seen[:, 1:].T, ended)
        ref.observe(x, a, seen, ended)
        np.testing.assert_allclose(learner.dual, ref.Y, atol=1e-9)


@pytest.mark.parametrize("features", [JOINT, LIFTED], ids=["joint", "lifted"])
@pytest.mark.parametrize("share", ["all", "nothing"])
@pytest.mark.parametrize("states", [None, 2000], ids=["", "bounded"])
def test_shared_steps_and_early_ends_are_those_of_the_literal_algorithm(features, share, states):
    bound = {} if states is None else {"states": states}
    learner, ref = both(features, share, **bound)
    feed(learner, ref, episodes(30, 1, early=True), check=(0, 1, 3, 8, 29))
    assert (ref.scale > 0.2).any()
    assert len(learner.gram.visits) == (1 if share == "all" else H)


def test_an_end_is_part_of_the_spread():
    """The worth after an end is far from all other values: without it the bonus would be the floor."""
    learner = make(absorbing=(1.0, 1.0), **(SPAN | {"span_floor": 0.4, "lam": 1e-4, "beta": 0.3}))
    for _ in range(40):
        for action in range(A):
            learner.observe([[0.5]] * (H + 1), [action] * H, [0.0] * H, [0.0] * H)
            learner.observe([[0.5]] * 3, [action] * 2, [0.0] * 2, [0.0] * 2)
    view = learner.plan()
    assert view.bonus[1, 0] > 0.3 * 1.5  # β times (2 steps at 1, less what the others give), not β·0.4
    assert view.bonus[3, 0] == pytest.approx(0.3 * 0.4)


# --- every option of the flagship --------------------------------------------------------------------------------

#: A value of each option that differs from what the learner below has, and what must be given with it.
OTHER = {
    "lam": (1e-3, {}), "beta": (0.4, {}), "alpha": (1.0, {}), "eta": (0.3, {"b": (3.5,)}), "xi": (0.05, {"b": (3.5,)}),
    "zeta": (0.7, {}), "cap": ("H", {"beta": 3.0}), "utility_bonus": (0.1, {}),
    "lower_clip": (False, {"b": (3.9,), "dual_estimate": "optimistic", "noise_bonus": 0.0}), "noise_bonus": (2.0, {}),
    "bonus": ("constant", {}), "span_floor": (3.0, {}), "dual_estimate": ("observed", {}),
    "dual_prior": (0.1, {}), 
    "damping": (False, {"b": (1.95,), "eta": 3.0}), "anti_windup": (True, {"b": (3.5,)}),
    "schedule": ("fixed", {}), "p": (0.5, {"preset": "theory", "slater_gap": 1.0, "beta": "1e-3*usual"}),
}  # fmt: skip
REFUSED = {
    "xi_rule": "estimate", "safe_policy": np.ones((H, 1, A)), "rounding": 0.1, "pessimism": 0.9, "price_step": "balanced",
    "retry_bonus": 0.3, "late_bonus": 0.5,
}  # fmt: skip


@pytest.mark.parametrize("share", ["all", "nothing"])
@pytest.mark.parametrize("option", learners.get("primal-dual-lsvi").parameters)
def test_every_option_does_something_or_is_refused(option, share):
    if option == "share":
        return
    value, more = OTHER.get(option, (REFUSED.get(option), {}))
    printed = {"bonus": "span", "dual_estimate": "plain"} if more.get("preset") is None else {}
    more = {"preset": "practical", "b": (1.0,), "K": 50} | printed | more
    b, K = more.pop("b"), more.pop("K")

    def made(**given):
        spec = ContinuousSpec(H, b, JOINT, absorbing=ENDS)
        learner = learners.make("primal-dual-lsvi", spec, episodes=K, share=share, replan="always", **(more | given))
        for x, a, seen in episodes(25, 1, early=True):
            learner.observe(x, a, seen[:, 0], seen[:, 1])
        view = learner.plan()
        return np.concatenate([view.probabilities(1, [[0.3], [0.7]]).ravel(), view.values(1, [[0.3]])[1].ravel(), learner.dual])

    if option in REFUSED:
        with pytest.raises(NoRegretError, match=option):
            made(**{option: value})
    else:
        one, two = made(), made(**{option: value})
        assert one.shape != two.shape or np.abs(one - two).max() > 1e-9


# --- a bounded number of states ----------------------------------------------------------------------------------


def fed(learner, n=120, seed=0):
    for x, a, seen in episodes(n, 1, seed=seed, early=True, repeat=False):
        learner.observe(x, a, seen[:, 0], seen[:, 1])
    return learner


@pytest.mark.parametrize("share", ["all", "nothing"])
def test_a_budget_of_states_is_kept_and_so_is_what_was_learned(share):
    learner, whole = (fed(make(LIFTED, absorbing=ENDS, share=share, states=n), 300) for n in (40, 5000))
    gram, all_of = learner.gram, whole.gram
    assert learner.kept.max() <= 40 < whole.kept.max() and gram.M.shape[1] == 40
    assert gram.tolerance[0] > 0.01 and gram.tolerance[1] < 3 * gram.tolerance[0]
    for g in range(len(gram.counts)):
        np.testing.assert_allclose(gram.M[g].sum(axis=0), all_of.M[g].sum(axis=0), atol=1e-9)
        end, n = gram.end[g], int(gram.counts[g])
        assert share == "nothing" or end >= 0
        if end >= 0:
            np.testing.assert_allclose(gram.M[g, end], all_of.M[g, all_of.end[g]], atol=1e-12)
            assert not gram.F[g, end].any()
        kept = np.delete(gram.F[g, :n], [end] if end >= 0 else [], axis=0)
        gaps = np.linalg.norm(kept[:, None] - kept[None], axis=2) + np.eye(len(kept))
        assert gaps.min(initial=1.0) > gram.tolerance[0]
    np.testing.assert_allclose(gram.Lambda, all_of.Lambda)
    probes = np.linspace(0.05, 0.95, 7)[:, None]
    for h in range(H):
        off = np.abs(learner.plan().values(h, probes)[0] - whole.plan().values(h, probes)[0])
        assert off.max() < 0.5  # coarse places, and yet of 4 at most


@pytest.mark.parametrize("share", ["all", "nothing"])
def test_memory_has_a_bound_that_does_not_depend_on_the_length_of_the_run(share):
    learner = make(LIFTED, K=10**6, absorbing=ENDS, share=share, states=64)
    assert learner.memory_bound() == make(LIFTED, K=10, absorbing=ENDS, share=share, states=64).memory_bound()
    fed(learner, 200)
    learner.plan()
    assert sum(a.nbytes for a in learner.state().values()) < learner.memory_bound() < 1e6
    assert make(share="all").states == 3000 and make().states is None


def test_a_place_that_stands_for_others_changes_q_by_no_more_than_is_stated():
    learner = fed(make(JOINT, absorbing=ENDS, share="all", states=30, replan="always", alpha=2.0), 80)
    exact = fed(make(JOINT, absorbing=ENDS, share="all", replan="always", alpha=2.0), 80)
    probes = np.linspace(0.05, 0.95, 7)[:, None]
    h = H - 2  # the steps above are the same
    off = np.abs(learner.plan().values(h, probes)[0] - exact.plan().values(h, probes)[0])
    assert 1e-9 < off.max() and (off <= learner.merge_error(h, probes) + 1e-9).all()


@pytest.mark.parametrize("share", ["all", "nothing"])
def test_a_bounded_learner_that_stops_goes_on_bit_for_bit(share):
    options = {"absorbing": ENDS, "share": share, "states": 50, "replan": "doubling"}
    history = list(episodes(80, 1, early=True, repeat=False))
    whole, half, again = (make(LIFTED, **options) for _ in range(3))
    for x, a, seen in history:
        whole.observe(x, a, seen[:, 0], seen[:, 1])
    for x, a, seen in history[:45]:
        half.observe(x, a, seen[:, 0], seen[:, 1])
    again.restore(half.state())
    for x, a, seen in history[45:]:
        again.observe(x, a, seen[:, 0], seen[:, 1])
    whole.plan(), again.plan()
    one, two = whole.state(), again.state()
    for key in one:
        np.testing.assert_array_equal(one[key], two[key], err_msg=key)
    for key, value in (
        ("gram.end", 10**6),
        ("gram.counts", 10**6),
        ("gram.tolerance", -1.0),
        ("gram.M", np.nan),
        ("gram.F", np.inf),
    ):
        with pytest.raises(NoRegretError, match="expected"):
            again.restore(one | {key: np.full_like(one[key], value)})
    with pytest.raises(NoRegretError, match="expected"):
        again.restore(one | {"gram.M": one["gram.M"][:, :-1]})


def test_an_episode_that_was_cut_or_lacks_its_last_state_is_refused():
    learner = make(absorbing=ENDS, share="all")
    rows = JOINT.encode(np.full((H, 1), 0.5))
    with pytest.raises(NoRegretError, match=f"rows has {H} states; expected {H + 1}"):
        learner.observe_rows(rows, np.zeros(H, dtype=np.int64), np.zeros((H, 2)))
    with pytest.raises(NoRegretError, match="was cut after 2 steps"):
        learner.observe(np.full((3, 1), 0.5), [0, 0], [0.0] * 2, [0.0] * 2, terminated=False)
    assert learner.gram.visits[0] == 0
    learner.observe_rows(rows, np.zeros(H, dtype=np.int64), np.zeros((H, 2)), terminated=True)
    assert learner.gram.end[0] >= 0


# --- features that are wrong on purpose ---------------------------------------------------------------------------


def mean_utility(dual_estimate, episodes=500):
    """The mean utility of the second half of a run: 10 steps, of which 8 are played, and features that cannot see the clock.

    To the regression an episode may end at any step, with probability 1/8: it expects to play 5.9 steps.
    """
    blind = Lifted(lambda x: np.ones((len(x), 1)), n_actions=2, width=1, bound=1.0)
    spec = ContinuousSpec(10, [6.0], blind, absorbing=(0.0, 1.0))
    options = {"replan": "always", "share": "all", "dual_estimate": dual_estimate}
    learner, rng = learners.make("primal-dual-lsvi", spec, episodes=episodes, **options), np.random.default_rng(0)
    totals = []
    for _ in range(episodes):
        plan = learner.plan()
        a = np.array([rng.random() < plan.probabilities(h, [[0.0]])[0, 1] for h in range(8)], dtype=int)
        learner.observe(np.zeros((9, 1)), a, a.astype(float), 1.0 - a, terminated=True)  # 1 earns, 0 is useful
        totals.append(2.0 + (1 - a).sum())
    return np.mean(totals[episodes // 2 :])


@pytest.mark.parametrize("dual_estimate", ["observed", "corrected"])
def test_a_dual_that_looks_at_what_was_played_reaches_the_threshold_with_wrong_features(dual_estimate):
    assert 5.9 < mean_utility(dual_estimate) < 6.3


def test_a_dual_that_looks_at_the_estimate_does_not():
    assert mean_utility("plain") < 5.5
