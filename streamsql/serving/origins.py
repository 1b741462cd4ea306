"""Origins of a pull query: only a change of these objects changes its plan."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streamsql.catalog import Catalog, Source, Thing
from streamsql.parser import to_sql
from streamsql.planner.operators import LookupJoin, Scan, operators
from streamsql.planner.plans.statements import PullPlan

Origins = dict[Thing, object]
"""The objects of the catalog, by their kinds and names."""
_EXPANDED = ("view", "type", "function")
"""Kinds of objects whose definitions a plan contains."""
_words = re.compile(r"\w+").findall


def origins(plan: PullPlan, catalog: Catalog) -> Origins:
    """The sources that the plan reads, and the definitions that its statement names."""
    found: Origins = {("source", source.name): source for source in _sources(plan)}
    texts = [] if plan.statement is None else [to_sql(plan.statement)]
    while texts:
        words = set(_words(texts.pop().upper()))
        for kind in _EXPANDED:
            for name, thing in catalog.things(kind).items():
                # A name of another kind of object, an alias or a column is harmless.
                if (kind, name) not in found and words.issuperset(_words(name.upper())):
                    found[kind, name] = thing
                    if kind == "view":
                        texts.append(thing.statement)
    return found


def unchanged(found: Origins, catalog: Catalog) -> bool:
    return all(catalog.things(kind).get(name) is thing for (kind, name), thing in found.items())


def _sources(plan: PullPlan) -> Iterator[Source]:
    for operator in operators(plan.query.root):
        if isinstance(operator, Scan):
            yield operator.source
        elif isinstance(operator, LookupJoin):
            yield operator.lookup
