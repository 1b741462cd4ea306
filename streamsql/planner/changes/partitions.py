"""Whether the topic of a query's result can get more partitions."""

from __future__ import annotations

from streamsql.catalog import Catalog, Source
from streamsql.schema import Kind


def growth_obstacle(source: Source, catalog: Catalog) -> str | None:
    """The reason why its topic cannot get more partitions; None: it can. Records of a key may then
    move to another partition than earlier ones, so no reader may rely on the key."""
    if source.kind is Kind.TABLE:
        return (
            "a key's next row may be in another partition than its last one, which would stay: "
            "DROP it with DELETE TOPIC and create it again"
        )
    name = source.topic.name
    over = [other for other in catalog.sources.values() if other.topic.name == name]
    for other in over:
        if other.kind is Kind.TABLE:
            return f"{other.name} is a table over this topic: {_INSTEAD}"
    return _reader_by_key([other.name for other in over], catalog)


_INSTEAD = "write another stream with that many partitions, and make its readers use it"


def _reader_by_key(names: list[str], catalog: Catalog) -> str | None:
    """The obstacle from the first reader by key downstream."""
    todo, seen = list(names), set(names)
    while todo:
        name = todo.pop(0)
        for query_id in catalog.readers(name):
            links = catalog.queries[query_id]
            if name in links.by_key:
                return (
                    f"{query_id} joins {name}, or groups it by its key, whose rows "
                    f"have to be in one partition: {_INSTEAD}"
                )
            if name in links.hands_on and links.writes not in seen:
                seen.add(links.writes)
                todo.append(links.writes)
    return None
