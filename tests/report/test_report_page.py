"""The page: its numbers, its size, and how it looks in a real browser; figures and LaTeX for a paper."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from noregret import metrics
from noregret.cli import app
from noregret.errors import FileError, InputError
from noregret.report import comparison, page
from noregret.report.latex import latex, matched
from noregret.results.base import NumberTable
from noregret.runs import Ask
from noregret.runs.backends.job import Context
from noregret.runs.keys import make_key
from noregret.runs.schedule import schedule as sweep
from noregret.store import Store, group, load_runs
from noregret.store.groups import comparison as grouped
from tests import browser

PROBLEMS = ("random:S=4,A=2,H=3", "random:seed=1,S=4,A=2,H=3")
needs_browser = pytest.mark.skipif(
    browser.find() is None, reason="not run: there is no Chromium on this machine (apt-get install chromium)"
)


def make(folder, trials=5, betas=(0.1, 1.0), episodes=2000):
    keys = [
        make_key(
            problem, learner, episodes, trial=trial, record_every=20, preset="paper" if params else "practical", params=params
        )
        for problem in PROBLEMS
        for learner, params in [*(("primal-dual-lsvi", {"beta": beta}) for beta in betas), ("uniform", {})]
        for trial in range(trials)
    ]
    sweep(keys, Context(Store(folder), 2))
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return make(tmp_path_factory.mktemp("report") / "runs")


@pytest.fixture(scope="module")
def html(runs):
    failing = Store(runs)
    failing.fail(make_key(PROBLEMS[0], "uniform", 7), {"error": "broke <b>here</b>", "traceback": ""})
    return page.write(runs.parent / "report.html", [runs], title="A <i>title</i>")


# --- numbers ------------------------------------------------------------------------------------------------------


def test_interquartile_mean():
    assert metrics.iqm([5.0]) == 5.0 and metrics.iqm([1.0, 3.0]) == 2.0
    assert metrics.iqm(np.arange(8.0)) == np.mean([2, 3, 4, 5])
    assert metrics.iqm([0, 1, 2, 3, 100]) == pytest.approx((0.75 * 1 + 2 + 0.75 * 3) / 2.5)
    np.testing.assert_allclose(metrics.iqm(np.array([[0, 1, 2, 3.0], [9, 9, 9, 9]]).T), [1.5, 9])


def test_bootstrap_intervals_cover_as_they_should_and_agree_with_scipy():
    from scipy.stats import bootstrap

    rng, hits = np.random.default_rng(0), 0
    for _ in range(200):
        interval = metrics.bootstrap_interval(rng.exponential(size=30), lambda x: x.mean(axis=0))
        hits += bool(interval.low <= 1.0 <= interval.high)
    assert 0.88 <= hits / 200 <= 0.98
    x = rng.exponential(size=40)
    own = metrics.bootstrap_interval(x, lambda y: y.mean(axis=0), resamples=20_000)
    other = bootstrap((x,), np.mean, method="BCa", n_resamples=20_000, rng=1).confidence_interval
    assert own.low == pytest.approx(other.low, abs=0.01) and own.high == pytest.approx(other.high, abs=0.02)


def test_intervals_where_corrections_are_not_defined():
    tie = metrics.bootstrap_interval(np.full(6, 3.0), metrics.iqm)
    assert tie.mean == tie.low == tie.high == 3.0
    one = metrics.bootstrap_interval([2.0], metrics.iqm)
    assert one.mean == one.low == one.high == 2.0
    nearly = metrics.bootstrap_interval([1.0, 1.0, 1.0, 1.0, 1.0, 9.0], metrics.iqm)
    assert np.isfinite([nearly.low, nearly.high]).all() and nearly.low <= nearly.mean <= nearly.high


def test_groups_are_runs_that_differ_in_seed_and_trial_only(runs):
    groups = group(load_runs(runs).runs)
    assert len(groups) == 6 and all(len(each.runs) == 5 for each in groups)
    result = groups[0].result()
    assert result.trials == 5 and result.complete
    last = sorted(run.record["last"]["regret"] for run in groups[0].runs)
    assert sorted(result.regret[:, -1].tolist()) == last


def test_thinned_curves_keep_both_ends_and_both_kinds_of_axis():
    episodes = np.arange(1, 100_001) * 10
    kept = episodes[page.thin(episodes, 160)]
    assert kept[0] == 10 and kept[-1] == 10**6 and 100 < len(kept) <= 160
    assert np.diff(kept).max() <= 10**6 / 50 and (np.diff(np.log10(kept)) < 0.31).all()
    assert page.thin(np.arange(5), 160).tolist() == [0, 1, 2, 3, 4]


# --- the page as a text -------------------------------------------------------------------------------------------


class Outline(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.rows = [], 0

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href") and not str(value).startswith("data:")]
        self.rows += tag == "tr"


def test_the_page_has_every_group_escapes_text_and_links_to_nothing(html, runs):
    text = html.read_text(encoding="utf-8")
    outline = Outline()
    outline.feed(text)
    assert outline.links == [] and outline.rows == 2 * (6 + 1) + 1 + 1
    assert text.count("Plotly.newPlot=") <= 1 and text.count('id="data"') == 1
    assert "broke &lt;b&gt;here&lt;/b&gt;" in text and "<i>title</i>" not in text
    for run in load_runs(runs).runs:
        assert f"# run {run.id}" in text
    row = page.rows(load_runs(runs).runs)[0]
    assert page._interval(row.iqm["regret"]) in text and "[" in page._interval(row.iqm["regret"])


def test_a_thousand_runs_fit_in_eight_megabytes(tmp_path, runs):
    template = load_runs(runs).runs
    many = []
    for i in range(1000):
        run = template[i % len(template)]
        record = dict(run.record)
        record["run"] = run.record["run"] | {
            "seed": i % 4,
            "params": {"beta": 0.1 + i // 4},
            "constants": {"beta": 0.1 + i // 4},
        }
        many.append(type(run)(f"{i:016x}", run.path, record))
    begin = time.perf_counter()
    text = page.page(page.rows(many))
    assert len(text.encode()) < 8e6
    assert time.perf_counter() - begin < 20
    assert re.search(r"120 of \d{3} groups are drawn", text)


def test_the_page_says_how_values_were_computed_by_kind_of_problem(tmp_path, runs):
    on_tables, on_records = load_runs(runs).runs, Store(tmp_path / "linear")
    ask = Ask("linear-continuous:H=3", "primal-dual-lsvi", 40, record_every=20, params={"evaluate": "records"})
    sweep(ask.keys(), Context(on_records, 1))
    linear = load_runs(on_records.folder).runs
    everywhere, elsewhere = (
        "All values are exact: every policy",
        "evaluated on the true model by quadrature, at recorded episodes only",
    )
    assert everywhere in page.page(page.rows(on_tables)) and elsewhere not in page.page(page.rows(on_tables))
    assert "exact" not in page._evaluation(page.rows(linear)) and elsewhere in page.page(page.rows(linear))
    both = page._evaluation(page.rows([*on_tables, *linear]))
    assert (
        f"On {PROBLEMS[0]}, {PROBLEMS[1]} all values are exact" in both
        and f"On {linear[0].key.problem} policies were {elsewhere}" in both
    )
    for run in linear:
        run.record["evaluated"] = "every plan"
    assert "every policy that was played was evaluated on the true model by quadrature" in page._evaluation(page.rows(linear))
    for run in linear:
        del run.record["evaluated"]  # as before there was such an entry
    assert page._evaluation(page.rows(linear)) == ""


def test_folders_without_runs_and_other_names_are_refused(tmp_path, runs):
    with pytest.raises(FileError, match="no finished runs"):
        page.write(tmp_path / "r.html", [tmp_path])
    with pytest.raises(InputError, match=r"ends with \.html"):
        page.write(tmp_path / "r.pdf", [runs])


def test_damaged_curves_are_named_and_left_out(tmp_path):
    folder = make(tmp_path / "runs", trials=2, betas=(0.1,))
    store = Store(folder)
    path = store.path(store.ids()[0]) / "curves.npz"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(UserWarning, match=f"{store.ids()[0]}/curves.npz: does not match its checksum; left out"):
        made = page.rows(load_runs(folder).runs)
    assert sum(row.result.trials for row in made) == 2 * 2 * 2 - 1


# --- the page in a browser ----------------------------------------------------------------------------------------

COUNT = "document.querySelectorAll('#%s .scatterlayer .trace').length"


def drawn(window, times):
    window.wait(f"document.readyState === 'complete' && Number(document.body.dataset.drawn || 0) >= {times}")


@needs_browser
def test_charts_are_drawn_and_the_switches_work(html):
    with browser.Browser() as window:
        window.size(1280, 900)
        window.open(html)
        drawn(window, 1)
        assert window.run(COUNT % "regret") == 3 * 3 and window.run(COUNT % "violation") == 3 * 3
        assert window.run(COUNT % "dual") == 3 * 3 + 1 and window.run(COUNT % "pareto") == 1 + 2 * 3
        kind = "document.getElementById('regret')._fullLayout.%s.type"
        assert window.run(kind % "xaxis") == window.run(kind % "yaxis") == "linear"
        window.run("document.getElementById('loglog').click()")
        drawn(window, 2)
        assert window.run(kind % "xaxis") == window.run(kind % "yaxis") == "log"
        assert window.run(COUNT % "regret") == 3 * 3 + 1, "the guide line came"
        guide = window.run("(t => [t.name, ...t.x, ...t.y])(document.getElementById('regret').data.at(-1))")
        assert guide[0] == "√K" and np.log(guide[4] / guide[3]) / np.log(guide[2] / guide[1]) == pytest.approx(0.5)
        assert window.run("document.getElementById('loglog').getAttribute('aria-pressed')") == "true"
        window.run("document.getElementById('linear').click()")
        drawn(window, 3)
        assert window.run(kind % "yaxis") == "linear" and window.run(COUNT % "regret") == 9
        window.run("document.getElementById('plain').click()")
        drawn(window, 4)
        assert window.run("document.getElementById('regret-title').textContent") == "Regret"
        window.run("document.querySelector('#chips input').click()")
        drawn(window, 5)
        assert window.run(COUNT % "regret") == 6
        window.run("(s => { s.selectedIndex = 1; s.dispatchEvent(new Event('change')); })(document.getElementById('problem'))")
        drawn(window, 6)
        assert window.run(COUNT % "regret") == 9
        assert window.complaints == [] and window.requests == [html.absolute().as_uri()]


@needs_browser
def test_the_page_is_readable_on_a_phone(html):
    with browser.Browser() as window:
        window.size(390, 844, phone=True)
        window.open(html)
        drawn(window, 1)
        assert window.run("document.documentElement.scrollWidth") <= 390, "nothing sticks out"
        boxes = window.run(
            "[...document.querySelectorAll('.chart')].map(e => e.getBoundingClientRect()).map(r => [r.left, r.width, r.top])"
        )
        assert all(left >= 0 and 300 < width <= 390 for left, width, _ in boxes)
        assert len({top for _, _, top in boxes}) == 4, "one chart below the other"
        assert window.run(
            "[...document.querySelectorAll('.chart svg.main-svg')].every(e => e.getBoundingClientRect().width <= 390)"
        )
        small = window.run(
            "[...document.querySelectorAll('p, td, th, label, button, .xtitle, .xtick text')]"
            ".map(e => parseFloat(getComputedStyle(e).fontSize)).filter(s => s < 11).length"
        )
        assert small == 0, "no text is too small to read"
        numbers = window.run("[...document.querySelectorAll('#summary td')].every(e => e.getBoundingClientRect().right <= 390)")
        assert numbers, "the numbers of the summary are in view without a scroll"
        assert window.complaints == []


# --- for a paper --------------------------------------------------------------------------------------------------


def test_the_command_writes_page_figures_and_table(tmp_path, runs):
    args = [
        "report",
        str(runs),
        "--out",
        str(tmp_path / "r.html"),
        "--figures",
        str(tmp_path / "f"),
        "--latex",
        str(tmp_path / "t.tex"),
    ]
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "f").iterdir()}
    endings = (".png", ".svg", ".pdf", "-one-column.pdf", "-two-columns.pdf")
    assert names == {f"random-{seed}S-4-A-2-H-3{ending}" for seed in ("", "seed-1-") for ending in endings}
    assert (tmp_path / "f" / "random-S-4-A-2-H-3.png").read_bytes()[:4] == b"\x89PNG"
    assert "primal-dual-lsvi" in (tmp_path / "f" / "random-S-4-A-2-H-3.svg").read_text()
    text = (tmp_path / "t.tex").read_text()
    assert (
        text.count(r"\\") == 1 + 6
        and r"\begin{tabular}{llrrrrr}" in text
        and "% In all rows: trials 5, episodes 2,000" in text
        and text.count("{") == text.count("}")
    )


def test_every_group_is_drawn_and_every_learner_has_its_own_colour(tmp_path, runs, monkeypatch):
    made = page.rows(load_runs(runs).runs)
    monkeypatch.setattr(comparison, "CURVES", 2)
    drawn = []
    monkeypatch.setattr(comparison.figures, "write_all", lambda figure, path, dpi: drawn.append((path.name, figure)) or [path])
    comparison.write_figures(grouped(load_runs(runs).runs), tmp_path)
    assert [name for name, _ in drawn[:2]] == ["random-S-4-A-2-H-3", "random-S-4-A-2-H-3-figure-2"]
    assert "figure 1 of 2 (2 of 3 groups)" in drawn[0][1].get_suptitle()
    lines = {}
    for _, figure in drawn:
        for line in figure.axes[0].get_lines():
            lines.setdefault(line.get_label(), set()).add((line.get_color(), line.get_linestyle()))
    assert lines.keys() == {row.group.label for row in made} and all(len(looks) == 1 for looks in lines.values())
    on_page = {(g["label"], g["colour"]) for g in page._data(made, range(len(made)))["groups"]}
    assert on_page == {(label, colour) for label, looks in lines.items() for colour, _ in looks}


def test_tables_latex_and_page_have_one_statistic(runs):
    row = page.rows(load_runs(runs).runs)[0]
    expected = metrics.mean_interval(row.result.regret[:, -1])
    table = grouped(row.group.runs)._summary()
    assert row.result.last("regret") == expected == table.rows[0][4]
    text = metrics.show(expected)
    assert text in page.page([row]) and r" \pm ".join(matched(expected)) in latex(table).replace("{,}", ",")
    band = page._data([row], [0])["groups"][0]["curves"]["regret"]
    whole = metrics.mean_interval(row.result.regret)
    assert band["low"][-1] == pytest.approx(whole.low[-1], rel=1e-4) and band["mean"][-1] == pytest.approx(
        expected.mean, rel=1e-4
    )


def test_the_package_is_a_function(tmp_path, runs):
    import noregret as nr
    import noregret.report.page

    files = nr.report(runs, tmp_path / "out", title="Mine")
    assert nr.report.page is noregret.report.page
    assert {path.name for path in files} == {path.name for path in (tmp_path / "out").iterdir()}
    assert files[0].name == "report.html" and "<title>Mine</title>" in files[0].read_text() and files[-1].name == "table.tex"
    assert len(files) == 2 + 2 * 5
    with pytest.raises(FileError, match="no finished runs"):
        nr.report(tmp_path, tmp_path / "none")
    for wrong in (3, None, load_runs(runs), [load_runs(runs)]):
        with pytest.raises(InputError, match=r"runs is .*expected a folder with stored runs"):
            nr.report(wrong, tmp_path / "none")
    for wrong in (3, None, b"runs", ""):
        with pytest.raises(InputError, match=r"folder is .*expected a folder"):
            nr.load_runs(wrong)
    assert not (tmp_path / "none").exists()


def test_latex_escapes_and_shows_intervals(runs):
    text = latex(
        NumberTable(
            "",
            ("a_b", "n"),
            (("50% & more", metrics.Interval(np.float64(1234.5), np.float64(1233.5), np.float64(1235.5))), ("x", None)),
        )
    )
    assert r"a\_b & n \\" in text and r"50\% \& more & $1{,}234.5 \pm 1.0$ \\" in text and r"x & -- \\" in text
    made = grouped(load_runs(runs).runs)
    assert len(re.findall(r" \\\\$", latex(made._summary()), re.M)) == 7
