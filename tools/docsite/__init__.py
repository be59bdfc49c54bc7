"""How the site is made: pages from registries, docstrings and notebooks, all computed by the code they document."""
