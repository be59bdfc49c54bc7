"""The table of stored runs: runs that differ look different, and what cannot be read does not stop the rest."""

from __future__ import annotations

import csv
import re

import pytest
from typer.testing import CliRunner

import noregret as nr
from noregret.cli import app
from noregret.runs.execute import execute
from noregret.runs.keys import make_key
from noregret.store import Store, group
from noregret.store.groups import comparison

DIFFERENT = ({}, {"starts": "drawn"}, {"starts": [0, 1]}, {"starts": [1, 0]}, {"starts": 1}, {"record_every": 10})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def key(**changes):
    return make_key(**({"problem": "random:S=4,A=2,H=3", "learner": "uniform", "episodes": 50, "record_every": 1} | changes))


def test_runs_that_differ_in_starts_or_in_the_record_grid_look_different(store, tmp_path):
    for changes in DIFFERENT:
        assert execute(key(**changes), store).status == "done"
    table = nr.load_runs(store.folder)
    assert sorted(table["record_every"]) == [1, 1, 1, 1, 1, 10]
    assert {str(value) for value in table["starts"]} == {"None", "drawn", "[0, 1]", "[1, 0]", "1"}
    with open(table.to_csv(tmp_path / "t.csv")) as file:
        assert {row["starts"] for row in csv.DictReader(file)} == {"", "drawn", "[0, 1]", "[1, 0]", "1"}
    assert len({each.label for each in group(table.runs)}) == len(DIFFERENT)
    rows = comparison(table.runs)._summary().rows
    assert len({row[:4] for row in rows}) == len(DIFFERENT)
    listed = CliRunner().invoke(app, ["list", "runs", "--runs", str(store.folder)], env={"COLUMNS": "300"}).output
    for words in ("starts=drawn", "starts=[0, 1]", "starts=[1, 0]", "starts=1", "record_every=10"):
        assert words in listed
    assert key().options() == "practical", "the usual record grid is not worth a word"


def test_lists_of_one_length_are_a_column(store):
    execute(key(starts=[0, 1]), store)
    execute(key(starts=[1, 1]), store)
    assert sorted(nr.load_runs(store.folder)["starts"]) == [[0, 1], [1, 1]]


def test_a_stray_file_with_the_name_of_a_run_stops_nothing(store, tmp_path):
    execute(key(), store)
    (store.folder / "0123456789abcdef").write_text("not a run")
    assert nr.load_runs(store.folder)["run"].tolist() == [key().id]
    for command in (["list", "runs", "--runs"], ["report", "--out", str(tmp_path / "r.html")]):
        done = CliRunner().invoke(app, [*command, str(store.folder)])
        assert done.exit_code == 0, done.output
    other = key(seed=1)
    store.path(other.id).write_text("in the way")
    with pytest.warns(UserWarning, match=rf"{other.id}: is not a folder; moved to .*played again"):
        assert execute(other, store).status == "done"


def test_a_run_that_cannot_be_read_is_named_and_left_out(store):
    execute(key(), store)
    execute(key(seed=1), store)
    path = store.path(key().id) / "run.json"
    path.unlink()
    path.mkdir()  # like a file without permission, also for root
    with pytest.warns(UserWarning, match=re.escape(f"{path}: cannot be read") + ".*; left out$"):
        assert nr.load_runs(store.folder)["run"].tolist() == [key(seed=1).id]


def test_a_table_is_a_frame_a_figure_and_html(store):
    for seed in range(12):
        execute(key(seed=seed), store)
    execute(key(learner="primal-dual-lsvi", params={"beta": 0.5}), store)
    table = nr.load_runs(store.folder)
    frame = table.to_frame()
    assert len(frame["run"]) == 13 and list(frame.columns) == list(table)
    assert sorted(frame["regret"]) == sorted(table["regret"])
    html = table._repr_html_()
    assert html.count("<tr>") == 1 + 10 and "and 3 more runs" in html
    axes = table.plot()
    (uniform,) = [line for line in axes[0, 0].get_lines() if line.get_label().startswith("uniform")]
    expected = next(each for each in group(table.runs) if each.key.learner == "uniform").result().regret.mean(axis=0)
    assert uniform.get_ydata().tolist() == expected.tolist()
