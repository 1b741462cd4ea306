"""Content of `help`: syntax, meaning and an example of each statement, as data."""

from __future__ import annotations

from dataclasses import dataclass

from streamsql.cli.terminal.style import Style


@dataclass(frozen=True)
class Topic:
    """One statement; `name` is what follows `help`."""

    name: str
    syntax: str
    meaning: str
    example: str


TOPICS: tuple[Topic, ...] = (
    Topic(
        "CREATE STREAM",
        "CREATE [OR REPLACE] [SOURCE] STREAM [IF NOT EXISTS] name (column type [KEY], ..)\n"
        "  WITH (KAFKA_TOPIC = 'topic', VALUE_FORMAT = 'JSON' [, ..]);",
        "A stream over a topic: each record is an event.",
        "CREATE STREAM pageviews (userid STRING KEY, pageid STRING, viewtime BIGINT)\n"
        "  WITH (KAFKA_TOPIC = 'pageviews', VALUE_FORMAT = 'JSON', PARTITIONS = 1,\n"
        "        TIMESTAMP = 'viewtime');",
    ),
    Topic(
        "CREATE TABLE",
        "CREATE [OR REPLACE] [SOURCE] TABLE [IF NOT EXISTS] name (column type PRIMARY KEY, ..)\n"
        "  WITH (KAFKA_TOPIC = 'topic', VALUE_FORMAT = 'JSON' [, ..]);",
        "A table over a topic: the newest value of each key.",
        "CREATE TABLE users (userid STRING PRIMARY KEY, region STRING)\n"
        "  WITH (KAFKA_TOPIC = 'users', VALUE_FORMAT = 'JSON', PARTITIONS = 1);",
    ),
    Topic(
        "CREATE STREAM AS SELECT",
        "CREATE [OR REPLACE] STREAM [IF NOT EXISTS] name [WITH (..)] AS\n"
        "  SELECT .. FROM .. [WHERE ..] [PARTITION BY ..] [EMIT CHANGES];",
        "A continuous query that fills a new stream.",
        "CREATE STREAM home AS SELECT * FROM pageviews WHERE pageid = 'Page_1';",
    ),
    Topic(
        "CREATE TABLE AS SELECT",
        "CREATE [OR REPLACE] TABLE [IF NOT EXISTS] name [WITH (..)] AS\n"
        "  SELECT .. FROM .. [WINDOW ..] [WHERE ..] GROUP BY .. [HAVING ..] [EMIT CHANGES|FINAL];",
        "A continuous query that keeps a table up to date.",
        "CREATE TABLE views_per_minute AS\n"
        "  SELECT userid, COUNT(*) AS views FROM pageviews\n"
        "  WINDOW TUMBLING (SIZE 1 MINUTE) GROUP BY userid;",
    ),
    Topic(
        "SELECT",
        "SELECT items FROM source [WINDOW ..] [WHERE ..] [GROUP BY ..] [HAVING ..]\n"
        "  EMIT CHANGES [LIMIT n];",
        "A push query: rows as they come, until Ctrl-C.",
        "SELECT userid, COUNT(*) AS views FROM pageviews GROUP BY userid EMIT CHANGES LIMIT 10;",
    ),
    Topic(
        "INSERT VALUES",
        "INSERT INTO name [(column, ..)] VALUES (expression, ..);",
        "Writes one record; ROWTIME may be given too.",
        "INSERT INTO pageviews (userid, pageid) VALUES ('User_1', 'Page_1');",
    ),
    Topic(
        "UPDATE",
        "UPDATE table [alias] SET column = expression, .. [WHERE condition] [RETURNING ..];",
        "Changes rows of a plain table, one that CREATE TABLE makes without WITH.",
        "UPDATE accounts SET balance = balance - 10 WHERE id = 1 RETURNING balance;",
    ),
    Topic(
        "DELETE",
        "DELETE FROM table [alias] [WHERE condition] [RETURNING ..];\nTRUNCATE table;",
        "Deletes rows of a plain table.",
        "DELETE FROM accounts WHERE balance = 0;",
    ),
    Topic(
        "FLUSH",
        "FLUSH;",
        "Waits until every query has processed what was written before.",
        "FLUSH;",
    ),
    Topic(
        "INSERT INTO SELECT",
        "INSERT INTO stream [WITH (QUERY_ID = 'id')] SELECT .. FROM ..;",
        "A continuous query that writes into a stream.",
        "INSERT INTO home SELECT * FROM pageviews WHERE pageid = 'Page_2';",
    ),
    Topic(
        "WINDOW",
        "WINDOW TUMBLING (SIZE n unit [, RETENTION n unit] [, GRACE PERIOD n unit])\n"
        "WINDOW HOPPING (SIZE n unit, ADVANCE BY n unit [, RETENTION ..] [, GRACE PERIOD ..])\n"
        "WINDOW CUMULATING (SIZE n unit, ADVANCE BY n unit [, RETENTION ..] [, GRACE PERIOD ..])\n"
        "WINDOW SESSION (n unit [, RETENTION ..] [, GRACE PERIOD ..])",
        "Groups events by time, in windows of their own.",
        "SELECT userid, WINDOWSTART, COUNT(*) FROM pageviews\n"
        "  WINDOW HOPPING (SIZE 1 HOUR, ADVANCE BY 10 MINUTES) GROUP BY userid EMIT CHANGES;",
    ),
    Topic(
        "OVER",
        "call OVER ([PARTITION BY ..] ORDER BY ROWTIME\n"
        "  [ROWS n PRECEDING | RANGE n unit PRECEDING] [GRACE PERIOD n unit])",
        "Adds up the rows before each row, or looks back at one.",
        "SELECT userid, COUNT(*) OVER (PARTITION BY userid ORDER BY ROWTIME ROWS 9 PRECEDING)\n"
        "  FROM pageviews EMIT CHANGES;",
    ),
    Topic(
        "MATCH_RECOGNIZE",
        "FROM source MATCH_RECOGNIZE ([PARTITION BY ..] ORDER BY ROWTIME\n"
        "  MEASURES expr AS name, .. [AFTER MATCH SKIP ..]\n"
        "  PATTERN (a b+ c?) [WITHIN n unit] DEFINE a AS condition, ..)",
        "Finds rows that follow each other in a pattern.",
        "SELECT * FROM pageviews MATCH_RECOGNIZE (PARTITION BY userid ORDER BY ROWTIME\n"
        "  MEASURES COUNT(*) AS times PATTERN (first again+ other) WITHIN 1 HOUR\n"
        "  DEFINE again AS pageid = PREV(pageid), other AS TRUE) EMIT CHANGES;",
    ),
    Topic(
        "DROP",
        "DROP STREAM|TABLE [IF EXISTS] name [DELETE TOPIC] [CASCADE];",
        "Removes a stream or table, with CASCADE all that depends on it.",
        "DROP STREAM IF EXISTS home DELETE TOPIC;",
    ),
    Topic(
        "ALTER",
        "ALTER STREAM|TABLE name ADD [COLUMN] column type [, ADD ..];",
        "Adds columns to a stream or table.",
        "ALTER STREAM pageviews ADD COLUMN browser STRING;",
    ),
    Topic(
        "COMMENT",
        "COMMENT ON STREAM|TABLE name IS 'comment' | NULL;",
        "Sets the description of a stream, table or column; NULL removes it.",
        "COMMENT ON STREAM pageviews IS 'One record a page that someone has seen.';",
    ),
    Topic(
        "CREATE TYPE",
        "CREATE TYPE [IF NOT EXISTS] name AS type;",
        "A name for a type; DROP TYPE removes it.",
        "CREATE TYPE address AS STRUCT<city STRING, zip STRING>;",
    ),
    Topic(
        "CREATE SINK",
        "CREATE [OR REPLACE] SINK [IF NOT EXISTS] name FROM source\n"
        "  WITH (CONNECTION = 'FILE', PATH = 'folder' [, FORMAT = 'PARQUET'|'JSON'|'CSV']\n"
        "        [, PARTITION_BY = 'column, ..'] [, COMMIT_INTERVAL = 'n unit']);\n"
        "  WITH (CONNECTION = 'JDBC', URL = 'jdbc:postgresql://..', TABLE = 'table'\n"
        "        [, MODE = 'UPSERT'|'APPEND'] [, USER = 'user', PASSWORD = '${env:NAME}']\n"
        "        [, BATCH_ROWS = n] [, COMMIT_INTERVAL = 'n unit']);\n"
        "DROP SINK [IF EXISTS] name;",
        "A continuous query that writes rows to files or a database, each exactly once.",
        "CREATE SINK files FROM pageviews WITH (CONNECTION = 'FILE', PATH = '/data/pageviews');",
    ),
    Topic(
        "CREATE SOURCE TABLE",
        "CREATE SOURCE TABLE [IF NOT EXISTS] name (column type PRIMARY KEY, ..)\n"
        "  WITH (CONNECTION = 'FILE', PATH = 'file' [, FORMAT = 'PARQUET'|'JSON'|'CSV']\n"
        "        [, CACHE_TTL = 'n unit']);\n"
        "CREATE SOURCE TABLE [IF NOT EXISTS] name (column type PRIMARY KEY, ..)\n"
        "  WITH (CONNECTION = 'JDBC', URL = 'jdbc:postgresql://..', DBTABLE = 'table'\n"
        "        [, USER = 'user', PASSWORD = '${env:NAME}'] [, CACHE_TTL = 'n unit'] [, ..]);",
        "Rows of a file or a database, for lookup joins with streams.",
        "CREATE SOURCE TABLE regions (name STRING PRIMARY KEY, country STRING)\n"
        "  WITH (CONNECTION = 'FILE', PATH = '/data/regions.csv', FORMAT = 'CSV');",
    ),
    Topic(
        "CREATE MATERIALIZED VIEW",
        "CREATE [OR REPLACE] MATERIALIZED VIEW [IF NOT EXISTS] name [(column, ..)] [WITH (..)]\n"
        "  AS query;\n"
        "DROP MATERIALIZED VIEW [IF EXISTS] name [CASCADE];",
        "A query of standard SQL whose result is kept up to date.",
        "CREATE MATERIALIZED VIEW totals AS\n"
        "  SELECT owner, SUM(balance) AS total FROM accounts GROUP BY owner;",
    ),
    Topic(
        "CREATE VIEW",
        "CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name AS SELECT ..;\n"
        "DROP VIEW [IF EXISTS] name [CASCADE];",
        "A named query, which is expanded where FROM names it.",
        "CREATE VIEW home AS SELECT * FROM pageviews WHERE pageid = 'Page_1';",
    ),
    Topic(
        "CREATE FUNCTION",
        "CREATE [OR REPLACE] FUNCTION [IF NOT EXISTS] name (parameter type, ..)\n"
        "  RETURNS type LANGUAGE PYTHON AS 'expression' | 'def ..' | 'module:function';\n"
        "DROP FUNCTION [IF EXISTS] name;",
        "Creates a function in Python over the values of one row.",
        "CREATE FUNCTION half(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS 'x / 2';",
    ),
    Topic(
        "CREATE CONNECTOR",
        "CREATE SOURCE|SINK CONNECTOR [IF NOT EXISTS] name WITH ('connector.class' = '..', ..);\n"
        "DROP CONNECTOR [IF EXISTS] name;",
        "A connector of the Kafka Connect cluster that ksql.connect.url names.",
        "CREATE SINK CONNECTOR files WITH (\n"
        "  'connector.class' = 'FileStreamSink', 'topics' = 'home', 'file' = '/data/home.txt');",
    ),
    Topic(
        "SHOW",
        "SHOW STREAMS|TABLES|[ALL] TOPICS|QUERIES [EXTENDED];\n"
        "SHOW VIEWS|SINKS|FUNCTIONS|TYPES|PROPERTIES|VARIABLES;\n"
        "SHOW [SOURCE|SINK] CONNECTORS;\nSHOW CONNECTOR PLUGINS;",
        "Lists objects.",
        "SHOW QUERIES;",
    ),
    Topic(
        "SHOW LINEAGE",
        "SHOW LINEAGE OF|FROM name[.column];",
        "Shows the source columns of a column; FROM: its dependent columns.",
        "SHOW LINEAGE OF views_per_minute.views;",
    ),
    Topic(
        "DESCRIBE",
        "DESCRIBE name [EXTENDED];\nDESCRIBE STREAMS|TABLES [EXTENDED];\n"
        "DESCRIBE FUNCTION name;\nDESCRIBE CONNECTOR name;\nDESCRIBE ERRORS [OF query_id];",
        "A source's columns; how a function is used; which records failed, and why.",
        "DESCRIBE FUNCTION LATEST_BY_OFFSET;",
    ),
    Topic(
        "EXPLAIN",
        "EXPLAIN [VERBOSE] statement;\nEXPLAIN query_id;",
        "A query's plan, its mode and why.",
        "EXPLAIN SELECT * FROM pageviews WHERE pageid = 'Page_1' EMIT CHANGES;",
    ),
    Topic(
        "PRINT",
        "PRINT topic [FROM BEGINNING] [INTERVAL n] [LIMIT n];",
        "The records of a topic as they come.",
        "PRINT 'pageviews' FROM BEGINNING LIMIT 3;",
    ),
    Topic(
        "REPLAY ERRORS",
        "REPLAY [ALL] ERRORS OF query_id [WHERE condition] [DRY RUN];",
        "Processes failed records of a query again by its present statement, each once.",
        "REPLAY ERRORS OF CSAS_HOME_1 DRY RUN;",
    ),
    Topic(
        "VERIFY QUERY",
        "VERIFY QUERY query_id;",
        "Compares the output of a query with a batch over its topics.",
        "VERIFY QUERY CSAS_HOME_1;",
    ),
    Topic(
        "TERMINATE",
        "TERMINATE|PAUSE|RESUME query_id|ALL;",
        "Terminates, pauses or resumes queries.",
        "PAUSE CSAS_HOME_1;",
    ),
    Topic(
        "SET",
        "SET 'property' = 'value';\nUNSET 'property';",
        "Properties of the statements that follow.",
        "SET 'auto.offset.reset' = 'latest';",
    ),
    Topic(
        "DEFINE",
        "DEFINE name = 'value';\nUNDEFINE name;",
        "A variable, written ${name} in statements.",
        "DEFINE page = 'Page_1';",
    ),
    Topic(
        "RUN SCRIPT",
        "RUN SCRIPT 'file';",
        "Runs the statements of a file.",
        "RUN SCRIPT 'pipeline.sql';",
    ),
    Topic(
        "ASSERT TOPIC",
        "ASSERT [NOT EXISTS] TOPIC name [WITH (PARTITIONS = n)] [TIMEOUT n unit];",
        "Fails unless a topic has these properties.",
        "ASSERT TOPIC pageviews WITH (PARTITIONS = 1) TIMEOUT 10 SECONDS;",
    ),
    Topic(
        "ASSERT SCHEMA",
        "ASSERT [NOT EXISTS] SCHEMA [SUBJECT name] [ID n] [TIMEOUT n unit];",
        "Fails unless the schema registry holds the schema, or does not.",
        "ASSERT SCHEMA SUBJECT 'pageviews-value' TIMEOUT 10 SECONDS;",
    ),
)


def find(words: str) -> list[Topic]:
    """The topics that the words name, or begin, or are part of."""
    wanted = " ".join(words.upper().rstrip(";").split())
    exact = [topic for topic in TOPICS if topic.name == wanted]
    if exact:
        return exact
    starting = [topic for topic in TOPICS if topic.name.startswith(wanted)]
    return starting or [topic for topic in TOPICS if wanted in topic.syntax.upper()]


def topic_lines(topic: Topic, style: Style) -> list[str]:
    indented = ["  " + line for line in topic.syntax.splitlines()]
    example = ["  " + style.dim(line) for line in topic.example.splitlines()]
    return [style.title(topic.name), topic.meaning, "", *indented, "", "For example", *example]
