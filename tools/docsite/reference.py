"""The reference: every name of the package, one page a room from its docstrings, the command line from its own help."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.docsite.site import Page, Site
from tools.docsite.text import docstring, package, table

#: Rooms in the order in which a reader meets them.
ROOMS = (
    "problems", "oracle", "learners", "runs", "results", "agent", "live", "gym", "features", "theory", "metrics", "store",
    "sweeps", "report", "experiments", "testing", "verification", "kernels", "cli", "errors",
)  # fmt: skip

_FIRST = """# Reference

- [Symbols](../symbols.md): the paper's letters, the names in the code, their shapes.
- [The command line](command-line.md), from its own help.
- [Formats](formats.md): every file that noregret writes, field by field.
- [The paper](paper.md): departures from it, and the 27 places where it is silent or disagrees with itself.
- [The changelog](../changelog.md).

## The names of `import noregret as nr`

"""


def pages(site: Site) -> Iterator[Page]:
    """The index, all rooms, and the command line."""
    folder = site.root / "src" / "noregret"
    yield Page("reference/index.md", _FIRST + _names() + "\n\n## Rooms of the package\n\n" + _rooms() + "\n")
    for room in ROOMS:
        yield Page(f"reference/api/{room}.md", _room(room, folder))
        for part in _parts(folder / room):
            yield Page(f"reference/api/{room}.{part}.md", _room(f"{room}.{part}", folder))
    yield Page("reference/command-line.md", command_line())


def _names() -> str:
    """A table of what the package exports, each with its first line."""
    import noregret as nr

    rows = []
    for name in nr.__all__:
        member: Any = package()[name]
        target = member.final_target if member.is_alias else member
        what = (target.docstring.value if target.docstring else "").strip().partition("\n")[0]
        if target.is_module:
            rows.append((f"[`nr.{name}`](api/{name}.md)", what))
        else:
            rows.append((f"[`nr.{name}`][{target.path}]", docstring(what, target.module.path)))
    return table(("name", "what it is"), rows)


def _rooms() -> str:
    rows = []
    for room in ROOMS:
        said = (importlib.import_module(f"noregret.{room}").__doc__ or "").strip().split("\n\n")[0]
        rows.append((f"[`noregret.{room}`](api/{room}.md)", docstring(said, f"noregret.{room}")))
    return table(("room", "what lives there"), rows)


def _parts(folder: Path) -> list[str]:
    """The folders inside a room that have pages of their own, so that no page is too large."""
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    return [each.name for each in inside if (each / "__init__.py").is_file() and not each.name.startswith("_")]


def _used(room: str) -> list[str]:
    """The names of a room that ``import noregret as nr`` has, as a reader meets them first."""
    import noregret as nr

    found = []
    for name in nr.__all__:
        member: Any = package()[name]
        target = member.final_target if member.is_alias else member
        if not target.is_module and target.path.startswith(f"noregret.{room}."):
            found.append(target.path)
    return found


def _room(room: str, package_folder: Path) -> str:
    """A page about a room: its most used names, what its ``__init__`` defines, then its modules, but not its folders."""
    folder = package_folder / room.replace(".", "/")
    deep = "." in room
    inner, used = [] if deep else _parts(folder), _used(room)
    used = [path for path in used if not any(path.startswith(f"noregret.{room}.{part}.") for part in inner)]
    parts = [f"---\ntitle: {room}\n---\n\n# `noregret.{room}`"]
    parts += [f"::: {path}\n    options:\n      show_root_full_path: false" for path in used]
    parts.append(_module(f"noregret.{room}", root=False, but=used))
    parts += [f"[`noregret.{room}.{part}`]({room}.{part}.md) has a page of its own." for part in inner]
    for path in sorted(folder.rglob("*.py") if deep else folder.glob("*.py")) if folder.is_dir() else ():
        inside = path.relative_to(package_folder).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
        if inside != room and not any(part.startswith("_") for part in inside.split(".")):
            parts.append(_module(f"noregret.{inside}", root=True, but=used))
    return "\n\n".join(parts) + "\n"


def _module(path: str, root: bool, but: Sequence[str] = ()) -> str:
    """What mkdocstrings shows of a module: names that are defined in it, not those that it passes on.

    Args:
        path: of the module.
        root: whether its name is a heading.
        but: names that stand elsewhere on the page.
    """
    module: Any = package()[path.removeprefix("noregret.")]
    own = [
        name
        for name, each in module.members.items()
        if not each.is_alias and not name.startswith("_") and not each.is_module and each.path not in but
    ]
    members = json.dumps(own) if own else "false"
    options = {"show_root_heading": str(root).lower(), "show_root_full_path": "true", "members": members}
    return f"::: {path}\n    options:\n" + "\n".join(f"      {key}: {value}" for key, value in options.items())


def command_line() -> str:
    """Every command with its arguments and options, read from the application itself."""
    import typer

    from noregret.cli import app

    top: Any = typer.main.get_command(app)
    parts = ["# The command line", _plain(top.help), "```text\nnoregret [OPTIONS] COMMAND [ARGS]\n```", _options(top)]
    for name, command in sorted(top.commands.items()):
        parts += list(_command(f"noregret {name}", command, 2))
    return "\n\n".join(filter(None, parts)) + "\n"


def _command(name: str, command: Any, level: int) -> Iterator[str]:
    yield f"{'#' * level} `{name}`"
    yield _plain(command.help)
    inner = getattr(command, "commands", None)
    arguments = " ".join(_metavar(each) for each in command.params if each.param_type_name == "argument")
    yield f"```text\n{name} {'COMMAND' if inner else f'[OPTIONS] {arguments}'.rstrip()}\n```"
    yield _options(command)
    for each, sub in sorted((inner or {}).items()):
        yield from _command(f"{name} {each}", sub, level + 1)


def _options(command: Any) -> str:
    rows = []
    for each in command.params:
        if getattr(each, "hidden", False) or each.name in ("help", "install_completion", "show_completion"):
            continue
        argument = each.param_type_name == "argument"
        names = _metavar(each) if argument else ", ".join([*each.opts, *each.secondary_opts])
        takes = "" if argument or each.is_flag else f" {_metavar(each)}"
        default = each.default if not callable(each.default) else None
        shown = "" if default in (None, False, (), [], "") or "UNSET" in repr(default) else f"`{default}`"
        rows.append((f"`{names}{takes}`", _plain(each.help), "needed" if each.required else shown))
    return table(("option", "meaning", "default"), rows) if rows else ""


def _metavar(each: Any) -> str:
    return str(each.metavar or each.name.upper())


def _plain(text: str | None) -> str:
    """Help without the marks that colour it on a terminal; what is dim there is a command."""
    return re.sub(r"\[/?[a-z ]+\]", "", re.sub(r"\[dim\](.*?)\[/dim\]", r"`\1`", inspect.cleandoc(text or "")))
