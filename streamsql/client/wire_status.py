"""How an engine is, as JSON, and back: what the status line of a shell elsewhere shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from streamsql.client.wire_errors import decode_error, encode_error
from streamsql.status import QueryInfo, QueryState, StartupStatus, StartupStep, StepState

JSON = dict[str, Any]


def encode_status(status: StartupStatus, queries: Iterable[QueryInfo]) -> JSON:
    """The start-up's steps and the queries."""
    return {
        "steps": [[s.name, s.state.value, s.detail, s.fraction] for s in status.steps],
        "error": encode_error(status.error, "") if status.error else None,
        "queries": [{**asdict(query), "state": query.state.value} for query in queries],
    }


def decode_status(given: Mapping[str, Any]) -> tuple[StartupStatus, list[QueryInfo]]:
    """The inverse of `encode_status`."""
    steps = (
        StartupStep(name, StepState(state), detail, fraction)
        for name, state, detail, fraction in given["steps"]
    )
    error = decode_error(given["error"]) if given["error"] else None
    return StartupStatus(tuple(steps), error), [_query(query) for query in given["queries"]]


def _query(given: JSON) -> QueryInfo:
    known = {name: given[name] for name in QueryInfo.__dataclass_fields__ if name in given}
    return QueryInfo(**{**known, "state": QueryState(given["state"])})
