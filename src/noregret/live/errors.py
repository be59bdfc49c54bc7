"""What a live learner raises besides InputError, each with the status that the server answers with."""

from __future__ import annotations

from noregret.errors import ConflictError, FileError, InputError


class UnknownError(InputError):
    """An episode or decision that nobody knows."""


class GoneError(InputError):
    """An episode that is over: it was learned, or closed because nothing came any more."""


class StorageError(FileError):
    """The database cannot take anything now; nothing was changed."""


def status_of(error: BaseException) -> int:
    """The HTTP status of an error."""
    kinds = ((ConflictError, 409), (UnknownError, 404), (GoneError, 410), (StorageError, 503), (InputError, 422))
    return next((status for kind, status in kinds if isinstance(error, kind)), 500)
