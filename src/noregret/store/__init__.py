"""Runs on disk: one trial, one folder, whole or absent. Nothing here runs a learner, and nothing loads pickle."""

from noregret.store.checkpoints import Checkpoints
from noregret.store.folder import Store, StoredRun, read_sealed, seal
from noregret.store.groups import Group, collect, group
from noregret.store.identity import RunKey, content_hash, encode, usual_grid
from noregret.store.memory import MemoryStore
from noregret.store.table import RunTable, load_runs

__all__ = [
    "Checkpoints",
    "Group",
    "MemoryStore",
    "RunKey",
    "RunTable",
    "Store",
    "StoredRun",
    "collect",
    "content_hash",
    "encode",
    "group",
    "load_runs",
    "read_sealed",
    "seal",
    "usual_grid",
]
