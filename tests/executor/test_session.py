"""The JVM of Spark lives exactly as long as it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from awaiting import await_until

from streamsql.executor.spark.gateway import MODULE_OPTIONS

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_PROGRAM = """
import sys, time
from pathlib import Path
from streamsql.executor.spark.session import SparkRuntime
runtime = SparkRuntime(Path(sys.argv[1]), master="local[2]", heap="512m")
spark = runtime.start()
assert runtime.start() is spark
rate = spark.readStream.format("rate").load()
rate.writeStream.format("noop").option("checkpointLocation", sys.argv[1] + "/c").start()
options = spark._jvm.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptions()
greeting = options
while True:
    try:
        if greeting:
            # Within `try`: the test may interrupt as soon as it has read this.
            text, greeting = greeting, None
            print(text, flush=True)
        line = sys.stdin.readline().strip()
        if line == "stop":
            runtime.stop()
            runtime.stop()
            print(runtime.is_running, flush=True)
        elif line == "start":
            print(runtime.start().range(3).count(), flush=True)
        elif not line:
            break
    except KeyboardInterrupt:
        print("interrupted", spark.range(3).count(), flush=True)
"""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _PROGRAM, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process
    process.kill()
    process.communicate()


def _say(program: subprocess.Popen[str], line: str) -> str:
    assert program.stdin is not None
    program.stdin.write(line + "\n")
    program.stdin.flush()
    return _hear(program)


def _hear(program: subprocess.Popen[str]) -> str:
    assert program.stdout is not None
    return program.stdout.readline().strip()


def _jvm(program: subprocess.Popen[str]) -> psutil.Process:
    (jvm,) = psutil.Process(program.pid).children()
    return jvm


def test_life_of_the_jvm(program: subprocess.Popen[str]) -> None:
    assert _hear(program).split() == list(MODULE_OPTIONS)
    first = _jvm(program)
    os.killpg(program.pid, signal.SIGINT)
    assert _hear(program) == "interrupted 3"
    assert first.is_running()
    assert _say(program, "stop") == "False"
    assert not first.is_running()
    assert _say(program, "start") == "3"
    second = _jvm(program)
    program.kill()
    program.wait()
    await_until(lambda: not second.is_running(), "the JVM ends with its Python", 20)
