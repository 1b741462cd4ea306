"""What the last set of statements that was applied has found: files that say so take it back."""

from __future__ import annotations

from collections.abc import Sequence

from streamsql.errors import CatalogError, UnsupportedError
from streamsql.log.entries import Entry
from streamsql.nodes import ControlQuery, QueryAction
from streamsql.parser import parse_one
from streamsql.run_script import NamedText
from streamsql.runtime.export import catalog_script
from streamsql.statements.files.lines import SESSION

NAME = "what was there before"
"""What errors call the text."""


def before_last_apply(entries: Sequence[Entry]) -> NamedText:
    """All that there was before it, as statements; what is not in them is what it has made.

    CatalogError where nothing was ever applied; UnsupportedError where other definitions have come
    since, which would be taken back with it.
    """
    sets = [number for number, entry in enumerate(entries) if entry.parts]
    if not sets:
        raise CatalogError("nothing has been applied: there is nothing to take back")
    for entry in entries[sets[-1] + 1 :]:
        if _defines(entry):
            raise UnsupportedError(
                f"the last apply cannot be taken back: since then came {entry.sql}",
                hint="Apply the files as they were before it.",
            )
    return NamedText(NAME, catalog_script(entries[: sets[-1]]))


def _defines(entry: Entry) -> bool:
    if entry.is_row:
        return False
    statement = parse_one(entry.sql)
    if isinstance(statement, ControlQuery):
        return statement.action is QueryAction.TERMINATE
    return not isinstance(statement, SESSION)
