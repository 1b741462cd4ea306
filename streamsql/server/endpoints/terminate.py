"""POST /ksql/terminate: removes all queries, streams and tables of a service, and optionally the
topics of its queries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from streamsql.api.inspection import Inspection
from streamsql.engine import Engine
from streamsql.ksqldb import says
from streamsql.server.http.errors import BAD_REQUEST, RequestError
from streamsql.server.http.media import JSON, KSQL_JSON, accepted, check_content_type
from streamsql.server.http.requests import as_object, parse_json, read_body
from streamsql.server.state.command_statuses import CommandStatus
from streamsql.server.state.server_state import state_of
from streamsql.types import quote

COMMAND_ID = "cluster/TerminateCluster/terminate"
STATEMENT = "TERMINATE CLUSTER;"


async def terminate(request: Request) -> Response:
    """The endpoint; the server continues with an empty catalog."""
    media = accepted(request, (KSQL_JSON, JSON))
    check_content_type(request)
    state = state_of(request)
    body = parse_json(await read_body(request, state.config.max_request_bytes) or b"{}")
    patterns = _patterns(as_object(body, "the request").get("deleteTopicList"))
    await state.run(lambda: terminate_all(state.engine, patterns))
    sequence = await state.run(lambda: state.engine.inspection.sequence)
    status = CommandStatus("SUCCESS", "Cluster terminated.")
    state.commands.put(COMMAND_ID, status)
    entity: dict[str, Any] = {
        "@type": "currentStatus",
        "statementText": STATEMENT,
        "commandId": COMMAND_ID,
        "commandStatus": status.to_json(),
        "commandSequenceNumber": sequence,
        "warnings": [],
    }
    return JSONResponse([entity], media_type=media)


def _patterns(given: object) -> list[re.Pattern[str]]:
    """Names or regular expressions of topics; RequestError if invalid."""
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise RequestError(BAD_REQUEST, "deleteTopicList is not a list of texts")
    return [_pattern(name) for name in given]


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise RequestError(
            BAD_REQUEST,
            f"Invalid pattern in deleteTopicList: {error}",
            ksqldb=says("delete-pattern", pattern=text),
        ) from None


def terminate_all(engine: Engine, delete: Sequence[re.Pattern[str]] = ()) -> None:
    """Ends and removes everything; of the topics, only those of queries are deleted."""
    for statement in list(_statements(engine.inspection, delete)):
        for _ in engine.execute(statement):
            pass


def _statements(engine: Inspection, delete: Sequence[re.Pattern[str]]) -> Iterator[str]:
    if any(source.writers for source in engine.sources()):
        yield "TERMINATE ALL;"
    for view in reversed(engine.views()):
        yield f"DROP VIEW IF EXISTS {quote(view.name)} CASCADE;"
    # Readers of a source were created after it.
    for source in reversed(engine.sources()):
        if source.built_in:
            continue
        own = source.created_by is not None
        wanted = own and any(pattern.fullmatch(source.topic) for pattern in delete)
        kind = source.kind.value
        tail = " DELETE TOPIC" if wanted else ""
        yield f"DROP {kind} IF EXISTS {quote(source.name)}{tail};"


ROUTES = [Route("/ksql/terminate", terminate, methods=["POST"])]
