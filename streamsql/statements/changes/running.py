"""The running pipeline, from a log, without an engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from streamsql.catalog import Catalog
from streamsql.log.entries import Entry
from streamsql.parser import canonical
from streamsql.pipelines.running import Done, Running, RunningQuery
from streamsql.planner.processing_log import declare
from streamsql.registry.lookup import RememberedSchemas
from streamsql.runtime.replay import Replay


def running_of_log(entries: Iterable[Entry]) -> Running:
    """From a statement log; InternalError if it cannot be replayed."""
    replay = Replay(Catalog())
    declare(replay.catalog)
    told: dict[str, Mapping[str, object] | None] = {}
    done: dict[str, Done] = {}
    for each in (statement for entry in entries for statement in entry.statements):
        effect = replay.add(each)
        told.update(each.schemas)
        if effect is not None:
            done[canonical(effect[0])] = Done(effect[1], each.properties)
    schemas = RememberedSchemas(told) if told else None
    return replace(running_of_replay(replay), schemas=schemas, done=done)


def running_of_replay(replay: Replay) -> Running:
    queries = {
        query_id: RunningQuery(known.definition.sql, known.definition.plan)
        for query_id, known in replay.queries.items()
    }
    return Running(replay.catalog, queries, replay.properties)
