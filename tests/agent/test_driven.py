"""A system drives the loop: steps that are named, retries, swapped reports, overrides, logs, files in the middle of it all."""

from __future__ import annotations

import multiprocessing

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

import noregret as nr
from noregret.agent import setup
from noregret.errors import FileError
from tests.agent.fake_mind import FakeMind
from tests.agent.toys import BOX, Toy, same

H = 5


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    monkeypatch.setitem(setup.FINDERS, "soft-cells", FakeMind)


def agent(**options):
    return nr.Agent(Toy(BOX, spaces.Discrete(4)), **({"limit": 3.0, "horizon": H, "seed": 2} | options))


def x(h, name="a"):
    return [0.1 * h, len(str(name)) / 10]


def fly(a, name, steps=range(H), end=True):
    """Ask for some steps and tell of each at once."""
    for h in steps:
        action = a.act(x(h, name), name, step=h)
        over = end and h == H - 1
        record = a.tell(float(action), float(h), x(h + 1, name) if over else None, episode=name, step=h)
    return record


def test_a_retried_act_gives_the_same_action_and_does_not_advance():
    a, b = agent(), agent()
    actions = []
    for h in range(H):
        action = a.act(x(h), "a", step=h)
        assert [a.act(x(h), "a", step=h) for _ in range(5)] == [action] * 5
        assert [a.act(x(i), "a", step=i) for i in range(h)] == actions
        actions.append(action)
    assert [b.act(x(h), "a") for h in range(H)] == actions  # as if nobody had asked twice
    a.tell(actions, range(H), x(H), episode="a"), b.tell(actions, range(H), x(H), episode="a")
    same(a, b)


def test_a_step_that_does_not_fit_is_loud_and_changes_nothing():
    a = agent()
    a.act(x(0), "a", step=0), a.act(x(1), "a", step=1)
    before = a.flights.arrays()
    for call, text in (
        (lambda: a.act(x(3), "a", step=3), "episode 'a': step is 3; expected 2, its next step"),
        (lambda: a.act(x(2), "b", step=23), "episode 'b': step is 23; expected 0, with which an episode begins"),
        (lambda: a.act(x(4), "a", step=1), "step 1 was decided at another observation or mask"),
        (lambda: a.act(x(1), "a", step=1, mask=[1, 1, 1, 0]), "step 1 was decided at another observation or mask"),
        (lambda: a.tell(0.0, 0.0, episode="a", step=2), "steps 2 to 2 are reported and 2 were decided"),
        (lambda: a.tell(0.0, 0.0, episode="a", step=0, taken=9), "step 0: action is 9; expected one of the 4 actions"),
        (lambda: a.act(x(0), ("a", 1)), "episode is ('a', 1); expected a text"),
    ):
        with pytest.raises(nr.NoRegretError) as caught:
            call()
        assert text in str(caught.value) and "\n" not in str(caught.value)
    after = a.flights.arrays()
    assert all(np.array_equal(value, after[key]) for key, value in before.items()) and a.in_flight == ("a",)


def test_swapped_and_repeated_reports_are_credited_to_their_steps():
    a, b = agent(), agent()
    for h in range(H):
        a.act(x(h), "a", step=h), b.act(x(h), "a", step=h)
    for h in (4, 2, 2, 0, 3):
        assert a.tell(float(h), h / 10, x(H) if h == 4 else None, episode="a", step=h) is None
    with pytest.raises(nr.NoRegretError, match="step 3 was reported with reward 3"):
        a.tell(7.0, 0.3, episode="a", step=3)
    record = a.tell(1.0, 0.1, episode="a", step=1)
    b.tell([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 0.1, 0.2, 0.3, 0.4], x(H), episode="a")
    same(a, b)
    assert record.reward == 10.0 and record.length == H and a.in_flight == ()


def test_an_action_that_was_overridden_is_learned_as_what_was_done():
    a, chosen = agent(), []
    for h in range(H):
        action = a.act(x(h), "a", step=h)
        a.tell(0.0, 0.0, x(h + 1), episode="a", step=h, taken=(action + 1) % 4 if h == 2 else None)
        chosen.append(action)
    assert a.learner.told[0].actions.tolist() == [*chosen[:2], (chosen[2] + 1) % 4, *chosen[3:]]


def test_episodes_of_a_log_that_do_not_count_charge_nothing_and_are_no_part_of_the_curve():
    a, b = agent(), agent()
    rng = np.random.default_rng(0)
    for _ in range(6):
        record = a.tell_episode(rng.random((H + 1, 2)), [0, 1, 2, 3, 0], [0.0] * H, [9.0] * H, counts=False)
        assert record.episode == -1 and record.values[0] == 45.0
    assert a.episodes == 0 and a.curve.logged == 6 and len(a.learner.told) == 6 and (a.learner.dual == 0.0).all()
    assert a.env_seed == b.env_seed and "0 and 6 of a log" in a.summary()
    a.tell_episode(rng.random((H + 1, 2)), [0] * H, [0.0] * H, [9.0] * H)
    assert a.episodes == 1 and (a.learner.dual > 0.0).all()


def test_plan_makes_the_plan_that_act_would_make():
    a, b = agent(), agent()
    for k in range(4):
        assert fly(a, k).reward == fly(b, k).reward
        assert b.plan() and not b.plan()
        plans = b.learner.replans
        a.act(x(0), "next"), b.act(x(0), "next")
        assert b.learner.replans == plans == a.learner.replans
        a.abandon("next"), b.abandon("next")
    same(a, b)


def test_what_was_abandoned_is_gone_and_errors_stay_short_however_many_are_open():
    a = agent()
    for i in range(3000):
        a.act(x(0), f"a rather long name of an episode {i}", step=0)
    with pytest.raises(nr.NoRegretError, match="3,000 are in flight") as caught:
        a.abandon("unknown")
    assert len(str(caught.value)) < 300
    for name in a.in_flight:
        a.abandon(name)
    assert a.in_flight == () and a.episodes == 0


@pytest.mark.parametrize("masked", [False, True])
def test_episodes_in_flight_survive_a_file(tmp_path, masked):
    path, whole, parts = tmp_path / "a.npz", agent(), agent()
    mask = {"mask": [1, 1, 0, 1]} if masked else {}
    names = ["a", 7, None]
    for h in range(H):
        for name in names:
            actions = [a.act(x(h, name), name, step=h, **mask) for a in (whole, parts)]
            parts.save(path)
            parts = nr.Agent.load(path)
            assert actions[0] == actions[1] == parts.act(x(h, name), name, step=h, **mask)  # a retry after the crash
            over = h == H - 1
            told = [a.tell(h / 3, 0.25, x(H, name) if over else None, episode=name, step=h) for a in (whole, parts)]
            assert (told[0] is None) == (told[1] is None) == (not over)
            parts.save(path)
            parts = nr.Agent.load(path)
            assert parts.in_flight == whole.in_flight and parts.env_seed == whole.env_seed
    same(whole, parts)
    assert whole.episodes == 3
    for k in range(3):
        fly(whole, k), fly(parts, k)
    same(whole, parts)


def test_the_file_says_which_version_wrote_it(tmp_path):
    a = agent()
    a.save(tmp_path / "a.npz")
    assert f'"version": "{nr.__version__}"' in bytes(np.load(tmp_path / "a.npz")["meta"]).decode()


def _learn_and_save(path, name):
    setup.FINDERS["soft-cells"] = FakeMind
    a = nr.Agent.load(path)
    fly(a, name)
    a.save(path)


def test_two_who_write_one_file_are_noticed(tmp_path):
    path = tmp_path / "a.npz"
    a = agent()
    a.save(path)
    fly(a, "mine")
    other = multiprocessing.get_context("fork").Process(target=_learn_and_save, args=(path, "theirs"))
    other.start()
    other.join(60)
    assert other.exitcode == 0
    with pytest.raises(FileError, match="was written by another process since this agent read or wrote it"):
        a.save(path)
    assert nr.Agent.load(path).episodes == 1  # theirs is still there
    a.autosave(path, every=1)
    with pytest.warns(UserWarning, match="not saved by itself"):
        fly(a, "again")
    a.save(tmp_path / "b.npz"), a.save(path, replace=True), a.save(path)
    assert nr.Agent.load(path).episodes == 2
    path.unlink()
    a.save(path)  # a file that is gone can be written again


def test_a_full_horizon_is_an_end_and_needs_what_came_after():
    a = agent()
    for h in range(H):
        a.act(x(h), step=h)
    with pytest.raises(nr.NoRegretError, match="observation is None; expected what came after the last action"):
        a.tell([0.0] * H, [0.0] * H)
    assert a.tell([0.0] * H, [0.0] * H, x(H)).length == H


def test_an_episode_that_cannot_be_learned_from_stays_until_it_is_abandoned():
    a = agent(outside="error", reward_range=(0, 1))
    for h in range(H):
        a.act(x(h), "a", step=h)
    with pytest.raises(nr.NoRegretError, match="reward is 5; expected 0 to 1"):
        a.tell([0.0, 0.0, 0.0, 5.0, 0.0], [0.0] * H, x(H), episode="a")
    assert a.in_flight == ("a",) and a.episodes == 0
    a.abandon("a")
    assert a.in_flight == ()


# --- what an agent is told and what it is not ---------------------------------------------------------------------------


def test_attributes_that_would_do_nothing_are_refused_with_what_to_do():
    a = agent()
    for name in ("limit", "horizon", "learner", "seed", "anything", "rewards", "curve", "_secret"):
        with pytest.raises(nr.NoRegretError, match=rf"agent\.{name} cannot be set; expected a new agent: nr\.Agent takes"):
            setattr(a, name, 3)
    assert a.objectives.limits == (3.0,)


def test_cost_goes_with_limit_and_weights_have_the_right_length():
    def one(*_):
        return 1.0

    env = Toy(BOX, spaces.Discrete(2))
    a = nr.Agent(env, limit=2.0, horizon=H, cost=one).learn(1, progress_bar=False)
    assert a.values[0][0] == H
    vector = gymnasium.Env()
    vector.observation_space, vector.action_space, vector.reward_space = BOX, spaces.Discrete(2), spaces.Box(0, 1, (3,))
    for options, text in (
        ({"cost": one, "utility": one, "limit": 1.0}, "cost and utility are both given"),
        ({"cost": one, "threshold": 1.0}, "cost is given without limit"),
        ({"limit": np.nan}, "limit"),
        ({"limit": np.inf}, "limit"),
        ({"limit": "much"}, "limit"),
        ({"limit": -1.0, "utility_range": (0, 1)}, "limit is -1; expected at least 0"),
        ({"limit": 1.0, "reward_weights": [1, 2]}, "reward_weights has 2 entries; expected 3"),
        ({"limit": 1.0, "utility_weights": [[1, 2]]}, "utility_weights has 2 entries; expected 3"),
        ({"limit": 1.0, "utility_weights": [[1, 2, 3], [1, 2, 3]]}, r"utility_weights has shape \(2, 3\); expected \(1, n\)"),
        ({"limit": 1.0, "reward_weights": [1, np.nan, 2]}, "reward_weights"),
    ):
        with pytest.raises(nr.NoRegretError, match=text):
            nr.Agent(vector, horizon=H, **options)


def test_the_summary_begins_with_met_or_not_met():
    a = agent(constraint_names=["waiting"])
    assert a.summary().startswith("not known yet: waiting at most 3")
    for k, total in enumerate([2.0, 2.5, 2.2]):
        for h in range(H):
            a.act(x(h), k, step=h)
        a.tell([0.0] * H, [total / H] * H, x(H), episode=k)
    first = a.summary().splitlines()[0]
    assert first.startswith("met: waiting 2.233 [1.608, 2.858], at most 3, over the last 3 episodes")
    for _ in range(100):
        a.tell_episode([x(h) for h in range(H + 1)], [0] * H, [0.0] * H, [1.0] * H)
    assert a.summary().startswith("not met: waiting 5 [5, 5], at most 3, over the last 100 episodes")
    assert a.learner.about in a.summary().splitlines()[1]


def test_an_interval_stays_where_totals_can_be():
    a = agent(constraint_names=["waiting"])
    for total in (0.0, 0.0, 4.0):
        a.tell_episode([x(h) for h in range(H + 1)], [0] * H, [0.0] * H, [total / H] * H)
    assert a.summary().startswith("met: waiting 1.333 [0, 7.07], at most 3")


def test_the_summary_warns_where_what_was_expected_stays_away_from_what_came():
    a = agent(constraint_names=["waiting"])
    expected = [1.0]
    type(a.learner).estimate = property(lambda self: np.array(expected))
    try:
        for k in range(30):
            a.tell_episode([x(h) for h in range(H + 1)], [0] * H, [0.0] * H, [0.4 + 0.01 * (k % 3)] * H)
            assert ("warning" in a.summary()) == (k >= 19)
        assert (
            "the model is wrong about waiting: over the last 30 episodes it expected 1 on average, and 2.05 came" in a.summary()
        )
        expected[0] = 2.05
        for k in range(60):
            a.tell_episode([x(h) for h in range(H + 1)], [0] * H, [0.0] * H, [0.4 + 0.01 * (k % 3)] * H)
        assert "warning" not in a.summary()
    finally:
        type(a.learner).estimate = property(lambda self: np.full(self.spec.n_constraints, np.nan))
