"""Docstrings as mkdocstrings wants them.

The docstrings are in Google's style, with Sphinx's roles, such as ``:func:`run```, and with examples that doctest runs. Griffe
reads them and mkdocstrings shows them as Markdown. In between, this extension turns roles into references (into code, where the
target is not on the site), examples into code, and ``#:`` comments into docstrings of the names below them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import griffe

_ROLE = re.compile(r":(?:py:)?(?:func|class|meth|mod|attr|data|exc|obj|const):`([^`]+)`")
_LITERAL = re.compile(r"``([^`]+)``")
_MATH = re.compile(r"^( *)\.\. math::[ \t]*(.*(?:\n\1[ \t]+\S.*)*)", re.MULTILINE)
_STARRED = re.compile(r"(?<![\w*\\])([A-Zπλ])\*(?![\w*])")
_LETTER = r"(?<![\w`])([A-Za-zα-ωΑ-Ω][\u0300-\u036f]?)"
_LOWER = re.compile(_LETTER + r"_(\{[^{}]*\}|max|min|[\w+*](?![\w]|\.\w))")
_WITHIN = re.compile(r"(\w)_(\w)")
_EXPONENT = r"(\{[^{}]*\}|\([−-]?\d+/\d+\)|\d+(?:\.\d+)?|[\wπ*⅓⅔¾])"
_HIGHER = re.compile(r"(?<![\w`])([A-Za-zα-ωΑ-Ω][\u0300-\u036f]?(?:<sub>[^<]*</sub>)?)\^" + _EXPONENT)
_LOW = r"\1<sub>\2</sub>"
_HEAD = re.compile(r"[A-Z]\w+:")
_NAME = re.compile(r" +[\w*]+(?: \(.*?\))?: ")
_SEVERAL = re.compile(r"^( +)(\w+(?:, \w+)+): (.*(?:\n\1 +\S.*)*)", re.MULTILINE)
_EXAMPLE = re.compile(r"^( *)>>> .*\n?(?:^ *\S.*\n?)*", re.MULTILINE)

#: From the path of a target and the words to show: what stands in its place.
Link = Callable[[str, str], str]


class Docstrings(griffe.Extension):
    """Rewrites every docstring of a package once it is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Rewrite the docstrings of the package's modules, classes, functions and attributes."""
        _comments(pkg)
        _walk(pkg, pkg)


def _comments(each: Any) -> None:
    """Comments that begin with ``#:`` become docstrings."""
    for member in each.members.values():
        if member.is_alias:
            continue
        if member.is_attribute and member.docstring is None and member.lineno:
            lines = each.module.lines_collection[each.module.filepath] if each.module.filepath else []
            above, said = member.lineno - 2, list[str]()
            while above >= 0 and lines[above].strip().startswith("#:"):
                said.insert(0, lines[above].strip().removeprefix("#:").strip())
                above -= 1
            if said:
                member.docstring = griffe.Docstring("\n".join(said), parent=member)
        _comments(member)


def _walk(each: Any, package: griffe.Module) -> None:
    if each.docstring is not None:

        def link(path: str, shown: str) -> str:
            found = resolve(path, each, package)
            return f"[`{shown}`][{found}]" if found else f"`{shown}`"

        text = each.docstring.value
        if each.is_class and any("NamedTuple" in str(base) for base in each.bases):
            text = text.replace("\nArgs:\n", "\nAttributes:\n")
        each.docstring.value = convert(text, link)
    for member in each.members.values():
        if not member.is_alias:
            _walk(member, package)


def convert(text: str, link: Link) -> str:
    """A docstring as Markdown, its roles replaced by what ``link`` makes of them."""

    def role(found: re.Match[str]) -> str:
        path = found[1]
        titled = re.fullmatch(r"(.*?)\s*<([^>]+)>", path, flags=re.DOTALL)
        shown, path = (titled[1], titled[2]) if titled else (path, path)
        if shown.startswith("~"):
            shown = shown.rpartition(".")[2]
        return link(path.lstrip("~!"), shown)

    parts, last = list[str](), 0
    for example in _EXAMPLE.finditer(text):
        parts += [_prose(text[last : example.start()], role), _fenced(example)]
        last = example.end()
    return "".join([*parts, _prose(text[last:], role)])


def _prose(text: str, role: Callable[[re.Match[str]], str]) -> str:
    def each(found: re.Match[str]) -> str:
        return "\n".join(f"{found[1]}{name}: {found[3]}" for name in found[2].split(", "))

    def formula(found: re.Match[str]) -> str:
        return f"{found[1]}$${' '.join(found[2].split())}$$"

    text = _SEVERAL.sub(each, text)
    text = _MATH.sub(formula, text)
    lines, section = text.split("\n"), False
    for number, line in enumerate(lines):
        section = bool(_HEAD.fullmatch(line)) or (section and (not line or line.startswith(" ")))
        if line.startswith("$$") or (line.startswith("    ") and not section):
            continue  # a formula or code
        name = _NAME.match(line) if section else None
        begin = name.end() if name else 0
        lines[number] = line[:begin] + "".join(
            part if part.startswith("`") else _symbols(part) for part in re.split(r"(`[^`]*`)", line[begin:])
        )
    return _LITERAL.sub(r"`\1`", _ROLE.sub(role, "\n".join(lines)))


def _symbols(text: str) -> str:
    """Prose with its subscripts set lower, superscripts higher, and stars that are no emphasis."""
    text = _LOWER.sub(lambda found: f"{found[1]}<sub>{_WITHIN.sub(_LOW, found[2].strip('{}'))}</sub>", text)
    text = _HIGHER.sub(lambda found: f"{found[1]}<sup>{found[2][1:-1] if found[2][0] in '{(' else found[2]}</sup>", text)
    return _STARRED.sub(r"\1\\*", text)


def _fenced(example: re.Match[str]) -> str:
    indent = example[1]
    return f"{indent}```pycon\n{example[0].rstrip()}\n{indent}```\n"


def resolve(path: str, scope: Any, package: griffe.Module) -> str | None:
    """The full path of what a name means where it is written; None where the site has nothing to show for it.

    Args:
        path: the name as it is written.
        scope: the module, class or function whose docstring it is.
        package: the whole package.
    """
    while scope is not None:
        try:
            return _shown(scope[path], package)
        except (KeyError, ValueError, griffe.AliasResolutionError, griffe.CyclicAliasError):
            scope = scope.parent
    inner = path.removeprefix(f"{package.name}.")
    try:
        return _shown(package[inner], package)
    except (KeyError, ValueError, griffe.AliasResolutionError, griffe.CyclicAliasError):
        return None


def _shown(found: Any, package: griffe.Module) -> str | None:
    target = found.final_target if found.is_alias else found
    if target.is_attribute and target.docstring is None:
        target = target.parent
        if target.is_module:
            return None
    path = str(target.path)
    parts = path.split(".")
    private = any(part.startswith("_") for part in parts)
    return None if private or parts[0] != package.name else path
