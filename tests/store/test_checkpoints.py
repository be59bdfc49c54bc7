"""Checkpoints: stopped and resumed is not stopped, bit for bit."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from noregret import learners
from noregret.runs import Ask
from noregret.runs.execute import Settings, execute
from noregret.store import Checkpoints, Store
from tests import growing
from tests.store.test_store import SMALL, TABLE, files, key, store
from tests.support import OURS

__all__ = ["store"]  # a fixture

# --- checkpoints --------------------------------------------------------------------------------------------------


def test_the_last_two_checkpoints_are_kept_and_a_torn_one_falls_back(tmp_path):
    checkpoints = Checkpoints(tmp_path / "c")
    assert checkpoints.load() is None
    for k in (10, 20, 30):
        checkpoints.save(k, {"x": np.full(3, k)}, {"streams": [{"state": 2**127 + k}]})
    found = sorted((tmp_path / "c").iterdir())
    assert [int(path.stem.split("-")[1]) for path in found] == [20, 30]
    k, arrays, meta = Checkpoints(tmp_path / "c").load()
    assert k == 30 and arrays["x"].tolist() == [30] * 3 and meta["streams"][0]["state"] == 2**127 + 30
    whole = found[1].read_bytes()
    for broken in (whole[:-1], b"", whole[:5] + b"?" + whole[6:], whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]):
        found[1].write_bytes(broken)
        with pytest.warns(UserWarning, match="000030.bin.*going back"):
            k, arrays, _ = Checkpoints(tmp_path / "c").load()
        assert k == 20 and arrays["x"].tolist() == [20] * 3
    found[0].write_bytes(b"")
    with pytest.warns(UserWarning, match="000020.bin"):
        assert Checkpoints(tmp_path / "c").load() is None


def test_what_only_grows_is_appended_not_written_again(tmp_path):
    checkpoints, big = Checkpoints(tmp_path), np.random.default_rng(0).random((2, 9000, 3))
    for k in (1000, 2000, 2000, 9000):
        checkpoints.save(k, {"x": np.array([k]), "big": big[:, :k]}, {}, {"big": (1, k)})
        if k == 2000:
            checkpoints = Checkpoints(tmp_path)  # another sitting goes on with the same files
            assert checkpoints.load()[1]["big"].shape == (2, 2000, 3)
    segments = sorted(tmp_path.glob("segment-*"), key=lambda path: path.stat().st_size)
    assert len(segments) == 3 and abs(sum(path.stat().st_size for path in segments) - big.nbytes) < 1000
    assert max(path.stat().st_size for path in tmp_path.glob("checkpoint-*")) < 3000
    np.testing.assert_array_equal(Checkpoints(tmp_path).load()[1]["big"], big)
    data = bytearray(segments[-1].read_bytes())
    data[-3] ^= 4
    segments[-1].write_bytes(data)
    with pytest.warns(UserWarning, match=r"009000.bin: its part segment-\w+.npy does not match"):
        k, arrays, _ = Checkpoints(tmp_path).load()
    assert k == 2000
    np.testing.assert_array_equal(arrays["big"], big[:, :2000])


def test_what_is_not_final_yet_may_change(tmp_path):
    checkpoints, big = Checkpoints(tmp_path), np.arange(100.0).reshape(50, 2)
    for k in (10, 30, 50):
        now = big[:k].copy()
        now[k - 4 :] *= -k  # the last four rows are still being filled
        checkpoints.save(k, {"big": now}, {}, {"big": (0, k - 4)})
        np.testing.assert_array_equal(Checkpoints(tmp_path).load()[1]["big"], now)
    assert len(list(tmp_path.glob("segment-*"))) == 3


class StopAfter(threading.Event):
    """Set after a number of looks."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    def is_set(self):
        self.looks -= 1
        return self.looks < 0


TOLD = {name: {"params": {"safe_policy": "safest"}} for name in OURS if "safe_policy" in learners.get(name).told}
CASES = [(name, SMALL, TOLD.get(name, {})) for name in OURS if not learners.get(name).stepwise]
CASES += [("slucb-qvi", "machine-load", {})]
CASES += [("primal-dual-lsvi", TABLE, {"params": {"zeta": 0.01}})]
CASES += [("growing", SMALL, {}), ("optimal", SMALL, {})]
VECTORS = "linear-continuous:H=3"
CASES += [("primal-dual-lsvi", VECTORS, {"params": more}) for more in ({}, {"replan": "doubling"})]


@pytest.mark.parametrize(("learner", "problem", "more"), CASES)
def test_stopped_and_resumed_is_bit_for_bit_not_stopped(tmp_path, learner, problem, more):
    assert growing
    (given,) = Ask(problem, learner, episodes=300, record_every=7, **more).keys()
    quiet, stopped = Store(tmp_path / "quiet"), Store(tmp_path / "stopped")
    assert execute(given, quiet, Settings(block_size=1000)).status == "done"
    for _ in range(3):
        result = execute(given, stopped, Settings(block_size=23, stop=StopAfter(2), checkpoint_seconds=0.0))
        assert result.status == "stopped" and result.episodes == 3 * 23
        assert stopped.ids() == []
    last = sorted(stopped.work(given.id).glob("checkpoint-*"))
    assert len(last) == 2
    last[1].write_bytes(last[1].read_bytes()[:-7])  # torn: 23 episodes are lost, no bit is
    with pytest.warns(UserWarning, match="going back"):
        assert execute(given, stopped).status == "done"
    assert files(stopped, given.id)["curves.npz"] == files(quiet, given.id)["curves.npz"]
    record = stopped.read(given.id).record
    assert record["sittings"] == 4 and record["seconds"] > 0 and record["started"] <= record["finished"]


def test_a_learner_with_a_cache_appends_to_its_checkpoints(store):
    given = key(learner="growing", episodes=400)
    for _ in range(3):
        execute(given, store, Settings(block_size=50, stop=StopAfter(1), checkpoint_seconds=0.0))
    assert len(list(store.work(given.id).glob("segment-*"))) >= 3
    assert execute(given, store).status == "done"


def test_a_learner_of_any_states_appends_its_features(store):
    given = key(problem=VECTORS, record_every=100)
    for _ in range(3):
        execute(given, store, Settings(block_size=90, stop=StopAfter(0), checkpoint_seconds=0.0))
    k, arrays, meta = Checkpoints(store.work(given.id)).load()
    parts = [path.stat().st_size for path in store.work(given.id).glob("segment-*")]
    F = arrays["learner.gram.F"]
    assert k == 270 and len(meta["streams"]) == 2 and len(parts) >= 3
    assert sum(parts) > 0.7 * F.nbytes, "most of the features are in parts that are written once"


def test_a_clock_that_goes_backwards_changes_nothing(store, monkeypatch, tmp_path):
    import time

    twin = Store(tmp_path / "twin")
    execute(key(), twin)
    back = iter(range(10**9, 0, -1000))
    monkeypatch.setattr(time, "time", lambda: float(next(back)))
    assert execute(key(), store, Settings(block_size=20, checkpoint_seconds=0.0)).status == "done"
    assert files(store, key().id)["curves.npz"] == files(twin, key().id)["curves.npz"]
    assert store.read(key().id).record["seconds"] > 0
