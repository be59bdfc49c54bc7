"""Tutorials: notebooks written as Python files (jupytext's percent format), run while the site is built.

Every ``docs/**/*.py`` is one. Its outputs are kept by a hash of its text and of the package, and shown below their cells; the
notebook itself, with outputs, can be taken from the page.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

from tools.docsite.site import Files, Page, Site

if TYPE_CHECKING:
    from nbclient import NotebookClient

#: Seconds that one cell may take.
PATIENCE = 300

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def pages(site: Site) -> Iterator[Page]:
    """A page, its pictures and its .ipynb for each notebook; as many are run at once as there are cores."""
    places = {
        path.relative_to(site.root / "docs").with_suffix("").as_posix(): path for path in (site.root / "docs").rglob("*.py")
    }
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        done = {place: pool.submit(_run, site, path, place) for place, path in sorted(places.items())}
    for place, path in sorted(places.items()):
        yield from _one(path, place, done[place].result())


def _run(site: Site, path: Path, place: str) -> Files | None:
    inputs = {"source": path.read_text(), "maker": Path(__file__).read_text()}
    store = site.shelf / "store"
    return site.kept(f"notebooks/{place}", inputs, lambda folder: execute(path, folder, store), compute=site.wanted(place))


def _one(path: Path, place: str, kept: Files | None) -> Iterator[Page]:
    import jupytext

    source = path.read_text()
    notebook = jupytext.reads(source, fmt="py:percent") if kept is None else json.loads(kept["notebook.ipynb"])
    text, pictures = to_markdown(notebook, place)
    yield Page(f"{place}.md", text)
    for name, content in pictures.items():
        yield Page(f"{place}-{name}", content)
    if kept is not None:
        yield Page(f"{place}.ipynb", kept["notebook.ipynb"])


def execute(path: Path, folder: Path, store: Path) -> None:
    """Run a notebook from the top, in a kernel of its own, and write it with its outputs.

    Args:
        path: its source.
        folder: where ``notebook.ipynb`` is written.
        store: a folder that keeps long runs between builds; the notebook is told of it as ``NOREGRET_DOCS_STORE``.

    Raises:
        CellExecutionError: a cell raised something; the site is not built.
    """
    import jupytext
    import nbformat
    from nbclient import NotebookClient

    notebook = jupytext.read(path, fmt="py:percent")
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    work = folder / "work"
    work.mkdir()
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    where = {"metadata": {"path": str(work)}}
    settings: dict[str, Any] = {"kernel_name": "python3", "timeout": PATIENCE, "record_timing": False, "coalesce_streams": True}
    client = NotebookClient(notebook, resources=where, **settings)
    client.extra_arguments = ["--log-level=ERROR"]
    store.mkdir(parents=True, exist_ok=True)
    own = {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "COLUMNS": "100", "NOREGRET_DOCS_STORE": str(store)}
    _execute(client, work / "kernel.txt", os.environ | own)
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        if "outputs" in cell:  # warnings name files of the machine that built the site
            cell["outputs"] = [output for output in cell["outputs"] if output.get("name") != "stderr"]
    shutil.rmtree(work)
    (folder / "notebook.ipynb").write_text(nbformat.writes(notebook, version=4))  # type: ignore[no-untyped-call]


def _execute(client: NotebookClient, words: Path, env: dict[str, str]) -> None:
    """Run the cells. What the kernel's process writes to stderr itself until the last cell is passed on.

    A kernel that was told to end may fall over its own sockets (libzmq then asserts, on some machines, now and then). That is
    no fault of the site: it is shown only where the notebook failed.

    Args:
        client: of the notebook.
        words: a file for what the kernel's process writes to stderr.
        env: the kernel's environment.
    """
    said = 0

    def note(**_: Any) -> None:
        nonlocal said
        said = words.stat().st_size

    client.on_cell_complete = note
    with words.open("wb") as file:
        try:
            client.execute(env=env, stderr=file)
        except BaseException:
            said = words.stat().st_size
            raise
        finally:
            sys.stderr.write(words.read_bytes()[:said].decode(errors="replace"))


def to_markdown(notebook: Any, place: str) -> tuple[str, dict[str, bytes]]:
    """A page of Markdown and its pictures.

    Args:
        notebook: as JSON.
        place: of the page, without its ending; pictures are named after it.
    """
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    name = place.rpartition("/")[2]
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        folded = "hide-input" in cell.get("metadata", {}).get("tags", ())
        code = f"```python\n{text}\n```" if text.strip() else ""
        parts += [] if folded else [code]
        for output in cell.get("outputs", ()):
            parts.append(_output(output, name, pictures))
        parts += [f'??? quote "The code of this picture"\n{indent(code, "    ")}'] if folded and code else []
    parts.append(
        f'<small markdown="1">Run by the build of this site; take the [notebook]({name}.ipynb) with you.</small>'
        if any(cell.get("outputs") for cell in notebook["cells"])
        else ""
    )
    return "\n\n".join(filter(None, parts)) + "\n", pictures


def _output(output: Any, name: str, pictures: dict[str, bytes]) -> str:
    if output["output_type"] == "stream":
        return _plain("".join(output["text"])) if output["name"] == "stdout" else ""
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return _picture("".join(data["image/svg+xml"]).encode(), "svg", name, pictures)
    for kind, ending in (("image/png", "png"), ("image/gif", "gif")):
        if kind in data:
            return _picture(base64.b64decode("".join(data[kind])), ending, name, pictures)
    if "text/html" in data:
        return f'<div class="output">{_unindented("".join(data["text/html"]))}</div>'
    if "text/markdown" in data:
        return "".join(data["text/markdown"])
    return _plain("".join(data["text/plain"])) if "text/plain" in data else ""


def _picture(content: bytes, ending: str, name: str, pictures: dict[str, bytes]) -> str:
    place = f"{len(pictures)}.{ending}"
    pictures[place] = content
    return f'<div class="figure" markdown="1">\n![Output of the cell above]({name}-{place})\n</div>'


def _plain(text: str) -> str:
    shown = html.escape(_COLOURS.sub("", text).rstrip("\n"))
    return f'<div class="output"><pre><code>{shown}</code></pre></div>' if shown else ""


def _unindented(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())
