"""Who plans: in a process of its own, taken over when it dies; decisions go on whatever happens to it and to the disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import zlib

import numpy as np
import pytest
import sqlalchemy as sa

from noregret.errors import FileError
from noregret.live import Live, StorageError, schema
from noregret.live.planner import lead
from noregret.live.plans import pack
from tests.live.toys import SPEC, TABLE, log, mind, opened, play, seen


def children(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [int(each) for each in found.split()]


def until(true, seconds: float = 60.0) -> float:
    began = time.monotonic()
    while not true():
        assert time.monotonic() - began < seconds
        time.sleep(0.02)
    return time.monotonic() - began


@pytest.mark.slow
def test_a_planner_that_is_killed_is_replaced_within_5_seconds(tmp_path):
    with opened(tmp_path / "a.db", planner="process") as live:
        for k in range(4):
            play(live, k)
        until(lambda: live.desk.plans.newest.version >= 1)
        assert live._planner is not None and live._planner.pid is not None
        for k in range(4, 12, 4):
            (worker,) = children(live._planner.pid)
            os.kill(worker, signal.SIGKILL)
            before = live.desk.plans.newest.version
            for i in range(k, k + 4):
                play(live, i)  # decisions and reports go on
            assert until(lambda before=before: live.desk.plans.newest.version > before) < 5.0
        supervisor = live._planner.pid
        os.kill(supervisor, signal.SIGKILL)
        until(lambda: live._planner.pid != supervisor and children(live._planner.pid))
        live.plan()
        found = live.status()["episodes"]
        assert found["learned"] == found["complete"] == 12
    with opened(tmp_path / "a.db") as live:  # the state is that of one who was never disturbed
        arrays = {name: a.tobytes() for name, a in mind(live).arrays().items()}
    with opened(tmp_path / "a.db") as live:
        with live.log.engine.begin() as tx:
            tx.execute(schema.snapshots.delete())
        assert {name: a.tobytes() for name, a in mind(live).arrays().items()} == arrays


def test_a_planner_in_a_thread_and_one_who_waits(tmp_path):
    with opened(tmp_path / "a.db", planner="thread", **TABLE) as live:
        for k in range(5):
            for h in range(3):
                live.report(live.decide((k + h) % 5, k, h).id, 1.0, {"slo": 0.5})
            live.end(k, observation=0)
        assert live.plan() >= 1
        assert live.status()["episodes"]["learned"] == 5


def test_status_tells_what_is_so_now(tmp_path):
    with opened(tmp_path / "a.db", sync="none", **TABLE) as live:
        for k in range(4):
            d = live.decide(k, k, 0)
            assert live.status()["episodes"]["open"] == 1
            live.report(d.id, 1.0, {"slo": 0.5})
            live.end(k, terminated=True)
            assert live.status()["episodes"] == {"open": 0, "complete": k + 1, "dropped": 0, "pruned": 0, "learned": 0}


def test_only_one_has_the_lead(tmp_path):
    with opened(tmp_path / "a.db") as live:
        live.plan()
        other = schema.connect(live.url)
        with pytest.raises(OSError, match="somebody else plans"), lead(other, live.url):
            pass
        other.dispose()


@pytest.mark.parametrize("sync", ["reports", "all", "none"])
def test_a_full_disk_refuses_reports_and_decisions_go_on(tmp_path, sync):
    with opened(tmp_path / "a.db", sync=sync) as live:
        play(live, 0)
        live.plan()
        with live.log.engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        sa.event.listen(live.log.engine, "checkout", lambda c, *_: c.execute(f"PRAGMA max_page_count={pages}"))
        full = False
        for k in range(1, 60):
            try:
                d = live.decide(seen(k, 0), f"full-{k}", 0)
                live.report(d.id, 1.0, {"slo": 0})
            except StorageError as error:
                assert "\n" not in str(error) and "full" in str(error)
                full = True
                break
            if sync == "none":
                time.sleep(0.05)
        assert full
        if sync != "all":
            assert live.decide(seen(7, 0), "still", 0).step == 0 and live.decide(seen(7, 1), "still", 1).step == 1
        assert live.status()["trouble"] is not None
        sa.event.listen(live.log.engine, "checkout", lambda c, *_: c.execute("PRAGMA max_page_count=1000000"))
        until(lambda: live.log.trouble is None, 10.0)
        assert live.report(d.id, 1.0, {"slo": 0}).status in ("counted", "repeated")  # the retry counts once
        assert sum((kind, name) == ("report", d.episode) for kind, name, *_ in log(live)) == 1


def test_a_journal_that_ends_in_the_middle_of_a_line(tmp_path):
    with opened(tmp_path / "a.db", sync="none") as live:
        live.decide(seen(0, 0), "a", 0)
    line = b"%08x %d %s\n"
    text = json.dumps([2, "report", "a", 0, time.time(), {"r": 1.0, "c": [0.0]}]).encode()
    whole = line % (zlib.crc32(text), len(text), text)
    (tmp_path / "a.db-journal-b").write_bytes(whole + whole[:-20])
    with opened(tmp_path / "a.db") as live:
        assert live.log.flights["a"].steps[0].reward == 1.0 and live.log.seq == 2
    (tmp_path / "a.db-journal-a").write_bytes(whole.replace(b"1.0", b"9.0"))  # not what was written
    with Live.open(tmp_path / "a.db", planner=None) as live:
        assert live.log.flights["a"].steps[0].reward == 1.0 and live.log.seq == 2


@pytest.mark.parametrize(
    ("spec", "name"), [(SPEC, "coef"), (SPEC, "model.keys"), (TABLE, "model.after"), (TABLE | {"learner": "lsvi-ucb"}, "w")]
)
def test_a_plan_that_is_none_is_refused_and_decisions_go_on(tmp_path, spec, name):
    with opened(tmp_path / "a.db", **spec) as live:
        x: object = [0.1, 0.2] if spec is SPEC else 1
        for k in range(2):
            for h in range(live.spec.horizon):
                if name == "coef":  # vectors that come back would be counted in a table
                    x = seen(k, h)
                d = live.decide(x, k, h)
                live.report(d.id, 0.5, {"slo": 0.5})
            live.end(k, observation=x)
            live.plan()
        good, version = live.desk.plans.newest, live.desk.plans.newest.version
        arrays = live._asked.leader.mind.plan()
        number = arrays[name].dtype.type(99 if arrays[name].dtype.kind == "i" else np.nan)
        wrongs = {
            "is missing": {key: value for key, value in arrays.items() if key != name},
            "is not known": arrays | {"x": np.zeros(1)},
            "has shape": arrays | {name: arrays[name][..., :-1]},
            "expected": arrays | {name: np.full_like(arrays[name], number)},
        }
        for i, (words, wrong) in enumerate(wrongs.items(), 1):
            with live.log.engine.begin() as tx:
                row = {"version": version + i, "rank": 99, "at": 0.0, "body": "{}", "data": pack(wrong)}
                tx.execute(schema.plans.insert().values(**row))
            with pytest.raises(FileError, match=f"plan {version + i} of the database cannot be used: .*{words}"):
                live.desk.plans.look()
            assert live.desk.plan_in_use is good and live.decide(x, f"go-{i}", 0).plan == version
