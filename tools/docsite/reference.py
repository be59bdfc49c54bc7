"""The reference: one page a room of the package, from its docstrings, and the command line from its own help."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tools.docsite.site import Page, Site

#: Rooms in the order in which a reader meets them.
ROOMS = (
    "problems", "oracle", "learners", "runs", "results", "agent", "gym", "features", "theory", "metrics", "store", "sweeps",
    "report", "experiments", "testing", "verification", "kernels", "cli", "errors",
)  # fmt: skip


def pages(site: Site) -> Iterator[Page]:
    """The index and all rooms."""
    package = site.root / "src" / "noregret"
    yield Page("reference/index.md", "# Reference\n\n" + "\n".join(f"- [`noregret.{room}`](api/{room}.md)" for room in ROOMS))
    for room in ROOMS:
        yield Page(f"reference/api/{room}.md", _room(room, package))


def _room(room: str, package: Path) -> str:
    folder = package / room
    first = f"---\ntitle: {room}\n---\n\n# `noregret.{room}`\n\n"
    if not folder.is_dir():
        return first + _module(f"noregret.{room}", root=False)
    parts = [_module(f"noregret.{room}", root=False)]
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(package).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        if inside != room and "._" not in inside:
            parts.append(_module(f"noregret.{inside}", root=True))
    return first + "\n\n".join(parts)


def _module(path: str, root: bool) -> str:
    return f"::: {path}\n    options:\n      show_root_heading: {str(root).lower()}\n      show_root_full_path: true\n"
