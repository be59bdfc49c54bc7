"""What MkDocs calls while it builds the site."""

from __future__ import annotations

import fnmatch
import logging
import sys
import time
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page as MkDocsPage

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.docsite import boards, makers
from tools.docsite.formulas import to_mathml
from tools.docsite.gallery import thumbnails
from tools.docsite.outside import rewrite
from tools.docsite.site import Site

log = logging.getLogger("mkdocs.hooks.docsite")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made, drop the sources of notebooks, and fill in the stars of the navigation."""
    begun = time.monotonic()
    site = Site.from_environment(lambda said: log.info(f"{said} ({time.monotonic() - begun:.0f} s so far)"))
    log.info("the first build of a clone computes every result, in some 8 minutes on two cores; later ones take what is kept")
    for file in list(files):
        if file.src_uri.endswith(".py"):
            files.remove(file)
    for maker in makers.ALL:
        began = time.monotonic()
        for page in maker(site):
            old = files.get_file_from_path(page.uri)
            if old is not None:
                files.remove(old)
            files.append(File.generated(config, page.uri, content=page.content))
        log.info(f"{maker.__module__.rpartition('.')[2]}: {time.monotonic() - began:.1f} s")
    pages = [file.src_uri for file in files if file.is_documentation_page()]
    config.nav = _expand(config.nav or [], sorted(pages), _named(config.nav or []))
    return files


def on_page_markdown(markdown: str, page: MkDocsPage, files: Files, **_: Any) -> str:
    """Links to files of the project that are no pages lead to what stands for them; a leaderboard links to its cells.

    The gallery gets its thumbnails.
    """
    uri = page.file.src_uri
    return thumbnails(rewrite(boards.linked(Site(), markdown, uri), uri), uri, (file.src_uri for file in files))


def on_page_content(html: str, **_: Any) -> str:
    """Formulas become MathML, which browsers draw by themselves."""
    return to_mathml(html)


def _named(entry: Any) -> set[str]:
    """The pages that a navigation names without a star."""
    if isinstance(entry, str):
        return set() if "*" in entry else {entry}
    parts = entry.values() if isinstance(entry, dict) else entry
    return set().union(*map(_named, parts))


def _expand(entry: Any, pages: list[str], named: set[str]) -> Any:
    """A navigation with a list in place of each star; sections that stay empty go."""
    if isinstance(entry, dict):
        filled = {title: _expand(part, pages, named) for title, part in entry.items()}
        return {title: part for title, part in filled.items() if part}
    if isinstance(entry, list):
        flat: list[Any] = []
        for part in entry:
            new = _expand(part, pages, named)
            flat += new if isinstance(part, str) else [new] if new else []
        return flat
    if "*" not in entry:
        return [entry] if entry in pages else _missing(entry)
    return [uri for uri in pages if uri not in named and fnmatch.fnmatch(uri, entry) and uri.count("/") == entry.count("/")]


def _missing(entry: str) -> list[str]:
    log.warning(f"the navigation names {entry}, which is not there")
    return []
