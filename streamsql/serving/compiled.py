"""Plans of pull queries, compiled for the JVM once and kept for the next time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamsql.catalog import Catalog
from streamsql.executor.services.services import Services
from streamsql.parser import to_sql
from streamsql.planner.plans.statements import PullPlan
from streamsql.planner.pull.standard import is_momentary
from streamsql.registry.serdes import Schemas
from streamsql.serving.origins import Origins, origins
from streamsql.serving.rows import result_schema

if TYPE_CHECKING:
    from streamsql.executor.frames.context import LoweringContext

KEPT = 256
"""How many compiled plans are kept."""


@dataclass(frozen=True)
class _Compiled:
    """The Java CompiledPlan, the Spark session of its JVM, and its source plan."""

    plan: Any
    spark: object
    origins: Origins


class CompiledPlans:
    """The compiled plans of one engine, by their statements."""

    def __init__(self, services: Services, folder: Path, catalog: Callable[[], Catalog]) -> None:
        self._services = services
        self._folder = folder
        self._catalog = catalog
        self._compiled: dict[str, _Compiled] = {}
        self._lock = threading.Lock()

    def get(self, plan: PullPlan, properties: Mapping[str, str]) -> Any:
        """The plan as a Java object that runs over rows; one of other origins is not used again."""
        spark = self._services.spark.get().session
        made_from = origins(plan, self._catalog())
        name = name_of(plan)
        with self._lock:
            known = self._compiled.get(name) if name else None
        if known is not None and known.spark is spark and known.origins == made_from:
            return known.plan
        compiled = self._compile(plan, properties, spark)
        with self._lock:
            if name:
                self._compiled.pop(name, None)
                while len(self._compiled) >= KEPT:
                    del self._compiled[next(iter(self._compiled))]
                self._compiled[name] = _Compiled(compiled, spark, made_from)
        return compiled

    def _compile(self, plan: PullPlan, properties: Mapping[str, str], spark: Any) -> Any:
        from streamsql.executor.lowering.compiled_plan import compiled_plan

        context = compiling_context(self._services, self._folder, properties, spark)
        return compiled_plan(plan.query, result_schema(plan), context)


def name_of(plan: PullPlan) -> str | None:
    """The name of a compiled plan that is used again; None: it is for one run."""
    if plan.statement is None or is_momentary(plan):
        return None
    return to_sql(plan.statement.query)


def compiling_context(
    services: Services, folder: Path, properties: Mapping[str, str], spark: Any
) -> LoweringContext:
    """Lowering context for plans outside of Spark queries: they report nothing to a log."""
    from streamsql.executor.frames.context import LoweringContext
    from streamsql.executor.lowering.compiled_plan import NO_LOG

    return LoweringContext(
        spark=spark,
        bootstrap_servers=services.kafka.get().bootstrap,
        data_dir=folder,
        processing_log_topic=NO_LOG,
        schemas=Schemas(lambda: services.registry(properties)),
    )
