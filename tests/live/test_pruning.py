"""Old events go; the learner, its recovery and the names of episodes stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa

from noregret.errors import FileError
from noregret.live import GoneError, Live, schema
from tests.live.crash import state
from tests.live.toys import log, mind, opened, play, seen

ROOT = Path(__file__).parent.parent.parent
#: Prunes one episode a transaction, and is killed before the third of them is committed.
KILLED = """
import os, signal, sys
import sqlalchemy as sa
from noregret.live import pruning
from tests.live.toys import opened

pruning.GROUP = 1
live, commits = opened(sys.argv[1]), [0]

@sa.event.listens_for(live.log.engine, "commit")
def count(connection):
    if connection.exec_driver_sql("SELECT count(*) FROM episodes WHERE status = 'pruned'").scalar() == 3:
        os.kill(os.getpid(), signal.SIGKILL)

live.prune(0)
"""


def statuses(live: Live) -> dict[str, int]:
    return {name: n for name, n in live.status()["episodes"].items() if n}


def test_events_that_no_snapshot_needs_go_and_the_learner_stays(tmp_path):
    place = str(tmp_path / "a.db")
    with opened(place) as live:
        for k in range(6):
            play(live, k)
            live.plan()
        play(live, 6)  # not learned yet
        live.decide(seen(7, 0), "open", 0)
        assert live.prune(3600) == 0  # too young
        learned = [name for _, name, *_ in log(live) if name in ("e5", "e6", "open")]
        n = live.prune(0)
        assert 0 < n < 6 and statuses(live) == {"open": 1, "complete": 7 - n, "pruned": n, "learned": 6}
        assert [name for _, name, *_ in log(live) if name in ("e5", "e6", "open")] == learned
        assert not [name for _, name, *_ in log(live) if name == "e0"]
        for call in (
            lambda: live.decide(seen(0, 0), "e0", 0), lambda: live.report("e0/0", 1.0, 0), lambda: play(live, 0),
            lambda: live.end("e0", terminated=True), lambda: live.release("e0/0"),
            lambda: live.tell_episode("e0", [seen(0, 0)], ["low"], [1.0], [0.0], terminated=True),
        ):  # fmt: skip
            with pytest.raises(GoneError, match="'e0' is over and pruned"):
                call()
        live.plan()
        live.prune(0)
        before, last = mind(live).arrays(), live.log.seq
    with opened(place) as live:
        assert live.log.seq == last  # numbers of events are never used again
        after = mind(live).arrays()
        assert {name: a.tobytes() for name, a in after.items()} == {name: a.tobytes() for name, a in before.items()}
        play(live, 9)
        assert live.plan() and mind(live).episodes == 8
    with pytest.raises(FileError, match="were pruned and the snapshots of them are gone"):
        state(place, fresh=True)


def test_a_kill_in_the_middle_leaves_whole_episodes(tmp_path):
    place = str(tmp_path / "a.db")
    with opened(place) as live:
        for k in range(6):
            play(live, k)
            live.plan()
        before, every = state_of(live), log(live)
    done = subprocess.run([sys.executable, "-c", KILLED, place], cwd=ROOT, env=os.environ, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    with opened(place) as live:
        assert statuses(live) == {"complete": 4, "pruned": 2, "learned": 6} and state_of(live) == before
        with schema.reading(live.log.engine) as tx:
            gone = set(tx.execute(sa.select(schema.episodes.c.name).where(schema.episodes.c.status == "pruned")).scalars())
        assert log(live) == [row for row in every if row[1] not in gone]


def state_of(live: Live) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in mind(live).arrays().items()}
