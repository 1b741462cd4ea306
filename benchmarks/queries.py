"""The queries that the benchmarks run, in SQL, and the same by hand where Spark has them.

`{events}` and `{other}` are the topics that a query reads, `{sink}` for the one it writes.
"""

from __future__ import annotations

from dataclasses import dataclass

_JSON = "VALUE_FORMAT='JSON'"


@dataclass(frozen=True)
class Query:
    """A query over the events, and what it joins them with; `script` ends with its statement.

    `native` names the query that a Spark user has to write by hand to compare it with: for what
    Spark lacks in real-time mode, its GROUP BY.
    """

    script: str
    native: str = "aggregate"
    reads_other: bool = False

    def over(self, events: str, other: str, sink: str) -> str:
        """The script for these topics."""
        return self.script.format(events=events, other=other, sink=sink)


def _query(
    columns: str,
    select: str,
    kind: str,
    *,
    events: str = "STREAM",
    other: str = "",
    native: str = "aggregate",
    options: str = "",
) -> Query:
    key = "KEY" if events == "STREAM" else "PRIMARY KEY"
    script = [
        f"CREATE {events} E (K STRING {key}, {columns}) WITH (KAFKA_TOPIC='{{events}}', {_JSON});"
    ]
    if other:
        script.append(f"CREATE {other} WITH (KAFKA_TOPIC='{{other}}', {_JSON});")
    script.append(f"CREATE {kind} O WITH (KAFKA_TOPIC='{{sink}}'{options}) AS {select};")
    return Query("\n".join(script), native, bool(other))


_LATENCY = "ID INT, T DOUBLE"

LATENCY = {
    "projection": _query(_LATENCY, "SELECT K, T FROM E WHERE ID >= 0", "STREAM"),
    "group-by": _query(_LATENCY, "SELECT K, MAX(T) AS T, COUNT(*) AS N FROM E GROUP BY K", "TABLE"),
    "tumbling": _query(
        _LATENCY,
        "SELECT K, MAX(T) AS T, COUNT(*) AS N FROM E WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY K",
        "TABLE",
    ),
    "session": _query(
        _LATENCY,
        "SELECT K, MAX(T) AS T, COUNT(*) AS N FROM E WINDOW SESSION (1 MINUTE) GROUP BY K",
        "TABLE",
    ),
    "stream-table": _query(
        _LATENCY,
        "SELECT E.K AS K, T, NAME FROM E JOIN D ON E.K = D.K",
        "STREAM",
        other="TABLE D (K STRING PRIMARY KEY, NAME STRING)",
    ),
    "table-table": _query(
        _LATENCY,
        "SELECT E.K AS K, T, NAME FROM E JOIN D ON E.K = D.K",
        "TABLE",
        events="TABLE",
        other="TABLE D (K STRING PRIMARY KEY, NAME STRING)",
    ),
    "stream-stream": _query(
        _LATENCY,
        "SELECT E.K AS K, T, NAME FROM E JOIN S WITHIN 5 SECONDS ON E.K = S.K",
        "STREAM",
        other="STREAM S (K STRING KEY, NAME STRING)",
    ),
}
"""Each result holds T of an event that it is made of; `other` has a record of each of the keys."""

_THROUGHPUT = "ID INT, REGION STRING, AMOUNT DOUBLE, NOTE STRING"

THROUGHPUT = {
    "project": _query(
        _THROUGHPUT,
        "SELECT K, ID, REGION, AMOUNT * 2 AS TWICE FROM E WHERE AMOUNT > 10",
        "STREAM",
        native="project",
    ),
    "aggregate": _query(
        _THROUGHPUT,
        "SELECT REGION, COUNT(*) AS N, SUM(AMOUNT) AS TOTAL FROM E GROUP BY REGION",
        "TABLE",
    ),
    "stream-table": _query(
        _THROUGHPUT,
        "SELECT E.REGION AS REGION, ID, AMOUNT, NAME FROM E JOIN D ON E.REGION = D.REGION",
        "STREAM",
        other="TABLE D (REGION STRING PRIMARY KEY, NAME STRING)",
    ),
}

STATE = {
    "tumbling": _query(
        "N INT",
        "SELECT K, COUNT(*) AS N FROM E WINDOW TUMBLING (SIZE 1 MINUTE, GRACE PERIOD 1 MINUTE) "
        "GROUP BY K",
        "TABLE",
    ),
    "session": _query(
        "N INT",
        "SELECT K, COUNT(*) AS N FROM E WINDOW SESSION (1 MINUTE, GRACE PERIOD 1 MINUTE) "
        "GROUP BY K",
        "TABLE",
    ),
    "stream-stream": _query(
        "N INT",
        "SELECT E.K AS K, E.N AS N, S.N AS M FROM E LEFT JOIN S WITHIN 1 MINUTE "
        "GRACE PERIOD 1 MINUTE ON E.K = S.K",
        "STREAM",
        other="STREAM S (K STRING KEY, N INT)",
    ),
    "state-ttl": _query(
        "N INT",
        "SELECT E.K AS K, E.N AS N, S.N AS M FROM E JOIN S ON E.K = S.K",
        "STREAM",
        other="STREAM S (K STRING KEY, N INT)",
        options=", STATE_TTL='1 MINUTE'",
    ),
    "over": _query(
        "N INT",
        "SELECT K, N, SUM(N) OVER (PARTITION BY K ORDER BY ROWTIME "
        "RANGE INTERVAL '1' MINUTE PRECEDING) AS TOTAL FROM E",
        "STREAM",
    ),
    "match": _query(
        "N INT",
        "SELECT * FROM E MATCH_RECOGNIZE (PARTITION BY K ORDER BY ROWTIME "
        "MEASURES FIRST(A.N) AS N, LAST(B.N) AS M PATTERN (A B{{3}}) WITHIN 1 MINUTE "
        "DEFINE B AS B.N > A.N)",
        "STREAM",
    ),
    "top": _query(
        "N INT",
        "SELECT * FROM (SELECT N % 1000 AS G, K, N, ROW_NUMBER() OVER "
        "(PARTITION BY N % 1000 ORDER BY N DESC) AS PLACE FROM E) WHERE PLACE <= 3",
        "TABLE",
        options=", KEY_FORMAT='JSON'",
    ),
}
"""Over events whose keys move on with time: no key comes back after some seconds. Of `top` the
groups are always the same, and their first rows ever new ones."""
