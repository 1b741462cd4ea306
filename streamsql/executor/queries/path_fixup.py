"""Repairs checkpoints that were moved.

Spark records the absolute paths of each state store's schemas: after a data folder was moved or
restored elsewhere, it would look in the old place.
"""

from __future__ import annotations

import json

from streamsql.errors import ExternalError
from streamsql.storage import location
from streamsql.storage.location import Location, entries
from streamsql.storage.store import SCHEME

_PATHS = "stateSchemaFilePaths"


def relocate(checkpoint: Location) -> None:
    """Make the recorded paths of a checkpoint point into it. ExternalError if one cannot be read or
    written."""
    for operator in entries(checkpoint / "state"):
        for note in entries(operator / "_metadata" / "v2"):
            if note.name.isdigit():
                _relocate(note, operator)


def _relocate(note: Location, operator: Location) -> None:
    found = location.read(note) or b""
    try:
        version, _, text = found.decode().partition("\n")
        content = json.loads(text)
        stores = content["stateStoreInfo"]
        changed = False
        for store in stores:
            paths = store.get(_PATHS, [])
            moved = [_moved(path, operator) for path in paths]
            if moved != paths:
                store[_PATHS], changed = moved, True
    except (ValueError, KeyError, TypeError, AttributeError):
        # An unknown form: Spark reports what is wrong with it.
        return
    if not changed:
        return
    try:
        location.write(note, f"{version}\n{json.dumps(content, separators=(',', ':'))}")
    except OSError as error:
        raise ExternalError(f"cannot write {note}: {error.strerror}") from error


def _moved(path: str, operator: Location) -> str:
    """The current path of the state operator's file."""
    scheme, colon, where = path.partition(":")
    head, found, inside = where.rpartition(f"/{operator.parent.name}/{operator.name}/")
    now = str(operator).removeprefix(f"{scheme}:")
    if scheme not in ("file", SCHEME) or not found or head == _above(now):
        return path
    return f"{scheme}{colon}{now}/{inside}"


def _above(operator: str) -> str:
    """The checkpoint of a state operator."""
    return operator.rsplit("/", 2)[0]
