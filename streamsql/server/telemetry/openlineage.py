"""Reports queries and column lineage to a lineage backend (Marquez, DataHub, ..).

A persistent query is a job of the type STREAMING, and each execution on this server is a run. A run
starts when the query first reads records, fails with the query, completes when the query is
dropped, terminated or replaced, and is aborted when this server ends or another one runs the query.
(OpenLineage's specification 2-0-2, "Object Model": https://openlineage.io/docs/spec/object-model)
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol
from urllib.parse import urlsplit

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import (
    InputDataset,
    Job,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
)
from openlineage.client.facet_v2 import (
    DatasetFacet,
    RunFacet,
    column_lineage_dataset,
    error_message_run,
    job_type_job,
    schema_dataset,
    sql_job,
)
from openlineage.client.uuid import generate_new_uuid

from streamsql.api.facts import ColumnOrigin, LineageFacts, SourceFacts
from streamsql.status import QueryInfo, QueryState
from streamsql.types import to_sql
from streamsql.version import VERSION

LOOK_SECONDS = 1.0
CLOSE_SECONDS = 5.0
TIMEOUT_SECONDS = 5.0
PRODUCER = f"urn:streamsql:{VERSION}"
_log = logging.getLogger("streamsql.server")
_READS = (QueryState.CATCHING_UP, QueryState.RUNNING)


class Described(Protocol):
    """The required part of an engine's inspection."""

    def infos(self) -> Sequence[QueryInfo]: ...

    def lineage(self, query_id: str) -> LineageFacts | None: ...

    def sources(self) -> Sequence[SourceFacts]: ...

    def bootstrap_servers(self) -> str | None: ...


@dataclass(frozen=True)
class _Told:
    """A started run; its final events repeat its inputs and outputs."""

    sql: str
    run: str
    job: Job
    inputs: list[InputDataset]
    outputs: list[OutputDataset]


class LineageReporter:
    """Polls the queries every second in a thread, and reports changes. Failed reports are retried
    at the next poll, and logged once."""

    def __init__(self, described: Described, url: str, namespace: str) -> None:
        """`url` is the backend's, `namespace` that of the jobs; OPENLINEAGE_NAMESPACE and
        OPENLINEAGE_API_KEY are read as by other clients."""
        self._described = described
        self._namespace = os.environ.get("OPENLINEAGE_NAMESPACE", namespace)
        self._client = OpenLineageClient(config={"transport": _transport(url)})
        self._told: dict[str, _Told] = {}
        self._failed: dict[str, str] = {}
        self._reachable = True
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="openlineage", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Reports the end of all runs, within a few seconds."""
        self._closing.set()
        self._thread.join(CLOSE_SECONDS)

    def _watch(self) -> None:
        while not self._closing.wait(LOOK_SECONDS):
            self._attempt(self.look)
        self._attempt(self.abort)

    def _attempt(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:
            if self._reachable:
                _log.warning("cannot report lineage: %s", error)
            self._reachable = False
        else:
            self._reachable = True

    def look(self) -> None:
        """Reports changes since the last poll; raises the client's errors."""
        infos = {i.id: i for i in self._described.infos() if i.kind == "PERSISTENT"}
        for query_id, told in [*self._told.items()]:
            info = infos.get(query_id)
            if info is None or info.sql != told.sql:
                self._end(query_id, RunState.COMPLETE)
            elif info.state is QueryState.STANDBY:
                self._end(query_id, RunState.ABORT)
        for info in infos.values():
            if info.state in _READS:
                self._failed.pop(info.id, None)
                self._begin(info)
            elif info.state is QueryState.ERROR and self._failed.get(info.id) != info.error:
                self._begin(info)
                self._end(info.id, RunState.FAIL, info.error or "unknown")
                self._failed[info.id] = info.error or "unknown"

    def abort(self) -> None:
        for query_id in [*self._told]:
            self._end(query_id, RunState.ABORT)

    def _begin(self, info: QueryInfo) -> None:
        if info.id in self._told:
            return
        facts, servers = self._described.lineage(info.id), self._described.bootstrap_servers()
        if facts is None or servers is None:
            return
        datasets = _Datasets(servers, self._described.sources())
        job = Job(
            self._namespace,
            info.id,
            {
                "jobType": job_type_job.JobTypeJobFacet("STREAMING", "STREAMSQL", "QUERY"),
                "sql": sql_job.SQLJobFacet(info.sql),
            },
        )
        told = _Told(
            info.sql,
            str(generate_new_uuid()),
            job,
            [datasets.input(source) for source in dict.fromkeys(facts.reads)],
            [datasets.output(facts)],
        )
        self._emit(told, RunState.START, {})
        self._told[info.id] = told

    def _end(self, query_id: str, how: RunState, error: str | None = None) -> None:
        facets: dict[str, RunFacet] = {}
        if error is not None:
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(error, "SQL")
        told = self._told.get(query_id)
        if told is not None:
            self._emit(told, how, facets)
            del self._told[query_id]

    def _emit(self, told: _Told, state: RunState, facets: dict[str, RunFacet]) -> None:
        self._client.emit(
            RunEvent(
                eventTime=datetime.now(UTC).isoformat(),
                eventType=state,
                run=Run(told.run, facets),
                job=told.job,
                inputs=told.inputs,
                outputs=told.outputs,
                producer=PRODUCER,
            )
        )


class _Datasets:
    """Streams and tables as datasets: their topics."""

    def __init__(self, servers: str, sources: Iterable[SourceFacts]) -> None:
        self._namespace = f"kafka://{servers.split(',')[0].strip()}"
        self._sources: Mapping[str, SourceFacts] = {source.name: source for source in sources}

    def named(self, source: str) -> tuple[str, str]:
        """Namespace and name. (https://openlineage.io/docs/spec/naming: Kafka)"""
        found = self._sources.get(source)
        if found is not None and found.looked_up is not None:
            return _outside(found.looked_up, found.looked_up_table)
        return self._namespace, source if found is None else found.topic

    def schema(self, source: str) -> dict[str, DatasetFacet]:
        found = self._sources.get(source)
        if found is None:
            return {}
        fields = [
            schema_dataset.SchemaDatasetFacetFields(column.name, to_sql(column.type))
            for column in found.schema
        ]
        return {"schema": schema_dataset.SchemaDatasetFacet(fields)}

    def input(self, source: str) -> InputDataset:
        return InputDataset(*self.named(source), facets=self.schema(source))

    def output(self, facts: LineageFacts) -> OutputDataset:
        fields = {
            name: column_lineage_dataset.Fields([self._field(origin) for origin in origins])
            for name, origins in facts.columns.items()
        }
        rows = [self._field(origin) for origin in facts.rows]
        columns = column_lineage_dataset.ColumnLineageDatasetFacet(fields, rows)
        facets = {**self.schema(facts.sink), "columnLineage": columns}
        return OutputDataset(*self.named(facts.sink), facets=facets)

    def _field(self, origin: ColumnOrigin) -> column_lineage_dataset.InputField:
        kind = "DIRECT" if origin.direct else "INDIRECT"
        how = column_lineage_dataset.Transformation(kind, origin.transformation)
        return column_lineage_dataset.InputField(*self.named(origin.source), origin.column, [how])


def _outside(place: str, table: str | None) -> tuple[str, str]:
    """A file, or a table of PostgreSQL. (https://openlineage.io/docs/spec/naming)"""
    if table is None:
        found = urlsplit(place)
        if not found.netloc:
            return "file", place
        return f"{found.scheme}://{found.netloc}", found.path
    found = urlsplit(place.removeprefix("jdbc:"))
    name = table.replace('"', "")
    name = name if "." in name else f"public.{name}"
    host = found.netloc if ":" in found.netloc else f"{found.netloc}:5432"
    return f"postgres://{host}", f"{found.path.strip('/')}.{name}"


def _transport(url: str) -> dict[str, object]:
    """Without retries: the next poll retries."""
    found: dict[str, object] = {
        "type": "http",
        "url": url,
        "timeout": TIMEOUT_SECONDS,
        "retry": {"total": 0, "connect": 0, "read": 0},
    }
    key = os.environ.get("OPENLINEAGE_API_KEY")
    if key:
        found["auth"] = {"type": "api_key", "api_key": key}
    return found
