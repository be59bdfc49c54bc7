"""Results one can hold: files that come back bit for bit or are refused, frames, figures, HTML and one-line reprs."""

from __future__ import annotations

import json
import sys
from dataclasses import fields

import numpy as np
import pytest

import noregret as nr
from noregret import learners
from noregret.errors import FileError, InputError, NoRegretError
from noregret.results import Comparison, History, Outcome, RunResult, drawing
from noregret.results.base import Saved
from noregret.results.drawing import COLOURS
from tests.made_up import a_result
from tests.support import OURS

RNG = np.random.default_rng(5)


def a_comparison() -> Comparison:
    two = a_result(
        m=2, learner="opdop", notes={"gap": np.array([1.0, np.inf, 2.0])}, constants={"alpha": np.inf, "cap": (1, "H")}
    )
    return Comparison([
        Outcome("p", "a <b>", ("√T", "1"), a_result()),
        Outcome("q", "b", None, two),
        Outcome("q", "c", ("-", "-"), None, "refused & gone"),
    ])  # fmt: skip


def a_history(n: int = 120, m: int = 2) -> History:
    numbers = {"rewards": RNG.random(n), "values": RNG.random((n, m)), "dual": RNG.random((n, m))}
    return History("opdop", ("cost", "<wait>")[:m], (1.0, 2.0)[:m], True, lengths=np.full(n, 7), **numbers)


def same(a, b):
    """Whether two values are equal to the last bit, arrays and classes included."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(v, b[k]) for k, v in a.items())
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dataclass_fields__"):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return a == b


@pytest.mark.parametrize("made", [a_result(), a_result(m=3), a_comparison(), a_history(), a_history(0)], ids=repr)
def test_what_is_saved_comes_back_bit_for_bit(made: Saved, tmp_path):
    path = made.save(tmp_path / "r.npz")
    assert same(type(made).load(path), made)
    assert made.save(tmp_path / "again.npz").read_bytes() == path.read_bytes()
    with np.load(path, allow_pickle=False) as file:
        assert json.loads(file["meta"].tobytes())["noregret"] == 1


def test_policies_that_were_kept_are_saved_with_the_result(tmp_path):
    result = nr.run(nr.problems.load("random:S=4,A=2,H=3"), "uniform", episodes=20, trials=2, keep_policy=True, progress=False)
    back = RunResult.load(result.save(tmp_path / "r.npz"))
    assert same(back, result) and back.policy_report().V_r == result.policy_report().V_r


def test_other_files_are_refused_in_one_line(tmp_path):
    path, other = a_result().save(tmp_path / "r.npz"), a_history().save(tmp_path / "h.npz")
    with pytest.raises(FileError, match=r"h\.npz: is not a RunResult that noregret saved: it is a History"):
        RunResult.load(other)
    with pytest.raises(FileError, match="no such file"):
        RunResult.load(tmp_path / "none.npz")
    with pytest.raises(InputError, match=r"ends with \.npz"):
        a_result().save(tmp_path / "r.pkl")
    whole = path.read_bytes()
    for damage in (b"", whole[:100], whole[:-30], b"no zip at all", whole[:200] + b"\0" * 50 + whole[250:]):
        path.write_bytes(damage)
        with pytest.raises(FileError, match=r"r\.npz: is not a RunResult that noregret saved: .") as caught:
            RunResult.load(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"regret": np.zeros((3, 5))}, "regret has shape .* does not fit"),
        ({"dual": np.full((3, 40, 1), np.nan)}, "dual has a number that is not finite"),
        ({"episodes": np.array(["a"] * 40)}, "episodes has entries of type <U1; expected NDArray"),
        ({"regret": np.zeros((3, 40), dtype=int)}, "regret has entries of type int64; expected Array"),
        ({"episodes": np.arange(40.0)}, "episodes has entries of type float64; expected NDArray"),
        ({"notes": {"dict": [["x", {"array": "none"}]]}}, "none"),
        ({"seed": "one"}, "seed is a str; expected int"),
        ({"played": {"class": "Outcome", "fields": {}}}, "Outcome.__init__"),
        ({"problem": {"class": "Popen", "fields": {"args": "ls"}}}, "Popen"),
        ({"problem": {"odd": 1}}, "not known"),
        ({"learner": None}, "learner is a NoneType"),
    ],
)
def test_entries_that_cannot_be_are_refused(change, message, tmp_path):
    path = a_result().save(tmp_path / "r.npz")
    with np.load(path) as file:
        arrays = dict(file)
    meta = json.loads(arrays["meta"].tobytes())
    for name, value in change.items():
        if isinstance(value, np.ndarray):
            arrays[f"RunResult.{name}"] = value
        else:
            meta["result"]["fields"][name] = value
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(FileError, match=message):
        RunResult.load(path)


def test_frames_have_a_row_for_each_trial_and_episode():
    result = a_result(m=2)
    frame = result.to_frame()
    assert list(frame.columns)[:5] == ["trial", "episode", "regret", "hard_regret", "regret_tightened"]
    assert np.array_equal(np.asarray(frame["dual_1"]).reshape(3, 40), result.dual[:, :, 1])
    both = a_comparison().to_frame()
    assert len(both["regret"]) == 2 * 120 and set(both["learner"]) == {"a <b>", "b"}
    assert np.isnan(np.asarray(both["dual_1"], dtype=float)).sum() == 120, "the first problem has one constraint"
    history = a_history()
    assert np.array_equal(np.asarray(history.to_frame()["cost"]), history.values[:, 0])


def test_frames_are_of_polars_where_there_is_no_pandas_and_refused_without_both(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert type(a_result().to_frame()).__module__.startswith("polars")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(NoRegretError, match="needs pandas or polars, and neither is installed"):
        a_result().to_frame()


@pytest.mark.parametrize(
    ("made", "shape"),
    [(a_result(m=2), (1, 2)), (a_comparison(), (2, 2)), (a_history(), (1, 3)), (a_history(0), (1, 3))],
    ids=repr,
)
def test_plots_are_axes(made, shape):
    from matplotlib import pyplot

    axes = made.plot()
    assert axes.shape == shape
    axes[0, 0].figure.canvas.draw()
    _, own = drawing.new(*shape, 6.0, 4.0)
    assert made.plot(own)[0, 0] is own[0, 0]
    with pytest.raises(InputError, match="axes has 1 entries; expected"):
        made.plot(own[0, 0])
    pyplot.close("all")


def test_a_plot_has_means_and_bands_of_the_result():
    result = a_result()
    _, axes = drawing.new(1, 2, 6.0, 4.0)
    regret, violation = result.plot(axes)[0]
    assert np.array_equal(regret.get_lines()[0].get_ydata(), result.regret.mean(axis=0))
    assert np.array_equal(violation.get_lines()[1].get_ydata(), result.hard_violation.mean(axis=0))
    assert len(regret.collections) == 3 and len(violation.collections) == 2  # two bands, and single trials of regret
    assert [line.get_color() for line in regret.get_lines()] == [drawing.colour("nobody"), drawing.GREY]


def test_plots_without_matplotlib_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.warns(UserWarning, match=r"no figure was written: .* pip install 'noregret\[report\]'"):
        assert not drawing.available()
    with pytest.raises(NoRegretError, match=r"pip install 'noregret\[report\]'"):
        a_result().plot()


def test_plots_leave_the_mode_of_a_notebook_on(monkeypatch):
    """The first figure in a notebook turns the interactive mode on; without it no later one is shown."""
    import matplotlib as mpl
    from matplotlib import pyplot

    real, before = pyplot.subplots, mpl.is_interactive()
    monkeypatch.setattr(pyplot, "subplots", lambda *args, **options: (mpl.interactive(True), real(*args, **options))[1])
    try:
        mpl.interactive(False)
        a_result().plot()
        assert mpl.is_interactive()
    finally:
        mpl.interactive(before)
        pyplot.close("all")


def test_html_is_a_small_table_and_escapes_names():
    html = a_comparison()._repr_html_()
    assert html.count("<tr>") == 1 + 2 and "a &lt;b&gt;" in html and "refused &amp; gone" in html and "<b>" not in html
    assert "&lt;wait&gt;" in a_history()._repr_html_() and "at most 2" in a_history()._repr_html_()
    result = a_result(problem="<script>")
    assert "<script>" not in result._repr_html_() and nr.metrics.show(result.last("regret")) in result._repr_html_()
    nothing = a_result(trials=2, points=1)
    assert "stopped" in a_result(points=1, episodes=nothing.episodes[:0])._repr_html_()


def test_a_comparison_is_a_sequence():
    made = a_comparison()
    assert len(made) == 3 and made[0].label == "a <b>" and [one.label for one in made[1:]] == ["b", "c"]
    assert list(made.by_problem()) == ["p", "q"] and repr(made) == "<Comparison: 3 learners on 2 problems, 2 of 3 ran>"


def test_learners_have_colours_of_their_own_and_variants_have_lines():
    names = [*OURS, "optimal", "safest"]
    assert len({drawing.colour(name) for name in names}) == len(names)
    assert drawing.colour("primal-dual-lsvi") == COLOURS[0]
    assert drawing.colour("somebody-elses") in COLOURS
    looks = drawing.styles(("opdop", f"opdop:beta={i}") for i in range(16))
    assert len({(look["colour"], look["line"]) for look in looks.values()}) == 16
    assert len({look["colour"] for look in looks.values()}) == 16, "a learner alone shows its variants in colours"
    assert looks["opdop:beta=0"]["colour"] == drawing.colour("opdop")
    both = drawing.styles([("opdop", f"opdop:beta={i}") for i in range(16)] + [("uniform", "uniform")])
    assert len({(look["colour"], look["line"]) for look in both.values()}) == 17 and len({*both}) == 17
    assert {look["colour"] for look in both.values()} & {COLOURS[0], drawing.colour("triple-q")} == set()


def test_reprs_are_one_short_line():
    problem = nr.problems.load("random:S=4,A=2,H=3")
    learner = learners.make("primal-dual-lsvi", problem.spec, episodes=10)
    linear = nr.problems.load("linear-continuous:H=3")
    agent = nr.Agent(linear, episodes=10)
    things = [problem, problem.spec, learner, learner.plan(), nr.solve(problem), linear, linear.spec, nr.solve(linear), agent,
              agent.learner, agent.history, a_result(), a_history(), a_comparison()]  # fmt: skip
    for thing in things:
        text = repr(thing)
        assert text.startswith(f"<{type(thing).__name__}") and len(text) < 200 and "\n" not in text and "array(" not in text


def test_an_agents_learning_curve_is_a_result(tmp_path):
    agent = nr.Agent(nr.problems.load("random:S=4,A=2,H=3"), episodes=20)
    assert len(agent.history.rewards) == 0
    agent.learn(6, progress_bar=False)
    history = agent.history
    assert history.rewards.tolist() == agent.rewards and history.dual[-1].tolist() == agent.learner.dual.tolist()
    assert np.asarray(history.to_frame()["episode"]).tolist() == [1, 2, 3, 4, 5, 6]
    agent.save(tmp_path / "a.npz")
    assert same(nr.Agent.load(tmp_path / "a.npz").history, history)
    assert same(History.load(history.save(tmp_path / "h.npz")), history)
