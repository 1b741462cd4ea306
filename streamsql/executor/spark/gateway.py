"""Starts the JVM that runs Spark and connects py4j to it.

PySpark's own launcher goes through a shell script and a second JVM that only computes the command
line; this one starts Java at once, in its own session (Ctrl-C is not for it), with its output in a
file. The JVM ends when its standard input closes, hence with this process, however that ends.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from py4j.java_gateway import JavaGateway
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from streamsql.errors import ExternalError
from streamsql.jvm.java import Java, inherited_environment
from streamsql.waiting import await_condition

GATEWAY_MAIN = "org.apache.spark.api.python.PythonGatewayServer"

MODULE_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(
        f"--add-opens={package}=ALL-UNNAMED"
        for package in (
            "java.base/java.lang",
            "java.base/java.lang.invoke",
            "java.base/java.lang.reflect",
            "java.base/java.io",
            "java.base/java.net",
            "java.base/java.nio",
            "java.base/java.util",
            "java.base/java.util.concurrent",
            "java.base/java.util.concurrent.atomic",
            "java.base/jdk.internal.ref",
            "java.base/sun.nio.ch",
            "java.base/sun.nio.cs",
            "java.base/sun.security.action",
            "java.base/sun.util.calendar",
            "java.security.jgss/sun.security.krb5",
        )
    ),
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)
"""Options that Spark's launcher passes to every Java (`JavaModuleOptions`)."""

_START_TIMEOUT = 120.0
_environment = threading.Lock()


@dataclass(frozen=True)
class JvmCommand:
    """The command line of a JVM: program, options (heap, properties) and class path."""

    java: Java
    options: Sequence[str]
    class_path: Sequence[str]

    def arguments(self) -> list[str]:
        path = os.pathsep.join(self.class_path)
        return [
            str(self.java.program),
            *MODULE_OPTIONS,
            *self.options,
            "-cp",
            path,
            GATEWAY_MAIN,
        ]


def start_jvm(
    command: JvmCommand,
    log_file: Path,
    environment: Mapping[str, str],
    launched: Callable[[subprocess.Popen[bytes]], None],
) -> JavaGateway:
    """The gateway to a new JVM; ExternalError with the end of its output on failure. `launched` is
    called with the process before waiting."""
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="streamsql-") as folder, log_file.open("wb") as log:
        info = Path(folder) / "connection"
        process = subprocess.Popen(
            command.arguments(),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**environment, "_PYSPARK_DRIVER_CONN_INFO_PATH": str(info)},
            start_new_session=True,
        )
        launched(process)
        _await_file(process, info, log_file)
        port, secret = _read_connection(info)
    return _connect(port, secret)


def _await_file(process: subprocess.Popen[bytes], info: Path, log_file: Path) -> None:
    await_condition(lambda: info.exists() or process.poll() is not None, _START_TIMEOUT, every=0.01)
    if not info.exists():
        process.kill()
        raise ExternalError(
            "the JVM of Spark did not start", detail=_tail(log_file), retryable=True
        )


def _tail(log_file: Path) -> str:
    lines = log_file.read_text("utf-8", errors="replace").splitlines()[-5:]
    return "\n".join([*lines, f"Its whole output is in {log_file}."])


def _read_connection(info: Path) -> tuple[int, str]:
    """The port and the secret, as `PythonGatewayServer` writes them."""
    data = info.read_bytes()
    port, length = struct.unpack_from("!ii", data)
    return port, data[8 : 8 + length].decode("utf-8")


def _connect(port: int, secret: str) -> JavaGateway:
    # `launch_gateway` connects to a JVM that runs already if these two are set; nothing else,
    # no child process above all, may see them.
    variables = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
    with _environment:
        os.environ.update(variables)
        try:
            gateway: JavaGateway = launch_gateway()
        finally:
            for name in variables:
                del os.environ[name]
    return gateway


def forget_gateway() -> None:
    """PySpark keeps its gateway for the life of the process; a new JVM needs a new one."""
    gateway = SparkContext._gateway
    if gateway is not None:
        try:
            gateway.shutdown()
        except Exception:
            pass
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


def jvm_environment(local_dir: Path) -> dict[str, str]:
    """The environment of the JVM, with its scratch folder. RocksDB's memory comes from malloc. By
    default glibc has eight arenas per processor, which a JVM with many threads uses in turn, and
    each retains freed memory: with a heap of 512 MB, a join over millions of rows used 2.7 GB on 2
    processors, and 1.7 GB with one arena per processor."""
    return {
        "MALLOC_ARENA_MAX": str(max(2, os.cpu_count() or 1)),
        **inherited_environment(),
        "SPARK_LOCAL_DIRS": str(local_dir),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_CONNECT_MODE": "0",
    }
