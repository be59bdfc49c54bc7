"""The page that watches a learner, in a real browser while traffic runs, at desk and phone width."""

from __future__ import annotations

import contextlib
import threading

import pytest

pytest.importorskip("fastapi")

from noregret.errors import NoRegretError
from tests import browser
from tests.live.test_server import serving
from tests.live.toys import opened, play, seen


@pytest.mark.slow
@pytest.mark.skipif(browser.find() is None, reason="no Chromium")
def test_the_page_shows_totals_against_limits_and_has_the_switches(tmp_path):
    stop = threading.Event()
    with opened(tmp_path / "a.db", fallback="low", limit={"slo": 0.5}, reward_range=(0, 5)) as live:
        for k in range(12):
            play(live, k)
        live.plan()
        live.report(live.decide(seen(0, 0), "odd", 0).id, 77.0, {"slo": 0})

        def traffic() -> None:
            for k in range(100, 100_000):
                if stop.wait(0.02):
                    return
                with contextlib.suppress(NoRegretError):
                    play(live, k)

        thread = threading.Thread(target=traffic)
        thread.start()
        try:
            with serving({"gate": live}) as url, browser.Browser() as page:
                for width, phone in ((1280, False), (390, True)):
                    page.size(width, 900, phone)
                    page.call("Page.navigate", url=f"{url}/watch")
                    page.wait("document.querySelectorAll('#cards section').length === 3")
                    assert page.run("document.documentElement.scrollWidth") <= width
                    assert page.run(
                        "[...document.querySelectorAll('button')].every(b => b.getBoundingClientRect().height >= 34)"
                    )
                page.wait("document.querySelector('.alert') && document.querySelector('.alert').textContent.includes('slo')")
                assert page.run("document.querySelectorAll('#cards circle').length") > 20
                page.wait("document.getElementById('held').textContent.includes('reward is 77')")
                page.run("window.confirm = () => true; document.getElementById('switch').click()")
                page.wait("document.getElementById('alerts').textContent.includes('it is switched on')")
                assert live.desk.controls.values["fallback"]
                page.run("document.querySelector('#held button').click()")
                page.wait("!document.getElementById('held').textContent.includes('reward is 77')")
                page.run("document.getElementById('version').value = '1'; document.getElementById('rollback').click()")
                page.wait("document.getElementById('plan').textContent.includes('held; newest')")
                assert not page.complaints and all(asked.startswith((url, "data:")) for asked in page.requests)
        finally:
            stop.set()
            thread.join()


@pytest.mark.slow
@pytest.mark.skipif(browser.find() is None, reason="no Chromium")
def test_the_page_of_routes_needs_nothing_from_elsewhere(tmp_path):
    with opened(tmp_path / "a.db") as live, serving({"gate": live}) as url, browser.Browser() as page:
        for width, phone in ((1280, False), (390, True)):
            page.size(width, 900, phone)
            page.call("Page.navigate", url=f"{url}/docs")
            page.wait("document.querySelectorAll('#routes section').length > 10")
            assert page.run("document.documentElement.scrollWidth") <= width
        text = page.run("document.body.textContent")
        assert "POST /v1/{learner}/decide" in text and "How many actions of the episode were taken before." in text
        assert not page.complaints and all(asked.startswith((url, "data:")) for asked in page.requests)
