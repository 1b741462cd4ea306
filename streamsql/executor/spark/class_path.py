"""Command line of Spark's JVM: Java and class path."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from streamsql.jvm.build import ensure_runtime_jar
from streamsql.jvm.ivy import pyspark_jars_dir
from streamsql.jvm.jars import Progress, ensure_jars
from streamsql.jvm.java import Java, find_java

_UNUSED = "spark-mllib_*.jar"
"""Registers functions of machine learning in each session, through Scala's reflection, which was
half of the time that a session takes to start."""


def java_and_jars(progress: Progress | None = None) -> tuple[Java, list[Path]]:
    """Options of Spark's JVM in addition to PySpark's jars."""
    return find_java(), [*ensure_jars("spark", progress), ensure_runtime_jar(progress)]


def java_and_class_path(progress: Progress | None = None) -> tuple[Java, list[str]]:
    """Java and class path of Spark's JVM."""
    java, jars = java_and_jars(progress)
    return java, class_path_of(jars)


def class_path_of(jars: Sequence[Path]) -> list[str]:
    """Our jars, before those of PySpark that we use."""
    pyspark = pyspark_jars_dir()
    used = sorted(set(pyspark.glob("*.jar")) - set(pyspark.glob(_UNUSED)))
    return [str(jar) for jar in (*jars, *used)]
