"""Functions of SQL: what they are called, take, give and mean on Spark; one declaration each.

REGISTRY below is the one list; SHOW FUNCTIONS, DESCRIBE FUNCTION, completion, the documentation
and the planner all read it. Nothing here imports Spark.
"""

from __future__ import annotations

from streamsql.functions.aggregate import AGGREGATES
from streamsql.functions.base import (
    AggregateFunction,
    Function,
    ScalarFunction,
    TableFunction,
)
from streamsql.functions.conditional import CONDITIONALS
from streamsql.functions.registry import Registry
from streamsql.functions.string import STRINGS
from streamsql.functions.table import TABLES

REGISTRY = Registry((*STRINGS, *CONDITIONALS, *AGGREGATES, *TABLES))

__all__ = [
    "REGISTRY",
    "AggregateFunction",
    "Function",
    "Registry",
    "ScalarFunction",
    "TableFunction",
]
