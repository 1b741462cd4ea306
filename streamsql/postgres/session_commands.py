"""Session statements: settings, transactions, cursors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from streamsql.postgres.client import Client
from streamsql.postgres.errors import NOT_SUPPORTED, PgError
from streamsql.postgres.forms import AsTheyAre
from streamsql.postgres.prepared import Prepared
from streamsql.postgres.sql import commands
from streamsql.postgres.sql.texts import Piece

Rows = Sequence[tuple[object, ...]]


class Talk(Protocol):
    """A command's interface to the message exchange."""

    def remark(self, text: str, severity: str = "NOTICE") -> None: ...

    def forget(self, name: str | None) -> None: ...

    def report(self) -> None:
        """Reports changed settings to the client."""
        ...


async def run_command(
    command: commands.Command, prepared: Prepared, client: Client, talk: Talk
) -> tuple[str, Rows]:
    """Runs it; returns CommandComplete's tag, and rows if there are any."""
    match command:
        case commands.Transaction(action, of_one_moment):
            tag, remarks = await client.transaction(action, of_one_moment=of_one_moment)
            for remark in remarks:
                talk.remark(remark.text, remark.severity)
            return tag, ()
        case commands.SetTo(name, value):
            if notice := client.set(name, value):
                talk.remark(notice)
            talk.report()
            return "SET", ()
        case commands.ShowSetting(name):
            return "SHOW", [(client.settings.get(name),)]
        case commands.Reset(name):
            _reset(name, client)
            talk.report()
            return "RESET", ()
        case commands.Nothing(tag, notice):
            if notice is not None:
                talk.remark(notice)
            return tag, ()
        case commands.Forget(name):
            talk.forget(name)
            return "DEALLOCATE" if name else "DEALLOCATE ALL", ()
        case commands.CloseCursor(name):
            if name is None:
                client.cursors.close_all()
            else:
                client.cursors.close(name)
            return "CLOSE CURSOR" if name else "CLOSE CURSOR ALL", ()
        case commands.Discard(what):
            if what == "ALL":
                client.cursors.close_all()
                talk.forget(None)
                _reset(None, client)
                talk.report()
            return f"DISCARD {what}", ()
        case commands.Declare():
            await _declare(command, prepared, client)
            return "DECLARE CURSOR", ()
    raise PgError(NOT_SUPPORTED, f"{prepared.tag} is not supported here")


def _reset(name: str | None, client: Client) -> None:
    if name is None:
        client.settings.reset()
    else:
        client.settings.set(name, None)


async def _declare(command: commands.Declare, prepared: Prepared, client: Client) -> None:
    client.cursors.check_free(command.name)
    start = prepared.piece.start + command.offset
    query = await client.prepare(Piece(command.query, start))
    if query.tag != "SELECT":
        raise PgError("42601", "a cursor is over a SELECT")
    results = await client.start(query, (), AsTheyAre())
    results.park()
    client.cursors.add(command.name, results, held=command.hold)
