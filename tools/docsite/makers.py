"""All that makes pages; each is a function from a :class:`~tools.docsite.site.Site` to pages and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tools.docsite import boards, films, learners, notebooks, outside, problems, reference
from tools.docsite.site import Page, Site

ALL: tuple[Callable[[Site], Iterator[Page]], ...] = (
    outside.pages, learners.pages, notebooks.pages, problems.pages, films.pages, reference.pages, boards.pages,
)  # fmt: skip
