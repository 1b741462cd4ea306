"""Checkpoints that lie elsewhere than where Spark has written them.

Spark notes for each state store where its schemas are, by their whole paths: a data folder that was
moved, or came back from a backup in another place, would be looked for where it was.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from streamsql.errors import ExternalError

_PATHS = "stateSchemaFilePaths"


def relocate(checkpoint: Path) -> None:
    """Have the notes of a checkpoint point into it. ExternalError where one cannot be written."""
    for note in checkpoint.glob("state/*/_metadata/v2/*"):
        if note.name.isdigit():
            _relocate(note, checkpoint / "state" / note.parents[2].name)


def _relocate(note: Path, operator: Path) -> None:
    try:
        version, _, text = note.read_text("utf-8").partition("\n")
        content = json.loads(text)
        stores = content["stateStoreInfo"]
        changed = False
        for store in stores:
            paths = store.get(_PATHS, [])
            moved = [_moved(path, operator) for path in paths]
            if moved != paths:
                store[_PATHS], changed = moved, True
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # Not of the form that is known: Spark says what is wrong with it.
        return
    if not changed:
        return
    new = note.with_name(f".{note.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(f"{version}\n{json.dumps(content, separators=(',', ':'))}")
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, note)
    except OSError as error:
        raise ExternalError(f"cannot write {note}: {error.strerror}") from error


def _moved(path: str, operator: Path) -> str:
    """The same file of the state operator, where that is now."""
    scheme, colon, place = path.partition(":")
    head, found, inside = place.rpartition(f"/{operator.parent.name}/{operator.name}/")
    if scheme != "file" or not found or head == str(operator.parent.parent):
        return path
    return f"{scheme}{colon}{operator}/{inside}"
