"""A Master and Workers of Spark's, out of PySpark's jars, as processes of this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
from ports import free_port

from streamsql.executor.spark.gateway import MODULE_OPTIONS
from streamsql.jvm.ivy import pyspark_jars_dir
from streamsql.jvm.java import find_java

HOST = "127.0.0.1"
START_SECONDS = 60.0


class Standalone:
    """One cluster."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self._port}"

    def start_master(self) -> None:
        self._start("master.Master", "--port", str(self._port))
        deadline = time.monotonic() + START_SECONDS
        while not _answers(self._port):
            assert time.monotonic() < deadline, "the Master does not start"
            time.sleep(0.1)

    def start_worker(self, cores: int) -> subprocess.Popen[bytes]:
        work = self._folder / "work"
        return self._start(
            *("worker.Worker", "--cores", str(cores), "--memory", "2g"),
            *("--work-dir", str(work), self.url),
        )

    @staticmethod
    def executors(worker: subprocess.Popen[bytes]) -> list[psutil.Process]:
        """The processes that run tasks for it."""
        return [
            child
            for child in psutil.Process(worker.pid).children(recursive=True)
            if "org.apache.spark.executor.CoarseGrainedExecutorBackend" in child.cmdline()
        ]

    @staticmethod
    def driver_port(executor: psutil.Process) -> int:
        """The port of the driver that an executor works for; 0 if it has ended."""
        with suppress(psutil.NoSuchProcess, ValueError):
            command = executor.cmdline()
            return int(command[command.index("--driver-url") + 1].rsplit(":", 1)[1])
        return 0

    def stop(self) -> None:
        for process in reversed(self._processes):
            children = psutil.Process(process.pid).children() if process.poll() is None else []
            process.kill()
            for child in children:
                child.kill()
            process.wait()

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        jars = pyspark_jars_dir()
        command = [
            *(str(find_java().program), *MODULE_OPTIONS, "-Xmx256m", "-cp", f"{jars}/*"),
            *(f"org.apache.spark.deploy.{name}", "--host", HOST, "--webui-port", "0"),
            *arguments,
        ]
        environment = {
            **os.environ,
            "SPARK_HOME": str(jars.parent),
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_LOCAL_IP": HOST,
            "SPARK_LOCAL_DIRS": str(self._folder),
        }
        with (self._folder / f"{name}.{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        self._processes.append(process)
        return process


@contextmanager
def standalone(folder: Path) -> Iterator[Standalone]:
    """A cluster with a Master and no Workers."""
    cluster = Standalone(folder)
    try:
        cluster.start_master()
        yield cluster
    finally:
        cluster.stop()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((HOST, port), timeout=1.0):
            return True
    except OSError:
        return False
