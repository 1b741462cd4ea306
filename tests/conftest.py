"""Fixtures that all tests share: one real broker for the whole run, and a client to it."""

from __future__ import annotations

import gc
import os
import re
import uuid
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from datadriven import pytest_addoption, rewrite
from hypothesis import HealthCheck, settings
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


class ByEngine(LoadScopeScheduling):
    """Gives tests that share a Spark or an engine to one worker, since a process has one Spark:
    those of a folder where its conftest.py opens one, else those of a file."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope(nodeid, self.config.rootpath)


def _scope(nodeid: str, root: Path) -> str:
    return _scope_of_file(nodeid.partition("::")[0], root)


@cache
def _scope_of_file(file: str, root: Path) -> str:
    folder = Path(file).parent
    return str(folder) if (root / folder / "conftest.py").is_file() else file


_SECONDS = {
    "cli": 6.0,
    "cluster": 30.0,
    "conformance": 100.0,
    "delivery": 1000.0,
    "docs": 40.0,
    "engine": 7.0,
    "examples": 20.0,
    "executor": 2.0,
    "functions": 0.2,
    "jvm": 8.0,
    "kafka": 8.0,
    "memory": 30.0,
    "queries": 2.0,
    "soak": 80.0,
    "upgrade": 12.0,
}
"""Of folders, how long a test takes there, roughly; elsewhere a second."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Before `--dist loadscope --no-loadscope-reorder`: what takes longest goes first, so that no
    worker is left with it at the end."""
    seconds: defaultdict[str, float] = defaultdict(float)
    scopes = {item.nodeid: _scope(item.nodeid, config.rootpath) for item in items}
    for nodeid, scope in scopes.items():
        seconds[scope] += _SECONDS.get(Path(nodeid).parts[1], 1.0)
    items.sort(key=lambda item: (-seconds[scopes[item.nodeid]], scopes[item.nodeid]))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling | None:
    """Of `--dist loadscope`."""
    return ByEngine(config, log) if config.getvalue("dist") == "loadscope" else None


_ONLY_WITHOUT = re.compile(r"not \w+( and not \w+)*")
_MARKS_OF_FILE = re.compile(r"^pytestmark = (\[.*?\]|.*?$)", re.MULTILINE | re.DOTALL)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out files whose every test would be deselected by `-m "not a and not b"`.

    Importing them, and what they need, would take half of the time that collecting takes.
    """
    chosen = config.getoption("markexpr")
    if collection_path.suffix != ".py" or not _ONLY_WITHOUT.fullmatch(chosen):
        return None
    unwanted = chosen.replace("not ", "").split(" and ")
    found = _MARKS_OF_FILE.search(collection_path.read_text("utf-8"))
    marks = re.findall(r"pytest\.mark\.(\w+)", found[1]) if found else []
    return True if set(unwanted) & set(marks) else None


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


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
        # Nobody needs its data any more, and thousands of topics take long to be closed.
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
