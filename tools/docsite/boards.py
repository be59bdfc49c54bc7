"""The pages of the leaderboards in docs/: the curves of each cell and the line that repeats it, from the committed data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from plotly import offline as plotly

from noregret.report.leaderboard import Leaderboard, page
from tools.docsite.site import Page, Site, digest

#: All pages with interactive figures load it from here.
PLOTLY = "assets/plotly.min.js"


def pages(site: Site) -> Iterator[Page]:
    """A page for each file of data, with links to the others."""
    docs = site.root / "docs"
    yield Page(PLOTLY, plotly.get_plotlyjs())
    for path in _data(docs):
        others = [(cells(stem), length) for stem, length in page.siblings(docs, path.stem)]
        inputs = {"data": digest(path.read_bytes()), "others": others, "script": PLOTLY}

        def make(folder: Path, path: Path = path, others: list[tuple[str, str]] = others) -> None:
            (folder / "page.html").write_text(page.page(Leaderboard.read(path), others=others, script=PLOTLY), "utf-8")

        kept = site.kept(f"leaderboards/{path.stem}", inputs, make)
        assert kept is not None
        yield Page(f"{cells(path.stem)}.html", kept["page.html"])


def cells(stem: str) -> str:
    """What the page with the cells is called on the site, where the page of the documentation has the name itself."""
    return f"{stem}-cells"


def linked(site: Site, markdown: str, uri: str) -> str:
    """A page of the documentation about a leaderboard, with a link to its cells below the title; other pages as they are.

    Args:
        site: the build.
        markdown: the text of the page.
        uri: its place on the site.
    """
    known = {f"{path.stem}.md": path.stem for path in _data(site.root / "docs")}
    if uri not in known:
        return markdown
    title, rest = markdown.split("\n", 1)
    line = f"**[The page with all cells]({cells(known[uri])}.html)**: touch one for its curves and the line that repeats it."
    return f"{title}\n\n{line}\n{rest}"


def _data(docs: Path) -> list[Path]:
    return [path for path in sorted(docs.glob(f"{page.STEM}*.json")) if path.with_suffix(".md").is_file()]
