"""The command ``noregret``: one file a command, each of which puts itself in ``app``.

To add a command, add a file to this folder:

    from noregret.cli.app import app

    @app.command()
    def greet() -> None:
        '''One line that ``noregret --help`` shows.'''

Commands import what they need inside the function, so that ``noregret --help`` stays quick.
"""

import pkgutil
from importlib import import_module

from noregret.cli.app import app, main

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["app", "main"]
