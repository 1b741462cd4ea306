"""Twenty pipelines as analysts write them, over topics that all change while they run.

`{sink}` is the name of a shape's result. The sources are those of SOURCES: views and
orders are streams, users a table, and users_log the stream of that table's changes.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

TOPICS = ("views", "orders", "users")
KEYS = 1000
_PAGES, _REGIONS = 50, 9

SOURCES = """
CREATE STREAM views (k STRING KEY, id INT, page STRING, t BIGINT)
  WITH (KAFKA_TOPIC='views', VALUE_FORMAT='JSON');
CREATE STREAM orders (k STRING KEY, id INT, units INT, t BIGINT)
  WITH (KAFKA_TOPIC='orders', VALUE_FORMAT='JSON');
CREATE TABLE users (k STRING PRIMARY KEY, id INT, region STRING, t BIGINT)
  WITH (KAFKA_TOPIC='users', VALUE_FORMAT='JSON');
CREATE STREAM users_log (k STRING KEY, id INT, region STRING, t BIGINT)
  WITH (KAFKA_TOPIC='users', VALUE_FORMAT='JSON');
"""


@dataclass(frozen=True)
class Shape:
    """A statement, and whether its plan runs in real time. `delays` results are made when a window
    closes, so their latency is the window's."""

    sql: str
    real_time: bool = True
    delays: bool = False
    exactly_once: bool = False

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that it reads."""
        return tuple(topic for topic in TOPICS if topic in self.sql)


def event(number: int) -> tuple[str, str]:
    """The n-th record of all topics together: its key and its value, in JSON."""
    round_ = number // len(TOPICS)
    value = {
        "id": round_,
        "page": f"page_{7 * round_ % _PAGES}",
        "units": round_ % 5 + 1,
        "region": f"region_{(round_ + round_ // KEYS) % _REGIONS}",
        "t": time.time_ns() // 1_000_000,
    }
    return f"k{round_ % KEYS}", json.dumps(value)


_JOIN = "FROM views v JOIN users u ON v.k = u.k"

SHAPES = {
    "filter": Shape("CREATE STREAM {sink} AS SELECT k, page FROM views WHERE page LIKE '%1%';"),
    "group by": Shape(
        "CREATE TABLE {sink} AS SELECT page, COUNT(*) AS n, MAX(id) AS last FROM views "
        "GROUP BY page;"
    ),
    "tumbling window": Shape(
        "CREATE TABLE {sink} AS SELECT page, COUNT(*) AS n FROM views "
        "WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY page;"
    ),
    "hopping window, having": Shape(
        "CREATE TABLE {sink} AS SELECT page, COUNT(*) AS n FROM views "
        "WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 2 SECONDS) GROUP BY page "
        "HAVING COUNT(*) > 3;"
    ),
    "session window": Shape(
        "CREATE TABLE {sink} AS SELECT k, COUNT(*) AS n FROM views WINDOW SESSION (1 SECONDS) "
        "GROUP BY k;"
    ),
    "window, emit final": Shape(
        "CREATE TABLE {sink} AS SELECT page, COUNT(*) AS n FROM views "
        "WINDOW TUMBLING (SIZE 2 SECONDS, GRACE PERIOD 1 SECONDS) GROUP BY page EMIT FINAL;",
        real_time=False,
        delays=True,
    ),
    "stream-table join": Shape(f"CREATE STREAM {{sink}} AS SELECT v.k AS k, page, region {_JOIN};"),
    "stream-table left join": Shape(
        "CREATE STREAM {sink} AS SELECT v.k AS k, page, region "
        "FROM views v LEFT JOIN users u ON v.k = u.k WHERE u.region <> 'region_0';"
    ),
    "join, then window": Shape(
        f"CREATE TABLE {{sink}} AS SELECT region, COUNT(*) AS n {_JOIN} "
        "WINDOW TUMBLING (SIZE 10 SECONDS) GROUP BY region;"
    ),
    "stream-table join, exactly once": Shape(
        f"CREATE STREAM {{sink}} AS SELECT v.k AS k, page, region {_JOIN};", exactly_once=True
    ),
    "in (select)": Shape(
        "CREATE STREAM {sink} AS SELECT k, page FROM views "
        "WHERE k IN (SELECT k FROM users WHERE region <> 'region_0');"
    ),
    "group by over a table": Shape(
        "CREATE TABLE {sink} AS SELECT region, COUNT(*) AS n FROM users GROUP BY region;"
    ),
    "table-table join": Shape(
        "CREATE TABLE {sink} AS SELECT u.k AS k, u.region AS region, v.n AS n FROM users u "
        "JOIN (SELECT k, COUNT(*) AS n FROM views GROUP BY k) v ON u.k = v.k;"
    ),
    "aggregate of an aggregate": Shape(
        "CREATE TABLE {sink} AS SELECT n, COUNT(*) AS pages FROM "
        "(SELECT k, COUNT(*) AS n FROM views GROUP BY k) GROUP BY n;"
    ),
    "top 3": Shape(
        "CREATE TABLE {sink} WITH (KEY_FORMAT='JSON') AS SELECT * FROM "
        "(SELECT region, k, id, ROW_NUMBER() OVER (PARTITION BY region ORDER BY id DESC) AS r "
        "FROM users) WHERE r <= 3;"
    ),
    "stream-stream join": Shape(
        "CREATE STREAM {sink} AS SELECT v.k AS k, page, units FROM views v "
        "JOIN orders o WITHIN 2 SECONDS ON v.k = o.k;"
    ),
    "stream-stream left join, group by": Shape(
        "CREATE TABLE {sink} AS SELECT u.region AS region, COUNT(*) AS n FROM views v "
        "LEFT JOIN users_log u WITHIN 2 SECONDS GRACE PERIOD 1 SECONDS ON v.k = u.k "
        "GROUP BY u.region;"
    ),
    "union all": Shape(
        "CREATE STREAM {sink} AS SELECT k, page AS what FROM views "
        "UNION ALL SELECT k, region AS what FROM users_log;"
    ),
    "lag over": Shape(
        "CREATE STREAM {sink} AS SELECT k, t, "
        "t - LAG(t) OVER (PARTITION BY k ORDER BY ROWTIME) AS gap FROM views;"
    ),
    # A greedy b+ would wait for the row after which no longer match is possible.
    "match_recognize": Shape(
        "CREATE STREAM {sink} AS SELECT * FROM views MATCH_RECOGNIZE (PARTITION BY page "
        "ORDER BY ROWTIME MEASURES a.t AS t1, LAST(b.t) AS t2 PATTERN (a b+? c) WITHIN 5 SECONDS "
        "DEFINE b AS b.id > a.id, c AS c.id % 3 = 0);"
    ),
}
