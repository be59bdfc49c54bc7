"""What another policy would have brought, estimated from a log, against what it brings."""

from __future__ import annotations

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from noregret.cli import app
from noregret.errors import InputError
from noregret.live import Live
from noregret.live.replay import estimate, logged, policy_of
from tests.live.toys import opened, play

H, S = 3, 4


def world(chance, x, a):
    """A step of a small world: action 1 earns more and costs more, the more the higher the state."""
    return (
        0.2 + 0.5 * a + 0.1 * x,
        float(chance.random() < (0.1 + 0.6 * a) * (x + 1) / S),
        int((x + a + chance.integers(2)) % S),
    )


def fill(live, n, seed=0):
    chance = np.random.default_rng(seed)
    for k in range(n):
        x = int(chance.integers(S))
        for h in range(H):
            d = live.decide(x, k, h)
            reward, cost, x = world(chance, x, d.action)
            live.report(d.id, reward, {"spent": cost})
        live.end(k, observation=x)
    live.log.flush()


def truth(policy, n=4000):
    chance, out = np.random.default_rng(9), np.zeros((n, 2))
    for i in range(n):
        x = int(chance.integers(S))
        for h in range(H):
            a = int(chance.random() < policy(np.asarray(x), h, None)[1])
            reward, cost, x = world(chance, x, a)
            out[i] += reward, cost
    return out.mean(axis=0)


@pytest.fixture
def live(tmp_path):
    with Live.open(
        tmp_path / "a.db", observations=Discrete(S), actions=2, horizon=H, limit={"spent": 1.0}, planner=None, sync="none"
    ) as made:
        yield made


@pytest.mark.parametrize("name", ["action:1", "careful"])
def test_estimates_agree_with_what_the_policy_brings(live, name):
    fill(live, 1200)
    careful = lambda x, h, mask: [0.8, 0.2] if x > 1 else [0.3, 0.7]  # noqa: E731
    policy = policy_of(live.spec, live.log.engine, careful if name == "careful" else name)
    episodes, left = logged(live.spec, live.log.engine, policy)
    found = estimate(name, episodes, left, live.spec)
    assert found.episodes == 1200 and left == 0 and found.refused is None
    assert found.effective == pytest.approx(150, rel=0.3) if name == "action:1" else 400 < found.effective < 1100
    for j, true in enumerate(truth(policy)):
        for low, mean, high in (found.weighted[j], found.robust[j]):
            assert low < mean < high and abs(mean - true) < 1.7 * (high - low) / 2 + 0.01, (j, true, low, mean, high)
        assert (
            found.robust[j][2] - found.robust[j][0] < found.weighted[j][2] - found.weighted[j][0]
        )  # what Q explains is no spread


def test_estimates_are_exact_where_the_log_holds_every_course_as_often_as_it_is_likely(live):
    """Logged with chances 3/4 and 1/4, every course of two steps is there 9, 3, 3 or 1 times, in each half of the episodes.

    So means over the log are expectations: both estimates must be the other policy's value, whatever was fitted.
    """
    earned = lambda x, a: 0.3 + 0.4 * a + 0.2 * x  # noqa: E731
    cost = lambda x, a: float(a) * (x + 1) / S  # noqa: E731
    follows = lambda x, a: (2 * x + a + 1) % S  # noqa: E731
    other = lambda x, h, mask: [0.6, 0.4] if (int(x) + h) % 2 else [0.1, 0.9]  # noqa: E731
    true, ratios, n = np.zeros(2), [], 0
    for a in (0, 1):
        for b in (0, 1):
            x = follows(1, a)
            brought = np.array([earned(1, a) + earned(x, b), cost(1, a) + cost(x, b)])
            true += other(1, 0, None)[a] * other(x, 1, None)[b] * brought
            chances = [(0.75, 0.25)[a], (0.75, 0.25)[b]]
            for _ in range(2 * round(16 * chances[0] * chances[1])):  # neighbours are in different halves
                told = {"observations": [1, x], "actions": [a, b], "rewards": [earned(1, a), earned(x, b)], "terminated": True}
                told |= {"costs": [cost(1, a), cost(x, b)], "probabilities": chances if n % 3 else [[0.75, 0.25]] * 2}
                live.tell_episode(f"c{n}", **told)
                ratios.append(other(1, 0, None)[a] / chances[0] * other(x, 1, None)[b] / chances[1])
                n += 1
    live.log.flush()
    episodes, left = logged(live.spec, live.log.engine, policy_of(live.spec, live.log.engine, other))
    found = estimate("other", episodes, left, live.spec, least=1.0)
    assert found.episodes == n == 32 and left == 0
    assert np.allclose([row[1] for row in found.weighted], true, rtol=1e-12)
    assert np.allclose([row[1] for row in found.robust], true, rtol=1e-12)
    assert found.effective == pytest.approx(np.sum(ratios) ** 2 / np.sum(np.square(ratios)), rel=1e-12)
    by_hand = np.array([np.cumprod(each.ratio) @ each.y[:, 0] for each in episodes])
    half = 2.0395134463964077 * by_hand.std(ddof=1) / np.sqrt(n)  # Student's, 31 degrees of freedom
    assert found.weighted[0] == pytest.approx([true[0] - half, true[0], true[0] + half], rel=1e-9)


def test_the_policy_that_played_is_estimated_as_what_was_logged(live):
    fill(live, 100)
    episodes, left = logged(live.spec, live.log.engine, policy_of(live.spec, live.log.engine, "uniform"))
    found = estimate("uniform", episodes, left, live.spec)
    assert found.effective == pytest.approx(100) and found.weighted == found.logged
    assert np.allclose([row[1] for row in found.robust], [row[1] for row in found.logged], atol=0.1)


def test_too_little_is_refused_and_what_is_not_known_left_out(live, tmp_path, capsys):
    fill(live, 60)
    live.decide(0, "a", 0), live.report("a/0", 1.0, 0.0, taken=1 - live.decide(0, "a", 0).action)
    live.end("a", terminated=True)
    live.decide(0, "b", 0, action=1), live.report("b/0", 1.0, 0.0)
    live.end("b", terminated=True)
    live.tell_episode("c", [0], [1], [1.0], [0.0], terminated=True)
    live.log.flush()
    episodes, left = logged(live.spec, live.log.engine, policy_of(live.spec, live.log.engine, "action:1"))
    found = estimate("action:1", episodes, left, live.spec)
    assert left == 3 and found.weighted is None and "expected at least 30" in found.refused
    for wrong in ("plan:9", "plan:x", "action:7", "best"):
        with pytest.raises(InputError):
            policy_of(live.spec, live.log.engine, wrong)
    place = str(tmp_path / "a.db")
    assert app(["replay", place, "-p", "uniform", "-p", "action:1"], standalone_mode=False) in (0, None)
    said = capsys.readouterr().out
    assert "doubly robust" in said and "refused" in said and "60 used, 3 pruned or without" in said
    assert app(["replay", place, "-p", "action:1"], standalone_mode=False) == 1


@pytest.mark.parametrize("chances", ["of the action", "of all", "of nothing"])
def test_a_log_that_tells_probabilities_can_be_replayed(tmp_path, chances):
    polars = pytest.importorskip("polars")
    n, told = 40, {"of the action": 0.5, "of all": [0.5, 0.5]}
    rows = {"session": [k for k in range(n) for _ in range(H)], "step": list(range(H)) * n, "observation": [0, 1, 2] * n}
    rows |= {"action": [(k * (h + 1)) % 2 for k in range(n) for h in range(H)], "reward": [1.0, 0.0, 0.5] * n}
    rows |= {"spent": [0.1] * (n * H), "terminated": [False, False, True] * n}
    if chances in told:
        rows["p"] = [told[chances]] * (n * H)
    polars.DataFrame(rows).write_parquet(tmp_path / "log.parquet")
    made = {"observations": Discrete(S), "actions": 2, "horizon": H, "limit": {"spent": 1.0}, "planner": None}
    columns = {"episode": "session", "probability": "p"}
    with Live.from_log(tmp_path / "log.parquet", tmp_path / "b.db", columns=columns, **made) as live:
        episodes, left = logged(live.spec, live.log.engine, policy_of(live.spec, live.log.engine, "uniform"))
        assert (len(episodes), left) == ((0, n) if chances == "of nothing" else (n, 0))
        assert all((each.ratio == 1.0).all() for each in episodes)
    with pytest.raises(InputError, match="'seesion'"):
        Live.from_log(tmp_path / "log.parquet", tmp_path / "c.db", columns={"seesion": "x"}, **made)


def test_vectors_and_plans(tmp_path):
    with opened(tmp_path / "a.db") as live:
        for k in range(40):
            play(live, k)
        version = live.plan()
        policy = policy_of(live.spec, live.log.engine, f"plan:{version}")
        episodes, left = logged(live.spec, live.log.engine, policy)
        assert len(episodes) == 40 and estimate("plan", episodes, left, live.spec, least=1.0).robust is not None
