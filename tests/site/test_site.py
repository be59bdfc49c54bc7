"""The site is built without a warning, and walked through: links, anchors, scripts, phones, search, no network.

A quick site is built here, with all pages and few computed results. ``make docs-check`` hands over the whole site with
``--site``; then every page is opened in the browser, not some of each kind.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import Browser, find

ROOT = Path(__file__).parents[2]
#: What the quick site computes.
COMPUTED = "streaming,uniform,tutorials/constrained-mdp"
#: Pages that are opened in a browser, one of each kind.
OPENED = (
    "index.html", "tutorials/constrained-mdp.html", "gallery/problems/streaming.html", "gallery/learners/uniform.html",
    "gallery/learners/primal-dual-lsvi.html", "algorithm1.html", "leaderboard-cells.html",
    "reference/command-line.html", "reference/api/oracle.html",
)  # fmt: skip


class Links(HTMLParser):
    """The ids of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.ids |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if "src" in given:
            self.loads.append(given["src"])
        if tag == "link" and "href" in given and given.get("rel") != "canonical":
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = request.config.getoption("--site")
    if given:
        return Path(given).resolve()
    folder = tmp_path_factory.mktemp("site")
    options = {"DOCS_QUICK": COMPUTED, "DOCS_CACHE": str(folder / "kept"), "DOCS_SOURCE": "false", "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder / "site")]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | options, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout + done.stderr == ""
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Links]:
    paths = {path.relative_to(site).as_posix(): path for path in sorted(site.rglob("*.html"))}
    return {name: Links(path.read_text()) for name, path in paths.items() if name != "404.html"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if find() is None:
        pytest.skip("no Chromium here")
    with Browser() as opened:
        yield opened


def test_every_link_and_anchor_leads_somewhere(site: Path, pages: dict[str, Links]) -> None:
    wrong = []
    for name, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
            if not (site / path).is_file():
                wrong.append(f"{name}: {link}")
            elif parts.fragment and path in pages and unquote(parts.fragment) not in pages[path].ids:
                wrong.append(f"{name}: {link} (no such place)")
    assert wrong == []
    assert len(pages) > 60


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, Links]) -> None:
    assert [(name, load) for name, page in pages.items() for load in page.loads if urlsplit(load).netloc] == []
    for path in (*site.rglob("*.css"), *(site / "assets").glob("*.js")):
        assert not re.search(r"(?:url\(|@import\s)[\"']?https?:", path.read_text()), path


def test_every_registered_problem_and_learner_has_a_page(pages: dict[str, Links]) -> None:
    import noregret as nr
    from noregret.problems.registry import is_built_in
    from tests.support import OURS

    assert {f"gallery/problems/{name}.html" for name in filter(is_built_in, nr.problems.names())} <= pages.keys()
    assert len(OURS) > 25 and {f"gallery/learners/{name}.html" for name in OURS} <= pages.keys()


def test_each_leaderboard_has_its_page_of_cells(pages: dict[str, Links]) -> None:
    stems = [path.stem for path in (ROOT / "docs").glob("leaderboard*.json")]
    assert "leaderboard" in stems
    for stem in stems:
        assert f"{stem}-cells.html" in pages[f"{stem}.html"].links
        assert len([link for link in pages[f"{stem}-cells.html"].links if link.startswith("#cell-")]) > 100


def test_no_mark_of_a_docstring_is_left(site: Path, pages: dict[str, Links]) -> None:
    for name in pages:
        text = re.sub(r"<(pre|code)\b.*?</\1>", "", (site / name).read_text(), flags=re.DOTALL)
        assert not re.search(r":(func|class|meth|mod|attr|data):|\.\. math::|arithmatex\">\\\(", text), name


def test_no_page_is_larger_than_a_megabyte(site: Path) -> None:
    large = {path.name: path.stat().st_size for path in site.rglob("*.html") if path.stat().st_size > 1e6}
    assert large == {}


def test_the_gallery_begins_with_pictures(site: Path) -> None:
    text = (site / "gallery" / "index.html").read_text()
    first = text.index('class="thumbnails"')
    assert first < text.index("Every problem") and 'src="problems/streaming-world.svg"' in text[first:]
    assert 'src="learners/uniform-curves.svg"' in text and 'href="learners/uniform.html"' in text


def test_formulas_of_a_learner_are_typeset(site: Path) -> None:
    text = (site / "gallery" / "learners" / "primal-dual-lsvi.html").read_text()
    mathematics = text[text.index('id="the-mathematics"') : text.index('id="on-the-leaderboard"')]
    assert 'class="maths"' in mathematics and "w<sub>j,h</sub>" in mathematics and "<pre" not in mathematics


def test_the_reference_of_runs_begins_with_run(site: Path) -> None:
    headings = re.findall(r'<h2 id="([^"]+)"', (site / "reference" / "api" / "runs.html").read_text())
    assert headings[0] == "noregret.runs.runner.run"


def test_pages_are_quiet_and_fit_a_phone(request: pytest.FixtureRequest, site: Path, browser: Browser) -> None:
    everything = request.config.getoption("--site")
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html")) if everything else OPENED
    names = [name for name in names if name != "404.html"]  # it is made for the root of a server
    wide = []
    for name in names:
        for width, phone in ((1280, False), (390, True)):
            browser.size(width, 900, phone=phone)
            browser.open(site / name)
            browser.wait(f"document.readyState == 'complete' && location.pathname.endsWith({name!r})")
            if browser.run("document.documentElement.scrollWidth") > width:
                wide.append(f"{name} at {width}")
            cut = "[...document.querySelectorAll('pre > code, .figure img')].some(c => c.scrollWidth > c.clientWidth + 1)"
            if browser.run(cut):
                wide.append(f"code or a figure of {name} at {width}")
            assert browser.run("[...document.images].every(i => i.loading == 'lazy' || (i.complete && i.naturalWidth > 0))"), (
                name
            )
    assert wide == []
    assert browser.complaints == []
    assert [each for each in browser.requests if urlsplit(each).scheme not in ("file", "data", "blob", "about")] == []


def look_for(browser: Browser, word: str) -> int:
    """Type into the search, and count the answers."""
    browser.wait("document.readyState == 'complete' && !!document.querySelector('[data-md-component=search-query]')")
    browser.run(
        "(() => { const input = document.querySelector('[data-md-component=search-query]'); input.focus();"
        f"input.value = {word!r}; input.dispatchEvent(new KeyboardEvent('keyup', {{bubbles: true}}));"
        "input.dispatchEvent(new Event('input', {bubbles: true})) })()"
    )
    browser.wait("document.querySelectorAll('.md-search-result__item').length > 0")
    return int(browser.run("document.querySelectorAll('.md-search-result__item').length"))


def test_search_finds_pages_from_the_file_system(site: Path, browser: Browser) -> None:
    browser.size(1400, 900)
    browser.open(site / "index.html")
    assert look_for(browser, "Slater") > 0
    assert browser.complaints == []


def test_search_finds_pages_from_a_server(site: Path, browser: Browser) -> None:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        browser.call("Page.navigate", url=f"http://127.0.0.1:{server.server_port}/index.html")
        assert look_for(browser, "occupancy") > 0
        assert browser.complaints == []
        server.shutdown()
        thread.join()
