"""A disk that is really full: reports are refused with 503 and one line, decisions go on, and nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

pytest.importorskip("fastapi")
from tests.disks import small_disk
from tests.live.test_planner import until
from tests.live.test_server import ask, serving
from tests.live.toys import H, log, mind, opened, play, seen


@pytest.fixture
def small(tmp_path):
    """A folder on a file system of 4 MB."""
    with small_disk(tmp_path / "small", "size=4m") as folder:
        yield folder


def fill(path) -> None:
    """Take all the room that is left."""
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            while True:
                try:
                    file.write(b"x" * size)
                except OSError:
                    break


@pytest.mark.parametrize("sync", ["reports", "none"])
def test_a_full_disk(small, sync):
    with opened(small / "a.db", sync=sync) as live, serving({"gate": live}) as url:
        made = play(live, 0)
        version = live.plan()
        live.decide(seen(9, 0), "flying", 0)
        live.log.flush()
        before = log(live)
        fill(small / "filler")
        told, decided, counted = [], 0, 0
        for k in range(200):  # until the last room in the last page is used
            body = {"observation": seen(k, 0), "episode": f"full-{k}", "step": 0}
            status, answer = ask(url, "/v1/gate/decide", body)
            assert status == 200 and answer["plan"] == version
            decided += 1
            status, answer = ask(url, "/v1/gate/report", {"decision": f"full-{k}/0", "reward": 1.0, "costs": {"slo": 0.0}})
            if status == 200:
                counted += 1
                continue
            assert status == 503 and list(answer) == ["error"] and "\n" not in answer["error"] and len(answer["error"]) < 300
            told.append(answer["error"])
            if len(told) == 3:
                break
        assert len(told) == 3 and any(word in told[-1].lower() for word in ("full", "space")), told
        assert ask(url, "/readyz")[0] == 503 and ask(url, "/healthz")[0] == 200 and ask(url, "/v1/gate/status")[0] == 200
        status, answer = ask(url, "/v1/gate/decide", {"observation": seen(9, 1), "episode": "flying", "step": 1})
        assert status == 200 and answer["recorded"] is False and answer["plan"] == version  # it goes on, and says what that is
        (small / "filler").unlink()
        until(lambda: live.log.trouble is None, 20.0)
        assert ask(url, "/readyz")[0] == 200
        for k in range(decided):  # what was refused is said again, and counts once
            status, answer = ask(url, "/v1/gate/report", {"decision": f"full-{k}/0", "reward": 1.0, "costs": {"slo": 0.0}})
            assert status == 200 and answer["status"] in ("counted", "repeated")
        after = log(live)
        assert after[: len(before)] == before and len({row[:3] for row in after}) == len(after)
        assert sum(kind == "report" for kind, *_ in after) == H + decided
        assert live.decide(seen(9, 1), "flying", 1).recorded and made[0].id == "e0/0"
        learned = mind(live).episodes
    with opened(small / "a.db") as live:
        assert log(live) == after and mind(live).episodes == learned == 1


def test_a_process_that_is_killed_while_its_disk_is_full_keeps_what_it_acknowledged(small):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        live = opened(small / "a.db", sync="reports")
        play(live, 0)
        fill(small / "filler")
        for k in range(300):
            with contextlib.suppress(OSError):
                live.report(live.decide(seen(k, 0), f"n{k}", 0).id, 1.0, {"slo": 0.0})
                os.write(writer, b"%d\n" % k)
        os.kill(os.getpid(), signal.SIGKILL)
    os.close(writer)
    with os.fdopen(reader) as told:
        kept = {f"n{int(line)}" for line in told}
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    (small / "filler").unlink()
    with opened(small / "a.db") as live:
        found = {episode for kind, episode, *_ in log(live) if kind == "report"}
        assert kept | {"e0"} <= found and len(kept) < 300
