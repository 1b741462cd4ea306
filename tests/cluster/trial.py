"""One trial of a cluster: executors, workers, brokers and drivers are killed, one after the
other, at moments of a seeded sequence, while the flights pipeline runs in real time under load."""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import httpx2
import psutil
from awaiting import await_until
from cluster.flights import INPUTS, SINKS, Feed, statements
from cluster.kraft import COUNT, Brokers
from cluster.standalone import HOST, Standalone
from cluster.watching import Watch
from delivery.leaders import leads
from delivery.load import let_pass
from soak.server_process import ServerProcess

from streamsql.kafka.client import KafkaClient

CORES = 16
"""What a server has of each worker: all queries find their slots on one of them."""
SHARE = {"spark.cores.max": str(CORES), "spark.executor.cores": str(CORES)}
"""Of each server, where there are two: the one that waits holds its executors as well."""
RECOVERY_SECONDS = 240.0
EARLY = 0.2
"""The share of kills that do not wait until the one before has been overcome."""
USUAL_EVERY = 4
"""Before each so manieth kill it is measured what takes as long without one."""
APART_SECONDS = (1.0, 6.0)
EXACTLY_ONCE = "SET 'processing.guarantee' = 'exactly_once';"
LIVE = set(SINKS) - {"FLIGHTS_IN_CONTEXT"}
"""What runs in real time; a join of two streams does not with exactly-once delivery."""
_PART = {"spark.executor.memory": "1200m", "spark.driver.host": HOST}
SHOWN = 6_000


class Trial:
    """The pipeline on a cluster; `run` makes parts of it fail and keeps the seconds of silence."""

    def __init__(
        self,
        folder: Path,
        cluster: Standalone,
        brokers: Brokers,
        spark: dict[str, str],
        seed: int,
        servers: int = 1,
    ) -> None:
        self._folder = folder
        self._cluster, self._brokers = cluster, brokers
        self._dice = random.Random(seed)
        self._cores = CORES * servers
        self._workers = [cluster.start_worker(self._cores) for _ in range(2)]
        config = folder / "spark.properties"
        settings = {**_PART, "spark.driver.bindAddress": HOST, **spark}
        config.write_text("\n".join(f"{n}={v}" for n, v in settings.items()), "utf-8")
        self._options = (
            *("--bootstrap-servers", brokers.bootstrap, "--master", cluster.url),
            *("--spark-config", str(config)),
        )
        self._servers: list[ServerProcess] = []
        self.silences: defaultdict[str, list[dict[str, float]]] = defaultdict(list)
        self.kills: dict[str, Callable[[], None]] = {
            "executor": self._kill_executor,
            "worker": self._kill_worker,
            "broker": self._kill_broker,
            "driver's JVM": self._kill_spark,
            "driver": self._kill_server,
        }

    def start(self, names: Sequence[str], *options: str) -> None:
        """Servers, and the pipeline in them."""
        for name in names:
            self._servers.append(ServerProcess(self._folder / name, *self._options, *options))
            self._servers[-1].start()
        for server in self._servers:
            server.await_ready()
        client = KafkaClient(self._brokers.bootstrap)
        for topic in INPUTS:
            client.create_topic(topic, 1, -1, {}, exists_ok=True)
        for text in statements():
            self._leader().run(EXACTLY_ONCE + text)
        assert [client.partitions(sink) for sink in SINKS] == [1] * len(SINKS)
        client.close()

    def _leader(self) -> ServerProcess:
        found: list[ServerProcess] = []

        def is_led() -> bool:
            found[:] = [s for s in self._servers if _answers(s) and leads(s)]
            return bool(found)

        await_until(is_led, "a server to lead", RECOVERY_SECONDS, every=0.2)
        return found[0]

    def run(self, kinds: Sequence[str], feed: Feed, watch: Watch) -> None:
        """A kill of each of these kinds."""
        self._await_real_time()
        for number, kind in enumerate(kinds):
            let_pass(self._dice.uniform(*APART_SECONDS))
            if number % USUAL_EVERY == 0:
                began = time.monotonic()
                watch.await_later(feed.at_ms, RECOVERY_SECONDS, self._state)
                self.silences["nothing"].append(watch.silences(began))
            began = time.monotonic()
            self.kills[kind]()
            if self._dice.random() < EARLY and kind != "broker":
                _say(f"{number} {kind}: not waited for")
                continue
            watch.await_later(feed.at_ms, RECOVERY_SECONDS, self._state)
            self._brokers.await_in_sync()
            self._await_real_time()
            live = time.monotonic() - began
            watch.await_later(feed.at_ms, RECOVERY_SECONDS, self._state)
            found = watch.silences(began)
            self.silences[kind].append(found)
            _say(f"{number} {kind}: {json.dumps(found)}, real time after {live:.1f} s; {_load()}")

    def _await_real_time(self) -> None:
        def is_live() -> bool:
            with suppress(httpx2.TransportError):
                queries = self._leader().queries()
                live = {q["sink"] for q in queries if q["mode"] == "real-time"}
                return live == LIVE and {q["state"] for q in queries} == {"RUNNING"}
            return False

        try:
            await_until(is_live, "real time", RECOVERY_SECONDS, every=0.5)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self._state()}") from None

    def _state(self) -> str:
        said = [server.log.read_text("utf-8")[-SHOWN:] for server in self._servers]
        queries = [server.queries() for server in self._servers if _answers(server)]
        return "\n".join([*said, json.dumps(queries, indent=1)])

    # -- what is killed --------------------------------------------------------------------------

    def _kill_executor(self) -> None:
        found: list[psutil.Process] = []

        def there_is_one() -> bool:
            drivers = _listening(self._leader())
            executors = [e for w in self._workers for e in Standalone.executors(w)]
            found[:] = [e for e in executors if Standalone.driver_port(e) in drivers]
            return bool(found)

        await_until(there_is_one, "an executor of the server that leads", RECOVERY_SECONDS)
        with suppress(psutil.NoSuchProcess):
            self._dice.choice(found).kill()

    def _kill_worker(self) -> None:
        """With what it has started, as when a machine is gone; another one comes."""
        index = self._dice.randrange(len(self._workers))
        worker = self._workers[index]
        orphans = Standalone.executors(worker)
        worker.kill()
        worker.wait()
        for executor in orphans:
            with suppress(psutil.NoSuchProcess):
                executor.kill()
        let_pass(self._dice.uniform(0.0, 2.0))
        self._workers[index] = self._cluster.start_worker(self._cores)

    def _kill_broker(self) -> None:
        index = self._dice.randrange(COUNT)
        self._brokers.kill(index)
        let_pass(self._dice.uniform(0.0, 2.0))
        self._brokers.start(index)

    def _kill_spark(self) -> None:
        """The JVM that is Spark's driver; the server starts another one."""
        found: list[psutil.Process] = []

        def there_is_one() -> bool:
            children = psutil.Process(self._leader().pid).children(recursive=True)
            found[:] = [child for child in children if "java" in child.name()]
            return bool(found)

        await_until(there_is_one, "Spark to run", RECOVERY_SECONDS)
        with suppress(psutil.NoSuchProcess):
            found[0].kill()

    def _kill_server(self) -> None:
        """With its Spark. Where there is another server it comes back with an empty disk."""
        leader = self._leader()
        leader.kill()
        if len(self._servers) > 1:
            shutil.rmtree(leader.log.parent / "data")
        leader.start()

    def close(self) -> None:
        for server in self._servers:
            with suppress(subprocess.SubprocessError, psutil.NoSuchProcess):
                server.kill()

    # -- reports ---------------------------------------------------------------------------------

    def told(self) -> str:
        """Seconds of silence of each kind: least, median, most; of the sinks that are fed by the
        topics in real time alone, and of all."""
        first = ("DELAY_BY_CARRIER_AND_HOUR", "DELAY_BY_ROUTE")
        lines = [json.dumps(self.silences)]
        for kind, found in self.silences.items():
            for name, sinks in (("real time", first), ("all", SINKS)):
                worst = sorted(max(one[sink] for sink in sinks) for one in found)
                figures = f"{worst[0]}, {statistics.median(worst):.1f}, {worst[-1]}"
                lines.append(f"{kind} ({len(worst)}), {name}: {figures}")
        return "\n".join(lines)


def _answers(server: ServerProcess) -> bool:
    with suppress(httpx2.HTTPError, ValueError, KeyError):
        server.queries()
        return True
    return False


def _listening(server: ServerProcess) -> set[int]:
    """The ports of its Spark."""
    with suppress(psutil.NoSuchProcess):
        children = psutil.Process(server.pid).children(recursive=True)
        found = [place for child in children for place in child.net_connections("tcp")]
        return {place.laddr.port for place in found if place.status == psutil.CONN_LISTEN}
    return set()


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


def _load() -> str:
    return "load " + " ".join(f"{part:.1f}" for part in os.getloadavg())
