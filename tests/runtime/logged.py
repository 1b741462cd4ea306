"""An example of every statement that is logged, to run after BEFORE; and logs made of them."""

from __future__ import annotations

from streamsql import nodes
from streamsql.catalog import Catalog
from streamsql.log.entries import Entry
from streamsql.parser import parse, to_sql
from streamsql.planner.plans.statements import Planned, QueryStatementPlan
from streamsql.planner.processing_log import declare
from streamsql.planner.recorded_topics import RememberedTopics
from streamsql.planner.statements import plan
from streamsql.runtime.replay import Replay

LOGGED = [
    kind
    for kind in nodes.Statement.__subclasses__()
    if "effect" in vars(kind) and kind.effect.logged
]

BEFORE = """
CREATE TYPE money AS DECIMAL(10, 2);
CREATE FUNCTION twice (x INT) RETURNS INT LANGUAGE PYTHON AS 'def twice(x): return 2 * x';
CREATE STREAM s (k INT KEY, x INT) WITH (KAFKA_TOPIC = 's', VALUE_FORMAT = 'JSON', PARTITIONS = 1);
CREATE STREAM made AS SELECT k, x FROM s EMIT CHANGES;
CREATE VIEW v AS SELECT k FROM s;
CREATE MATERIALIZED VIEW summed AS SELECT k, sum(x) AS x FROM s GROUP BY k;
CREATE SOURCE TABLE looked_up (k INT PRIMARY KEY, y STRING) WITH (CONNECTION = 'JDBC',
  URL = 'jdbc:postgresql://h/d', DBTABLE = 't', PASSWORD = '${env:PASSWORD}', CACHE_ROWS = 3);
CREATE STREAM joined AS SELECT s.k, y FROM s JOIN looked_up t ON s.x = t.k;
CREATE SINK files FROM s WITH (CONNECTION = 'FILE', PATH = '/data/s');
CREATE SOURCE shop WITH (CONNECTION = 'POSTGRES', URL = 'postgres://ann@h/d',
  PASSWORD = '${env:PASSWORD}');
"""
"""One of each kind of thing that a catalog can hold."""

EXAMPLES: dict[type[nodes.Statement], str] = {
    nodes.CreateSource: """CREATE STREAM more (k STRING KEY, h BYTES HEADER('h'), t
        STRUCT<a money>, made STRING) WITH (KAFKA_TOPIC = 'more', PARTITIONS = 2,
        KEY_FORMAT = 'DELIMITED', KEY_DELIMITER = '|', VALUE_FORMAT = 'JSON', TIMESTAMP = 'made',
        TIMESTAMP_FORMAT = 'yyyy');""",
    nodes.CreateAsSelect: """CREATE TABLE counts AS SELECT k, COUNT(*) AS n FROM s WINDOW TUMBLING
        (SIZE 1 MINUTE) GROUP BY k EMIT CHANGES;""",
    nodes.InsertInto: "INSERT INTO made SELECT k, x + 1 AS x FROM s EMIT CHANGES;",
    nodes.DropSource: "DROP STREAM made;",
    nodes.AlterSource: "ALTER STREAM s ADD COLUMN y INT;",
    nodes.Comment: "COMMENT ON STREAM s IS 'What ''we'' saw';",
    nodes.CreateType: "CREATE TYPE address AS STRUCT<street STRING>;",
    nodes.DropType: "DROP TYPE money;",
    nodes.CreateView: "CREATE OR REPLACE VIEW v AS SELECT x FROM s;",
    nodes.DropView: "DROP VIEW v;",
    nodes.CreateMaterializedView: """CREATE MATERIALIZED VIEW kept AS SELECT x, count(*) AS n FROM s
        GROUP BY x;""",
    nodes.DropMaterializedView: "DROP MATERIALIZED VIEW summed;",
    nodes.CreateSink: """CREATE OR REPLACE SINK files FROM s WITH (CONNECTION = 'FILE',
        PATH = '/data/o', FORMAT = 'CSV', PARTITION_BY = 'k', COMMIT_INTERVAL = '5 SECONDS');""",
    nodes.CreateSinkOfAll: """CREATE SINK lake FROM ALL TABLES WITH (CONNECTION = 'ICEBERG',
        WAREHOUSE = '/data/lake', TABLE = 'shop.*', COMMIT_INTERVAL = '5 SECONDS');""",
    nodes.DropSink: "DROP SINK files;",
    nodes.CreateDatabase: """CREATE SOURCE bank WITH (CONNECTION = 'POSTGRES',
        URL = 'postgres://h:5433/d?sslmode=require', USER = 'ann');""",
    nodes.DropDatabase: "DROP SOURCE shop;",
    nodes.CreateFunction: """CREATE FUNCTION thrice (x INT) RETURNS INT LANGUAGE PYTHON
        AS 'def thrice(x): return 3 * x';""",
    nodes.DropFunction: "DROP FUNCTION twice;",
    nodes.ControlQuery: "PAUSE CSAS_MADE_0;",
    nodes.AlterQuery: "ALTER QUERY CSAS_MADE_0 SET ('processing.mode' = 'microbatch');",
}
"""By their classes. What a new one keeps should be seen in the catalog that it leaves."""


def example(kind: type[nodes.Statement]) -> nodes.Statement:
    """The example of a class of statements."""
    assert kind in EXAMPLES, f"write an example of {kind.__name__} in tests/runtime/logged.py"
    (statement,) = parse(EXAMPLES[kind])
    assert isinstance(statement, kind)
    return statement


class Log:
    """What an engine would have logged, in a Kafka without topics; the statements of BEFORE."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self._replay = Replay(Catalog())
        declare(self.catalog)
        for statement in parse(BEFORE):
            self.add(statement)

    @property
    def catalog(self) -> Catalog:
        """The catalog after it."""
        return self._replay.catalog

    def add(self, statement: nodes.Statement) -> Planned:
        """What a statement does that takes effect now."""
        planned = plan(statement, self.catalog, {}, RememberedTopics({}))
        query = planned.query if isinstance(planned, QueryStatementPlan) else None
        query_id = query.query_id if query else None
        entry = Entry(len(self.entries) + 1, to_sql(statement) + ";", query_id=query_id)
        self.entries.append(entry)
        self._replay.add(entry)
        return planned
