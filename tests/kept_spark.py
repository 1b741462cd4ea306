"""One JVM with Spark per test process: a runtime that stops leaves it to the next one.

A new JVM loads and compiles for some 20 seconds of processor time, more than most tests need.
Engines and fixtures share a JVM: what they set in Spark SQL is set in its session. A runtime with
another master, heap, jar or setting ends the kept JVM and starts its own. With
STREAMSQL_TEST_NEW_JVM each runtime starts a JVM, as in production: `make soak` runs the tests that
restart an engine this way.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from streamsql.executor.spark import session as spark_session
from streamsql.executor.spark.bridge import Bridge
from streamsql.executor.spark.cluster import DEFAULT_MASTER
from streamsql.executor.spark.session import SparkRuntime
from streamsql.test_driver import fixture

_CACHED_CLASSES = "spark.sql.codegen.cache.maxEntries"
"""Of the JVM, unlike other settings of Spark SQL: a session does not change it."""


def install() -> None:
    """Make engines and fixtures keep their JVMs, unless each is to start its own."""
    if not os.environ.get("STREAMSQL_TEST_NEW_JVM"):
        spark_session.SparkRuntime = KeptRuntime  # type: ignore[misc]
        # A rehearsal is for the optimising compiler, which these JVMs do not have.
        Bridge.rehearse = lambda bridge, query: None  # type: ignore[method-assign]
        fixture.SparkRuntime = KeptRuntime  # type: ignore[misc]


@dataclass(frozen=True)
class _Gateway:
    """What PySpark holds of a process's one connection to a JVM."""

    gateway: Any
    jvm: Any
    context: Any
    session: Any

    @staticmethod
    def taken() -> _Gateway:
        """PySpark's own, which then has none."""
        taken = _Gateway(
            SparkContext._gateway,
            SparkContext._jvm,
            SparkContext._active_spark_context,
            SparkSession._instantiatedSession,
        )
        _Gateway(None, None, None, None).give()
        return taken

    def give(self) -> None:
        SparkContext._gateway, SparkContext._jvm = self.gateway, self.jvm
        SparkContext._active_spark_context = self.context
        SparkSession._instantiatedSession = self.session


@dataclass(frozen=True)
class _Kept:
    """A JVM that no runtime uses now."""

    key: object
    settings: Mapping[str, str]
    process: subprocess.Popen[bytes]
    scratch: Path | None
    gateway: _Gateway

    def end(self) -> None:
        owner = SparkRuntime(Path())
        self.gateway.give()
        owner._session, owner._process = self.gateway.session, self.process
        owner._scratch = self.scratch
        owner.stop()


class KeptRuntime(SparkRuntime):
    """A runtime whose JVM outlives it."""

    kept: _Kept | None = None
    _conf: Mapping[str, str]

    def __init__(self, data_dir: Path, **options: Any) -> None:
        super().__init__(data_dir, **options)
        if self._master in (DEFAULT_MASTER, fixture.MASTER):
            self._master, self._tuning = DEFAULT_MASTER, fixture.TUNING
        given = {_CACHED_CLASSES: fixture.SETTINGS[_CACHED_CLASSES], **self._settings}
        self._of_session = {
            name: value
            for name, value in given.items()
            if name.startswith("spark.sql.") and name != _CACHED_CLASSES
        }
        self._settings = {name: given[name] for name in given.keys() - self._of_session.keys()}

    def _start(self) -> SparkSession:
        kept, KeptRuntime.kept = KeptRuntime.kept, None
        if kept is not None and (kept.key != self._key() or kept.process.poll() is not None):
            kept.end()
            kept = None
        if kept is None:
            session = super()._start()
            self._conf = dict(session.conf.getAll)
        else:
            kept.gateway.give()
            self._scratch, self._conf = kept.scratch, kept.settings
            self._launched(kept.process)
            session = kept.gateway.session
        for name, value in self._of_session.items():
            session.conf.set(name, value)
        return session

    def stop(self) -> None:
        with self._lock:
            if self.is_running and self._archive_to is None and not self._aborted:
                self._keep()
            super().stop()

    def _key(self) -> object:
        settings = tuple(sorted(self._settings.items()))
        return self._master, self._heap, settings, self._tuning, self._further_jars

    def _keep(self) -> None:
        """Release the JVM: `stop` finds none to end."""
        session, process = self._session, self._process
        assert session is not None and process is not None
        try:
            for query in session.streams.active:
                query.stop()
            _restore(session, self._conf)
        except Exception:
            return  # a JVM that does not answer is no use to others
        KeptRuntime.kept = _Kept(self._key(), self._conf, process, self._scratch, _Gateway.taken())
        self._session = self._process = self._scratch = None


def _restore(session: SparkSession, before: Mapping[str, str]) -> None:
    now = dict(session.conf.getAll)
    for name in now.keys() - before.keys():
        session.conf.unset(name)
    for name, value in before.items():
        if now.get(name) != value:
            session.conf.set(name, value)
