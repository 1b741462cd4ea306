-- The flights that left New York's airports in 2013, as a stream: each record's time is the
-- flight's scheduled departure (see README.md for how they get into the topic).
CREATE STREAM flights (
  carrier STRING,
  flight INT,
  tailnum STRING,
  origin STRING,
  dest STRING,
  dep_delay INT,
  arr_delay INT,
  distance INT
) WITH (KAFKA_TOPIC = 'flights', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- How late were each carrier's flights, hour by hour? A flight that never left has no delay.
CREATE TABLE delay_by_carrier_and_hour AS
  SELECT
    carrier,
    COUNT(*) AS flights,
    COUNT(dep_delay) AS departed,
    AVG(dep_delay) AS average_delay,
    MAX(dep_delay) AS longest_delay
  FROM flights
  WINDOW TUMBLING (SIZE 1 HOUR)
  GROUP BY carrier
  EMIT CHANGES;

-- And on which routes did one arrive latest?
CREATE TABLE delay_by_route WITH (KEY_FORMAT = 'JSON') AS
  SELECT
    origin,
    dest,
    COUNT(*) AS flights,
    COUNT(arr_delay) AS arrived,
    AVG(arr_delay) AS average_delay
  FROM flights
  GROUP BY origin, dest
  EMIT CHANGES;
