"""Decide, report, end: exactly once, in any order, and the same learner as Agent.learn, bit for bit."""

from __future__ import annotations

import json

import gymnasium
import numpy as np
import pytest

import noregret as nr
from noregret.agent.episodes import draw, seeds
from noregret.agent.flight import FlightStep
from noregret.errors import ConflictError, FileError, InputError
from noregret.live import GoneError, Live, UnknownError
from noregret.live.events import Answer, Event, body_of, written
from tests.live.toys import SPEC, TABLE, A, H, log, mind, opened, play, seen


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["soft-cells", "primal-dual-lsvi"])
def test_one_episode_after_the_other_is_learn_bit_for_bit(tmp_path, learner):
    env = gymnasium.make("noregret/JobScheduling-v0")
    agent = nr.Agent(env, features="auto" if learner == "soft-cells" else None, seed=3)
    agent.learn(25, progress_bar=False)
    with Live.open(
        tmp_path / "a.db", observations=env.observation_space, actions=env.action_space, horizon=10, threshold={"jobs": 4.0},
        seed=3, planner=None, sync="none", learner=learner,
    ) as live:  # fmt: skip
        for k in range(25):
            live.plan()
            x, _ = env.reset(seed=seeds(3, 0, k, 10)[0])
            for h in range(10):
                d = live.decide(x, k, h)
                x, reward, terminated, truncated, info = env.step(d.action)
                live.report(d.id, float(reward), {"jobs": float(np.atleast_1d(info["utility"])[0])})
                if terminated or truncated:
                    break
            live.end(k, terminated=terminated, observation=x)
        theirs = mind(live)
        agent.learner.ready()
        ours = agent.learner.arrays()
        assert {name: a.tobytes() for name, a in theirs.arrays().items()} == {name: a.tobytes() for name, a in ours.items()}
        assert theirs.replans > 3


def test_a_decision_tells_how_it_was_found(tmp_path):
    with opened(tmp_path / "a.db") as live:
        d = live.decide({"load": 0.5, "lag": 0.1}, "eu-742", 0)
        assert d.id == "eu-742/0" and d.action in SPEC["actions"] and d.plan == 0 and not d.fallback and d.recorded
        assert d.probabilities == (1 / 3,) * A and d.probability == 1 / 3
        assert live.decide([0.5, 0.1], "eu-742", 0) == d  # asked again
        only = live.decide([0.5, 0.1], "eu-743", 0, mask={"high"})
        assert only.action == "high" and only.probabilities == (0.0, 0.0, 1.0)
        assert live.decide([0.5, 0.1], "eu-744", 0, mask=[0, 1, 0]).action == "mid"


def test_reports_in_any_order_late_and_again_count_once(tmp_path):
    with opened(tmp_path / "a.db") as live:
        made = [live.decide(seen(0, h), "a", h) for h in range(H)]
        assert live.end("a", observation=seen(0, H)).complete is False
        for h in (2, 0, 3):
            assert live.report(made[h].id, float(h), {"slo": 0}).status == "counted"
            assert live.report(made[h].id, float(h), [0.0]).status == "repeated"
        before = log(live)
        with pytest.raises(ConflictError, match="was reported with reward 2"):
            live.report(made[2].id, 2.5, {"slo": 0})
        with pytest.raises(ConflictError, match="other observation"):
            live.decide(seen(1, 0), "a", 0)
        assert log(live) == before
        assert live.report(made[1].id, 1.0, 0.0, taken="low") == ("counted", True, None)
        for h in range(H):  # it is over, and the same is still the same
            assert live.report(made[h].id, float(h), 0, taken="low" if h == 1 else None) == ("repeated", True, None)
            assert live.decide(seen(0, h), "a", h) == made[h]
        assert live.end("a", observation=seen(0, H)).status == "repeated"
        with pytest.raises(ConflictError):
            live.report(made[1].id, 7.0, 0.0)
        played = mind(live).memory.episodes[0]
        assert played[1][1] == 0 and played[2][:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]
        assert sum(kind == "complete" for kind, *_ in log(live)) == 1


def test_the_policy_of_an_episode_is_the_plan_it_began_with(tmp_path):
    with opened(tmp_path / "a.db") as live:
        live.decide(seen(0, 0), "old", 0)
        for k in range(6):
            play(live, k)
        assert live.plan() == 1
        assert live.decide(seen(0, 1), "old", 1).plan == 0 and live.decide(seen(0, 0), "new", 0).plan == 1
    with opened(tmp_path / "a.db") as live:  # also when it is opened again
        assert live.decide(seen(0, 2), "old", 2).plan == 0 and live.decide(seen(0, 1), "new", 1).plan == 1


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda live: live.decide([1.0], "a", 1), InputError, "expected 2"),
        (lambda live: live.decide([1.0, np.nan], "a", 1), InputError, "finite"),
        (lambda live: live.decide({"load": 1.0}, "a", 1), InputError, "'lag'"),
        (lambda live: live.decide("x", "a", 1), InputError, "expected 2 numbers"),
        (lambda live: live.decide(seen(0, 3), "a", 3), InputError, "expected 1, its next step"),
        (lambda live: live.decide(seen(0, 3), "b", 3), InputError, "expected 0"),
        (lambda live: live.decide(seen(0, 4), "a", H), InputError, "step"),
        (lambda live: live.decide(seen(0, 1), "a", -1), InputError, "step"),
        (lambda live: live.decide(seen(0, 1), "a", 1, mask=[0, 0, 0]), InputError, "allows no action"),
        (lambda live: live.decide(seen(0, 1), "a", 1, mask={"huge"}), InputError, "expected one of"),
        (lambda live: live.decide(seen(0, 1), "", 1), InputError, "expected a name"),
        (lambda live: live.decide(seen(0, 1), "a" * 201, 1), InputError, "at most 200"),
        (lambda live: live.decide(seen(0, 1), None, 1), InputError, "expected a name"),
        (lambda live: live.report("b/0", 1.0, 0), UnknownError, "unknown"),
        (lambda live: live.report("a/1", 1.0, 0), UnknownError, "no decision at step 1"),
        (lambda live: live.report("a", 1.0, 0), InputError, "id of a decision"),
        (lambda live: live.report(7, 1.0, 0), InputError, "id of a decision"),
        (lambda live: live.report("a/0", np.inf, 0), InputError, "reward is inf"),
        (lambda live: live.report("a/0", "1", 0), InputError, "reward is '1'"),
        (lambda live: live.report("a/0", 1.0, {"sla": 0}), InputError, "'sl"),
        (lambda live: live.report("a/0", 1.0, [0, 0]), InputError, "for each of"),
        (lambda live: live.report("a/0", 1.0, 0, taken="huge"), InputError, "expected one of"),
        (lambda live: live.end("b", terminated=True), UnknownError, "unknown"),
        (lambda live: live.end("a"), InputError, "observation is None"),
        (lambda live: live.expire(-1), InputError, "older_than"),
        (lambda live: live.release("a/0"), UnknownError, "not in quarantine"),
        (lambda live: live.set_limit({"sla": 1}), InputError, "sla"),
        (lambda live: live.set_limit(np.nan), InputError, "finite"),
        (lambda live: live.rollback(7), InputError, "plan 7 is not kept"),
        (lambda live: live.use_fallback(), InputError, "no fallback"),
        (lambda live: setattr(live, "limit", 3), InputError, "live.limit cannot be set; expected set_limit"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_changes_nothing(tmp_path, call, kind, words):
    with opened(tmp_path / "a.db") as live:
        live.decide(seen(0, 0), "a", 0)
        before, controls = log(live), dict(live.desk.controls.values)
        with pytest.raises(kind, match=words) as caught:
            call(live)
        assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
        assert log(live) == before and live.desk.controls.values == controls
        assert live.decide(seen(0, 1), "a", 1).step == 1


def test_a_second_process_on_one_file_is_refused(tmp_path):
    with opened(tmp_path / "a.db"), pytest.raises(FileError, match="another process has it open"):
        opened(tmp_path / "a.db")


def test_what_was_abandoned_is_closed_by_a_stated_rule(tmp_path):
    with opened(tmp_path / "a.db") as live:
        for name, told in (("none", 0), ("two", 2), ("all", 3)):
            for h in range(3):
                d = live.decide(seen(0, h), name, h)
                if h < told:
                    live.report(d.id, 1.0, {"slo": 0})
        assert live.expire(3600) == ((), ())
        assert live.expire(0) == (("two", "all"), ("none",))
        assert [len(episode[1]) for episode in mind(live).memory.episodes] == [2, 2]  # what followed the last step nobody saw
        for call in (lambda: live.report("two/2", 1.0, 0), lambda: live.decide(seen(0, 3), "two", 3)):
            with pytest.raises(GoneError, match="is over"):
                call()
        live.decide(seen(0, 0), "late", 0), live.decide(seen(0, 1), "late", 1)
        assert live.expire(0, missing={"reward": -1.0, "slo": 1.0}).learned == ("late",)
        assert mind(live).memory.episodes[2][2].tolist() == [[-1.0, -1.0]]


def test_numbered_observations_and_a_database_that_knows_its_learner(tmp_path):
    with opened(tmp_path / "a.db", **TABLE | {"seed": 4}) as live:
        d = live.decide(3, 17, 0)
        with pytest.raises(InputError, match=r"expected 0\.\.4"):
            live.decide(5, 18, 0)
    with Live.open(f"sqlite:///{tmp_path}/a.db", planner=None) as live:
        assert live.spec.seed == 4 and live.decide(3, "17", 0) == d
    for wrong, words in (
        ({"horizon": 4}, "horizon"), ({"limit": {"slo": 2.0}}, "set_limit"), ({"seed": 5}, "seed"),
        ({"actions": 1}, "actions were"), ({"observations": 2}, "observations were"), ({"horizonn": 3}, "horizonn"),
        ({"planner": "cloud"}, "planner"), ({"sync": "x"}, "sync"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            Live.open(tmp_path / "a.db", **{"planner": None} | wrong)
    with pytest.raises(InputError, match="observations is not given"):
        Live.open(tmp_path / "b.db")
    with pytest.raises(InputError, match="expected sqlite"):
        Live.open("mysql://x/y")
    with pytest.raises(FileError, match="no folder"):
        Live.open(tmp_path / "nowhere" / "a.db", **TABLE)


def test_a_decision_is_drawn_and_written_as_the_slow_ways_do():
    chance = np.random.default_rng(0)
    for n in (1, 2, 5, 40):
        for _ in range(200):
            chances = chance.random(n) * (chance.random(n) < 0.7)
            chances[chance.integers(n)] += 0.01
            chances /= chances.sum()
            answer = Answer.of(chances)
            for uniform in (0.0, chance.random(), float(np.cumsum(chances)[chance.integers(n)]), np.nextafter(1.0, 0.0)):
                assert answer.draw(float(uniform)) == draw(chances, float(uniform))
            note = {"v": int(chance.integers(9)), "P": answer.each} | (
                {"f": "fallback", "e": 1} if chance.random() < 0.5 else {}
            )
            mask = chance.random(n) < 0.5 if chance.random() < 0.5 else None
            x = chance.standard_normal(3) if chance.random() < 0.5 else np.asarray(int(chance.integers(50)))
            body = body_of(FlightStep(x, mask, 0, note))
            event = Event("decision", 'a "name"', 3, chance.random() * 1e9, body, written(body, answer))
            assert json.loads(event.text(7)) == [7, "decision", 'a "name"', 3, event.at, body]


def test_a_table_of_answers_holds_what_each_question_is_answered(tmp_path):
    with opened(tmp_path / "a.db", **TABLE) as live:
        for k in range(6):
            for h in range(3):
                d = live.decide((k + h) % 4, k, h)
                live.report(d.id, 0.3 * d.action + 0.1 * h, {"slo": float(d.action)})
            live.end(k, observation=k % 4)
        live.plan()
        policy = live.desk.plan_in_use.policy
        place, table = policy.table(1 << 18)
        assert policy.table(1) is None and set(place) == {0, 1, 2, 3} and len(np.unique(table)) > 5
        for h in range(3):
            for state, row in place.items():
                one = policy.chances(h, np.asarray(state), None)
                assert table[h, row].tobytes() == one.tobytes()
                assert live.desk.plan_in_use.answer(h, np.asarray(state), None).each == one.tolist()
