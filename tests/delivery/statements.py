"""An engine on a broker that outlives it, killed in the midst of statements; what must hold then.

All that the engine has made is looked at from outside: the statement log, the folders of
checkpoints, topics and commit tokens; and that what is made again starts from nothing.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

from awaiting import await_until
from soak.killing import kill_tree

from streamsql.config import COMMITS_TOPIC
from streamsql.executor.queries.checkpoint import id_of
from streamsql.kafka.client import KafkaClient, NewRecord
from streamsql.log.entries import read_file

START_SECONDS = 240.0
SECONDS = 120.0
TESTS = Path(__file__).parents[1]

SETTINGS = "SET 'processing.guarantee' = 'exactly_once';"
COLUMNS = "(k STRING KEY, n INT) WITH (KAFKA_TOPIC='{}', PARTITIONS=2, VALUE_FORMAT='JSON');"
SOURCE = f"CREATE STREAM a {COLUMNS.format('a')}"
SINK = f"CREATE STREAM d {COLUMNS.format('d')}"
COPY = "CREATE STREAM b AS SELECT k, n FROM a;"
COUNT = "CREATE TABLE t AS SELECT k, COUNT(*) AS m FROM b GROUP BY k;"
AGAIN = "INSERT INTO d WITH (QUERY_ID='again') SELECT k, n FROM b;"

DROP = "DROP STREAM b CASCADE DELETE TOPIC;"
TERMINATE = "TERMINATE again;"
REPLACE = "CREATE OR REPLACE STREAM b AS SELECT k, n FROM a WHERE n >= {};"
LONGEST = 1.5
"""Seconds after which a statement has done about all it does."""


class Killed:
    """Lives of one engine; after each kill `check` says what must hold."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self._folder = folder / "engine"
        self._bootstrap = bootstrap
        self._errors = folder / "stderr.txt"
        self._kafka = KafkaClient(bootstrap)
        self._written = 0
        self._begun: dict[int, int] = {}
        """Where in `d` the rows of the present query AGAIN begin."""
        self._replaced = 0
        self._start()
        self.run(SETTINGS + SOURCE + SINK + COPY + COUNT + AGAIN)

    # -- the engine ------------------------------------------------------------------------------

    def _spawn(self) -> None:
        with self._errors.open("a") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "delivery.statement_child", self._folder, self._bootstrap],
                cwd=TESTS,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                text=True,
            )

    def _start(self) -> None:
        self._spawn()
        self._hear("ready")

    def _hear(self, wanted: str) -> None:
        heard: list[str] = []
        stdout = self._process.stdout
        assert stdout is not None
        listener = threading.Thread(target=lambda: heard.append(stdout.readline()), daemon=True)
        listener.start()
        listener.join(START_SECONDS)
        assert heard == [f"{wanted}\n"], f"not {wanted}: {self._errors.read_text()[-2000:]}"

    def _tell(self, sql: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{sql}\n")
        self._process.stdin.flush()

    def run(self, sql: str) -> None:
        """Run statements to their end."""
        self._tell(sql)
        self._hear("done")

    def kill(self) -> None:
        """SIGKILL to the engine and all it has started."""
        kill_tree(self._process)
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue

    # -- what is done to it ----------------------------------------------------------------------

    def killed_in(self, sql: str, dice: random.Random) -> None:
        """Kill the engine in the midst of a statement, sometimes its next start too."""
        self._tell(SETTINGS + sql)
        _let_pass(dice.uniform(0.0, LONGEST))
        self.kill()
        if dice.random() < 0.3:
            self._spawn()
            _let_pass(dice.uniform(2.0, 12.0))
            self.kill()
        self._start()

    def round(self, statement: str, dice: random.Random) -> str:
        """One statement, one kill, and all that must hold; what has happened."""
        self._rows(3)
        self._await_rows()
        self._replaced -= 1
        sql = statement.format(self._replaced)
        before = len(read_file(self._folder / "statements.log"))
        # Rows that are on their way when the statement comes.
        self._rows(2)
        self.killed_in(sql, dice)
        logged = len(read_file(self._folder / "statements.log")) > before
        self.check(sql, logged)
        self._make_again(sql, logged)
        self._rows(2)
        self._await_rows()
        return f"{sql.split()[0]} {'whole' if logged else 'never'}"

    def _make_again(self, sql: str, logged: bool) -> None:
        """What has gone is made again, by the same names and ids."""
        if not logged or sql not in (DROP, TERMINATE):
            return
        self._begun = self._kafka.end_offsets("d")
        self.run(SETTINGS + (COPY + COUNT if sql == DROP else "") + AGAIN)

    # -- what must hold --------------------------------------------------------------------------

    def check(self, sql: str, logged: bool) -> None:
        """All of the statement is there or nothing, and nothing else is left."""
        gone = (
            {DROP: {"AGAIN", "B", "T"}, TERMINATE: {"AGAIN"}}.get(sql, set()) if logged else set()
        )
        folders = {path.name for path in (self._folder / "checkpoints").iterdir()}
        names = {"AGAIN" if name == "AGAIN" else name.split("_")[1] for name in folders}
        assert not any(name.startswith(".") for name in folders), folders
        assert names == {"AGAIN", "B", "T"} - gone
        assert ("B" in self._kafka.topics()) == ("B" not in gone)
        ids = {id_of(self._folder / "checkpoints" / name) for name in folders}
        left = self._token_owners() - ids
        assert not left, f"tokens of deleted checkpoints: {left}"

    def _token_owners(self) -> set[str]:
        records = self._kafka.consume(COMMITS_TOPIC, until=self._kafka.end_offsets(COMMITS_TOPIC))
        newest = {record.key: record.value for record in records}
        there = (key for key, value in newest.items() if key and value is not None)
        return {key.decode().rpartition("/")[0] for key in there}

    def _rows(self, count: int) -> None:
        numbers = range(self._written, self._written + count)
        rows = (NewRecord(b"%d" % (n % 3), json.dumps({"n": n}).encode()) for n in numbers)
        self._written += self._kafka.produce("a", rows)

    def _await_rows(self) -> None:
        """Each row once, in the present topic and in the recreated one."""
        wanted = list(range(self._written))

        def found() -> dict[str, object]:
            return {"b": self._read("B"), "d": self._read("d", self._begun), "t": self._counts()}

        counts = {b"%d" % k: len(wanted[k::3]) for k in range(3)}
        right = {"b": wanted, "d": wanted, "t": counts}
        try:
            await_until(lambda: found() == right, "each row once", SECONDS, every=0.2)
        except AssertionError:
            assert found() == right
            raise

    def _read(self, topic: str, start: dict[int, int] | None = None) -> list[int]:
        if self._kafka.partitions(topic) is None:
            return []
        records = self._kafka.consume(topic, start=start, until=self._kafka.end_offsets(topic))
        return sorted(json.loads(record.value or b"{}")["N"] for record in records)

    def _counts(self) -> dict[bytes | None, int]:
        records = self._kafka.consume("T", until=self._kafka.end_offsets("T"))
        return {record.key: json.loads(record.value or b"{}")["M"] for record in records}


def _let_pass(seconds: float) -> None:
    # The moment is to be any: nothing is waited for.
    moment = time.monotonic() + seconds
    await_until(lambda: time.monotonic() >= moment, "the moment", seconds + 20)
