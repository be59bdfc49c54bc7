"""Several processes on one PostgreSQL: all decide, one plans, and whoever is killed loses nothing of the others."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from noregret.errors import ConflictError
from noregret.live import GoneError, Live
from noregret.live.planner import Background
from tests.live import postgres
from tests.live.test_crash import besiege, check
from tests.live.test_planner import children, until
from tests.live.toys import SPEC, H, log, play, seen

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(postgres.programs() is None, reason="PostgreSQL is not installed"),
]


@pytest.fixture(scope="module")
def server():
    with postgres.running() as url:
        yield url


def test_killed_again_and_again_it_is_its_twin(server, pytestconfig):
    check(pytestconfig.getoption("--kills"), (postgres.create(server, "a"), postgres.create(server, "b"), {}))


def test_two_servers_on_it_that_are_killed_under_load_lose_and_learn_nothing_wrong(server, pytestconfig):
    besiege(pytestconfig.getoption("--kills"), postgres.create(server, "siege"), 2)


def test_two_processes_share_episodes_and_the_lead_goes_on_when_its_holder_dies(server):
    url = postgres.create(server, "shared")
    with Live.open(url, **SPEC, planner="process") as one, Live.open(url, planner=None) as two:
        for k in range(4):
            play(one if k % 2 else two, k)
        until(lambda: one.desk.plans.newest.version >= 1)  # its planner leads
        two._planner = Background(two.url, two.keep, "process")
        until(lambda: children(two._planner.pid))
        d = one.decide(seen(9, 0), "both", 0)
        assert two.decide(seen(9, 0), "both", 0) == d
        with pytest.raises(ConflictError):
            two.decide(seen(8, 0), "both", 0)
        assert two.report(d.id, 1.0, {"slo": 0}).status == "counted" and one.report(d.id, 1.0, {"slo": 0}).status == "repeated"
        assert two.decide(seen(9, 1), "both", 1).plan == d.plan
        before = one.desk.plans.newest.version
        os.kill(one._planner.pid, signal.SIGKILL)
        for k in range(4, 8):
            play(two, k)
        assert until(lambda: min(live.desk.plans.newest.version for live in (one, two)) > before) < 5.0
        one.use_fallback(False)
        one.end("both", terminated=True)
        one.report("both/1", 1.0, {"slo": 0})
        with pytest.raises(GoneError):
            two.decide(seen(9, 2), "both", 2)
        assert one.expire(0) == ((), ())


def test_processes_that_open_a_new_database_at_once_make_one_learner(server):
    url = postgres.create(server, "new")
    made: list[Live] = []
    threads = [threading.Thread(target=lambda: made.append(Live.open(url, **SPEC, planner=None))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6 and len({live.spec.text() for live in made}) == 1
    assert len({live.decide(seen(0, 0), "a", 0) for live in made}) == 1
    for live in made:
        live.close()


def test_threads_that_race_for_the_same_steps_get_the_same_answers(server):
    url = postgres.create(server, "race")
    with Live.open(url, **SPEC, planner=None) as one, Live.open(url, planner=None) as two:
        answers: dict[int, list] = {}

        def run(live: Live, who: int) -> None:
            for k in range(5):
                for h in range(H):
                    d = live.decide(seen(k, h), f"r{k}", h)  # whoever is slower waits, and hears the same
                    live.report(d.id, 1.0, {"slo": 0})
                    answers.setdefault(who, []).append(d)

        threads = [threading.Thread(target=run, args=(live, i)) for i, live in enumerate((one, two, one, two))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers[0] == answers[1] == answers[2] == answers[3] and len(answers[0]) == 5 * H
        assert len(log(one)) == 2 * 5 * H
