"""Who waits for whom: a decision waits for no plan, no disk and no other call's read; what was begun goes on."""

from __future__ import annotations

import json
import threading
import time

import pytest
import sqlalchemy as sa

from noregret.errors import FileError
from noregret.live import Live, StorageError, leader, schema
from noregret.live.planner import TakenError, lead
from tests.live import postgres
from tests.live.toys import SPEC, TABLE, H, log, mind, opened, play, seen


class Barrier:
    """Lets whoever comes through only when it is opened, and tells whether somebody stands before it."""

    def __init__(self) -> None:
        self.arrived, self.open = threading.Event(), threading.Event()

    def wait(self) -> None:
        self.arrived.set()
        assert self.open.wait(30)


def beside(call) -> threading.Thread:
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    return thread


def quick(live: Live, name: str, steps: int = 2) -> None:
    """Decisions of a new episode come, whoever else waits; a lock that is held would keep them for 30 s."""
    began = time.monotonic()
    for h in range(steps):
        assert live.decide(seen(0, h), name, h).step == h
    assert time.monotonic() - began < 5.0


def test_a_decision_waits_for_no_fsync_and_no_commit(tmp_path, monkeypatch):
    with opened(tmp_path / "a.db", sync="reports") as live:
        gate, insert = Barrier(), live.log._insert

        def slow(connection, texts):
            gate.wait()
            insert(connection, texts)

        monkeypatch.setattr(live.log, "_insert", slow)
        play_one = beside(lambda: play(live, 0))
        assert gate.arrived.wait(10)
        quick(live, "other")
        gate.open.set()
        play_one.join(10)
        # An episode is over, and the database does not know it yet: what is asked of it again needs no database either.
        gate.arrived.clear(), gate.open.clear()
        live.log.sync = "none"
        made = play(live, 1)
        assert gate.arrived.wait(10)
        assert live.report(made[0].id, 0.5 * live.spec.number(made[0].action, 0), {"slo": 0.0}).status == "repeated"
        assert live.decide(seen(1, 2), "e1", 2) == made[2]
        quick(live, "third")
        gate.open.set()
    with opened(tmp_path / "a.db") as live:
        assert live.status()["episodes"]["complete"] == 2


def test_a_decision_waits_for_no_read_of_another_call(tmp_path, monkeypatch):
    with opened(tmp_path / "a.db") as live:
        play(live, 0)
        live.log.flush()
        gate, read = Barrier(), live.log._read

        def slow(episode):
            if episode == "e0":
                gate.wait()
            return read(episode)

        monkeypatch.setattr(live.log, "_read", slow)
        asked: list = []
        late = beside(lambda: asked.append(live.decide(seen(0, 0), "e0", 0)))
        assert gate.arrived.wait(10)
        quick(live, "other")
        gate.open.set()
        late.join(10)
        assert asked[0].id == "e0/0"


def test_an_episode_that_begins_and_ends_while_another_call_asks_for_it_is_not_begun_again(tmp_path, monkeypatch):
    with opened(tmp_path / "a.db") as live:
        gate, read, first = Barrier(), live.log._read, []

        def slow(episode):
            found = read(episode)
            if episode == "e5" and not first:
                first.append(found)
                gate.wait()
            return found

        monkeypatch.setattr(live.log, "_read", slow)
        answers: list = []
        late = beside(lambda: answers.append(live.decide(seen(5, 0), "e5", 0)))
        assert gate.arrived.wait(10)
        made = play(live, 5)
        live.log.flush()  # it is over, and the database has it: only the late call does not know
        gate.open.set()
        late.join(10)
        assert first == [None] and answers == [made[0]] and "e5" not in live.log.flights
        assert sum(kind == "decision" for kind, *_ in log(live)) == H


def test_a_decision_waits_for_no_plan_that_is_read(tmp_path, monkeypatch):
    with opened(tmp_path / "a.db") as live:
        for k in range(6):
            play(live, k)
        assert live.plan() == 1
        live.decide(seen(0, 0), "old", 0)
    with opened(tmp_path / "a.db") as live:
        for k in range(6, 30):
            play(live, k)
            live.plan()
        assert live.desk.plans.newest.version > 1
        gate, read = Barrier(), live.desk.plans._read
        monkeypatch.setattr(live.desk.plans, "_read", lambda version: (gate.wait(), read(version))[1])
        found: list = []
        old = beside(lambda: found.append(live.decide(seen(0, 1), "old", 1)))
        assert gate.arrived.wait(10)  # its plan is not at hand
        quick(live, "other")
        gate.open.set()
        old.join(10)
        assert found[0].plan == 1


def test_decide_never_plans_and_never_waits_for_the_lead(tmp_path, monkeypatch):
    with opened(tmp_path / "a.db", planner="thread") as live:
        gate = Barrier()

        def ready(self):
            gate.wait()

        monkeypatch.setattr(type(live.spec.mind()), "ready", ready)
        play(live, 0)
        assert gate.arrived.wait(30)  # somebody plans, for as long as we like
        quick(live, "other")
        assert live.desk.plans.newest.version == 0
        gate.open.set()


def test_a_plan_that_a_process_may_still_hold_is_kept_for_a_while(tmp_path, monkeypatch):
    for grace, kept in ((leader.GRACE, True), (0.0, False)):
        monkeypatch.setattr(leader, "GRACE", grace)
        with opened(tmp_path / f"{grace}.db", keep=1) as live:
            for k in range(24):
                play(live, k)
                live.plan()
            assert live.desk.plans.newest.version > 2 and (1 in live.versions()) is kept


def test_an_episode_whose_plan_is_gone_goes_on_with_the_newest(tmp_path):
    with opened(tmp_path / "a.db") as live:
        for k in range(6):
            play(live, k)
        live.plan()
        live.decide(seen(0, 0), "old", 0)
    with opened(tmp_path / "a.db") as live:
        for k in range(6, 30):
            play(live, k)
            live.plan()
        with live.log.engine.begin() as tx:
            tx.execute(schema.plans.delete().where(schema.plans.c.version == 1))
        assert live.decide(seen(0, 1), "old", 1).plan == live.desk.plans.newest.version > 1


def test_an_episode_that_is_heard_of_while_others_expire_stays(tmp_path, monkeypatch):
    with opened(tmp_path / "a.db") as live:
        live.decide(seen(0, 0), "a", 0), live.decide(seen(0, 0), "b", 0)
        time.sleep(0.3)
        idle = live.log.idle

        def then(older_than):
            found = idle(older_than)
            live.report("b/0", 1.0, {"slo": 0})  # just now
            return found

        monkeypatch.setattr(live.log, "idle", then)
        assert live.expire(0.2) == ((), ("a",)) and live.decide(seen(0, 1), "b", 1).step == 1


def test_a_lead_that_is_taken_is_no_error_and_a_damaged_learner_is(tmp_path):
    with opened(tmp_path / "a.db") as live:
        live.plan()
        with pytest.raises(TakenError), lead(live.log.engine, live.url):
            pass
        assert issubclass(TakenError, FileError)


def test_a_plan_that_could_not_be_written_leaves_a_planner_that_knows_what_the_database_does(tmp_path):
    with opened(tmp_path / "a.db") as live, opened(tmp_path / "twin.db") as twin:
        for k in range(6):
            play(live, k), play(twin, k)
        live.plan(), twin.plan()
        for k in range(6, 9):
            play(live, k), play(twin, k)
        live.log.flush()
        failing = [True]

        @sa.event.listens_for(live.log.engine, "before_cursor_execute")
        def refuse(connection, cursor, statement, *_):
            if failing[0] and "INSERT INTO lessons" in statement:
                raise StorageError("the disk is full")

        with pytest.raises(StorageError):
            live.plan()
        failing[0] = False
        ours, theirs = mind(live).arrays(), mind(twin).arrays()
        assert {name: a.tobytes() for name, a in ours.items()} == {name: a.tobytes() for name, a in theirs.items()}


def test_a_database_of_an_older_version_is_brought_up_to_date(tmp_path):
    place = tmp_path / "a.db"
    with opened(place, **TABLE) as live:
        live.report(live.decide(0, "a", 0).id, 1.0, 0.0)
        before = log(live)
    engine = schema.connect(schema.url_of(place))
    with engine.begin() as tx:  # as version 1 was
        schema.held.drop(tx)
        tx.execute(schema.meta.update().where(schema.meta.c.name == "schema").values(value="1"))
    engine.dispose()
    with opened(place, **TABLE) as live:
        assert log(live) == before and live.log.flights["a"].steps[0].reward == 1.0
        names = {each["name"] for each in sa.inspect(live.log.engine).get_indexes("events")}
        with schema.reading(live.log.engine) as tx:
            version = tx.execute(sa.select(schema.meta.c.value).where(schema.meta.c.name == "schema")).scalar()
            asked = live.desk._held().compile(live.log.engine, compile_kwargs={"literal_binds": True})
            plan = " ".join(str(row) for row in tx.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}"))
        assert "events_held" in names and version == str(schema.VERSION) and "events_held" in plan
    engine = schema.connect(schema.url_of(place))
    with engine.begin() as tx:
        tx.execute(schema.meta.update().where(schema.meta.c.name == "schema").values(value="99"))
    engine.dispose()
    with pytest.raises(FileError, match="has tables of version 99; expected 1 to"):
        opened(place, **TABLE)
    assert len(schema.MIGRATIONS) == schema.VERSION - 1


@pytest.mark.slow
@pytest.mark.skipif(postgres.programs() is None, reason="PostgreSQL is not installed")
def test_without_its_postgresql_a_process_decides_and_keeps_nothing_and_what_was_kept_is_there_again():
    with postgres.Server() as server:
        with Live.open(server.url, **SPEC, planner=None, fallback="low") as live:
            for k in range(6):
                play(live, k)
            version = live.plan()
            d = live.decide(seen(9, 0), "flying", 0)
            assert version and d.plan == version and d.recorded
            server.kill()  # kill -9 of all of it, in the middle of its work
            began = time.monotonic()
            for k in range(20):
                new = live.decide(seen(k, 0), f"new-{k}", 0)
                assert not new.recorded and new.plan == version
            again, on = live.decide(seen(9, 0), "flying", 0), live.decide(seen(9, 1), "flying", 1)
            assert again == d._replace(recorded=False) and on.plan == version and not on.recorded
            assert time.monotonic() - began < 10.0 and live.log.trouble is not None
            for call in (lambda: live.report(d.id, 1.0, 0), lambda: live.set_limit(1.0), lambda: live.status()):
                with pytest.raises(StorageError) as caught:
                    call()
                assert "\n" not in str(caught.value) and "SELECT" not in str(caught.value) and len(str(caught.value)) < 500
            server.start()
            until = time.monotonic() + 20
            while not live.decide(seen(9, 0), "flying", 0).recorded and time.monotonic() < until:
                time.sleep(0.1)
            assert live.decide(seen(9, 0), "flying", 0) == d and live.report(d.id, 1.0, 0).status == "counted"
            assert live.log.trouble is None and live.status()["episodes"]["learned"] == 6
            with pytest.raises(Exception, match="unknown"):
                live.report("new-3/0", 1.0, 0)  # it was said that it is not recorded
            assert json.dumps(live.status())
