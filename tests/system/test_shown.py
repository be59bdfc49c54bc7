"""Names from strangers, shown as they are: control characters, rich markup and TeX in terminals, figures and LaTeX."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import noregret as nr
from noregret.cli import app
from noregret.cli.app import console
from noregret.errors import printable, shown
from noregret.report import figures
from noregret.report.latex import escape, latex
from noregret.results.base import NumberTable

ESCAPE = "\x1b[31mred\x07\r\x9b2J"
MARKUP = "out[/x] [bold]b[/bold] :smile: $\\frac$ \x1b[2J"


def test_control_characters_are_written_out() -> None:
    assert printable(ESCAPE) == "\\x1b[31mred\\x07\\r\\x9b2J"
    assert printable("two\nlines, β ≥ 0") == "two\nlines, β ≥ 0"
    assert printable("\u202eback \ud800") == "\\u202eback \\ud800"
    assert shown("x" * 200) == "'" + "x" * 76 + "..."
    assert shown(10**6000) == "a number of thousands of digits"


@pytest.mark.parametrize("line", [["run", f"no{ESCAPE}"], ["run", "queue", "-l", ESCAPE], ["check", f"{ESCAPE}.npz"]])
def test_nothing_of_a_name_is_obeyed_by_the_terminal(line: list[str]) -> None:
    done = CliRunner().invoke(app, line)
    assert done.exit_code != 0
    assert "\\x1b[31mred" in done.output and not set(done.output) & set("\x1b\x07\r\x9b")


def test_tables_and_lines_on_the_console_are_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    console().print(f"wrote {MARKUP}")
    console().print(NumberTable(MARKUP, (MARKUP, "n"), ((MARKUP, 1),), caption=MARKUP).rich())
    assert "\x1b" not in out.getvalue()
    assert out.getvalue().count("out[/x] [bold]b[/bold] :smile: $\\frac$ \\x1b[2J") == 5


def test_markup_in_a_path_is_a_path(tmp_path: Path) -> None:
    out = tmp_path / "out[" / "x]"
    line = ["run", "random:S=3,A=2,H=2", "-k", "20", "-t", "1", "--out", str(out)]
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, done.output
    assert "out[/x]" in done.output.replace("\n", "")


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_dollar_in_a_name_begins_no_formula(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "$\\frac$.npz"
    nr.problems.save(nr.problems.load("random:S=3,A=2,H=2"), path)
    result = nr.run(nr.problems.load(path), episodes=20, trials=2, record_every=5, progress=False)
    drawn = figures.overview(result, title=f"{path.name}\x1b")
    drawn.axes[0].set_yscale("log")
    drawn.axes[0].plot([1, 20], [1, 1e4], label="$\\bad")
    drawn.axes[0].legend()
    file = figures.write(drawn, tmp_path / f"figure.{kind}")
    if kind == "svg":
        text = "".join(ET.parse(file).getroot().itertext())
        assert "$\\frac$.npz\\x1b" in text and "$\\bad" in text and "mathdefault" not in text
    else:
        assert file.stat().st_size > 1000 and np.isfinite(result.regret).all()


def test_names_in_latex() -> None:
    assert escape("$\\frac$ \x1b") == r"\$\textbackslash{}frac\$ \textbackslash{}x1b"
    text = latex(NumberTable("a title\n\\input{x}", ("name",), (("$\\frac$",),)))
    assert all(line.startswith("%") for line in text.splitlines() if "input" in line)
