"""The store: identity, whole-or-absent folders, seals, locks, checkpoints and resuming bit for bit."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret import problems
from noregret.errors import DamagedError, FileError, InputError
from noregret.runs.execute import execute
from noregret.runs.keys import make_key
from noregret.runs.supplies import problem_hash
from noregret.store import RunKey, Store, content_hash, folder

SMALL = "random:S=4,A=2,H=3"
TABLE = "linear:S=5,A=2,H=3,d=3"


def key(**changes):
    return make_key(**({"problem": SMALL, "learner": "primal-dual-lsvi", "episodes": 300, "record_every": 7} | changes))


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def files(store, id):
    return {path.name: path.read_bytes() for path in sorted(store.path(id).iterdir())}


# --- identity -----------------------------------------------------------------------------------------------------


def test_every_entry_of_the_key_changes_the_name_but_what_was_asked_for_does_not():
    changes = {
        "problem": "job-scheduling", "learner": "uniform", "episodes": 301, "seed": 1, "trial": 1, "record_every": 8,
        "constants": {"beta": 0.2}, "told": {"safe_policy": "safest"}, "problem_hash": "ab", "features_hash": "cd",
        "starts": [0, 1], "code": "ef",
    }  # fmt: skip
    labels = {"preset": "theory", "slater_gap": 0.5, "params": {"beta": 0.2}}
    assert {*changes, *labels} == set(RunKey.__dataclass_fields__)
    plain = RunKey(SMALL, "primal-dual-lsvi", 300, record_every=7)
    names = {plain.id} | {replace(plain, **{name: value}).id for name, value in changes.items()}
    assert len(names) == 1 + len(changes)
    for name, value in labels.items():
        assert replace(plain, **{name: value}) == plain and replace(plain, **{name: value}).id == plain.id
    assert replace(plain, constants={"beta": 1.0, "eta": 2}).id == replace(plain, constants={"eta": 2, "beta": 1}).id
    assert replace(plain, problem="a.npz", problem_hash="ab").id == replace(plain, problem="b.npz", problem_hash="ab").id


def test_the_name_is_the_same_on_every_machine_and_day():
    assert RunKey(SMALL, "lsvi-ucb", 300, record_every=7, constants={"beta": 0.5}, code="ef").canonical() == (
        '{"code":"ef","constants":{"beta":0.5},"episodes":300,"features_hash":null,"learner":"lsvi-ucb",'
        '"problem":"random:S=4,A=2,H=3","problem_hash":null,"record_every":7,"seed":0,"starts":null,"told":{},"trial":0}'
    )


def test_keys_survive_json_also_with_infinity():
    given = key(params={"alpha": np.inf, "beta": np.float64(0.5), "lower_clip": True}, slater_gap="oracle")
    back = RunKey.from_json(json.loads(json.dumps(given.to_json(), allow_nan=False)))
    assert back.id == given.id and back == given and back.slater_gap == "oracle"
    assert back.params["alpha"] == np.inf and back.params["lower_clip"] is True
    with pytest.raises(InputError, match="object"):
        _ = RunKey(SMALL, "uniform", 1, constants={"beta": object()}).id


def test_content_decides_for_problems_that_noregret_does_not_build():
    problem = problems.load(SMALL)
    assert problem_hash(problem) == problem_hash(problem.replace(name="other"))
    assert problem_hash(problem) != problem_hash(problem.replace(b=problem.b * 0.9))
    assert content_hash({"a": np.zeros(2)}) != content_hash({"a": np.zeros((2, 1))}) != content_hash({"b": np.zeros((2, 1))})


def test_content_of_objects_made_of_arrays():
    one, same, other = (problems.load(f"linear-continuous:H=3,{more}") for more in ("d=4", "d=4", "d=4,width=0.5"))
    assert problem_hash(one) == problem_hash(same) != problem_hash(other)
    with pytest.raises(InputError, match="f is a function"):
        content_hash({"f": lambda: 0})


def test_a_file_that_changed_since_the_run_was_planned_is_refused(tmp_path, store):
    path = tmp_path / "p.npz"
    problems.save(problems.load(SMALL), path)
    good = key(problem=str(path))
    outcome = execute(replace(good, problem_hash="0" * 64), store)
    assert outcome.status == "failed" and "its arrays differ" in outcome.error
    assert execute(good, store).status == "done"


# --- finished runs ------------------------------------------------------------------------------------------------


def test_a_run_is_stored_whole_with_the_numbers_of_run_and_not_played_again(store):
    assert execute(key(), store).status == "done"
    assert execute(key(), store).status == "there"
    stored = store.read(key().id)
    curves, direct = stored.curves(), nr.run(problems.load(SMALL), episodes=300, trials=1, record_every=7)
    for name in ("episodes", "regret", "hard_regret", "hard_violations", "dual"):
        expected = getattr(direct, name)
        np.testing.assert_array_equal(curves[name], expected if name == "episodes" else expected[0])
    np.testing.assert_array_equal(np.maximum(curves["signed_violations"], 0), direct.violations[0])
    record = stored.record
    assert stored.key == key() and record["last"]["regret"] == direct.regret[0, -1]
    assert record["versions"]["numpy"] == np.__version__ and record["machine"]["cores"] >= 1
    assert record["seconds"] >= record["kernel_seconds"] > 0 and record["sittings"] == 1
    assert not any((store.folder / ".work").iterdir()), "nothing is left of the work"


@pytest.mark.parametrize("name", ["run.json", "curves.npz"])
def test_any_changed_byte_or_a_missing_end_is_noticed_named_and_played_again(store, name):
    execute(key(), store)
    path, whole = store.path(key().id) / name, files(store, key().id)
    rng = np.random.default_rng(0)
    for position in [0, len(whole[name]) - 1, *rng.integers(0, len(whole[name]), 40)]:
        broken = bytearray(whole[name])
        broken[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(broken)
        with pytest.raises(DamagedError, match=name):
            store.read(key().id).curves()
    for rest in (whole[name][:-10], b""):
        path.write_bytes(rest)
        with pytest.raises(DamagedError, match=name):
            store.read(key().id).curves()
    with pytest.warns(UserWarning, match=f"{name}.*played again"):
        assert execute(key(), store).status == "done"
    assert files(store, key().id)["curves.npz"] == whole["curves.npz"]
    assert len(list((store.folder / ".damaged").iterdir())) == 1
    path.unlink()
    with pytest.warns(UserWarning, match=f"{name}: is missing"):
        assert not store.finished(key().id)


def test_a_folder_under_another_name_is_not_taken_for_the_run(store):
    execute(key(), store)
    other = key(seed=5).id
    os.rename(store.path(key().id), store.path(other))
    with pytest.raises(DamagedError, match="belongs to run"):
        store.read(other)


def test_a_run_that_raises_is_recorded_with_its_error_and_tried_again(store):
    bad = replace(key(learner="lsvi-ucb"), params={"bet": 0.1})
    outcome = execute(bad, store)
    assert outcome.status == "failed" and "did you mean 'beta'" in outcome.error
    failure = store.failures()[bad.id]
    assert failure["error"] == outcome.error and "Traceback" in failure["traceback"]
    assert store.ids() == [] and store.find(bad.id[:6]) == bad.id
    store.write(bad, {"last": {}}, {})
    assert store.failures() == {}


def test_a_name_is_found_by_its_first_digits(store):
    for seed in range(3):
        execute(key(learner="uniform", seed=seed, episodes=5), store)
    id = store.ids()[1]
    assert store.find(id[:12]) == id
    with pytest.raises(InputError, match="3 runs start with ''"):
        store.find("")
    with pytest.raises(InputError, match="no run starts with 'xyz'"):
        store.find("xyz")


def test_what_a_kill_left_of_a_write_is_forgotten_by_the_next_sweep_unless_it_is_at_work(store, monkeypatch):
    def killed(old, new):
        raise KeyboardInterrupt

    given = key(learner="uniform", episodes=5)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "rename", killed)
        patch.setattr(folder.shutil, "rmtree", lambda *_, **__: None)
        execute(given, store)
    work = store.folder / ".work"
    (left,) = work.glob(f"{given.id}.*")
    assert {path.name for path in left.iterdir()} == {"run.json", "curves.npz"} and store.ids() == []
    with store.lock(given.id):
        store.clean()
        assert left.exists()
    store.clean()
    assert list(work.iterdir()) == []


# --- locks --------------------------------------------------------------------------------------------------------


def test_of_two_who_want_a_run_one_holds_it_and_a_killed_holder_lets_go(store):
    with store.lock("a") as first, store.lock("a") as second, store.lock("b") as other:
        assert first and other and not second
    with store.lock("a") as again:
        assert again
    code = (
        "import sys, time\nfrom noregret.store import Store\n"
        "with Store(sys.argv[1]).lock('a') as held:\n    print(held, flush=True)\n    time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(store.folder)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "True\n"
    with store.lock("a") as held:
        assert not held
    assert execute(key(), store).status == "done"  # another run is not held up
    holder.kill()
    holder.wait()
    holder.stdout.close()
    with store.lock("a") as held:
        assert held


def test_many_threads_that_want_one_run_play_it_once(store):
    execute(key(seed=1), store)  # compiled
    outcomes, start = [], threading.Barrier(6)

    def play():
        start.wait()
        outcomes.append(execute(key(episodes=3000), store).status)

    threads = [threading.Thread(target=play) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("done") == 1 and set(outcomes) <= {"done", "busy", "there"}


def test_without_locks_both_play_and_one_rename_wins(store, monkeypatch):
    from noregret._system import files as disk

    monkeypatch.setattr(disk, "fcntl", None)
    with store.lock("a") as first, store.lock("a") as second:
        assert first and second
    execute(key(), store)
    before = files(store, key().id)
    store.write(key(), {"last": {}}, {"episodes": np.arange(3)})
    assert files(store, key().id) == before


# --- the table ----------------------------------------------------------------------------------------------------


def test_runs_load_as_a_table_and_leave_as_csv_and_parquet(store, tmp_path):
    for seed in range(2):
        for beta in (0.1, 0.2):
            execute(key(seed=seed, preset="paper", params={"beta": beta}), store)
    execute(key(learner="uniform"), store)
    table = nr.load_runs(store.folder)
    assert len(table.runs) == 5 and set(table["learner"]) == {"primal-dual-lsvi", "uniform"}
    assert sorted(v for v in table["param.beta"] if v is not None) == [0.1, 0.1, 0.2, 0.2]
    for i, run in enumerate(table.runs):
        curves = run.curves()
        assert table["regret"][i] == curves["regret"][-1]
        assert table["violation"][i] == max(0.0, curves["signed_violations"][-1].max())
    with open(table.to_csv(tmp_path / "t.csv")) as file:
        rows = list(csv.DictReader(file))
    assert [float(row["regret"]) for row in rows] == table["regret"].tolist()
    assert [row["param.beta"] for row in rows].count("") == 1
    polars = pytest.importorskip("polars")
    frame = polars.read_parquet(table.to_parquet(tmp_path / "t.parquet"))
    assert frame["regret"].to_list() == table["regret"].tolist() and frame["param.beta"].null_count() == 1


def test_a_damaged_run_is_named_and_left_out_of_the_table(store):
    for seed in range(2):
        execute(key(learner="uniform", seed=seed), store)
    path = store.path(store.ids()[0]) / "run.json"
    path.write_bytes(path.read_bytes().replace(b"uniform", b"unicorn"))
    with pytest.warns(UserWarning, match="run.json.*left out"):
        assert len(nr.load_runs(store.folder).runs) == 1
    with pytest.raises(FileError, match="no such folder"):
        nr.load_runs(store.folder / "nothing")


def test_nothing_loads_pickle():
    source = Path(nr.__file__).parent
    for path in source.rglob("*.py"):
        if path.name == "numba_private.py":  # compiled code, from a folder that is ours alone
            continue
        text = path.read_text(encoding="utf-8")
        assert "allow_pickle=True" not in text and "import pickle" not in text and "cloudpickle" not in text, path


def test_a_pickle_in_place_of_curves_is_refused(store):
    import hashlib

    execute(key(), store)
    stored = store.read(key().id)
    path = stored.path / "curves.npz"
    np.savez(path, regret=np.array([{}], dtype=object))
    stored.record["curves"]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(DamagedError, match="its type is object"):
        stored.curves()


def test_reading_does_not_warn(store):
    execute(key(), store)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = nr.load_runs(store.folder)
    assert len(table.runs) == 1
