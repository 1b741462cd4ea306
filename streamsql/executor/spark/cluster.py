"""Where Spark's tasks run in other JVMs than the driver's: what those need, and how many they are.

Every JVM gets our jars from the driver. Checkpoints must lie where all of them reach them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from streamsql.jvm.ivy import pyspark_jars_dir
from streamsql.sizes import TASK_SLOTS

DEFAULT_MASTER = f"local[{TASK_SLOTS}]"

_EXECUTOR_OPTIONS = "-Duser.timezone=UTC -Dfile.encoding=UTF-8 -XX:-UsePerfData"
_IN_PROCESS_SHUFFLE = "io.streamsql.shuffle.InProcessShuffle"
"""Hands on the rows of real-time queries within the driver's JVM."""
_SCALA = "2.13"
"""Of PySpark's jars; told, or Spark looks for the folders of a build."""
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
    """Spark's settings for the master, besides those that are always the same."""
    settings: dict[str, str] = {}
    if is_this_machine(master):
        settings |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.local.dir": str(scratch),
        }
    if is_local(master):
        settings["spark.shuffle.manager.incremental"] = _IN_PROCESS_SHUFFLE
    else:
        settings |= {
            "spark.jars": ",".join(str(jar) for jar in jars),
            "spark.executor.extraJavaOptions": _EXECUTOR_OPTIONS,
        }
    return settings


def cluster_environment(master: str, scratch: Path) -> Mapping[str, str]:
    """The environment of the driver's JVM, whose workers on this machine inherit it."""
    if not is_this_machine(master):
        return {}
    return {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(pyspark_jars_dir().parent),
        "SPARK_SCALA_VERSION": _SCALA,
        "SPARK_WORKER_DIR": str(scratch / "work"),
    }
