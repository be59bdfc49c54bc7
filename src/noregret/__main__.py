"""``python -m noregret``: the same as the command ``noregret``."""

from noregret.cli import main

if __name__ == "__main__":
    main()
