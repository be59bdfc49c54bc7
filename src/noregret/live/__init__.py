"""A learner inside a running system: durable decisions, reports and plans in a database, for one process or many."""

from noregret.live.answers import Decision, Expired, Held, Receipt
from noregret.live.errors import GoneError, StorageError, UnknownError
from noregret.live.live import Live

__all__ = ["Decision", "Expired", "GoneError", "Held", "Live", "Receipt", "StorageError", "UnknownError"]
