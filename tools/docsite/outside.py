"""Pages that live outside docs/, and links to files of the project that are not on the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from tools.docsite.site import ROOT, Page, Site

#: Files of the project that are pages of the site, under these names.
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
}
_HOME = {uri: path for path, uri in PAGES.items()}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)")


def pages(site: Site) -> Iterator[Page]:
    """The pages from outside docs/."""
    for path, uri in PAGES.items():
        yield Page(uri, (site.root / path).read_text())


def rewrite(markdown: str, uri: str) -> str:
    """Links as they are written in the project, turned into links of the site.

    A link to a file that is on the site under another name leads there; one to the source of a notebook, to its page. A link to
    a file that is not on the site, such as a source file, becomes the file's name.

    Args:
        markdown: the text of a page.
        uri: its place on the site.
    """
    here = posixpath.dirname(_HOME.get(uri, f"docs/{uri}"))
    there = posixpath.dirname(f"docs/{uri}")

    def one(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(here, found[3]))
        if path == "README.md":
            path = "docs/index.md"
        path = f"docs/{PAGES[path]}" if path in PAGES else path
        if path.startswith("docs/"):
            path = f"{path[:-3]}.md" if path.endswith(".py") else path
            return f"{found[1]}[{found[2]}]({posixpath.relpath(path, there)}{found[4] or ''})"
        if found[1] or not (ROOT / path).exists():
            return found[0]
        return found[2] if path in found[2] or "`" in found[2] else f"{found[2]} (`{path}`)"

    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else _LINK.sub(one, part) for part in parts)
