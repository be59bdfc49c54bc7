"""The names of our environments in Gymnasium. Importing this module imports nothing else.

Gymnasium 1.x looks for no plugins: ``import package`` is to register its environments. Importing Gymnasium for that would make
``import noregret`` five times as slow, so they are registered at once if Gymnasium is there, else right after its import.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


def env_id(problem: str) -> str:
    """Give the id under which Gymnasium knows a problem.

    >>> env_id("job-scheduling")
    'noregret/JobScheduling-v0'
    """
    return f"noregret/{''.join(word[:1].upper() + word[1:] for word in problem.split('-'))}-v0"


def register_envs(own: bool = False) -> None:
    """Register every problem with Gymnasium that Gymnasium does not know yet.

    Args:
        own: only noregret's own problems; then no package that announces problems is loaded.
    """
    from gymnasium.envs.registration import register, registry

    from noregret.problems.registry import built_in, names

    for name in built_in() if own else names():
        if env_id(name) not in registry:
            register(id=env_id(name), entry_point="noregret.gym.problems:make_env", kwargs={"problem": name})


def register_with_gymnasium() -> None:
    """Register noregret's own problems with Gymnasium: now, or right after Gymnasium is imported."""
    if sys.modules.get("gymnasium") is not None:
        register_envs(own=True)
    elif not any(isinstance(finder, _AfterGymnasium) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterGymnasium())


class _AfterGymnasium:
    """An import hook: it lets the other finders find Gymnasium, and registers our environments after Gymnasium's import."""

    looking = False

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find the spec of Gymnasium; None for all other modules, as they are not ours to find.

        Args:
            name: of the module that is imported.
            path: not used.
            target: not used.
        """
        if name != "gymnasium" or self.looking:
            return None
        from importlib.util import find_spec

        self.looking = True  # the other finders are asked
        try:
            spec = find_spec(name)
        finally:
            self.looking = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def then_register(module: ModuleType) -> None:
                sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
                execute(module)
                register_envs(own=True)

            spec.loader.exec_module = then_register  # type: ignore[method-assign]
        return spec
