"""More partitions of the topic that a query fills: whether that can be, and why not."""

from __future__ import annotations

from streamsql.catalog import Catalog, Source
from streamsql.schema import Kind


def growth_obstacle(source: Source, catalog: Catalog) -> str | None:
    """Why its topic cannot get more partitions, in words; None: it can. From then on records of a
    key may come to another partition than those that are there, so nobody may rely on that."""
    if source.kind is Kind.TABLE:
        return (
            "a key's last row would stay in the partition that it is in, beside its next one: "
            "DROP it with DELETE TOPIC and create it again"
        )
    name = source.topic.name
    over = [other for other in catalog.sources.values() if other.topic.name == name]
    for other in over:
        if other.kind is Kind.TABLE:
            return f"{other.name} is a table of its records, a key's last one its row: {_INSTEAD}"
    return _reader_by_key([other.name for other in over], catalog)


_INSTEAD = "write another stream with so many, and have those read that"


def _reader_by_key(names: list[str], catalog: Catalog) -> str | None:
    """The first query further down that is in the way."""
    todo, seen = list(names), set(names)
    while todo:
        name = todo.pop(0)
        for query_id in catalog.readers(name):
            links = catalog.queries[query_id]
            if name in links.by_key:
                return (
                    f"{query_id} joins the rows of {name}, or takes them by their key, whose rows "
                    f"are to be in one partition: {_INSTEAD}"
                )
            if name in links.hands_on and links.writes not in seen:
                seen.add(links.writes)
                todo.append(links.writes)
    return None
