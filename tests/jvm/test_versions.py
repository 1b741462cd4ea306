"""Versions that belong together: Spark and its Kafka connector, Protobuf in Python and Java."""

from __future__ import annotations

import re
import tomllib
from importlib import resources
from importlib.metadata import version
from pathlib import Path

import pytest

from streamsql.errors import ExternalError
from streamsql.jvm import ivy
from streamsql.jvm.lock import Jar, locked_jars

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
DEPENDENCIES: list[str] = PROJECT["dependencies"]
LOCK = resources.files("streamsql.jvm").joinpath("jars.lock").read_text("utf-8")
SPARK = version("pyspark")
PARTS = [jar for jar in locked_jars("spark") if jar.organisation == "org.apache.spark"]
REASON = re.compile(r"^# Connector (\S+) under Spark (\S+): ", re.MULTILINE)


def test_both_parts_of_the_connector_are_one_release() -> None:
    assert [jar.artifact for jar in PARTS] == [
        "spark-sql-kafka-0-10_2.13",
        "spark-token-provider-kafka-0-10_2.13",
    ]
    assert re.fullmatch(r"\d+\.\d+\.\d+", PARTS[0].version)
    assert PARTS[0].version == PARTS[1].version


def test_the_lock_says_why_the_connector_is_not_of_spark_s_version() -> None:
    """A new PySpark needs a new look at the connector, and a new reason, or none."""
    assert f"pyspark=={SPARK}" in DEPENDENCIES
    expected = [] if PARTS[0].version == SPARK else [(PARTS[0].version, SPARK)]
    assert REASON.findall(LOCK) == expected


def test_protobuf_is_of_one_release_in_python_and_java() -> None:
    """Java's 4.36 is Python's 7.36: what is tested together is what users install."""
    [java] = [jar for jar in locked_jars("spark") if jar.artifact == "protobuf-java"]
    release = java.version.split(".")[1]
    [python] = [line for line in DEPENDENCIES if line.startswith("protobuf")]
    assert re.match(rf"protobuf>=\d+\.{release},", python)


@pytest.mark.slow
@pytest.mark.spark
def test_the_connector_of_spark_s_version_cannot_be_had(tmp_path: Path) -> None:
    """Asks the repository that installations ask. The jar in use comes first: where it cannot be
    fetched either, nothing is known of the other one."""
    if PARTS[0].version == SPARK:
        pytest.skip("the connector is of Spark's version")
    try:
        _fetch(PARTS[0].version, tmp_path / "in_use")
    except ExternalError as error:
        pytest.skip(f"no repository answers: {error}")
    with pytest.raises(ExternalError, match="cannot fetch"):
        _fetch(SPARK, tmp_path / "wanted")


def _fetch(version: str, folder: Path) -> None:
    folder.mkdir()
    jar = Jar("spark", PARTS[0].organisation, PARTS[0].artifact, version, 0, "")
    ivy.fetch([jar], folder, lambda _: None)
