"""Where Spark's tasks run in other JVMs than the driver's: what those need, and how many they are.

Every JVM gets our jars from the driver. Checkpoints must lie where all of them reach them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from streamsql.errors import ConfigError, UnsupportedError
from streamsql.jvm.ivy import pyspark_jars_dir
from streamsql.sizes import TASK_SLOTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER = f"local[{TASK_SLOTS}]"

_EXECUTOR_OPTIONS = "-Duser.timezone=UTC -Dfile.encoding=UTF-8 -XX:-UsePerfData"
_IN_PROCESS_SHUFFLE = "io.streamsql.shuffle.InProcessShuffle"
"""Hands on the rows of real-time queries within the driver's JVM."""
_PLUGINS = "spark.plugins"
_EXECUTOR_COUNTS = "io.streamsql.monitoring.ExecutorCounts"
"""Reports executor counters to the driver."""
_SCALA = "2.13"
"""Of PySpark's jars; set explicitly, because Spark otherwise searches build folders."""
_THREADS = re.compile(r"local\[(\d+)(?:,\s*\d+)?\]")
_SIMULATED = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]")


def master_of(given: str | None, slots: int | None) -> str:
    """Spark's master: the one that is given, else threads of the driver's JVM."""
    return given or f"local[{slots or TASK_SLOTS}]"


def is_local(master: str) -> bool:
    """Whether tasks run in the driver's JVM."""
    return master == "local" or master.startswith("local[")


def is_this_machine(master: str) -> bool:
    """Whether no other machine takes part."""
    return is_local(master) or _SIMULATED.fullmatch(master) is not None


_OWN = ("spark.master", "spark.jars", "spark.executor.extraJavaOptions")
_REFUSED = {
    "spark.dynamicAllocation.enabled": (
        "a real-time query holds its task slots while it runs, and fails if an executor is removed",
        "Set a fixed number of executors: spark.cores.max, spark.executor.instances.",
    ),
    "spark.speculation": (
        "a speculative copy of a task would write its rows twice",
        "Leave it out: a lost executor's tasks are started again in any case.",
    ),
}
_INSTEAD = {
    "spark.master": "--master",
    "spark.driver.memory": "--heap-mb",
    "spark.sql.shuffle.partitions": "SET 'streamsql.shuffle.partitions'",
}


def checked_settings(given: Mapping[str, str], own: Container[str]) -> dict[str, str]:
    """Spark settings of the user in addition to the engine's `own`. ConfigError for the engine's
    settings, and UnsupportedError for those incompatible with real-time queries."""
    for name, value in given.items():
        if not name.startswith("spark."):
            raise ConfigError(f"{name} is not a Spark setting", hint="They begin with spark.")
        if name in _REFUSED and value.strip().lower() == "true":
            reason, hint = _REFUSED[name]
            raise UnsupportedError(f"{name} cannot be switched on: {reason}", hint=hint)
        if name in own or name in _OWN or name in _INSTEAD:
            instead = _INSTEAD.get(name)
            raise ConfigError(
                f"{name} is set by the engine",
                hint=f"Use {instead}." if instead else "Leave it out.",
            )
    return dict(given)


def live_slots(spark: SparkSession) -> int:
    """Concurrent tasks of the current executors."""
    context = cast(Any, spark.sparkContext)._jsc.sc()
    profile = context.resourceProfileManager().defaultResourceProfile()
    return int(context.maxNumConcurrentTasks(profile))


def task_slots(master: str) -> int | None:
    """How many tasks can run at a time; None where the master does not say."""
    if found := _THREADS.fullmatch(master):
        return int(found.group(1))
    if found := _SIMULATED.fullmatch(master):
        return int(found.group(1)) * int(found.group(2))
    if master == "local":
        return 1
    return os.cpu_count() or 1 if master.startswith("local[") else None


def cluster_settings(master: str, jars: Sequence[Path], scratch: Path) -> Mapping[str, str]:
    settings: dict[str, str] = {}
    if is_this_machine(master):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(scratch),
        }
    if is_local(master):
        settings |= {
            "spark.shuffle.manager.incremental": _IN_PROCESS_SHUFFLE,
            # Spark starts a thread for each task slot, for messages that none of them waits for.
            "spark.rpc.netty.dispatcher.numThreads": "8",
        }
    else:
        settings |= {
            "spark.jars": ",".join(str(jar) for jar in jars),
            "spark.executor.extraJavaOptions": _EXECUTOR_OPTIONS,
            _PLUGINS: _EXECUTOR_COUNTS,
        }
    return settings


def merged(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The engine's settings and a user's, which come first; of plugins there are several."""
    settings = {**own, **given}
    if _PLUGINS in own and _PLUGINS in given:
        settings[_PLUGINS] = f"{own[_PLUGINS]},{given[_PLUGINS]}"
    return settings


def cluster_environment(master: str, scratch: Path) -> Mapping[str, str]:
    """Environment of the driver's JVM, inherited by local workers."""
    if not is_this_machine(master):
        return {}
    return {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(pyspark_jars_dir().parent),
        "SPARK_SCALA_VERSION": _SCALA,
        "SPARK_WORKER_DIR": str(scratch / "work"),
    }
