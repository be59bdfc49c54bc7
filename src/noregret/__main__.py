"""``python -m noregret``: the same as the command ``noregret``."""

import os
import sys

if __name__ == "__main__":
    if not sys.flags.safe_path and sys.path[:1] == [os.getcwd()]:
        del sys.path[0]  # python -m looks in the current folder first: a numba.py there would run
    from noregret.cli import main

    main()
