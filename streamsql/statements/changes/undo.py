"""Undo of the last applied set, as files with the previous definitions."""

from __future__ import annotations

from collections.abc import Sequence

from streamsql.errors import CatalogError, UnsupportedError
from streamsql.log.entries import Entry
from streamsql.nodes import ControlQuery, QueryAction
from streamsql.parser import parse_one
from streamsql.pipelines.lines import SESSION
from streamsql.run_script import NamedText
from streamsql.runtime.export import catalog_script

NAME = "previous definitions"
"""Name of the text in errors."""


def before_last_apply(entries: Sequence[Entry]) -> NamedText:
    """The definitions before the set; objects that are not among them were created by it.
    CatalogError if nothing was applied; UnsupportedError if other definitions followed."""
    sets = [number for number, entry in enumerate(entries) if entry.parts]
    if not sets:
        raise CatalogError("no changes have been applied, so there is nothing to undo")
    for entry in entries[sets[-1] + 1 :]:
        if _defines(entry):
            raise UnsupportedError(
                "the last apply cannot be undone: a later statement changed the catalog: "
                f"{entry.sql}",
                hint="Apply the previous version of the files instead.",
            )
    return NamedText(NAME, catalog_script(entries[: sets[-1]]))


def _defines(entry: Entry) -> bool:
    if entry.is_row:
        return False
    statement = parse_one(entry.sql)
    if isinstance(statement, ControlQuery):
        return statement.action is QueryAction.TERMINATE
    return not isinstance(statement, SESSION)
