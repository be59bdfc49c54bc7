"""Thumbnails: the gallery begins with a picture for each problem and, for each learner, its curves."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

#: Pages that begin with thumbnails, with the folders that these lead to.
PLACES = {
    "gallery/index.md": ("problems", "learners"),
    "gallery/problems/index.md": ("problems",),
    "gallery/learners/index.md": ("learners",),
}
#: The picture of a page in each folder.
PICTURES = {"problems": "world.svg", "learners": "curves.svg"}


def thumbnails(markdown: str, uri: str, files: Iterable[str]) -> str:
    """A page with thumbnails below its title, of all pages that have a picture; other pages as they are.

    Args:
        markdown: the text of the page.
        uri: its place on the site.
        files: all files of the site.
    """
    if uri not in PLACES:
        return markdown
    known, parts = set(files), list[str]()
    for folder in PLACES[uri]:
        cards = []
        for path in sorted(known):
            name = posixpath.basename(path).removesuffix(".md")
            picture = f"gallery/{folder}/{name}-{PICTURES[folder]}"
            if posixpath.dirname(path) == f"gallery/{folder}" and path.endswith(".md") and picture in known:
                to, image = (posixpath.relpath(each, posixpath.dirname(uri)) for each in (path, picture))
                cards.append(f'<a href="{to.removesuffix(".md")}.html"><img src="{image}" alt="" loading="lazy">{name}</a>')
        if cards:
            head = f"## {folder.capitalize()}\n\n" if len(PLACES[uri]) > 1 else ""
            parts.append(f'{head}<div class="thumbnails">\n{chr(10).join(cards)}\n</div>')
    title, rest = markdown.split("\n", 1)
    return "\n\n".join([title, *parts, rest.strip()]) + "\n"
