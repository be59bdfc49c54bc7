"""Runs on disk: one trial, one folder, whole or absent. Nothing here runs a learner, and nothing loads pickle."""

from noregret.store.checkpoints import Checkpoints
from noregret.store.folder import Store, StoredRun
from noregret.store.groups import Group, group
from noregret.store.identity import RunKey, content_hash, usual_grid
from noregret.store.table import RunTable, load_runs

__all__ = [
    "Checkpoints", "Group", "RunKey", "RunTable", "Store", "StoredRun", "content_hash", "group", "load_runs", "usual_grid",
]  # fmt: skip
