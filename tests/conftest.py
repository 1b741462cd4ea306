"""Fixtures that all tests share: one real broker for the whole run, and a client to it."""

from __future__ import annotations

import gc
import logging
import os
import uuid
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import daily
import hanging
import pytest
from datadriven import pytest_addoption, rewrite
from hypothesis import HealthCheck, settings
from selection import REDUNDANT, is_unselected
from xdist.scheduler import LoadScopeScheduling

from streamsql.data_folder import DataDir
from streamsql.kafka.broker import EmbeddedBroker
from streamsql.kafka.client import KafkaClient

__all__ = ["pytest_addoption", "rewrite"]

# Thousands of collected tests stay to the end, and each pass over all objects would look at them:
# a tenth of the time of a run. None happens while they are collected, and none looks at them later.
gc.disable()
gc.set_threshold(10_000, 20, 20)

# No JVM of a test lives long enough to win back what the optimising compiler takes. Without it the
# JVM takes 48 MB for compiled code, which hundreds of queries fill: nothing is compiled from then
# on. Processes that tests start inherit this.
_QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
if _QUICK_JVM not in (_options := os.environ.get("JAVA_TOOL_OPTIONS", "")):
    os.environ["JAVA_TOOL_OPTIONS"] = f"{_options} {_QUICK_JVM}".strip()


class _Loggers(dict[str, Any]):
    """pytest 9.2 goes through all loggers, unlocked, before each test, while threads of an engine
    add some: goes once `catching_logs` of `_pytest/logging.py` locks."""

    def values(self) -> Any:
        return list(super().values())


logging.root.manager.loggerDict = _Loggers(logging.root.manager.loggerDict)


class ByFile(LoadScopeScheduling):
    """Of `--dist loadscope`: gives a worker one file after the other, first those of the folder
    that it has begun, which share fixtures."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._folders: dict[Any, str] = {}

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: Any) -> None:
        own = self._folders.pop(node, "")
        left: defaultdict[str, float] = defaultdict(float)
        for file, tests in self.workqueue.items():
            left[_folder(file)] += _seconds(file) * len(tests)
        workers = Counter(self._folders.values())
        folder = max(left, key=lambda name: (name == own, left[name] / (1 + workers[name])))
        self._folders[node] = folder
        file = next(file for file in self.workqueue if _folder(file) == folder)
        self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)


def _folder(file: str) -> str:
    return str(Path(file).parent)


_SECONDS = {
    "cli": 3.0,
    "engine": 5.0,
    "engine/test_database_lookups.py": 8.0,
    "engine/test_epochs.py": 11.0,
    "engine/test_live.py": 120.0,
    "engine/test_random_graphs.py": 10.0,
    "engine/test_replacement.py": 10.0,
    "engine/test_resilience.py": 6.0,
    "engine/test_slt_files.py": 60.0,
    "engine/test_store.py": 7.0,
    "engine/test_tables.py": 29.0,
    "engine/test_time_steps.py": 12.0,
    "examples": 8.0,
    "executor": 0.5,
    "functions": 0.1,
    "jvm": 6.0,
    "jvm/test_junit.py": 40.0,
    "kafka": 3.0,
    "queries": 1.2,
    "queries/test_answers.py": 6.0,
    "server/test_epochs.py": 5.0,
    "views": 8.0,
    "views/test_random_views.py": 40.0,
}
"""Of folders and files, how long a test takes there, roughly; elsewhere a second."""


def _seconds(file: str) -> float:
    _, folder, *_ = Path(file).parts
    return _SECONDS.get(file.removeprefix("tests/"), _SECONDS.get(folder, 1.0))


_variants: Counter[str] = Counter()


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.nodeid in REDUNDANT:
        item.add_marker(pytest.mark.slow)
    if (mark := item.get_closest_marker("variants")) is not None:
        test = item.nodeid.partition("[")[0]
        number, every = _variants[test], mark.kwargs.get("every")
        _variants[test] += 1
        if number if every is None else number % every:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Before `--dist loadscope --no-loadscope-reorder`: what takes longest goes first, so that no
    worker is left with it at the end."""
    seconds: defaultdict[str, float] = defaultdict(float)
    files = {item.nodeid: item.nodeid.partition("::")[0] for item in items}
    for file in files.values():
        seconds[file] += _seconds(file)
    items.sort(key=lambda item: (-seconds[files[item.nodeid]], files[item.nodeid]))
    items[:] = daily.rotated(items, daily.ROTATION)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    daily.skip_if_late(daily.UNTIL)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    with daily.cut_off(daily.CUT):
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Of `--dist loadscope`."""
    return ByFile(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    chosen = config.getoption("markexpr")
    if not chosen or collection_path.suffix != ".py":
        return None
    file = str(collection_path.relative_to(config.rootpath))
    return True if is_unselected(file, collection_path.read_text("utf-8"), chosen) else None


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(item.get_closest_marker("spark") for item in session.items):
        import kept_spark

        kept_spark.install()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Of a test that has hung: pytest-timeout shows the threads of Python, not those of the JVM."""
    report = yield
    failure = None if call.excinfo is None else call.excinfo.value
    # A fixture that has hung fails all of its tests by the same exception.
    if str(failure).startswith("Timeout (>") and not hasattr(failure, "dumped"):
        failure.dumped = True  # type: ignore[union-attr]
        report.sections.append(("threads of the JVMs", hanging.dumps()))
    return report


# How long an example takes depends on what else the machine does. `make test` looks at the same
# examples each time, so that what it says is about the change; `make soak` looks for new ones.
_PATIENT = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "everyday",
    deadline=None,
    max_examples=40,
    derandomize=True,
    suppress_health_check=_PATIENT,
)
settings.register_profile(
    "thorough", settings.get_profile("everyday"), max_examples=2000, derandomize=False
)
settings.load_profile("everyday")


class Folder(pytest.Package):
    """A folder of tests: what its fixtures of scope "package" have opened ends with its tests.

    To pytest that is so of folders with an __init__.py only; of others it would be the session.
    """

    def setup(self) -> None:
        """Nothing: there is no module to import."""


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector:
    return Folder.from_parent(parent, path=path)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    """The embedded broker, shared: use topics of your own (see `topic_name`)."""
    broker = EmbeddedBroker(DataDir.at(tmp_path_factory.mktemp("broker")))
    try:
        broker.start(120)
        yield broker
    finally:
        # Its data is not needed any more, and thousands of topics take long to be closed.
        broker.stop(timeout=0)


@pytest.fixture(scope="session")
def kafka(broker: EmbeddedBroker) -> Iterator[KafkaClient]:
    client = KafkaClient(broker.bootstrap)
    yield client
    client.close()


@pytest.fixture
def topic_name() -> str:
    """A name that no other test uses."""
    return f"test-{uuid.uuid4().hex[:12]}"
