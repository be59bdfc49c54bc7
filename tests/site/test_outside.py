"""Links of pages: on a code host they lead to files that are there, and on the site to its pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tools.docsite.outside import rewrite

ROOT = Path(__file__).parents[2]
WRITTEN = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
#: Pages that the build makes, to which these files link: they are on the site alone, and the gallery says so.
MADE = {
    "docs/gallery/index.md": {"problems/index.md", "learners/index.md", "forming.md", "car.md"},
    "docs/reference/paper.md": {"api/theory.md"},
}


@pytest.mark.parametrize("name", WRITTEN)
def test_links_between_files_lead_somewhere(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    links = set(re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", text))
    lost = {link for link in links if not (ROOT / name).parent.joinpath(link).exists()}
    assert lost == MADE.get(name, set())


def test_a_link_to_the_source_of_a_notebook_leads_to_its_page() -> None:
    assert rewrite("[it](constrained-mdp.py)", "tutorials/index.md") == "[it](constrained-mdp.md)"
    assert rewrite("[it](../tutorials/your-own.py#a)", "how/measuring.md") == "[it](../tutorials/your-own.md#a)"
    assert rewrite("[it](../../benchmarks/README.md)", "how/measuring.md") == "[it](../benchmarks.md)"
    assert rewrite("[it](../examples/a.py)", "design.md") == "[it](../examples/a.py)", "no such file: MkDocs will say so"
