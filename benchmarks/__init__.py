"""The project's own measurements and searches; no part of the package that is installed."""
