-- What ksqlDB's dialect does not have, over the same flights: Top-N, UNION ALL, queries in queries,
-- semi-joins, DISTINCT and functions in Python (see docs/beyond.md). Runs with flights.sql or
-- without it: a source that already exists is left as it is.
CREATE STREAM IF NOT EXISTS flights (
  carrier STRING,
  flight INT,
  tailnum STRING,
  origin STRING,
  dest STRING,
  dep_delay INT,
  arr_delay INT,
  distance INT
) WITH (KAFKA_TOPIC = 'flights', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE TABLE IF NOT EXISTS planes (
  tailnum STRING PRIMARY KEY,
  year INT,
  manufacturer STRING,
  seats INT
) WITH (KAFKA_TOPIC = 'planes', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- Top-N: each carrier's three longest delays. Of two that are as long, the earlier comes first. The
-- table is keyed by carrier and place; a longer delay moves the others down.
CREATE TABLE longest_delays WITH (KEY_FORMAT = 'JSON') AS
  SELECT *
  FROM (
    SELECT
      carrier,
      flight,
      origin,
      dest,
      dep_delay,
      ROW_NUMBER() OVER (PARTITION BY carrier ORDER BY dep_delay DESC, ROWTIME, flight) AS place
    FROM flights
    WHERE dep_delay IS NOT NULL
  )
  WHERE place <= 3
  EMIT CHANGES;

-- UNION ALL: what leaves an airport and what lands there, as one stream. A flight that never left
-- has no delay.
CREATE STREAM movements AS
  SELECT origin AS airport, 'departure' AS movement, dep_delay AS delay
  FROM flights
  WHERE dep_delay IS NOT NULL
  UNION ALL
  SELECT dest, 'arrival', arr_delay
  FROM flights
  WHERE arr_delay IS NOT NULL
  EMIT CHANGES;

CREATE TABLE movements_by_airport WITH (KEY_FORMAT = 'JSON') AS
  SELECT
    airport,
    movement,
    COUNT(*) AS flights,
    SUM(delay) AS total_delay,
    MAX(delay) AS longest_delay
  FROM movements
  GROUP BY airport, movement
  EMIT CHANGES;

-- WITH: groups of groups. On which routes do airlines compete? The first query counts the flights
-- of each airline on each route, the second one the airlines.
CREATE TABLE competition WITH (KEY_FORMAT = 'JSON') AS
  WITH offers AS (
    SELECT origin, dest, carrier, COUNT(*) AS flights
    FROM flights
    GROUP BY origin, dest, carrier
  )
  SELECT origin, dest, COUNT(*) AS airlines, SUM(flights) AS flights
  FROM offers
  GROUP BY origin, dest
  HAVING COUNT(*) > 1
  EMIT CHANGES;

-- IN: where do the big planes go? Of planes only the tail numbers are looked at.
CREATE TABLE big_planes_by_destination AS
  SELECT dest, COUNT(*) AS flights
  FROM flights
  WHERE tailnum IN (SELECT tailnum FROM planes WHERE seats >= 300)
  GROUP BY dest
  EMIT CHANGES;

-- NOT EXISTS: and who flies planes that nobody has registered? Flights without a tail number count
-- too; with NOT IN they would not.
CREATE TABLE unregistered_planes_by_carrier AS
  SELECT carrier, COUNT(*) AS flights, COUNT(tailnum) AS with_tail_number
  FROM flights
  WHERE NOT EXISTS (SELECT tailnum FROM planes WHERE planes.tailnum = flights.tailnum)
  GROUP BY carrier
  EMIT CHANGES;

-- DISTINCT: each airline's routes, told once, when the first flight on it is scheduled.
CREATE STREAM routes AS
  SELECT DISTINCT carrier, origin, dest
  FROM flights
  EMIT CHANGES;

-- A function in Python: classes of delays, each twice as wide as the one before.
CREATE FUNCTION delay_class(delay INT) RETURNS STRING LANGUAGE PYTHON AS 'def delay_class(delay):
    if delay <= 0:
        return "on time"
    limit = 15
    while delay > limit:
        limit *= 2
    return f"up to {limit} minutes late"';

CREATE TABLE arrivals_by_delay_class AS
  SELECT
    delay_class(arr_delay) AS delay_class,
    COUNT(*) AS flights,
    AVG(distance) AS average_distance
  FROM flights
  WHERE arr_delay IS NOT NULL
  GROUP BY delay_class(arr_delay)
  EMIT CHANGES;

-- An aggregate in Python: it sees all delays of a group, which the query keeps for that.
CREATE AGGREGATE FUNCTION middle(delay INT) RETURNS DOUBLE LANGUAGE PYTHON AS 'def middle(delay):
    import statistics
    return statistics.median(delay)';

CREATE TABLE typical_delays WITH (KEY_FORMAT = 'JSON') AS
  SELECT carrier, dest, COUNT(*) AS flights, middle(arr_delay) AS median_delay
  FROM flights
  WHERE arr_delay IS NOT NULL
  GROUP BY carrier, dest
  EMIT CHANGES;
