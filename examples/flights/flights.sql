-- The flights that left New York's airports in 2013, as a stream: each record's time is the
-- flight's scheduled departure (see README.md for how the data gets into the topics).
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

-- What the weather was at each airport, hour by hour.
CREATE STREAM weather (
  origin STRING,
  temp DOUBLE,
  wind_speed DOUBLE,
  precip DOUBLE,
  visib DOUBLE
) WITH (KAFKA_TOPIC = 'weather', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

-- Who flies, and with what: tables, since a code stands for one airline, a tail number for one plane.
CREATE TABLE airlines (carrier STRING PRIMARY KEY, name STRING)
  WITH (KAFKA_TOPIC = 'airlines', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

CREATE TABLE planes (tailnum STRING PRIMARY KEY, year INT, manufacturer STRING, seats INT)
  WITH (KAFKA_TOPIC = 'planes', VALUE_FORMAT = 'JSON', PARTITIONS = 1);

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

-- Each flight with the weather report of its hour, its airline and its plane. Reports come on the
-- hour, so just one is less than 60 minutes older than a departure. A flight without a report has
-- to wait for it until time has gone on by the grace period, which is generous since the demo lets
-- a week pass in a second.
CREATE STREAM flights_in_context AS
  SELECT
    f.tailnum AS tailnum,
    f.origin AS origin,
    f.dest AS dest,
    f.dep_delay AS dep_delay,
    f.arr_delay AS arr_delay,
    a.name AS airline,
    w.wind_speed AS wind_speed,
    CASE
      WHEN w.wind_speed >= 30 THEN '30 mph or more'
      WHEN w.wind_speed >= 20 THEN '20 to 30 mph'
      WHEN w.wind_speed >= 10 THEN '10 to 20 mph'
      WHEN w.wind_speed >= 0 THEN 'under 10 mph'
      ELSE 'not reported'
    END AS wind,
    IFNULL(SPLIT(p.manufacturer, ' ')[1], 'unknown') AS manufacturer,
    CASE
      WHEN p.year <= 1993 THEN '20 years or more'
      WHEN p.year <= 2003 THEN '10 to 20 years'
      WHEN p.year > 2003 THEN 'under 10 years'
      ELSE 'unknown'
    END AS age
  FROM flights f
    LEFT JOIN weather w WITHIN (59 MINUTES, 0 MINUTES) GRACE PERIOD 30 DAYS ON f.origin = w.origin
    LEFT JOIN airlines a ON f.carrier = a.carrier
    LEFT JOIN planes p ON f.tailnum = p.tailnum
  EMIT CHANGES;

-- Which airlines does the wind keep on the ground?
CREATE TABLE delay_by_airline_and_wind WITH (KEY_FORMAT = 'JSON') AS
  SELECT
    airline,
    wind,
    COUNT(*) AS flights,
    COUNT(dep_delay) AS departed,
    AVG(dep_delay) AS average_delay
  FROM flights_in_context
  GROUP BY airline, wind
  EMIT CHANGES;

-- Are old planes late?
CREATE TABLE delay_by_plane WITH (KEY_FORMAT = 'JSON') AS
  SELECT
    manufacturer,
    age,
    COUNT(*) AS flights,
    COUNT(arr_delay) AS arrived,
    AVG(arr_delay) AS average_delay
  FROM flights_in_context
  GROUP BY manufacturer, age
  EMIT CHANGES;
