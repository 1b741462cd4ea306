"""Endpoints of pipeline files: plan and apply. Each statement requires its own role; an apply is
atomic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from streamsql.api.applying import Changes
from streamsql.api.changing import ChangePlan
from streamsql.client.handover import Handover
from streamsql.client.wire import to_line
from streamsql.results import Result
from streamsql.run_script import NamedText
from streamsql.server.endpoints.execution import Execution
from streamsql.server.endpoints.native import LinesResponse
from streamsql.server.http.errors import BAD_REQUEST, RequestError
from streamsql.server.http.requests import (
    as_object,
    optional_object,
    parse_json,
    read_body,
    request_session,
)
from streamsql.server.state.server_state import ServerState, state_of
from streamsql.session import Session

ACTIONS = ("undo", "promote", "discard")
_TOO_LARGE = "Independent files can be applied separately."


@dataclass(frozen=True)
class FilesRequest:
    """Body of both: {files: [{name, sql}], properties, sessionVariables, prune, partial,
    fromWhatIsLeft, stage}, or {undo: true, fromWhatIsLeft}, or {promote: true} or {discard:
    true}."""

    files: tuple[NamedText, ...]
    action: str | None
    """One of ACTIONS instead of files."""
    stage: bool
    properties: Mapping[str, Any]
    variables: Mapping[str, Any]
    prune: bool
    partial: bool
    from_what_is_left: bool

    @staticmethod
    def of(body: object) -> FilesRequest:
        """From a parsed body; RequestError if invalid."""
        given = as_object(body, "the request")
        files, actions = given.get("files", []), [a for a in ACTIONS if _flag(given, a)]
        prune, partial = _flag(given, "prune"), _flag(given, "partial")
        if not isinstance(files, list) or bool(files) + len(actions) != 1:
            instead = ", ".join(f'"{action}"' for action in ACTIONS)
            raise RequestError(
                BAD_REQUEST, f'the request requires a list of "files", or one of {instead} alone'
            )
        if prune and partial:
            raise RequestError(
                BAD_REQUEST, 'partial files ("partial") cannot be combined with "prune"'
            )
        return FilesRequest(
            tuple(map(_file, files)),
            actions[0] if actions else None,
            _flag(given, "stage"),
            optional_object(given.get("properties"), "properties"),
            optional_object(given.get("sessionVariables"), "sessionVariables"),
            prune,
            partial,
            _flag(given, "fromWhatIsLeft"),
        )

    def session(self, server: Session) -> Session:
        return request_session(server, self.properties, self.variables)


def _flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise RequestError(BAD_REQUEST, f'"{name}" must be true or false')
    return value


def _file(given: object) -> NamedText:
    file = as_object(given, "a file")
    name, sql = file.get("name"), file.get("sql")
    if not isinstance(name, str) or not isinstance(sql, str):
        raise RequestError(BAD_REQUEST, 'a file requires a "name" and a text "sql"')
    return NamedText(name, sql)


async def plan(request: Request) -> Response:
    """POST: the changes, as `streamsql plan --json` prints them."""
    state, given, session = await _request(request)
    if given.action not in (None, "undo"):
        raise RequestError(
            BAD_REQUEST, f'"{given.action}" has no plan: the change was planned when it was staged'
        )

    def found() -> ChangePlan:
        changes = state.engine.changes
        if given.action == "undo":
            return changes.plan_undo(session)
        return changes.plan(given.files, prune=given.prune, partial=given.partial, session=session)

    body = to_line((await state.run(found)).to_json())
    return Response(body, media_type="application/json")


async def apply(request: Request) -> Response:
    """POST: messages as lines, like those of /streamsql/execute."""
    state, given, session = await _request(request)
    outbox: Handover[bytes] = Handover(state.config.push_buffer_rows)

    def results() -> Iterator[Result]:
        return iter(_done(state.engine.changes, given, session))

    execution = Execution(results, "", session, outbox, state.running, state.work)
    return LinesResponse(execution, outbox)


def _done(changes: Changes, given: FilesRequest, session: Session) -> list[Result]:
    left = given.from_what_is_left
    match given.action:
        case "undo":
            return changes.undo(session, from_what_is_left=left)
        case "promote":
            return changes.promote(session)
        case "discard":
            return changes.discard(session)
    carry_out = changes.stage if given.stage else changes.apply
    return carry_out(
        given.files,
        prune=given.prune,
        partial=given.partial,
        session=session,
        from_what_is_left=left,
    )


async def _request(request: Request) -> tuple[ServerState, FilesRequest, Session]:
    state = state_of(request)
    body = await read_body(request, state.config.max_statement_bytes, _TOO_LARGE)
    given = FilesRequest.of(parse_json(body))
    return state, given, given.session(state.engine.session)


ROUTES = [
    Route("/streamsql/plan", plan, methods=["POST"]),
    Route("/streamsql/apply", apply, methods=["POST"]),
]
