"""Look-ups in words, as EXPLAIN and DESCRIBE show them: without secrets."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.catalog import Lookup
from streamsql.planner.plans.lookups.join import LookupJoin
from streamsql.planner.plans.windows import duration, words
from streamsql.planner.scopes.text import expression_text
from streamsql.types import quote


def lookup_text(plan: LookupJoin) -> str:
    """`INNER in T AS X ON S.A = X.ID`."""
    source = quote(plan.lookup.name)
    alias = f" AS {quote(plan.alias)}" if plan.alias != plan.lookup.name else ""
    pairs = zip(plan.keys, plan.lookup.schema.key, strict=True)
    met = " AND ".join(f"{expression_text(e)} = {plan.alias}.{key.name}" for e, key in pairs)
    if plan.condition is not None:
        met += f" AND {expression_text(plan.condition)}"
    return f"{plan.type.value} in {source}{alias} ON {met}"


def lookup_line(plan: LookupJoin) -> str:
    """The same, and where that is."""
    assert plan.lookup.lookup is not None
    return f"{lookup_text(plan)}: {place_text(plan.lookup.lookup)}"


def lookup_facts(lookup: Lookup) -> Mapping[str, str]:
    """Where the rows are and how they are asked for, by what says so; empty: nothing does."""
    ttl = words(duration(lookup.ttl_ms))
    if lookup.connection == "FILE":
        return {
            "Connection": "FILE",
            "Path": lookup.place,
            "Format": lookup.format,
            "Cache": f"all rows; looked at for changes after {ttl}",
        }
    known = f"{lookup.rows} rows for {ttl}" if lookup.caches else "none"
    limit = "" if lookup.per_second is None else f"{lookup.per_second} a second at the most"
    return {
        "Connection": "JDBC",
        "URL": lookup.place,
        "Table": lookup.table,
        "User": lookup.user,
        "Password": lookup.password,
        "Cache": known,
        "Look-ups": limit,
    }


def place_text(lookup: Lookup) -> str:
    """The same in one line."""
    ttl = words(duration(lookup.ttl_ms))
    if lookup.connection == "FILE":
        return f"{lookup.format} in '{lookup.place}', looked at for changes after {ttl}"
    cached = f"{lookup.rows} rows cached for {ttl}" if lookup.caches else "no cache"
    limit = "" if lookup.per_second is None else f", {lookup.per_second} look-ups a second"
    return f"table {lookup.table} of {lookup.place}, {cached}{limit}"
