"""Guard rails: quarantine, fallback, limits at run time, rollback, and schemas that grow."""

from __future__ import annotations

import time

import numpy as np
import pytest
import sqlalchemy as sa

from noregret.errors import ConflictError, InputError
from noregret.live import Live, schema
from noregret.live.figures import prometheus
from tests.live.toys import SPEC, TABLE, H, log, mind, opened, play, seen


def test_a_report_outside_its_range_is_held_back_until_it_is_released(tmp_path):
    with opened(tmp_path / "a.db", reward_range=(0, 5), ranges={"slo": (0, 1)}) as live:
        made = [live.decide(seen(0, h), "a", h) for h in range(H)]
        live.end("a", observation=seen(0, H))
        for h in (0, 1):
            live.report(made[h].id, 1.0, {"slo": 0})
        found = live.report(made[2].id, 1e6, {"slo": 0})
        assert found.status == "quarantined" and "reward is 1e+06; expected 0 to 5" in found.reason
        assert live.report(made[2].id, 1e6, {"slo": 0}) == found  # said again
        with pytest.raises(ConflictError, match="quarantine"):
            live.report(made[2].id, 2.0, {"slo": 0})
        assert "slo is 2" in live.report(made[3].id, 1.0, {"slo": 2}).reason
        assert [(h.id, h.reward) for h in live.quarantine()] == [("a/2", 1e6), ("a/3", 1.0)]
        assert live.plan() == 0  # nothing learned
    with opened(tmp_path / "a.db", reward_range=(0, 5), ranges={"slo": (0, 1)}) as live:
        assert len(live.quarantine()) == 2 and live.status()["quarantine"]["held"] == 2
        assert live.release("a/2").complete is False and live.release("a/3").complete
        assert mind(live).memory.episodes[0][2].tolist() == [[1.0, -0.0], [1.0, -0.0], [1e6, -0.0], [1.0, -2.0]]
        live.decide(seen(0, 0), "b", 0)
        live.report("b/0", -1, 0)
        assert live.release("b/0", drop=True).status == "dropped" and not live.quarantine()


def test_a_number_far_from_all_that_was_learned_is_held_back(tmp_path, caplog):
    with opened(tmp_path / "a.db") as live:
        for k in range(20):
            play(live, k)
        live.plan()
        d = live.decide(seen(0, 0), "x", 0)
        assert live.report(d.id, 1e6, {"slo": 0}).status == "quarantined"
        assert live.report(live.decide(seen(0, 0), "y", 0).id, 1.5, {"slo": 1e4}).status == "quarantined"
        assert live.report(live.decide(seen(0, 0), "z", 0).id, 2.5, {"slo": 2}).status == "counted"
        assert not live.desk.guard.alarmed
        for k in range(30):
            live.report(live.decide(seen(0, 0), f"m{k}", 0).id, 1e6, {"slo": 0})
        assert live.desk.guard.alarmed and live.status()["quarantine"]["alarm"]
        assert 'noregret_quarantine_alarm{learner="a"} 1' in prometheus({"a": live.status()})
        time.sleep(0.5)
        assert sum("alarm" in record.message for record in caplog.records) == 1  # said once, not at every look
    with opened(tmp_path / "b.db", widths=None) as live:
        for k in range(20):
            play(live, k)
        live.plan()
        assert live.report(live.decide(seen(0, 0), "x", 0).id, 1e6, {"slo": 0}).status == "counted"


def test_one_absurd_number_is_held_back_before_ranges_are_learned(tmp_path):
    with opened(tmp_path / "a.db") as live:
        for k in range(5):
            play(live, k)
        live.plan()
        found = live.report(live.decide(seen(0, 0), "x", 0).id, 1e6, {"slo": 0})
        assert found.status == "quarantined" and "all that was heard is 0" in found.reason
        assert live.report(live.decide(seen(0, 0), "y", 0).id, 20.0, {"slo": 0}).status == "counted"  # a goal that is rare
        for k in range(5, 10):
            play(live, k)
            live.plan()
        assert float(mind(live).dual[0]) < 100.0 and live.status()["quarantine"]["held"] == 1


def test_the_fallback_decides_before_anything_is_known_when_plans_are_old_and_when_switched_on(tmp_path):
    with opened(tmp_path / "a.db", fallback="low") as live:
        d = live.decide(seen(0, 0), "first", 0)
        assert d.action == "low" and d.fallback and d.probability == 1.0
        assert live.decide(seen(0, 0), "masked", 0, mask=[0, 1, 1]).probabilities == (0.0, 0.5, 0.5)
        for k in range(4):
            assert all(d.fallback for d in play(live, k))
        live.plan()
        assert live.desk.plans.newest.version and not live.decide(seen(0, 0), "second", 0).fallback
        assert np.isnan(mind(live).estimate).all() or mind(live).costs.seen == 0  # the old system's costs are not its debt
        live.use_fallback()
        assert live.decide(seen(0, 1), "second", 1).fallback  # at once, also within an episode
    with opened(tmp_path / "a.db", fallback=lambda x, h, mask: [0.5, 0.5, 0.0]) as live:
        assert live.decide(seen(0, 0), "third", 0).probabilities == (0.5, 0.5, 0.0) and live.status()["switch"]
        live.use_fallback(False)
        assert not live.decide(seen(0, 0), "fourth", 0).fallback
        live.desk.plan_age = 0.0
        time.sleep(0.01)
        assert live.decide(seen(0, 0), "fifth", 0).fallback
    with opened(tmp_path / "a.db", fallback=lambda x, h, mask: "huge") as live:
        live.use_fallback()
        with pytest.raises(InputError, match="huge"):
            live.decide(seen(0, 0), "sixth", 0)
    with pytest.raises(InputError, match="expected an action"):
        opened(tmp_path / "a.db", fallback="huge")


def test_limits_change_at_run_time_with_or_without_debt(tmp_path):
    with opened(tmp_path / "a.db", **TABLE) as live:
        for k in range(12):
            for h in range(3):
                live.report(live.decide((k + h) % 5, k, h).id, 1.0, {"slo": 1.0})
            live.end(k, observation=0)
            live.plan()
        assert mind(live).costs.debt[0] > 0
        before = mind(live).dual.copy()
        live.set_limit(3.0, forget=True)
        live.plan()
        assert live.limits == {"slo": 3.0} and mind(live).record.bounds.tolist() == [-3.0] and mind(live).costs.debt[0] == 0
        assert mind(live).dual[0] <= before[0]
        live.set_limit({"slo": 0.5})
        live.plan()
        ours = {name: a.tobytes() for name, a in mind(live).arrays().items()}
    with opened(tmp_path / "a.db", **TABLE) as live:  # as it was, also when it is opened again
        assert live.limits == {"slo": 0.5} and mind(live).record.bounds.tolist() == [-0.5]
        assert {name: a.tobytes() for name, a in mind(live).arrays().items()} == ours


def test_rollback_to_a_plan_that_is_kept(tmp_path):
    with opened(tmp_path / "a.db", keep=3) as live:
        for k in range(24):
            play(live, k)
            live.plan()
        kept = live.versions()
        assert len(kept) >= 3 and kept[-1] == live.desk.plans.newest.version > 4
        live.rollback(kept[0])
        assert live.decide(seen(0, 0), "old", 0).plan == kept[0]
        for k in range(24, 40):
            play(live, k)
            live.plan()
        assert kept[0] in live.versions()  # it is held
    with opened(tmp_path / "a.db", keep=3) as live:
        assert live.decide(seen(0, 0), "older", 0).plan == kept[0] and live.status()["plan"]["pinned"] == kept[0]
        live.rollback(None)
        assert live.decide(seen(0, 0), "new", 0).plan == live.versions()[-1]


def test_an_override_is_learned_as_what_was_done(tmp_path):
    with opened(tmp_path / "a.db") as live:
        d = live.decide(seen(0, 0), "a", 0)
        other = next(name for name in SPEC["actions"] if name != d.action)
        live.report(d.id, 1.0, {"slo": 0}, taken=other)
        live.end("a", terminated=True)
        assert mind(live).memory.episodes[0][1].tolist() == [SPEC["actions"].index(other)]
        assert live.status()["taken"] == 1.0


def test_observations_and_actions_may_become_more(tmp_path):
    with opened(tmp_path / "a.db") as live:
        for k in range(6):
            play(live, k)
        before = live.plan()
        live.decide(seen(0, 0), "open", 0)
    more = SPEC | {"observations": ["load", "lag", "hour"], "actions": ["low", "mid", "high", "huge"]}
    with pytest.raises(InputError, match="'hour'; expected its value in old data"):
        opened(tmp_path / "a.db", **more)
    with pytest.raises(InputError, match="1 episodes are in flight"):
        opened(tmp_path / "a.db", **more, defaults={"hour": 12})
    with opened(tmp_path / "a.db") as live:
        live.expire(0)
    with opened(tmp_path / "a.db", **more, defaults={"hour": 12}) as live:
        assert live.versions()[0] > before and mind(live).memory.episodes[0][0][:, 2].tolist() == [12.0] * (H + 1)
        d = live.decide({"load": 0.1, "lag": 0.2, "hour": 3}, "new", 0)
        assert len(d.probabilities) == 4 and d.probabilities[3] > 0
        live.report(d.id, 1.0, {"slo": 0})
        live.end("new", terminated=True)
        assert live.plan() and mind(live).episodes == 7
    for wrong, words in (
        ({"observations": ["lag", "load", "hour"]}, "observations were"), ({"actions": ["low", "mid"]}, "actions were"),
        ({"observations": 3}, "observations were"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            opened(tmp_path / "a.db", **more | wrong, defaults={"hour": 12})


def test_numbered_observations_with_a_new_action(tmp_path):
    with opened(tmp_path / "a.db", **TABLE) as live:
        for k in range(6):
            for h in range(3):
                live.report(live.decide((k * h) % 5, k, h).id, 1.0, {"slo": 0.2})
            live.end(k, observation=1)
        live.plan()
        old = mind(live).memory
        pairs = {(key // 6 // 2, key // 6 % 2, key % 6): n for key, n in old.next.items()}
    with opened(tmp_path / "a.db", **TABLE | {"actions": 3}) as live:
        new = mind(live).memory
        assert {(key // 6 // 3, key // 6 % 3, key % 6): n for key, n in new.next.items()} == pairs
        assert new.visits.shape == (len(new.place), 3) and not new.visits[:, 2].any() and new.allowed[:, 2].all()
        assert len(live.decide(0, "x", 0).probabilities) == 3


def test_logs_teach_and_do_not_count(tmp_path):
    rows = {
        "observations": [seen(0, h) for h in range(3)],
        "actions": ["high", "low"],
        "rewards": [1.0, 0.0],
        "costs": [[1], [0]],
    }
    with opened(tmp_path / "a.db") as live:
        assert live.tell_episode("log-1", **rows).status == "counted"
        assert live.tell_episode("log-1", **rows).status == "repeated"
        with pytest.raises(ConflictError, match="other content"):
            live.tell_episode("log-1", **rows | {"rewards": [1.0, 0.5]})
        for wrong, words in (
            ({"actions": ["high"]}, "observations has 3"), ({"rewards": [1.0, np.nan]}, "step 1: reward"),
            ({"costs": [[1]]}, "costs has 1"), ({"masks": [[1, 1, 0], None]}, "its mask allows"),
            ({"probabilities": [[1, 0, 0], [1, 0, 0]]}, "step 0: probabilities"),
        ):  # fmt: skip
            with pytest.raises(InputError, match=words):
                live.tell_episode("log-2", **rows | wrong)
        assert live.decide(seen(0, 1), "log-1", 1).action == "low"
        for k in range(6):
            live.tell_episode(f"k{k}", **rows)
            live.plan()
        assert mind(live).episodes == 7 and mind(live).costs.seen == 0 and mind(live).costs.debt[0] == 0
        live.tell_episode("mine", **rows, counts=True)
        assert mind(live).costs.seen == 1
        assert live.status()["window"] == 0  # what others did is not how it does


def test_a_frame_or_a_parquet_file_teaches(tmp_path):
    polars = pytest.importorskip("polars")
    n = 4
    frame = polars.DataFrame(
        {
            "session": [k for k in range(5) for _ in range(n)], "step": list(range(n)) * 5, "reward": [1.0] * (5 * n),
            "action": ["low", "mid", "high", "mid"] * 5, "slo": [0.0, 1.0] * (5 * n // 2), "lag": [0.0] * (5 * n),
            "load": [0.1 * i for i in range(5 * n)],
            "terminated": [h == n - 1 and k % 2 == 0 for k in range(5) for h in range(n)],
        }
    )  # fmt: skip
    frame.write_parquet(tmp_path / "log.parquet")
    options = SPEC | {"planner": None, "columns": {"episode": "session"}}
    for i, source in enumerate((frame.sample(fraction=1.0, shuffle=True, seed=1), tmp_path / "log.parquet")):
        with Live.from_log(source, tmp_path / f"{i}.db", **options) as live:
            assert sorted(len(episode[1]) for episode in mind(live).memory.episodes) == [3, 3, 4, 4, 4]
    with pytest.raises(InputError, match="no column 'lag'"):
        Live.from_log(frame.drop("lag"), tmp_path / "x.db", **options)


def test_an_apprentice_learns_from_the_old_system_and_says_what_it_would_have_done(tmp_path):
    with opened(tmp_path / "a.db") as live:
        for h in range(H):
            d = live.decide(seen(0, h), "a", h, action="mid")
            assert d.action == "mid" and d.probability == 1.0 and d.advised in SPEC["actions"]
            assert live.decide(seen(0, h), "a", h, action="mid") == d
            with pytest.raises(ConflictError, match="decided as mid"):
                live.decide(seen(0, h), "a", h, action="low")
            live.report(d.id, 1.0, {"slo": 1})
        live.end("a", observation=seen(0, H))
        assert mind(live).memory.episodes[0][1].tolist() == [1] * H
        assert '"counts": false' in next(body for kind, _, _, body in log(live) if kind == "complete").replace('":f', '": f')


def test_what_a_learner_on_given_features_cannot_change_is_refused_before_anything_is_written(tmp_path):
    fixed = TABLE | {"learner": "primal-dual-lsvi"}
    with opened(tmp_path / "a.db", **fixed) as live:
        for call in (lambda: live.set_limit(0.5), lambda: live.set_limit({"slo": 0.5}, forget=True)):
            with pytest.raises(InputError, match=r"limits of primal-dual-lsvi stay .* can change them: soft-cells"):
                call()
        with schema.reading(live.log.engine) as tx:
            assert not tx.execute(sa.select(schema.wishes)).all() and not tx.execute(sa.select(schema.settings)).all()
        live.report(live.decide(0, 0, 0).id, 1.0, {"slo": 1})
        live.end(0, terminated=True)
    before = (tmp_path / "a.db").read_bytes()
    with pytest.raises(InputError, match="observations and actions of primal-dual-lsvi stay"):
        opened(tmp_path / "a.db", **fixed | {"actions": 3})
    assert (tmp_path / "a.db").read_bytes() == before
    with opened(tmp_path / "a.db", **fixed) as live:
        assert live.plan() and mind(live).learned == 1  # the learner goes on


def test_too_many_odd_reports_switch_the_fallback_on_if_that_is_wanted(tmp_path):
    with pytest.raises(InputError, match="on_alarm is 'fallback'; expected 'tell', or 'fallback' where fallback= is given"):
        opened(tmp_path / "a.db", on_alarm="fallback")
    with opened(tmp_path / "a.db", reward_range=(0, 5), fallback="low", on_alarm="fallback", alarm=0.5) as live:
        for k in range(30):
            live.report(live.decide(seen(k, 0), k, 0).id, 1.0 if k % 2 else 77.0, {"slo": 0})
        live._heed()
        assert live.desk.guard.share == 0.5 and not live.desk.controls.values["fallback"]
        for k in range(30, 34):
            live.report(live.decide(seen(k, 0), k, 0).id, 77.0, {"slo": 0})
        until = time.monotonic() + 10.0
        while not live.desk.controls.values["fallback"] and time.monotonic() < until:
            time.sleep(0.02)
        assert live.desk.controls.values["fallback"] and live.decide(seen(50, 0), 50, 0).fallback
        time.sleep(0.3)
        live.use_fallback(False)
        time.sleep(0.3)
        assert not live.desk.controls.values["fallback"] and not live.desk.guard.alarmed  # it counts anew


def test_what_cannot_be_is_refused_before_there_is_a_file(tmp_path):
    place = tmp_path / "a.db"
    for wrong, words in (
        ({"alarm": 3}, "alarm is 3; expected a number from 0 to 1"), ({"widths": -1}, "widths is -1; expected a number of at"),
        ({"plan_age": "x"}, "plan_age is 'x'; expected"), ({"fallback": 7}, "fallback is 7; expected an action"),
        ({"horizon": None}, "is new, and horizon is not given"), ({"learner": "lsvi-ucb"}, "observations are vectors"),
        ({"keep": 0}, "keep is 0"), ({"on_alarm": "stop"}, "on_alarm is 'stop'"), ({"limit": {"slo": "x"}}, "limit"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=words):
            opened(place, **wrong)
        assert not list(tmp_path.iterdir())
    with opened(place) as live:
        assert live.decide(seen(0, 0), "a", 0, mask=["high"]).action == "high"
        with pytest.raises(InputError, match="action is 'hgh'; expected one of"):
            live.decide(seen(0, 0), "b", 0, mask=["hgh"])
