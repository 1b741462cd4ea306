"""Functions of SQL: what they are called, take, give and mean on Spark; one declaration each.

REGISTRY below is the one list; SHOW FUNCTIONS, DESCRIBE FUNCTION, completion, the documentation
and the planner all read it. Nothing here imports Spark.
"""

from __future__ import annotations

from streamsql.functions.aggregates.basic import AGGREGATES
from streamsql.functions.aggregates.statistics import STATISTICS
from streamsql.functions.base import (
    AggregateFunction,
    Function,
    ScalarFunction,
    TableFunction,
)
from streamsql.functions.bytes import BYTES
from streamsql.functions.collection import COLLECTIONS
from streamsql.functions.conditional import CONDITIONALS
from streamsql.functions.json import JSONS
from streamsql.functions.mask import MASKS
from streamsql.functions.numeric import NUMERICS
from streamsql.functions.regex import REGEXES
from streamsql.functions.registry import Registry
from streamsql.functions.string import STRINGS
from streamsql.functions.table import TABLES
from streamsql.functions.temporal.datetime import DATETIMES
from streamsql.functions.temporal.moments import MOMENTS
from streamsql.functions.temporal.templates import TEMPLATES
from streamsql.functions.url import URLS

REGISTRY = Registry(
    (
        *CONDITIONALS,
        *NUMERICS,
        *STRINGS,
        *REGEXES,
        *MASKS,
        *BYTES,
        *DATETIMES,
        *MOMENTS,
        *TEMPLATES,
        *COLLECTIONS,
        *JSONS,
        *URLS,
        *AGGREGATES,
        *STATISTICS,
        *TABLES,
    )
)

__all__ = [
    "REGISTRY",
    "AggregateFunction",
    "Function",
    "Registry",
    "ScalarFunction",
    "TableFunction",
]
