"""The progress bar: on a terminal, in a notebook, and nowhere else."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace

import pytest

from noregret._system import progress


class Notebook:
    """What IPython is in the kernel of a notebook, as far as a bar needs it."""

    def __init__(self, monkeypatch, kernel=True):
        self.shown = []
        shell, top = ModuleType("IPython"), ModuleType("IPython.display")
        shell.get_ipython = lambda: SimpleNamespace(kernel=1) if kernel else SimpleNamespace()
        top.display = self.display
        monkeypatch.setitem(sys.modules, "IPython", shell)
        monkeypatch.setitem(sys.modules, "IPython.display", top)

    def display(self, data, raw, display_id=False):
        self.update(data, raw)
        return self if display_id else None

    def update(self, data, raw):
        assert raw and set(data) == {"text/plain"}
        self.shown.append(data["text/plain"])


def test_a_notebook_shows_the_bar_though_standard_error_is_no_terminal(monkeypatch, capsys):
    notebook = Notebook(monkeypatch)
    monkeypatch.setattr(progress, "EVERY", 0.0)
    with progress.bar(200, None, "needs 1 GB") as show:
        show(0)
        show(100, "reward 2")
    assert notebook.shown[:2] == ["needs 1 GB", progress.COMPILING]
    half = notebook.shown[-2]
    assert half.count("━") == half.count("╌") == progress.WIDTH // 2 and "100/200 reward 2" in half and "s left" in half
    assert notebook.shown[-1] == "", "the bar is gone at the end"
    assert capsys.readouterr().err == ""


def test_a_bar_in_a_notebook_is_not_drawn_for_every_episode(monkeypatch):
    notebook = Notebook(monkeypatch)
    with progress.bar(10_000, None) as show:
        for done in range(10_000):
            show(done + 1)
    assert len(notebook.shown) < 20


@pytest.mark.parametrize("kernel", [None, False])
def test_no_bar_without_a_terminal_and_without_a_notebook(monkeypatch, capsys, kernel):
    notebook = Notebook(monkeypatch, kernel=False)
    if kernel is None:
        monkeypatch.delitem(sys.modules, "IPython")
    with progress.bar(10, None) as show:
        show(5)
    assert notebook.shown == [] and capsys.readouterr().err == ""
    notebook = Notebook(monkeypatch)
    with progress.bar(10, False) as show:
        show(5)
    assert notebook.shown == []
