"""The bridge over a real JVM."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

import psutil
import pytest
from awaiting import await_until
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from streamsql.executor.spark import bridge as bridges
from streamsql.executor.spark.bridge import Bridge, coded_error, with_deadline
from streamsql.executor.spark.failures import JVM_FAILURES
from streamsql.executor.spark.messages import ErrorCode
from streamsql.executor.spark.views import Dataflow

pytestmark = pytest.mark.spark


@contextmanager
def _frozen(spark: SparkSession) -> Iterator[None]:
    """While its JVM gets no processor."""
    pid = int(cast(Any, spark)._jvm.java.lang.ProcessHandle.current().pid())
    os.kill(pid, signal.SIGSTOP)
    try:
        # The signal has been sent, not received, when `kill` returns.
        await_until(lambda: set(_states(pid)) == {"T"}, "the JVM is stopped")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
        assert psutil.Process(pid).is_running()


def _states(pid: int) -> Iterator[str]:
    """Of a process's threads, as in proc(5)."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        yield (thread / "stat").read_text().rpartition(")")[2].split()[0]


def test_a_jvm_that_does_not_answer_is_not_waited_for(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge = Bridge.of(spark)
    monkeypatch.setattr(bridge, "_prompt", with_deadline(bridge._java, 0.5))
    with closing(bridge):
        assert bridge.status().answers
        with _frozen(spark):
            begin = time.monotonic()
            with pytest.raises(JVM_FAILURES):
                bridge.status()
            assert time.monotonic() - begin < 10
        assert bridge.status().answers


def test_a_bridge_closes_its_connections(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is left open is reported where it is collected as garbage, in any other test."""
    bridge = Bridge.of(spark)
    monkeypatch.setattr(bridge, "_prompt", with_deadline(bridge._java, 20))
    bridge.status()
    assert bridge._prompt._gateway_client.deque
    bridge.close()
    assert not bridge._prompt._gateway_client.deque


def test_another_version_of_the_bridge_does_not_open(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bridges, "VERSION", 0)
    known = Bridge.of(spark)
    with pytest.raises(Py4JJavaError, match="version 3 of the bridge, Python 0"):
        Bridge(spark)
    assert Bridge.of(spark) is known


def test_the_code_of_an_error_reaches_python(spark: SparkSession) -> None:
    jvm = cast(Any, spark)._jvm
    code = jvm.io.streamsql.errors.ErrorCode.valueOf("DATA_LOSS")
    error = jvm.io.streamsql.errors.CodedException(code, "lost", {"topic": "t"})
    thrown = jvm.java.lang.RuntimeException("Job aborted", error)
    with pytest.raises(Py4JJavaError) as other:
        jvm.java.lang.Class.forName("none")
    found = coded_error(Py4JJavaError("aborted", thrown))
    assert found is not None and found.code is ErrorCode.DATA_LOSS
    assert (found.message, found.parameters) == ("lost", {"topic": "t"})
    assert coded_error(other.value) is None


def test_only_the_bridge_listens_to_queries(spark: SparkSession) -> None:
    """With two listeners each batch would be counted twice."""

    def listeners() -> int:
        return len(cast(Any, spark)._jsparkSession.streams().listListeners())

    before = listeners()
    Dataflow.of(spark, 1).writer(
        spark.readStream.format("rate").load(), "unused", None, resumes=False
    )
    assert listeners() == before
