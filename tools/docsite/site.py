"""What every maker of pages is handed: where things are, what may be computed, and the shelf that keeps what was."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

#: Files of one result by name, such as {"curve.svg": b"...", "facts.json": b"..."}.
Files = dict[str, bytes]


@dataclass(frozen=True)
class Page:
    """A page or a file of the site that is made, not written: its place under docs/, and its text or bytes."""

    uri: str
    content: str | bytes


@dataclass
class Site:
    """One build.

    ``quick`` names what is computed in a quick build, such as "job-scheduling" or "tutorials/constrained-mdp"; everything else
    is shown only where an earlier build left it on the shelf. None computes all.
    """

    root: Path = ROOT
    quick: frozenset[str] | None = None
    stale: bool = False
    log: Callable[[str], None] = print
    used: set[str] = field(default_factory=set)

    @classmethod
    def from_environment(cls, log: Callable[[str], None]) -> Site:
        """DOCS_QUICK: names of what to compute, with commas; DOCS_STALE: outputs of an older package will do."""
        names = os.environ.get("DOCS_QUICK")
        quick = None if names is None else frozenset(filter(None, names.split(",")))
        return cls(quick=quick, stale=bool(os.environ.get("DOCS_STALE")), log=log)

    @property
    def shelf(self) -> Path:
        """Where results are kept between builds."""
        return Path(os.environ.get("DOCS_CACHE", self.root / "build" / "docs"))

    @cached_property
    def package(self) -> str:
        """A hash of the package's sources: what was made by other code is made anew."""
        paths = sorted((self.root / "src").rglob("*"))
        files = [path for path in paths if path.suffix in (".py", ".html", ".css", ".json", ".toml", ".npz")]
        return digest(*(path.read_bytes() for path in files))

    def wanted(self, *names: str) -> bool:
        """Whether this build computes what one of these names stands for."""
        return self.quick is None or any(name in self.quick for name in names)

    def kept(self, name: str, inputs: Mapping[str, Any], make: Callable[[Path], None], *, compute: bool = True) -> Files | None:
        """The files of one result: from the shelf, or made there first.

        Args:
            name: of the result, a path such as "notebooks/tutorials/a-study"; an older result of the same name is replaced.
            inputs: everything it depends on, beside the package's sources.
            make: writes the files into the folder that it is given.
            compute: whether it may be made now.

        Returns:
            Contents by file name; None where it is neither kept nor to be made.
        """
        folder = self.shelf / name
        key = f"{digest(json.dumps(inputs, sort_keys=True, default=str).encode())} {self.package}"
        if not self._fresh(folder, key):
            if not compute:
                return None
            self.log(f"computing {name}")
            folder.parent.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
            try:
                make(scratch)
                (scratch / "key").write_text(key)
                shutil.rmtree(folder, ignore_errors=True)
                scratch.rename(folder)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "key"}

    def _fresh(self, folder: Path, key: str) -> bool:
        path = folder / "key"
        known = path.read_text() if path.is_file() else ""
        return known.split()[:1] == key.split()[:1] if self.stale else known == key


def digest(*parts: bytes) -> str:
    """A short hash."""
    sha = hashlib.sha256()
    for part in parts:
        sha.update(hashlib.sha256(part).digest())
    return sha.hexdigest()[:20]
