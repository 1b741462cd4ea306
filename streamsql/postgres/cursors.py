"""The cursors of a session: named results that are fetched in parts."""

from __future__ import annotations

from streamsql.postgres.errors import NO_SUCH_CURSOR, PgError
from streamsql.postgres.results import Results


class Cursors:
    """By name; DECLARE opens one, CLOSE or the end of its transaction closes it."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[Results, bool]] = {}

    def add(self, name: str, results: Results, *, held: bool) -> None:
        """Adds a cursor; `held`: it survives the transaction."""
        self._open[name] = (results, held)

    def check_free(self, name: str) -> None:
        """PgError if the name is taken."""
        if name in self._open:
            raise PgError("42P03", f'cursor "{name}" already exists')

    def get(self, name: str) -> Results:
        if name not in self._open:
            raise PgError(NO_SUCH_CURSOR, f'cursor "{name}" does not exist')
        return self._open[name][0]

    @property
    def names(self) -> list[str]:
        return list(self._open)

    def close(self, name: str) -> None:
        self.get(name).close()
        del self._open[name]

    def end_transaction(self) -> None:
        """Closes those that do not survive it."""
        for name in [name for name, (_, held) in self._open.items() if not held]:
            self.close(name)

    def close_all(self) -> None:
        for name in list(self._open):
            self.close(name)
