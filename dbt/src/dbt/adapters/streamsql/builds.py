"""Has a model's definition be what runs: what is unchanged is left alone, what has changed goes
through the engine's plan and apply, and only a full refresh starts over.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.streamsql.client import Client, ServerError
from dbt.adapters.streamsql.definitions import VIEW, Definition, key_of, quoted

IN_PLACE = 2
"""The highest class of change that is carried out: see docs/changing.md."""
_NOT_THERE_YET = ("STARTING", "CATCHING_UP", "WAITING")


@dataclass(frozen=True)
class Run:
    """What a build has to know of the run that it is part of."""

    full_refresh: bool = False
    models: Mapping[str, bool] = field(default_factory=dict)
    """The other models that are run, by their names in SQL, and whether the topics of those that
    are recreated are deleted."""
    delete_topic: bool = True
    catch_up_seconds: float = 60.0


def build(client: Client, wanted: Definition, run: Run) -> str:
    """What was done, in a few words. ServerError for what cannot be: then nothing has changed, but
    that a view whose name it takes is gone, and in a full refresh what was dropped before it."""
    _make_way(client, wanted, run)
    changes = client.plan(wanted.sql, wanted.properties)
    item = _item_of(wanted, changes)
    if run.full_refresh and _starts_over(wanted, item):
        _drop(client, wanted, item, changes, run)
        item = _item_of(wanted, client.plan(wanted.sql, wanted.properties))
    _check(item)
    if item["action"] == "unchanged":
        done = "unchanged"
    else:
        said = client.apply(wanted.sql, wanted.properties)
        done = said[0].partition(f" {item['name']} ")[2] or said[0]
    if not wanted.is_query:
        return done
    return done + _catch_up(client, wanted, run.catch_up_seconds)


def _make_way(client: Client, wanted: Definition, run: Run) -> None:
    """A view is a name for a query: another thing may take its place. The other way round a query
    and its topic would go."""
    catalog = client.catalog()
    if wanted.kind != VIEW and wanted.key in catalog["views"]:
        client.execute(f"DROP VIEW {wanted.name};")
    elif wanted.kind == VIEW and wanted.key in catalog["sources"]:
        kind = catalog["sources"][wanted.key]["kind"]
        if not run.full_refresh:
            raise ServerError(
                f"{wanted.key} is a {kind.lower()}, and the model says that it is a view",
                hint="`dbt run --full-refresh` with this model drops it first.",
            )
        delete = " DELETE TOPIC" if run.delete_topic and _by_query(catalog, wanted.key) else ""
        client.execute(f"DROP {kind} {wanted.name}{delete};")


def _by_query(catalog: Mapping[str, Any], key: str) -> bool:
    return catalog["sources"].get(key, {}).get("created_by_query") is not None


def _item_of(wanted: Definition, changes: list[dict[str, Any]]) -> dict[str, Any]:
    """The plan of the model itself; ServerError where its text defines anything else."""
    defined = [change for change in changes if change["action"] != "not in the files"]
    for change in defined:
        if change["name"] != wanted.key:
            raise ServerError(
                f"the model {wanted.key} defines {change['kind']} {change['name']}",
                hint="A model is one definition, and its name is {{ this }}.",
            )
    if not defined:
        raise ServerError(f"the model {wanted.key} defines nothing")
    return defined[0]


def _starts_over(wanted: Definition, item: Mapping[str, Any]) -> bool:
    """Whether a full refresh drops it: what no query fills has nothing to compute again, and goes
    only where it cannot be changed."""
    if item["action"] == "created":
        return False
    return wanted.is_query or (item["change"] or 0) > IN_PLACE


def _check(item: Mapping[str, Any]) -> None:
    """ServerError for a change that is not carried out."""
    if (item["change"] or 0) <= IN_PLACE:
        return
    parts = [f"{part['clause']}: {part['text']}; {part['effect']}." for part in item["parts"]]
    kind, name = item["kind"], item["name"]
    readers = f" Its readers are {', '.join(item['readers'])}." if item["readers"] else ""
    raise ServerError(
        f"this change of {kind} {name} is of class {item['change']} ({item['meaning']}), and "
        "nothing has been changed",
        detail="\n".join(parts),
        hint=f"`dbt run --full-refresh --select {name.lower()}+` drops it and its readers, and "
        f"rebuilds them from their topics.{readers}",
    )


def _drop(
    client: Client,
    wanted: Definition,
    item: Mapping[str, Any],
    changes: list[dict[str, Any]],
    run: Run,
) -> None:
    """With all that reads it, which has to be run too: what reads before what is read."""
    models = {key_of(name): delete for name, delete in run.models.items()}
    others = [name for name in item["readers"] if name not in models]
    if others:
        raise ServerError(
            f"{item['name']} cannot be recreated: {', '.join(others)} read it, and are not part of "
            "this run",
            hint=f"`--select {item['name'].lower()}+` takes models in; anything else is dropped "
            "by hand first.",
        )
    catalog = client.catalog()
    going = {c["name"]: c["kind"] for c in changes if c["name"] in item["readers"]}
    going[wanted.key] = catalog["sources"][wanted.key]["kind"]
    deletes = {**models, wanted.key: run.delete_topic}
    for name, kind in going.items():
        topic = kind != "VIEW" and deletes[name] and _by_query(catalog, name)
        # Another model that is recreated at the same time may share a reader with it.
        client.execute(f"DROP {kind} IF EXISTS {quoted(name)}{' DELETE TOPIC' if topic else ''};")


def _catch_up(client: Client, wanted: Definition, seconds: float) -> str:
    """Wait until the model's query has read the present records, so that tests see its results;
    a message if it takes longer. ServerError where the query fails."""
    until = time.monotonic() + seconds
    pause = 0.1
    while seconds > 0:
        query = _query(client, wanted.key)
        if query is None or query["state"] not in (*_NOT_THERE_YET, "ERROR"):
            return ""
        if query["state"] == "ERROR":
            raise ServerError(f"the query {query['id']} failed: {query['error']}")
        if time.monotonic() > until:
            return f", still catching up ({query['lag'] or 'unknown'} records)"
        time.sleep(pause)
        pause = min(pause * 1.5, 2.0)
    return ""


def _query(client: Client, key: str) -> dict[str, Any] | None:
    made_by = client.catalog()["sources"].get(key, {}).get("created_by_query")
    return next((query for query in client.queries() if query["id"] == made_by), None)
