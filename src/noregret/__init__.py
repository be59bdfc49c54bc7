"""noregret: learning under a constraint, online, with exact regret."""

__version__ = "0.1.0"
