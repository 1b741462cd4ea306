"""Why the embedded broker waits for its own fencing, asked of the locked Kafka itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from streamsql.jvm.jars import ensure_jars
from streamsql.jvm.java import find_java

pytestmark = pytest.mark.kafka

PROGRAM = Path(__file__).parent / "java" / "LeaderlessPartition.java"


def test_kafka_takes_a_leaderless_partition_for_a_deleted_one() -> None:
    class_path = os.pathsep.join(map(str, ensure_jars("kafka")))
    command = [find_java().program, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    done = subprocess.run(
        [*command, "-cp", class_path, PROGRAM], capture_output=True, text=True, check=True
    )
    leaderless, deleted = done.stdout.split()
    assert deleted == "Optional.empty"
    assert leaderless == deleted, "KAFKA-20734 is fixed: remove EmbeddedServer's wait"
