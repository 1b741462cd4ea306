-- Scripts that must fail; each says how, for the test of the runner.

--@test: another value
-- fails: ASSERT VALUES D (K, N) VALUES ('a', 3)
-- fails: expected key "a", value {"N": 3}
-- fails: N: expected 3, found 2
CREATE STREAM S (K STRING KEY, N INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM D AS SELECT K, N * 2 AS N FROM S;
INSERT INTO S (ROWTIME, K, N) VALUES (5, 'a', 1);
ASSERT VALUES D (K, N) VALUES ('a', 3);

--@test: another time
-- fails: ROWTIME: expected 6, found 5
CREATE STREAM S (K STRING KEY, N INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
INSERT INTO S (ROWTIME, K, N) VALUES (5, 'a', 1);
ASSERT VALUES S (ROWTIME, K, N) VALUES (6, 'a', 1);

--@test: not there yet
-- fails: Expected another record for S but already read all records
-- fails: found nothing
CREATE STREAM S (K STRING KEY, N INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
ASSERT VALUES S (K, N) VALUES ('a', 1);
INSERT INTO S (ROWTIME, K, N) VALUES (5, 'a', 1);

--@test: no tombstone
-- fails: value: expected null, found {"N": 1}
CREATE TABLE T (K STRING PRIMARY KEY, N INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
INSERT INTO T (K, N) VALUES ('a', 1);
ASSERT NULL VALUES T (K) KEY ('a');

--@test: the log tells why
-- fails: found nothing
-- fails: processing log: CSAS_D_0 at s, offset 0:
CREATE STREAM S (K STRING KEY, V STRING) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='KAFKA');
CREATE STREAM X (K STRING KEY, N INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
CREATE STREAM D AS SELECT * FROM X;
INSERT INTO S (K, V) VALUES ('a', 'no JSON');
ASSERT VALUES D (K, N) VALUES ('a', 1);

--@test: another shape
-- fails: expected a table, found a stream
-- fails: expected columns `K` INTEGER PRIMARY KEY
-- fails: expected VALUE_FORMAT AVRO, found JSON
CREATE STREAM S (K STRING KEY, N INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
ASSERT TABLE S (K INT PRIMARY KEY) WITH (VALUE_FORMAT='AVRO');

--@test: an unknown column
-- fails: Column name `X` does not exist.
CREATE STREAM S (K STRING KEY, N INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
ASSERT VALUES S (X) VALUES (1);

--@test: no key column
-- fails: N is not a key column
CREATE TABLE T (K STRING PRIMARY KEY, N INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');
ASSERT NULL VALUES T (N) KEY (1);

--@test: an unknown stream
-- fails: NOWHERE does not exist
ASSERT VALUES NOWHERE (X) VALUES (1);

--@test: a property that is not compared
-- fails: ASSERT STREAM does not compare RETENTION_MS
CREATE STREAM S (K STRING KEY, N INT) WITH (KAFKA_TOPIC='s', VALUE_FORMAT='JSON');
ASSERT STREAM S WITH (RETENTION_MS=1);

--@test: another error than expected
-- fails: rejected for another reason than something else
-- fails: NOWHERE does not exist
--@expected.message: something else
CREATE STREAM B AS SELECT * FROM NOWHERE;
