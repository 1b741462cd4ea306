CREATE TABLE accounts (id bigint PRIMARY KEY, name text, balance numeric(12, 2), active boolean,
    opened date, seen timestamptz, tags text[], extra jsonb);
CREATE TABLE positions (account bigint, symbol text, amount double precision, size integer,
    PRIMARY KEY (account, symbol));
CREATE TABLE "Mixed" ("Key" text, body bytea, at time);
CREATE TABLE events (account bigint, kind text, amount numeric(6, 0));
CREATE VIEW busy AS SELECT account, kind FROM events WHERE amount > 10;
COMMENT ON TABLE accounts IS 'Table over the topic accounts';
COMMENT ON TABLE positions IS 'Table over the topic positions';
COMMENT ON TABLE "Mixed" IS 'Stream over the topic mixed';
COMMENT ON TABLE events IS 'Stream over the topic events';
COMMENT ON VIEW busy IS 'View';
CREATE TABLE ksql_processing_log (logger text, level text, time bigint, message jsonb, queryid text,
    topic text, partition integer, "offset" bigint);
COMMENT ON TABLE ksql_processing_log IS 'Stream over the topic streamsql_processing_log';
