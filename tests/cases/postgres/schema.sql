-- What the introspection queries find; schema.postgres.sql is the same for PostgreSQL.
CREATE TABLE accounts (id BIGINT PRIMARY KEY, name STRING, balance DECIMAL(12, 2), active BOOLEAN,
    opened DATE, seen TIMESTAMP, tags ARRAY<STRING>, extra MAP<STRING, STRING>)
  WITH (KAFKA_TOPIC='accounts', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE TABLE positions (account BIGINT PRIMARY KEY, symbol STRING PRIMARY KEY, amount DOUBLE,
    size INT)
  WITH (KAFKA_TOPIC='positions', FORMAT='JSON', PARTITIONS=1);
CREATE STREAM `Mixed` (`Key` STRING KEY, body BYTES, at TIME)
  WITH (KAFKA_TOPIC='mixed', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE STREAM events (account BIGINT KEY, kind STRING, amount DECIMAL(6, 0))
  WITH (KAFKA_TOPIC='events', VALUE_FORMAT='JSON', PARTITIONS=1);
CREATE VIEW busy AS SELECT account, kind FROM events WHERE amount > 10;
