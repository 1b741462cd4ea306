"""Statement files that the console opens and saves in a folder of the server: `streamsql server
--scripts DIR`.

Only .sql files directly in the folder: names contain no path, and links are not followed. Everyone
can open, developers can save. A file is written atomically, and only over the version that was
opened.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql.roles import Role, allowed_by_role
from streamsql.server.http.errors import BAD_REQUEST, FORBIDDEN, NOT_FOUND, RequestError
from streamsql.server.http.media import check_content_type
from streamsql.server.http.requests import as_object, parse_json, read_body
from streamsql.server.state.server_state import ServerState, state_of

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\- ]{0,120}\.sql")
MAX_LISTED = 1_000
NEW_MODE = 0o640
_NONE = "scripts are not enabled: use streamsql server --scripts DIR"

_SAVING = threading.Lock()
"""Held from the check of a file's version until its replacement."""


@dataclass(frozen=True)
class Script:
    """The current state of a file."""

    name: str
    sql: str
    mode: int = NEW_MODE

    @property
    def version(self) -> str:
        """Identifies the text."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "sql": self.sql, "version": self.version}


class Scripts:
    """The scripts of a folder."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        self._folder = folder
        self._max_bytes = max_bytes

    def names(self) -> list[str]:
        """Sorted; RequestError if the folder cannot be read."""
        try:
            found = sorted(
                entry.name
                for entry in os.scandir(self._folder)
                if NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            )
        except OSError as error:
            raise RequestError(NOT_FOUND, f"the scripts cannot be read: {error.strerror}") from None
        return found[:MAX_LISTED]

    def open(self, name: str) -> Script:
        """RequestError if it does not exist, or is not text."""
        found = self._read(_checked(name))
        if found is None:
            raise RequestError(NOT_FOUND, f"unknown script {name}")
        return found

    def save(self, name: str, sql: str, over: str | None) -> Script:
        """Writes a script over the opened version, or a new one. RequestError for another version,
        or on failure."""
        with _SAVING:
            now = self._read(_checked(name))
            if (now.version if now else None) != over:
                text = "has changed since it was opened" if now and over else "already exists"
                text = text if now else "no longer exists"
                raise RequestError(BAD_REQUEST, f"the script {name} {text}")
            saved = Script(name, sql, now.mode if now else NEW_MODE)
            self._write(saved)
            return saved

    def _write(self, script: Script) -> None:
        new = self._folder / f".{script.name}.new"
        try:
            new.unlink(missing_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            number = os.open(new, flags, NEW_MODE)
            with os.fdopen(number, "w", encoding="utf-8", newline="") as file:
                os.fchmod(number, script.mode)
                file.write(script.sql)
                file.flush()
                os.fsync(number)
            os.replace(new, self._folder / script.name)
        except OSError as error:
            said = f"the script {script.name} cannot be written: {error.strerror}"
            raise RequestError(BAD_REQUEST, said) from None

    def _read(self, name: str) -> Script | None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            # Opened by descriptor: `open` would leak it for a folder.
            number = os.open(self._folder / name, flags)
            try:
                mode = os.fstat(number).st_mode
                with open(number, encoding="utf-8", newline="", closefd=False) as file:
                    sql = file.read(self._max_bytes + 1)
            finally:
                os.close(number)
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError):
            raise RequestError(BAD_REQUEST, f"the script {name} cannot be read") from None
        if len(sql) > self._max_bytes:
            raise RequestError(BAD_REQUEST, f"the script {name} is too large")
        return Script(name, sql, stat.S_IMODE(mode))


def _checked(name: str) -> str:
    if not NAME.fullmatch(name):
        said = "script names consist of letters, digits, spaces, _, - and dots, and end with .sql"
        raise RequestError(BAD_REQUEST, said)
    return name


def _scripts(state: ServerState) -> Scripts:
    folder = state.config.scripts
    if folder is None:
        raise RequestError(NOT_FOUND, _NONE)
    return Scripts(folder, state.config.max_statement_bytes)


async def listing(request: Request) -> Response:
    state = state_of(request)
    opens = state.config.scripts is not None
    names = await state.run(_scripts(state).names) if opens else []
    saves = opens and allowed_by_role(Role.DEVELOPER)
    return JSONResponse({"opens": opens, "saves": saves, "scripts": names})


async def script(request: Request) -> Response:
    scripts, name = _scripts(state_of(request)), request.path_params["name"]
    found = await state_of(request).run(lambda: scripts.open(name))
    return JSONResponse(found.to_json(), headers={"Cache-Control": "no-store"})


async def save(request: Request) -> Response:
    """POST {sql, version}; version of the opened script, null for a new one."""
    check_content_type(request)
    state, name = state_of(request), request.path_params["name"]
    scripts = _scripts(state)
    if not allowed_by_role(Role.DEVELOPER):
        raise RequestError(FORBIDDEN, f"saving a script requires the role {Role.DEVELOPER.value}")
    body = await read_body(request, state.config.max_statement_bytes)
    given = as_object(parse_json(body), "the request")
    sql, version = given.get("sql"), given.get("version")
    if not isinstance(sql, str) or not isinstance(version, str | None):
        raise RequestError(BAD_REQUEST, 'a script requires a text "sql", and a "version" or null')
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise RequestError(BAD_REQUEST, '"sql" is not a text') from None
    saved = await state.run(lambda: scripts.save(name, sql, version))
    return JSONResponse({"name": saved.name, "version": saved.version})


ROUTES = [
    Route("/streamsql/scripts", listing, methods=["GET"]),
    Route("/streamsql/scripts/{name}", script, methods=["GET"]),
    Route("/streamsql/scripts/{name}", save, methods=["POST"]),
]
